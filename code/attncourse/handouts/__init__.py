"""What a class gets: notebooks without solutions, assignments, the answer book, slides."""

"""What a class's submissions go through: collected, graded, summed up, handed back."""

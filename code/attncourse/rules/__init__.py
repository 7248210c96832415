"""What a notebook of the book must have: each rule once, for authors and for the tests."""

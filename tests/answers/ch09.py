"""What learners might hand in for the exercises of chapter 9."""

WRONG = []

RIGHT = []

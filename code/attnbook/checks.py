"""Numbers with which nothing could be built or trained are refused by name."""


def require_at_least_1(**numbers: float) -> None:
    """Raise ``ValueError`` and name the first of these numbers that is below 1."""
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be at least 1: got {number}")


def require_above_0(**numbers: float) -> None:
    """Raise ``ValueError`` and name the first of these numbers that is not above 0."""
    for name, number in numbers.items():
        if not number > 0:
            raise ValueError(f"{name} must be above 0: got {number}")

"""What makes the book and its course material from the chapters; nothing else imports it."""


class UsageError(ValueError):
    """What somebody typed, or wrote into a file of theirs, wrongly; said without a traceback."""

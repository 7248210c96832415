"""What makes the book and its course material from the chapters; nothing else imports it."""


class UsageError(ValueError):
    """A mistake in what somebody typed, or in a file of theirs; reported without a traceback."""

"""Sessions."""


class Session:
    """A session on a world."""

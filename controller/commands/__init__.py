"""``videoworld ask``, ``replay`` and ``show``."""

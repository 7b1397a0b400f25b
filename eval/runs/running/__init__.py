"""Asking: worlds, sessions, processes, progress, and what is kept when all of it is broken off."""

"""Subtitles beside and inside videos: finding them, choosing among languages, and reading them whatever their state."""

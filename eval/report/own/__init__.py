"""Somebody's own video with their own questions: an ordinary run of two arms, told in one page."""

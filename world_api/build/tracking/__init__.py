"""Tracks of moving things in front of a steady camera: background, blobs, tracks, colours, votes."""

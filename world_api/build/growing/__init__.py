"""Following a video that is still being written."""

"""The sub-commands that compare arms, libraries and tools of a run."""

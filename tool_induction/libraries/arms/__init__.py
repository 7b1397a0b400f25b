"""Arms of an experiment: libraries made to be compared with one that was induced, and labels for those that are there."""

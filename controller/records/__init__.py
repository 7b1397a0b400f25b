"""Episodes on disk: recording them while they run, reading them again, running them again offline."""

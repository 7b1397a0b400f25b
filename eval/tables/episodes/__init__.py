"""What an episode and a library say, as figures."""

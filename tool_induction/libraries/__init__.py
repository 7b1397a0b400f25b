"""What is done with frozen libraries beside running them: signatures, differences, forks, reviews, faces."""

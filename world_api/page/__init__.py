"""Pages of HTML, each one file that loads nothing: ``html`` has what they share, ``world_page`` writes that of a world."""

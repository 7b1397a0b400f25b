"""``videoworld eval`` about the judge of open answers: labels for it, and how far it agrees with them."""

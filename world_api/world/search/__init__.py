"""Search: what a stretch says, by words, by meaning, by look; and the catalogue over a store."""

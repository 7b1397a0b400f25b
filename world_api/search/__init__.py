"""Search over the segments of a view: by words, by meaning, by look; and the catalogue over a store."""

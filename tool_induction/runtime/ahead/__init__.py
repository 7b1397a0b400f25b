"""Running ahead: calls that a run is going to make are made before it gets there. Their results are all that is kept."""

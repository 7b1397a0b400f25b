"""The stages of preprocessing beside tracking."""

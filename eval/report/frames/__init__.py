"""Pictures of the moments that answers rest on: which are wanted, which are shown, and where they come from."""

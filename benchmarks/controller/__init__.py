"""What the loop of the controller costs."""

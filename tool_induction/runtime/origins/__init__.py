"""Where values came from: from each output back to the calls behind it."""

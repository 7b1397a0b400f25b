"""What is known of values beyond their types: that one is there, how long a list is, how large a number."""

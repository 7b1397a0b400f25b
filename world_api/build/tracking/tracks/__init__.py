"""Things as they are followed: what is known of one, how blobs are given to them, and what happens where they meet."""

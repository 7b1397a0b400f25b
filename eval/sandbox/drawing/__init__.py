"""What a film looks like: rooms with furniture, people, and the things they carry."""

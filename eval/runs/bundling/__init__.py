"""A run as one file, locked by hashes, from which every table can be made again without videos, keys or network."""

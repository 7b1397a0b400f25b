"""Keeping what an induction did: the checkpoint it goes on from, its cost, its log, its report, the frozen library."""

"""Stages at work: a decode pass feeds them, each on a thread of its own."""

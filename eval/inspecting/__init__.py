"""Runs as logs of Inspect (inspect.aisi.org.uk), for those who look at evaluations with its viewer. Behind the extra ``inspect``."""

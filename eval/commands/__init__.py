"""The sub-commands of the evaluation: the sample, the sandbox, and everything under ``videoworld eval``."""

"""Checking questions against facts along another way than they were made: words are read back, and answers found anew."""

from eval.sandbox.asking.checking.checker import Problem, check_items

__all__ = ["Problem", "check_items"]

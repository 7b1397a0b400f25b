"""The checker: infers the types of a tool's steps and makes explicit what the document leaves implicit.

``steps`` checks the steps, ``expressions`` infers the types of what they read, ``values`` compares values with the
types of their places and binds outputs, ``aggregates`` checks aggregate steps. ``environment`` holds what is known
about names; ``nulls``, ``ranges`` and ``scores`` find values that may be null, are out of range, or are rank scores
used as numbers.
"""

from tool_induction.checker.steps import operation_result

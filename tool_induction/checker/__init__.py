"""The checker: types the steps of a tool and writes out what a document leaves implicit.

``steps`` goes through the steps, ``expressions`` types what they read, ``values`` checks what a place takes and binds outputs,
``aggregates`` checks aggregate steps. ``environment`` holds what is known about names; ``nulls``, ``ranges`` and ``scores`` find
values that may be missing, out of range, or no plain numbers.
"""

from tool_induction.checker.steps import Signature, StepChecker, operation_result
from tool_induction.checker.values import bind_outputs, check_answers

__all__ = ["Signature", "StepChecker", "bind_outputs", "check_answers", "operation_result"]

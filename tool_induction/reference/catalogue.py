"""Every code with its example, in the order of the closed list."""

from __future__ import annotations

from tool_induction.reference.cases import Case
from tool_induction.reference.fault_cases import FAULTS
from tool_induction.reference.note_cases import NOTES

CASES: tuple[Case, ...] = (*FAULTS, *NOTES)

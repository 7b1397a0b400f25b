"""Behavioural admission: compiled tools are tried on made and real worlds before they may enter a library."""

from tool_induction.admission.admitting import admit
from tool_induction.admission.sameness import behaviour, plan_hash
from tool_induction.admission.trials import ExampleWorld
from tool_induction.admission.verdicts import REASONS, Admission, Reason, TrialRun, Verdict
from tool_induction.admission.worlds import SchemaWorld, schema_worlds

__all__ = [
    "REASONS",
    "Admission",
    "ExampleWorld",
    "Reason",
    "SchemaWorld",
    "TrialRun",
    "Verdict",
    "admit",
    "behaviour",
    "plan_hash",
    "schema_worlds",
]

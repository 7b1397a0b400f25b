"""Behavioural admission: compiled tools are tried on made and real worlds before they may enter a library."""

from tool_induction.admission.admission import admit
from tool_induction.admission.duplicates import behaviour, plan_hash
from tool_induction.admission.schema_world import SchemaWorld, schema_worlds
from tool_induction.admission.trials import ExampleWorld
from tool_induction.admission.verdicts import REASONS, Admission, Reason, TrialRun, Verdict

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

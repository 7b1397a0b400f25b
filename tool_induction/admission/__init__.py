"""Behavioural admission: compiled tools are run on artificial and real worlds before they may enter a library.

``admit`` returns a verdict on each tool. Artificial worlds answer every operation from its schema alone
(``schema_worlds``); real worlds are given as ``ExampleWorld``. ``tried`` makes one run of a tool, ``schema_trials``
yields the trials on artificial worlds.
"""

from tool_induction.admission.admission import admit
from tool_induction.admission.rules import REASONS, Admission, Reason, Verdict
from tool_induction.admission.schema_world import SchemaWorld, schema_worlds
from tool_induction.admission.trials import ExampleWorld, MadeUpJudge, TrialRun, schema_trials, tried

__all__ = [
    "REASONS",
    "Admission",
    "ExampleWorld",
    "MadeUpJudge",
    "Reason",
    "SchemaWorld",
    "TrialRun",
    "Verdict",
    "admit",
    "schema_trials",
    "schema_worlds",
    "tried",
]

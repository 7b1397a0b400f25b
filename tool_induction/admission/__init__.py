"""Behavioural admission: compiled tools are run on artificial and real worlds before they may enter a library.

``admit`` returns a verdict on each tool. Artificial worlds answer every operation from its schema alone
(``schema_worlds``); real worlds are given as ``ExampleWorld``. ``tried`` makes one run of a tool, ``schema_trials``
yields the trials on artificial worlds. Staged films (``staged_films``) are worlds of which all is known: what a tool says
about them is compared with their facts (``probes``). What is wrong and refuses nothing is a ``Weakness``.
"""

from tool_induction.admission.admission import admit
from tool_induction.admission.facts import Fact, facts_of
from tool_induction.admission.rules import REASONS, Admission, Reason, Verdict
from tool_induction.admission.schema_world import schema_worlds
from tool_induction.admission.staged_films import STAGED, staged_sessions
from tool_induction.admission.trials import ExampleWorld, MadeUpJudge, schema_trials, tried
from tool_induction.admission.weaknesses import FLAWS, Flaw, Weakness

"""The inducer: a model writes a tool library for a domain.

``run_induction`` asks for tools, sends failing ones back with their faults for a few rounds, tries them on made and real worlds, and
freezes the admitted ones with a log and a report. ``induce`` is the rounds alone, ``read_tools`` finds tools in a reply,
``InducerPrompts`` renders the prompts.
"""

from tool_induction.inducer.checkpoint import Checkpoint
from tool_induction.inducer.emissions import read_tools
from tool_induction.inducer.induction import REPORT, InductionOptions, InductionResult, run_induction, trial_worlds
from tool_induction.inducer.induction_report import ENDINGS, log_lines, report_page, spent
from tool_induction.inducer.prompt_builder import FailingTool, InducerPrompts, examples_of
from tool_induction.inducer.requests import Problem, Requester, Settings
from tool_induction.inducer.rounds import Ending, Induction, induce

__all__ = [
    "ENDINGS",
    "REPORT",
    "Checkpoint",
    "Ending",
    "FailingTool",
    "InducerPrompts",
    "Induction",
    "InductionOptions",
    "InductionResult",
    "Problem",
    "Requester",
    "Settings",
    "examples_of",
    "induce",
    "log_lines",
    "read_tools",
    "report_page",
    "run_induction",
    "spent",
    "trial_worlds",
]

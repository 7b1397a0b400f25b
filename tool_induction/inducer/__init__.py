"""The inducer: a model writes a tool library for a domain.

``run_induction`` asks for tools, sends failing ones back with their faults for a few rounds, tries them on made and real worlds, and
freezes the admitted ones with a log and a report. ``induce`` is the rounds alone, ``read_tools`` finds tools in a reply,
``InducerPrompts`` renders the prompts. The names load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tool_induction.inducer.emissions import read_tools
    from tool_induction.inducer.induction import InductionOptions, run_induction, trial_worlds
    from tool_induction.inducer.prompt_builder import FailingTool, InducerPrompts, examples_of
    from tool_induction.inducer.report import ENDINGS, log_lines, report_page, spent
    from tool_induction.inducer.requests import Exchanges, Problem, Requester, Settings
    from tool_induction.inducer.rounds import Ending, Induction, induce

_MODULES = {
    "emissions": ("read_tools",),
    "induction": ("InductionOptions", "run_induction", "trial_worlds"),
    "prompt_builder": ("FailingTool", "InducerPrompts", "examples_of"),
    "report": ("ENDINGS", "log_lines", "report_page", "spent"),
    "requests": ("Exchanges", "Problem", "Requester", "Settings"),
    "rounds": ("Ending", "Induction", "induce"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "ENDINGS",
    "Ending",
    "Exchanges",
    "FailingTool",
    "InducerPrompts",
    "Induction",
    "InductionOptions",
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

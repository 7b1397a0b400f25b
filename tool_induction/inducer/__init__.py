"""The inducer: a model writes a tool library for a domain.

``run_induction`` requests tools, compiles them and tries them on made-up and real worlds, sends failing ones back with
their faults for a few rounds, and freezes the admitted ones with a log and a report. ``induce`` does the rounds only,
``read_tools`` finds tools in a reply, ``InducerPrompts`` renders the prompts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from tool_induction.inducer.checkpoint import Checkpoint as Checkpoint
    from tool_induction.inducer.emissions import read_tools as read_tools
    from tool_induction.inducer.induction import REPORT as REPORT
    from tool_induction.inducer.induction import InductionOptions as InductionOptions
    from tool_induction.inducer.induction import InductionResult as InductionResult
    from tool_induction.inducer.induction import run_induction as run_induction
    from tool_induction.inducer.induction import trial_worlds as trial_worlds
    from tool_induction.inducer.induction_report import ENDINGS as ENDINGS
    from tool_induction.inducer.induction_report import log_lines as log_lines
    from tool_induction.inducer.induction_report import report_page as report_page
    from tool_induction.inducer.induction_report import spent as spent
    from tool_induction.inducer.prompt_builder import FailingTool as FailingTool
    from tool_induction.inducer.prompt_builder import InducerPrompts as InducerPrompts
    from tool_induction.inducer.prompt_builder import examples_of as examples_of
    from tool_induction.inducer.requests import Problem as Problem
    from tool_induction.inducer.requests import Requester as Requester
    from tool_induction.inducer.requests import Settings as Settings
    from tool_induction.inducer.rounds import Ending as Ending
    from tool_induction.inducer.rounds import Induction as Induction
    from tool_induction.inducer.rounds import induce as induce

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""The inducer: a model writes a tool library for a domain.

``run_induction`` requests tools, compiles them and tries them on made-up and real worlds, sends failing ones back with
their faults for a few rounds, and freezes the admitted ones with a log and a report. ``induce`` does the rounds only,
``read_tools`` finds tools in a reply, ``InducerPrompts`` renders the prompts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from tool_induction.inducer.checkpoint import Checkpoint
    from tool_induction.inducer.emissions import read_tools
    from tool_induction.inducer.induction import (
        REPORT,
        InductionOptions,
        InductionResult,
        induce_library,
        run_induction,
        trial_worlds,
    )
    from tool_induction.inducer.induction_report import ENDINGS, log_lines, report_page, spent
    from tool_induction.inducer.prompt_builder import FailingTool, InducerPrompts, examples_of
    from tool_induction.inducer.requests import Problem, Requester, Settings
    from tool_induction.inducer.rounds import Ending, Induction, induce

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""The judge step: a closed question about each item, put to a fixed model; off unless it is allowed.

``port`` has the protocol, the price and what is sent of an item; ``models`` judges with a chat model or from a file; ``options`` are
the options with which commands allow judging.
"""

from tool_induction.judge.models import ChatJudge, RecordedJudge
from tool_induction.judge.port import JUDGEMENT, Judge, RememberedJudge, ScriptedJudge, chosen, plain_answer

__all__ = [
    "JUDGEMENT",
    "ChatJudge",
    "Judge",
    "RecordedJudge",
    "RememberedJudge",
    "ScriptedJudge",
    "chosen",
    "plain_answer",
]

"""The judge step: a closed question about each item, put to a fixed model; off unless it is allowed.

``port`` has the protocol, the price and what is sent of an item; ``models`` judges with a chat model or from a file; ``options`` are
the options with which commands allow judging.
"""

from tool_induction.judge.models import ChatJudge, FileJudge
from tool_induction.judge.port import JUDGEMENT, Judge, RememberedJudge, chosen, plain_answer

__all__ = ["JUDGEMENT", "ChatJudge", "FileJudge", "Judge", "RememberedJudge", "chosen", "plain_answer"]

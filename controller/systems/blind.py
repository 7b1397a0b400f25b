"""``blind``: the question without the video, alone or with what is said in it: what a model answers from language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from controller.conversation.opening import FirstCall, Opening
from controller.systems.looping import LoopSystem, OwnCalls, Setup
from controller.systems.options import Options
from controller.systems.transcript import SPOKEN_LINES, transcript, transcript_tokens

if TYPE_CHECKING:
    from controller.questions import Question
    from world_api.session.session import Session


class BlindOptions(Options):
    """``variant``: the question alone, or with the transcript."""

    variant: Literal["question", "transcript"] = "question"


class Blind(LoopSystem[BlindOptions]):
    """The question alone, or with the lines that are spoken. No tools, nothing seen."""

    name = "blind"
    options_kind = BlindOptions

    def setup(self, question: Question, session: Session) -> Setup:
        """No tools."""
        if self.options.variant == "question":
            return Setup(make_tools=lambda: OwnCalls({}), opening=Opening(instructions="blind"))
        arguments = {"max_tokens": transcript_tokens(self.context.budget)}
        own = {SPOKEN_LINES: lambda max_tokens: transcript(session, max_tokens=max_tokens)}
        calls = (FirstCall(tool=SPOKEN_LINES, arguments=arguments),)
        return Setup(make_tools=lambda: OwnCalls(own), opening=Opening(instructions="from_material", first_calls=calls))

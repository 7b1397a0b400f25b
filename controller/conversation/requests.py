"""Asking the model: one request a round, kept under its window, and no longer than there is time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.budgets import Meter
from controller.conversation.gathering import PictureBook
from controller.conversation.transcript import Transcript, is_too_long
from world_api.backends.chat.caching import from_cache
from world_api.backends.chat.completions import Usage, checked_reply, first_choice, usage_of
from world_api.core.deadline import deadline
from world_api.core.faults import BackendFault
from world_api.core.ports import ChatModel, Clock

#: Seconds for the last request, which comes on top of a budget that may be spent: as many as that budget has, within these.
_LEAST_AT_LAST, _MOST_AT_LAST = 10.0, 120.0


class NoRoom(Exception):
    """The conversation does not fit the model's window, even with its old results folded."""


class TimeUp(Exception):
    """The model had no answer by the time that the episode may take."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A reply as it came; ``folded`` results were folded for its request."""

    reply: dict[str, Any]
    usage: Usage
    physical: bool
    folded: int
    seconds: float

    @property
    def finish_reason(self) -> str | None:
        """Why the server says that the reply ended."""
        reason = first_choice(self.reply).get("finish_reason")
        return reason if isinstance(reason, str) else None


class Requests:
    """The requests of one episode."""

    def __init__(
        self,
        model: ChatModel,
        transcript: Transcript,
        *,
        offer: Sequence[dict[str, Any]],
        pictures: PictureBook,
        meter: Meter,
        clock: Clock,
    ) -> None:
        self._model = model
        self._transcript = transcript
        self._offer = list(offer)
        self._pictures = pictures
        self._meter = meter
        self._clock = clock
        self._folded = 0  #: since the last request that was answered

    def ask(self) -> Asked:
        """Ask with the tools on offer.

        Raises:
            NoRoom, TimeUp: there is no further round.
            BackendFault: the model's.
        """
        self._fold(last=False)
        if not self._transcript.fits(with_tools=True):
            raise NoRoom
        try:
            return self._asked_in_time()
        except BackendFault as fault:
            if not is_too_long(fault):
                raise
        if not self._shrunk(last=False):
            raise NoRoom
        try:
            return self._asked_in_time()
        except BackendFault as fault:
            if not is_too_long(fault):
                raise
            self._transcript.refused(with_tools=True)
            raise NoRoom from fault

    def ask_at_last(self) -> Asked:
        """Ask without tools; results of the last round are folded too where they must be.

        Raises:
            BackendFault: the model's.
        """
        self._fold(last=True)
        seconds = min(_MOST_AT_LAST, max(_LEAST_AT_LAST, self._meter.budget.seconds))
        try:
            return self._asked(with_tools=False, seconds=seconds)
        except BackendFault as fault:
            if not (is_too_long(fault) and self._shrunk(last=True)):
                raise
        return self._asked(with_tools=False, seconds=seconds)

    def _fold(self, *, last: bool) -> int:
        folded = self._transcript.fold(with_tools=not last, last_round_too=last)
        self._folded += folded
        return folded

    def _shrunk(self, *, last: bool) -> bool:
        """Whether a request that was found too long is shorter now."""
        self._transcript.refused(with_tools=not last)
        return self._fold(last=last) > 0

    def _asked_in_time(self) -> Asked:
        try:
            return self._asked(with_tools=True, seconds=self._meter.left())
        except BackendFault as fault:
            if self._meter.left() <= 0:
                raise TimeUp from fault
            raise

    def _asked(self, *, with_tools: bool, seconds: float) -> Asked:
        request: dict[str, Any] = {
            "model": self._model.name,
            "messages": self._pictures.put_into(self._transcript.messages),
        }
        if with_tools:
            request["tools"] = self._offer
        began = self._clock.monotonic()
        with deadline(max(seconds, 0.0)):
            reply = checked_reply(self._model.complete(request))
        took = round(self._clock.monotonic() - began, 6)
        usage = usage_of({}, reply)
        if usage.estimated:
            # The same estimate, but of what is new only: the whole request would be spelled out again in each round.
            usage = replace(usage, prompt=self._transcript.estimate(with_tools=with_tools))
        self._transcript.learn(usage, with_tools=with_tools)
        folded, self._folded = self._folded, 0
        return Asked(reply=reply, usage=usage, physical=not from_cache(reply), folded=folded, seconds=took)

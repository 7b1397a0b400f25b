"""Asking the model, with what was asked before as the checkpoint: a finished exchange is never asked again."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from world_api.chat.recording import Exchange, RecordingChatModel
from world_api.core.canonical import content_hash
from world_api.core.faults import BackendFault, EpisodeFault
from world_api.core.ports import ChatModel, Clock

#: faults that are about the request itself: whoever asks the same again is told the same
REFUSALS = ("endpoint_refused_request", "endpoint_unknown_model")


class Exchanges:
    """Exchanges with a model, recorded ones first.

    A recorded fault is no answer: it is asked again. Two are taken as recorded: a refusal of the request after which the
    model did answer (it was then asked with other settings, and so it must be once more), and, where the recording is all
    there is (``ReplayOnly``), the fault of a request that has no reply. ``done`` holds the exchanges of this run, faults
    included; ``paid`` these and every recorded one, whether or not anything asked for it.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        clock: Clock,
        recorded: Iterable[Exchange] = (),
        keep: Callable[[Exchange], None] = lambda _: None,
    ) -> None:
        self.model_name = model.name
        self.done: list[Exchange] = []
        self.paid = list(recorded)
        self._recorded: dict[str, deque[Exchange]] = defaultdict(deque)
        self._faults: dict[str, Exchange] = {}
        answered = max((place for place, item in enumerate(self.paid) if item.reply is not None), default=-1)
        for place, exchange in enumerate(self.paid):
            if exchange.reply is not None:
                self._recorded[exchange.request_hash].append(exchange)
            elif isinstance(model, ReplayOnly) or (place < answered and _is_refusal(exchange)):
                self._faults[exchange.request_hash] = exchange
        self._model = RecordingChatModel(model, clock=clock, keep=self._kept(keep))

    def ask(self, request: dict[str, Any]) -> Exchange:
        """The exchange that a request makes.

        Raises:
            BackendFault: the model's; ``bad_model_reply`` where its reply cannot be stored.
        """
        name = content_hash(request)
        if self._recorded[name]:
            self.done.append(self._recorded[name].popleft())
        elif name in self._faults:
            self.done.append(self._faults.pop(name))
            fault = self.done[-1].fault or {"code": "endpoint_error", "message": "no reply", "hint": ""}
            raise BackendFault(fault["code"], fault["message"], hint=fault["hint"])
        else:
            self._model.complete(request)
        return self.done[-1]

    def unused(self) -> list[Exchange]:
        """Recorded replies that no request of this run asked for; they were paid for all the same."""
        return [exchange for waiting in self._recorded.values() for exchange in waiting]

    def _kept(self, keep: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
        def both(exchange: Exchange) -> None:
            keep(exchange)
            self.done.append(exchange)
            self.paid.append(exchange)

        return both


def _is_refusal(exchange: Exchange) -> bool:
    return exchange.fault is not None and exchange.fault["code"] in REFUSALS


class ReplayOnly:
    """Stands for a model whose replies are all in a recording."""

    def __init__(self, name: str) -> None:
        self.name = name

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Never answers: what is asked of it is not in the recording.

        Raises:
            EpisodeFault: ``replay_mismatch``.
        """
        raise EpisodeFault(
            "replay_mismatch",
            "the recording holds no reply to this request",
            hint="replay with the domain, settings, example worlds and version that it was recorded with",
        )

"""Recording what a chat model was asked and answered, answering from such a recording, and playing a script.

A recording is a file of JSON files that is only ever appended to: one exchange a line, so that what was
paid for survives a crash.
"""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from world_api.backends.chat.completions import checked_reply
from world_api.core import files
from world_api.core.canonical import content_hash, json_line, parse_json
from world_api.core.faults import BackendFault, EpisodeFault, ErrorBody, VideoWorldError
from world_api.core.files import open_regular
from world_api.core.ports import ChatModel, Clock

SCHEMA_VERSION = 1
#: A longer line is no exchange: a reply has at most 32 MiB, and a request holds what was said before.
_MOST_LINE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request, and the reply or the fault it got after ``seconds``."""

    request: dict[str, Any]
    reply: dict[str, Any] | None
    fault: ErrorBody | None
    seconds: float

    @property
    def request_hash(self) -> str:
        """Names the request: SHA-256 of its canonical JSON."""
        return content_hash(self.request)

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "schema_version": SCHEMA_VERSION,
            "request_hash": self.request_hash,
            "request": self.request,
            "reply": self.reply,
            "fault": self.fault,
            "seconds": self.seconds,
        }


class RecordingChatModel:
    """Passes requests on to another model and hands every exchange to ``keep``; faults are exchanges too."""

    def __init__(self, model: ChatModel, *, clock: Clock, keep: Callable[[Exchange], None]) -> None:
        self.name = model.name
        self._model = model
        self._clock = clock
        self._keep = keep

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The other model's reply.

        Raises:
            BackendFault: the other model's; ``bad_model_reply`` where its reply cannot be stored.
        """
        began = self._clock.monotonic()
        try:
            reply = checked_reply(self._model.complete(request))
        except BackendFault as fault:
            self._finish(request, reply=None, fault=fault.record()["error"], began=began)
            raise
        self._finish(request, reply=reply, fault=None, began=began)
        return reply

    def _finish(
        self, request: dict[str, Any], *, reply: dict[str, Any] | None, fault: ErrorBody | None, began: float
    ) -> None:
        seconds = round(self._clock.monotonic() - began, 6)
        self._keep(Exchange(request=request, reply=reply, fault=fault, seconds=seconds))


class ReplayChatModel:
    """Answers from recorded exchanges: equal requests get their recorded replies, in recorded order."""

    def __init__(self, exchanges: Iterable[Exchange], *, name: str) -> None:
        self.name = name
        self._waiting: dict[str, deque[Exchange]] = defaultdict(deque)
        for exchange in exchanges:
            self._waiting[exchange.request_hash].append(exchange)

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The recorded reply to this very request.

        Raises:
            EpisodeFault: ``replay_mismatch``, when no recorded reply is left for the request.
            BackendFault: the recorded one.
        """
        waiting = self._waiting.get(content_hash(request))
        if not waiting:
            raise EpisodeFault(
                "replay_mismatch",
                "the recording holds no reply to this request" + self._difference(request),
                hint="replay with the question, tools, prompts and world of the recording, or run it again",
            )
        exchange = waiting.popleft()
        if exchange.reply is None:
            fault = exchange.fault or ErrorBody(code="endpoint_error", message="the model gave no reply", hint="")
            raise BackendFault(fault["code"], fault["message"], hint=fault["hint"])
        return exchange.reply

    def _difference(self, request: dict[str, Any]) -> str:
        left = next((queue[0].request for queue in self._waiting.values() if queue), None)
        if left is None:
            return ": all its replies are used up"
        return f": it first differs at {first_difference(left, request)}"


class ScriptedChatModel:
    """Plays replies in order, whatever is asked, and keeps the requests for a test to look at.

    A fault in the script is raised in its turn.
    """

    def __init__(self, replies: Sequence[dict[str, Any] | VideoWorldError], *, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[dict[str, Any]] = []
        self._replies = tuple(replies)

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The next reply of the script.

        Raises:
            EpisodeFault: ``script_ended``.
            VideoWorldError: the fault that stands in the script at this place.
        """
        position = len(self.requests)
        self.requests.append(copy.deepcopy(request))
        if position >= len(self._replies):
            raise EpisodeFault(
                "script_ended", f"the script holds {len(self._replies)} replies", hint="write one reply for each round"
            )
        reply = self._replies[position]
        if isinstance(reply, VideoWorldError):
            raise reply
        return copy.deepcopy(reply)


def append_line(path: Path, value: dict[str, Any], *, sync: bool = False) -> None:
    """Append one JSON line to a file, making it and its folder where they are missing.

    It is in the system's hands when this returns, and survives the end of this process; with ``sync`` a power cut too.
    """
    files.append_line(path, json_line(value).encode(), sync=sync)


def read_lines(path: Path, *, hint: str = "give the folder that --record made") -> Iterator[dict[str, Any]]:
    """The JSON objects of a file of files; a last line that a crash cut short is left out.

    Raises:
        EpisodeFault: ``recording_missing``, with the hint; ``recording_damaged``.
    """
    try:
        with open_regular(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(_MOST_LINE_BYTES), b""), start=1):
                if not line.endswith(b"\n") and len(line) < _MOST_LINE_BYTES:
                    return
                try:
                    value = parse_json(line.decode())
                except ValueError:
                    value = None
                if not isinstance(value, dict):
                    raise _damaged(f"line {number} of {path.name} is not a JSON object")
                yield value
    except OSError as error:
        raise EpisodeFault("recording_missing", f"cannot read {path.name}: {error.strerror}", hint=hint) from None


def read_exchanges(path: Path, *, hint: str = "give the folder that --record made") -> list[Exchange]:
    """The exchanges of a recording, in order.

    Raises:
        EpisodeFault: ``recording_missing``, with the hint; ``recording_damaged``, ``recording_schema``.
    """
    return [_exchange(record, path) for record in read_lines(path, hint=hint)]


def _exchange(record: dict[str, Any], path: Path) -> Exchange:
    check_schema(record, SCHEMA_VERSION, path)
    try:
        request, reply, fault = record["request"], record["reply"], record["fault"]
        exchange = Exchange(request=request, reply=reply, fault=fault, seconds=record["seconds"])
        told = isinstance(fault, dict) and all(isinstance(fault.get(key), str) for key in ("code", "message", "hint"))
        answered = (isinstance(reply, dict) and fault is None) or (reply is None and told)
        typed = isinstance(request, dict) and isinstance(exchange.seconds, int | float)
        intact = typed and answered and exchange.request_hash == record["request_hash"]
    except KeyError:
        intact = False
    if not intact:
        raise _damaged(f"an exchange in {path.name} is not whole or does not match its hash")
    return exchange


def _damaged(reason: str) -> EpisodeFault:
    hint = "restore the file from a copy; records are never repaired"
    return EpisodeFault("recording_damaged", reason, hint=hint)


def check_schema(record: dict[str, Any], version: int, path: Path) -> None:
    """Refuse a record of another schema.

    Raises:
        EpisodeFault: ``recording_schema``.
    """
    found = record.get("schema_version")
    if found != version:
        raise EpisodeFault(
            "recording_schema",
            f"{path.name} has schema version {found!r}; this version reads {version}",
            hint="read it with the version of video-world-api that wrote it",
        )


def first_difference(recorded: Any, asked: Any, path: str = "$") -> str:
    """Where two JSON values first differ, as a path from the root ``$``."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in sorted(recorded.keys() | asked.keys()):
            if recorded.get(key) != asked.get(key):
                return first_difference(recorded.get(key), asked.get(key), f"{path}.{key}")
    if isinstance(recorded, list) and isinstance(asked, list):
        for position, (left, right) in enumerate(zip(recorded, asked, strict=False)):
            if left != right:
                return first_difference(left, right, f"{path}[{position}]")
        return f"{path}[{min(len(recorded), len(asked))}]"
    return path

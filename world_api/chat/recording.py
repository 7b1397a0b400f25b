"""Exchanges with a chat model: recorded, replayed and cached.

A recording is a file of JSON lines, one exchange per line. Lines are only appended: paid replies survive a crash.
"""

from __future__ import annotations

import errno
import math
import os
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, cast
from weakref import WeakValueDictionary

from world_api.chat.messages import PROJECT_FIELD, checked_reply, first_message
from world_api.core import files
from world_api.core.canonical import content_hash, json_line, json_object
from world_api.core.cost import remaining
from world_api.core.faults import BackendFault, EpisodeFault, ErrorBody, StoreFault
from world_api.core.files import open_regular, write_atomically
from world_api.core.ports import ChatModel, Clock

SCHEMA_VERSION = 1
CACHE_SCHEMA_VERSION = 1
#: Longest line or cache entry that is read: a reply has at most 32 MiB, and a request contains the conversation so far.
_MOST_BYTES = 256 * 1024 * 1024
_RECORD_HINT = "give the folder that --record made"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request, and the reply or the fault that came after ``seconds``; the other of the two is None."""

    request: dict[str, Any]
    reply: dict[str, Any] | None
    fault: ErrorBody | None
    seconds: float

    @property
    def request_hash(self) -> str:
        """SHA-256 of the request's canonical JSON."""
        return content_hash(self.request)

    def record(self) -> dict[str, Any]:
        """Return the exchange as a JSON object."""
        return {"schema_version": SCHEMA_VERSION, "request_hash": self.request_hash, **vars(self)}


class RecordingChatModel:
    """Passes requests on to another model and calls ``keep`` with every exchange, also with failed ones.

    ``before`` is called before each request: one that is interrupted may be paid for and is not passed to ``keep``.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        clock: Clock,
        keep: Callable[[Exchange], None],
        before: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = model.name
        self._model = model
        self._clock = clock
        self._keep = keep
        self._before = before

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Pass the request on, and return the other model's reply; the exchange is also passed to ``keep``.

        Raises BackendFault: the other model's; ``bad_model_reply`` if its reply cannot be stored.
        """
        self._before()
        began = self._clock.monotonic()
        reply, fault = None, None
        try:
            reply = checked_reply(self._model.complete(request))
            return reply
        except BackendFault as error:
            fault = error.record()["error"]
            raise
        finally:
            if reply is not None or fault is not None:
                seconds = round(self._clock.monotonic() - began, 6)
                self._keep(Exchange(request=request, reply=reply, fault=fault, seconds=seconds))


class ReplayChatModel:
    """Answers from recorded exchanges: equal requests get their replies in recorded order, each reply once."""

    def __init__(self, exchanges: Iterable[Exchange], *, name: str) -> None:
        self.name = name
        self._waiting: dict[str, deque[Exchange]] = defaultdict(deque)
        for exchange in exchanges:
            self._waiting[exchange.request_hash].append(exchange)

    @property
    def left(self) -> int:
        """Number of recorded exchanges that were not requested yet."""
        return sum(map(len, self._waiting.values()))

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the recorded reply to this request.

        Raises EpisodeFault: ``replay_mismatch``, if no reply is left for the request; BackendFault: the recorded fault.
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


class CachingChatModel:
    """Answers requests from a folder of stored replies; new requests go to another model, whose replies are stored.

    A reply is stored under the hash of the whole request, the model's name and ``at()``: the server's address and the
    API in use, which may change during a request. An equal request gets the same reply even if its temperature is above 0;
    with another ``seed`` it is a different request. Threads and processes may share the folder: entries are written atomically.
    Equal requests at the same time are sent once within one process. Faults and replies without a message are not
    stored; a damaged entry is requested again and replaced.

    Raises BackendFault: ``cache_not_writable``.
    """

    def __init__(self, model: ChatModel, folder: Path | str, *, at: Callable[[], str] = lambda: "") -> None:
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, "nothing can be written there")
        except OSError as error:
            what = f"replies cannot be kept in {folder}: {error.strerror}"
            raise BackendFault("cache_not_writable", what, hint="name another folder with --cache, or none") from None
        self.name = model.name
        self._model = model
        self._folder = folder
        self._at = at
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._guard = threading.Lock()

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the stored reply, with ``"videoworld": {"from_cache": true}``; else the other model's, which is then stored.

        Raises BackendFault: the other model's; ``bad_model_reply`` if its reply is not JSON; ``endpoint_unreachable``
        if an equal request of another thread is not answered in time.
        """
        key = self._key(request)
        stored = self._stored(key)
        if stored is not None:
            return _marked(stored)
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        seconds = remaining(math.inf)
        if not lock.acquire(timeout=-1 if math.isinf(seconds) else max(0.0, seconds)):
            raise BackendFault(
                "endpoint_unreachable",
                f"an equal request was under way and not answered within {seconds:g} s",
                hint="give more time",
            )
        try:
            stored = self._stored(key)  # it may have been stored meanwhile
            return _marked(stored) if stored is not None else self._request(request)
        finally:
            lock.release()

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = checked_reply(self._model.complete(request))
        if first_message(reply) is not None:
            key = self._key(request)  # another API may be in use now
            entry = {
                "schema_version": CACHE_SCHEMA_VERSION,
                "key": key,
                "reply": reply,
                "reply_hash": content_hash(reply),
            }
            with suppress(StoreFault):  # it is paid for, and must not be lost because the disk is full
                write_atomically(self._file(key), json_line(entry).encode())
        return reply

    def _key(self, request: dict[str, Any]) -> str:
        return content_hash(
            {"schema_version": CACHE_SCHEMA_VERSION, "at": self._at(), "model": self.name, "request": request}
        )

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

    def _stored(self, key: str) -> dict[str, Any] | None:
        try:
            with open_regular(self._file(key)) as file:
                entry = json_object(file.read(_MOST_BYTES))
        except OSError:
            return None
        if entry is None or entry.get("key") != key or not isinstance(entry.get("reply"), dict):  # missing or damaged
            return None
        reply: dict[str, Any] = entry["reply"]
        return reply if content_hash(reply) == entry.get("reply_hash") else None


def _marked(reply: dict[str, Any]) -> dict[str, Any]:
    return {**reply, PROJECT_FIELD: {"from_cache": True}}


class RecordingClock:
    """Reads another clock and keeps the readings; monotonic time begins at 0 with the first reading."""

    def __init__(self, clock: Clock) -> None:
        self.readings: list[str | float] = []
        self._clock = clock
        self._zero: float | None = None

    def now(self) -> str:
        """Return the other clock's wall time, and add it to ``readings``."""
        reading = self._clock.now()
        self.readings.append(reading)
        return reading

    def monotonic(self) -> float:
        """Return the seconds since the first call, rounded to microseconds, and add them to ``readings``."""
        reading = self._clock.monotonic()
        if self._zero is None:
            self._zero = reading
        elapsed = round(reading - self._zero, 6)
        self.readings.append(elapsed)
        return elapsed


class ReplayClock:
    """Returns recorded readings in their order, so that a replay gets the times of the recording."""

    def __init__(self, readings: Sequence[str | float]) -> None:
        self._readings = tuple(readings)
        self._next = 0

    @property
    def left(self) -> int:
        """Number of readings that were not used yet."""
        return len(self._readings) - self._next

    def now(self) -> str:
        """Return the next reading, a wall time. Raises EpisodeFault: ``replay_mismatch`` if none is left or it is a number."""
        return cast(str, self._take(str))

    def monotonic(self) -> float:
        """Return the next reading, in seconds. Raises EpisodeFault: ``replay_mismatch`` if none is left or it is a text."""
        return float(self._take(int | float))

    def _take(self, kind: type | UnionType) -> str | float:
        reading = self._readings[self._next] if self._next < len(self._readings) else None
        if not isinstance(reading, kind):
            raise EpisodeFault(
                "replay_mismatch",
                "the replay reads the clock where the recording did not",
                hint="the recording was made by another version of the loop; run the question again",
            )
        self._next += 1
        return cast("str | float", reading)


def append_line(path: Path | str, value: dict[str, Any], *, sync: bool = False) -> None:
    """Append one JSON line to a file; the file and its folder are created if they are missing.

    The line survives a crash of this process, and with ``sync`` also a power failure.
    """
    files.append_line(Path(path), json_line(value).encode(), sync=sync)


def read_lines(path: Path | str, *, hint: str = _RECORD_HINT) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file of JSON lines; an incomplete last line, as a crash leaves it, is omitted.

    Raises EpisodeFault: ``recording_missing``, with ``hint``; ``recording_damaged``.
    """
    path = Path(path)
    try:
        with open_regular(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(_MOST_BYTES), b""), start=1):
                if not line.endswith(b"\n") and len(line) < _MOST_BYTES:
                    return
                if (value := json_object(line)) is None:
                    raise damaged(f"line {number} of {path.name} is not a JSON object")
                yield value
    except OSError as error:
        raise EpisodeFault("recording_missing", f"cannot read {path.name}: {error.strerror}", hint=hint) from None


def read_exchanges(path: Path | str, *, hint: str = _RECORD_HINT) -> list[Exchange]:
    """Read the exchanges of a recording, in order.

    Raises EpisodeFault: ``recording_missing``, with ``hint``; ``recording_damaged``, ``recording_schema``.
    """
    return [_exchange(record, Path(path)) for record in read_lines(path, hint=hint)]


def _exchange(record: dict[str, Any], path: Path) -> Exchange:
    check_schema(record, SCHEMA_VERSION, path)
    request, reply, fault, seconds = (record.get(key) for key in ("request", "reply", "fault", "seconds"))
    failed = isinstance(fault, dict) and all(isinstance(fault.get(key), str) for key in ("code", "message", "hint"))
    answered = (isinstance(reply, dict) and fault is None) or (reply is None and failed)
    if isinstance(request, dict) and answered and isinstance(seconds, int | float):
        exchange = Exchange(request=request, reply=reply, fault=cast("ErrorBody | None", fault), seconds=seconds)
        if exchange.request_hash == record.get("request_hash"):
            return exchange
    raise damaged(f"an exchange in {path.name} is not whole or does not match its hash")


def damaged(what: str) -> EpisodeFault:
    """Return the fault ``recording_damaged``, for a record that was changed since it was written; ``what``: its message."""
    return EpisodeFault("recording_damaged", what, hint="restore the file from a copy; records are never repaired")


def check_schema(record: dict[str, Any], version: int, path: Path | str) -> None:
    """Check the schema version of a record. Raises EpisodeFault: ``recording_schema`` if it is not ``version``."""
    found = record.get("schema_version")
    if found != version:
        raise EpisodeFault(
            "recording_schema",
            f"{Path(path).name} has schema version {found!r}; this version reads {version}",
            hint="read it with the version of video-world-api that wrote it",
        )


def first_difference(recorded: Any, current: Any, path: str = "$") -> str:
    """Return the JSON path, which begins with ``path``, at which unequal values first differ: ``$.messages[2].content``."""
    if isinstance(recorded, dict) and isinstance(current, dict):
        for key in sorted(recorded.keys() | current.keys()):
            if recorded.get(key) != current.get(key):
                return first_difference(recorded.get(key), current.get(key), f"{path}.{key}")
    if isinstance(recorded, list) and isinstance(current, list):
        for position, (left, right) in enumerate(zip(recorded, current, strict=False)):
            if left != right:
                return first_difference(left, right, f"{path}[{position}]")
        return f"{path}[{min(len(recorded), len(current))}]"
    return path

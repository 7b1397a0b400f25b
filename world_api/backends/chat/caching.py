"""Replies kept by what was asked, so that the same request is not paid for twice.

A switch, off by default. What names a reply is the hash of the whole request (model, messages, tools, temperature, seed
and all) and of where it was sent, over which wire. An equal request is the same draw, whatever its temperature: whoever wants another
draw gives another ``seed``.
"""

from __future__ import annotations

import copy
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from world_api.backends.chat.completions import checked_reply, first_message
from world_api.core.canonical import content_hash, json_line, parse_json
from world_api.core.cost import remaining
from world_api.core.faults import BackendFault, StoreFault
from world_api.core.files import open_regular, write_atomically
from world_api.core.ports import ChatModel

SCHEMA_VERSION = 1
OURS = "videoworld"  #: the part of a reply that is said by us and not by the server
_MOST_BYTES = 256 * 1024 * 1024


def from_cache(reply: dict[str, Any]) -> bool:
    """Whether a reply was kept from an earlier request, so that nobody was asked and nothing was paid."""
    ours = reply.get(OURS)
    return isinstance(ours, dict) and ours.get("from_cache") is True


class CachingChatModel:
    """Answers from a folder of kept replies; what is not there is asked of another model, and kept.

    Threads and processes may share the folder: entries come into being whole. Within one such model, requests that are
    equal and made at the same time are asked once. Faults are never kept, nor are replies without a message; an entry that
    is damaged is asked for again and replaced. A reply that cannot be written down is given all the same. ``at`` says where
    the other model is and how it is spoken to, as part of an entry's name; that may change while it is asked.

    Raises:
        BackendFault: ``cache_not_writable``.
    """

    def __init__(self, model: ChatModel, folder: Path, *, at: Callable[[], str] = lambda: "") -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(folder, error.strerror) from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise _unusable(folder, "nothing can be written there")
        self.name = model.name
        self._model = model
        self._folder = folder
        self._at = at
        self._asking: dict[str, Future[dict[str, Any] | None]] = {}
        self._guard = threading.Lock()

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The kept reply, marked ``"videoworld": {"from_cache": true}``, else the other model's.

        Raises:
            BackendFault: the other model's; ``bad_model_reply`` where its reply is no JSON.
        """
        key = self._key(request)
        kept = self._kept(key)
        if kept is not None:
            return _marked(kept)
        with self._guard:
            asked = self._asking.get(key)
            mine: Future[dict[str, Any] | None] = self._asking.setdefault(key, Future())
        if asked is not None:
            found = _awaited(asked)
            # The other asker failed, perhaps for want of time that is here: this one asks for itself.
            return _marked(copy.deepcopy(found)) if found is not None else self._ask(request)
        reply: dict[str, Any] | None = None
        try:
            kept = self._kept(key)  # it may have been kept since it was looked for
            reply = kept if kept is not None else self._ask(request)
            return reply if kept is None else _marked(reply)
        finally:
            with self._guard:
                del self._asking[key]
            mine.set_result(reply)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = checked_reply(self._model.complete(request))
        if first_message(reply) is not None:
            key = self._key(request)  # another wire may be spoken now
            entry = {"schema_version": SCHEMA_VERSION, "key": key, "reply": reply, "reply_hash": content_hash(reply)}
            with suppress(StoreFault):  # it is paid for, and must not be lost because the disk is full
                write_atomically(self._file(key), json_line(entry).encode())
        return reply

    def _key(self, request: dict[str, Any]) -> str:
        return content_hash(
            {"schema_version": SCHEMA_VERSION, "at": self._at(), "model": self.name, "request": request}
        )

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

    def _kept(self, key: str) -> dict[str, Any] | None:
        try:
            with open_regular(self._file(key)) as file:
                entry = parse_json(file.read(_MOST_BYTES).decode())
        except (OSError, ValueError):  # not there, or damaged: then it is asked
            return None
        if not isinstance(entry, dict) or entry.get("key") != key or not isinstance(entry.get("reply"), dict):
            return None
        reply: dict[str, Any] = entry["reply"]
        return reply if content_hash(reply) == entry.get("reply_hash") else None


def _unusable(folder: Path, reason: str | None) -> BackendFault:
    return BackendFault(
        "cache_not_writable",
        f"replies cannot be kept in {folder}: {reason}",
        hint="name another folder with --cache, or none",
    )


def _awaited(asked: Future[dict[str, Any] | None]) -> dict[str, Any] | None:
    seconds = remaining(math.inf)
    try:
        return asked.result(timeout=None if math.isinf(seconds) else seconds)
    except TimeoutError:
        raise BackendFault(
            "endpoint_unreachable",
            f"an equal request was under way and not answered within {seconds:g} s",
            hint="give more time",
        ) from None


def _marked(reply: dict[str, Any]) -> dict[str, Any]:
    return {**reply, OURS: {"from_cache": True}}

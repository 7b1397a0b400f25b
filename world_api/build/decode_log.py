"""What is known of the decoding of a video while its world is built, so that a build goes on where one was broken off.

A log beside the rows, a line for each place a pass can be taken up at, and one for its end. It is a help and no part of
the world: without it, or with a line lost, a build decodes more and makes the same rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from world_api.build.stage import CLIP_SECONDS, FRAME_MODULES, hash_code
from world_api.core.canonical import content_hash
from world_api.core.files import not_writable
from world_api.media.container import Limits
from world_api.media.decode_pass import LossNote, PassState

NAME = "decoding.jsonl"
#: So many digits of a record's hash stand in its line.
_CHECK = 12


class DecodeLog:
    """The log of one video's decoding, read at the start and written on."""

    def __init__(self, path: Path, *, source_hash: str, limits: Limits, reuse: bool) -> None:
        self._path = path
        self._identity = _identity(source_hash, limits)
        self.states: list[PassState] = []
        self.final: PassState | None = None
        self.lost: list[LossNote] = []
        self.has_died = False
        self._is_begun = reuse and self._read()

    @property
    def vouches_for_rows(self) -> bool:
        """Whether rows that are there were made of whole frames, or of the frames of a pass that came to its end."""
        return self.final is not None or not self.has_died

    def before(self, time: float) -> PassState | None:
        """The last place before a time (seconds) that a pass can be taken up at."""
        return next((state for state in reversed(self.states) if state.last_time < time), None)

    def lose(self, loss: LossNote) -> None:
        """A decoder died: rows made from now on may lack frames, so they are kept only with the end of the pass.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        self._write({"died": vars(loss)})

    def note(self, state: PassState) -> None:
        """Keep a place, about one a clip.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        last = self.states[-1].last_time if self.states else 0.0
        if state.can_go_on and state.last_time - last >= CLIP_SECONDS:
            self.states.append(state)
            self._write({"state": vars(state)})

    def finish(self, state: PassState, lost: Sequence[LossNote]) -> None:
        """Keep where the video ends, and what was lost with decoders that died.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        self.final, self.lost = state, list(lost)
        self._write({"final": vars(state), "lost": [vars(loss) for loss in lost]})

    def adopt(self, source_hash: str, limits: Limits) -> None:
        """From now on it is the log of the same video under another hash."""
        states, final, lost = self.states, self.final, self.lost
        self._identity, self._is_begun = _identity(source_hash, limits), False
        for state in states:
            self._write({"state": vars(state)})
        if final is not None:
            self.finish(final, lost)

    def _read(self) -> bool:
        """Take what the log holds of this very video; whether it is one to write on.

        A line that is not what was written ends it: what comes after is not trusted.
        """
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except OSError:
            return False
        size = 0
        for line in lines:
            record = _checked(line)
            if record is None or (size == 0) != ("of" in record) or record.get("of", self._identity) != self._identity:
                break
            self._take(record)
            size += len(line)
        if size:
            os.truncate(self._path, size)
        return size > 0

    def _take(self, record: dict[str, Any]) -> None:
        if "state" in record:
            self.states.append(PassState(**record["state"]))
        elif "died" in record:
            self.has_died = True
        elif "final" in record:
            self.final = PassState(**record["final"])
            self.lost = [LossNote(**loss) for loss in record["lost"]]

    def _write(self, record: dict[str, Any]) -> None:
        try:
            if not self._is_begun:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.write_bytes(_line({"of": self._identity}))
                self._is_begun = True
            with self._path.open("ab") as file:
                file.write(_line(record))
        except OSError as error:
            raise not_writable(self._path, error) from error


def _line(record: dict[str, Any]) -> bytes:
    """A record with the hash of what it says, as one line."""
    return json.dumps([content_hash(record)[:_CHECK], record]).encode() + b"\n"


def _checked(line: bytes) -> dict[str, Any] | None:
    """The record of a line, or None where it is not what was written."""
    try:
        check, record = json.loads(line)
        is_sound = line.endswith(b"\n") and isinstance(record, dict) and content_hash(record)[:_CHECK] == check
    except (ValueError, TypeError, RecursionError):
        return None
    return record if is_sound else None


def _identity(source_hash: str, limits: Limits) -> str:
    facts = [source_hash, hash_code(FRAME_MODULES), limits.pixels, limits.duration]
    return content_hash(facts)[:16]

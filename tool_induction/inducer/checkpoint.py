"""The checkpoint of an induction: the folder ``OUT.induction`` beside the library ``OUT``.

::

    OUT.induction/asked.json       the request of the induction; a different request cannot use these exchanges
    OUT.induction/recording.jsonl  every exchange with the model, one per line, written when it is finished
    OUT.induction/lock             locked while a process uses the folder

If a process is killed, the next one with the same request takes the finished exchanges from the recording.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from world_api.chat.recording import Exchange, append_line, read_exchanges
from world_api.core.canonical import parse_json
from world_api.core.faults import ToolFault
from world_api.core.identifiers import is_name

_REQUEST, RECORDING, _LOCK = "asked.json", "recording.jsonl", "lock"
_SUFFIX = ".induction"


class Checkpoint:
    """The work folder of one induction: its request (the settings, as a record), recording and lock."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out.with_name(out.name + _SUFFIX)

    @contextmanager
    def held(self, request: Mapping[str, Any]) -> Iterator[list[Exchange]]:
        """Hold the folder's lock inside the block; yield the recorded exchanges, none if the model never replied.

        Raises:
            ToolFault: ``bad_library_name``, ``library_exists``, ``out_not_writable``, ``induction_running``;
                ``other_induction``: the recorded replies are to a different request.
            EpisodeFault: ``recording_damaged``, ``recording_schema``.
        """
        from filelock import FileLock, Timeout

        check_out(self.out)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / _LOCK, timeout=0)
            lock.acquire()
        except Timeout:
            raise ToolFault(
                "induction_running", f"another process works on {self.out}", hint="wait for it, or choose another --out"
            ) from None
        except OSError as error:
            raise self._not_writable(error) from None
        try:
            path = (
                self.folder / RECORDING
            )  # an incomplete last line, which a crash may leave, is not read and will be overwritten
            recorded = read_exchanges(path) if path.exists() else []
            if any(exchange.reply is not None for exchange in recorded):
                self._check_same(request)
            else:  # without a reply there is nothing of another induction to be mixed up
                self._begin(request)
                recorded = []
            yield recorded
        finally:
            lock.release()

    def keep(self, exchange: Exchange) -> None:
        """Append an exchange to the recording.

        Raises:
            ToolFault: ``out_not_writable``.
        """
        try:
            append_line(self.folder / RECORDING, exchange.record())
        except OSError as error:
            raise self._not_writable(error) from None

    def _not_writable(self, error: OSError) -> ToolFault:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return ToolFault(
            "out_not_writable",
            f"{self.folder} cannot be written: {error.strerror or error}",
            hint="free some space; then the same command continues" if full else "give --out a folder that can be made",
        )

    def _begin(self, request: Mapping[str, Any]) -> None:
        """Write the request, and delete a recording that has no reply."""
        try:
            (self.folder / RECORDING).unlink(missing_ok=True)
            text = json.dumps(dict(request), indent=1, ensure_ascii=False) + "\n"
            partial = self.folder / f"{_REQUEST}.partial"
            partial.write_text(text, encoding="utf-8")
            partial.replace(self.folder / _REQUEST)
        except OSError as error:
            raise self._not_writable(error) from None

    def _check_same(self, request: Mapping[str, Any]) -> None:
        """Refuse to continue if the recorded replies are to a different request."""
        path = self.folder / _REQUEST
        hint = f"choose another --out; or remove {self.folder} to ask everything again"
        wanted = json.loads(json.dumps(dict(request)))
        try:
            found = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise ToolFault("other_induction", f"{path} is missing or damaged", hint=hint)
        keys = sorted(key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key))
        if keys:
            changes = "; ".join(f"{key} was {_short(found.get(key))}, is {_short(wanted.get(key))}" for key in keys)
            what = f"{self.folder} holds the answers to another induction: {changes}"
            raise ToolFault("other_induction", what, hint=hint)


def check_out(out: Path) -> None:
    """Check that the path of a new library does not exist, and that its name is valid. Permissions are not checked.

    Raises:
        ToolFault: ``bad_library_name``; ``library_exists``; ``out_not_writable``: it is a link without a target.
    """
    if out.is_symlink() and not out.exists():
        what = f"{out} is a link to a path that does not exist"
        raise ToolFault("out_not_writable", what, hint="remove the link, or choose another --out")
    if out.exists():
        hint = "a frozen library is immutable; choose another --out, one for each seed"
        raise ToolFault("library_exists", f"{out} is there already", hint=hint)
    if not is_name(out.name.lower()):
        raise ToolFault(
            "bad_library_name", f"{out.name[:64]!r} cannot name a library", hint="use letters, digits, . _ -"
        )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."

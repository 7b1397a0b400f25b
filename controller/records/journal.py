"""The folder that ``--record`` makes, and reading it again.

::

    DIR/episodes.jsonl           one episode a line, named, with the conditions it was recorded under
    DIR/timings.jsonl            its wall times and clock readings, so that the line above is the same in a replay
    DIR/recordings/NAME.jsonl    its exchanges with the model, one a line, written while it runs
    DIR/materials/NAME.jsonl     what its requests were built from beside question and results, where it took any

Files are only ever appended to, a line in one write and under a lock, so that episodes of many threads and processes may
be recorded side by side. An exchange is in the system's hands when the episode goes on, and outlives the process; an
episode's own line is synced, and outlives a power cut. What a dead writer left without its end was never a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from controller.episode import Episode, Task, Timings, episode_from_record
from controller.records.conditions import Conditions, conditions_from_record
from world_api.backends.chat.recording import (
    Exchange,
    append_line,
    check_schema,
    read_exchanges,
    read_lines,
)
from world_api.core.canonical import content_hash
from world_api.core.faults import EpisodeFault

SCHEMA_VERSION = 2
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
EPISODES, _TIMINGS, RECORDINGS, _MATERIALS = "episodes.jsonl", "timings.jsonl", "recordings", "materials"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A recorded episode: its name in the journal, its record, its conditions, and the clock readings it was run with."""

    name: str
    episode: Episode
    conditions: Conditions
    readings: tuple[str | float, ...]


class Recording:
    """One episode that is being recorded."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder

    def keep(self, exchange: Exchange) -> None:
        """Append an exchange.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        self._append(_own(self._folder, RECORDINGS, self.name), exchange.record())

    def keep_material(self, name: str, value: Any) -> None:
        """Append what requests are built from.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        line = {"schema_version": SCHEMA_VERSION, "name": name, "value": value}
        self._append(_own(self._folder, _MATERIALS, self.name), line)

    def finish(self, episode: Episode, conditions: Conditions, readings: Sequence[str | float]) -> None:
        """Append the episode and its times.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        timings = asdict(episode.timings) if episode.timings is not None else None
        line = {"schema_version": SCHEMA_VERSION, "name": self.name}
        self._append(self._folder / _TIMINGS, {**line, "timings": timings, "clock": list(readings)})
        record = {**line, "conditions": conditions.record(), "episode": episode.record()}
        self._append(self._folder / EPISODES, record, sync=True)

    def _append(self, path: Path, record: dict[str, Any], *, sync: bool = False) -> None:
        try:
            append_line(path, record, sync=sync)
        except OSError as error:
            raise _not_writable(self._folder, error) from None


class Journal:
    """A folder of recorded episodes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, label: str) -> Recording:
        """Start recording an episode under a name nobody has taken: the label, numbered if need be.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        try:
            (self._folder / RECORDINGS).mkdir(parents=True, exist_ok=True)
            return Recording(self._folder, self._take_name(label))
        except OSError as error:
            raise _not_writable(self._folder, error) from None

    def _take_name(self, label: str) -> str:
        number = 1
        while True:
            name = label if number == 1 else f"{label}-{number}"
            try:
                _own(self._folder, RECORDINGS, name).touch(exist_ok=False)
            except FileExistsError:
                number += 1
            else:
                return name

    def entries(self) -> Iterator[Entry]:
        """The finished episodes, in the order in which they finished.

        Raises:
            EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
        """
        if not (self._folder / EPISODES).exists() and (self._folder / RECORDINGS).is_dir():
            return  # nothing has come to its end yet
        times = {line["name"]: line for line in self._lines(_TIMINGS, {"name": _is_label, "clock": _are_readings})}
        seen: set[str] = set()
        for line in self._lines(EPISODES, {"name": _is_label, "conditions": _is_object, "episode": _is_object}):
            if line["name"] in seen:
                raise EpisodeFault(
                    "recording_damaged",
                    f"two episodes are named {line['name'][:80]!r}",
                    hint="journals cannot be joined by joining their files; keep each in its own folder",
                )
            seen.add(line["name"])
            time = times.get(line["name"], {})
            episode, timings = episode_from_record(line["episode"]), time.get("timings")
            yield Entry(
                name=line["name"],
                episode=episode.with_timings(_timings(timings)) if timings is not None else episode,
                conditions=conditions_from_record(line["conditions"]),
                readings=tuple(time.get("clock", ())),
            )

    def find(self, name: str) -> Entry:
        """A finished episode by name.

        Raises:
            EpisodeFault: ``unknown_episode``, and those of ``entries``.
        """
        entries = {entry.name: entry for entry in self.entries()}
        if name not in entries:
            begun = name in self.unfinished()
            raise EpisodeFault(
                "unknown_episode",
                f"the episode {name[:80]!r} was begun and not finished"
                if begun
                else f"no episode is named {name[:80]!r}",
                hint="one of: " + ", ".join(list(entries)[-10:]) if entries else "the folder holds no finished episode",
            )
        return entries[name]

    def unfinished(self) -> list[str]:
        """Episodes that were begun and have no end: they still run, or their process died. Their exchanges are there."""
        begun = {path.stem for path in (self._folder / RECORDINGS).glob("*.jsonl")}
        try:
            ended = {line.get("name") for line in read_lines(self._folder / EPISODES)}
        except EpisodeFault:
            ended = set()
        return sorted(begun - ended)

    def exchanges(self, name: str) -> list[Exchange]:
        """The exchanges of an episode with its model.

        Raises:
            EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
        """
        return read_exchanges(_own(self._folder, RECORDINGS, name))

    def materials(self, name: str) -> dict[str, Any]:
        """What the requests of an episode were built from, by name.

        Raises:
            EpisodeFault: ``recording_damaged``, ``recording_schema``.
        """
        path = _own(self._folder, _MATERIALS, name)
        if not path.exists():
            return {}
        found = self._lines(f"{_MATERIALS}/{path.name}", {"name": _is_text})
        return {line["name"]: line.get("value") for line in found}

    def _lines(self, file: str, fields: Mapping[str, Callable[[Any], bool]]) -> Iterator[dict[str, Any]]:
        """The lines of a file whose fields hold what they should."""
        path = self._folder / file
        for number, line in enumerate(read_lines(path), start=1):
            check_schema(line, SCHEMA_VERSION, path)
            broken = [key for key, holds in fields.items() if not holds(line.get(key))]
            if broken:
                raise EpisodeFault(
                    "recording_damaged",
                    f"line {number} of {file} is not whole: {broken[0]}",
                    hint="restore the file from a copy; records are never repaired",
                )
            yield line


def _timings(record: Any) -> Timings:
    try:
        return TypeAdapter(Timings).validate_python(record)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise EpisodeFault(
            "recording_damaged", f"the times of an episode are not whole: {where}", hint="restore the file from a copy"
        ) from None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_label(value: Any) -> bool:
    """A name of an episode: it names files too."""
    return isinstance(value, str) and _LABEL.fullmatch(value) is not None


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _are_readings(value: Any) -> bool:
    """Wall times as text, and seconds."""
    return isinstance(value, list) and all(
        isinstance(item, str | int | float) and not isinstance(item, bool) for item in value
    )


def label_for(task: Task, started_at: str) -> str:
    """A readable name for an episode: when it began, the system, and a hash of what was asked."""
    time = "".join(character for character in started_at[:19] if character.isdigit())
    system = "".join(letter if letter.isalnum() else "-" for letter in task.system)[:40]
    return f"{time}-{system}-{content_hash(asdict(task))[:8]}"


def _not_writable(folder: Path, error: OSError) -> EpisodeFault:
    return EpisodeFault(
        "record_not_writable",
        f"cannot record in {folder}: {error.strerror}",
        hint="give --record a folder that can be written and has room",
    )


def _own(folder: Path, kind: str, name: str) -> Path:
    """The file of one episode."""
    return folder / kind / f"{name}.jsonl"

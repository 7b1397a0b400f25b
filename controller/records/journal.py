"""The folder that ``--record`` makes, and reading it again.

::

    DIR/episodes.jsonl           one episode a line, named, with the conditions it was recorded under and checksums of all parts
    DIR/timings.jsonl            its wall times and clock readings, so that the line above is the same in a replay
    DIR/begun.jsonl              what was known of it at its beginning, for those that have no end
    DIR/recordings/NAME.jsonl    its exchanges with the model, one a line, written while it runs
    DIR/materials/NAME.jsonl     what its requests were built from beside question and results, where it took any

Files are only ever appended to, a line in one write and under a lock, so that episodes of many threads and processes may
be recorded side by side. An exchange is in the system's hands when the episode goes on, and outlives the process; an
episode's own line is synced, and outlives a power cut. What a dead writer left without its end was never a line.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from controller.episode import Episode, Timings, episode_from_record
from controller.records.conditions import Conditions, conditions_from_record
from controller.records.endings import with_talk
from controller.records.files import (
    BEGUN,
    EPISODES,
    MATERIALS,
    RECORDINGS,
    TIMINGS,
    Line,
    are_readings,
    damaged,
    is_label,
    is_object,
    is_text,
    is_there,
    lines_of,
    own_file,
)
from controller.records.sums import check_line, check_sum, exchange_sum, material_sum, timings_sum
from controller.records.writing import Recording, not_writable
from world_api.backends.chat.recording import Exchange, read_exchanges
from world_api.core.canonical import content_hash
from world_api.core.faults import EpisodeFault

_BEGINNING = {"name": is_label, "conditions": is_object, "episode": is_object}
_EPISODE = {**_BEGINNING, "sums": is_object}
_TIME = {"name": is_label, "clock": are_readings}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A recorded episode: its name in the journal, its record, its conditions, and the clock readings it was run with.

    ``sums`` are those of what was recorded beside it. ``timed`` says whether its times are there; without them it can be
    looked at, and not run again.
    """

    name: str
    episode: Episode
    conditions: Conditions
    readings: tuple[str | float, ...]
    sums: Mapping[str, Any] = field(default_factory=dict)
    timed: bool = True


@dataclass(frozen=True, kw_only=True)
class Damaged:
    """A line that cannot be taken for an episode: its name where that can be read, else its place; and why."""

    name: str
    fault: EpisodeFault


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What an episode took while it ran."""

    exchanges: list[Exchange]
    materials: dict[str, Any]


class Journal:
    """A folder of recorded episodes."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)

    def begin(self, label: str) -> Recording:
        """Start recording an episode under a name nobody has taken: the label, numbered if need be.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        try:
            (self._folder / RECORDINGS).mkdir(parents=True, exist_ok=True)
            return Recording(self._folder, self._take_name(label))
        except OSError as error:
            raise not_writable(self._folder, error) from None

    def _take_name(self, label: str) -> str:
        number = 1
        while True:
            name = label if number == 1 else f"{label}-{number}"
            try:
                own_file(self._folder, RECORDINGS, name).touch(exist_ok=False)
            except FileExistsError:
                number += 1
            else:
                return name

    def scan(self, *, only: Collection[str] | None = None) -> Iterator[Entry | Damaged]:
        """The finished episodes, in the order in which they finished, each checked by itself; ``only`` those of some names.

        Raises:
            EpisodeFault: ``recording_missing``.
        """
        times = {line.name: line for line in self._lines(TIMINGS)}
        seen: set[str | None] = set()
        for line in self._episode_lines():
            if only is not None and line.name not in only:
                continue
            found: Entry | Damaged
            try:
                if line.name is not None and line.name in seen:
                    raise _two_of(line.name)
                found = _entry(line, times.get(line.name))
            except EpisodeFault as fault:
                found = Damaged(name=line.name or f"line {line.number} of {EPISODES}", fault=fault)
            seen.add(line.name)
            yield found

    def entries(self) -> Iterator[Entry]:
        """The same, where all of them are whole.

        Raises:
            EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``, of the first that is not.
        """
        for found in self.scan():
            if isinstance(found, Damaged):
                raise found.fault
            yield found

    def find(self, name: str) -> Entry:
        """A finished episode by name; no other is looked at.

        Raises:
            EpisodeFault: ``unknown_episode``, ``recording_missing``; ``recording_damaged`` and ``recording_schema``, of this one.
        """
        names, lines = [], []
        for line in self._episode_lines():
            names += [line.name] if line.name is not None else []
            lines += [line] if line.name == name else []
        if len(lines) > 1:
            raise _two_of(name)
        if lines:
            return _entry(lines[0], self._last(TIMINGS, name))
        begun = name in self.unfinished()
        raise EpisodeFault(
            "unknown_episode",
            f"the episode {name[:80]!r} was begun and not finished" if begun else f"no episode is named {name[:80]!r}",
            hint="one of: " + ", ".join(names[-10:]) if names else "the folder holds no finished episode",
        )

    def unfinished(self) -> list[str]:
        """Episodes that were begun and have no end: they still run, or their process died. Their exchanges are there."""
        return sorted(recorded(self._folder) - {line.name for line in self._lines(EPISODES)})

    def beginning(self, name: str) -> Entry:
        """What there is of an episode without an end: what it began with, and the talk so far.

        Raises:
            EpisodeFault: ``unknown_episode``, where nothing had been asked yet; ``recording_damaged``, ``recording_schema``.
        """
        line = self._last(BEGUN, name)
        if line is None:
            raise EpisodeFault(
                "unknown_episode",
                f"the episode {name[:80]!r} was begun and not finished, and nothing was asked in it",
                hint="ask the question again",
            )
        record = line.read(_BEGINNING)
        episode = with_talk(episode_from_record(record["episode"]), self.exchanges(name))
        conditions = conditions_from_record(record["conditions"])
        return Entry(name=name, episode=episode, conditions=conditions, readings=(), timed=False)

    def taken(self, entry: Entry) -> Taken:
        """What an episode took, as it was recorded.

        Raises:
            EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
        """
        exchanges, materials = self.exchanges(entry.name), self.materials(entry.name)
        check_sum(entry.name, "exchanges", entry.sums, content_hash([exchange_sum(item) for item in exchanges]))
        found = sorted(material_sum(name, value) for name, value in materials.items())
        check_sum(entry.name, "materials", entry.sums, content_hash(found))
        return Taken(exchanges=exchanges, materials=materials)

    def exchanges(self, name: str) -> list[Exchange]:
        """The exchanges of an episode with its model, as they stand in the file.

        Raises:
            EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
        """
        return read_exchanges(own_file(self._folder, RECORDINGS, name))

    def materials(self, name: str) -> dict[str, Any]:
        """What the requests of an episode were built from, by name, as it stands in the file.

        Raises:
            EpisodeFault: ``recording_damaged``, ``recording_schema``.
        """
        path = own_file(self._folder, MATERIALS, name)
        if not path.exists():
            return {}
        found = [line.read({"name": is_text}) for line in lines_of(path)]
        return {line["name"]: line.get("value") for line in found}

    def _episode_lines(self) -> Iterator[Line]:
        """The lines of the episodes; none where nothing has come to its end yet."""
        if is_there(self._folder / EPISODES) or not is_there(self._folder / RECORDINGS):
            yield from lines_of(self._folder / EPISODES)

    def _lines(self, file: str) -> Iterator[Line]:
        """The lines of a file that may be missing."""
        if is_there(self._folder / file):
            yield from lines_of(self._folder / file)

    def _last(self, file: str, name: str) -> Line | None:
        found = None
        for line in self._lines(file):
            if line.name == name:
                found = line
        return found


def recorded(folder: Path) -> set[str]:
    """The names under which something was recorded in a journal's folder, episodes without an end among them."""
    return {path.stem for path in (folder / RECORDINGS).glob("*.jsonl")}


def _entry(line: Line, time: Line | None) -> Entry:
    """An episode with its times.

    Raises:
        EpisodeFault: ``recording_damaged``, ``recording_schema``.
    """
    record = line.read(_EPISODE)
    episode, conditions = episode_from_record(record["episode"]), conditions_from_record(record["conditions"])
    check_line(record)
    timed = time.read(_TIME) if time is not None else {}
    timings = _timings(timed["timings"]) if timed.get("timings") is not None else None
    if timed:
        check_sum(record["name"], "timings", record["sums"], timings_sum(timed))
    return Entry(
        name=record["name"],
        episode=episode.with_timings(timings) if timings is not None else episode,
        conditions=conditions,
        readings=tuple(timed.get("clock", ())),
        sums=record["sums"],
        timed=bool(timed),
    )


def _two_of(name: str) -> EpisodeFault:
    return EpisodeFault(
        "recording_damaged",
        f"two episodes are named {name[:80]!r}",
        hint="journals cannot be joined by joining their files; keep each in its own folder",
    )


def _timings(record: Any) -> Timings:
    try:
        return _timings_adapter().validate_python(record)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise damaged(f"the times of an episode are not whole: {where}") from None


@functools.cache
def _timings_adapter() -> TypeAdapter[Timings]:
    """Making one takes longer than reading an episode."""
    return TypeAdapter(Timings)

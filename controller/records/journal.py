"""The folder that ``--record`` makes, and reading it again.

::

    DIR/episodes.jsonl           one episode a line, named
    DIR/timings.jsonl            its wall times and clock readings, so that the line above is the same in a replay
    DIR/recordings/NAME.jsonl    its exchanges with the model, one a line, written while it runs

All files are only ever appended to, a line in one write, so that episodes may run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from controller.episode import Episode, Task, episode_from_record
from world_api.backends.chat.recording import (
    Exchange,
    append_line,
    check_schema,
    read_exchanges,
    read_lines,
)
from world_api.core.canonical import content_hash
from world_api.core.faults import EpisodeFault

SCHEMA_VERSION = 1
_EPISODES, _TIMINGS, _RECORDINGS = "episodes.jsonl", "timings.jsonl", "recordings"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A recorded episode: its name in the journal, its record, and the clock readings it was run with."""

    name: str
    episode: Episode
    readings: tuple[str | float, ...]


class Recording:
    """One episode that is being recorded."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._exchanges = _recording(folder, name)

    def keep(self, exchange: Exchange) -> None:
        """Append an exchange.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        self._append(self._exchanges, exchange.record())

    def finish(self, episode: Episode, readings: list[str | float]) -> None:
        """Append the episode and its times.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        timings = asdict(episode.timings) if episode.timings is not None else None
        line = {"schema_version": SCHEMA_VERSION, "name": self.name}
        self._append(self._folder / _TIMINGS, {**line, "timings": timings, "clock": readings})
        self._append(self._folder / _EPISODES, {**line, "episode": episode.record()})

    def _append(self, path: Path, record: dict[str, Any]) -> None:
        try:
            append_line(path, record)
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
            (self._folder / _RECORDINGS).mkdir(parents=True, exist_ok=True)
            return Recording(self._folder, self._take_name(label))
        except OSError as error:
            raise _not_writable(self._folder, error) from None

    def _take_name(self, label: str) -> str:
        number = 1
        while True:
            name = label if number == 1 else f"{label}-{number}"
            try:
                _recording(self._folder, name).touch(exist_ok=False)
            except FileExistsError:
                number += 1
            else:
                return name

    def entries(self) -> Iterator[Entry]:
        """The finished episodes, in the order in which they finished.

        Raises:
            EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
        """
        timings = self._lines(_TIMINGS, {"name": _is_text, "clock": _are_readings})
        readings = {line["name"]: tuple(line["clock"]) for line in timings}
        for line in self._lines(_EPISODES, {"name": _is_text, "episode": _is_object}):
            yield Entry(
                name=line["name"],
                episode=episode_from_record(line["episode"]),
                readings=readings.get(line["name"], ()),
            )

    def find(self, name: str) -> Entry:
        """A finished episode by name.

        Raises:
            EpisodeFault: ``unknown_episode``, and those of ``entries``.
        """
        entries = {entry.name: entry for entry in self.entries()}
        if name not in entries:
            raise EpisodeFault(
                "unknown_episode",
                f"no finished episode is named {name!r}",
                hint="one of: " + ", ".join(list(entries)[-10:]) if entries else "the folder holds no episode",
            )
        return entries[name]

    def exchanges(self, name: str) -> list[Exchange]:
        """The exchanges of an episode with its model.

        Raises:
            EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
        """
        return read_exchanges(_recording(self._folder, name))

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


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


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
    return f"{time}-{task.system}-{content_hash(asdict(task))[:8]}"


def _not_writable(folder: Path, error: OSError) -> EpisodeFault:
    return EpisodeFault(
        "record_not_writable",
        f"cannot record in {folder}: {error.strerror}",
        hint="give --record a folder that can be written",
    )


def _recording(folder: Path, name: str) -> Path:
    return folder / _RECORDINGS / f"{name}.jsonl"

"""Writing one episode into a journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

from controller.episode import Episode, Task
from controller.records.conditions import Conditions
from controller.records.files import BEGUN, EPISODES, MATERIALS, RECORDINGS, SCHEMA_VERSION, TIMINGS, own_file
from controller.records.sums import exchange_sum, material_sum, sums_of
from world_api.backends.chat.recording import Exchange, append_line
from world_api.core.canonical import content_hash
from world_api.core.faults import EpisodeFault


class Recording:
    """One episode that is being recorded."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._exchanges: list[str] = []
        self._materials: list[str] = []
        self._ended = False
        self._lock = Lock()  # the sums stand in the order of the lines

    def start(self, episode: Episode, conditions: Conditions) -> None:
        """Append what is known at the beginning, for whoever looks at an episode that has no end.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        line = {"schema_version": SCHEMA_VERSION, "name": self.name}
        self._append(self._folder / BEGUN, {**line, "conditions": conditions.record(), "episode": episode.record()})

    def keep(self, exchange: Exchange) -> None:
        """Append an exchange.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        record = exchange.record()
        with self._lock:
            self._refuse_more()
            self._append(own_file(self._folder, RECORDINGS, self.name), record)
            self._exchanges.append(exchange_sum(exchange, record["request_hash"]))

    def keep_material(self, name: str, value: Any) -> None:
        """Append what requests are built from.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        line = {"schema_version": SCHEMA_VERSION, "name": name, "value": value}
        with self._lock:
            self._refuse_more()
            self._append(own_file(self._folder, MATERIALS, self.name), line)
            self._materials.append(material_sum(name, value))

    def finish(self, episode: Episode, conditions: Conditions, readings: Sequence[str | float]) -> None:
        """Append the episode and its times.

        Raises:
            EpisodeFault: ``record_not_writable``.
        """
        timings = asdict(episode.timings) if episode.timings is not None else None
        head = {"schema_version": SCHEMA_VERSION, "name": self.name}
        time = {**head, "timings": timings, "clock": list(readings)}
        line = {**head, "conditions": conditions.record(), "episode": episode.record()}
        with self._lock:
            self._refuse_more()
            sums = sums_of(line, time, self._exchanges, self._materials)
            self._append(self._folder / TIMINGS, time)
            self._append(self._folder / EPISODES, {**line, "sums": sums}, sync=True)
            self._ended = True

    def _refuse_more(self) -> None:
        if self._ended:
            raise EpisodeFault(
                "record_not_writable",
                f"the episode {self.name} has ended, and its record is closed",
                hint="a system must not ask any more once it has given its episode back",
            )

    def _append(self, path: Path, record: dict[str, Any], *, sync: bool = False) -> None:
        try:
            append_line(path, record, sync=sync)
        except OSError as error:
            raise not_writable(self._folder, error) from None


def label_for(task: Task, started_at: str) -> str:
    """A readable name for an episode: when it began, the system, and a hash of what was asked."""
    time = "".join(character for character in started_at[:19] if character.isdigit())
    system = "".join(letter if letter.isalnum() else "-" for letter in task.system)[:40]
    return f"{time}-{system}-{content_hash(asdict(task))[:8]}"


def not_writable(folder: Path, error: OSError) -> EpisodeFault:
    """What a full disk or a folder that may not be written comes to."""
    return EpisodeFault(
        "record_not_writable",
        f"cannot record in {folder}: {error.strerror}",
        hint="give --record a folder that can be written and has room",
    )

"""The folder that ``--record`` writes, and reading it again.

::

    FOLDER/episodes.jsonl           one line per finished episode: its name, record, conditions, and checksums of all parts
    FOLDER/timings.jsonl            its wall times and clock readings, kept apart so that a replay gives the same episode line
    FOLDER/begun.jsonl              what was known of it at the start, for episodes that have no end
    FOLDER/recordings/NAME.jsonl    its exchanges with the model, one per line, written while it runs
    FOLDER/materials/NAME.jsonl     the other values its requests were built from, if there are any

Files are only appended to, one line per write and under a lock, so that many threads and processes can record in parallel.
An exchange is written before the episode continues and survives the process; the line of a finished episode is synced and
survives a power failure. A last line without a line end, left by a killed writer, is ignored. Each line is checked by itself,
so that a damaged line does not affect the others. Checksums detect damage; they are no signature, since they can be
computed again.

The conditions of an episode are the parts of its system, its prompts, and the version of the loop; a replay compares them.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError

from controller.episode import Episode, Library, RoundRecord, Task, Timings, episode_from_record
from controller.systems.base import SystemContext
from world_api.chat.messages import PromptFiles, PromptHashes, from_cache, usage_of
from world_api.chat.recording import Exchange, append_line, check_schema, damaged, read_exchanges
from world_api.core.canonical import Record, content_hash, json_object
from world_api.core.faults import EpisodeFault
from world_api.core.files import open_regular
from world_api.core.identifiers import did_you_mean
from world_api.installation import project_version

#: Parts of the controller that do not influence an episode.
_APART = frozenset({"records", "display.py", "commands.py"})
#: Modules outside the controller that influence an episode's bytes: writing and counting requests, reading replies.
_BESIDE = (
    "tool_induction.judge.judges",
    "tool_induction.library_tools",
    "world_api.chat.recording",
    "world_api.chat.messages",
    "world_api.core.cost",
    "world_api.core.canonical",
    "world_api.core.faults",
    "world_api.core.identifiers",
    "world_api.core.spans",
    "world_api.schemas.formats",
)


@functools.cache
def loop_hash() -> str:
    """Return the SHA-256 of the code that determines an episode's bytes."""
    digest = hashlib.sha256()
    beside = ((name, _module(name)) for name in _BESIDE)
    for name, code in [*sorted(_code(resources.files("controller"), "")), *beside]:
        digest.update(f"{name}\0".encode() + code + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Conditions(Record):
    """The conditions an episode was recorded under.

    ``system`` is the name of the system; ``language`` to ``takes_images`` are the inputs it was built from; ``groups``
    are the optional operations of the session, ``prompts`` the hashes of the prompt files, ``loop`` a hash of the code
    that ran. ``broken_off``: the episode was interrupted before its end.
    """

    system: str
    language: str = "en"
    options: dict[str, Any] = field(default_factory=dict)
    library: Library | None = None
    domain: dict[str, Any] | None = None
    judge: str | None = None
    takes_images: bool | None = None
    groups: list[str] = field(default_factory=list)
    prompts: PromptHashes = field(default_factory=dict)
    version: str = field(default_factory=project_version)
    loop: str = field(default_factory=loop_hash)
    broken_off: bool = False

    @classmethod
    def of(cls, system: str, context: SystemContext, *, groups: frozenset[str] = frozenset()) -> Conditions:
        """Return the conditions at the start of an episode."""
        domain = context.domain
        return cls(
            system=system,
            language=context.language,
            options=dict(context.options),
            library=Library.of(context.library),
            domain=asdict(domain) if domain is not None else None,
            judge=context.judge.name if context.judge is not None else None,
            takes_images=context.takes_images,
            groups=sorted(groups),
        )

    def changed_prompts(self) -> list[str]:
        """Return the prompt files that have changed since the recording, as ``package/folder/name``."""
        return [
            f"{place}/{name}"
            for place, recorded in sorted(self.prompts.items())
            for now in [_prompts_now(place)]
            for name in sorted(recorded.keys() | now.keys())
            if recorded.get(name) != now.get(name)
        ]

    def is_other_loop(self) -> bool:
        """Whether the code of the loop and the systems has changed since the recording."""
        return self.loop != loop_hash()


def conditions_from_record(record: Any) -> Conditions:
    """Read conditions from their JSON form. Raises EpisodeFault: ``recording_damaged``."""
    try:
        return _adapter().validate_python(record)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise EpisodeFault(
            "recording_damaged", f"the conditions of an episode are not whole: {where}", hint="restore it from a copy"
        ) from None


@functools.cache
def _adapter() -> TypeAdapter[Conditions]:
    return TypeAdapter(Conditions)  # making one takes longer than reading an episode


def _module(name: str) -> bytes:
    """Return the source of a module as bytes."""
    package, _, module = name.rpartition(".")
    return resources.files(package).joinpath(f"{module}.py").read_bytes()


def _code(folder: Traversable, under: str) -> Iterator[tuple[str, bytes]]:
    """Yield (path prefixed by ``under``, source) of each module in a folder tree that can influence an episode."""
    for item in folder.iterdir():
        if item.is_dir() and item.name not in _APART:
            yield from _code(item, f"{under}{item.name}/")
        elif item.name.endswith(".py") and item.name not in _APART:
            yield f"{under}{item.name}", item.read_bytes()


def _prompts_now(place: str) -> dict[str, str]:
    """Return the current hashes by name of the prompt files in ``place`` (package/folder); empty if it does not exist."""
    package, _, folder = place.partition("/")
    try:
        return dict(PromptFiles(package, folder).hashes)
    except (ModuleNotFoundError, FileNotFoundError, NotADirectoryError):
        return {}


SCHEMA_VERSION = 3
EPISODES, TIMINGS, BEGUN = "episodes.jsonl", "timings.jsonl", "begun.jsonl"
RECORDINGS, MATERIALS = "recordings", "materials"

_LABEL = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}"  #: the name of an episode; it also names files
#: The beginning of a line: its name can be read without parsing the rest.
_HEAD = re.compile(rf'{{"schema_version":\d+,"name":"({_LABEL})"[,}}]'.encode())

#: The fields of a line with the type of each.
Fields = Mapping[str, type]


@dataclass(frozen=True)
class JournalLine:
    """One line of a journal file; ``number`` counts from 1."""

    path: Path
    number: int
    data: bytes

    @cached_property
    def name(self) -> str | None:
        """The name of the line's episode; None if it cannot be read."""
        if head := _HEAD.match(self.data):
            return head[1].decode()
        name = self._value.get("name")
        return name if isinstance(name, str) and re.fullmatch(_LABEL, name) else None

    @property
    def _value(self) -> dict[str, Any]:
        """The JSON object of the line; empty if the line is not one."""
        return json_object(self.data) or {}

    def read(self, fields: Fields) -> dict[str, Any]:
        """Parse the line as an object with at least these fields (types by name).

        Raises EpisodeFault: ``recording_damaged``, ``recording_schema``.
        """
        value = self._value
        if not value:
            raise self.damaged("is not a JSON object")
        check_schema(value, SCHEMA_VERSION, self.path)
        wrong = [key for key, kind in fields.items() if not isinstance(value.get(key), kind)]
        if wrong:
            raise self.damaged(f"is not whole: {wrong[0]}")
        return value

    def damaged(self, what: str) -> EpisodeFault:
        """Return the fault ``recording_damaged``; ``what`` continues its message "line N of FILE ..."."""
        return damaged(f"line {self.number} of {self.path.name} {what}")


def lines_of(path: Path, *, missing_ok: bool = True) -> Iterator[JournalLine]:
    """Yield the lines of a file; a last line without a line end, which a crash cut short, is ignored.

    Raises EpisodeFault: ``recording_missing``, unless ``missing_ok``; ``recording_not_readable``.
    """
    try:
        with open_regular(path) as file:
            for number, data in enumerate(file, start=1):
                if data.endswith(b"\n"):
                    yield JournalLine(path, number, data)
    except OSError as error:
        if not missing_ok or not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise _cannot_read(path, error) from None


def is_there(path: Path) -> bool:
    """Whether a path exists. Raises EpisodeFault: ``recording_not_readable``, if permission is missing."""
    try:
        return path.exists()
    except OSError as error:
        raise _cannot_read(path, error) from None


def _cannot_read(path: Path, error: OSError) -> EpisodeFault:
    message = f"cannot read {path}: {error.strerror}"
    if isinstance(error, PermissionError):  # the file itself may be intact
        return EpisodeFault("recording_not_readable", message, hint="see that this user may read it")
    hint = "give the folder that --record made; if its files are gone, restore them from a copy"
    return EpisodeFault("recording_missing", message, hint=hint)


def _own_file(folder: Path, kind: str, name: str) -> Path:
    """Return the path of one episode's file; ``kind`` is the folder, ``recordings`` or ``materials``."""
    return folder / kind / f"{name}.jsonl"


_BEGINNING: Fields = {"name": str, "conditions": dict, "episode": dict}
_EPISODE: Fields = {**_BEGINNING, "sums": dict}
_TIME: Fields = {"name": str, "clock": list}


def exchange_sum(exchange: Exchange, request_hash: str | None = None) -> str:
    """Return the checksum of one exchange; it covers the request by its hash (``request_hash``; None: computed)."""
    return content_hash(
        [request_hash or exchange.request_hash, exchange.reply, exchange.fault, float(exchange.seconds)]
    )


def sealed(line: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checksums ``parts`` with that of the whole line added as ``line``.

    The checksum of the line covers its conditions and episode by their checksums.
    """
    rest = {key: value for key, value in line.items() if key not in ("conditions", "episode", "sums")}
    return {**parts, "line": content_hash([rest, dict(parts)])}


def _line_parts(line: Mapping[str, Any]) -> dict[str, str]:
    return {part: content_hash(line[part]) for part in ("conditions", "episode")}


def _timings_sum(time: Mapping[str, Any]) -> str:
    return content_hash([time.get("timings"), time.get("clock")])


def _check(name: str, sums: Mapping[str, Any], found: Mapping[str, str]) -> None:
    """Check computed checksums, by part, against the recorded ``sums``. Raises EpisodeFault: ``recording_damaged``."""
    for part, checksum in found.items():
        if sums.get(part) != checksum:
            raise damaged(f"the {part} of {name}: the checksum is not the recorded one")


class EpisodeWriter:
    """Writes one episode to a journal while it runs."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._exchanges: list[str] = []
        self._materials: list[str] = []
        self._ended = False
        self._head = {"schema_version": SCHEMA_VERSION, "name": name}
        self._lock = Lock()  # the checksums are in the order of the lines

    def start(self, episode: Episode, conditions: Conditions) -> None:
        """Append what is known at the beginning; it is shown if the episode has no end.

        Raises EpisodeFault: ``record_not_writable``.
        """
        self._append(self._folder / BEGUN, self._line(episode, conditions))

    def keep(self, exchange: Exchange) -> None:
        """Append an exchange with the model. Raises EpisodeFault: ``record_not_writable``."""
        record = exchange.record()
        with self._lock:
            self._refuse_more()
            self._append(_own_file(self._folder, RECORDINGS, self.name), record)
            self._exchanges.append(exchange_sum(exchange, record["request_hash"]))

    def keep_material(self, name: str, value: Any) -> None:
        """Append a named value that requests are built from. Raises EpisodeFault: ``record_not_writable``."""
        line = {"schema_version": SCHEMA_VERSION, "name": name, "value": value}
        with self._lock:
            self._refuse_more()
            self._append(_own_file(self._folder, MATERIALS, self.name), line)
            self._materials.append(content_hash([name, value]))

    def finish(self, episode: Episode, conditions: Conditions, readings: Sequence[str | float]) -> None:
        """Append the episode, its times and its clock readings. Raises EpisodeFault: ``record_not_writable``."""
        timings = asdict(episode.timings) if episode.timings is not None else None
        time = {**self._head, "timings": timings, "clock": list(readings)}
        line = self._line(episode, conditions)
        with self._lock:
            self._refuse_more()
            parts = {
                **_line_parts(line),
                "exchanges": content_hash(self._exchanges),
                "materials": content_hash(sorted(self._materials)),
                "timings": _timings_sum(time),
            }
            self._append(self._folder / TIMINGS, time)
            self._append(self._folder / EPISODES, {**line, "sums": sealed(line, parts)}, sync=True)
            self._ended = True

    def _line(self, episode: Episode, conditions: Conditions) -> dict[str, Any]:
        return {**self._head, "conditions": conditions.record(), "episode": episode.record()}

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
            raise _not_writable(self._folder, error) from None


def label_for(task: Task, started_at: str) -> str:
    """Return a readable name for an episode: its start time, the system, and a hash of the task."""
    time = "".join(character for character in started_at[:19] if character.isdigit())
    system = "".join(letter if letter.isalnum() else "-" for letter in task.system)[:40]
    return f"{time}-{system}-{content_hash(asdict(task))[:8]}"


def _not_writable(folder: Path, error: OSError) -> EpisodeFault:
    return EpisodeFault(
        "record_not_writable",
        f"cannot record in {folder}: {error.strerror}",
        hint="give --record a folder that can be written and has free space",
    )


@dataclass(frozen=True, kw_only=True)
class JournalEntry:
    """A recorded episode: its name in the journal, its record, its conditions, and the clock readings it was run with.

    ``sums`` are the recorded checksums by part. ``timed``: whether its times are recorded; without them the episode can
    be shown, but not replayed.
    """

    name: str
    episode: Episode
    conditions: Conditions
    readings: tuple[str | float, ...]
    sums: Mapping[str, Any] = field(default_factory=dict)
    timed: bool = True


@dataclass(frozen=True, kw_only=True)
class DamagedEntry:
    """A line that cannot be read as an episode: its name (or the number of the line), and the fault."""

    name: str
    fault: EpisodeFault


class Journal:
    """A folder of recorded episodes."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)

    def begin(self, label: str) -> EpisodeWriter:
        """Start recording an episode under a free name: the label, with a number added if it is in use.

        Raises EpisodeFault: ``record_not_writable``.
        """
        number, name = 1, label
        try:
            (self._folder / RECORDINGS).mkdir(parents=True, exist_ok=True)
            while True:
                with suppress(FileExistsError):
                    _own_file(self._folder, RECORDINGS, name).touch(exist_ok=False)
                    return EpisodeWriter(self._folder, name)
                number += 1
                name = f"{label}-{number}"
        except OSError as error:
            raise _not_writable(self._folder, error) from None

    def scan(self, *, only: Collection[str] | None = None) -> Iterator[JournalEntry | DamagedEntry]:
        """Yield the finished episodes (with ``only``: those with these names) in the order in which they finished.

        Each line is checked by itself and gives a ``DamagedEntry`` if it is damaged. Raises EpisodeFault:
        ``recording_missing``, ``recording_not_readable``.
        """
        times = {line.name: line for line in lines_of(self._folder / TIMINGS)}
        seen: set[str | None] = set()
        for line in self._episode_lines():
            if only is not None and line.name not in only:
                continue
            found: JournalEntry | DamagedEntry
            try:
                if line.name is not None and line.name in seen:
                    raise EpisodeFault(
                        "recording_damaged",
                        f"two episodes are named {line.name[:80]!r}",
                        hint="journals cannot be joined by joining their files; keep each in its own folder",
                    )
                found = _entry(line, times.get(line.name))
            except EpisodeFault as fault:
                found = DamagedEntry(name=line.name or f"line {line.number} of {EPISODES}", fault=fault)
            seen.add(line.name)
            yield found

    def entries(self) -> Iterator[JournalEntry]:
        """Yield the finished episodes in the order in which they finished, none of them damaged.

        Raises EpisodeFault: ``recording_missing``; the fault of the first damaged line.
        """
        for found in self.scan():
            if isinstance(found, DamagedEntry):
                raise found.fault
            yield found

    def find(self, name: str) -> JournalEntry:
        """Return a finished episode by name; no other is parsed.

        Raises EpisodeFault: ``unknown_episode``, ``recording_missing``; if this episode is damaged
        ``recording_damaged``, ``recording_schema``.
        """
        found = list(self.scan(only={name}))
        if not found:
            names = [line.name for line in self._episode_lines() if line.name is not None]
            state = "was begun and not finished" if name in self.unfinished() else "is not there"
            known = "one of: " + ", ".join(names[-10:]) if names else "the folder holds no finished episode"
            hint = did_you_mean(name, names) or known
            raise EpisodeFault("unknown_episode", f"the episode {name[:80]!r} {state}", hint=hint)
        entry = found[-1]  # the fault of a second one with the same name
        if isinstance(entry, DamagedEntry):
            raise entry.fault
        return entry

    def unfinished(self) -> list[str]:
        """Return the names of episodes that were begun and have no end: they still run, or their process died."""
        return sorted(recorded(self._folder) - {line.name for line in lines_of(self._folder / EPISODES)})

    def beginning(self, name: str) -> JournalEntry:
        """Return the recorded part of an episode without an end: its initial state and the rounds so far.

        Raises EpisodeFault: ``unknown_episode``, if no request had been made; ``recording_damaged``,
        ``recording_schema``.
        """
        line = next((line for line in reversed(list(lines_of(self._folder / BEGUN))) if line.name == name), None)
        if line is None:
            raise EpisodeFault(
                "unknown_episode",
                f"the episode {name[:80]!r} was begun and not finished, and nothing was asked in it",
                hint="ask the question again",
            )
        record = line.read(_BEGINNING)
        episode = with_rounds(episode_from_record(record["episode"]), self.exchanges(name))
        conditions = conditions_from_record(record["conditions"])
        return JournalEntry(name=name, episode=episode, conditions=conditions, readings=(), timed=False)

    def taken(self, entry: JournalEntry) -> tuple[list[Exchange], dict[str, Any]]:
        """Return the exchanges and the materials (by name) of an episode, checked against its checksums.

        Raises EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
        """
        exchanges = self.exchanges(entry.name)
        lines = [line.read({"name": str}) for line in lines_of(_own_file(self._folder, MATERIALS, entry.name))]
        materials = {line["name"]: line.get("value") for line in lines}
        found = {
            "exchanges": content_hash([exchange_sum(item) for item in exchanges]),
            "materials": content_hash(sorted(content_hash([name, value]) for name, value in materials.items())),
        }
        _check(entry.name, entry.sums, found)
        return exchanges, materials

    def exchanges(self, name: str) -> list[Exchange]:
        """Return the exchanges of an episode with its model in order, without comparing their checksum.

        Raises EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
        """
        return read_exchanges(_own_file(self._folder, RECORDINGS, name))

    def _episode_lines(self) -> Iterator[JournalLine]:
        """Yield the lines of the finished episodes; none if no episode has finished yet."""
        return lines_of(self._folder / EPISODES, missing_ok=is_there(self._folder / RECORDINGS))


def recorded(folder: Path) -> set[str]:
    """Return the names of all episodes recorded in a journal's folder, including those without an end."""
    return {path.stem for path in (folder / RECORDINGS).glob("*.jsonl")}


def _entry(line: JournalLine, time: JournalLine | None) -> JournalEntry:
    """Return the episode of a line with its times, checked against its checksums.

    Raises EpisodeFault: ``recording_damaged``, ``recording_schema``.
    """
    record = line.read(_EPISODE)
    name, sums = line.name, record["sums"]
    if name is None:
        raise line.damaged("is not whole: name")
    episode, conditions = episode_from_record(record["episode"]), conditions_from_record(record["conditions"])
    whole = sealed(record, {part: value for part, value in sums.items() if part != "line"})["line"]
    _check(name, sums, {**_line_parts(record), "line": whole})
    readings: tuple[str | float, ...] = ()
    if time is not None:
        times = time.read(_TIME)
        try:
            timings, readings = _time_adapter().validate_python((times.get("timings"), times["clock"]))
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"][1:]))
            raise time.damaged(f"is not whole: {where}") from None
        _check(name, sums, {"timings": _timings_sum(times)})
        episode = replace(episode, timings=timings)
    timed = time is not None
    return JournalEntry(name=name, episode=episode, conditions=conditions, readings=readings, sums=sums, timed=timed)


@functools.cache  # making an adapter takes longer than reading an episode
def _time_adapter() -> TypeAdapter[tuple[Timings | None, tuple[StrictStr | StrictInt | StrictFloat, ...]]]:
    return TypeAdapter(tuple[Timings | None, tuple[StrictStr | StrictInt | StrictFloat, ...]])


def locate_episode(episode: Path, name: str | None = None) -> tuple[Journal, str | None]:
    """Return a journal, and the name of one of its episodes; None means all of them.

    ``FOLDER`` is the folder that ``--record`` made. An episode is given as ``FOLDER/NAME``, as ``FOLDER`` with a ``name``, or as
    ``FOLDER/recordings/NAME.jsonl``, which a shell completes. ``FOLDER`` may also be a run of an experiment: the folder that has
    journals in ``episodes/``. Raises EpisodeFault: ``recording_missing``, ``unknown_episode``.
    """
    if name is None and episode.parent.name == RECORDINGS and episode.suffix == ".jsonl":
        places: list[tuple[Path, str | None]] = [(episode.parent.parent, episode.stem)]
    elif name is None:
        places = [(episode, None), (episode.parent, episode.name)]
    else:
        places = [(episode, name), (episode / name, None)]
    for folder, found in places:
        if found is not None and (inside := _journal_inside(folder, found)) is not None:
            return inside, found
        with suppress(OSError):  # the name is not valid on this file system
            if (folder / EPISODES).is_file() or (folder / RECORDINGS).is_dir():
                return Journal(folder), found
    raise EpisodeFault(
        "recording_missing",
        f"no episodes are recorded in {str(episode)[:200]}",
        hint="give the folder that --record made, or a run and the id of one of its episodes: FOLDER ID",
    )


def _journal_inside(run: Path, name: str) -> Journal | None:
    """Return the journal in ``episodes/`` of an experiment's run that holds an episode; None if the run has no journals.

    Raises EpisodeFault: ``unknown_episode``.
    """
    recordings = {path.stem: path for path in sorted(run.glob(f"episodes/*/{RECORDINGS}/*.jsonl"))}
    if not recordings:
        return None
    if name not in recordings:
        hint = did_you_mean(name, recordings) or "samples.jsonl of the run lists them"
        raise EpisodeFault("unknown_episode", f"the run has no episode {name[:80]!r}", hint=hint)
    return Journal(recordings[name].parents[1])


def with_rounds(episode: Episode, exchanges: Sequence[Exchange]) -> Episode:
    """Return the episode with tools, messages and rounds taken from its ``exchanges`` with the model."""
    tools: list[dict[str, Any]] = next(
        (exchange.request["tools"] for exchange in exchanges if "tools" in exchange.request), []
    )
    rounds = [
        RoundRecord(
            number=number,
            tools_offered="tools" in request,
            usage=usage_of(request, reply),
            finish_reason=None,
            problems=[],
            physical=not from_cache(reply),
        )
        for number, (request, reply) in enumerate(
            ((item.request, item.reply) for item in exchanges if item.reply is not None), start=1
        )
    ]
    messages = exchanges[-1].request.get("messages", []) if exchanges else []
    return replace(episode, tools=tools, tools_hash=content_hash(tools), messages=messages, rounds=rounds)

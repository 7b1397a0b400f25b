"""Load a dataset: from the project's own format, or through an adapter for published annotations.

The own format is a folder with ``dataset.json`` and ``questions.jsonl``, or a single file of questions.

::

    FOLDER/dataset.json      {"schema_version": 1, "name": "mine", "questions": "questions.jsonl",
                              "videos": {"kitchen": {"file": "kitchen.mp4"}}}
    FOLDER/questions.jsonl   one item a line (``items.py``)
    FOLDER/kitchen.mp4

The videos of a single file of questions are in its folder. ``docs/datasets.md`` shows both.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from controller.answers import Question
from eval.datasets.adapters import Protocol, Raw, Sources, load_protocol, protocol_hash, seconds_of, text_of
from eval.datasets.benchmarks import ADAPTERS
from eval.datasets.files import VideoFolder, bad, expanded, numbered_lines, read_bytes, read_json, unreadable, validated
from eval.datasets.items import (
    SCHEMA_VERSION,
    BadItem,
    Dataset,
    Item,
    SkippedEntry,
    VideoFile,
    item_from_record,
    item_record,
    value_faults,
)
from world_api.core.canonical import content_hash
from world_api.core.faults import EpisodeFault, EvalFault, ToolFault
from world_api.core.files import write_atomically
from world_api.core.identifiers import is_name, suggestion, video_id_from_file_name
from world_api.core.spans import TimeSpan
from world_api.core.yaml_text import MAX_BYTES, read_yaml

DATASET_FILE, QUESTIONS_FILE = "dataset.json", "questions.jsonl"
MAX_ITEMS = 500_000
_MANIFEST_BYTES = 64 * 2**20
_MAX_SHOWN = 8
_SHAPE = "docs/datasets.md shows the format"


def dataset_hash(items: tuple[Item, ...], protocol: Mapping[str, Any]) -> str:
    """Return the hash of a dataset: of its items and its protocol."""
    return content_hash({"items": [item_record(item) for item in items], "protocol": dict(protocol)})


def load_folder(folder: Path, *, videos: Path | None = None) -> Dataset:
    """Load a folder with ``dataset.json``. Videos missing at the path in that file are searched in ``videos``.

    Raises EvalFault: ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``, ``other_schema_version``.
    """
    described = _manifest(folder / DATASET_FILE)
    files = {video_id: video.file for video_id, video in described.videos.items()}
    items = tuple(read_items(folder / described.questions))
    asked = {item.video_id for item in items}
    unknown = sorted(asked - set(files)) if files else []
    if unknown:
        names = ", ".join(unknown[:_MAX_SHOWN])
        raise bad(f"{DATASET_FILE} does not name the videos that are asked about: {names}", "name each under videos")
    if described.protocol.get("may_abstain") is not True and any(item.question.may_abstain for item in items):
        why = "questions may abstain, and the protocol does not say so"
        raise bad(f"{described.questions}: {why}", f'add "may_abstain": true to the protocol in {DATASET_FILE}')
    own, given = VideoFolder(folder), VideoFolder(videos) if videos is not None else None
    paths = {}
    for video_id in sorted({*files, *asked}):
        path = folder / files[video_id] if video_id in files else own.find(video_id)
        if given is not None and (path is None or not path.is_file()):
            path = given.find(files.get(video_id, video_id), video_id) or path
        paths[video_id] = path
    return _own_dataset(described.name, items, paths, described.protocol)


def load_questions(path: Path, *, videos: Path | None = None) -> Dataset:
    """Load a file of questions. Videos are found by their ids in ``videos``, by default the folder of the file."""
    items = tuple(read_items(path))
    folder = VideoFolder(videos if videos is not None else path.parent)
    paths = {video_id: folder.find(video_id) for video_id in sorted({item.video_id for item in items})}
    return _own_dataset(path.stem, items, paths, {})


def _own_dataset(
    name: str, items: tuple[Item, ...], paths: Mapping[str, Path | None], protocol: Mapping[str, Any]
) -> Dataset:
    videos = {video_id: VideoFile(video_id=video_id, path=path) for video_id, path in paths.items()}
    return Dataset(name=name, items=items, videos=videos, protocol=protocol, hash=dataset_hash(items, protocol))


def read_items(path: Path, parse: Callable[[Any, int], Item | None] | None = None, *, hint: str = _SHAPE) -> list[Item]:
    """Return the items of a file in its order.

    ``parse`` (default: ``item_from_record``) turns a line's value and number into an item, or None to leave it out.
    Raises EvalFault: ``dataset_unreadable``, ``dataset_too_large``; ``bad_dataset``, with ``hint``: no items, or faults.
    """
    items: list[Item] = []
    first: dict[str, int] = {}
    faults: list[str] = []
    for line in numbered_lines(path):
        try:
            if line.fault:
                raise BadItem([line.fault])
            item = item_from_record(line.value) if parse is None else parse(line.value, line.number)
            if item is not None:
                if first.setdefault(item.id, line.number) != line.number:
                    raise BadItem([f"the id {item.id!r} is there a second time (first on line {first[item.id]})"])
                items.append(item)
        except BadItem as error:
            faults += [f"line {line.number}: {fault}" for fault in error.faults]
        if len(items) > MAX_ITEMS:
            raise EvalFault("dataset_too_large", f"{path.name} has more than {MAX_ITEMS:,} questions", hint="split it")
    if faults:
        more = f"; and {len(faults) - _MAX_SHOWN} more" if len(faults) > _MAX_SHOWN else ""
        raise bad(f"{path.name}: " + "; ".join(faults[:_MAX_SHOWN]) + more, hint)
    if not items:
        raise bad(f"{path.name} holds no question", hint)
    return items


def is_inside(path: str) -> bool:
    """Whether a text is a relative path without "..", so that it does not lead out of its folder."""
    parts = PurePosixPath(path).parts
    is_plain = not path.startswith("/") and not set(path) & set("\\\0") and len(path) <= 1000
    return bool(parts) and is_plain and ".." not in parts


def _checked(holds: Callable[[str], bool], fault: str) -> AfterValidator:
    def check(value: str) -> str:
        if not holds(value):
            raise ValueError(fault)
        return value

    return AfterValidator(check)


_Inside = Annotated[str, _checked(is_inside, "it is not the path of a file inside this folder")]
_VideoId = Annotated[str, _checked(is_name, "it is not a video id: 1 to 64 of a-z 0-9 . _ -")]
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$")]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Video(_Shape):
    file: _Inside


class _Manifest(_Shape):
    """The content of ``dataset.json``."""

    schema_version: int
    name: _Name
    questions: _Inside = QUESTIONS_FILE
    videos: dict[_VideoId, _Video] = {}
    protocol: dict[str, Any] = {}


def _manifest(path: Path) -> _Manifest:
    value = read_json(path, most=_MANIFEST_BYTES)
    version = value.get("schema_version") if isinstance(value, dict) else SCHEMA_VERSION
    if version != SCHEMA_VERSION or isinstance(version, bool):
        message = f"{path.name} has schema version {version!r}; this program reads {SCHEMA_VERSION}"
        raise EvalFault("other_schema_version", message, hint="write it in the form that docs/datasets.md shows")
    return validated(_Manifest, value, path.name, _SHAPE)


_LABEL_BYTES = 32 * 2**20
#: The text that replaces an empty option.
BLANK = "(blank)"


def assemble(
    entries: Iterable[Raw | SkippedEntry],
    protocol: Protocol,
    name: str,
    *,
    videos: Path | None = None,
    subtitles: Path | None = None,
    domains: Mapping[str, str] = MappingProxyType({}),
    only: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Dataset:
    """Make a dataset, called ``name``, from entries; ``videos`` and ``subtitles`` are folders of such files.

    ``domains`` maps published question ids to task domains. ``only`` keeps questions that have, for each label, one of
    the values. Raises EvalFault: ``bad_dataset``: none can be asked; ``dataset_too_large``.
    """
    items: list[Item] = []
    left_out: list[SkippedEntry] = []
    given: dict[str, int] = {}
    files = _Videos(videos, subtitles)
    for entry in entries:
        if isinstance(entry, SkippedEntry):
            left_out.append(entry)
            continue
        if not _is_wanted(entry, only):
            continue
        try:
            question, also = _question(entry)
            spans = tuple(TimeSpan(start=start, end=end) for start, end in entry.spans)
        except (EpisodeFault, ValueError) as fault:
            reason = fault.message if isinstance(fault, EpisodeFault) else str(fault)
            left_out.append(SkippedEntry(where=entry.where, reason=reason))
            continue
        if len(items) >= MAX_ITEMS:
            raise EvalFault("dataset_too_large", f"{name} has more than {MAX_ITEMS:,} questions", hint="")
        own = _own_id(entry.id, given)
        item = Item(
            id=own,
            video_id=files.id_of(entry),
            question=question,
            answer=entry.answer,
            also=also,
            spans=spans,
            domain=domains.get(entry.id) or protocol.domain_of(entry.question, entry.labels),
            content=entry.content,
            labels=entry.labels if own == entry.id else {**entry.labels, "published_id": entry.id},
        )
        items.append(item)
    if not items:
        why = f" ({left_out[0].where}: {left_out[0].reason})" if left_out else ""
        raise bad(f"{name}: no question can be asked{why}", "give the files as they were published")
    # Recorded with the figures: the whole file, its hash, and the user's changes.
    recorded = {**protocol.model_dump(mode="json"), "hash": protocol_hash(protocol.name)}
    if only:
        recorded["only"] = {label: list(values) for label, values in sorted(only.items())}
    if domains:
        recorded["domain_labels"] = content_hash(dict(domains))
    return Dataset(
        name=name,
        items=tuple(items),
        videos=files.files,
        protocol=recorded,
        hash=dataset_hash(tuple(items), recorded),
        left_out=tuple(left_out),
    )


def _is_wanted(entry: Raw, only: Mapping[str, Sequence[str]]) -> bool:
    for name, values in only.items():
        there = entry.labels.get(name) if name != "content" else entry.content
        listed = there if isinstance(there, list | tuple) else [there]
        if not {str(item) for item in listed if item is not None} & set(values):
            return False
    return True


def _own_id(published: str, given: dict[str, int]) -> str:
    """Return a unique id from a published one, and add it to ``given``, the ids in use; forbidden characters become "-"."""
    base = re.sub(r"[^A-Za-z0-9._+-]+", "-", published).strip("-.+_")[:110] or "q"
    own, number = base, given.get(base, 0) + 1
    while number > 1 and (own := f"{base}-{number}") in given:
        number += 1
    given[base] = number
    given.setdefault(own, 1)
    return own


class _Videos:
    """The videos of the entries by id, and their files."""

    def __init__(self, videos: Path | None, subtitles: Path | None) -> None:
        self.files: dict[str, VideoFile] = {}
        self._subtitles = subtitles
        self._folder = VideoFolder(videos) if videos is not None else None
        self._ids: dict[str, str] = {}

    def id_of(self, entry: Raw) -> str:
        """Add the video to ``files``; return the id that a build would give it, with a hash if that id is taken."""
        known = self._ids.get(entry.video)
        if known is not None:
            return known
        stem = re.sub(r"\.(mp4|mkv|webm|mov|avi|m4v)$", "", entry.video.rpartition("/")[2], flags=re.IGNORECASE)
        video_id = video_id_from_file_name(stem)
        if video_id in self.files:
            video_id = f"{video_id[:52].rstrip('-._')}-{content_hash(entry.video)[:8]}"
        self._ids[entry.video] = video_id
        folder = self._folder if entry.text is None else None
        self.files[video_id] = VideoFile(
            video_id=video_id,
            path=folder.find(*(entry.names or (entry.video,))) if folder is not None else None,
            name=entry.video,
            subtitles=_inside(self._subtitles, entry.subtitles) if self._subtitles is not None else None,
            subtitles_begin=entry.subtitles_begin,
            text=entry.text,
        )
        return video_id


def _inside(folder: Path, name: str) -> Path | None:
    """Return the file ``name`` in a folder; None if it does not exist, or a path or link leads out of the folder."""
    path = folder / name
    try:
        return path if path.is_file() and path.resolve().is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError):  # a name no file system takes; links in a circle
        return None


def _question(entry: Raw) -> tuple[Question, tuple[Any, ...]]:
    """Return an entry's question, and ``also`` with options equal to the right one. Raises ValueError: an answer is invalid."""
    options, same = distinct(entry.options)
    question = Question(text=entry.question, kind=entry.kind, options=options, as_of=entry.as_of)
    also, letters = entry.also, question.letters
    if entry.kind == "choice" and entry.answer in letters:
        also += tuple(letters[other] for other in same[letters.index(entry.answer)])
    faults = [fault for value in (entry.answer, *also) for fault in value_faults(question, value)]
    if faults:
        raise ValueError(faults[0])
    return question, also


def distinct(options: tuple[str, ...]) -> tuple[tuple[str, ...], list[list[int]]]:
    """Return the options made distinct, and for each the indices of the other options that were equal to it.

    A repeated option gets a number ("red (2)"); an empty one becomes ``BLANK``.
    """
    cleaned = [(" ".join(option.split()) and option.strip()) or BLANK for option in options]
    shown: list[str] = []
    for place, option in enumerate(cleaned):
        text, number = option, cleaned[: place + 1].count(option)
        while text in shown or (number > 1 and text == option):
            text = f"{option} ({number})"
            number += 1
        shown.append(text)
    same = [[x for x, other in enumerate(cleaned) if other == option and x != at] for at, option in enumerate(cleaned)]
    return tuple(shown), same


def read_domain_labels(path: Path) -> dict[str, str]:
    """Read a JSON object of task domains by question id, or CSV with columns ``id`` and ``domain``."""
    if path.suffix.lower() == ".csv":
        text = read_bytes(path, most=_LABEL_BYTES).decode("utf-8-sig", errors="replace")
        try:
            rows = list(csv.DictReader(io.StringIO(text, newline="")))
        except csv.Error:
            rows = [{}]
        found: object = {row.get("id"): row.get("domain") for row in rows}
    else:
        found = read_json(path, most=_LABEL_BYTES)
    if not isinstance(found, dict) or not all(isinstance(x, str) and x for pair in found.items() for x in pair):
        wanted = "does not map question ids to domains (a JSON object, or csv with columns id and domain)"
        raise bad(f"{path.name} {wanted}", "docs/datasets.md shows the file")
    return found


_Path = Annotated[str, Field(min_length=1, max_length=1000)]


class Described(_Shape):
    """A YAML file with an adapter and its files; relative paths start from its folder::

    schema_version: 1
    adapter: m3bench-robot
    annotations: robot.json        # as published
    videos: videos/robot
    name: m3-robot                 # default: the adapter's name
    domains: my_labels.json        # question id -> task domain; takes precedence over the protocol's rules
    only: {type: [Multi-Hop Reasoning]}
    subtitles: subtitles
    files: {video_map: map_vid_vidorID.json}
    """

    schema_version: Literal[1]
    adapter: str
    annotations: _Path
    videos: _Path | None = None
    name: _Name | None = None
    domains: _Path | None = None
    only: dict[str, list[str]] = {}
    subtitles: _Path | None = None
    files: dict[str, _Path] = {}


def load_described(path: Path, *, videos: Path | None = None) -> Dataset:
    """Load the dataset that a YAML file describes. Raises EvalFault, as ``load_dataset``."""
    try:
        text = read_yaml(read_bytes(path, most=MAX_BYTES), path.name)
    except ToolFault as fault:
        raise bad(fault.message, _SHAPE) from None
    described, folder = validated(Described, text.value, path.name, _SHAPE, text.line), path.parent
    if described.adapter not in ADAPTERS:
        message = f"there is no adapter {described.adapter[:80]!r}"
        raise EvalFault("no_such_adapter", message, hint=suggestion(described.adapter, ADAPTERS))
    files = {what: folder / file for what, file in described.files.items()}
    sources = Sources(annotations=folder / described.annotations, files=files)
    # Before the annotations are read, which may take long.
    videos = videos or (folder / expanded(described.videos) if described.videos else None)
    subtitles = folder / expanded(described.subtitles) if described.subtitles else None
    return assemble(
        ADAPTERS[described.adapter](sources),
        load_protocol(described.adapter),
        described.name or described.adapter,
        videos=videos,
        subtitles=subtitles,
        domains=read_domain_labels(folder / described.domains) if described.domains else {},
        only=described.only,
    )


def load_dataset(
    named: str | Path, *, videos: str | Path | None = None, annotations: str | Path | None = None
) -> Dataset:
    """Load a dataset.

    ``named`` is one of: a folder with ``dataset.json`` (or that file), or a ``.jsonl`` file of questions, in the
    project's own format; a ``.yaml`` file with an adapter and its files (see ``Described``); ``ADAPTER:FILE``; or an
    adapter's name, with its ``annotations``. ``videos`` is a folder of videos, in any layout; it replaces that of a
    ``.yaml`` file. Raises EvalFault: ``no_such_dataset``, ``no_such_adapter``, ``dataset_unreadable``,
    ``dataset_too_large``, ``bad_dataset``, ``other_schema_version``, ``no_annotations``, ``no_answers``.
    """
    path, folder = Path(named), None if videos is None else Path(videos)
    home = path.parent if path.name == DATASET_FILE else path
    if _is_there(home / DATASET_FILE):
        return load_folder(home, videos=folder)
    if _is_there(path):
        if path.suffix == ".jsonl":
            return load_questions(path, videos=folder)
        if path.suffix in (".yaml", ".yml"):
            return load_described(path, videos=folder)
    name, _, file = str(named).partition(":")
    if name not in ADAPTERS or not (file or annotations):
        hint = f"give a folder with {DATASET_FILE}, a .jsonl file of questions, a .yaml file, or ADAPTER:FILE with one of: "
        if name in ADAPTERS:
            hint = f"give its annotations as well: {name}:FILE, "
        raise EvalFault("no_such_dataset", f"there is no dataset {str(named)[:200]!r}", hint=hint + ", ".join(ADAPTERS))
    sources = Sources(annotations=Path(annotations) if annotations is not None else expanded(file))
    return assemble(ADAPTERS[name](sources), load_protocol(name), name, videos=folder)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError as error:
        raise unreadable(path, error) from None
    except (OSError, ValueError):  # a name no file system takes
        return False


_SUFFIXES = (".srt", ".vtt")
_LAST_LINE = 5.0  #: duration in seconds of a line without an end


def subtitles_to_build_with(video: VideoFile, folder: Path) -> Path | None:
    """Return the subtitle file to build a video's world with; None if the dataset has none for it.

    A file that a build can read (.srt, .vtt) is returned unchanged. The JSON lists of LongVideoBench, ``{"start":
    "00:00:01.000", "end": "00:00:03.000", "line": "..."}`` or ``{"timestamp": [1.0, 3.0], "text": "..."}``, are
    converted to ``ID.srt`` in ``folder``; times are reduced by ``starting_timestamp_for_subtitles``, since the videos
    are parts of longer ones. Raises EvalFault: ``dataset_unreadable``, ``bad_dataset``; StoreFault:
    ``store_not_writable``, ``disk_full``.
    """
    from world_api.media.subtitles import srt_text

    if video.subtitles is None or video.subtitles.suffix.lower() in _SUFFIXES:
        return video.subtitles
    value = read_json(video.subtitles)
    if not isinstance(value, list):
        raise bad(f"{video.subtitles.name} is not a list of lines", "give the subtitles as they were published")
    path = folder / f"{video.video_id}.srt"
    write_atomically(path, srt_text(sorted(_lines(value, video.subtitles_begin))).encode())
    return path


def _lines(value: list[object], begins: float) -> Iterator[tuple[float, float, str]]:
    """Yield (start, end, text) of lines with a time and words, in seconds from ``begins``, without those before it."""
    for item in value:
        if not isinstance(item, Mapping):
            continue
        pair = item.get("timestamp")
        start, end = pair[:2] if isinstance(pair, list) and len(pair) >= 2 else (item.get("start"), item.get("end"))
        first, last = seconds_of(start), seconds_of(end)
        text = " ".join((text_of(item.get("line")) or text_of(item.get("text"))).split())
        if first is None or not text:
            continue
        last = first + _LAST_LINE if last is None or last <= first else last
        if last > begins:
            yield max(0.0, first - begins), last - begins, text

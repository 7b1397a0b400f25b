"""Questions of a dataset with their reference answers, and their form as one line of JSON (``docs/datasets.md``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from controller.answers import Question, is_abstention
from controller.options import KINDS
from tool_induction.domains.domain import SplitName
from world_api.core.canonical import content_hash
from world_api.core.faults import EpisodeFault
from world_api.core.identifiers import is_name
from world_api.core.spans import TimeSpan


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One utterance, with invented times in seconds. ``picture`` describes a picture that was sent with it."""

    id: str
    speaker: str
    text: str
    start: float
    end: float
    picture: str = ""


@dataclass(frozen=True, kw_only=True)
class DialogueSession:
    """Consecutive turns of one conversation. ``when`` is its date and time, as the file has them."""

    when: str
    start: float
    end: float
    turns: tuple[Turn, ...]


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """Sessions in order of time. ``sha256`` is the hash of words, speakers, dates and pictures."""

    title: str
    sessions: tuple[DialogueSession, ...]
    sha256: str

    @property
    def duration(self) -> float:
        """The end of the last session, in seconds of invented time."""
        return self.sessions[-1].end if self.sessions else 0.0


#: An answer, with the types of ``Episode.value``: ``open`` a text; ``choice`` a letter; ``interval``
#: ``{"start_time", "end_time"}`` in seconds; ``count`` a whole number; ``order`` a list of all letters, first to last.
#: If the question may abstain, also ``not_there`` and ``cannot_be_told``.
Value = Any


@dataclass(frozen=True, kw_only=True)
class Item:
    """One question of a dataset.

    ``answer`` has the type of the question (see ``Value``), None if it is not known; ``also`` are other right answers.
    ``spans`` are the intervals of the evidence, if they are known. ``domain`` is the task domain (the name of a domain
    file), ``content`` the subject of the video, ``template`` the id of the domain's template of the question.
    ``labels`` are the dataset's own (such as its question types), as JSON.
    """

    id: str  #: unique in its dataset: letters, digits and ``._+-``
    video_id: str
    question: Question
    answer: Value
    also: tuple[Value, ...] = ()
    spans: tuple[TimeSpan, ...] = ()
    domain: str | None = None
    content: str | None = None
    template: str | None = None
    split: SplitName | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class VideoFile:
    """A video of a dataset. ``path`` is where it is expected; None if that is not known, or it was not found.

    ``name`` is the dataset's name of it, if that is not an id; ``subtitles`` are the dataset's
    (``subtitles_to_build_with`` converts them for a build). A video with a ``text`` (a dialogue) needs no file: its
    world is made from the text.
    """

    video_id: str
    path: Path | None = None
    name: str = ""
    subtitles: Path | None = None
    subtitles_begin: float = 0.0  #: the time in the subtitles at which the video begins, in seconds
    text: Dialogue | None = None

    @property
    def is_there(self) -> bool:
        """Whether the file is on this machine, or not needed because the video is a dialogue."""
        return self.text is not None or (self.path is not None and self.path.is_file())


@dataclass(frozen=True, kw_only=True)
class SkippedEntry:
    """A question of a published file that cannot be used: its place, and the reason."""

    where: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Questions about videos, with the protocol by which they are asked and scored.

    ``protocol`` are the fixed choices of the adapter, as JSON (the scorer of each kind, how questions map to domains,
    how ``as_of`` is set, which judge), so that it can be published beside a figure. ``hash`` covers items and protocol,
    not the videos. ``left_out`` are questions of the file that cannot be asked; no figure includes them.
    """

    name: str
    items: tuple[Item, ...]
    videos: Mapping[str, VideoFile]
    protocol: Mapping[str, Any] = field(default_factory=dict)
    hash: str = ""
    left_out: tuple[SkippedEntry, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The ids of the videos with questions that are not on this machine, sorted."""
        wanted = {item.video_id for item in self.items}
        return tuple(sorted(item for item in wanted if item not in self.videos or not self.videos[item].is_there))

    @property
    def missing_hash(self) -> str:
        """A hash of the missing videos: figures over different parts of a dataset cannot be compared."""
        return content_hash(list(self.missing))


SCHEMA_VERSION = 1
REQUIRED = ("schema_version", "id", "video", "question", "kind", "answer")
OPTIONAL = ("options", "also", "spans", "as_of", "may_abstain", "domain", "content", "template", "split", "labels")
SPLITS: tuple[str, ...] = get_args(SplitName)

MAX_ANSWER_CHARACTERS = 20_000
MAX_LIST = 1000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+ -]{0,199}")
_SHOWN = 60


class BadItem(ValueError):
    """A line with faults; ``faults`` lists all of them."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def item_record(item: Item) -> dict[str, Any]:
    """Return the JSON object of an item. Empty fields are omitted, except those in ``REQUIRED``."""
    question = item.question
    record = {
        "schema_version": SCHEMA_VERSION,
        "id": item.id,
        "video": item.video_id,
        "question": question.text,
        "kind": question.kind,
        "options": list(question.options),
        "answer": item.answer,
        "also": list(item.also),
        "spans": [[span.start, span.end] for span in item.spans],
        "as_of": question.as_of,
        "may_abstain": question.may_abstain or None,
        **{name: getattr(item, name) for name in ("domain", "content", "template", "split")},
        "labels": dict(item.labels),
    }
    return {key: value for key, value in record.items() if key in REQUIRED or value not in (None, [], {})}


def item_from_record(record: object) -> Item:
    """Return the item of a JSON object. Raises BadItem: with all its faults."""
    if not isinstance(record, Mapping):
        raise BadItem(["it is not a JSON object"])
    faults = _shape_faults(record)
    if faults:
        raise BadItem(faults)
    also, optional = record.get("also", []), {key: record[key] for key in ("as_of", "may_abstain") if key in record}
    spans = _spans(record.get("spans", []), faults)
    try:
        options = tuple(record.get("options", ()))
        question = Question(text=record["question"], kind=record["kind"], options=options, **optional)
    except EpisodeFault as fault:
        raise BadItem([f"{fault.message}; {fault.hint}", *faults]) from None
    if record["answer"] is not None:  # null: the answer is not known; such a question is asked and not scored
        faults += [f"answer: {fault}" for fault in value_faults(question, record["answer"])]
    faults += [f"also[{place}]: {fault}" for place, item in enumerate(also) for fault in value_faults(question, item)]
    if faults:
        raise BadItem(faults)
    return Item(
        id=record["id"],
        video_id=record["video"],
        question=question,
        answer=record["answer"],
        also=tuple(also),
        spans=spans,
        labels=dict(record.get("labels", {})),
        **{name: record.get(name) for name in ("domain", "content", "template", "split")},
    )


def value_faults(question: Question, value: object) -> list[str]:
    """Return what is wrong with an answer to this question, empty if nothing; ``Value`` describes the types."""
    if is_abstention(question, value):
        return []
    letters = question.letters
    listed, ends = ", ".join(letters), {"start_time", "end_time"}
    holds, what = {
        "open": (isinstance(value, str) and bool(value.strip()), "an open question is answered by text"),
        "choice": (value in letters, f"a choice is answered by its letter, one of {listed}"),
        "count": (type(value) is int and 0 <= value < 10**15, "a count is a whole number from 0"),
        "order": (
            _are_texts(value) and sorted(cast("list[str]", value)) == list(letters),
            f"an order is a list of all letters {listed}, each once",
        ),
        "interval": (
            isinstance(value, Mapping) and set(value) == ends,
            'an interval is {"start_time": seconds, "end_time": seconds}',
        ),
    }[question.kind]
    if not holds:
        return [f"{what}, not {_shown(value)}"]
    if isinstance(value, Mapping):
        return _interval_faults(value["start_time"], value["end_time"])
    is_long = isinstance(value, str) and len(value) > MAX_ANSWER_CHARACTERS
    return [f"it has more than {MAX_ANSWER_CHARACTERS:,} characters"] if is_long else []


def _shape_faults(record: Mapping[str, Any]) -> list[str]:
    faults = [f"{key} is missing" for key in REQUIRED if key not in record]
    unknown = [key for key in record if key not in _FIELDS]
    faults += [f"{_shown(key)} is not a key here; the keys are {', '.join(_FIELDS)}" for key in unknown[:1]]
    for key, (holds, what) in _FIELDS.items():
        if key in record and not holds(record[key]):
            label = "schema version" if key == "schema_version" else f"{key}:"
            faults.append(f"{label} {_shown(record[key])} {what}")
    return faults


def _spans(value: list[Any], faults: list[str]) -> tuple[TimeSpan, ...]:
    found = []
    for place, pair in enumerate(value):
        is_pair = isinstance(pair, list) and len(pair) == 2
        wrong = _interval_faults(*pair) if is_pair else [f"{_shown(pair)} is not [start, end] in seconds"]
        faults += [f"spans[{place}]: {fault}" for fault in wrong]
        if not wrong:
            found.append(TimeSpan(start=float(pair[0]), end=float(pair[1])))
    return tuple(found)


def _interval_faults(start: object, end: object) -> list[str]:
    wrong = [item for item in (start, end) if not is_seconds(item)]
    if wrong:
        return [f"{_shown(wrong[0])} is not a time in seconds from 0"]
    return ["it ends before it starts"] if float(str(end)) < float(str(start)) else []


def is_seconds(value: object) -> bool:
    """Whether a value is a time of a video in seconds: a finite number from 0, below a hundred years."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 3.2e9


def _is_word(value: object, pattern: re.Pattern[str] = _WORD) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and len(value) <= MAX_LIST


#: The check of each key of a line, required keys first, and the message for a value that fails it.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "schema_version": (lambda value: type(value) is int and value == SCHEMA_VERSION, "is not read by this program"),
    "id": (lambda value: _is_word(value, _ID), "is not a name of letters, digits and ._+-"),
    "video": (lambda value: isinstance(value, str) and is_name(value), "is not a video id: 1 to 64 of a-z 0-9 . _ -"),
    "question": (lambda value: isinstance(value, str), "is not text"),
    "kind": (lambda value: isinstance(value, str) and value in KINDS, "is not a kind: " + ", ".join(KINDS)),
    "answer": (lambda _: True, ""),  # depends on the kind
    "options": (lambda value: _is_list(value) and _are_texts(value), "is not a list of texts"),
    "also": (_is_list, "is not a list of answers"),
    "spans": (_is_list, "is not a list of [start, end]"),
    "as_of": (is_seconds, "is not a time in seconds from 0"),
    "may_abstain": (lambda value: isinstance(value, bool), "is neither true nor false"),
    "domain": (_is_word, "is not the name of a domain"),
    "content": (_is_word, "is not a word or two"),
    "template": (_is_word, "is not the id of a template"),
    "split": (lambda value: isinstance(value, str) and value in SPLITS, "is not a split: " + ", ".join(SPLITS)),
    "labels": (lambda value: isinstance(value, Mapping), "is not a JSON object"),
}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

"""Questions of a dataset with their reference answers, and their form as one line of JSON (``docs/datasets.md``)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from controller.questions import KINDS, Question
from tool_induction.domains.domain import SplitName
from world_api.core.canonical import content_hash
from world_api.core.faults import EpisodeFault
from world_api.core.identifiers import is_name
from world_api.core.spans import TimeSpan


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One utterance, with its time in seconds of the made-up clock. ``picture`` describes a picture that was sent along."""

    id: str
    speaker: str
    text: str
    start: float
    end: float
    picture: str = ""


@dataclass(frozen=True, kw_only=True)
class Session:
    """Turns that were spoken at one sitting. ``when`` is its date and time, in the words of the file."""

    number: int
    when: str
    start: float
    end: float
    turns: tuple[Turn, ...]


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """Sessions in order of time. ``sha256`` covers words, speakers, dates and pictures."""

    title: str
    speakers: tuple[str, ...]
    sessions: tuple[Session, ...]
    sha256: str

    @property
    def duration(self) -> float:
        """Seconds on the made-up clock."""
        return self.sessions[-1].end if self.sessions else 0.0


#: Answers by kind of question, as ``Episode.value`` holds them: ``open`` text; ``choice`` a letter; ``interval``
#: ``{"start_time", "end_time"}`` in seconds; ``count`` a whole number; ``order`` all letters, first to last.
Value = Any


@dataclass(frozen=True, kw_only=True)
class Item:
    """One question of a dataset.

    ``answer`` is in the type of the question (see ``Value``); ``also`` are other answers that count as right. ``spans`` are the
    intervals that show it, if they are known. ``domain`` is the task domain (the name of a domain file), ``content``
    what the video is about, ``template`` the id of the domain's template the question was made from. ``labels`` are the
    dataset's own (its types of questions, say), as JSON.
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
    """A video of a dataset: where it should be, and whether it is there. ``path`` None: it is not known, or was not found.

    ``name`` is what its dataset calls it, where that is no id; ``subtitles`` are those the dataset keeps for it
    (``subtitles.py`` makes them ready for a build). A video that is a ``text`` (a dialogue) needs no file: its
    world is written from the words.
    """

    video_id: str
    path: Path | None = None
    name: str = ""
    subtitles: Path | None = None
    subtitles_begin: float = 0.0  #: the time in the subtitles at which the video begins, in seconds
    text: Dialogue | None = None

    @property
    def is_there(self) -> bool:
        """Whether the file is on this machine."""
        return self.text is not None or (self.path is not None and self.path.is_file())


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A question of a published file that cannot be asked: its place, and why."""

    where: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Questions about videos, with the protocol they are asked and scored by.

    ``protocol`` is what the adapter fixes, as JSON (which scorer for which kind, how questions map to domains, how ``as_of`` is
    made, whose judge), so that it can be published beside a figure. ``hash`` covers items and protocol, not the videos.
    ``left_out`` are questions of the file that cannot be asked; they are in no figure.
    """

    name: str
    items: tuple[Item, ...]
    videos: Mapping[str, VideoFile]
    protocol: Mapping[str, Any] = field(default_factory=dict)
    hash: str = ""
    left_out: tuple[LeftOut, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The ids of the videos that are asked about and are not here, sorted."""
        wanted = {item.video_id for item in self.items}
        return tuple(sorted(item for item in wanted if item not in self.videos or not self.videos[item].is_there))

    @property
    def missing_hash(self) -> str:
        """A hash of which videos are missing: figures over different parts of a dataset cannot be compared."""
        return content_hash(list(self.missing))


SCHEMA_VERSION = 1
REQUIRED = ("schema_version", "id", "video", "question", "kind", "answer")
OPTIONAL = ("options", "also", "spans", "as_of", "domain", "content", "template", "split", "labels")
SPLITS: tuple[str, ...] = get_args(SplitName)

MAX_ANSWER_CHARACTERS = 20_000
MAX_LIST = 1000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+ -]{0,199}")
_SHOWN = 60


class BadItem(ValueError):
    """All faults of a line."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def is_item_id(text: object) -> bool:
    """Whether it may name an item (and so a part of a file's name)."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def item_record(item: Item) -> dict[str, Any]:
    """The line of an item. What is empty is left out."""
    question = item.question
    record: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "id": item.id,
        "video": item.video_id,
        "question": question.text,
        "kind": question.kind,
    }
    if question.options:
        record["options"] = list(question.options)
    record["answer"] = item.answer
    if item.also:
        record["also"] = list(item.also)
    if item.spans:
        record["spans"] = [[span.start, span.end] for span in item.spans]
    optional = {
        "as_of": question.as_of, "domain": item.domain, "content": item.content, "template": item.template,
        "split": item.split,
    }  # fmt: skip
    record |= {key: value for key, value in optional.items() if value is not None}
    if item.labels:
        record["labels"] = dict(item.labels)
    return record


def item_from_record(record: object) -> Item:
    """The item of a line.

    Raises:
        BadItem: with everything that is wrong.
    """
    if not isinstance(record, Mapping):
        raise BadItem(["it is not a JSON object"])
    faults = _shape_faults(record)
    if faults:
        raise BadItem(faults)
    question = _question(record, faults)
    if question is not None:
        also = record.get("also", [])
        if record["answer"] is not None:  # null: the answer is not known; such a question is asked and not scored
            faults += [f"answer: {fault}" for fault in value_faults(question, record["answer"])]
        faults += [
            f"also[{place}]: {fault}" for place, item in enumerate(also) for fault in value_faults(question, item)
        ]
    spans = _spans(record.get("spans", []), faults)
    if faults or question is None:
        raise BadItem(faults)
    return Item(
        id=record["id"],
        video_id=record["video"],
        question=question,
        answer=record["answer"],
        also=tuple(record.get("also", ())),
        spans=spans,
        domain=record.get("domain"),
        content=record.get("content"),
        template=record.get("template"),
        split=record.get("split"),
        labels=dict(record.get("labels", {})),
    )


def value_faults(question: Question, value: object) -> list[str]:
    """What is wrong with an answer of a question of this kind; see ``Question`` for the types."""
    if question.kind == "open":
        if not isinstance(value, str) or not value.strip():
            return [f"an open question is answered by text, not {_shown(value)}"]
        return [] if len(value) <= MAX_ANSWER_CHARACTERS else [f"it has more than {MAX_ANSWER_CHARACTERS:,} characters"]
    if question.kind == "choice":
        if value in question.letters:
            return []
        return [f"a choice is answered by its letter, one of {', '.join(question.letters)}, not {_shown(value)}"]
    if question.kind == "count":
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15:
            return []
        return [f"a count is a whole number from 0, not {_shown(value)}"]
    if question.kind == "order":
        if (
            isinstance(value, list)
            and all(isinstance(x, str) for x in value)
            and sorted(value) == list(question.letters)
        ):
            return []
        return [f"an order is a list of all letters {', '.join(question.letters)}, each once, not {_shown(value)}"]
    if not isinstance(value, Mapping) or set(value) != {"start_time", "end_time"}:
        return [f'an interval is {{"start_time": seconds, "end_time": seconds}}, not {_shown(value)}']
    return _interval_faults(value["start_time"], value["end_time"])


def _shape_faults(record: Mapping[str, Any]) -> list[str]:
    known = (*REQUIRED, *OPTIONAL)
    faults = [f"{key} is missing" for key in REQUIRED if key not in record]
    unknown = [key for key in record if key not in known]
    faults += [f"{_shown(key)} is not a key here; the keys are {', '.join(known)}" for key in unknown[:1]]
    version = record.get("schema_version")
    if "schema_version" in record and (version != SCHEMA_VERSION or isinstance(version, bool)):
        faults.append(f"schema version {_shown(version)}; this program reads {SCHEMA_VERSION}")
    for key, holds, what in _FIELDS:
        if key in record and not holds(record[key]):
            faults.append(f"{key}: {_shown(record[key])} is not {what}")
    return faults


def _question(record: Mapping[str, Any], faults: list[str]) -> Question | None:
    try:
        return Question(
            text=record["question"],
            kind=record["kind"],
            options=tuple(record.get("options", ())),
            as_of=record.get("as_of"),
        )
    except EpisodeFault as fault:
        faults.append(f"{fault.message}; {fault.hint}")
        return None


def _spans(value: list[Any], faults: list[str]) -> tuple[TimeSpan, ...]:
    found = []
    for place, pair in enumerate(value):
        if not isinstance(pair, list) or len(pair) != 2:
            faults.append(f"spans[{place}]: {_shown(pair)} is not [start, end] in seconds")
            continue
        wrong = _interval_faults(pair[0], pair[1])
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
    """Whether it is a time of a video: a finite number from 0, below a hundred years."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value < 3.2e9


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and len(value) <= MAX_LIST and all(isinstance(item, str) for item in value)


def _is_short_list(value: object) -> bool:
    return isinstance(value, list) and len(value) <= MAX_LIST


_FIELDS = (
    ("id", is_item_id, "a name of letters, digits and ._+-"),
    ("video", lambda value: isinstance(value, str) and is_name(value), "a video id: 1 to 64 of a-z 0-9 . _ -"),
    ("question", _is_text, "text"),
    ("kind", lambda value: isinstance(value, str) and value in KINDS, "a kind: " + ", ".join(KINDS)),
    ("options", _are_texts, "a list of texts"),
    ("also", _is_short_list, "a list of answers"),
    ("spans", _is_short_list, "a list of [start, end]"),
    ("as_of", is_seconds, "a time in seconds from 0"),
    ("domain", _is_word, "the name of a domain"),
    ("content", _is_word, "a word or two"),
    ("template", _is_word, "the id of a template"),
    ("split", lambda value: isinstance(value, str) and value in SPLITS, "a split: " + ", ".join(SPLITS)),
    ("labels", lambda value: isinstance(value, Mapping), "a JSON object"),
)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

"""What the adapters for published benchmarks share: the form of a question, typed access to entries, protocols.

The protocol of a benchmark is fixed in a file of this package, ``protocols/NAME.yaml``. It contains the rules that map
questions to task domains, the scorer of each kind of question, the judges, the causal cut of questions, baselines
without video, and published figures with their model, budget and source.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from controller.options import Kind
from eval.datasets.files import bad, validated
from eval.datasets.items import Dialogue, SkippedEntry, is_seconds
from world_api.core.faults import EvalFault
from world_api.core.yaml_text import read_yaml

_SHOWN = 80
_MAX_TEXT = 20_000


class Unusable(ValueError):
    """An entry that cannot be used as a question; the message is the reason."""


@dataclass(frozen=True, kw_only=True)
class Raw:
    """A question of a published file, unchanged except that its fields have the project's types.

    ``where`` is its place in the file, for messages. ``video`` is the dataset's name of the video, ``names`` are
    possible names of the file, the most likely first. ``answer`` has the type of ``kind``; of a choice it is a letter
    (A is the first of ``options``). ``also`` are other right answers, ``spans`` the evidence in seconds.
    """

    where: str
    id: str
    video: str
    question: str
    answer: Any
    kind: Kind = "open"
    options: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    subtitles: str = ""
    subtitles_begin: float = 0.0
    also: tuple[Any, ...] = ()
    spans: tuple[tuple[float, float], ...] = ()
    as_of: float | None = None
    content: str | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    text: Dialogue | None = None  #: the dialogue that the question is about, if there is no video


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The published annotations on this machine (a file or a folder), and other files by purpose ("video_map")."""

    annotations: Path
    files: Mapping[str, Path] = field(default_factory=dict)

    def other(self, what: str, *names: str) -> Path | None:
        """Return the given file for the purpose ``what``, else the first of ``names`` beside the annotations, else None."""
        return self.files.get(what) or self._named(names)

    def main(self, *names: str) -> Path:
        """Return the given file, or the first of ``names`` in the folder. Raises EvalFault: ``no_annotations``."""
        found = self._named(names) if self.annotations.is_dir() else self.annotations
        if found is None:
            message = f"the folder {self.annotations.name} holds none of: {', '.join(names)}"
            raise EvalFault("no_annotations", message, hint="give the file of annotations as it was published")
        return found

    def _named(self, names: Iterable[str]) -> Path | None:
        folder = self.annotations if self.annotations.is_dir() else self.annotations.parent
        return next((folder / name for name in names if (folder / name).is_file()), None)


Entries = Iterator[Raw | SkippedEntry]
#: Reads the files of a benchmark as its authors publish them.
Reader = Callable[[Sources], Entries]


class Entry:
    """One entry of a file. Its methods read fields by type; a missing or unsuitable field raises ``Unusable``."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise Unusable("it is not an object")
        self._value: Mapping[Any, Any] = value
        self.where = where
        self.place = where.rpartition(" ")[2]  #: the last word of ``where``: its index in the list, or its line

    def has(self, key: str) -> bool:
        """Whether the field exists and is not null."""
        return self._value.get(key) is not None

    def raw(self, key: str) -> Any:
        """Return a field unchanged, None if it is missing."""
        return self._value.get(key)

    def text(self, *keys: str) -> str:
        """Return the first of these fields that exists, as text. Raises Unusable: it is empty or too long, or none exists."""
        key = next(filter(self.has, keys), None)
        if key is None:
            raise Unusable(f"{keys[0]} is missing")
        found = text_of(self._value[key])
        if not found or len(found) > _MAX_TEXT:
            raise Unusable(f"{key} is empty, too long or no text")
        return found

    def maybe(self, *keys: str) -> str:
        """Return the first of these fields that is a text (not empty) or a number, as text; otherwise ""."""
        return next(filter(None, (text_of(self.raw(key)) for key in keys)), "")

    def number(self, key: str) -> int:
        """Return a field as a whole number; "3" and "3.0" are allowed. Raises Unusable: it is not one."""
        text = text_of(self.raw(key)).removesuffix(".0")
        if not text.removeprefix("-").isdecimal() or len(text) > 12:
            raise Unusable(f"{key}: {repr(self.raw(key))[:_SHOWN]} is not a whole number")
        return int(text)

    def texts(self, *keys: str) -> tuple[str, ...]:
        """Return the texts of the first of these fields that is a list or one string. Raises Unusable: there is none."""
        for value in map(self.raw, keys):
            if isinstance(value, str):
                return (value,)
            if isinstance(value, list | tuple):
                return tuple(text_of(item) for item in value[:1000])
        raise Unusable(f"{keys[0]} is missing, or no list")

    def letter(self, number: int, options: tuple[str, ...]) -> str:
        """Return the letter of an option (0 is A). Raises Unusable: ``number`` is not the index of an option."""
        if not 0 <= number < len(options):
            raise Unusable(f"the right answer is number {number} of {len(options)} options")
        return chr(ord("A") + number)


def entries_of(entries: Iterable[tuple[str, object]], make: Callable[[Entry], Raw]) -> Entries:
    """Yield the question that ``make`` builds from each (place, value), or a ``SkippedEntry`` if it raises Unusable."""
    for where, value in entries:
        try:
            yield make(Entry(value, where))
        except Unusable as error:
            yield SkippedEntry(where=where, reason=str(error))


def numbered(value: object, name: str) -> Iterator[tuple[str, object]]:
    """Yield (place, entry) for each entry of a list in file ``name``. Raises EvalFault: ``bad_dataset``, if no list."""
    if not isinstance(value, list):
        raise bad(f"{name} is not a list of entries", "give the file of annotations as it was published")
    for number, item in enumerate(value):
        yield f"{name}, entry {number}", item


def nested(where: str, holder: object, key: str, **more: str) -> Iterator[tuple[str, object]]:
    """Yield (place, question) for the list ``key`` of a video; the video's other fields and ``more`` are added to each.

    If there is no such list, yield one pair with None, which is then reported as unusable.
    """
    shared = dict(holder) if isinstance(holder, dict) else {}
    listed = shared.pop(key, None)
    if not isinstance(listed, list):
        yield where, None
        return
    for number, item in enumerate(listed):
        yield f"{where}, question {number}", {**shared, **item, **more} if isinstance(item, dict) else item


def text_of(value: object) -> str:
    """Return a text without outer spaces, or a number as text; "" for any other value."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().strip()  # text that is not Unicode could name no file
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)[:30]


def seconds_of(clock: object) -> float | None:
    """Return a time in seconds from a number or text (``15``, ``1:02``, ``1:02:03.5``); None for any other value."""
    if not isinstance(clock, str):
        return float(clock) if isinstance(clock, int | float) and is_seconds(clock) else None
    found = _CLOCK.fullmatch(clock.strip())
    if found is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


_CLOCK = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,6}(?:\.\d*)?)", re.ASCII)
_LED = re.compile(r"^\s*[(\[]?([A-Z])[.)\]:]\s*(.*)$", re.DOTALL)
_LINE = re.compile(r"(?m)^\s*\(([A-Z])\)\s*")


def without_letters(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options without leading letters if they begin with A, B, C ... in order; otherwise unchanged."""
    found = [_LED.match(option) for option in options]
    if options and all(match and match[1] == chr(ord("A") + place) for place, match in enumerate(found)):
        return tuple(match[2].strip() for match in found if match)
    return options


def split_question(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the question before the lines "(A) ...", "(B) ..." of a text, and the options without letters. Raises Unusable: none."""
    parts = _LINE.split(text)
    question, letters, options = parts[0], parts[1::2], parts[2::2]
    if not options or letters != [chr(ord("A") + place) for place in range(len(letters))]:
        raise Unusable("the question is not followed by options (A), (B), ... on lines of their own")
    return question.strip(), tuple(option.strip() for option in options)


def letter_of(answer: str, options: tuple[str, ...]) -> str:
    """Return the option letter that begins an answer: "B", "(B)", "B. Blue shirts.". Raises Unusable: there is none."""
    letters = [chr(ord("A") + place) for place in range(len(options))]
    bare = answer.strip().strip("().: ").upper()
    if bare in letters:
        return bare
    led = _LED.match(answer.strip())
    if led and led[1] in letters:
        return led[1]
    raise Unusable(f"the answer {answer[:60]!r} names none of the {len(options)} options")


SCHEMA_VERSION = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AnnotationSource(_Part):
    """The source of the annotations; ``files`` are the names of the files as published."""

    files: list[str]
    url: str
    paper: str
    licence: str = "see the dataset's page"


class DomainRule(_Part):
    """A rule for questions of ``domain``: they begin with or contain a listed word, or have a listed label."""

    domain: str | None
    begins: list[str] = []
    holds: list[str] = []
    labels: dict[str, list[str]] = {}

    def fits(self, text: str, labels: Mapping[str, Any]) -> bool:
        """Whether the rule fits ``text``: a question in lower case, words only, with a space around each."""
        if any(text.startswith(f" {word} ") for word in self.begins) or any(f" {word} " in text for word in self.holds):
            return True
        return any(set(_listed(labels.get(name))) & set(values) for name, values in self.labels.items())


class DomainRules(_Part):
    """Rules from questions to task domains: the first that fits, else ``otherwise``. A domain given by the user comes first."""

    rules: list[DomainRule]
    otherwise: str | None = None


class ProtocolJudges(_Part):
    """The judges of open answers: ``own``: the project's may be used; ``published`` describes that of the authors."""

    own: bool = True
    published: str = ""


class PublishedFigure(_Part):
    """A published accuracy in percent of a system with a model; ``on`` describes the questions, ``budget`` the limits."""

    system: str
    model: str
    accuracy: float
    on: str
    budget: str
    source: str


class Protocol(_Part):
    """The content of a protocol file."""

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    title: str
    origin: AnnotationSource
    scoring: dict[Kind, str]  #: scorers by name and version (``eval.scoring.scorers``)
    judge: ProtocolJudges | None = None
    as_of: str = "the whole video"
    domains: DomainRules
    blind: list[str]
    #: The accuracy of guessing; None if it is not one number.
    chance: Annotated[float, Field(ge=0, le=1)] | None = None
    chance_on: str = ""  #: the reason why ``chance`` is None, or the questions that it refers to
    published: list[PublishedFigure]
    notes: list[str] = []

    def domain_of(self, question: str, labels: Mapping[str, Any]) -> str | None:
        """Return the task domain of a question by the first rule that fits it; None if it belongs to no domain."""
        words = "".join(item if item.isalnum() else " " for item in question.casefold())
        text = f" {' '.join(words.split())} "
        found = next((rule for rule in self.domains.rules if rule.fits(text, labels)), None)
        return self.domains.otherwise if found is None else found.domain


def packaged_protocols() -> list[str]:
    """Return the sorted names of the protocols in this package."""
    folder = files("eval.datasets") / "protocols"
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


@cache
def load_protocol(name: str) -> Protocol:
    """Return a protocol of this package. Raises EvalFault: ``bad_dataset``: its file is damaged."""
    value = read_yaml(_file(name).read_bytes(), f"{name}.yaml").value
    return validated(Protocol, value, f"protocol {name}", "install the project again")


def protocol_hash(name: str) -> str:
    """Return the SHA-256 of a protocol file's bytes."""
    return hashlib.sha256(_file(name).read_bytes()).hexdigest()


def _file(name: str) -> Traversable:
    return files("eval.datasets") / "protocols" / f"{name}.yaml"


def _listed(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    return [] if value is None else [str(value)]

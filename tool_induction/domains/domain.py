"""A domain of questions: its question types, worked examples, entities, kinds of tools, and splits.

The constraints of the fields are checked in domain files; an episode stores its domain as a record of these classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field

SplitName = Literal["induction", "admission", "development", "test"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)
AnswerType = Literal["interval", "time", "count", "duration", "yes_no", "order", "choice", "text"]

Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")]
Line = Annotated[str, Field(min_length=1, max_length=500)]
LongText = Annotated[str, Field(min_length=1, max_length=4000)]


class Part:
    """A part of a domain file, in which unknown keys are faults."""

    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class Wording(Part):
    """One wording of a question, with ``{placeholders}``, in English (``en``) and Chinese (``zh``, may be empty)."""

    en: Line
    zh: Annotated[str, Field(max_length=500)] = ""

    @property
    def wordings(self) -> tuple[str, ...]:
        """The wordings in all languages."""
        return (self.en, self.zh) if self.zh else (self.en,)


@dataclass(frozen=True, kw_only=True)
class Template(Wording):
    """A question template: a wording that belongs to one split."""

    id: str  #: unique in the domain: ``first_appearance/induction/0``
    split: SplitName


@dataclass(frozen=True, kw_only=True)
class QuestionType:
    """A type of question, the type of its answer, and its templates; each template belongs to one split."""

    id: str
    about: str
    answer: AnswerType
    templates: tuple[Template, ...]

    def of(self, split: SplitName) -> tuple[Template, ...]:
        """Return the templates of one split."""
        return tuple(item for item in self.templates if item.split == split)


@dataclass(frozen=True, kw_only=True)
class Example(Part):
    """A question with its answer and a description of how to find it with the operations."""

    type: Identifier
    question: Line
    answer: Line
    found_by: LongText
    video: Annotated[str, Field(max_length=64)] = ""


@dataclass(frozen=True, kw_only=True)
class WorkedExample(Example):
    """An example with the id of the template that its question follows."""

    template: str


@dataclass(frozen=True, kw_only=True)
class Entities(Part):
    """Entities of the worked examples, and others of the same kinds to try tools on; no entity is in both lists."""

    examples: Annotated[tuple[Line, ...], Field(max_length=100)]
    others: Annotated[tuple[Line, ...], Field(min_length=2, max_length=100)]


@dataclass(frozen=True, kw_only=True)
class ToolKind(Part):
    """A kind of tool that an induction requests from the model."""

    id: Identifier
    about: Line


@dataclass(frozen=True, kw_only=True)
class Split:
    """The videos of one split: ids, or prefixes of ids with ``*`` at the end."""

    name: SplitName
    videos: tuple[str, ...]

    def holds(self, video_id: str) -> bool:
        """Whether a video belongs to the split."""
        return any(matches(pattern, video_id) for pattern in self.videos)


@dataclass(frozen=True, kw_only=True)
class Domain:
    """A domain. ``hash`` is the SHA-256 of its file's bytes, in hexadecimal."""

    name: str
    title: str
    description: str
    question_types: tuple[QuestionType, ...]
    examples: tuple[WorkedExample, ...]
    entities: Entities
    tool_kinds: tuple[ToolKind, ...]
    splits: tuple[Split, ...]
    hash: str

    def templates(self, split: SplitName) -> tuple[Template, ...]:
        """Return all templates of one split."""
        return tuple(item for kind in self.question_types for item in kind.of(split))

    def split_of_video(self, video_id: str) -> SplitName | None:
        """Return the split that a video belongs to, or None."""
        return next((split.name for split in self.splits if split.holds(video_id)), None)


def matches(pattern: str, video_id: str) -> bool:
    """Whether an id equals the pattern, or begins with the part before its ``*``."""
    return video_id.startswith(pattern[:-1]) if pattern.endswith("*") else video_id == pattern


def overlap(one: str, other: str) -> bool:
    """Whether some id matches both patterns."""
    if one.endswith("*") and other.endswith("*"):
        return one[:-1].startswith(other[:-1]) or other[:-1].startswith(one[:-1])
    return matches(one, other) or matches(other, one)

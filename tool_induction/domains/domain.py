"""A domain of questions: its question types, worked examples, entities, kinds of tools, and splits.

The constraints of the fields are checked in domain files; an episode stores its domain as a record of these classes.

The split guard: induction, admission, development and test share no video and no question template.

Two templates are the same question if they differ only in case, spacing, punctuation and the names of placeholders.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field

from world_api.core.faults import ToolFault
from world_api.core.identifiers import did_you_mean

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


PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SLOT = "\x00"
_MAX_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class PlannedQuestion:
    """A question to be checked: its video, its words, and the id of its template (empty if it is unknown)."""

    video_id: str
    question: str
    template: str = ""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a library's induction saw: questions, templates, and the worlds its tools were tried on."""

    domain: str = ""
    questions: frozenset[str] = frozenset()  #: worked examples that were shown, as ``normal`` writes them
    templates: frozenset[str] = frozenset()  #: ids of the templates that were shown
    videos: frozenset[str] = frozenset()  #: ids of the example worlds

    @classmethod
    def by(cls, manifest: Mapping[str, Any]) -> Seen:
        """Return what a library's induction saw, by its manifest; only ``domain`` is set if it records none."""
        found = manifest.get("induction")
        found = found if isinstance(found, Mapping) else {}
        return cls(
            domain=str(manifest.get("domain", "")),
            questions=frozenset(normal(str(item)) for item in found.get("examples_used", ())),
            templates=frozenset(str(item) for item in found.get("templates_used", ())),
            videos=frozenset(str(item) for item in found.get("example_worlds", ())),
        )


@dataclass(frozen=True, kw_only=True)
class Leak:
    """A question that must not be asked in a split: what it shares (``by``), with which split, and the message."""

    question: PlannedQuestion
    by: Literal["video", "template", "example"]
    belongs_to: SplitName
    message: str


def normal(text: str) -> str:
    """Return a wording normalised for comparison: no case, punctuation or spaces, and all placeholders equal."""
    slotted = PLACEHOLDER.sub(_SLOT, unicodedata.normalize("NFKC", text).casefold())
    return "".join(item for item in slotted if item.isalnum() or item == _SLOT)


def leaks(
    domain: Domain, split: SplitName, questions: Iterable[PlannedQuestion], *, library: Mapping[str, Any] | None = None
) -> list[Leak]:
    """Return the reasons why questions must not be asked in a split; a question may have several, or none.

    Reasons are a video or a template of another split and, except for induction, a worked example of the domain. A
    template of another split counts if the question names it or the words fit only templates of other splits. A video
    in no split and a question that fits no template are no leaks. With the manifest of the ``library`` to be measured,
    the worlds, examples and templates of its induction are leaks too, even if the domain has changed since.

    Raises:
        ToolFault: ``no_such_template``: a question names a template that the domain does not have.
    """
    seen = Seen() if library is None else Seen.by(library)
    shown = seen.domain == domain.name
    seen = replace(seen, questions=seen.questions | {normal(item.question) for item in domain.examples})
    found: list[Leak] = []
    for item in questions:
        owner = domain.split_of_video(item.video_id)
        is_foreign = owner is not None and owner != split
        if owner is not None and is_foreign:
            found.append(_leak(item, "video", owner, f"the video belongs to {owner}"))
        if normal(item.question) not in seen.questions or split == "induction":
            template = _template_of(item, domain, split)
            if template is not None and template.split != split:
                why = f"the template {template.id} belongs to {template.split}"
                found.append(_leak(item, "template", template.split, why))
                template = None
            item = replace(item, template="" if template is None else template.id)  # noqa: PLW2901
        of_induction = _seen_leaks(item, seen, split, shown=shown)
        found.extend(leak for leak in of_induction if leak.by != "video" or not is_foreign)
    return found


def refuse_leaks(
    domain: Domain, split: SplitName, questions: Iterable[PlannedQuestion], *, library: Mapping[str, Any] | None = None
) -> None:
    """Raise a fault if any of the questions must not be asked in a split (see ``leaks``).

    Raises:
        ToolFault: ``split_leak``, with the first five reasons; ``no_such_template``.
    """
    _refuse(
        [leak.message for leak in leaks(domain, split, questions, library=library)],
        f"in the {split} split of {domain.name}",
        "leave them out; what an induction has seen cannot measure it",
    )


def refuse_seen(
    questions: Iterable[PlannedQuestion], *, split: SplitName, library: Mapping[str, Any], domain: str | None
) -> None:
    """Raise a fault if the induction of a library saw any of the questions; no domain file is needed.

    ``library`` is its manifest. Templates are compared only if ``domain`` (a name) is that of the induction.

    Raises:
        ToolFault: ``split_leak``, with the first five reasons.
    """
    seen = Seen.by(library)
    found = [next(_seen_leaks(item, seen, split, shown=domain == seen.domain), None) for item in questions]
    _refuse(
        [leak.message for leak in found if leak is not None],
        "with the library",
        "leave them out, or ask them without that library; what an induction has seen cannot measure it",
    )


def _refuse(messages: list[str], where: str, hint: str) -> None:
    if messages:
        more = f"; and {len(messages) - _MAX_SHOWN} more" if len(messages) > _MAX_SHOWN else ""
        shown = "; ".join(messages[:_MAX_SHOWN])
        raise ToolFault("split_leak", f"{len(messages)} questions may not be asked {where}: {shown}{more}", hint=hint)


def _leak(item: PlannedQuestion, by: Literal["video", "template", "example"], split: SplitName, why: str) -> Leak:
    message = f"{item.question[:60]!r} of {item.video_id}: {why}"
    return Leak(question=item, by=by, belongs_to=split, message=message)


def _seen_leaks(item: PlannedQuestion, seen: Seen, split: SplitName, *, shown: bool) -> Iterator[Leak]:
    """Yield leaks through an induction. ``shown``: the induction was for the domain of the question, so template ids are compared."""
    if item.video_id in seen.videos and split != "admission":
        yield _leak(item, "video", "admission", "the tools of the library were tried on this video")
    if split != "induction" and normal(item.question) in seen.questions:
        yield _leak(item, "example", "induction", "it is a worked example")
    elif split != "induction" and shown and item.template in seen.templates:
        why = f"the template {item.template} was shown when the library was induced"
        yield _leak(item, "template", "induction", why)


def _template_of(item: PlannedQuestion, domain: Domain, split: SplitName) -> Template | None:
    """Return the template that a question names, else the first that its words fit (those of ``split`` first), or None.

    A named template of ``split`` does not count if the words fit only templates of other splits.

    Raises:
        ToolFault: ``no_such_template``.
    """
    templates = {template.id: template for template in _all(domain)}
    claimed = templates.get(item.template)
    if item.template and claimed is None:
        raise ToolFault(
            "no_such_template",
            f"{domain.name} has no template {item.template[:80]!r}",
            hint=did_you_mean(item.template, templates) or "leave the template out, and the words decide",
        )
    if claimed is not None and claimed.split != split:
        return claimed
    fitting = [template for template in templates.values() if _fits(template, item.question)]
    own = [template for template in fitting if template.split == split]
    return claimed if claimed is not None and (own or not fitting) else next(iter(own or fitting), None)


def _fits(template: Template, question: str) -> bool:
    words = normal(question)
    return any(_pattern(wording).fullmatch(words) for wording in template.wordings)


@functools.lru_cache(maxsize=4096)
def _pattern(wording: str) -> re.Pattern[str]:
    return re.compile(".+?".join(re.escape(part) for part in normal(wording).split(_SLOT)))


def _all(domain: Domain) -> tuple[Template, ...]:
    return tuple(item for kind in domain.question_types for item in kind.templates)


def check_domain(domain: Domain, lines: dict[str, int]) -> None:
    """Check that the splits of a domain do not overlap and that its examples come from the induction split.

    ``lines`` maps the id of each template, and the name of each split with videos, to the line in the file.

    Raises:
        ToolFault: ``split_overlap``, ``example_outside_induction``, ``entity_overlap``.
    """
    overlaps = [*_template_overlaps(domain, lines), *_video_overlaps(domain, lines)]
    if overlaps:
        raise ToolFault(
            "split_overlap",
            f"{domain.name}: " + "; ".join(overlaps[:_MAX_SHOWN]),
            hint="a video and a question template belong to one split only; take it out of the others",
        )
    shared = {normal(item) for item in domain.entities.examples} & {normal(item) for item in domain.entities.others}
    if shared:
        names = [item for item in domain.entities.others if normal(item) in shared]
        raise ToolFault(
            "entity_overlap",
            f"{domain.name}: {', '.join(names[:_MAX_SHOWN])}: they are in the examples and in the others",
            hint="tools are tried on entities that no example mentions",
        )
    for number, example in enumerate(domain.examples):
        owner = domain.split_of_video(example.video) if example.video else "induction"
        if owner != "induction":
            raise ToolFault(
                "example_outside_induction",
                f"{domain.name}: examples[{number}] is of the video {example.video!r}, "
                + (f"which belongs to {owner}" if owner else "which no split names"),
                hint="worked examples come from videos of the induction split",
            )
        if not example.template:
            raise ToolFault(
                "example_outside_induction",
                f"{domain.name}: examples[{number}] ({example.question[:60]!r}) fits no induction template of {example.type}",
                hint="word the example after one of its type's induction templates, or add one",
            )


def example_template(kind_templates: Iterable[Template], question: str) -> str:
    """Return the id of the first induction template in ``kind_templates`` that a question fits, or an empty string."""
    fitting = (item.id for item in kind_templates if item.split == "induction" and _fits(item, question))
    return next(fitting, "")


def _template_overlaps(domain: Domain, lines: dict[str, int]) -> Iterator[str]:
    first: dict[str, Template] = {}
    for item in _all(domain):
        for wording in item.wordings:
            known = first.setdefault(normal(wording), item)
            if known.split != item.split:
                yield (
                    f"line {lines[item.id]}: {wording[:60]!r} is a template of {item.split} and, "
                    f"on line {lines[known.id]}, of {known.split}"
                )


def _video_overlaps(domain: Domain, lines: dict[str, int]) -> Iterator[str]:
    for one, other in combinations(domain.splits, 2):
        for left in one.videos:
            for right in other.videos:
                if overlap(left, right):
                    yield (
                        f"line {lines[other.name]}: the videos {right!r} of {other.name} and {left!r} of {one.name} "
                        f"(line {lines[one.name]}) overlap"
                    )

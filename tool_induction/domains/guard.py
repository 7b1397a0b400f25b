"""The split guard: induction, admission, development and test share no video and no question template.

Two templates are the same question when they read alike once case, spacing, punctuation and the names of placeholders are
left aside; the words around the placeholders count.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from tool_induction.domains.domain import Domain, SplitName, Template, overlap
from tool_induction.language.diagnostics import closest
from world_api.core.faults import ToolFault

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SLOT = "\x00"
_TOLD = 5


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question that somebody means to ask: of which video, in which words, and, where it is known, by which template."""

    video_id: str
    question: str
    template: str = ""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a library's induction saw, whatever a domain's splits say: questions, templates and the worlds its tools were tried on."""

    domain: str = ""
    questions: frozenset[str] = frozenset()  #: worked examples that were shown, as ``normal`` writes them
    templates: frozenset[str] = frozenset()  #: ids of the templates that were shown
    videos: frozenset[str] = frozenset()  #: ids of the example worlds

    @classmethod
    def by(cls, manifest: Mapping[str, Any]) -> Seen:
        """What the manifest of a library says of it; nothing, of a library that no model was asked for."""
        told = manifest.get("induction")
        told = told if isinstance(told, Mapping) else {}
        return cls(
            domain=str(manifest.get("domain", "")),
            questions=frozenset(normal(str(item)) for item in told.get("examples_used", ())),
            templates=frozenset(str(item) for item in told.get("templates_used", ())),
            videos=frozenset(str(item) for item in told.get("example_worlds", ())),
        )


@dataclass(frozen=True, kw_only=True)
class Leak:
    """A question that may not be asked in a split, and why."""

    asked: Asked
    by: Literal["video", "template", "example"]
    belongs_to: SplitName
    message: str


def normal(text: str) -> str:
    """A wording with placeholders alike and without case, punctuation and spacing."""
    slotted = PLACEHOLDER.sub(_SLOT, unicodedata.normalize("NFKC", text).casefold())
    return "".join(item for item in slotted if item.isalnum() or item == _SLOT)


def leaks(
    domain: Domain, split: SplitName, asked: Iterable[Asked], *, library: Mapping[str, Any] | None = None
) -> list[Leak]:
    """The questions that may not be asked in a split, because their video or their template belongs to another.

    A question that fits a template of the split itself is of that template. A video that no split names, and a question
    that fits no template, are no leaks: they were seen by nobody. The words are looked at also where a template is
    claimed. With the manifest of the ``library`` that is to be measured, what its induction saw is a leak as well: the
    worlds its tools were tried on, and the examples and templates it was shown, also where the domain has changed since.

    Raises:
        ToolFault: ``no_such_template``, where a question claims a template that the domain does not have.
    """
    seen = Seen() if library is None else Seen.by(library)
    guard = _Guard(domain, split, seen)
    return [leak for item in asked for leak in guard.leaks_of(item)]


def refuse_leaks(
    domain: Domain, split: SplitName, asked: Iterable[Asked], *, library: Mapping[str, Any] | None = None
) -> None:
    """Refuse a set of questions of which some may not be asked in a split.

    Raises:
        ToolFault: ``split_leak``, naming the first of them; ``no_such_template``.
    """
    found = leaks(domain, split, asked, library=library)
    if found:
        told = "; ".join(item.message for item in found[:_TOLD])
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        raise ToolFault(
            "split_leak",
            f"{len(found)} questions may not be asked in the {split} split of {domain.name}: {told}{more}",
            hint="leave them out; what an induction has seen cannot measure it",
        )


def refuse_seen(asked: Iterable[Asked], *, split: SplitName, library: Mapping[str, Any], domain: str | None) -> None:
    """Refuse questions that a library's induction saw, of whatever domain they are: also of none, or of one nobody describes.

    Raises:
        ToolFault: ``split_leak``, naming the first of them.
    """
    seen = Seen.by(library)
    found = []
    for item in asked:
        if item.video_id in seen.videos and split != "admission":
            found.append(
                f"{item.question[:60]!r} of {item.video_id}: the tools of the library were tried on this video"
            )
        elif split != "induction" and normal(item.question) in seen.questions:
            found.append(f"{item.question[:60]!r} of {item.video_id}: it is a worked example")
        elif split != "induction" and item.template in seen.templates and domain == seen.domain:
            found.append(
                f"{item.question[:60]!r} of {item.video_id}: its template was shown when the library was induced"
            )
    if found:
        told = "; ".join(found[:_TOLD])
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        raise ToolFault(
            "split_leak",
            f"{len(found)} questions may not be asked with the library: {told}{more}",
            hint="leave them out, or ask them without that library; what an induction has seen cannot measure it",
        )


class _Guard:
    """Looks at questions one by one."""

    def __init__(self, domain: Domain, split: SplitName, seen: Seen) -> None:
        self._domain = domain
        self._split = split
        self._seen = seen
        self._patterns = [(item, _pattern(wording)) for item in _all(domain) for wording in item.wordings]
        self._templates = {item.id: item for item in _all(domain)}
        self._examples = {normal(item.question) for item in domain.examples} | seen.questions
        self._shown = seen.templates if seen.domain == domain.name else frozenset()

    def leaks_of(self, item: Asked) -> Iterator[Leak]:
        shown = f"{item.question[:60]!r} of {item.video_id}"
        owner = self._domain.split_of_video(item.video_id)
        if owner is not None and owner != self._split:
            yield Leak(asked=item, by="video", belongs_to=owner, message=f"{shown}: the video belongs to {owner}")
        elif item.video_id in self._seen.videos and self._split != "admission":
            message = f"{shown}: the tools of the library were tried on this video"
            yield Leak(asked=item, by="video", belongs_to="admission", message=message)
        if self._split != "induction" and normal(item.question) in self._examples:
            message = f"{shown}: it is a worked example"
            yield Leak(asked=item, by="example", belongs_to="induction", message=message)
            return
        template = self._template_of(item)
        if template is not None and template.split != self._split:
            message = f"{shown}: the template {template.id} belongs to {template.split}"
            yield Leak(asked=item, by="template", belongs_to=template.split, message=message)
        elif template is not None and template.id in self._shown and self._split != "induction":
            message = f"{shown}: the template {template.id} was shown when the library was induced"
            yield Leak(asked=item, by="template", belongs_to="induction", message=message)

    def _template_of(self, item: Asked) -> Template | None:
        """The template of a question: the claimed one, unless that or the words are of another split."""
        claimed = None
        if item.template:
            claimed = self._templates.get(item.template)
            if claimed is None:
                near = closest(item.template, list(self._templates))
                raise ToolFault(
                    "no_such_template",
                    f"{self._domain.name} has no template {item.template[:80]!r}",
                    hint=f"did you mean {near!r}?" if near else "leave the template out, and the words decide",
                )
            if claimed.split != self._split:
                return claimed
        fitting = [template for template, pattern in self._patterns if pattern.fullmatch(normal(item.question))]
        own = [template for template in fitting if template.split == self._split]
        return claimed if claimed is not None and (own or not fitting) else next(iter(own or fitting), None)


@functools.lru_cache(maxsize=4096)
def _pattern(wording: str) -> re.Pattern[str]:
    return re.compile(".+?".join(re.escape(part) for part in normal(wording).split(_SLOT)))


def _all(domain: Domain) -> tuple[Template, ...]:
    return tuple(item for kind in domain.question_types for item in kind.templates)


def check_domain(domain: Domain, lines: dict[str, int]) -> None:
    """Refuse a domain whose splits overlap, or whose examples come from outside induction.

    ``lines`` gives the line of each template, by id, and of each split's videos, by its name.

    Raises:
        ToolFault: ``split_overlap``, ``example_outside_induction``, ``entity_overlap``.
    """
    overlaps = [*_template_overlaps(domain, lines), *_video_overlaps(domain, lines)]
    if overlaps:
        raise ToolFault(
            "split_overlap",
            f"{domain.name}: " + "; ".join(overlaps[:_TOLD]),
            hint="a video and a question template belong to one split only; take it out of the others",
        )
    shared = {normal(item) for item in domain.entities.examples} & {normal(item) for item in domain.entities.others}
    if shared:
        names = [item for item in domain.entities.others if normal(item) in shared]
        raise ToolFault(
            "entity_overlap",
            f"{domain.name}: {', '.join(names[:_TOLD])}: both of the examples and among the others",
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
    """The id of the induction template that an example's question follows; empty where there is none."""
    for template in kind_templates:
        if template.split == "induction" and any(
            _pattern(wording).fullmatch(normal(question)) for wording in template.wordings
        ):
            return template.id
    return ""


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

"""The split guard: induction, admission, development and test share no video and no question template.

Two templates are the same question when they read alike once case, spacing, punctuation and the names of placeholders are
left aside; the words around the placeholders count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from tool_induction.domains.domain import Domain, SplitName, Template, overlap
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


def leaks(domain: Domain, split: SplitName, asked: Iterable[Asked]) -> list[Leak]:
    """The questions that may not be asked in a split, because their video or their template belongs to another.

    A question that fits a template of the split itself is of that template. A video that no split names, and a question
    that fits no template, are no leaks: they were seen by nobody.
    """
    found: list[Leak] = []
    patterns = [(item, _pattern(wording)) for item in _all(domain) for wording in item.wordings]
    examples = {normal(item.question) for item in domain.examples}
    for item in asked:
        found.extend(_leaks_of(item, domain, split, patterns, examples))
    return found


def refuse_leaks(domain: Domain, split: SplitName, asked: Iterable[Asked]) -> None:
    """Refuse a set of questions of which some may not be asked in a split.

    Raises:
        ToolFault: ``split_leak``, naming the first of them.
    """
    found = leaks(domain, split, asked)
    if found:
        told = "; ".join(item.message for item in found[:_TOLD])
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        raise ToolFault(
            "split_leak",
            f"{len(found)} questions may not be asked in the {split} split of {domain.name}: {told}{more}",
            hint="leave them out; what an induction has seen cannot measure it",
        )


def _leaks_of(
    item: Asked, domain: Domain, split: SplitName, patterns: list[tuple[Template, re.Pattern[str]]], examples: set[str]
) -> Iterator[Leak]:
    shown = f"{item.question[:60]!r} of {item.video_id}"
    owner = domain.split_of_video(item.video_id)
    if owner is not None and owner != split:
        yield Leak(asked=item, by="video", belongs_to=owner, message=f"{shown}: the video belongs to {owner}")
    if split != "induction" and normal(item.question) in examples:
        yield Leak(asked=item, by="example", belongs_to="induction", message=f"{shown}: it is a worked example")
        return
    template = _template_of(item, split, patterns)
    if template is not None and template.split != split:
        yield Leak(
            asked=item,
            by="template",
            belongs_to=template.split,
            message=f"{shown}: the template {template.id} belongs to {template.split}",
        )


def _template_of(item: Asked, split: SplitName, patterns: list[tuple[Template, re.Pattern[str]]]) -> Template | None:
    if item.template:
        return next((template for template, _ in patterns if template.id == item.template), None)
    fitting = [template for template, pattern in patterns if pattern.fullmatch(normal(item.question))]
    own = [template for template in fitting if template.split == split]
    return next(iter(own or fitting), None)


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

"""Loading a domain: a packaged one by name, or somebody's own file."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from tool_induction.domains.document import DomainDocument, QuestionTypePart, read_document
from tool_induction.domains.domain import (
    SPLITS,
    Domain,
    Entities,
    QuestionType,
    Split,
    Template,
    ToolKind,
    WorkedExample,
)
from tool_induction.domains.guard import PLACEHOLDER, check_domain, example_template
from tool_induction.domains.yaml_text import MAX_BYTES, YamlText, read_yaml
from tool_induction.language.diagnostics import closest
from world_api.core.faults import ToolFault
from world_api.core.files import open_regular

_SUFFIX = ".yaml"


def packaged_domains() -> list[str]:
    """The names of the domains that are installed with the product."""
    return sorted(
        entry.name.removesuffix(_SUFFIX)
        for entry in (files("toollibs") / "domains").iterdir()
        if entry.name.endswith(_SUFFIX)
    )


def load_domain(named: str | Path) -> Domain:
    """Load a domain by path, or by the name of a packaged one, and check its splits.

    Raises:
        ToolFault: ``no_such_domain``, ``unreadable_domain``, ``bad_yaml``, ``bad_domain``, ``other_schema_version``,
            ``split_overlap``, ``entity_overlap``, ``example_outside_induction``.
    """
    source = _find(named)
    try:
        with open_regular(source) if isinstance(source, Path) else source.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ToolFault("unreadable_domain", f"{source.name} cannot be read: {error.strerror}") from None
    text = read_yaml(content, source.name)
    return _domain(read_document(text, source.name), text, hashlib.sha256(content).hexdigest(), source.name)


def _find(named: str | Path) -> Traversable:
    path = Path(named)
    try:
        if str(named).strip() and path.exists() and not path.is_dir():
            return path
    except OSError:  # a name no file system takes
        pass
    name = str(named).removesuffix(_SUFFIX)
    packaged = packaged_domains()
    if name in packaged:
        return files("toollibs") / "domains" / f"{name}{_SUFFIX}"
    near = closest(name, packaged)
    raise ToolFault(
        "no_such_domain",
        f"there is no domain or file {str(named)[:200]!r}",
        hint=f"did you mean {near!r}?" if near else "give a YAML file, or one of: " + ", ".join(packaged),
    )


def _domain(document: DomainDocument, text: YamlText, digest: str, name: str) -> Domain:
    lines: dict[str, int] = {split: text.line(("videos", split)) for split in SPLITS}
    kinds = tuple(_question_type(item, place, text, lines) for place, item in enumerate(document.question_types))
    _check_ids(document, text, name)
    by_id = {item.id: item for item in kinds}
    _check_examples(document, by_id, text, name)
    domain = Domain(
        name=document.name,
        title=document.title,
        description=_folded(document.description),
        question_types=kinds,
        examples=tuple(
            WorkedExample(
                type=item.type,
                template=example_template(by_id[item.type].templates, item.question),
                question=item.question,
                answer=item.answer,
                found_by=_folded(item.found_by),
                video=item.video,
            )
            for item in document.examples
        ),
        entities=Entities(examples=tuple(document.entities.examples), others=tuple(document.entities.others)),
        tool_kinds=tuple(ToolKind(id=item.id, about=item.about) for item in document.tool_kinds),
        splits=tuple(Split(name=split, videos=tuple(document.videos.get(split, ()))) for split in SPLITS),
        hash=digest,
    )
    check_domain(domain, lines)
    return domain


def _question_type(item: QuestionTypePart, place: int, text: YamlText, lines: dict[str, int]) -> QuestionType:
    templates: list[Template] = []
    for split in SPLITS:
        for number, part in enumerate(item.templates.get(split, ())):
            template = Template(id=f"{item.id}/{split}/{number}", split=split, en=part.en, zh=part.zh)
            templates.append(template)
            lines[template.id] = text.line(("question_types", place, "templates", split, number))
    return QuestionType(id=item.id, about=item.about, answer=item.answer, templates=tuple(templates))


def _check_ids(document: DomainDocument, text: YamlText, name: str) -> None:
    """No two question types and no two kinds of tools of one name; a template in two languages has the same slots."""
    for key, ids in (
        ("question_types", [item.id for item in document.question_types]),
        ("tool_kinds", [item.id for item in document.tool_kinds]),
    ):
        for place, known in enumerate(ids):
            if known in ids[:place]:
                raise ToolFault(
                    "bad_domain", f"{name}, line {text.line((key, place))}: {known!r} stands twice", hint="rename one"
                )
    for place, kind in enumerate(document.question_types):
        for split, templates in kind.templates.items():
            for number, part in enumerate(templates):
                here = set(PLACEHOLDER.findall(part.en))
                if part.zh and here != set(PLACEHOLDER.findall(part.zh)):
                    line = text.line(("question_types", place, "templates", split, number))
                    raise ToolFault(
                        "bad_domain",
                        f"{name}, line {line}: the two wordings have different placeholders",
                        hint="both need: " + (", ".join(f"{{{item}}}" for item in sorted(here)) or "none"),
                    )


def _check_examples(document: DomainDocument, kinds: dict[str, QuestionType], text: YamlText, name: str) -> None:
    for place, item in enumerate(document.examples):
        if item.type not in kinds:
            near = closest(item.type, kinds)
            raise ToolFault(
                "bad_domain",
                f"{name}, line {text.line(('examples', place, 'type'))}: there is no question type {item.type!r}",
                hint=f"did you mean {near!r}?" if near else "one of: " + ", ".join(kinds),
            )


def _folded(text: str) -> str:
    """Text of a YAML block as one paragraph a blank line apart."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))

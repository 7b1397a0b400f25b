"""Domain files: found by packaged name or path, checked with the line of each fault, and turned into a ``Domain``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tool_induction.domains.domain import (
    SPLITS,
    AnswerType,
    Domain,
    Entities,
    QuestionType,
    Split,
    SplitName,
    Template,
    ToolKind,
    WorkedExample,
)
from tool_induction.domains.guard import PLACEHOLDER, check_domain, example_template
from tool_induction.domains.yaml_text import MAX_BYTES, YamlText, read_yaml
from tool_induction.language.diagnostics import closest, did_you_mean
from world_api.core.faults import ToolFault
from world_api.core.files import open_regular

_SUFFIX = ".yaml"


def packaged_domains() -> list[str]:
    """Return the names of the domains that are installed with the product."""
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
    except OSError:  # a name that no file system accepts
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
    """Refuse repeated ids, and templates whose two wordings have different placeholders."""
    for key, ids in (
        ("question_types", [item.id for item in document.question_types]),
        ("tool_kinds", [item.id for item in document.tool_kinds]),
    ):
        for place, known in enumerate(ids):
            if known in ids[:place]:
                raise ToolFault(
                    "bad_domain", f"{name}, line {text.line((key, place))}: {known!r} is there twice", hint="rename one"
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
    """Return the text of a YAML block with one line for each paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


SCHEMA_VERSION = 1
_Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")]
_Line = Annotated[str, Field(min_length=1, max_length=500)]
_Text = Annotated[str, Field(min_length=1, max_length=4000)]
_Pattern = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}\*?$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TemplatePart(_Part):
    """One wording, or the same in two languages."""

    en: _Line
    zh: str = Field(default="", max_length=500)


class QuestionTypePart(_Part):
    """A type of question and its templates by split."""

    id: _Id
    about: _Line
    answer: AnswerType
    templates: dict[SplitName, list[TemplatePart]] = Field(min_length=1)


class ExamplePart(_Part):
    """A worked example."""

    type: _Id
    question: _Line
    answer: _Line
    found_by: _Text
    video: str = Field(default="", max_length=64)


class EntitiesPart(_Part):
    """Entities of the examples, and others."""

    examples: list[_Line] = Field(max_length=100)
    others: list[_Line] = Field(min_length=2, max_length=100)


class ToolKindPart(_Part):
    """A kind of tool that is asked for."""

    id: _Id
    about: _Line


class DomainDocument(_Part):
    """A whole domain file."""

    schema_version: int
    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")
    title: _Line
    description: _Text
    question_types: list[QuestionTypePart] = Field(min_length=1, max_length=40)
    examples: list[ExamplePart] = Field(min_length=1, max_length=40)
    entities: EntitiesPart
    tool_kinds: list[ToolKindPart] = Field(min_length=1, max_length=30)
    videos: dict[SplitName, list[_Pattern]]


_MAX_FAULTS = 8


def read_document(text: YamlText, name: str) -> DomainDocument:
    """Check the shape of a domain document.

    Raises:
        ToolFault: ``bad_domain``, naming up to eight faults with their lines; ``other_schema_version``.
    """
    if not isinstance(text.value, dict):
        raise ToolFault("bad_domain", f"{name}: it is not a mapping of keys", hint="begin with a packaged domain")
    version = text.value.get("schema_version")
    if isinstance(version, int) and version != SCHEMA_VERSION:
        raise ToolFault(
            "other_schema_version",
            f"{name}, line {text.line(('schema_version',))}: schema version {version}; this program reads {SCHEMA_VERSION}",
            hint="write the domain in the form that docs/induction.md shows",
        )
    try:
        return DomainDocument.model_validate(text.value)
    except ValidationError as error:
        faults = sorted(error.errors(), key=lambda item: text.line(_place(item)))
        lines = [f"line {text.line(_place(item))}: {_explained(item)}" for item in faults[:_MAX_FAULTS]]
        more = f"; and {len(faults) - _MAX_FAULTS} more" if len(faults) > _MAX_FAULTS else ""
        raise ToolFault(
            "bad_domain", f"{name}: " + "; ".join(lines) + more, hint="docs/induction.md says what a domain file holds"
        ) from None


def _place(error: Mapping[str, Any]) -> tuple[str | int, ...]:
    return tuple(part for part in error["loc"] if part != "[key]")


def _explained(error: Mapping[str, Any]) -> str:
    place = _place(error)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    known = _known(place)
    if error["type"] == "missing":
        return f"{path} is missing"
    if error["type"] == "extra_forbidden" or "[key]" in error["loc"]:
        hint = did_you_mean(str(place[-1]), known) or f"the keys are {', '.join(known)}"
        quote = "; quote a text that holds a comma" if " " in str(place[-1]) else ""
        return f"{path} is not a key here; {hint}{quote}"
    if error["type"] == "literal_error":
        hint = did_you_mean(str(error["input"]), known := get_args(AnswerType))
        return f"{path}: {str(error['input'])[:40]!r} is not a type of answer; " + (
            hint or "one of " + ", ".join(known)
        )
    if error["type"] == "string_pattern_mismatch":
        return f"{path}: {str(error['input'])[:60]!r} is not a name; use letters, digits and _"
    return f"{path}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _known(place: tuple[str | int, ...]) -> tuple[str, ...]:
    """Return the keys that are allowed at the place."""
    if (place and place[0] == "videos") or ("templates" in place and len(place) == 4):
        return get_args(SplitName)
    parts: dict[str | int, type[_Part]] = {
        "question_types": TemplatePart if "templates" in place else QuestionTypePart,
        "examples": ExamplePart,
        "entities": EntitiesPart,
        "tool_kinds": ToolKindPart,
    }
    model = parts.get(place[0], DomainDocument) if len(place) > 1 else DomainDocument
    return tuple(model.model_fields)

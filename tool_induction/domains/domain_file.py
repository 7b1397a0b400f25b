"""Domain files: found by packaged name or path, checked with the line of each fault, and turned into a ``Domain``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import Field, TypeAdapter, ValidationError

from tool_induction.domains import domain as stored
from tool_induction.domains.domain import PLACEHOLDER, check_domain, example_template
from world_api.core.faults import ToolFault
from world_api.core.files import hash_bytes, open_regular
from world_api.core.identifiers import suggestion
from world_api.core.yaml_text import MAX_BYTES, Place, YamlText, read_yaml

SCHEMA_VERSION = 1
_SUFFIX = ".yaml"
_MAX_FAULTS = 8
_Pattern = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}\*?$")]


@dataclass(frozen=True, kw_only=True)
class _QuestionTypeInFile(stored.Part):
    id: stored.Identifier
    about: stored.Line
    answer: stored.AnswerType
    templates: Annotated[dict[stored.SplitName, tuple[stored.Wording, ...]], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class _DomainInFile(stored.Part):
    schema_version: int
    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")]
    title: stored.Line
    description: stored.LongText
    question_types: Annotated[tuple[_QuestionTypeInFile, ...], Field(min_length=1, max_length=40)]
    examples: Annotated[tuple[stored.Example, ...], Field(min_length=1, max_length=40)]
    entities: stored.Entities
    tool_kinds: Annotated[tuple[stored.ToolKind, ...], Field(min_length=1, max_length=30)]
    videos: dict[stored.SplitName, tuple[_Pattern, ...]]


def packaged_domains() -> list[str]:
    """Return the names of the domains that are installed with the product."""
    names = (entry.name for entry in (files("toollibs") / "domains").iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def load_domain(named: str | Path) -> stored.Domain:
    """Load a domain by path, or by the name of a packaged one; check its structure and its splits.

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
    text = read_yaml(content, source.name, if_empty="begin with one of the packaged domains")
    document = _checked(text, source.name)
    domain = _domain(document, hash_bytes(content))
    lines: dict[str, int] = {split: text.line(("videos", split)) for split in stored.SPLITS}
    for place, kind in enumerate(domain.question_types):
        for item in kind.templates:
            number = int(item.id.rpartition("/")[2])
            lines[item.id] = text.line(("question_types", place, "templates", item.split, number))
    check_domain(domain, lines)
    return domain


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
    raise ToolFault(
        "no_such_domain",
        f"there is no domain or file {str(named)[:200]!r}",
        hint=suggestion(name, packaged, "give a YAML file, or one of: "),
    )


def _domain(document: _DomainInFile, digest: str) -> stored.Domain:
    kinds = {
        item.id: stored.QuestionType(
            id=item.id,
            about=item.about,
            answer=item.answer,
            templates=tuple(
                stored.Template(id=f"{item.id}/{split}/{number}", split=split, en=part.en, zh=part.zh)
                for split in stored.SPLITS
                for number, part in enumerate(item.templates.get(split, ()))
            ),
        )
        for item in document.question_types
    }
    examples = (
        asdict(item)
        | {"template": example_template(kinds[item.type].templates, item.question), "found_by": _folded(item.found_by)}
        for item in document.examples
    )
    return stored.Domain(
        name=document.name,
        title=document.title,
        description=_folded(document.description),
        question_types=tuple(kinds.values()),
        examples=tuple(stored.WorkedExample(**item) for item in examples),
        entities=document.entities,
        tool_kinds=document.tool_kinds,
        splits=tuple(stored.Split(name=split, videos=document.videos.get(split, ())) for split in stored.SPLITS),
        hash=digest,
    )


def _folded(text: str) -> str:
    """Return the text of a YAML block with one line for each paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _checked(text: YamlText, name: str) -> _DomainInFile:
    """Return the document after checks of its structure, its ids and its references.

    Raises:
        ToolFault: ``bad_domain``, ``other_schema_version``.
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
        document = TypeAdapter(_DomainInFile).validate_json(json.dumps(text.value), strict=True)
    except ValidationError as error:
        faults = sorted(error.errors(), key=lambda item: text.line(_place(item)))
        lines = [f"line {text.line(_place(item))}: {_explained(item)}" for item in faults[:_MAX_FAULTS]]
        more = f"; and {len(faults) - _MAX_FAULTS} more" if len(faults) > _MAX_FAULTS else ""
        raise ToolFault(
            "bad_domain", f"{name}: " + "; ".join(lines) + more, hint="docs/induction.md says what a domain file holds"
        ) from None
    for place, what, hint in _faults(document):
        raise ToolFault("bad_domain", f"{name}, line {text.line(place)}: {what}", hint=hint)
    return document


def _faults(document: _DomainInFile) -> Iterator[tuple[Place, str, str]]:
    """Yield (place, message, hint) for repeated ids, unequal placeholders of wordings, and unknown question types."""
    known = [kind.id for kind in document.question_types]
    for key, ids in (("question_types", known), ("tool_kinds", [kind.id for kind in document.tool_kinds])):
        for number, name in enumerate(ids):
            if name in ids[:number]:
                yield (key, number), f"{name!r} is there twice", "rename one"
    for number, kind in enumerate(document.question_types):
        for split, wordings in kind.templates.items():
            for index, item in enumerate(wordings):
                names = set(PLACEHOLDER.findall(item.en))
                if item.zh and names != set(PLACEHOLDER.findall(item.zh)):
                    hint = "both need: " + (", ".join(f"{{{name}}}" for name in sorted(names)) or "none")
                    place = ("question_types", number, "templates", split, index)
                    yield place, "the two wordings have different placeholders", hint
    for number, example in enumerate(document.examples):
        if example.type not in known:
            hint = suggestion(example.type, known)
            yield ("examples", number, "type"), f"there is no question type {example.type!r}", hint


def _place(error: Mapping[str, Any]) -> Place:
    return tuple(part for part in error["loc"] if part != "[key]")


def _explained(error: Mapping[str, Any]) -> str:
    place = _place(error)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    if error["type"] == "missing":
        return f"{path} is missing"
    if error["type"] == "unexpected_keyword_argument" or "[key]" in error["loc"]:
        known = _known(place)
        hint = suggestion(str(place[-1]), known, "the keys are ")
        quote = "; quote a text that holds a comma" if " " in str(place[-1]) else ""
        return f"{path} is not a key here; {hint}{quote}"
    given = str(error["input"])
    if error["type"] == "literal_error":
        hint = suggestion(given, get_args(stored.AnswerType))
        return f"{path}: {given[:40]!r} is not a type of answer; {hint}"
    if error["type"] == "string_pattern_mismatch":
        return f"{path}: {given[:60]!r} is not a name; use letters, digits and _"
    return f"{path}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _known(place: Place) -> tuple[str, ...]:
    """Return the keys that are allowed in the record in which the key at ``place`` (keys and indexes) stands."""
    if place[0] == "videos" or ("templates" in place and len(place) == 4):
        return stored.SPLITS
    parts: dict[str | int, type[Any]] = {
        "question_types": stored.Wording if "templates" in place else _QuestionTypeInFile,
        "examples": stored.Example,
        "entities": stored.Entities,
        "tool_kinds": stored.ToolKind,
    }
    model = parts.get(place[0], _DomainInFile) if len(place) > 1 else _DomainInFile
    return tuple(item.name for item in fields(model))

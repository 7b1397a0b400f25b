"""A domain file's shape, checked by pydantic; everything wrong with it is said at once, with lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tool_induction.domains.domain import AnswerType, SplitName
from tool_induction.domains.yaml_text import YamlText
from tool_induction.language.diagnostics import did_you_mean
from world_api.core.faults import ToolFault

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
    """A kind of tool that is wanted."""

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


_MOST_TOLD = 8


def read_document(text: YamlText, name: str) -> DomainDocument:
    """The document, if it has the shape of one.

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
        told = [f"line {text.line(_place(item))}: {_explained(item, text.value)}" for item in faults[:_MOST_TOLD]]
        more = f"; and {len(faults) - _MOST_TOLD} more" if len(faults) > _MOST_TOLD else ""
        raise ToolFault(
            "bad_domain", f"{name}: " + "; ".join(told) + more, hint="docs/induction.md says what a domain file holds"
        ) from None


def _place(error: Mapping[str, Any]) -> tuple[str | int, ...]:
    return tuple(part for part in error["loc"] if part != "[key]")


def _explained(error: Mapping[str, Any], value: Any) -> str:
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
    """The keys that may stand where a place's last part stands."""
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

"""Reading a configuration: the file, what was set beside it, and what is wrong with both, with lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from eval.runs.configuration.document import SCHEMA_VERSION, ConfigurationDocument
from tool_induction.domains.yaml_text import MAX_BYTES, Place, YamlText, read_yaml
from tool_induction.language.diagnostics import did_you_mean
from world_api.core.canonical import parse_json
from world_api.core.faults import EvalFault, ToolFault
from world_api.world.files import open_regular

_MOST_TOLD = 8
_HINT = "docs/runs.md says what a configuration holds; `videoworld eval run --example` prints one"


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A configuration that was read. ``folder`` is what its relative paths are relative to."""

    document: ConfigurationDocument
    content: bytes  #: the file as it was given
    overrides: tuple[str, ...]  #: what was set beside it, KEY=VALUE
    folder: Path
    text: YamlText
    name: str
    places: Mapping[Place, str] = field(default_factory=dict)  #: of what was set beside the file, as it was given

    def path(self, value: str) -> Path:
        """A path as the file means it.

        Raises:
            EvalFault: ``bad_configuration``: it begins with the home of somebody who has none here.
        """
        try:
            return self.folder / Path(value).expanduser()
        except RuntimeError:
            what = f"{self.name}: there is no home folder for {value[:80]!r}"
            raise EvalFault("bad_configuration", what, hint="write the whole path") from None

    def where(self, *place: str | int) -> str:
        """Where a part stands, for people: in the file, or beside it."""
        given = _given(place, self.places)
        return f"{self.name}, line {self.text.line(place)}" if given is None else f"--set {given[:80]}"

    def bad(self, place: Place, what: str, *, hint: str = _HINT) -> EvalFault:
        """A fault of one part."""
        return EvalFault("bad_configuration", f"{self.where(*place)}: {what}", hint=hint)


def read_configuration(path: Path, *, overrides: Sequence[str] = (), folder: Path | None = None) -> Configuration:
    """Read a configuration, with ``KEY=VALUE`` overrides; keys inside others are written with dots.

    ``folder`` is what relative paths are relative to; by default that of the file.

    Raises:
        EvalFault: ``configuration_missing``, ``bad_configuration`` (naming up to eight faults with their lines),
            ``other_schema_version``, ``bad_override``.
    """
    content = _content(path)
    try:
        text = read_yaml(content, path.name)
    except ToolFault as fault:
        raise EvalFault("bad_configuration", fault.message, hint=_HINT) from None
    if not isinstance(text.value, dict):
        raise EvalFault("bad_configuration", f"{path.name}: it is not a mapping of keys", hint=_HINT)
    overridden = _Overrides(text)
    for pair in overrides:
        overridden.take(pair)
    document = _document(text, path.name, overridden)
    return Configuration(
        document=document,
        content=content,
        overrides=tuple(overrides),
        folder=(folder or path.parent).resolve(),
        text=text,
        name=path.name,
        places=overridden.places,
    )


def _content(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise EvalFault(
            "configuration_missing",
            f"cannot read {str(path)[:200]}: {error.strerror}",
            hint="give a YAML file, or the folder of a run",
        ) from None


def _document(text: YamlText, name: str, overridden: _Overrides) -> ConfigurationDocument:
    version = text.value.get("schema_version")
    if isinstance(version, int) and version != SCHEMA_VERSION:
        raise EvalFault(
            "other_schema_version",
            f"{name}, line {text.line(('schema_version',))}: schema version {version}; this program reads {SCHEMA_VERSION}",
            hint="docs/runs.md shows the form that this version reads",
        )
    try:
        return ConfigurationDocument.model_validate(text.value)
    except ValidationError as error:
        faults = sorted(error.errors(), key=lambda item: text.line(_place(item)))
    told = [f"{overridden.where(_place(item))}: {_explained(item)}" for item in faults[:_MOST_TOLD]]
    more = f"; and {len(faults) - _MOST_TOLD} more" if len(faults) > _MOST_TOLD else ""
    raise EvalFault("bad_configuration", f"{name}: " + "; ".join(told) + more, hint=_HINT)


@dataclass
class _Overrides:
    """What was set on the command line, put into the document; it has no lines of its own."""

    text: YamlText
    places: dict[Place, str] = field(default_factory=dict)

    def take(self, pair: str) -> None:
        """Put one in.

        Raises:
            EvalFault: ``bad_override``.
        """
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise _bad_override(f"{pair[:80]!r} is not KEY=VALUE")
        parts = key.split(".")
        holder: Any = self.text.value
        place: list[str | int] = []
        for part in parts[:-1]:
            if isinstance(holder, dict) and holder.get(part) is None:
                holder[part] = {}
            holder = holder[self._step(holder, part, key, place)]
        holder[self._step(holder, parts[-1], key, place)] = _value(value)
        self.places[tuple(place)] = pair

    def where(self, place: Place) -> str:
        """Where a part comes from."""
        given = _given(place, self.places)
        return f"line {self.text.line(place)}" if given is None else f"--set {given[:80]}"

    def _step(self, holder: Any, part: str, key: str, place: list[str | int]) -> str | int:
        step: str | int = part
        if isinstance(holder, list):
            if not part.isdecimal() or int(part) >= len(holder):
                raise _bad_override(f"{key[:80]!r}: {part[:40]!r} is none of the {len(holder)} entries, counted from 0")
            step = int(part)
        elif not isinstance(holder, dict):
            raise _bad_override(f"{key[:80]!r}: there is nothing inside {'.'.join(map(str, place))[:80]!r}")
        place.append(step)
        return step


def _given(place: Place, places: Mapping[Place, str]) -> str | None:
    """What was set on the command line and holds a part, if anything."""
    held = (place[:length] for length in range(len(place), 0, -1))
    return next((places[part] for part in held if part in places), None)


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        if text.lstrip()[:1] in ("[", "{"):
            raise _bad_override(f"{text[:80]!r} is no list and no object that JSON can hold") from None
        return text


def _bad_override(what: str) -> EvalFault:
    return EvalFault("bad_override", what, hint="for example --set budgets.usual.rounds=4 or --set seeds=[1,2]")


def _place(error: Mapping[str, Any]) -> Place:
    return tuple(part for part in error["loc"] if part != "[key]")


def _explained(error: Mapping[str, Any]) -> str:
    place = _place(error)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    if error["type"] == "missing":
        return f"{path} is missing"
    if error["type"] == "extra_forbidden":
        known = tuple(_known(place))
        hint = did_you_mean(str(place[-1]), known) or f"the keys are {', '.join(known)}"
        return f"{path} is not a key here; {hint}"
    if error["type"] == "string_pattern_mismatch":
        return f"{path}: {str(error['input'])[:60]!r} is no name; use letters, digits and . _ + -"
    if error["type"] == "too_short":
        return f"{path} is empty; give at least one"
    given = json.dumps(error["input"], ensure_ascii=False, default=str)[:60]
    return f"{path}: {error['msg'][0].lower()}{error['msg'][1:]}, not {given}"


def _known(place: Place) -> Iterator[str]:
    """The keys that may stand where a place's last part stands."""
    kind: type[BaseModel] = ConfigurationDocument
    for part in place[:-1]:
        if isinstance(part, str) and part in kind.model_fields:
            kind = _part_in(kind.model_fields[part].annotation) or kind
    yield from kind.model_fields


def _part_in(annotation: Any) -> type[BaseModel] | None:
    """The kind of part that an annotation holds, however wrapped."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for item in get_args(annotation) if (found := _part_in(item)) is not None), None)

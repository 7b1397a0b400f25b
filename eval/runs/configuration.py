"""The configuration of an experiment: a YAML file, checked with pydantic; each fault names the file, line and key.

``docs/runs.md`` explains each key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from eval.datasets.files import explained
from tool_induction.domains.domain import SplitName
from world_api.core.canonical import parse_json
from world_api.core.faults import EvalFault, ToolFault
from world_api.core.files import open_regular
from world_api.core.identifiers import suggestion
from world_api.core.ports import WireChoice
from world_api.core.yaml_text import MAX_BYTES, Place, YamlText, read_yaml

SCHEMA_VERSION = 1
#: A configuration with comments, as ``videoworld eval run --example`` prints it.
EXAMPLE = (files("eval.runs") / "example.yaml").read_text(encoding="utf-8")
_MAX_SHOWN = 8
_HINT = "docs/runs.md says what a configuration holds; `videoworld eval run --example` prints one"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Amount = Annotated[float, Field(ge=0, le=1_000_000_000, allow_inf_nan=False)]


class ConfigurationPart(BaseModel):
    """A part of the file. Unknown keys and values of another type are faults."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DatasetPart(ConfigurationPart):
    """The questions of a dataset. A string in place of the mapping is its ``path``."""

    path: Text
    name: Name | None = None
    videos: Text | None = None
    annotations: Text | None = None
    split: SplitName | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    domains: Annotated[list[Name], Field(min_length=1)] | None = None


class ArmPart(ConfigurationPart):
    """A system under a name of its own. A string in place of the mapping is both the system and the name."""

    name: Name
    system: Text
    exposure: Text | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    groups: list[Name] = Field(default_factory=list)
    libraries: Annotated[list[Name], Field(min_length=1)] | None = None


class LibraryPart(ConfigurationPart):
    """A tool library by name or folder, or a control arm (``arm``) that the run makes from another one (``of``).

    A string in place of the mapping is its ``path``.
    """

    name: Name | None = None
    path: Text | None = None
    arm: Text | None = None
    of: Text | None = None
    seed: Count = 1


class BudgetPart(ConfigurationPart):
    """Limits of one episode, the fields of ``controller.episode.Budget``, which also has the defaults."""

    rounds: Count | None = None
    calls: Count | None = None
    tokens: Count | None = None
    seconds: Amount | None = None
    money: Amount | None = None
    window: Annotated[int, Field(ge=1)] | None = None
    digest_tokens: Count | None = None


class PrimaryPart(ConfigurationPart):
    """The primary contrast, named before the run; without a ``dataset`` it is computed for each dataset separately."""

    arm: Name
    against: Name
    budget: Name
    world: Text
    dataset: Name | None = None
    domain: Name | None = None
    library: Name | None = None


class JudgePart(ConfigurationPart):
    """The judge of open answers when a run is scored. A string in place of the mapping is its ``model``."""

    model: Text
    wire: WireChoice = "auto"


class ToolJudgePart(ConfigurationPart):
    """The model that answers the judge steps of tools. A string in place of the mapping is its ``model``."""

    model: Text | None = None
    record: Text | None = None


class PerceptionPart(ConfigurationPart):
    """A vision model for operations that need more than the stored rows."""

    vision_model: Text
    embedding_model: Text | None = None
    frames: Annotated[int, Field(ge=1, le=64)] = 6
    side: Annotated[int, Field(ge=64, le=4096)] = 512
    language: Literal["en", "zh"] = "en"
    looks: Count = 60


class LimitsPart(ConfigurationPart):
    """Limits of the whole run: USD paid, and consecutive failures of the set-up (endpoint, machine, configuration)."""

    money: Amount | None = None
    failures: Annotated[int, Field(ge=1)] = 5


class RequestPart(ConfigurationPart):
    """Settings of each request to the answering model, besides the seed."""

    temperature: Annotated[float, Field(ge=0, le=10)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    reasoning_effort: Text | None = None


def _short(key: str) -> BeforeValidator:
    """Return a validator that replaces a string by a mapping from ``key`` to it."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def _arm(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value, "system": value}
    if isinstance(value, Mapping) and "system" in value and "name" not in value:
        return {"name": value["system"], **value}
    return value


Dataset = Annotated[DatasetPart, _short("path")]
ArmOrName = Annotated[ArmPart, BeforeValidator(_arm)]
Library = Annotated[LibraryPart, _short("path")]


class ConfigurationDocument(ConfigurationPart):
    """The whole configuration file."""

    schema_version: int
    name: Name | None = None
    model: Text = "rule-based"
    wire: WireChoice = "auto"
    cache: Text | None = None
    prices: Text | None = None
    language: Literal["auto", "en", "zh"] = "auto"
    request: RequestPart = RequestPart()
    datasets: Annotated[list[Dataset], Field(min_length=1)]
    arms: Annotated[list[ArmOrName], Field(min_length=1)]
    without: list[Name] = Field(default_factory=list)
    libraries: list[Library] = Field(default_factory=list)
    worlds: Annotated[list[Text], Field(min_length=1)] = Field(default_factory=lambda: ["classical"])
    seeds: Annotated[list[Count], Field(min_length=1)] = Field(default_factory=lambda: [1])
    budgets: Annotated[dict[Name, BudgetPart], Field(min_length=1)] = Field(
        default_factory=lambda: {"usual": BudgetPart()}
    )
    primary: PrimaryPart | None = None
    judge: Annotated[JudgePart, _short("model")] | None = None
    tool_judge: Annotated[ToolJudgePart, _short("model")] | None = None
    perception: Annotated[PerceptionPart, _short("vision_model")] | None = None
    parallel: Annotated[int, Field(ge=1, le=256)] | None = None
    store: Text = "worlds"
    out: Text | None = None
    limits: LimitsPart = LimitsPart()


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A configuration that was read.

    ``content`` is the file unchanged, ``overrides`` are the ``KEY=VALUE`` pairs given beside it, and ``places`` maps
    each key that a pair sets to the pair. Relative paths start from ``folder``.
    """

    document: ConfigurationDocument
    content: bytes
    overrides: tuple[str, ...]
    folder: Path
    text: YamlText
    name: str
    places: Mapping[Place, str] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        """The folder that holds one store of worlds for each profile."""
        return self.path(self.document.store)

    def path(self, value: str) -> Path:
        """Return a path of the configuration as an absolute path; relative ones start from ``folder``.

        Raises EvalFault: ``bad_configuration`` if it starts with the home folder of an unknown user (``~name``).
        """
        try:
            return self.folder / Path(value).expanduser()
        except RuntimeError:
            what = f"{self.name}: there is no home folder for {value[:80]!r}"
            raise EvalFault("bad_configuration", what, hint="write the whole path") from None

    def where(self, *place: str | int) -> str:
        """Return where a key was set: ``FILE, line N``, or the override that set it."""
        given = _override_at(place, self.places)
        return f"{self.name}, line {self.text.line(place)}" if given is None else given

    def bad(self, place: Place, what: str, *, hint: str = _HINT) -> EvalFault:
        """Return the fault ``bad_configuration``; its message is where the key at ``place`` was set, then ``what``."""
        return EvalFault("bad_configuration", f"{self.where(*place)}: {what}", hint=hint)

    def unknown(
        self, place: Place, what: str, name: str, known: Sequence[str], *, listed: str = "they are"
    ) -> EvalFault:
        """Return the fault of a key whose value is an unknown name; the hint is the nearest known name, or all of them.

        ``what`` is the message; ``listed`` comes before the list of all names in the hint.
        """
        return self.bad(place, what, hint=suggestion(name, known, f"{listed}: "))


def read_configuration(path: Path, *, overrides: Sequence[str] = (), folder: Path | None = None) -> Configuration:
    """Read a configuration, with overrides ``KEY=VALUE``; dots separate nested keys.

    Relative paths start from ``folder``, by default that of the file.

    Raises EvalFault: ``configuration_missing``, ``bad_configuration`` (with up to eight faults and their lines),
    ``other_schema_version``, ``bad_override``.
    """
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        what = f"cannot read {str(path)[:200]}: {error.strerror}"
        raise EvalFault("configuration_missing", what, hint="give a YAML file, or the folder of a run") from None
    try:
        text = read_yaml(content, path.name)
    except ToolFault as fault:
        raise EvalFault("bad_configuration", fault.message, hint=_HINT) from None
    if not isinstance(text.value, dict):
        raise EvalFault("bad_configuration", f"{path.name}: it is not a mapping of keys", hint=_HINT)
    places = {_override(text.value, pair): pair for pair in overrides}
    return Configuration(
        document=_validated(text, path.name, places),
        content=content,
        overrides=tuple(overrides),
        folder=(folder or path.parent).resolve(),
        text=text,
        name=path.name,
        places=places,
    )


def _validated(text: YamlText, name: str, places: Mapping[Place, str]) -> ConfigurationDocument:
    version = text.value.get("schema_version")
    if isinstance(version, int) and version != SCHEMA_VERSION:
        where = f"{name}, line {text.line(('schema_version',))}"
        what = f"{where}: schema version {version}; this program reads {SCHEMA_VERSION}"
        raise EvalFault("other_schema_version", what, hint="docs/runs.md shows the form that this version reads")
    try:
        return ConfigurationDocument.model_validate(text.value)
    except ValidationError as error:
        found = ((tuple(part for part in item["loc"] if part != "[key]"), item) for item in error.errors())
        faults = sorted(found, key=lambda fault: text.line(fault[0]))
    shown = [
        f"{_override_at(place, places) or f'line {text.line(place)}'}: {explained(ConfigurationDocument, item)}"
        for place, item in faults[:_MAX_SHOWN]
    ]
    more = f"; and {len(faults) - _MAX_SHOWN} more" if len(faults) > _MAX_SHOWN else ""
    raise EvalFault("bad_configuration", f"{name}: " + "; ".join(shown) + more, hint=_HINT)


def _override(document: dict[str, Any], pair: str) -> Place:
    """Set the key of ``pair`` (``KEY=VALUE``) in ``document``; return its place (keys and indices). Raises EvalFault."""
    key, equals, value = pair.partition("=")
    if not equals or not key:
        raise _bad_override(f"{pair[:80]!r} is not KEY=VALUE")
    parts = key.split(".")
    holder: Any = document
    place: list[str | int] = []
    for number, part in enumerate(parts):
        step: str | int = part
        if isinstance(holder, list):
            if not part.isdecimal() or int(part) >= len(holder):
                raise _bad_override(f"{key[:80]!r}: {part[:40]!r} is none of the {len(holder)} entries, counted from 0")
            step = int(part)
        elif not isinstance(holder, dict):
            raise _bad_override(f"{key[:80]!r}: there is nothing inside {'.'.join(map(str, place))[:80]!r}")
        place.append(step)
        if number == len(parts) - 1:
            holder[step] = _override_value(value)
        else:
            if isinstance(holder, dict) and holder.get(step) is None:
                holder[step] = {}
            holder = holder[step]
    return tuple(place)


def _override_value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        if text.lstrip()[:1] in ("[", "{"):
            raise _bad_override(f"{text[:80]!r} is no list and no object that JSON can hold") from None
        return text


def _bad_override(what: str) -> EvalFault:
    return EvalFault("bad_override", what, hint="for example --set budgets.usual.rounds=4 or --set seeds=[1,2]")


def _override_at(place: Place, places: Mapping[Place, str]) -> str | None:
    """Return the override that set a key or one that contains it, as ``--set KEY=VALUE``; None if there is none."""
    around = (place[:length] for length in range(len(place), 0, -1))
    return next((f"--set {places[part][:80]}" for part in around if part in places), None)

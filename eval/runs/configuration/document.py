"""The keys of a configuration, as pydantic checks them. ``docs/runs.md`` says what each means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tool_induction.domains.domain import SplitName
from world_api.exposure.models import WireChoice

SCHEMA_VERSION = 1

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Amount = Annotated[float, Field(ge=0, le=1_000_000_000, allow_inf_nan=False)]


class Part(BaseModel):
    """A part of the file: no key that nobody knows, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DatasetPart(Part):
    """Which questions are asked. Given as one word, it is the ``path``."""

    path: Text
    name: Name | None = None
    videos: Text | None = None
    annotations: Text | None = None
    split: SplitName | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    domains: Annotated[list[Name], Field(min_length=1)] | None = None


class ArmPart(Part):
    """A system under a name of its own. Given as one word, it is the system, and the name too."""

    name: Name
    system: Text
    exposure: Text | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    groups: list[Name] = Field(default_factory=list)
    libraries: Annotated[list[Name], Field(min_length=1)] | None = None


class LibraryPart(Part):
    """A tool library by name or folder, or one that the run makes as an arm of another. One word is the ``path``."""

    name: Name | None = None
    path: Text | None = None
    arm: Text | None = None
    of: Text | None = None
    seed: Count = 1


class BudgetPart(Part):
    """Limits of one episode, as ``controller.budgets.Budget`` has them; what is left out is as there."""

    rounds: Count | None = None
    calls: Count | None = None
    tokens: Count | None = None
    seconds: Amount | None = None
    money: Amount | None = None
    window: Annotated[int, Field(ge=1)] | None = None
    digest_tokens: Count | None = None


class PrimaryPart(Part):
    """The one contrast that is named before anything is run; without a dataset it is made in each by itself."""

    arm: Name
    against: Name
    budget: Name
    world: Text
    dataset: Name | None = None
    domain: Name | None = None
    library: Name | None = None


class JudgePart(Part):
    """Who judges open answers when a run is scored. One word is the ``model``."""

    model: Text
    wire: WireChoice = "auto"


class ToolJudgePart(Part):
    """Who answers the judge steps of tools. One word is the ``model``."""

    model: Text | None = None
    record: Text | None = None


class PerceptionPart(Part):
    """A model that looks at frames when an operation asks for what rows do not say."""

    vision_model: Text
    embedding_model: Text | None = None
    frames: Annotated[int, Field(ge=1, le=64)] = 6
    side: Annotated[int, Field(ge=64, le=4096)] = 512
    language: Literal["en", "zh"] = "en"
    looks: Count = 60


class LimitsPart(Part):
    """Limits of the whole run: USD that are really paid, and failures of the set-up in a row."""

    money: Amount | None = None
    failures: Annotated[int, Field(ge=1)] = 5


class RequestPart(Part):
    """What is put into each request to the answering model, beside the seed."""

    temperature: Annotated[float, Field(ge=0, le=10)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    reasoning_effort: Text | None = None


def _short(key: str) -> BeforeValidator:
    """One word in place of a mapping is its most telling key."""

    def read(value: Any) -> Any:
        return {key: value} if isinstance(value, str) else value

    return BeforeValidator(read)


def _arm(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value, "system": value}
    if isinstance(value, Mapping) and "system" in value and "name" not in value:
        return {"name": value["system"], **value}
    return value


Dataset = Annotated[DatasetPart, _short("path")]
ArmOrName = Annotated[ArmPart, BeforeValidator(_arm)]
Library = Annotated[LibraryPart, _short("path")]


class ConfigurationDocument(Part):
    """A whole file."""

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

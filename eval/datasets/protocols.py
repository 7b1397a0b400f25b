"""The protocol of a benchmark, fixed in a file of this package: ``protocols/NAME.yaml``.

It contains the rules that map questions to task domains, the scorer of each kind of question, the judges, the causal
cut of questions, baselines without video, and published figures with their model, budget and source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from controller.options import Kind
from eval.datasets.files import validated
from world_api.core.yaml_text import read_yaml

SCHEMA_VERSION = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AnnotationSource(_Part):
    """The source of the annotations; ``files`` are the names of the files as published."""

    files: list[str]
    url: str
    paper: str
    licence: str = "see the dataset's page"


class DomainRule(_Part):
    """A rule for questions of ``domain``: they begin with or contain a listed word, or have a listed label."""

    domain: str | None
    begins: list[str] = []
    holds: list[str] = []
    labels: dict[str, list[str]] = {}

    def fits(self, text: str, labels: Mapping[str, Any]) -> bool:
        """Whether the rule fits ``text``: a question in lower case, words only, with a space around each."""
        if any(text.startswith(f" {word} ") for word in self.begins) or any(f" {word} " in text for word in self.holds):
            return True
        return any(set(_listed(labels.get(name))) & set(values) for name, values in self.labels.items())


class DomainRules(_Part):
    """Rules from questions to task domains: the first that fits, else ``otherwise``. A domain given by the user comes first."""

    rules: list[DomainRule]
    otherwise: str | None = None


class ProtocolJudges(_Part):
    """The judges of open answers: ``own``: the project's may be used; ``published`` describes that of the authors."""

    own: bool = True
    published: str = ""


class PublishedFigure(_Part):
    """A published accuracy in percent of a system with a model; ``on`` describes the questions, ``budget`` the limits."""

    system: str
    model: str
    accuracy: float
    on: str
    budget: str
    source: str


class Protocol(_Part):
    """The content of a protocol file."""

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    title: str
    origin: AnnotationSource
    scoring: dict[Kind, str]  #: scorers by name and version (``eval.scoring.scorers``)
    judge: ProtocolJudges | None = None
    as_of: str = "the whole video"
    domains: DomainRules
    blind: list[str]
    #: The accuracy of guessing; None if it is not one number.
    chance: Annotated[float, Field(ge=0, le=1)] | None = None
    chance_on: str = ""  #: the reason why ``chance`` is None, or the questions that it refers to
    published: list[PublishedFigure]
    notes: list[str] = []

    def domain_of(self, question: str, labels: Mapping[str, Any]) -> str | None:
        """Return the task domain of a question by the first rule that fits it; None if it belongs to no domain."""
        words = "".join(item if item.isalnum() else " " for item in question.casefold())
        text = f" {' '.join(words.split())} "
        found = next((rule for rule in self.domains.rules if rule.fits(text, labels)), None)
        return self.domains.otherwise if found is None else found.domain


def packaged_protocols() -> list[str]:
    """Return the sorted names of the protocols in this package."""
    folder = files("eval.datasets") / "protocols"
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


@cache
def load_protocol(name: str) -> Protocol:
    """Return a protocol of this package. Raises EvalFault: ``bad_dataset``: its file is damaged."""
    value = read_yaml(_file(name).read_bytes(), f"{name}.yaml").value
    return validated(Protocol, value, f"protocol {name}", "install the project again")


def protocol_hash(name: str) -> str:
    """Return the SHA-256 of a protocol file's bytes."""
    return hashlib.sha256(_file(name).read_bytes()).hexdigest()


def _file(name: str) -> Traversable:
    return files("eval.datasets") / "protocols" / f"{name}.yaml"


def _listed(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    return [] if value is None else [str(value)]

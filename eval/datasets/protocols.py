"""The protocol of a benchmark, fixed in a file that is shipped with the project: ``protocols/NAME.yaml``.

It says how questions map to task domains, which scorer an answer is put to, whose judge there is, how far a question may see,
which baselines see no video, and which published figures stand beside ours, with model, budget and source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from controller.questions import Kind
from eval.datasets.files import validated
from tool_induction.domains.yaml_text import read_yaml

SCHEMA_VERSION = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AnnotationSource(_Part):
    """Where the annotations come from: ``files`` by name, as their authors publish them."""

    files: list[str]
    url: str
    paper: str
    licence: str = "see the dataset's page"


class DomainRule(_Part):
    """A rule: questions that begin with, or hold, one of these words, or carry one of these labels, belong to ``domain``."""

    domain: str | None
    begins: list[str] = []
    holds: list[str] = []
    labels: dict[str, list[str]] = {}

    def fits(self, text: str, labels: Mapping[str, Any]) -> bool:
        """Whether a question (in lower case, words apart by one space, one space around) is of it."""
        if any(text.startswith(f" {word} ") for word in self.begins) or any(f" {word} " in text for word in self.holds):
            return True
        return any(set(_listed(labels.get(name))) & set(values) for name, values in self.labels.items())


class DomainRules(_Part):
    """How questions map to task domains: the first rule that fits. A file of labels, where the user has one, goes first."""

    rules: list[DomainRule]
    otherwise: str | None = None


class ProtocolJudges(_Part):
    """The judges of open answers: the project's own, and that of the authors, whose prompt is read from a file the user has."""

    own: bool = True
    published: str = ""


class PublishedFigure(_Part):
    """A published figure: accuracy in percent, as sources give it, of which system with which model, on what, at which budget.

    ``source`` is the publication.
    """

    system: str
    model: str
    accuracy: float
    on: str
    budget: str
    source: str


class Protocol(_Part):
    """A whole protocol file."""

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    title: str
    origin: AnnotationSource
    scoring: dict[Kind, str]  #: scorers by name and version, as ``eval.scoring.scorers`` has them
    judge: ProtocolJudges | None = None
    as_of: str = "the whole video"
    domains: DomainRules
    blind: list[str]
    #: The accuracy of guessing; None if there is no one figure.
    chance: Annotated[float, Field(ge=0, le=1)] | None = None
    chance_on: str = ""  #: why there is none, or of which questions it is
    published: list[PublishedFigure]
    notes: list[str] = []

    def domain_of(self, question: str, labels: Mapping[str, Any]) -> str | None:
        """The task domain of a question, None where it fits none."""
        words = "".join(item if item.isalnum() else " " for item in question.casefold())
        text = f" {' '.join(words.split())} "
        found = next((rule for rule in self.domains.rules if rule.fits(text, labels)), None)
        return self.domains.otherwise if found is None else found.domain


def packaged_protocols() -> list[str]:
    """The names of the protocols that are shipped."""
    folder = files("eval.datasets") / "protocols"
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


@cache
def load_protocol(name: str) -> Protocol:
    """A shipped protocol. Raises EvalFault: ``bad_dataset``: it is damaged."""
    value = read_yaml(_file(name).read_bytes(), f"{name}.yaml").value
    return validated(Protocol, value, f"protocol {name}", "install the project again")


def protocol_hash(name: str) -> str:
    """The hash of a protocol file's bytes."""
    return hashlib.sha256(_file(name).read_bytes()).hexdigest()


def _file(name: str) -> Traversable:
    return files("eval.datasets") / "protocols" / f"{name}.yaml"


def _listed(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    return [] if value is None else [str(value)]

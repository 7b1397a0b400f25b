"""The score of an answer, the protocol of scorers, and the context that a scorer gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from eval.datasets.items import Item
from world_api.core.canonical import canonical_json
from world_api.core.faults import EvalFault
from world_api.core.identifiers import suggestion

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True)
class Score:
    """The result of a scorer. ``correct`` counts for accuracy; ``score`` (0 to 1) may give partial credit.

    ``details`` are the figures behind it, by name. ``scorer`` is the scorer's name with a version: ``interval/1``. An
    episode without an answer is wrong, with score 0.
    """

    correct: bool
    score: float
    scorer: str
    details: Mapping[str, Any] = field(default_factory=dict)


Settings = TypeVar("Settings", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True)
class AnswerVerdict:
    """The verdict of a judge on one answer.

    ``yes``: it means the same as an accepted answer. ``fault`` is the reason if there is no verdict (it then counts as
    no): ``judge_unreadable``.
    """

    yes: bool
    judge: str
    fault: str | None = None


class AnswerJudge(Protocol):
    """Decides whether an open answer is right. The same question with the same answers gets the same verdict."""

    name: str

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> AnswerVerdict:
        """Return whether ``given`` means the same as one of the accepted answers.

        Raises:
            BackendFault: the faults of the model behind it.
        """


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a scorer gets besides the answer: its own name with version, its settings in the protocol, the judge."""

    scorer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    judge: AnswerJudge | None = None

    def wrong(self, reason: str, **details: Any) -> Score:
        """Return the score 0 of a wrong answer; the details contain the reason, such as ``no_answer``."""
        return Score(correct=False, score=0.0, scorer=self.scorer, details={"reason": reason, **details})

    def scored(self, *, correct: bool, score: float, **details: Any) -> Score:
        """Return a score with the scorer's name; ``details`` are the figures behind it."""
        return Score(correct=correct, score=float(score), scorer=self.scorer, details=details)

    def read(self, kind: type[Settings]) -> Settings:
        """Return the settings as a dataclass; all its fields have defaults.

        Raises:
            EvalFault: ``bad_protocol``: a setting is unknown or not valid.
        """
        known = [part.name for part in fields(kind)]
        unknown = [str(name) for name in self.settings if name not in known]
        if unknown:
            raise self._bad(f"no setting {unknown[0][:40]!r}", suggestion(unknown[0], known))
        try:
            found: Settings = _checker(kind).validate_json(canonical_json(dict(self.settings)), strict=True)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            message = fault["msg"].removeprefix("Value error, ")
            raise self._bad(f"setting {place!r}: {message}" if place else message, "see docs/scoring.md") from None
        except ValueError as error:  # a value that JSON cannot hold
            raise self._bad(str(error), "see docs/scoring.md") from None
        return found

    def _bad(self, what: str, hint: str) -> EvalFault:
        return EvalFault("bad_protocol", f"scorer {self.scorer}: {what}", hint=hint)


@lru_cache
def _checker(kind: type[Settings]) -> TypeAdapter[Settings]:
    return TypeAdapter(kind)


#: Scores one answer of an item: called with the item, the value (None if there is no answer of the question's type), its text and the
#: context. It may raise ``bad_protocol``, ``item_without_answer`` and ``no_judge``.
Scorer = Callable[[Item, Any, str | None, Context], Score]

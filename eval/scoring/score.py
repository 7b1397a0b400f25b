"""What a scorer is, what it is given, and the score it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from eval.datasets.items import Item
from world_api.core.faults import EvalFault

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True)
class Score:
    """``correct`` is what accuracy counts; ``score`` (0 to 1) is finer; ``details`` are the figures behind it, by name.

    ``scorer`` names who scored, with a version: ``interval/1``. An episode without an answer is wrong, with score 0.
    """

    correct: bool
    score: float
    scorer: str
    details: Mapping[str, Any] = field(default_factory=dict)


Settings = TypeVar("Settings", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a judge says of one answer.

    ``yes``: it says what an accepted answer says. ``fault`` is why there is no verdict (it then counts as no): ``judge_unreadable``.
    """

    yes: bool
    judge: str
    fault: str | None = None


class AnswerJudge(Protocol):
    """Says whether an open answer is right. The same question gets the same verdict."""

    name: str

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> Verdict:
        """Whether ``given`` says what one of the accepted answers says.

        Raises:
            BackendFault: what the model behind it names.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a scorer has beside the answer: its own name with version, its settings in the protocol, the judge."""

    scorer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    judge: AnswerJudge | None = None

    def wrong(self, reason: str, **details: Any) -> Score:
        """A wrong answer for a named reason."""
        return Score(correct=False, score=0.0, scorer=self.scorer, details={"reason": reason, **details})

    def scored(self, *, correct: bool, score: float, **details: Any) -> Score:
        """What came out, under the scorer's name."""
        return Score(correct=correct, score=float(score), scorer=self.scorer, details=details)

    def read(self, kind: type[Settings]) -> Settings:
        """The settings as a dataclass whose fields all have defaults.

        Raises:
            EvalFault: ``bad_protocol``: one is not known, or of another type than its default.
        """
        known = {part.name: part for part in fields(kind)}
        values: dict[str, Any] = {}
        for name, value in self.settings.items():
            part = known.get(name)
            if part is None:
                raise self._bad(f"no setting {str(name)[:40]!r}", "one of: " + (", ".join(known) or "none"))
            default = part.default if part.default is not MISSING else None
            values[name] = _as(default, value)
            if values[name] is None:
                raise self._bad(f"setting {name!r} is {str(value)[:40]!r}", f"give a value like {default!r}")
        try:
            return kind(**values)
        except ValueError as error:
            raise self._bad(str(error), "see docs/scoring.md") from None

    def _bad(self, what: str, hint: str) -> EvalFault:
        return EvalFault("bad_protocol", f"scorer {self.scorer}: {what}", hint=hint)


class Scorer(Protocol):
    """Scores one answer. ``value`` is None where there is no answer of the question's type, ``answer`` is its text."""

    def __call__(self, item: Item, value: Any, answer: str | None, context: Context) -> Score:
        """The score.

        Raises:
            EvalFault: ``bad_protocol``, ``item_without_answer``; ``no_judge``.
        """
        ...


def _as(default: Any, value: Any) -> Any | None:
    """The value in the type of a default; None where it is not of that type."""
    if isinstance(default, bool) or isinstance(value, bool):
        return value if isinstance(value, type(default)) else None
    if isinstance(default, float) and isinstance(value, int | float):
        return float(value) if abs(value) < float("inf") else None
    if isinstance(default, tuple) and isinstance(value, list | tuple):
        parts = [_as(default[0], part) for part in value]
        return None if None in parts or not parts else tuple(parts)
    return value if isinstance(value, type(default)) else None

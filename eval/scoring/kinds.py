"""The score of an answer, and scorers by kind of answer: choice, count, interval, order, text by words or by a judge.

Exact match and token F1 are those of SQuAD (Rajpurkar et al. 2016, evaluation script 1.1): lower case, without ASCII
punctuation and English articles, split at white space; F1 over the two bags of tokens. The variant ``cjk`` is ours:
normalised by NFKC, without the punctuation of any script, each Chinese, Japanese or Korean character a token of its
own.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from controller.answers import InvalidAnswer, span_of, value_of
from controller.messages import CitedSpan
from eval.datasets.items import Item
from eval.statistics import kendall_tau
from world_api.core.canonical import canonical_json
from world_api.core.faults import EvalFault
from world_api.core.identifiers import suggestion
from world_api.core.spans import TimeSpan, spans_iou

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


def accepted_values(item: Item) -> tuple[Any, ...]:
    """Return all accepted answers in the question's type. Raises EvalFault: ``item_without_answer``."""
    try:
        return tuple(value_of(item.question, value) for value in (item.answer, *item.also))
    except InvalidAnswer as why:
        raise _unusable(item, str(why)) from None


def accepted_texts(item: Item) -> tuple[str, ...]:
    """Return all accepted answers of an open question as text. Raises EvalFault: ``item_without_answer``."""
    texts = []
    for value in (item.answer, *item.also):
        if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
            raise _unusable(item, "it is neither text nor a number")
        texts.append(str(value).strip())
    return tuple(texts)


def given_value(item: Item, value: Any) -> Any | None:
    """Return the given answer in the type of the question; None if it is of another type."""
    try:
        return value_of(item.question, value)
    except InvalidAnswer:
        return None


def _unusable(item: Item, why: str) -> EvalFault:
    return EvalFault(
        "item_without_answer",
        f"item {item.id!r} has no answer that it can be scored by: {why}",
        hint="mend the dataset's answers, or leave the item out",
    )


_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
#: Han, kana, hangul and related characters: scripts in which words need no spaces between them.
_CJK = re.compile(r"[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
                  r"\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")  # fmt: skip

Tokeniser = Callable[[str], list[str]]


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The overlap of two answers in words: exact match, and F1, precision and recall from 0 to 1."""

    exact: bool
    f1: float
    precision: float
    recall: float


def squad_tokens(text: str) -> list[str]:
    """Return the tokens of a text as SQuAD's evaluation makes them."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def cjk_tokens(text: str) -> list[str]:
    """Return the tokens of a text in which a CJK character is a token of its own; other words as in SQuAD."""
    plain = "".join(
        "" if unicodedata.category(character)[0] == "P" or character in string.punctuation else character
        for character in unicodedata.normalize("NFKC", text).lower()
    )
    return _CJK.sub(lambda found: f" {found[0]} ", _ARTICLES.sub(" ", plain)).split()


def has_cjk(text: str) -> bool:
    """Whether a text contains a Chinese, Japanese or Korean character."""
    return _CJK.search(text) is not None


def overlap(given: Sequence[str], accepted: Sequence[str]) -> Overlap:
    """Return exact match, F1, precision and recall of two lists of tokens; the last three are 0 without a common token."""
    shared = (Counter(given) & Counter(accepted)).total()
    exact = list(given) == list(accepted)
    if not shared:
        return Overlap(exact=exact, f1=0.0, precision=0.0, recall=0.0)
    precision, recall = shared / len(given), shared / len(accepted)
    return Overlap(exact=exact, f1=2 * precision * recall / (precision + recall), precision=precision, recall=recall)


PositiveShare = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class NoSettings:
    """The settings of a scorer without settings."""


def score_choice(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Score a choice: correct if the letter ``value`` is an accepted one. The details contain the number of ``options``."""
    context.read(NoSettings)
    accepted = accepted_values(item)
    given = given_value(item, value)
    options = len(item.question.options)
    if given is None:
        return context.wrong("no_answer", expected=accepted[0], options=options)
    correct = given in accepted
    return context.scored(correct=correct, score=correct, given=given, expected=accepted[0], options=options)


@dataclass(frozen=True, kw_only=True)
class CountSettings:
    """A count is correct if its error is at most ``within``, or ``within_share`` of the true number; both are 0 by default."""

    within: Annotated[int, Field(ge=0)] = 0
    within_share: Annotated[float, Field(ge=0)] = 0.0


def score_count(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Score the count ``value``: correct if its error is within the settings. Score: 1 less the relative error, at least 0.

    The error is that to the nearest accepted number, relative to this number (to 1 if it is 0).
    """
    settings = context.read(CountSettings)
    accepted = accepted_values(item)
    given = given_value(item, value)
    if given is None:
        return context.wrong("no_answer", expected=accepted[0])
    nearest = min(accepted, key=lambda number: abs(given - number))
    error = given - nearest
    relative = abs(error) / max(nearest, 1)
    return context.scored(
        correct=abs(error) <= max(settings.within, settings.within_share * nearest),
        score=max(0.0, 1 - relative),
        given=given,
        expected=nearest,
        error=error,
        absolute_error=abs(error),
        relative_error=round(relative, 6),
        exact=error == 0,
    )


RECALL = "recall_1_at_"  #: before the threshold, in the details of a score


@dataclass(frozen=True, kw_only=True)
class IntervalSettings:
    """``correct_at``: the least IoU of a correct answer. ``thresholds``: the values of IoU for recall@1.

    ``least_seconds``: before the comparison, shorter intervals, given or accepted, are widened to this length around
    their middle, so that a moment can be matched; with 0, the default, they are unchanged.
    """

    correct_at: PositiveShare = 0.5
    thresholds: tuple[PositiveShare, ...] = (0.3, 0.5, 0.7)
    least_seconds: Annotated[float, Field(ge=0)] = 0.0


def score_interval(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Score the interval ``value`` by its best IoU with an accepted one; recall@1 is whether it is at or above each threshold."""
    settings = context.read(IntervalSettings)
    accepted = [span_of(one) for one in accepted_values(item)]
    typed = given_value(item, value)
    if typed is None:
        return context.wrong("no_answer", iou=0.0, **{f"{RECALL}{at:g}": False for at in settings.thresholds})
    given = span_of(typed)
    best, iou = max(
        ((one, interval_overlap(given, one, least_seconds=settings.least_seconds)) for one in accepted),
        key=lambda pair: pair[1],
    )
    return context.scored(
        correct=iou >= settings.correct_at,
        score=iou,
        iou=round(iou, 6),
        **{f"{RECALL}{at:g}": iou >= at for at in settings.thresholds},
        start_error=round(given.start - best.start, 3),
        end_error=round(given.end - best.end, 3),
    )


def interval_overlap(given: TimeSpan, accepted: TimeSpan, *, least_seconds: float = 0.0) -> float:
    """Return the IoU of two intervals; 1 if they are equal, also if they have no length."""
    one, other = (
        span
        if span.duration >= least_seconds
        else TimeSpan(start=span.center - least_seconds / 2, end=span.center + least_seconds / 2)
        for span in (given, accepted)
    )
    return 1.0 if given == accepted else one.iou(other)


@dataclass(frozen=True, kw_only=True)
class OrderSettings:
    """An order is correct if tau is at least ``correct_at``; by default only if it is completely right."""

    correct_at: Annotated[float, Field(gt=-1, le=1)] = 1.0


def score_order(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Score the order ``value`` by its best tau-a with an accepted one, mapped from -1...1 to 0...1."""
    settings = context.read(OrderSettings)
    accepted = accepted_values(item)
    given = given_value(item, value)
    if given is None:
        return context.wrong("no_answer", expected="".join(accepted[0]))
    places = list(range(len(given)))
    tau, best = max((kendall_tau(places, [one.index(thing) for thing in given]), one) for one in accepted)
    return context.scored(
        correct=tau >= settings.correct_at - 1e-9,
        score=(tau + 1) / 2,
        tau=round(tau, 6),
        exact=given == best,
        given="".join(given),
        expected="".join(best),
    )


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """A text is correct if its words are those of an accepted one, or, with ``f1_at`` above 0, if its F1 is at least that."""

    f1_at: Annotated[float, Field(ge=0, le=1)] = 0.0


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """``instead``: the scorer that is used if there is no judge; if it is empty, a missing judge is a fault."""

    instead: str = "text"


def score_judged(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Score ``given_text(value, answer)`` by the judge: correct if it means the same as an accepted answer."""
    context.read(JudgeSettings)
    accepted = accepted_texts(item)
    given = given_text(value, answer)
    if context.judge is None:
        raise EvalFault("no_judge", f"{context.scorer} needs a judge", hint="name one with --judge-model")
    if given is None:
        return context.wrong("no_answer", judge=context.judge.name)
    verdict = context.judge.verdict(item.question.text, accepted, given)
    if verdict.fault is not None:
        return context.wrong(verdict.fault, judge=verdict.judge, characters=len(given))
    return context.scored(correct=verdict.yes, score=verdict.yes, judge=verdict.judge, characters=len(given))


def text_scorer_for(item: Item) -> str:
    """Return "text_cjk", the name of a scorer by words, if an accepted answer has CJK characters, else "text"."""
    return "text_cjk" if any(map(has_cjk, accepted_texts(item))) else "text"


def given_text(value: Any, answer: str | None) -> str | None:
    """Return ``value`` if it is a text, else ``answer``, without spaces around it; None if it is empty."""
    said = value if isinstance(value, str) else answer
    return said.strip() if isinstance(said, str) and said.strip() else None


def score_words(
    item: Item, value: Any, answer: str | None, context: Context, *, tokens: Tokeniser = squad_tokens
) -> Score:
    """Score ``given_text(value, answer)`` by SQuAD's exact match and token F1, the best over all accepted answers."""
    settings = context.read(TextSettings)
    accepted = accepted_texts(item)
    given = given_text(value, answer)
    if given is None:
        return context.wrong("no_answer")
    said = tokens(given)
    found = [overlap(said, tokens(one)) for one in accepted]
    best = max(found, key=lambda one: (one.f1, one.exact))
    exact = any(one.exact for one in found)
    return context.scored(
        correct=exact or (settings.f1_at > 0 and best.f1 >= settings.f1_at),
        score=1.0 if exact else best.f1,
        exact=exact,
        f1=round(best.f1, 6),
        precision=round(best.precision, 6),
        recall=round(best.recall, 6),
    )


@dataclass(frozen=True)
class ShownMeasure:
    """A measure by its name in ``Score.details``. Without an answer, a ``share`` is 0 and a ``number`` is left out.

    ``within`` are the least and the greatest possible value; they bound the mean and its interval.
    """

    name: str
    title: str
    about: str
    unit: Literal["share", "number"] = "share"
    within: tuple[float, float] = (0.0, 1.0)

    def of(self, details: Mapping[str, Any]) -> float | None:
        """Return its value in the details of one score.

        If the details hold no number for it, a share is 0.0; a number is None, and left out of the mean.
        """
        value = details.get(self.name)
        if isinstance(value, bool | int | float):
            return float(value)
        return 0.0 if self.unit == "share" else None


_EXACT = ShownMeasure("exact", "exact", "right to the last: the number, the whole order, the same words")
_ERROR = ShownMeasure("absolute_error", "mean error", "without sign, of given numbers", "number", (0.0, math.inf))
_BY_KIND: dict[str, tuple[ShownMeasure, ...]] = {
    "interval": (ShownMeasure("iou", "mean IoU", "of the given with the nearest true one"),),
    "count": (_EXACT, _ERROR),
    "order": (_EXACT, ShownMeasure("tau", "Kendall's tau", "tau-a, of given orders", "number", (-1.0, 1.0))),
    "open": (_EXACT, ShownMeasure("f1", "token F1", "as the scorer has it")),
}


def measures_of(kind: str, details: Sequence[Mapping[str, Any]]) -> tuple[ShownMeasure, ...]:
    """Return the measures of a kind of answer that occur in ``details`` of its scores; none for choices and judged answers."""
    names = list(dict.fromkeys(name for one in details for name in one))
    shown = [measure for measure in _BY_KIND.get(kind, ()) if measure.name in names]
    for name in sorted(name for name in names if name.startswith(RECALL)) if kind == "interval" else ():
        threshold = name.removeprefix(RECALL)
        shown.append(ShownMeasure(name, f"R@1, IoU {threshold}", f"answers with an IoU of {threshold} or more"))
    return tuple(shown)


def evidence_iou(cited: Iterable[TimeSpan | CitedSpan], true: Iterable[TimeSpan]) -> float | None:
    """Return the IoU, by seconds, of all cited intervals with all true ones; None if no true ones are known.

    It is 0 if nothing is cited. If no interval has a length, it is 1 if a cited start is a true one.
    """
    given = [
        span if isinstance(span, TimeSpan) else TimeSpan(start=span.start_time, end=span.end_time) for span in cited
    ]
    known = list(true)
    if not known:
        return None
    if not any(span.duration for span in (*given, *known)):
        return float(any(span.start == other.start for span in given for other in known))
    return round(spans_iou(given, known), 6)

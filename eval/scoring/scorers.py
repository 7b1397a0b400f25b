"""Scoring an answer by its dataset's protocol.

A protocol names a scorer for each kind of question, with the settings that differ from the defaults::

    {"scoring": {"open": "judge/1", "interval": {"scorer": "interval/1", "correct_at": 0.3}}}

Answers of a question that may abstain are scored by ``score_abstention`` if they or the accepted one abstain. The gold
of such a question is ``present`` (it has an answer of its type), ``absent`` (what it asks about is not in the video) or
``undeterminable`` (the video does not determine the answer, no matter what a profile perceives of it). An answer says
the same three things. Some typed answers say "absent" too: the count 0, and the option that the label ``absence`` of an
item names, such as the letter of "No".

A kind that the protocol does not name has a default: ``choice``, ``interval``, ``count`` and ``order`` are scored by the scorer
of that name, ``open`` by the judge if there is one, else by words. Other packages add a ``Scorer`` by an entry point
(docs/scoring.md): its attribute ``version`` (1 if it has none) is part of its name (``mine/1``); if it has a dataclass
as ``settings``, protocols are checked against it before anything runs. The names of the package's own scorers cannot be
replaced.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, get_args

from controller.answers import NOT_THERE, UNDETERMINABLE, is_abstention
from eval.datasets.items import Item
from eval.scoring import kinds
from eval.scoring.kinds import AnswerJudge, Context, Score, Scorer, given_value
from eval.scoring.published import LocomoSettings, ReplySettings, score_choice_reply, score_locomo
from world_api.core.execution import ordered_map
from world_api.core.faults import EvalFault
from world_api.core.identifiers import suggestion
from world_api.installation import added, load_added

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Stance = Literal["present", "absent", "undeterminable"]
STANCES: tuple[Stance, ...] = get_args(Stance)
ABSENCE = "absence"  #: label of an item: the letter of the option that says "absent"
_ABSTENTIONS: dict[Any, Stance] = {NOT_THERE: "absent", UNDETERMINABLE: "undeterminable"}
SCORER = "abstention/1"


def stance_of(item: Item, value: Any) -> Stance | None:
    """Return what an answer to an item that may abstain says; None for other items, and if it is no answer to it."""
    given = given_value(item, value) if item.question.may_abstain else None
    if given is None:
        return None
    if is_abstention(item.question, given):
        return _ABSTENTIONS[given]
    negative = 0 if item.question.kind == "count" else item.labels.get(ABSENCE)
    return "absent" if given == negative else "present"


def score_abstention(item: Item, value: Any) -> Score | None:
    """Score an answer if it or the accepted one abstains: it is right if both say the same. None for two typed answers."""
    accepted = (item.answer, *item.also)
    if not any(is_abstention(item.question, one) for one in (value, *accepted)):
        return None
    said = stance_of(item, value)
    typed = said == "present" and value in accepted
    correct = said is not None and (typed or (said != "present" and said in {stance_of(item, one) for one in accepted}))
    context = Context(scorer=SCORER)
    return context.scored(correct=correct, score=correct) if said is not None else context.wrong("no_answer")


ENTRY_POINT_GROUP = "video_world_api.scorers"


@dataclass(frozen=True, kw_only=True)
class Named:
    """A scorer with its name. ``settings`` is the dataclass that it reads its settings into; None if unknown."""

    name: str
    version: int = 1
    scorer: Scorer
    settings: type[DataclassInstance] | None = None

    @property
    def whole_name(self) -> str:
        """The name with the version: ``interval/1``."""
        return f"{self.name}/{self.version}"


_SCORERS: tuple[tuple[str, Scorer, type[DataclassInstance] | None], ...] = (
    ("choice", kinds.score_choice, kinds.NoSettings),
    ("choice_reply", score_choice_reply, ReplySettings),
    ("interval", kinds.score_interval, kinds.IntervalSettings),
    ("count", kinds.score_count, kinds.CountSettings),
    ("order", kinds.score_order, kinds.OrderSettings),
    ("text", kinds.score_words, kinds.TextSettings),
    ("text_cjk", partial(kinds.score_words, tokens=kinds.cjk_tokens), kinds.TextSettings),
    ("judge", kinds.score_judged, kinds.JudgeSettings),
    ("locomo", score_locomo, LocomoSettings),
)
_OWN = {name: Named(name=name, scorer=scorer, settings=settings) for name, scorer, settings in _SCORERS}


def scorer_names() -> tuple[str, ...]:
    """Return the names of all scorers without versions: the package's own, then those of other packages, sorted."""
    return (*_OWN, *sorted(added(ENTRY_POINT_GROUP, own=_OWN)))


def scorer_named(whole_name: str) -> Named:
    """Return a scorer by its name, with or without a version.

    Raises:
        EvalFault: ``unknown_scorer``, ``scorer_version``, ``scorer_not_loadable``.
    """
    name, _, version = whole_name.partition("/")
    found = _OWN.get(name) or _loaded(name)
    if version and version != str(found.version):
        raise EvalFault(
            "scorer_version",
            f"the protocol wants {whole_name[:64]}, this version has {found.whole_name}",
            hint="score with the version of the package that the protocol was written for, or change the protocol",
        )
    return found


def _loaded(name: str) -> Named:
    point = added(ENTRY_POINT_GROUP, own=_OWN).get(name)
    if point is None:
        raise EvalFault(
            "unknown_scorer",
            f"there is no scorer {name[:64]!r}",
            hint=suggestion(name, scorer_names()),
        )
    scorer = load_added(point, _not_loadable)
    version = getattr(scorer, "version", 1)
    if not isinstance(version, int):
        raise _not_loadable(point, "its version is no whole number")
    settings = getattr(scorer, "settings", None)
    known = settings if isinstance(settings, type) and is_dataclass(settings) else None
    return Named(name=name, version=version, scorer=scorer, settings=known)


def _not_loadable(found: metadata.EntryPoint, why: str) -> EvalFault:
    return EvalFault(
        "scorer_not_loadable",
        f"the scorer {found.name!r} ({found.value}) cannot be loaded: {why[:200]}",
        hint="mend or uninstall the package that adds it",
    )


#: Without a judge, answers for the judge are scored by words; the score names its scorer.
_JUDGED = "judge"


@dataclass(frozen=True, kw_only=True)
class AnswerToScore:
    """An answer to score (``value`` in the type of the question, ``answer`` as text), and its dataset's protocol."""

    item: Item
    value: Any
    answer: str | None
    protocol: Mapping[str, Any] = field(default_factory=dict)


def score_value(
    item: Item,
    value: Any,
    answer: str | None,
    *,
    judge: AnswerJudge | None = None,
    protocol: Mapping[str, Any] | None = None,
) -> Score:
    """Score an episode's ``value`` and ``answer`` (both None: wrong) by the scorer in ``protocol``, else by its type's usual one.

    Raises:
        EvalFault: ``bad_protocol``, ``unknown_scorer``, ``scorer_version``, ``scorer_not_loadable``,
            ``item_without_answer``; ``bad_score``: an added scorer returns no valid score; ``no_judge``.
        BackendFault: the faults of the judge's model.
    """
    if (abstained := score_abstention(item, value)) is not None:
        return abstained
    kind = item.question.kind
    usual = kind if kind != "open" else _JUDGED if judge is not None else kinds.text_scorer_for(item)
    named, settings = _named(protocol or {}, kind) or (scorer_named(usual), {})
    context = Context(scorer=named.whole_name, settings=settings, judge=judge)
    instead = settings.get("instead", "text") if named.name == _JUDGED and judge is None else None
    if not instead:
        return _checked(named.scorer(item, value, answer, context), named)
    other = scorer_named(kinds.text_scorer_for(item) if instead == "text" else str(instead))
    score = other.scorer(item, value, answer, Context(scorer=other.whole_name))
    return _checked(replace(score, details={**score.details, "instead_of": named.whole_name}), other)


def _checked(score: Score, named: Named) -> Score:
    """Return the score if it is valid, as an added scorer may return anything. Raises EvalFault: ``bad_score``."""
    if not isinstance(score.correct, bool) or not 0 <= score.score <= 1:
        raise EvalFault(
            "bad_score",
            f"scorer {named.whole_name} says {str(score.correct)[:20]!r} with the score {str(score.score)[:20]}",
            hint="a score is between 0 and 1, and correct is true or false: mend the scorer",
        )
    return score


def score_all(
    answers: Sequence[AnswerToScore],
    *,
    judge: AnswerJudge | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[float, float], object] = lambda done, whole: None,
) -> list[Score]:
    """Return the scores of many answers, in their order. The judge gets them in a seeded order, ``workers`` at a time.

    ``progress`` is called with the number of scores so far and in all. Because of the order a change during judging (a
    server under load, a model that is replaced) does not affect one arm alone.

    Raises:
        EvalFault, BackendFault: as ``score_value``.
    """

    def scored(one: AnswerToScore) -> Score:
        return score_value(one.item, one.value, one.answer, judge=judge, protocol=one.protocol)

    order = list(range(len(answers)))
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, no secret
    width = 1 if judge is None else max(1, workers)
    scores: dict[int, Score] = {}
    # After a fault no other verdicts are requested; those so far are recorded.
    for place, score in zip(order, ordered_map(scored, (answers[at] for at in order), width=width), strict=True):
        scores[place] = score
        progress(len(scores), len(order))
    return [scores[place] for place in range(len(answers))]


def check_protocol(protocol: Mapping[str, Any]) -> None:
    """Check that a protocol's scorers exist and that their settings are valid.

    Raises:
        EvalFault: ``bad_protocol``, ``unknown_scorer``, ``scorer_version``, ``scorer_not_loadable``.
    """
    for kind in _scoring(protocol):
        named, settings = _named(protocol, str(kind)) or (None, {})
        if named is not None and named.settings is not None:
            Context(scorer=named.whole_name, settings=settings).read(named.settings)
        if settings.get("instead"):
            scorer_named(str(settings["instead"]))


def _named(protocol: Mapping[str, Any], kind: str) -> tuple[Named, Mapping[str, Any]] | None:
    entry = _scoring(protocol).get(kind)
    if entry is None:
        return None
    if isinstance(entry, str):
        return scorer_named(entry), {}
    if not isinstance(entry, Mapping) or not isinstance(entry.get("scorer"), str):
        raise EvalFault(
            "bad_protocol",
            f"the protocol's scoring of {kind!r} names no scorer",
            hint='give "interval/1", or {"scorer": "interval/1", ...}',
        )
    return scorer_named(entry["scorer"]), {name: value for name, value in entry.items() if name != "scorer"}


def _scoring(protocol: Mapping[str, Any]) -> Mapping[str, Any]:
    scoring = protocol.get("scoring", {})
    if not isinstance(scoring, Mapping):
        raise EvalFault("bad_protocol", "the protocol's scoring is no object", hint='give {"open": "judge/1", ...}')
    return scoring

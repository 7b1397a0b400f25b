"""How well blind guesses do on films that the prior has not learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from eval.datasets.items import Item
from eval.sandbox.asking.priors.chance import Constant, chance_of
from eval.sandbox.asking.priors.learned import TextPrior
from eval.scoring.scorers import score_value
from eval.statistics.bootstrap import mean_interval

_FOLDS = 5

#: Domain, kind and type; empty for all.
_Group: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class PriorLine:
    """Accuracies of blind guesses on a group of questions (``domain``, ``kind``, ``type``; empty for all).

    ``chance`` is a blind draw: of an option, an order, a number that the template's questions have; of stretches, the best
    constant guess. ``constant`` is the best constant guess for each template, ``learned`` the prior that learned from words,
    both from other films. ``low`` and ``high``: the interval of ``learned``, by film, None of a single one; ``over`` and its
    ends: what ``learned`` gains over ``chance``.
    """

    domain: str
    kind: str
    type: str
    questions: int
    films: int
    chance: float
    constant: float
    learned: float
    low: float | None
    high: float | None
    over: float
    over_low: float | None
    over_high: float | None

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


@dataclass(frozen=True, kw_only=True)
class _Guessed:
    item: Item
    chance: float
    constant: float
    learned: float


def measure_priors(
    items: Sequence[Item], durations: Mapping[str, float], *, others: Sequence[Item] = (), seed: int = 1
) -> list[PriorLine]:
    """Blind accuracies on questions, by type, by domain and kind, and for all.

    ``durations`` in seconds by video. Priors learn from ``others``, questions about other films; without them, films
    take turns: those of a fold are guessed by what is learned from the rest.
    """
    lengths = dict(durations)
    guessed = _guessed(items, others, lengths) if others else _in_folds(items, lengths)
    groups: dict[_Group, list[_Guessed]] = {}
    for one in guessed:
        domain, kind = one.item.domain or "", one.item.question.kind
        type_ = (one.item.template or "").partition("/")[0]
        for group in {(domain, kind, ""), (domain, "", type_), (domain, "", ""), ("", kind, ""), ("", "", "")}:
            groups.setdefault(group, []).append(one)
    return [_line(group, groups[group], seed) for group in sorted(groups, key=lambda group: (not group[0], group))]


def _in_folds(items: Sequence[Item], lengths: dict[str, float]) -> list[_Guessed]:
    films = sorted({item.video_id for item in items})
    fold_of = {film: number % min(_FOLDS, len(films)) for number, film in enumerate(films)}
    found: list[_Guessed] = []
    for fold in sorted(set(fold_of.values())):
        inside = [item for item in items if fold_of[item.video_id] == fold]
        found += _guessed(inside, [item for item in items if fold_of[item.video_id] != fold], lengths)
    return found


def _guessed(items: Sequence[Item], others: Sequence[Item], lengths: dict[str, float]) -> list[_Guessed]:
    constant, learned = Constant(others, lengths), TextPrior(others, lengths)
    found = []
    for item in items:
        fixed = float(score_value(item, constant.guess(item), None).correct)
        drawn = constant.drawn(item) if item.question.kind == "count" else chance_of(item)
        found.append(
            _Guessed(
                item=item,
                chance=fixed if drawn is None else drawn,
                constant=fixed,
                learned=float(score_value(item, learned.guess(item), None).correct),
            )
        )
    return found


def _line(group: _Group, guessed: Sequence[_Guessed], seed: int) -> PriorLine:
    films = [one.item.video_id for one in guessed]
    learned = mean_interval([one.learned for one in guessed], films, seed=seed, within=(0, 1), draws=2000)
    over = mean_interval([one.learned - one.chance for one in guessed], films, seed=seed, within=(-1, 1), draws=2000)
    return PriorLine(
        domain=group[0],
        kind=group[1],
        type=group[2],
        questions=len(guessed),
        films=len(set(films)),
        chance=sum(one.chance for one in guessed) / len(guessed),
        constant=sum(one.constant for one in guessed) / len(guessed),
        learned=learned.estimate,
        low=learned.low,
        high=learned.high,
        over=over.estimate,
        over_low=over.low,
        over_high=over.high,
    )

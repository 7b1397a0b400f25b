"""Where accuracy is lost: what each step of the ladder gains back, and what is still wrong with everything from the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from eval.statistics.bootstrap import Interval, mean_interval
from world_api.core.faults import EvalFault

if TYPE_CHECKING:
    from eval.tables.rows import SampleRow

TRUTH, LADDER = "oracle", "oracle:"
Part = Literal["operation", "together", "tools", "controller"]
_Place: TypeAlias = tuple[str, str, str, str, int]


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One step: what is answered from the truth (empty: nothing), on how many questions, and how many are right."""

    step: str
    questions: int
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A part of what is lost, in shares of all questions.

    ``operation``: what is gained when ``step`` alone is answered from the truth, so lost in its perception or retrieval.
    ``together``: what all operations gain from the truth beyond the sum of the steps measured. ``tools``: what the reference
    arm gets right more than this one where all is true; below 0 the tools help. ``controller``: what the reference
    arm gets wrong even so. All parts together are 1 less the accuracy on the perceived worlds, whichever steps were measured.
    """

    part: Part
    step: str
    lost: Interval


def ladder_of(
    rows: Sequence[SampleRow], *, arm: str, reference: str = "flat", built: str = "classical", seed: int = 1
) -> tuple[tuple[Rung, ...], tuple[Loss, ...]]:
    """The steps of an arm and what is lost where, over the questions that were asked on every one of its steps.

    Steps that overlap (``detect_objects`` and ``perception``) are all shown; ``together`` then takes back what is counted twice.

    Raises:
        EvalFault: ``no_ladder``: the arm did not run on perceived and on true worlds, or the reference on true ones.
    """
    scores = _scores(rows)
    own = {world: scores[arm, world] for world in _worlds(rows, arm, built)}
    ideal = scores.get((reference, TRUTH), {})
    shared = set(ideal).intersection(*own.values()) if own and ideal else set()
    if not shared or built not in own or TRUTH not in own:
        raise EvalFault(
            "no_ladder",
            f"arm {arm!r} and reference {reference!r} share no questions on {built} and {TRUTH} worlds",
            hint=f"run both on the worlds {built} and {TRUTH}, and the arm on some {LADDER}OPERATION",
        )
    places = sorted(shared)
    steps = [world for world in sorted(own) if world.startswith(LADDER)]
    rungs = [_rung(own[world], world, places, built) for world in (built, *steps, TRUTH)]

    def lost(part: Part, step: str, value: Callable[[_Place], float]) -> Loss:
        clusters = [place[1] for place in places]
        interval = mean_interval([value(place) for place in places], clusters, seed=seed)
        return Loss(part=part, step=step, lost=interval)

    def gained(step: str, place: _Place) -> float:
        return own[step][place] - own[built][place]

    losses = [lost("operation", step.removeprefix(LADDER), partial(gained, step)) for step in steps]
    losses += [
        lost("together", "", lambda place: gained(TRUTH, place) - sum(gained(step, place) for step in steps)),
        lost("tools", "", lambda place: ideal[place] - own[TRUTH][place]),
        lost("controller", "", lambda place: 1.0 - ideal[place]),
    ]
    return tuple(rungs), tuple(losses)


def _worlds(rows: Sequence[SampleRow], arm: str, built: str) -> list[str]:
    found = {row.world for row in rows if row.arm == arm}
    return [world for world in sorted(found) if world in (built, TRUTH) or world.startswith(LADDER)]


def _scores(rows: Sequence[SampleRow]) -> dict[tuple[str, str], dict[_Place, float]]:
    """By arm and world: of each question, budget and seed, whether it is right."""
    found: dict[tuple[str, str], dict[_Place, float]] = {}
    for row in rows:
        place = (row.dataset, row.video, row.item, row.budget, row.seed)
        found.setdefault((row.arm, row.world), {})[place] = float(row.correct)
    return found


def _rung(scores: Mapping[_Place, float], world: str, places: Sequence[_Place], built: str) -> Rung:
    step = "" if world == built else "all" if world == TRUTH else world.removeprefix(LADDER)
    right = sum(scores[place] for place in places)
    return Rung(step=step, questions=len(places), accuracy=right / len(places))

"""The oracle ladder: accuracy if single operations are answered from the truth, and how much each part loses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eval.statistics import Interval, mean_interval
from eval.tables.cells import SEED, interval_cell, share
from eval.tables.comparisons import P_CLUSTERED, PAIRS, Contrast, pairs_of
from eval.tables.study import Line, Rows, Study, grouped, videos, words
from eval.tables.table import CellsByKey, Figures, blank, figure

#: The true world, and the prefix of worlds with single operations from the truth.
TRUTH, STEP = "oracle", "oracle:"
Part = Literal["operation", "together", "tools", "controller"]
_Question = tuple[str, str, str, str, int]


@dataclass(frozen=True, kw_only=True)
class AccuracyLoss:
    """A part of the lost accuracy, as a share of all ``questions``. The parts sum to 1 less the accuracy on built worlds.

    ``operation``: the gain if only the operation ``step`` is answered from the truth; its perception or retrieval loses
    this. ``together``: the gain if all operations are, beyond the sum of the single gains. ``tools``: how much more
    the reference arm gets right than this arm on true worlds; below 0 the tools help. ``controller``: what the
    reference arm gets wrong even on true worlds.
    """

    part: Part
    step: str
    questions: int
    lost: Interval


def ladder_of(rows: Rows, *, arm: str, reference: str = "flat", built: str = "classical") -> list[AccuracyLoss]:
    """Return where an arm loses accuracy, over the questions that were asked on all of its kinds of world.

    Operations may overlap (``detect_objects`` and ``perception``); ``together`` then subtracts what is counted twice.
    ``built`` is the kind of world without truth. Empty if the arm did not run on worlds ``built`` and on true ones, or
    the reference arm not on true ones, or not on the same questions.
    """
    scores: dict[tuple[str, str], dict[_Question, float]] = {}
    for row in rows:
        question = (row.dataset, row.video, row.item, row.budget, row.seed)
        scores.setdefault((row.arm, row.world), {})[question] = float(row.correct)
    steps = sorted(world for name, world in scores if name == arm and world.startswith(STEP))
    own = {world: scores[arm, world] for world in (built, *steps, TRUTH) if (arm, world) in scores}
    ideal = scores.get((reference, TRUTH), {})
    shared = sorted(set(ideal).intersection(*own.values())) if built in own and TRUTH in own else []
    if not shared:
        return []
    right = {world: np.array([held[at] for at in shared]) for world, held in own.items()}
    reference_right, all_true = np.array([ideal[at] for at in shared]), right[TRUTH]
    gains = {world.removeprefix(STEP): right[world] - right[built] for world in steps}
    parts: list[tuple[Part, str, NDArray[np.float64]]] = [("operation", step, gain) for step, gain in gains.items()]
    parts += [
        ("together", "", all_true - right[built] - sum(gains.values())),
        ("tools", "", reference_right - all_true),
        ("controller", "", 1.0 - reference_right),
    ]
    videos_of = [question[1] for question in shared]
    losses = []
    for part, step, values in parts:
        lost = mean_interval(values.tolist(), videos_of, seed=SEED)
        losses.append(AccuracyLoss(part=part, step=step, questions=len(shared), lost=lost))
    return losses


def _is_built(world: str) -> bool:
    """Whether worlds of this name are made from pixels only."""
    return world != TRUTH and not world.startswith(STEP)


#: Accuracy on worlds from pixels, with one operation true, and on true worlds.
LADDER: Figures[Line] = (
    *words("dataset", "budget", "arm"),
    figure("world", "text", title="answered from the truth"),
    figure("n", "count", lambda step: len(step.rows)),
    figure("videos", "count", lambda step: len(videos(step.rows)), aside=True),
    figure("accuracy", "share"),
    figure("pairs", "count", aside=True),
    figure("gain", "points", about="over the worlds that are built from pixels, paired"),
    figure("p_clustered", "p", title="p, clustered"),
)


def rungs(study: Study) -> Iterator[Line]:
    """Yield the rows of the ladder table: for each dataset, budget and arm, one for each kind of world it ran on.

    The kinds are worlds built from pixels, those with some operations answered from the truth (one kind for each choice of
    operations), and the true world. ``gain`` is the paired difference in accuracy from the worlds built from pixels; if
    these are of several profiles, all rows are repeated for each. An arm has rows only if it ran both on worlds from
    pixels and on others.
    """
    for (dataset, budget, arm), own in grouped(study.rows, lambda row: (row.dataset, row.budget, row.arm)).items():
        worlds = grouped(own, lambda row: row.world)
        built = [world for world in worlds if _is_built(world)]
        for below in built:
            names = {below: f"nothing ({below})" if len(built) > 1 else "nothing"}
            names |= {world: world.removeprefix(STEP) for world in sorted(worlds) if world.startswith(STEP)}
            names |= {TRUTH: "everything"} if TRUTH in worlds else {}
            for world, name in names.items() if len(names) > 1 else ():
                rows, why = worlds[world], blank("it is what the others are compared with")
                cells: CellsByKey = {"dataset": dataset, "budget": budget, "arm": arm, "world": name}
                cells |= {"accuracy": share(rows)}
                cells |= dict.fromkeys(("pairs", "gain", "p_clustered"), why)
                if world != below:
                    pairs = pairs_of(rows, worlds[below], across=("world",))
                    gain = Contrast(setting=rows[0].setting, arm=arm, against=below, pairs=pairs)
                    cells |= {shown.column.key: shown.cell(gain) for shown in (PAIRS, P_CLUSTERED)}
                    cells |= {"gain": gain.difference()}
                yield Line(rows=rows, cells=cells)


LOSSES: Figures[Line] = (
    *words("dataset", "budget", "arm"),
    figure("reference", "text", about="the arm whose errors on true worlds are the controller's"),
    figure("part", "text", title="lost in", about="an operation, operations together, tools, or the controller"),
    figure("questions", "count", about="asked on every rung, times seeds"),
    figure("lost", "points"),
)


def losses(study: Study) -> Iterator[Line]:
    """Yield each arm's errors, by part: operations (perception and retrieval), tools and controller."""
    for (dataset, budget), own in grouped(study.rows, lambda row: (row.dataset, row.budget)).items():
        reference = study.baseline_in(own) or ""
        built = [world for world in dict.fromkeys(row.world for row in own) if _is_built(world)]
        for arm in grouped(own, lambda row: row.arm):
            behind = [row for row in own if row.arm in (arm, reference)]
            place = {"dataset": dataset, "budget": budget, "arm": arm, "reference": reference}
            for world in built:
                for loss in ladder_of(own, arm=arm, reference=reference, built=world):
                    part = {"operation": loss.step, "together": "operations together"}.get(loss.part, loss.part)
                    lost = interval_cell(loss.lost)
                    yield Line(rows=behind, cells={**place, "part": part, "questions": loss.questions, "lost": lost})

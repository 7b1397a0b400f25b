"""The published measures of each kind of answer, out of the details of scores, for tables.

An answer that was not given, or is of no use, counts against every measure that has a least value (exact, IoU, recall and
F1 are 0); errors and tau are those of the answers that were given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from eval.scoring.kinds import RECALL


@dataclass(frozen=True, kw_only=True)
class ShownMeasure:
    """A measure under its name in ``Score.details``. ``at_least`` is what an answer without it counts as; None: it is left out.

    ``within`` are the least and the greatest value it can have: no mean and no end of an interval lies beyond them.
    """

    name: str
    title: str
    unit: Literal["share", "number", "seconds"]
    about: str
    at_least: float | None = 0.0
    within: tuple[float, float] = (0.0, 1.0)

    def of(self, details: Mapping[str, Any]) -> float | None:
        """Its value in one score; None where it is left out."""
        value = details.get(self.name)
        return float(value) if isinstance(value, bool | int | float) else self.at_least


_EXACT = "right to the last: the number, the whole order, the same words"
_BY_KIND: dict[str, tuple[ShownMeasure, ...]] = {
    "interval": (
        ShownMeasure(name="iou", title="mean IoU", unit="share", about="of the given with the nearest true one"),
    ),
    "count": (
        ShownMeasure(name="exact", title="exact", unit="share", about=_EXACT),
        ShownMeasure(
            name="absolute_error",
            title="mean error",
            unit="number",
            about="without sign, of given numbers",
            at_least=None,
            within=(0.0, math.inf),
        ),
    ),
    "order": (
        ShownMeasure(name="exact", title="exact", unit="share", about=_EXACT),
        ShownMeasure(
            name="tau",
            title="Kendall's tau",
            unit="number",
            about="tau-a, of given orders",
            at_least=None,
            within=(-1.0, 1.0),
        ),
    ),
    "open": (
        ShownMeasure(name="exact", title="exact", unit="share", about=_EXACT),
        ShownMeasure(name="f1", title="token F1", unit="share", about="as the scorer has it"),
    ),
}


def measures_of(kind: str, details: Sequence[Mapping[str, Any]]) -> tuple[ShownMeasure, ...]:
    """The measures that scores of one kind of answer have; none for choices and judged answers, which accuracy says it all of."""
    names = list(dict.fromkeys(name for one in details for name in one))
    shown = [measure for measure in _BY_KIND.get(kind, ()) if measure.name in names]
    if kind == "interval":
        shown += [_recall(name) for name in sorted(name for name in names if name.startswith(RECALL))]
    return tuple(shown)


def _recall(name: str) -> ShownMeasure:
    threshold = name.removeprefix(RECALL)
    return ShownMeasure(
        name=name, title=f"R@1, IoU {threshold}", unit="share", about=f"answers with an IoU of {threshold} or more"
    )

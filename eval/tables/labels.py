"""Labels that people gave to open answers of a run: ``RUN/labels.json``, which ``videoworld eval label RUN --take`` writes.

It is a file of labelled pairs. A label is of an answer to a question about a video, whoever gave it; it counts for the samples that
answered just so, of the arms of which it was drawn (of all, where it does not say of which).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from eval.runs.reading import Run
from eval.scoring.kinds import given_text
from eval.scoring.labels import answer_key, own_pairs
from eval.tables.rows import SampleRow
from world_api.core.faults import EvalFault

LABELS = "labels.json"


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What people say of samples, by their keys; ``why`` says why there is nothing."""

    right: Mapping[str, bool] = field(default_factory=dict)
    why: str = "no answer of it was labelled"


def labels_of(run: Run, rows: Iterable[SampleRow]) -> Labels:
    """The labels of a run's samples. A file that is not labelled to its end is none."""
    path = run.folder.root / LABELS
    if not path.exists():
        return Labels()
    try:
        pairs = {pair.id: pair for pair in own_pairs(path)}
    except EvalFault as fault:
        return Labels(why=fault.message)
    found = {}
    for row in rows:
        item = run.items[row.dataset, row.item]
        said = given_text(row.value, None) if row.kind == "open" and item.answer is not None else None
        pair = pairs.get(answer_key(item, said)) if said is not None else None
        if pair is not None and (not pair.arms or row.arm_name in pair.arms):
            found[row.sample] = pair.right
    return Labels(right=found)

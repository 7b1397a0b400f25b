"""Labels that people gave to open answers of a run: ``RUN/labels.json``, the file that ``videoworld eval label`` draws.

A label is of a question and an answer, whoever gave it, so it holds for every sample that answered the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from eval.runs.reading import Run
from eval.scoring.judging.pairs import read_pairs
from eval.scoring.kinds.texts import given_text
from eval.tables.rows import SampleRow
from world_api.core.faults import EvalFault

LABELS = "labels.json"


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What people say of samples, by their keys; ``why`` says why there is nothing."""

    right: Mapping[str, bool] = field(default_factory=dict)
    why: str = "no answer of it was labelled"


def labels_of(run: Run, rows: Iterable[SampleRow]) -> Labels:
    """The labels of a run's samples. A file that is not labelled to its end yet is none."""
    path = run.folder.root / LABELS
    if not path.exists():
        return Labels()
    try:
        said = {(pair.question, pair.answer): pair.right for pair in read_pairs(path)}
    except EvalFault as fault:
        return Labels(why=fault.message)
    found = {}
    for row in rows:
        answer = given_text(row.value, None) if row.kind == "open" else None
        label = said.get((run.items[row.dataset, row.item].question.text, answer or ""))
        if label is not None:
            found[row.sample] = label
    return Labels(right=found)

"""Labels that people gave to answers of a run, in ``RUN/labels.jsonl``.

A line each: ``{"schema_version": 1, "sample": KEY, "right": true, "by": "somebody"}``.
"""

from __future__ import annotations

from dataclasses import dataclass

from eval.runs.lines import LineFile
from eval.runs.places import RunFolder

LABELS = "labels.jsonl"


@dataclass(frozen=True, kw_only=True)
class LabelLine:
    """A person's word on one sample; ``by`` says whose."""

    sample: str
    right: bool
    by: str = ""


def labels_of(folder: RunFolder) -> dict[str, bool]:
    """The labels by sample, none where nobody gave any; of several for one sample the last counts.

    Raises:
        EvalFault: ``run_damaged``, ``other_schema_version``.
    """
    return {line.sample: line.right for line in LineFile(folder.root / LABELS, LabelLine)}

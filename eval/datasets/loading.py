"""Loading a dataset: a folder or file in the project's own format, or others' files through an adapter."""

from __future__ import annotations

from pathlib import Path

from eval.datasets.items import Dataset
from eval.datasets.own_format import DATASET_FILE, load_folder, load_questions
from eval.datasets.records import item_from_record, item_record
from world_api.core.faults import EvalFault

__all__ = ["item_from_record", "item_record", "load_dataset"]


def load_dataset(named: str | Path, *, videos: Path | None = None, annotations: Path | None = None) -> Dataset:
    """Load a dataset.

    ``named`` is a folder with ``dataset.json``, that file, or a ``.jsonl`` file of questions. ``videos`` is the folder of the videos.

    Raises:
        EvalFault: ``no_such_dataset``, ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``, ``other_schema_version``.
    """
    path = Path(named)
    if path.is_dir() and (path / DATASET_FILE).exists():
        return load_folder(path, videos=videos)
    if path.name == DATASET_FILE and path.exists():
        return load_folder(path.parent, videos=videos)
    if path.suffix == ".jsonl" and path.exists():
        return load_questions(path, videos=videos)
    raise EvalFault(
        "no_such_dataset",
        f"there is no dataset {str(named)[:200]!r}",
        hint=f"give a folder with {DATASET_FILE}, or a .jsonl file of questions",
    )

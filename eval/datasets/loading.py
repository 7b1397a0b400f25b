"""Loading a dataset: a folder or file in the project's own format, or others' files through an adapter."""

from __future__ import annotations

from pathlib import Path

from eval.datasets.items import Dataset
from eval.datasets.own_format import DATASET_FILE, load_folder, load_questions
from eval.datasets.reading import expanded, unreadable
from eval.datasets.records import item_from_record, item_record
from eval.datasets.texts.worlds import ensure_text_worlds
from world_api.core.faults import EvalFault

__all__ = ["ensure_text_worlds", "item_from_record", "item_record", "load_dataset"]

_DESCRIBED = (".yaml", ".yml")


def load_dataset(named: str | Path, *, videos: Path | None = None, annotations: Path | None = None) -> Dataset:
    """Load a dataset.

    ``named`` is one of: a folder with ``dataset.json`` (or that file), or a ``.jsonl`` file of questions, in the project's own
    format; a ``.yaml`` file that names an adapter and its files (``described.py``); ``ADAPTER:FILE``; or an adapter's name, with
    its ``annotations``. ``videos`` is the folder of the videos, in any layout; it goes before what a file says.

    Raises:
        EvalFault: ``no_such_dataset``, ``no_such_adapter``, ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``,
            ``other_schema_version``, ``no_annotations``, ``no_answers``.
    """
    path = Path(named)
    if _is_there(path / DATASET_FILE):
        return load_folder(path, videos=videos)
    if _is_there(path):
        if path.name == DATASET_FILE:
            return load_folder(path.parent, videos=videos)
        if path.suffix == ".jsonl":
            return load_questions(path, videos=videos)
        if path.suffix in _DESCRIBED:
            from eval.datasets.described import load_described

            return load_described(path, videos=videos)
    return _adapted(str(named), videos, annotations)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError as error:
        raise unreadable(path, error) from None
    except (OSError, ValueError):  # a name no file system takes
        return False


def _adapted(named: str, videos: Path | None, annotations: Path | None) -> Dataset:
    from eval.datasets.adapters import ADAPTERS, adapter_named
    from eval.datasets.adapters.raw import Sources
    from eval.datasets.assembling import Wanted
    from eval.datasets.described import load_adapted

    name, _, file = named.partition(":")
    if name not in ADAPTERS or not (file or annotations):
        hint = f"give a folder with {DATASET_FILE}, a .jsonl file of questions, a .yaml file, or ADAPTER:FILE with one of: "
        if name in ADAPTERS:
            hint = f"give its annotations as well: {name}:FILE, "
        raise EvalFault("no_such_dataset", f"there is no dataset {named[:200]!r}", hint=hint + ", ".join(ADAPTERS))
    sources = Sources(annotations=annotations or expanded(file))
    wanted = Wanted(name=name, videos=videos)
    return load_adapted(adapter_named(name), sources, wanted)

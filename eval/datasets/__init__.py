"""Datasets: questions about videos with their reference answers.

``load_dataset`` reads the project's own format (``items``, ``loading``), or published annotations through an adapter
(``benchmarks``, ``dialogues``) with a fixed protocol (``protocols``). ``availability_record`` finds the videos and
worlds that are on this machine. Dialogues have no video: ``ensure_text_worlds`` makes their worlds from the text.
"""

from eval.datasets.adapters import Raw, load_protocol, packaged_protocols
from eval.datasets.availability import availability_record
from eval.datasets.benchmarks import ADAPTERS
from eval.datasets.dialogues import ensure_text_worlds
from eval.datasets.files import ENDINGS, VideoFolder
from eval.datasets.items import (
    OPTIONAL,
    REQUIRED,
    BadItem,
    Dataset,
    Item,
    SkippedEntry,
    VideoFile,
    item_from_record,
    item_record,
)
from eval.datasets.loading import Described, assemble, load_dataset, subtitles_to_build_with

__all__ = [
    "ADAPTERS", "ENDINGS", "OPTIONAL", "REQUIRED", "BadItem", "Dataset", "Described", "Item", "Raw",
    "SkippedEntry", "VideoFile", "VideoFolder", "assemble", "availability_record", "ensure_text_worlds",
    "item_from_record", "item_record", "load_dataset", "load_protocol", "packaged_protocols", "subtitles_to_build_with",
]  # fmt: skip

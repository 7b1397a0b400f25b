"""``videoworld compare``: ask a user's questions about a video, flat and hierarchical, and report them like any run.

::

    OUT/questions/       the questions, as a dataset
    OUT/config.yaml      the configuration
    OUT/run/             the run; it is resumed where it stopped
    OUT/report.html      the page
    OUT/tables/          its tables as LaTeX and CSV
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.datasets.files import ENDINGS
from eval.datasets.items import SCHEMA_VERSION, BadItem, Item, item_from_record, item_record
from eval.datasets.loading import read_items
from eval.report.page import Choices, WrittenReport, write_report
from eval.runs.scoring import ScoredRun, begin_run
from eval.runs.worlds import PERCEIVED
from world_api.api import text_embedder, world_of_file
from world_api.core.canonical import json_line
from world_api.core.faults import EvalFault, StoreFault
from world_api.core.files import world_lock, write_atomically
from world_api.core.identifiers import video_id_from_file_name
from world_api.media.decoder import MediaWorker
from world_api.search.searcher import prepare
from world_api.terminal import progress_bars
from world_api.world.storage import SESSIONS, Manifest, read_manifest, write_manifest
from world_api.world.store import World, world_hash
from world_api.world.tables import SESSION_TABLES

if TYPE_CHECKING:
    from world_api.build import Progress

_HINT = 'one question a line, such as {"question": "When does a person enter?", "kind": "interval"}'


def own_questions(path: Path, video_id: str) -> list[Item]:
    """Read the questions of a file, all about one video.

    A line needs a ``question``. Without an ``id`` it gets ``q`` and the line's number, without a ``kind`` it is
    ``choice`` if it has options, else ``open``, without an ``answer`` it is not scored. Questions about other videos are
    left out.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``; ``bad_dataset``, with the lines of up to eight faults.
    """

    def parse(value: Any, number: int) -> Item | None:
        if not isinstance(value, Mapping):
            raise BadItem(["it is not a JSON object"])
        if "question" not in value:
            raise BadItem(["it has no `question`"])
        usual = {
            "schema_version": SCHEMA_VERSION,
            "id": f"q{number}",
            "video": video_id,
            "kind": "choice" if value.get("options") else "open",
            "answer": None,
        }
        item = item_from_record({**usual, **value})
        return item if item.video_id == video_id else None

    return read_items(path, parse, hint=_HINT)


def compare_own(
    video: Path,
    questions: Path,
    out: Path,
    *,
    store: Path,
    libraries: Sequence[str],
    exposure: str | None = None,
    settings: Mapping[str, Any],
    as_json: bool = False,
) -> tuple[ScoredRun, WrittenReport | None]:
    """Ask the questions, score the answers and write the page if the run is complete; earlier answers are kept.

    ``libraries`` are names or folders, ``exposure`` is that of ``hier``, and ``settings`` are other keys of the
    configuration. ``as_json``: progress is shown as lines of JSON.

    Raises:
        EvalFault: ``no_such_video``, ``bad_dataset`` and other faults of the questions; the faults of a run.
        MediaFault: ``not_a_video`` and others; the file is checked before anything is written.
        VideoWorldError: the faults of building the world.
    """
    _must_be_a_video(video)
    hier = {"name": "hier", "system": "hier", "libraries": list(libraries), "exposure": exposure}
    named = {"libraries": list(map(_library, libraries)), "arms": ["flat", hier], "store": str(store.resolve())}
    configuration = _write_configuration(video, questions, out, {**named, **settings})
    with progress_bars() as bars:
        _take_stored_world(video, store, bars)
    done = begin_run(configuration, out=out / "run", as_json=as_json)
    if not done.outcome.complete or done.scored is None:
        return done, None
    return done, write_report(done.folder, out, choices=Choices(store=store, first_view="questions"))


def _take_stored_world(video: Path, store: Path, building: Progress) -> None:
    """Copy the store's world of this file, if it has one, to where the run expects it.

    The copy does not change if a session is committed to the original. Earlier commits are left out, so that no arm
    reads an earlier answer. If the world cannot be copied, the run builds it.
    """
    place, video_id = store / PERCEIVED, _id_of(video)
    world = None if (place / video_id).exists() else world_of_file(video, store)
    if world is None or world.manifest.profile != PERCEIVED:
        return
    with world_lock(place, video_id, waiting=building.say):
        part = place / f".{video_id}.copy"
        shutil.rmtree(part, ignore_errors=True)
        try:
            shutil.copytree(world.folder, part, symlinks=True, ignore=shutil.ignore_patterns(SESSIONS))
            left_out = _leave_out_committed(part, world.manifest)
            World(part, read_manifest(part)).verify()
            part.rename(place / video_id)
            prepare(place, video_id, text_embedder())
        except (OSError, StoreFault) as error:
            shutil.rmtree(part, ignore_errors=True)
            building.say(f"the world {video_id} of {store} cannot be copied, so it is built: {error}")
        else:
            without = ", without what sessions committed to it" if left_out else ""
            building.say(f"taking the world {video_id} of {store}{without}")


def _leave_out_committed(folder: Path, manifest: Manifest) -> bool:
    """Remove from a copied world what sessions committed; return whether there was any.

    Raises OSError, StoreFault: a file cannot be removed, read or written.
    """
    files = [entry for entry in manifest.files if entry.table not in SESSION_TABLES]
    if len(files) == len(manifest.files):
        return False
    digest = world_hash(folder, manifest.video, files, manifest.stages)
    write_manifest(folder, manifest.model_copy(update={"files": files, "world_hash": digest}))
    for table in SESSION_TABLES:
        for entry in manifest.files_of(table):
            (folder / entry.path).unlink()
    return True


def _must_be_a_video(path: Path) -> None:
    """Check that the file is a video, by probing it in a separate process, and that its name ends like one.

    Raises EvalFault: ``no_such_video``; MediaFault: the faults of probing.
    """
    if not path.is_file():
        raise EvalFault("no_such_video", f"there is no video {str(path)[:200]}", hint="give a video file")
    worker = MediaWorker()
    try:
        worker.probe(path)
    finally:
        worker.close()
    if path.suffix.lower() not in ENDINGS:
        what = f"{path.name[:200]} is a video, but its name does not end like one"
        raise EvalFault("no_such_video", what, hint=f"give it one of the usual endings: {', '.join(ENDINGS)}")


def _write_configuration(video: Path, questions: Path, out: Path, settings: Mapping[str, Any]) -> Path:
    """Write the questions as a dataset, and the configuration with ``settings``; return the path of the configuration.

    Raises EvalFault: as ``own_questions``; StoreFault: ``store_not_writable``, ``disk_full``.
    """
    folder, video_id = out / "questions", _id_of(video)
    lines = "".join(json_line(item_record(item)) + "\n" for item in own_questions(questions, video_id))
    write_atomically(folder / "questions.jsonl", lines.encode())
    dataset = {
        "schema_version": SCHEMA_VERSION,
        "name": "own",
        "questions": "questions.jsonl",
        "videos": {video_id: {"file": video.name}},
    }
    write_atomically(folder / "dataset.json", (json_line(dataset) + "\n").encode())
    document = {
        "schema_version": 1,
        "name": f"{video_id}-flat-against-hier"[:64],
        "datasets": [{"path": str(folder.resolve()), "videos": str(video.resolve().parent)}],
        "worlds": [PERCEIVED],
        **settings,
    }
    path = out / "config.yaml"
    # JSON is YAML, and quotes any name safely.
    write_atomically(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
    return path


def _id_of(video: Path) -> str:
    return video_id_from_file_name(video.stem)


def _library(name: str) -> str:
    """Return a library's name unchanged, or a folder's absolute path, as the configuration is in another folder."""
    return str(Path(name).resolve()) if Path(name).is_dir() else name

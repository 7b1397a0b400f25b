"""Which videos and worlds of a dataset are on this machine, and which of its questions can be asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eval.datasets.dialogues import PROFILE
from eval.datasets.items import Dataset, VideoFile
from tool_induction.domains import packaged_domains
from tool_induction.domains.domain import PlannedQuestion, SplitName, leaks
from tool_induction.domains.domain_file import load_domain
from world_api.core.faults import StoreFault, ToolFault

if TYPE_CHECKING:
    from world_api.world.storage import Manifest


#: other: the world of that id was made from another file; unfinished: the video is still being recorded.
WorldState = Literal["there", "missing", "other", "unfinished", "damaged"]
#: The states from best to worst; of several worlds of a video the best one counts.
_BEST: tuple[WorldState, ...] = ("there", "unfinished", "other", "damaged", "missing")
#: Subfolders of a store in which runs keep the worlds of each profile.
RUN_PROFILES = ("oracle", "classical", "endpoint")


def availability_record(dataset: Dataset, store: Path, *, bad_scoring: str = "") -> dict[str, Any]:
    """Return the state of a dataset's worlds in a store and its subfolders named after profiles, as JSON.

    It has counts of questions, videos and worlds, the ids of questions whose evidence begins after the last second of
    their world (``late``), and messages about questions that their split does not allow (``leaks``). ``bad_scoring`` is
    the message of a fault of the dataset's scorers, or "".

    Raises StoreFault: ``bad_video_id``.
    """
    from world_api.build.truth import truth_path

    items, files = dataset.items, dataset.videos
    states: dict[str, WorldState] = {}
    profiles: Counter[str] = Counter()
    ends: dict[str, float] = {}
    stores = [store, *(store / name for name in RUN_PROFILES if (store / name).is_dir())]
    for video_id in sorted({item.video_id for item in items}):
        found = [_look(place, files.get(video_id, VideoFile(video_id=video_id))) for place in stores]
        states[video_id] = min((state for state, _ in found), key=_BEST.index)
        there = [manifest for _, manifest in found if manifest is not None]
        profiles.update(manifest.profile for manifest in there)
        ends[video_id] = max((manifest.video.duration for manifest in there), default=math.inf)
    videos = [files[video_id] for video_id in states if video_id in files]
    known, missing, counts = set(packaged_domains()), set(dataset.missing), Counter(states.values())
    protocol = {key: dataset.protocol[key] for key in ("name", "hash") if key in dataset.protocol}
    return {
        "name": dataset.name,
        "hash": dataset.hash,
        "protocol": protocol or None,
        "questions": len(items),
        "askable": sum(item.video_id not in missing or states[item.video_id] == "there" for item in items),
        "kinds": _counted(item.question.kind for item in items),
        "domains": _counted(item.domain for item in items),
        "contents": _counted(item.content for item in items),
        "splits": _counted(item.split for item in items),
        "as_of": sum(item.question.as_of is not None for item in items),
        "with_evidence": sum(bool(item.spans) for item in items),
        "left_out": {"questions": len(dataset.left_out), "reasons": _counted(one.reason for one in dataset.left_out)},
        "late": [item.id for item in items if any(span.start > ends[item.video_id] for span in item.spans)],
        "unknown_domains": sorted({item.domain for item in items if item.domain} - known),
        "leaks": list(_leaks(dataset, known)),
        "bad_scoring": bad_scoring,
        "videos": {
            "asked_about": len(states),
            "there": sum(video.is_there and video.text is None for video in videos),
            "texts": sum(video.text is not None for video in videos),
            "with_subtitles": sum(video.subtitles is not None for video in videos),
            "with_truth": sum(video.path is not None and truth_path(video.path).is_file() for video in videos),
            "missing": sorted(missing),
            "missing_hash": dataset.missing_hash,
        },
        "worlds": {
            "store": str(store),
            **{state: counts[state] for state in ("there", "missing", "other", "unfinished", "damaged")},
            "profiles": dict(sorted(profiles.items())),
            "states": states,
        },
    }


def _leaks(dataset: Dataset, packaged: set[str]) -> Iterator[str]:
    """Yield messages: a question's video or template is in another split of its domain (only domains in ``packaged``)."""
    groups: dict[tuple[str, SplitName], list[PlannedQuestion]] = {}
    for item in dataset.items:
        if item.split is not None and item.domain in packaged:
            text, template = item.question.text, item.template or ""
            question = PlannedQuestion(video_id=item.video_id, question=text, template=template)
            groups.setdefault((item.domain, item.split), []).append(question)
    for (domain, split), questions in sorted(groups.items()):
        try:
            yield from (leak.message for leak in leaks(load_domain(domain), split, questions))
        except ToolFault as fault:
            yield fault.message


def _look(store: Path, video: VideoFile) -> tuple[WorldState, Manifest | None]:
    """Return the state of a video's world in one store ("other": made from another file), and its readable manifest or None."""
    from world_api.world.storage import read_manifest
    from world_api.world.store import world_folder

    try:
        manifest = read_manifest(world_folder(store, video.video_id))
    except StoreFault as fault:
        if fault.code == "bad_video_id":
            raise
        return ("missing" if fault.code == "no_such_world" else "damaged"), None
    if video.text is not None:
        same = manifest.profile == PROFILE and manifest.source.sha256 == video.text.sha256
        return ("there" if same else "other"), manifest
    try:
        size = video.path.stat().st_size if video.path is not None else None
    except OSError:
        size = None
    # Files are compared by size only: computing the hash of a long video would take too long.
    if manifest.profile == PROFILE or (size is not None and size != manifest.source.bytes):
        return "other", manifest
    return ("there" if manifest.complete else "unfinished"), manifest


def _counted(values: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter("none" if value is None else value for value in values).items()))

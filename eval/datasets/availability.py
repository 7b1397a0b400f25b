"""Which videos and worlds of a dataset are on this machine, and which of its questions can be asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class Availability:
    """The state of a dataset's worlds by video id, and problems of its questions.

    ``profiles`` are those of the worlds found. ``late`` are ids of questions whose evidence begins after the last
    second of the world; ``leaks`` are messages about questions that their split does not allow; ``bad_scoring`` is
    the message of a fault of the dataset's scorers, or "".
    """

    dataset: Dataset
    store: Path
    worlds: Mapping[str, WorldState]
    profiles: Mapping[str, tuple[str, ...]]
    late: tuple[str, ...] = ()
    unknown_domains: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    bad_scoring: str = ""

    def videos(self) -> tuple[str, ...]:
        """Return the ids of the videos with questions, sorted."""
        return tuple(sorted({item.video_id for item in self.dataset.items}))

    def askable(self) -> int:
        """Return how many questions can be asked now: those whose video or world is on this machine."""
        missing = set(self.dataset.missing)
        return sum(item.video_id not in missing or self.worlds[item.video_id] == "there" for item in self.dataset.items)

    def record(self) -> dict[str, Any]:
        """Return the JSON form, with counts of questions, videos and worlds."""
        from world_api.build.truth import truth_path

        data = self.dataset
        videos = [data.videos[video_id] for video_id in self.videos() if video_id in data.videos]
        states = Counter(self.worlds.values())
        return {
            "name": data.name,
            "hash": data.hash,
            "protocol": {key: data.protocol[key] for key in ("name", "hash") if key in data.protocol} or None,
            "questions": len(data.items),
            "askable": self.askable(),
            "kinds": _counted(item.question.kind for item in data.items),
            "domains": _counted(item.domain for item in data.items),
            "contents": _counted(item.content for item in data.items),
            "splits": _counted(item.split for item in data.items),
            "as_of": sum(item.question.as_of is not None for item in data.items),
            "with_evidence": sum(bool(item.spans) for item in data.items),
            "left_out": {"questions": len(data.left_out), "reasons": _counted(item.reason for item in data.left_out)},
            "late": list(self.late),
            "unknown_domains": list(self.unknown_domains),
            "leaks": list(self.leaks),
            "bad_scoring": self.bad_scoring,
            "videos": {
                "asked_about": len(self.videos()),
                "there": sum(video.is_there and video.text is None for video in videos),
                "texts": sum(video.text is not None for video in videos),
                "with_subtitles": sum(video.subtitles is not None for video in videos),
                "with_truth": sum(video.path is not None and truth_path(video.path).is_file() for video in videos),
                "missing": list(data.missing),
                "missing_hash": data.missing_hash,
            },
            "worlds": {
                "store": str(self.store),
                **{state: states.get(state, 0) for state in ("there", "missing", "other", "unfinished", "damaged")},
                "profiles": dict(sorted(Counter(name for names in self.profiles.values() for name in names).items())),
                "states": dict(self.worlds),
            },
        }


def check_availability(dataset: Dataset, store: Path, *, bad_scoring: str = "") -> Availability:
    """Return the state of a dataset's worlds in a store and its subfolders named after profiles, with ``bad_scoring``.

    Raises StoreFault: ``bad_video_id``.
    """
    states: dict[str, WorldState] = {}
    profiles: dict[str, tuple[str, ...]] = {}
    ends: dict[str, float] = {}
    stores = [store, *(store / name for name in RUN_PROFILES if (store / name).is_dir())]
    for video_id in sorted({item.video_id for item in dataset.items}):
        video = dataset.videos.get(video_id, VideoFile(video_id=video_id))
        found = [_look(place, video) for place in stores]
        states[video_id] = min((state for state, _ in found), key=_BEST.index)
        there = [manifest for _, manifest in found if manifest is not None]
        if there:
            profiles[video_id] = tuple(sorted(manifest.profile for manifest in there))
            ends[video_id] = max(manifest.video.duration for manifest in there)
    known = set(packaged_domains())
    return Availability(
        dataset=dataset,
        store=store,
        worlds=states,
        profiles=profiles,
        late=tuple(
            item.id
            for item in dataset.items
            if any(span.start > ends.get(item.video_id, math.inf) for span in item.spans)
        ),
        unknown_domains=tuple(sorted({item.domain for item in dataset.items if item.domain} - known)),
        leaks=tuple(_leaks(dataset, known)),
        bad_scoring=bad_scoring,
    )


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

"""The worlds of a run: build missing worlds, open sessions on them.

Each profile has its own store, since a video has the same id in all of them: ``STORE/oracle/ID``,
``STORE/classical/ID``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eval.datasets.dialogues import text_world_is_there, write_text_world
from eval.datasets.items import Item, VideoFile
from eval.datasets.loading import subtitles_to_build_with
from world_api.core.faults import EvalFault, OperationFault, StoreFault
from world_api.core.identifiers import is_name, suggestion
from world_api.core.spans import TimeSpan
from world_api.operations import EVERY_OPERATION, OPERATIONS, run
from world_api.options import NEURAL
from world_api.session.session import Registration, Session
from world_api.world.tracks import Track

if TYPE_CHECKING:
    from world_api.build import Progress
    from world_api.core.ports import Clock
    from world_api.session.vision import VisionConfig


TRUE, PERCEIVED = "oracle", "classical"
PROFILES = (TRUE, PERCEIVED)
#: Prefix of a world that is classical except for an operation answered from the truth.
LADDER = "oracle:"
#: Folder in the store for subtitles that are converted from a dataset's own format.
_SUBTITLES = ".subtitles"


def profiles_of(world: str) -> tuple[str, ...]:
    """Return the profiles that a kind of world (``Cell.world``) needs. Raises EvalFault: ``unknown_world``, ``unknown_rung``."""
    if world in {*PROFILES, NEURAL}:
        return (world,)
    if not world.startswith(LADDER):
        what = f"there is no way {world[:60]!r} of making worlds"
        raise EvalFault("unknown_world", what, hint=suggestion(world, [*PROFILES, NEURAL, f"{LADDER}OPERATION"]))
    operations_on(world.removeprefix(LADDER))
    return PROFILES


def open_for(
    store: Path, world: str, item: Item, *, groups: Collection[str] = (), seeing: VisionConfig | None = None
) -> Session:
    """Open a session on the world of a question's video, as of the question's moment; what it writes stays in memory.

    ``groups`` are optional groups of operations, ``seeing`` is a vision model. Raises StoreFault: the faults of opening
    a world; OperationFault: ``bad_as_of``, ``unknown_group``.
    """
    from world_api.api import open_session

    if world.startswith(LADDER):
        return open_ladder(
            store / PERCEIVED, item.video_id, world.removeprefix(LADDER),
            oracle=store / TRUE, as_of=item.question.as_of, groups=groups, seeing=seeing,
        )  # fmt: skip
    return open_session(
        store / world, item.video_id, as_of=item.question.as_of, name=None, groups=groups, seeing=seeing
    )


def hash_of(store: Path, profile: str, video: VideoFile) -> str | None:
    """Return the hash of a video's world; None if the world does not exist or is not complete.

    Raises EvalFault: ``world_in_the_way``: the world with this id was made from another file; StoreFault:
    ``other_schema_version``, ``world_damaged``.
    """
    from world_api.world.store import open_world

    there = store / profile
    if video.text is not None and not text_world_is_there(there, video.video_id, video.text):
        return None
    try:
        manifest = open_world(there, video.video_id).manifest
    except StoreFault as fault:
        if fault.code == "no_such_world":
            return None
        raise
    size = video.path.stat().st_size if video.path is not None and video.path.is_file() else None
    # A file of the same size is assumed to be the same, as reading it would take long.
    if video.text is None and size is not None and manifest.complete and size != manifest.source.bytes:
        what = f"the {profile} world of {video.video_id} was made from another file"
        hint = "give another `store`, or build it again: videoworld build FILE --force"
        raise EvalFault("world_in_the_way", what, hint=hint)
    return manifest.world_hash if manifest.complete else None


def can_be_built(profile: str, video: VideoFile | None) -> bool:
    """Whether this profile can build a world of the video; False for None.

    The video needs its file (or dialogue) and an id that can name a folder; ``oracle`` also needs the truth file of a film.
    """
    from world_api.build.truth import truth_path

    if video is None or not video.is_there or not is_name(video.video_id):
        return False
    if video.text is not None:
        return True
    return profile != "oracle" or video.path is None or truth_path(video.path).is_file()


def build_for_run(store: Path, profile: str, video: VideoFile, *, progress: Progress, clock: Clock) -> str:
    """Build a world and return its hash.

    Raises MediaFault, StoreFault, BackendFault: the faults of building; EvalFault: unreadable subtitles of the dataset.
    """
    from world_api.api import build_world
    from world_api.options import BuildOptions, Listening

    if video.text is not None:
        write_text_world(store / profile, video.video_id, video.text)
    elif video.path is None:
        what = f"the video {video.video_id} is not there"
        raise StoreFault("no_such_video", what, hint="give the dataset's `videos`")
    else:
        subtitles = subtitles_to_build_with(video, store / _SUBTITLES)
        listening = Listening() if subtitles is None else Listening(subtitles=str(subtitles))
        build_world(
            video.path, store / profile, progress=progress, clock=clock, video_id=video.video_id,
            options=BuildOptions(profile=profile, listening=listening, waits=True),
        )  # fmt: skip
    found = hash_of(store, profile, video)
    if found is None:
        raise StoreFault("no_such_world", f"the world of {video.video_id} was not finished", hint="build it again")
    return found


EVERYTHING = "all"
JOINT = "+"
#: The category of operations on the caller's own memories, for which there is no truth.
_OF_THE_CALLER = "memory"


def operations_on(step: str) -> tuple[str, ...]:
    """Return the names of the operations of ``step``, in their published order.

    ``step`` names operations, categories or ``all``, joined by ``+``: ``detect_objects``, ``entities+meta``.
    Raises EvalFault: ``unknown_rung``.
    """
    offered = {name: item.category for name, item in OPERATIONS.items() if item.category != _OF_THE_CALLER}
    wanted: set[str] = set()
    for part in step.split(JOINT):
        named = {name for name, category in offered.items() if part in (name, category, EVERYTHING)}
        if not named:
            known = ", ".join(dict.fromkeys([EVERYTHING, *offered.values(), *offered]))
            what = f"no operation is answered from the truth as {part[:60]!r}"
            raise EvalFault("unknown_rung", what, hint=f"one of: {known}; several joined by {JOINT}")
        wanted |= named
    return tuple(name for name in offered if name in wanted)


Floats = NDArray[np.float64]

#: Least IoU of the boxes of one thing in two worlds (a detector's box is seldom exact).
_SAME = 0.3
#: Most seconds between two sightings that are compared, and most seconds that one sighting counts for.
_NEAR, _HOLDS = 0.3, 1.0


class Counterparts:
    """Maps entities of a perceived world to those of the true one and back, by overlap of their boxes.

    A perceived entity has at most one true one, a true entity may have several perceived ones. ``true_of`` and
    ``perceived_of`` return None if there is no counterpart: the thing was not detected, or the track is of nothing
    real.
    """

    def __init__(self, perceived: Sequence[Track], true: Sequence[Track]) -> None:
        self._true = list(true)
        self._best: dict[str, str] = {}  #: for each perceived entity the true one that it overlaps longest
        self._parts: dict[str, list[Track]] = {}
        for track in perceived:
            start, end = track.span.start - _NEAR, track.span.end + _NEAR
            near = [other for other in self._true if start <= other.span.end and other.span.start <= end]
            shared = [(overlap_seconds(track, other), other.entity_id) for other in near]
            seconds, entity_id = max(shared, default=(0.0, ""))
            if seconds > 0:
                self._best[track.entity_id] = entity_id
                self._parts.setdefault(entity_id, []).append(track)

    def true_of(self, entity_id: str, registered: Sequence[Registration] = ()) -> str | None:
        """Return the true entity of a perceived one or one in ``registered``, or None; a true id is returned unchanged."""
        if any(track.entity_id == entity_id for track in self._true):
            return entity_id
        moments = (self._true_at(item) for item in registered if item.entity_id == entity_id)
        return self._best.get(entity_id) or next(moments, None)

    def perceived_of(self, entity_id: str, during: TimeSpan | None = None) -> str | None:
        """Return the perceived entity of a true one; None if there is none.

        Of several it is the one that is visible longest, within the interval ``during`` if it is given.
        """
        tracks = self._parts.get(entity_id, [])
        longest = max(tracks, key=lambda track: (_seconds(track, during), _seconds(track, None)), default=None)
        return None if longest is None else longest.entity_id

    def _true_at(self, item: Registration) -> str | None:
        """Return the true entity whose box overlaps that of a registered entity at its moment, or None."""
        best, found = _SAME, None
        for track in self._true:
            place = track.nearest(item.time)
            if abs(float(track.times[place]) - item.time) <= _NEAR:
                shared = float(_ious(np.array([item.box]), track.boxes[place : place + 1].astype(np.float64))[0])
                if shared >= best:
                    best, found = shared, track.entity_id
        return found


def overlap_seconds(one: Track, other: Track) -> float:
    """Return for how many seconds the boxes of two tracks have an IoU of 0.3 or more, at the sightings of ``one``."""
    place = np.clip(np.searchsorted(other.times, one.times), 1, max(1, len(other.times) - 1))
    both = np.stack([place - 1, np.minimum(place, len(other.times) - 1)])
    gaps = np.abs(other.times[both] - one.times)
    nearest = both[gaps.argmin(axis=0), np.arange(len(one.times))]
    shared = _ious(one.boxes.astype(np.float64), other.boxes[nearest].astype(np.float64)) >= _SAME
    holds = np.minimum(np.append(np.diff(one.times), 0.0), _HOLDS)
    return float(holds[(gaps.min(axis=0) <= _NEAR) & shared].sum())


def _ious(one: Floats, other: Floats) -> Floats:
    """Return the intersection over union of boxes, pair by pair (both n x 4, pixels)."""
    low, high = np.maximum(one[:, :2], other[:, :2]), np.minimum(one[:, 2:], other[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=1)
    both = np.prod(one[:, 2:] - one[:, :2], axis=1) + np.prod(other[:, 2:] - other[:, :2], axis=1) - shared
    found: Floats = shared / np.maximum(both, 1e-9)
    return found


def _seconds(track: Track, during: TimeSpan | None) -> float:
    if during is None:
        return sum(item.duration for item in track.appearances)
    wide = TimeSpan(start=during.start - _NEAR, end=during.end + _NEAR)
    return sum(part.duration for item in track.appearances if (part := item.clip(wide)) is not None)


#: The fields with the times of a record, the narrowest interval first.
_TIMES = (("timestamp", "timestamp"), ("time", "time"), ("start_time", "end_time"), ("first_time", "last_time"))
_ENTITY = re.compile(r"\bent_\w+")


class TrueWorld:
    """Answers operations from the true world; entity ids are translated in both directions.

    A thing without counterpart in the perceived world keeps its true id, which only operations answered from the truth
    accept. True ids of generated films are numbers: they reveal that an entity exists, but neither its name nor its
    looks.
    """

    def __init__(self, truth: Session) -> None:
        self._truth = truth
        self._known: Counterparts | None = None

    @property
    def record(self) -> Mapping[str, Any]:
        """The profile and hash of the true world."""
        manifest = self._truth.view.world.manifest
        return {"profile": manifest.profile, "world_hash": self._truth.world_hash}

    def answer(self, session: Session, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of an operation in the true world, with the entity ids of the session's world.

        Raises VideoWorldError: the faults of the operation; ``unknown_entity`` for an entity that does not exist in
        truth.
        """
        counterparts = self._known or Counterparts(list(session.view.tracks), list(self._truth.view.tracks))
        self._known = counterparts
        own_arguments = dict(arguments)
        if (entity := own_arguments.get("entity_id")) is not None:
            own_arguments["entity_id"] = self._true(session, counterparts, str(entity))
        result = run(self._truth, operation, own_arguments)
        if EVERY_OPERATION[operation].state == "writes":
            self._register(session, counterparts, result)
        answer: dict[str, Any] = _translated(result, counterparts, _window(arguments))
        return answer

    def _true(self, session: Session, counterparts: Counterparts, entity: str) -> str:
        registered = session.registrations()
        if any(item.entity_id == entity for item in self._truth.registrations()):
            return entity
        found = counterparts.true_of(entity, registered)
        perceived = session.view.track_of_entity(entity) is not None
        if found is None and (perceived or any(item.entity_id == entity for item in registered)):
            what = f"{entity[:80]!r} is nothing that is there"
            hint = "list_entities gives the known ids; register_entity makes one from a hint and a moment"
            raise OperationFault("unknown_entity", what, hint=hint)
        return found or entity

    def _register(self, session: Session, counterparts: Counterparts, result: Mapping[str, Any]) -> None:
        """Register in the session, under its own id, what was registered in the true world."""
        for item in self._truth.registrations():
            if item.entity_id == result["entity_id"]:
                at = TimeSpan(start=item.time, end=item.time)
                own = counterparts.perceived_of(item.entity_id, at) or item.entity_id
                if all(known.entity_id != own or known.label != item.label for known in session.registrations()):
                    session.register(replace(item, entity_id=own))


def _translated(value: Any, counterparts: Counterparts, during: TimeSpan | None) -> Any:
    """Return the value with perceived ids for true ones, chosen for the interval of the record with the id, else ``during``."""
    if isinstance(value, dict):
        own = _window(value) or during
        return {key: _translated(part, counterparts, own) for key, part in value.items()}
    if isinstance(value, list):
        return [_translated(part, counterparts, during) for part in value]
    if isinstance(value, str) and "ent_" in value:
        return _ENTITY.sub(lambda found: counterparts.perceived_of(found[0], during) or found[0], value)
    return value


def _window(record: Mapping[str, Any]) -> TimeSpan | None:
    """Return the interval or moment of a record; None if it has no times."""
    for first, last in _TIMES:
        start, end = record.get(first), record.get(last)
        if isinstance(start, int | float) and isinstance(end, int | float) and start <= end:
            return TimeSpan(start=float(start), end=float(end))
    return None


def open_ladder(
    store: Path | str,
    video_id: str,
    operation: str,
    *,
    oracle: Path | str,
    as_of: float | None = None,
    name: str | None = None,
    groups: Collection[str] = (),
    seeing: VisionConfig | None = None,
) -> Session:
    """Open a session on the world in ``store`` that answers some operations from the true world in ``oracle``.

    ``operation`` names one, several joined by ``+``, a category of them, or ``all``; ``open_session`` explains the
    rest. Tools call the operations as in any session, and their results are recorded and replayed likewise. The
    settings of episodes contain these operations and the true world's hash.

    Raises EvalFault: ``unknown_rung``; StoreFault, OperationFault: those of ``open_session``.
    """
    from world_api.api import open_session

    wanted = operations_on(operation)
    session = open_session(store, video_id, as_of=as_of, name=name, groups=groups, seeing=seeing)
    truth = TrueWorld(open_session(oracle, video_id, as_of=as_of, name=None, groups=groups))
    session.stand_ins = dict.fromkeys(wanted, truth)
    return session

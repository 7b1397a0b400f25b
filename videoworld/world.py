"""``World``, an opened world of a video with its operations, and the functions that build and open one."""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from controller.answers import Question
from controller.asking import Asking, AskOptions
from controller.options import Budget, Kind
from videoworld.results import PublicNames, Result, WorldEpisode, pil_frames
from world_api.api import build_world, ensure_world, open_session, vision_config
from world_api.core.cost import ledger
from world_api.core.execution import SystemClock, async_variant
from world_api.core.identifiers import clock_text, plural, visible
from world_api.core.ports import WireChoice
from world_api.operations import run
from world_api.operations.evidence import beyond, holes_in_words, moment
from world_api.options import (
    AUTO,
    DEFAULT_SESSION,
    DEFAULT_VISION,
    BuildOptions,
    Listening,
    VisionOptions,
    default_store,
    spent_text,
)
from world_api.terminal import note, progress_bars
from world_api.world.storage import MANIFEST

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

    from world_api.session.session import Session
    from world_api.session.vision import VisionConfig

AnyPath = str | PathLike[str]


class World(PublicNames):
    """A world of a video, opened in a session: what the operations see of it, up to a causal cut if there is one.

    All methods go through the operations that a model calls. ``session`` is the session for the functions of ``world_api``.
    ``vision`` are the options with which it was opened; what its vision model costs is shown on stderr.
    """

    def __init__(
        self,
        session: Session,
        store: str | PathLike[str],
        *,
        vision: VisionOptions = DEFAULT_VISION,
        seeing: VisionConfig | None = None,
    ) -> None:
        self.session = session
        self.store = Path(store)
        self.vision = vision
        self._seeing = seeing

    @property
    def id(self) -> str:
        """The id of the world."""
        return self.session.video_id

    @property
    def as_of(self) -> float | None:
        """The causal cut in seconds; None if the whole video is visible."""
        return self.session.as_of

    @property
    def duration(self) -> float:
        """Seconds of video that are visible."""
        return self.session.view.duration

    def call(self, operation: str, /, **arguments: Any) -> Result:
        """Call one of the sixteen operations by name, without ``video_id``: ``call("get_segment", start_time=3, end_time=9)``.

        Raises OperationFault: ``unknown_operation``, ``bad_arguments``, and those of the operation.
        """
        return self._call(self.session, operation, arguments)

    def scenes(self, *, within: tuple[float, float] | None = None) -> Result:
        """List the scenes, or the chapters of a long video, of all of it or of an interval in seconds (``list_scenes``)."""
        if within is None:
            return self.call("list_scenes")
        return self.call("list_scenes", time_range={"start_time": within[0], "end_time": within[1]})

    def entities(self) -> Result:
        """List the people and things that were followed, and those registered since (``list_entities``)."""
        return self.call("list_entities")

    def speech(self, *, within: tuple[float, float] | None = None) -> Result:
        """List the lines that are said, in all of the video or in an interval in seconds (``read_transcript``)."""
        start, end = within or (0.0, self.duration)
        session = copy.copy(self.session)
        session.groups |= {"inspect"}
        found = self._call(session, "read_transcript", {"start_time": start, "end_time": end})
        kept = {name: [item for item in found[name] if item["source"] == "speech"] for name in ("lines", "evidence")}
        rest = {name: value for name, value in found.record.items() if name not in (*kept, "shown")}
        return Result(found.operation, found.arguments, kept | rest, self.session)

    def search(self, query: str, *, top_k: int = 5) -> Result:
        """Find segments by what is said, written and seen in them, the best first (``search_segments_by_text``)."""
        return self.call("search_segments_by_text", query=query, top_k=top_k)

    def frame(self, at: float, *, boxes: bool = False) -> PilImage:
        """Return the frame that is played at a moment, in seconds, as a PIL picture; with the boxes of what is tracked in it.

        Raises OperationFault: ``time_out_of_range``, ``not_yet``; StoreFault: ``source_missing``.
        """
        if not at >= 0:  # also if it is not a number
            raise beyond(self.session, at)
        return pil_frames(self.session.view, [moment(self.session, self.id, at)], boxes=boxes)[0]

    def ask(
        self,
        question: str,
        *,
        kind: Kind = "open",
        options: Sequence[str] = (),
        may_abstain: bool = False,
        model: str | None = None,
        tools: AnyPath | None = None,
        system: str | None = None,
        exposure: str | None = None,
        domain: AnyPath | None = None,
        settings: Mapping[str, Any] | None = None,
        without: Sequence[str] = (),
        allow_judge: bool = False,
        judge_model: str | None = None,
        judge_record: AnyPath | None = None,
        wire: WireChoice = "auto",
        cache: AnyPath | None = None,
        prices: AnyPath | None = None,
        budget: Budget | None = None,
        language: Literal["auto", "en", "zh"] = "auto",
        vision: VisionOptions | None = None,
        session: str | None = None,
        commit: bool = False,
        record: AnyPath | None = None,
    ) -> WorldEpisode:
        """Ask a question about the video, as ``videoworld ask`` does, and return the episode: the answer with its evidence.

        Without ``model`` the rule-based model answers, which needs no endpoint and says so. ``options`` are the choices of a
        question of kind ``choice`` or ``order``; ``tools`` is a library, by name or folder; ``without`` names categories of
        operations; the others are those of ``controller.asking.AskOptions``. ``vision=VisionOptions(profile="endpoint",
        yes=True)`` agrees that frames are sent; by default it is that with which the world was opened.

        Raises EpisodeFault: ``bad_question``, and the fault that ended the episode; BackendFault: the endpoint's.
        """
        asking = Asking(
            Question(text=question, kind=kind, options=tuple(options), as_of=self.as_of, may_abstain=may_abstain),
            AskOptions(
                store=self.store, system=system, tools=_text(tools), exposure=exposure, domain=_text(domain),
                settings=settings or {}, groups=[*self.session.groups, *(f"no-{name}" for name in without)],
                allow_judge=allow_judge, judge_model=judge_model, judge_record=_path(judge_record), model=model, wire=wire,
                cache=_path(cache), prices=_path(prices), budget=budget or Budget(), language=language,
                vision=self.vision if vision is None else vision, session=session, commit=commit,
                record=_path(record),
            ),
        )  # fmt: skip
        asking.confirm(self.id)
        return WorldEpisode.of(asking.answer(self.id, say=note), self.session)

    aask = async_variant(ask)

    def _call(self, session: Session, operation: str, arguments: Mapping[str, Any]) -> Result:
        # Numbers of NumPy, such as those of a table, are numbers.
        given = {key: value.item() if hasattr(value, "item") else value for key, value in arguments.items()}
        with ledger() as book:
            record = run(session, operation, {"video_id": self.id, **given})
        if self._seeing is not None and book.items:
            note(spent_text(book.items, self._seeing))
        return Result(operation, given, record, self.session)

    def _facts(self) -> list[str]:
        manifest, view = self.session.view.world.manifest, self.session.view
        people = sum(track.category == "person" for track in view.tracks)
        counts = {
            "scene": len(view.scenes), "person track": people, "thing track": len(view.tracks) - people,
            "spoken line": len(view.speech), "screen text": len(view.screen_texts),
        }  # fmt: skip
        return [
            f"{clock_text(view.duration)} of video, {manifest.video.width}x{manifest.video.height}, profile {manifest.profile}",
            ", ".join(plural(count, name) for name, count in counts.items() if count),
        ]

    def _notes(self) -> list[str]:
        view = self.session.view
        notes = [f"nothing after {view.duration:g} s is seen (as_of)"] if not view.complete else []
        notes += ["still growing: this is what has been seen so far"] if not view.world.manifest.complete else []
        return [*notes, *filter(None, [holes_in_words(view)])]

    def __repr__(self) -> str:
        lines = [
            f"World {self.id!r} in {self.store}: {self._facts()[0]}",
            *filter(None, self._facts()[1:]),
            *self._notes(),
        ]
        return visible("\n  ".join(lines))

    def _repr_html_(self) -> str:
        from world_api.page.notebook import Card, spread_pictures, world_lanes

        view = self.session.view
        return Card(
            title=visible(view.world.manifest.title),
            facts=[self.id, *self._facts()],
            notes=[visible(text) for text in self._notes()],
            pictures=spread_pictures(view, _KEY_FRAMES),
            lanes=world_lanes(view),
            end=clock_text(view.duration),
        ).html()


_KEY_FRAMES = 6  #: of a world that a notebook shows


def build(
    video: AnyPath,
    *,
    store: AnyPath | None = None,
    video_id: str | None = None,
    profile: str = AUTO,
    detector: str | None = None,
    subtitles: str = AUTO,
    speech: str = AUTO,
    speech_model: str = "",
    speech_language: str = "",
    without: Collection[str] = (),
    force: bool = False,
    progress: bool = True,
) -> World:
    """Build the world of a video, as ``videoworld build`` does, and open it; one that is there already is opened at once.

    The arguments are the main options of the command; a vision model has no part in it. ``store`` is by default
    the folder ``VIDEOWORLD_STORE``, else ``worlds``;
    ``progress`` is shown on stderr. ``build_world`` takes all options (limits, recordings that grow).

    Raises MediaFault, StoreFault, BackendFault: those of ``build_world``.
    """
    options = BuildOptions(
        profile=profile,
        listening=Listening(subtitles=subtitles, speech=speech, model=speech_model, language=speech_language.lower()),
        without=tuple(without),
        force=force,
        detector=detector,
        waits=True,
    )
    name, folder = _file_name(video), default_store(store)
    with progress_bars(shown=progress) as shown:
        report = build_world(name, folder, video_id=video_id, options=options, progress=shown)
    return open_world(report.video_id, store=folder)


def open_world(
    video: AnyPath,
    *,
    store: AnyPath | None = None,
    as_of: float | None = None,
    session: str | None = DEFAULT_SESSION,
    groups: Collection[str] = (),
    profile: str = AUTO,
    model: str | None = None,
    vision: VisionOptions = DEFAULT_VISION,
    progress: bool = True,
) -> World:
    """Open a world by its id, by its folder, or by its video, as ``videoworld ask`` does: a video without a world is built.

    With ``as_of`` nothing after that second is seen. ``session`` keeps what calls write; with None they write in memory.
    ``groups`` are optional groups of operations, such as ``inspect``; ``profile`` is that of a world that is built.

    ``vision=VisionOptions(profile="endpoint", vision_model="MODEL")`` lets a vision model look where an operation needs it, as
    the options of ``videoworld call`` do; ``model`` names it as well. What it may cost while the world is open (``looks`` of the
    options) is shown, and asked about unless the options have ``yes=True``; before that nothing is built or sent.

    Raises StoreFault: ``no_such_world``, ``world_damaged``; MediaFault: ``no_such_file``; OperationFault: ``bad_as_of``;
    BackendFault: ``no_vision_model``, ``perception_not_chosen``, ``consent_needed``, ``consent_refused``, those of an endpoint.
    """
    name, folder = _file_name(video), default_store(store)
    vision.refuse_unused(model=model)
    # It looks for questions, too, no matter which model answers these.
    vision = replace(vision, vision_model=vision.vision_model or model)
    seeing = vision_config(vision.choices(model=model), clock=SystemClock(), environment=os.environ)
    if store is None and (Path(name) / MANIFEST).is_file() and Path(name).resolve().name != name:
        name, folder = Path(name).resolve().name, Path(name).resolve().parent
    vision.confirm(folder, name, seeing, during="while this world is open")
    with progress_bars(shown=progress) as shown:
        base = vision.base if profile == AUTO else profile
        video_id = ensure_world(name, folder, progress=shown, clock=SystemClock(), profile=base)
    opened = open_session(folder, video_id, as_of=as_of, name=session, groups=groups, seeing=seeing)
    return World(opened, folder, vision=vision, seeing=seeing)


open = open_world  # noqa: A001 - as in `vw.open`
abuild = async_variant(build)


def _file_name(video: AnyPath) -> str:
    """Return what names a video or world as text. Raises TypeError: it is no text and no path, such as None."""
    if not isinstance(video, str | os.PathLike):
        raise TypeError(f"the id or folder of a world or the path of a video is needed, not {video!r}")
    return os.fspath(video)


def _text(path: AnyPath | None) -> str | None:
    return None if path is None else os.fspath(path)


def _path(path: AnyPath | None) -> Path | None:
    return None if path is None else Path(path)

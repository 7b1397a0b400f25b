"""Building a world and opening a session on it: the functions behind every interface.

Adapters are those that ``world_api.perception`` lists for a profile; the other packages use only the ports. Heavy
modules are imported inside functions, because a build starts its processes first.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from world_api.core.execution import SystemClock
from world_api.core.faults import BackendFault, MediaFault, StoreFault, VideoWorldError
from world_api.core.identifiers import check_session_name, check_video_id, is_name, video_id_from_file_name
from world_api.core.ports import Clock, FrameSource, ImageTextEncoder, ObjectDetector, SceneDetector, TextEmbedder
from world_api.installation import models_folder
from world_api.media.container import check_file
from world_api.options import AUTO, CLASSICAL, ENDPOINT, LOOKING, NEURAL, BuildOptions, VisionChoices
from world_api.perception import adapter, adapter_class
from world_api.terminal import NoProgress

if TYPE_CHECKING:
    from world_api.build.builder import BuildReport
    from world_api.build.scheduler import Progress
    from world_api.core.ports import Image, SoundTagger
    from world_api.perception.detector import DetectorModel
    from world_api.perception.models import ModelFolder
    from world_api.session.session import Session
    from world_api.session.vision import VisionConfig
    from world_api.world.store import World
    from world_api.world.tracks import Track
    from world_api.world.view import View


def build_world(
    video: Path | str,
    store: Path | str,
    *,
    progress: Progress | None = None,
    clock: Clock | None = None,
    video_id: str | None = None,
    options: BuildOptions | None = None,
) -> BuildReport:
    """Build a world and its search data.

    ``video`` is a file, or the address of a stream to follow; ``video_id`` is by default made from its name. Without
    ``progress`` nothing is shown.

    Raises MediaFault, StoreFault, BackendFault: those of ``world_api.build`` and of ``recipe_for``.
    """
    from world_api import recipes
    from world_api.build.processes import BuildProcesses

    if not str(video):
        raise MediaFault("no_such_file", "the path of the video is empty", hint="give the path of one video file")
    chosen = options or BuildOptions()
    profile, detector, people, tagger, voices = chosen.profile, None, None, None, None
    if profile == AUTO:
        if chosen.following is None and "://" not in str(video):
            check_file(Path(video).expanduser())  # before it is said which profile is used
        named = check_video_id(video_id or video_id_from_file_name(Path(video).stem))
        profile = profile_for(Path(store), named, chosen, progress or NoProgress())
    if profile == NEURAL:
        models = model_folder(chosen.models)
        shown = progress or NoProgress()
        detector = models.detector(chosen.detector)
        say = shown.say if chosen.profile == AUTO else None
        people, tagger, voices = models.people(say=say), models.tagger(say=say), models.voice_embedder(say=say)
    listening = replace(chosen.listening, models=model_folder(chosen.models).folder)
    recipe = recipes.recipe_for(
        profile, listening, without=chosen.without, detector=detector, people=people, tagger=tagger, voices=voices,
        sounds=_sound_tagger(profile, chosen, progress or NoProgress()),
    )  # fmt: skip
    with closing(BuildProcesses(chosen.limits, recipe.apart)) as processes:
        if chosen.following is None:
            processes.start()  # first of all, while this process imports what it needs
        from world_api.build import builder, following
        from world_api.build.source import recording_of
        from world_api.search.searcher import prepare

        address = str(video) if following.is_address(str(video)) else None
        path = Path(video).expanduser() if address is None else Path(PurePosixPath(address).name)
        name = video_id if video_id is not None else video_id_from_file_name(path.stem)
        if address is not None:
            path = Path(chosen.record) if chosen.record is not None else recording_of(Path(store), name)
        shown = progress or NoProgress()
        job = builder.Job(
            video=path, store=Path(store), name=name, recipe=recipe, force=chosen.force, progress=shown,
            clock=clock or SystemClock(), limits=chosen.limits, waits=chosen.waits, processes=processes,
        )  # fmt: skip
        if address is not None and chosen.following is None:
            raise MediaFault(
                "no_file", f"{address} is no file", hint="to follow a stream, add --follow --allow-network"
            )
        if chosen.following is None:
            report = builder.build_world(job)
        elif address is None:
            report = following.follow_world(job, chosen.following)
        else:
            report = following.follow_stream(job, address, chosen.following)
        try:
            prepare(job.store, report.video_id, text_embedder(chosen.models))
        except BackendFault as fault:
            shown.say(f"the vectors of texts are not stored, so searches make them: {fault.message}; {fault.hint}")
        except StoreFault as fault:
            # The world is complete without it; readers make in memory what is not there.
            shown.say(f"search data cannot be stored beside the world, so opening it takes longer: {fault.message}")
        return report


def _sound_tagger(profile: str, options: BuildOptions, progress: Progress) -> SoundTagger | None:
    """Return what tags the sounds of a build; None if it has no such stage or nothing on this machine does it."""
    if profile not in {CLASSICAL, NEURAL} or "sounds" in options.without:
        return None
    return model_folder(options.models).sound_tagger(say=progress.say)


def model_folder(folder: Path | str | None = None) -> ModelFolder:
    """Return the folder of models; without an argument the one that the environment names, else the usual one."""
    from world_api.perception.models import ModelFolder

    return ModelFolder(Path(folder) if folder else models_folder(os.environ, home=Path.home()))


def profile_for(store: Path, video_id: str, chosen: BuildOptions, progress: Progress) -> str:
    """Return the profile that ``auto`` means, and say which it is.

    It is that of the world that has the id, unless it is replaced; else ``neural`` if a detector is on this machine.
    """
    folder = chosen.models or models_folder(os.environ, home=Path.home())
    model = None
    # The catalogue is not read where there are no models: a build begins at once.
    if folder.exists() or chosen.detector:
        try:
            model = model_folder(folder).detector(chosen.detector, say=progress.say)
        except BackendFault as fault:
            if chosen.detector is not None:
                raise
            progress.say(f"no detector is used: {fault.message}; {fault.hint}")
    if (store / video_id).is_dir() and not chosen.force:
        from world_api.world.storage import read_manifest
        from world_api.world.store import world_folder

        with suppress(VideoWorldError, OSError):  # building says what is wrong
            there = read_manifest(world_folder(store, video_id)).profile
            if there == CLASSICAL and model is not None:
                progress.say(
                    "profile classical, that of the world; --profile neural --force makes it again with " + model.name
                )
            if there in {CLASSICAL, NEURAL}:
                return there
    if model is None:
        progress.say("profile classical; for neural, which recognises objects: `videoworld models pull`")
        return CLASSICAL
    progress.say(f"profile neural, with the detector {model.name}")
    return NEURAL


def reindex(store: Path | str) -> int:
    """Rebuild the catalogue and the search data of each world from the rows; return the number of segments.

    Raises StoreFault: ``store_not_writable``, ``disk_full``, ``catalogue_damaged``.
    """
    from world_api.search import catalogue
    from world_api.search.searcher import prepare_all

    store = Path(store)
    prepare_all(store, text_embedder(), rebuild=True)
    return catalogue.rebuild(store)


def open_session(
    store: Path | str,
    video_id: str,
    *,
    as_of: float | None = None,
    name: str | None = "default",
    groups: Collection[str] = (),
    seeing: VisionConfig | None = None,
    models: Path | str | None = None,
) -> Session:
    """Open a session on a stored world.

    Args:
        store: The folder of worlds.
        video_id: The id of the world.
        as_of: The causal cut in seconds; None for the whole video.
        name: The name of the session; with None, writes are kept in memory only.
        groups: Optional groups of operations to switch on beside the sixteen.
        seeing: The vision model for operations that need more than the stored rows contain; None for none.
        models: The folder of models, for a world of the profile ``neural``; None for the configured one.

    Raises StoreFault: ``bad_video_id``, ``no_such_world``, ``other_schema_version``, ``world_damaged``, ``bad_session_name``;
    OperationFault: ``bad_as_of``, ``unknown_group``.
    """
    from world_api.operations import check_groups
    from world_api.search.passages import Meanings
    from world_api.session.session import Backends, Overlay, Session, open_overlay
    from world_api.session.vision import FrameLooker, Vision
    from world_api.world.storage import LOCAL, ON_DEMAND, world_key
    from world_api.world.store import open_world
    from world_api.world.view import open_view

    store = Path(store)
    world = open_world(store, video_id)
    overlay = Overlay(None) if name is None else open_overlay(store, video_id, check_session_name(name))
    view = open_view(world, as_of)
    meanings = None
    if seeing is not None and seeing.embedder is not None:
        meanings = Meanings(seeing.embedder, store / ON_DEMAND / "meanings")
    key = world_key(world.manifest)
    looker = vision = None
    if (world.folder / LOCAL).is_file():  # else the world has no video here: nothing could ever be looked at
        detector = _detector_of(world, models)
        if detector is not None:
            looker = FrameLooker(frames=_frames_of(world), detector=detector, world_key=key, cache=store / ON_DEMAND)
    if seeing is not None:
        # Boxes of the other profiles are those of what moves, which may be several people or a part of one.
        named = view if world.manifest.profile == NEURAL else None
        vision = Vision(seeing, frames=_frames_of(world), world_key=key, cache=store / ON_DEMAND, view=named)
    backends = Backends(
        text_embedder=text_embedder(models),
        looker=looker,
        seeing=vision,
        meanings=meanings,
        encoder=_encoder_of(world, models),
    )
    return Session(
        view=view,
        overlay=overlay,
        backends=backends,
        name=name or "unnamed",
        groups=check_groups(groups),
    )


def _detector_of(world: World, models: Path | str | None) -> ObjectDetector | None:
    """Return the detector for single frames of a world: the one that its tracks come from, else one that says it is gone.

    A world of the profile ``neural`` that was built without tracks has the first detector that is here, or None.
    """
    if world.manifest.profile != NEURAL:
        detector: ObjectDetector = adapter("detector")
        return detector
    from world_api.perception.models import DETECTOR

    made_by = [name for stage in world.manifest.stages if (name := stage.parameters.get("detector")) is not None]
    with suppress(BackendFault):  # a catalogue that cannot be read: the stored rows serve without it
        folder = model_folder(models)
        for model in folder.catalogue():
            if model.task == DETECTOR and folder.is_present(model):
                found = _shared_detector(folder.detector(model.name))
                if found.producer in made_by or not made_by:
                    return found
    if not made_by:
        return None
    from world_api.session.vision import NoDetector

    return NoDetector(str(made_by[0]), world.manifest.detected_categories)


def _encoder_of(world: World, models: Path | str | None) -> ImageTextEncoder | None:
    """Return the image-text model that the vectors of a world come from; None if it has none, or the model is not here."""
    named = {name for stage in world.manifest.stages if (name := stage.parameters.get("image_text")) is not None}
    if not named:
        return None
    from world_api.perception.models import IMAGE_TEXT

    with suppress(BackendFault):  # without it, stored tags serve
        folder = model_folder(models)
        for model in folder.catalogue():
            if model.task == IMAGE_TEXT and folder.is_present(model):
                found = _shared_encoder(folder.folder, model.name, model.model_dump_json())
                if found.producer in named:
                    return found
    return None


@lru_cache(maxsize=2)
def _shared_encoder(folder: Path, name: str, _entry: str) -> ImageTextEncoder:
    """Return the pair of encoders of an entry of the catalogue; sessions share it, so that it is loaded once."""
    models = model_folder(folder)
    return models.encoder(models.find(name))


@lru_cache(maxsize=4)
def _shared_detector(model: DetectorModel | None) -> SceneDetector:
    """Return the detector with these weights; sessions share it, so that they are loaded once."""
    detector: SceneDetector = adapter_class("detector", profile=NEURAL)(model)
    return detector


def _frames_of(world: World) -> FrameSource:
    """Return the frames of a world's video; if it is missing, every request for one raises ``source_missing``."""
    from world_api.build.source import locate_source
    from world_api.session.vision import NoFrames

    try:
        source = locate_source(world.folder, world.manifest)
    except MediaFault as fault:
        return NoFrames(fault)
    from world_api.media.decoder import VideoFrames  # a world without its video needs no decoder

    return VideoFrames(source)


def vision_config(chosen: VisionChoices, *, clock: Clock, environment: Mapping[str, str]) -> VisionConfig | None:
    """Return the vision model if a profile with ``endpoint`` was chosen; None otherwise, even if keys are configured.

    Raises BackendFault: ``no_vision_model``; ``perception_not_chosen``: a vision model is named without the profile;
    ``endpoint_takes_no_images``, if a probe found that earlier; ``endpoint_not_configured`` and other faults of an
    endpoint.
    """
    if chosen.profile not in LOOKING:
        if chosen.vision_model is not None or chosen.embedding_model is not None:
            raise BackendFault(
                "perception_not_chosen",
                "a vision model is named, and no profile that uses one",
                hint="add --profile endpoint; frames of the video are then sent to the endpoint",
            )
        return None
    from world_api.chat.models import endpoint_model, images_and_window
    from world_api.chat.rule_based import RULE_BASED
    from world_api.chat.transport import Endpoint
    from world_api.perception.endpoint import EmbeddingsWire
    from world_api.session.vision import FrameChoice, VisionConfig

    name = chosen.vision_model or chosen.model
    if name is None or name == RULE_BASED:
        raise BackendFault(
            "no_vision_model",
            "--profile endpoint needs the name of a model that takes pictures",
            hint="add --vision-model MODEL (or --model MODEL); OPENAI_BASE_URL says where it is served",
        )
    if images_and_window(name, environment=environment)[0] is False:
        raise BackendFault(
            "endpoint_takes_no_images",
            f"{name} takes no pictures, as `videoworld doctor --endpoint` found",
            hint="name a model that does with --vision-model; if it has changed since, run the doctor again",
        )
    chat = endpoint_model(name, clock=clock, environment=environment)
    endpoint = Endpoint.from_environment(environment)
    embedder = None
    if chosen.embedding_model is not None:
        model = endpoint_model(chosen.embedding_model, clock=clock, environment=environment, wire=EmbeddingsWire())
        embedder = adapter_class("embeddings", profile=ENDPOINT)(model, at=endpoint.address)
    return VisionConfig(
        vision=adapter_class("vision", profile=ENDPOINT)(
            chat, at=endpoint.address, longest_side=chosen.side, language=chosen.language
        ),
        embedder=embedder,
        choice=FrameChoice(most=chosen.frames),
        most_looks=chosen.looks,
        host=endpoint.host,
    )


def ensure_world(
    video: Path | str, store: Path | str, *, progress: Progress, clock: Clock, profile: str = CLASSICAL
) -> str:
    """Return the id of the world of ``video``, the id of a world or a file; build the file's world if there is none.

    An existing complete world of the same file is used, whichever options it was built with. ``profile`` is that of a new one.

    Raises MediaFault: ``no_such_file``, for a name with a suffix that is neither a world nor a file; those of building;
    StoreFault, BackendFault: those of building and opening.
    """
    from world_api.core.files import hint_of_path
    from world_api.world.storage import is_unfinished
    from world_api.world.store import open_world

    path, store, video = Path(video), Path(store), str(video)
    if is_name(video) and not path.is_file():
        try:
            return open_world(store, video).manifest.video_id
        except StoreFault as fault:
            if fault.code != "no_such_world" or not path.suffix or is_unfinished(store / video):
                raise
            said = f"there is no file {video!r} here, and no world of that name"
            raise MediaFault("no_such_file", said, hint=hint_of_path(path)) from None
    if (existing := world_of_file(path, store)) is not None:
        return existing.manifest.video_id
    return build_world(
        path, store, progress=progress, clock=clock, options=BuildOptions(profile=profile, waits=True)
    ).video_id


def world_of_file(video: Path, store: Path) -> World | None:
    """Return the complete world of a file, stored under the id of the file's name; None if the store has none."""
    from world_api.core.files import hash_file
    from world_api.world.store import open_world

    video = video.expanduser()
    with suppress(VideoWorldError, OSError):  # building says what is wrong
        world = open_world(store, video_id_from_file_name(video.stem))
        if world.manifest.complete and video.is_file() and world.manifest.source.sha256 == hash_file(video):
            return world
    return None


def text_embedder(models: Path | str | None = None) -> TextEmbedder:
    """Return the first text encoder that is on this machine; without one the text embedder that needs no download.

    ``models``: the folder of models; None for the configured one. The encoder is loaded when it embeds.
    """
    folder = Path(models) if models else models_folder(os.environ, home=Path.home())
    if folder.is_dir():
        from world_api.perception.models import TEXT_ENCODER

        found = model_folder(folder)
        with suppress(BackendFault):  # a catalogue that cannot be read
            for model in found.catalogue():
                if model.task == TEXT_ENCODER and found.is_present(model):
                    return _shared_text_encoder(folder, model.name, model.model_dump_json())
    embedder: TextEmbedder = adapter("text_embedder")
    return embedder


@lru_cache(maxsize=2)
def _shared_text_encoder(folder: Path, name: str, _entry: str) -> TextEmbedder:
    """Return the text encoder of an entry of the catalogue; sessions share it, so that it is loaded once."""
    models = model_folder(folder)
    return models.text_encoder_of(models.find(name))


def source_path(world: World) -> Path | None:
    """Return the path of the world's video on this machine; None if it is not there."""
    from world_api.build.source import find_source

    return find_source(world.folder, world.manifest)


#: Colours of boxes (BGR).
_PERSON_COLOUR, _THING_COLOUR = (0, 94, 213), (115, 158, 0)


def frames_played_at(view: View, times: Sequence[float], *, boxes: bool = False) -> Iterator[Image]:
    """Yield the frames (BGR) that a player shows at rising visible moments, in seconds; with ``boxes`` drawn in them.

    Raises StoreFault: ``source_missing``; MediaFault: the video cannot be decoded.
    """
    from world_api.media.decoder import VideoFrames

    world = view.world
    if (source := source_path(world)) is None:
        video_id = world.manifest.video_id
        raise StoreFault(
            "source_missing",
            f"the video of {video_id} is not on this machine",
            hint=f"put {world.manifest.source.file_name} where it was built from, or use `videoworld inspect {video_id} "
            "--html FILE`, which has the key frames",
        )
    with closing(VideoFrames(source)) as video:
        for time in times:
            (picture,) = video.pictures_played_at([time], None)
            yield with_boxes(picture, view.tracks_at(time), time, view) if boxes else picture


def with_boxes(picture: Image, tracks: Sequence[Track], time: float, view: View) -> Image:
    """Return a copy of a frame (BGR) with the box of each track at a moment, and its id and looks above."""
    import cv2

    drawn = picture.copy()
    video, (height, width) = view.world.manifest.video, picture.shape[:2]
    size = max(1, round(height / 360))
    for track in tracks:
        box = track.box(track.nearest(time, view.shot_at(time))).scaled(width / video.width, height / video.height)
        colour = _PERSON_COLOUR if track.category == "person" else _THING_COLOUR
        x, y = round(box.x1), round(box.y1)
        cv2.rectangle(drawn, (x, y), (round(box.x2), round(box.y2)), colour, 2 * size)
        text, font, scale = f"{track.entity_id} {track.hint}", cv2.FONT_HERSHEY_SIMPLEX, 0.42 * size
        (wide, _), _ = cv2.getTextSize(text, font, scale, 4 * size)
        place = (max(0, min(x, width - wide)), max(12 * size, y - 4 * size))
        for thickness, ink in ((4 * size, (0, 0, 0)), (size, (255, 255, 255))):
            cv2.putText(drawn, text, place, font, scale, ink, thickness, cv2.LINE_AA)
    return drawn

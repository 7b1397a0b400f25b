"""Building a world: probe, decide, run the stages, and put the manifest in place last.

Files of rows are named by everything they depend on, so a build that was broken off goes on where it stopped, and a new
world grows beside the old one until its manifest takes the old one's place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from world_api.build.decode_log import NAME as DECODE_LOG
from world_api.build.decode_log import DecodeLog
from world_api.build.predecessor import find_predecessor
from world_api.build.row_store import RowStore
from world_api.build.scheduler import Progress, Scheduler, opencv_on_one_thread
from world_api.build.source import check_unchanged, hash_source, remember_source, stamp_of
from world_api.build.stage import CLIP_SECONDS, Recipe, Stage, TellsLosses, clip_count, keys_of
from world_api.build.stage_process import BuildProcesses
from world_api.core.canonical import content_hash
from world_api.core.faults import StoreFault
from world_api.core.ports import Clock
from world_api.core.printable import printable
from world_api.installation import project_version
from world_api.media.container import DEFAULT_LIMITS, Limits, Probe, Stamp
from world_api.media.decode_pass import DecodePass, LossNote
from world_api.media.decoder import MediaWorker, VideoPass, VideoSound
from world_api.world.files import hash_file, world_lock
from world_api.world.manifest import (
    FileEntry,
    ImageEntry,
    Loss,
    Manifest,
    SourceFacts,
    StageFacts,
    VideoFacts,
    read_manifest,
    write_manifest,
)
from world_api.world.storage import read_table
from world_api.world.store import world_folder, world_hash
from world_api.world.tables import SCHEMA_VERSION

__all__ = ["BuildReport", "Job", "Progress", "build_world"]


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """What a build did. ``changed`` is False where the world was there already; ``seconds`` is how long it took.

    ``losses`` are those of the source, and what of the replaced world was put aside.
    """

    video_id: str
    changed: bool
    profile: str
    duration: float
    world_hash: str
    losses: tuple[Loss, ...]
    clips_made: int
    clips_reused: int
    seconds: float

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "video_id": self.video_id,
            "changed": self.changed,
            "profile": self.profile,
            "duration": self.duration,
            "world_hash": self.world_hash,
            "losses": [loss.model_dump() for loss in self.losses],
            "clips_made": self.clips_made,
            "clips_reused": self.clips_reused,
            "seconds": round(self.seconds, 1),
        }


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be built, from what, and how. ``waits`` for another process that writes the same world."""

    video: Path
    store: Path
    name: str
    recipe: Recipe
    force: bool
    progress: Progress
    clock: Clock
    limits: Limits = DEFAULT_LIMITS
    waits: bool = False
    processes: BuildProcesses | None = None  #: that get ready already

    @property
    def folder(self) -> Path:
        """The world's folder."""
        return world_folder(self.store, self.name)


def build_world(job: Job) -> BuildReport:
    """Build the world of one video, or find that it is there.

    A world of the same id made from another file, or by another profile, stays unless the job has ``force``; then it is
    replaced once the new one is complete.

    Raises:
        MediaFault: ``no_such_file``, ``is_a_folder``, ``not_readable``, ``empty_file``, ``not_a_video``,
            ``no_video_stream``, ``too_many_pixels``, ``too_many_streams``, ``decoder_died``, ``decoder_stalled``,
            ``decoder_out_of_memory``, ``file_system``, ``source_changed``, ``source_missing``, ``no_such_subtitles``.
        StoreFault: ``bad_video_id``, ``world_exists``, ``world_damaged``, ``other_schema_version``,
            ``world_locked``, ``store_not_writable``, ``disk_full``.
        BackendFault: whatever the recipe's stages lack.
    """
    started = job.clock.monotonic()
    stamp = stamp_of(job.video)
    with closing(job.processes or BuildProcesses(job.limits, job.recipe.apart)) as processes:
        processes.start()
        worker = processes.media
        source, stages = worker.probe(job.video), job.recipe.stages(job.video, worker)
        source_hash = hash_source(job.video)
        if (there := _there_already(job, stages, source_hash)) is not None:
            _note_source(job)
            return _report(there, changed=False, rows=None, seconds=job.clock.monotonic() - started)
        with lock_of(job):
            if stamp_of(job.video) != stamp:  # while another process was waited for
                stamp = stamp_of(job.video)
                source, stages = worker.probe(job.video), job.recipe.stages(job.video, worker)
                source_hash = hash_source(job.video)
            return build_locked(
                job, source, stages, worker, stamp, source_hash=source_hash, started=started, reuse=not job.force,
                processes=processes,
            )  # fmt: skip


def build_locked(
    job: Job,
    source: Probe,
    stages: Sequence[Stage],
    worker: MediaWorker,
    stamp: Stamp,
    *,
    source_hash: str,
    started: float,
    reuse: bool,
    processes: BuildProcesses | None = None,
    is_followed: bool = False,
) -> BuildReport:
    """Build a world whose lock is held; with ``reuse`` rows that are there under their key are kept.

    ``is_followed`` where the caller wrote the world that is there itself, while it followed the video.
    """
    folder, keys = job.folder, keys_of(stages, row_source(source_hash, job.limits))
    old = find_predecessor(folder, job.video, force=job.force, is_followed=is_followed)
    existing = old.manifest
    if existing is not None and not job.force:
        old.refuse_other(profile=job.recipe.profile, source_hash=source_hash)
        if _is_what_is_wanted(existing, keys, folder):
            _note_source(job)
            return _report(existing, changed=False, rows=None, seconds=job.clock.monotonic() - started)
    sound = VideoSound(source, limits=job.limits)
    log = DecodeLog(folder / DECODE_LOG, source_hash=source_hash, limits=job.limits, reuse=reuse)
    rows = RowStore(folder, source, keys, reuse=reuse and log.vouches_for_rows, hear=sound)
    with closing(sound), opencv_on_one_thread():
        placed = stages if processes is None else processes.place(stages)
        decode = _work(job, source, placed, rows, log, worker)
    check_unchanged(job.video, stamp)
    manifest = describe(
        folder, job.name, job.recipe.profile, decode,
        files=rows.files(clip_count(decode.duration)) + old.committed(stages, source_hash),
        lost=log.lost, stages=stages, keys=keys, source_hash=source_hash,
        source_bytes=stamp.size, built_at=job.clock.now(),
    )  # fmt: skip
    # Sessions and the place of the video first: a build broken off here leaves the old world without them, never the
    # new one without what belongs to it.
    notes = old.set_sessions_aside(source_hash)
    remember_source(folder, job.video)
    write_manifest(folder, manifest)
    old.sweep(manifest)
    return _report(manifest, changed=True, rows=rows, seconds=job.clock.monotonic() - started, notes=notes)


def row_source(source_hash: str, limits: Limits) -> str:
    """What rows depend on of their source: the file, and limits that may cut it short."""
    own = (limits.pixels, limits.duration)
    usual = (DEFAULT_LIMITS.pixels, DEFAULT_LIMITS.duration)
    return source_hash if own == usual else content_hash([source_hash, *own])


def _there_already(job: Job, stages: Sequence[Stage], source_hash: str) -> Manifest | None:
    """The world that a build would find up to date, looked for without its lock: its store may be read-only."""
    if job.force:
        return None
    try:
        existing = read_manifest(job.folder)
    except StoreFault:
        return None  # whoever holds the lock says what is wrong with it
    keys = keys_of(stages, row_source(source_hash, job.limits))
    is_same = existing.source.sha256 == source_hash and existing.profile == job.recipe.profile
    return existing if is_same and _is_what_is_wanted(existing, keys, job.folder) else None


def _note_source(job: Job) -> None:
    """Note where the video of a world that stays lies; the world is whole without it."""
    try:
        remember_source(job.folder, job.video)
    except StoreFault as fault:
        job.progress.say(
            f"no operation looks at frames of {job.video.name}, since nobody knows where it is: {fault.message}"
        )


def _is_what_is_wanted(existing: Manifest, keys: Mapping[str, str], folder: Path) -> bool:
    """Whether a world is complete, was made by these very stages, and has all its files."""
    if not existing.complete or {stage.name: stage.key for stage in existing.stages} != keys:
        return False
    paths = [*(entry.path for entry in existing.files), *(image.path for image in existing.images)]
    return all((folder / path).is_file() for path in paths)


def _work(
    job: Job, source: Probe, stages: Sequence[Stage], rows: RowStore, log: DecodeLog, worker: MediaWorker
) -> DecodePass:
    """Make the rows that are not there yet; a pass that stands at the end of the video."""
    decode: VideoPass | None = None
    scheduler = Scheduler(stages=stages, rows=rows, progress=job.progress, expected=source.declared_duration or 0.0)
    try:
        known = DecodePass(source=source, go_on_from=log.final) if log.final is not None else None
        clips = clip_count(known.duration) if known is not None else None
        wants = scheduler.wants(clips)
        begins = [want.spans[0][0] for want in wants if want.spans]
        if known is None or begins:
            decode = VideoPass(
                source=source, limits=job.limits, wants=wants, go_on_from=log.before(min(begins, default=0.0)),
                stops=known is not None, noted=log.note, died=log.lose, process=worker.hand_over(),
            )  # fmt: skip
            scheduler.run_pass(decode)
            if decode.final is not None:
                log.finish(decode.final, decode.lost)
        ended = DecodePass(source=source, go_on_from=log.final)
        scheduler.finish(ended.duration)
        return ended
    finally:
        if decode is not None:
            decode.close()
        scheduler.stop()


def lock_of(job: Job) -> AbstractContextManager[None]:
    """The right to write the job's world."""
    return world_lock(job.store, job.name, waiting=job.progress.say if job.waits else None)


def _report(
    manifest: Manifest, *, changed: bool, rows: RowStore | None, seconds: float, notes: Sequence[Loss] = ()
) -> BuildReport:
    clips = clip_count(manifest.video.duration)
    return BuildReport(
        video_id=manifest.video_id,
        changed=changed,
        profile=manifest.profile,
        duration=manifest.video.duration,
        world_hash=manifest.world_hash,
        losses=(*manifest.losses, *notes),
        clips_made=rows.written if rows is not None else 0,
        clips_reused=rows.reused(clips) if rows is not None else 0,
        seconds=seconds,
    )


def describe(
    folder: Path,
    video_id: str,
    profile: str,
    decode: DecodePass,
    *,
    files: list[FileEntry],
    lost: Sequence[LossNote],
    stages: Sequence[Stage],
    keys: Mapping[str, str],
    source_hash: str,
    source_bytes: int,
    built_at: str,
    complete: bool = True,
) -> Manifest:
    """The manifest of a world whose rows are stored, by a decode pass that stands at its end."""
    source = decode.source
    facts = _video_facts(decode)
    # What lies beyond the end of a video that is still being written may yet come.
    telling = [stage for stage in stages if isinstance(stage, TellsLosses)] if complete else []
    untaken = [loss for stage in telling for loss in stage.losses(start=source.start, duration=decode.duration)]
    return Manifest(
        schema_version=SCHEMA_VERSION,
        video_id=video_id,
        profile=profile,
        title=printable(source.path.stem),
        built_at=built_at,
        project_version=project_version(),
        source=SourceFacts(
            file_name=printable(source.path.name),
            sha256=source_hash,
            bytes=source_bytes,
            container=source.container,
        ),
        video=facts,
        clip_seconds=CLIP_SECONDS,
        stages=[_stage_facts(stage, keys) for stage in stages],
        losses=[
            Loss(
                code=loss.code,
                message=printable(loss.message),
                start_time=loss.start_time,
                end_time=loss.end_time,
            )
            for loss in [*decode.losses(), *lost, *untaken]
        ],
        files=files,
        images=_images(folder, files),
        world_hash=world_hash(folder, facts, files),
        complete=complete,
    )


def _video_facts(decode: DecodePass) -> VideoFacts:
    source = decode.source
    counted = (decode.frames - 1) / decode.last_time if decode.last_time > 0 else 0.0
    return VideoFacts(
        duration=decode.duration,
        frame_rate=source.frame_rate or round(counted, 3),
        width=source.width,
        height=source.height,
        rotation=source.rotation,
        frames=decode.frames,
        codec=source.codec,
        has_audio=source.has_audio,
    )


def _stage_facts(stage: Stage, keys: Mapping[str, str]) -> StageFacts:
    spec = stage.spec
    return StageFacts(
        name=spec.name,
        version=str(spec.version),
        key=keys[spec.name],
        parameters=dict(spec.parameters),
        tables=list(spec.tables),
    )


def _images(folder: Path, files: list[FileEntry]) -> list[ImageEntry]:
    rows = read_table(folder, "key_frames", [entry for entry in files if entry.table == "key_frames"])
    paths = sorted(set(rows.column("image").to_pylist()))
    return [
        ImageEntry(path=path, sha256=hash_file(folder / path), bytes=(folder / path).stat().st_size) for path in paths
    ]

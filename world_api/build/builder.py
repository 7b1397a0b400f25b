"""Building a world: probe the video, run the stages, and write the manifest last.

The name of each file of rows contains a hash of everything the rows depend on. So an interrupted build resumes, and a
new world is written beside the old one until its manifest replaces the old one's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from world_api.build.checkpoint import DECODE_LOG, DecodeLog, RowStore
from world_api.build.processes import BuildProcesses
from world_api.build.scheduler import Progress, Scheduler, opencv_on_one_thread
from world_api.build.source import (
    check_unchanged,
    find_source,
    hash_source,
    remember_source,
    remembered_source,
    stamp_of,
)
from world_api.build.stage import CLIP_SECONDS, Recipe, ReportsLosses, Stage, clip_count, keys_of
from world_api.core.canonical import content_hash
from world_api.core.cost import ledger_beside
from world_api.core.faults import StoreFault
from world_api.core.files import check_plain, hash_file, not_writable, world_lock
from world_api.core.identifiers import printable
from world_api.core.ports import Clock
from world_api.core.spans import SESSIONS_SET_ASIDE, holes_in
from world_api.installation import project_version
from world_api.media.container import DEFAULT_LIMITS, Limits, Probe, Stamp
from world_api.media.decode_pass import ENDS_EARLY, LONGER_THAN_LIMIT, LossNote, PassState, losses
from world_api.media.decoder import MediaWorker, VideoPass
from world_api.world.storage import (
    IMAGES,
    LEAST_SHARE_OF_FRAMES,
    MANIFEST,
    MOST_FRAMES_PER_SECOND,
    ROWS,
    SESSIONS,
    BuildCost,
    FileEntry,
    ImageEntry,
    Loss,
    Manifest,
    SourceFacts,
    StageFacts,
    VideoFacts,
    is_whole,
    read_manifest,
    read_table,
    write_manifest,
)
from world_api.world.store import world_folder, world_hash
from world_api.world.tables import SCHEMA_VERSION, SESSION_TABLES


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """The result of a build. ``changed`` is False if the world existed already; ``seconds`` is how long the build took.

    ``losses`` are parts of the source that were lost, and a note if sessions of a replaced world were set aside.
    ``clips_made`` and ``clips_reused`` count a clip once for each stage.
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
        """Return the JSON form."""
        return {**vars(self), "losses": [loss.model_dump() for loss in self.losses], "seconds": round(self.seconds, 1)}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A world to build. ``force``: make all rows again, and replace a world of another file or profile.

    ``waits``: wait for another process that writes the same world; if False, such a process is the fault ``world_locked``.
    """

    video: Path
    store: Path
    name: str
    recipe: Recipe
    force: bool
    progress: Progress
    clock: Clock
    limits: Limits = DEFAULT_LIMITS
    waits: bool = False
    processes: BuildProcesses | None = None  #: child processes that are running already

    @property
    def folder(self) -> Path:
        """The world's folder."""
        return world_folder(self.store, self.name)

    def lock(self) -> AbstractContextManager[None]:
        """Return the lock for writing the world, as a context manager."""
        return world_lock(self.store, self.name, waiting=self.progress.say if self.waits else None)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A video as the build found it: its probe, its stages with the keys of their rows, the hash of the file and its ``stamp``."""

    source: Probe
    stages: Sequence[Stage]
    keys: Mapping[str, str]
    source_hash: str
    stamp: Stamp

    @classmethod
    def examined(cls, job: Job, worker: MediaWorker) -> Subject:
        """Examine a job's video; raises as :func:`build_world`."""
        stamp = stamp_of(job.video)
        source, stages = worker.probe(job.video), job.recipe.stages(job.video, worker)
        source_hash = hash_source(job.video)
        keys = keys_of(stages, row_source(source_hash, job.limits))
        return cls(source=source, stages=stages, keys=keys, source_hash=source_hash, stamp=stamp)


def build_world(job: Job) -> BuildReport:
    """Build the world of one video; if the same world exists already and is complete, only report on it.

    A world of the same id made from another file, or by another profile, is replaced only with ``force``, and only once
    the new one is complete.

    Raises:
        MediaFault: ``no_such_file``, ``is_a_folder``, ``not_a_file``, ``not_readable``, ``empty_file``,
            ``not_a_video``, ``no_video_stream``, ``too_many_pixels``, ``too_many_streams``, ``decoder_died``,
            ``decoder_stalled``, ``decoder_out_of_memory``, ``file_system``, ``source_changed``, ``source_missing``,
            ``no_such_subtitles``.
        StoreFault: ``bad_video_id``, ``world_exists``, ``world_damaged``, ``other_schema_version``,
            ``world_locked``, ``store_not_writable``, ``disk_full``.
        BackendFault: raised by the recipe's stages.
    """
    started = job.clock.monotonic()
    stamp_of(job.video)  # a file that cannot be read starts no process
    with closing(job.processes or BuildProcesses(job.limits, job.recipe.apart)) as processes:
        processes.start()
        subject = Subject.examined(job, processes.media)
        if (report := _if_up_to_date(job, subject, started)) is not None:
            return report
        with job.lock():
            if stamp_of(job.video) != subject.stamp:  # it changed while another process held the lock
                subject = Subject.examined(job, processes.media)
            placed = processes.place(subject.stages)
            return build_locked(job, subject, processes.media, started=started, reuse=not job.force, placed=placed)


def build_locked(
    job: Job,
    subject: Subject,
    worker: MediaWorker,
    *,
    started: float,
    reuse: bool,
    placed: Sequence[Stage] | None = None,
    is_followed: bool = False,
) -> BuildReport:
    """Build a world whose lock the caller holds; with ``reuse``, stored rows with the right key are not made again.

    ``placed``: the stages to run, some replaced by ones in child processes; None: those of ``subject``. ``started``: when
    the build began (monotonic seconds). ``is_followed``: the caller wrote the existing world while it followed the video.
    """
    folder, stages, keys, source_hash = job.folder, subject.stages, subject.keys, subject.source_hash
    old = find_predecessor(folder, job.video, force=job.force, is_followed=is_followed)
    if old.manifest is not None and not job.force:
        old.refuse_other(profile=job.recipe.profile, source_hash=source_hash)
        if (report := _if_up_to_date(job, subject, started)) is not None:
            return report
    old.note_beginning()
    log = DecodeLog(folder / DECODE_LOG, source_hash=source_hash, limits=job.limits, reuse=reuse)
    rows = RowStore(
        folder, subject.source, keys, reuse=reuse and not log.has_died, audio=partial(worker.sound, subject.source)
    )
    with ledger_beside() as asked, opencv_on_one_thread():
        state = _make_rows(job, subject.source, placed or stages, rows, log, worker)
    check_unchanged(job.video, subject.stamp)
    files = rows.files(clip_count(state.duration)) + old.committed(source_hash)
    manifest = describe(job, subject, state, files=files, lost=log.lost, source_bytes=subject.stamp.size)
    # Sessions and the video's path first: a build interrupted here leaves the old world without them, never the new one with
    # sessions of another video.
    notes = old.set_sessions_aside(source_hash)
    remember_source(folder, job.video)
    took = BuildCost(
        seconds=round(max(0.0, job.clock.monotonic() - started), 1),
        requests=len(asked.items),
        tokens=sum(item.prompt + item.completion for item in asked.items),
        whole=not rows.reused(clip_count(state.duration)),
    )
    write_manifest(folder, manifest.model_copy(update={"took": took}))
    old.sweep(manifest)
    return _report(job, manifest, started, rows=rows, notes=notes)


def row_source(source_hash: str, limits: Limits) -> str:
    """Return the hash that rows depend on: the file's, or one of it and the limits if these differ from the default."""
    own = (limits.pixels, limits.duration)
    usual = (DEFAULT_LIMITS.pixels, DEFAULT_LIMITS.duration)
    return source_hash if own == usual else content_hash([source_hash, *own])


def _if_up_to_date(job: Job, subject: Subject, started: float) -> BuildReport | None:
    """Return a report if a complete world exists that the stages of ``subject`` made from its file; else, or with ``force``, None.

    The world is read without its lock, since its store may be read-only.
    """
    try:
        existing = read_manifest(job.folder)
    except StoreFault:
        return None  # the fault is raised again once the lock is held
    is_same = existing.source.sha256 == subject.source_hash and existing.profile == job.recipe.profile
    stages = {stage.name: stage.key for stage in existing.stages}
    if (
        job.force
        or not is_same
        or stages != subject.keys
        or not existing.complete
        or not is_whole(job.folder, existing)
    ):
        return None
    try:
        remember_source(job.folder, job.video)
    except StoreFault as fault:  # the world is complete without it
        job.progress.say(
            f"no operation looks at frames of {job.video.name}, since its path cannot be noted: {fault.message}"
        )
    return _report(job, existing, started)


def _make_rows(
    job: Job, source: Probe, stages: Sequence[Stage], rows: RowStore, log: DecodeLog, worker: MediaWorker
) -> PassState:
    """Make the rows that are missing; return the state of the decode pass, this or an earlier one, at the end of the video."""
    decode: VideoPass | None = None
    scheduler = Scheduler(stages=stages, rows=rows, progress=job.progress, expected=source.declared_duration or 0.0)
    try:
        known = log.final
        rows.holes += holes_in(one.place for one in log.lost)
        wants = scheduler.wants(clip_count(known.duration) if known is not None else None)
        begins = [want.spans[0][0] for want in wants if want.spans]
        ends = [end for want in wants for _, end in want.spans]
        if known is None or begins:
            decode = VideoPass(
                # Its end is known better than by its header.
                source=source if known is None else replace(source, declared_duration=known.duration),
                limits=job.limits, wants=wants, resume_from=log.before(min(begins, default=0.0)),
                until=None if known is None else max(ends), noted=log.note, died=log.note_death, process=worker.detach(),
                holes=rows.holes,
            )  # fmt: skip
            scheduler.run_pass(decode)
            if end := known or decode.final:
                log.finish(end, decode.lost)
        if log.final is None:
            raise RuntimeError("the decode pass has not come to the end of the video")
        scheduler.finish(log.final.duration)
        return log.final
    finally:
        if decode is not None:
            decode.close()
        scheduler.stop()


def _report(
    job: Job, manifest: Manifest, started: float, *, rows: RowStore | None = None, notes: Sequence[Loss] = ()
) -> BuildReport:
    """Return the report of a build begun at ``started`` (monotonic). ``rows``: None if none were made; ``notes``: more losses."""
    duration = manifest.video.duration
    return BuildReport(
        video_id=manifest.video_id,
        changed=rows is not None,
        profile=manifest.profile,
        duration=duration,
        world_hash=manifest.world_hash,
        losses=(*manifest.losses, *notes),
        clips_made=rows.written if rows is not None else 0,
        clips_reused=rows.reused(clip_count(duration)) if rows is not None else 0,
        seconds=job.clock.monotonic() - started,
    )


def describe(
    job: Job,
    subject: Subject,
    state: PassState,
    *,
    files: list[FileEntry],
    source_bytes: int,
    lost: Sequence[LossNote] = (),
    complete: bool = True,
) -> Manifest:
    """Return the manifest of a world whose rows are stored. ``state``: of the decode pass, at the end of the video.

    ``lost``: what the pass lost; ``complete``: False while the file is still being written.
    """
    source, stages = subject.source, subject.stages
    counted = (state.frames - 1) / state.last_time if state.last_time > 0 else 0.0
    # Of a growing video more frames may have been counted than its time has.
    is_wrong = complete and source.frame_rate < LEAST_SHARE_OF_FRAMES * counted
    rate = min(round(counted, 6) if is_wrong else source.frame_rate or round(counted, 6), MOST_FRAMES_PER_SECOND)
    video = VideoFacts(
        duration=state.duration, frame_rate=rate, width=source.width,
        height=source.height, rotation=source.rotation, frames=state.frames, codec=source.codec, has_audio=source.has_audio,
    )  # fmt: skip
    # What is beyond the end of a video that is still being written may yet come.
    reporting = [stage for stage in stages if complete and isinstance(stage, ReportsLosses)]
    not_taken = [loss for stage in reporting for loss in stage.losses(start=source.start, duration=state.duration)]
    found = [*losses(source, state), *lost, *not_taken]
    if any(loss.code == LONGER_THAN_LIMIT for loss in found):  # the video goes on, as its header says
        found = [loss for loss in found if loss.code != ENDS_EARLY]
    made = [
        StageFacts(
            name=spec.name,
            version=str(spec.version),
            key=subject.keys[spec.name],
            parameters=dict(spec.parameters),
            tables=list(spec.tables),
        )
        for spec in (stage.spec for stage in stages)
    ]
    return Manifest(
        schema_version=SCHEMA_VERSION,
        video_id=job.name,
        profile=job.recipe.profile,
        title=printable(source.path.stem),
        built_at=job.clock.now(),
        project_version=project_version(),
        source=SourceFacts(
            file_name=printable(source.path.name), sha256=subject.source_hash, bytes=source_bytes, container=source.container
        ),
        video=video,
        clip_seconds=CLIP_SECONDS,
        stages=made,
        losses=[Loss(**{**asdict(loss), "message": printable(loss.message)}) for loss in found],
        files=files,
        images=_images(job.folder, files),
        world_hash=world_hash(job.folder, video, files, made),
        complete=complete,
    )  # fmt: skip


def _images(folder: Path, files: list[FileEntry]) -> list[ImageEntry]:
    rows = read_table(folder, "key_frames", [entry for entry in files if entry.table == "key_frames"])
    images = {path: folder / path for path in sorted(set(rows.column("image").to_pylist()))}
    return [ImageEntry(path=path, sha256=hash_file(file), bytes=file.stat().st_size) for path, file in images.items()]


@dataclass(frozen=True, kw_only=True)
class Predecessor:
    """The existing world that a build replaces.

    Attributes:
        video: The file that the new world is built from.
        manifest: Of the existing world; None if there is no world, or none that can be read.
        source_hash: Of the video that the existing world was made from; None if unknown.
        is_same_growing: Whether the existing world covers the beginning of the same growing video.
        was_rewritten: Whether it covers the beginning of the same file, whose content has been replaced since.
    """

    folder: Path
    video: Path
    manifest: Manifest | None
    source_hash: str | None
    is_same_growing: bool = False
    was_rewritten: bool = False

    @property
    def exists(self) -> bool:
        """Whether there is a world at all, readable or not."""
        return self.manifest is not None or (self.folder / MANIFEST).exists()

    def note_beginning(self) -> None:
        """Note the video's path if there is no world, so that the fault of an interrupted build can say how to continue.

        The path of an existing world's video stays until its manifest is replaced. Raises as
        :func:`world_api.build.source.remember_source`.
        """
        if not self.exists:
            remember_source(self.folder, self.video)

    def refuse_other(self, *, profile: str, source_hash: str) -> None:
        """Raise a fault if the existing world was made with another profile, or from another file.

        A growing file that was rewritten counts as the same file, unless sessions committed something to the existing world.

        Raises:
            StoreFault: ``world_exists``.
        """
        existing, is_same = self.manifest, self._is_of(source_hash)
        if existing is None:
            return
        is_given_up = self.was_rewritten and not any(entry.table in SESSION_TABLES for entry in existing.files)
        if (is_given_up or is_same) and existing.profile == profile:
            return
        name = existing.source.file_name
        if is_same:
            other = f"made with the profile {existing.profile!r}"
        elif name != printable(self.video.name):
            other = f"made from another file ({name})"
        elif remembered_source(self.folder) == self.video.resolve():
            other = f"made from {name} before that file changed"
        else:
            other = f"made from another file of the same name ({name}), or from this one before it changed"
        raise StoreFault(
            "world_exists",
            f"there is already a world {existing.video_id!r}, {other}",
            hint="replace it with --force, or build under another --id",
        )

    def committed(self, source_hash: str) -> list[FileEntry]:
        """Return the files that sessions committed to the old world; none if that was made from another video."""
        if self.manifest is None or not self._is_of(source_hash):
            return []
        return [entry for entry in self.manifest.files if entry.table in SESSION_TABLES]

    def set_sessions_aside(self, source_hash: str) -> list[Loss]:
        """Rename the folder of sessions if the old world is of another or unknown video; return a list with a note about it, or [].

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        sessions = self.folder / SESSIONS
        if not self.exists or self._is_of(source_hash) or not any(sessions.glob("*.jsonl")):
            return []
        owner = f"{SESSIONS}-of-{self.source_hash[:12] if self.source_hash is not None else 'unknown'}"
        names = chain([owner], (f"{owner}-{number}" for number in count(2)))
        place = next(place for name in names if not (place := self.folder / name).exists())
        try:
            sessions.rename(place)
        except OSError as error:
            raise not_writable(place, error) from error
        whose = "another video" if self.source_hash is not None else "a world that cannot be read"
        message = f"the sessions of {whose} that was here are kept in {place.name} and no longer shown"
        return [Loss(code=SESSIONS_SET_ASIDE, message=message)]

    def sweep(self, manifest: Manifest) -> None:
        """Remove all files of rows and images that the new ``manifest`` does not contain.

        Files that sessions committed are removed only if the old manifest contains them.
        """
        wanted = manifest.hashes()
        named = {entry.path for entry in self.manifest.files} if self.manifest is not None else set()
        for path in (path for part in (ROWS, IMAGES) for path in sorted((self.folder / part).rglob("*"))):
            name = path.relative_to(self.folder).as_posix()
            by_sessions = path.parent.name in SESSION_TABLES
            if path.is_file() and name not in wanted and (name in named or not by_sessions):
                path.unlink(missing_ok=True)

    def _is_of(self, source_hash: str) -> bool:
        return self.is_same_growing or self.source_hash == source_hash


def find_predecessor(folder: Path, video: Path, *, force: bool, is_followed: bool = False) -> Predecessor:
    """Return the existing world of a folder; its ``manifest`` is None if there is no world, or none that can be read.

    The latter is a fault without ``force``. ``is_followed``: the caller has written the world while
    it followed the video.

    Raises:
        StoreFault: ``world_damaged``, ``other_schema_version``, without ``force``; ``world_damaged`` in any case if the
            folder contains links or pipes, through which nothing is written.
    """
    with suppress(OSError):  # there is no folder yet, or reading it fails below
        check_plain(folder)
    try:
        manifest = read_manifest(folder)
    except StoreFault as fault:
        if fault.code != "no_such_world" and not force:
            raise
        return Predecessor(folder=folder, video=video, manifest=None, source_hash=_source_hash(folder))
    is_same = not manifest.complete and (is_followed or find_source(folder, manifest) == video.resolve())
    was_rewritten = not manifest.complete and not is_same and remembered_source(folder) == video.resolve()
    return Predecessor(
        folder=folder, video=video, manifest=manifest, source_hash=manifest.source.sha256,
        is_same_growing=is_same, was_rewritten=was_rewritten,
    )  # fmt: skip


def _source_hash(folder: Path) -> str | None:
    """Return the source's hash from a manifest that this version cannot read; None if it is not found."""
    try:
        found = json.loads((folder / MANIFEST).read_bytes())["source"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str) and re.fullmatch("[0-9a-f]{64}", found) else None

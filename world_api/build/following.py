"""Following a video that is still being written: its world grows with it, clip by clip, and can be asked meanwhile.

The file is decoded once, as it comes. What is stored of it is named by a provisional key, since nobody knows the hash of
a file that is not complete. When it is complete, rows that a build of the whole file would make in the very same way take
the names such a build gives them, and that build follows: it finds them, makes what is missing, and writes the last manifest.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from uuid import uuid4

from world_api.build.builder import BuildReport, Job, build_locked, describe, find_predecessor, lock_of, row_source
from world_api.build.checkpoint import NAME as DECODE_LOG
from world_api.build.checkpoint import DecodeLog, RowStore
from world_api.build.scheduler import Scheduler, opencv_on_one_thread
from world_api.build.source import hash_source, named, remember_source, stamp_of
from world_api.build.stage import CLIP_SECONDS, Stage, clip_count, keys_of, no_sound
from world_api.core.faults import MediaFault, VideoWorldError
from world_api.media.container import Probe
from world_api.media.decode_pass import DecodePass
from world_api.media.decoder import MediaWorker, VideoPass
from world_api.media.growing_file import being_written
from world_api.world.files import hash_bytes, link, not_writable, write_atomically
from world_api.world.manifest import write_manifest
from world_api.world.storage import find_rows, rows_path

_GROWTH_FILE = "growing.json"
_BLOCK = 1 << 20


class Growth:
    """The provisional name of a growing file, and how much of it has been noted under that name."""

    def __init__(self, folder: Path, video: Path) -> None:
        self._path = folder / _GROWTH_FILE
        self._video = video
        self._token = ""
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._clips = 0
        self._most = math.inf

    def token(self, *, may_go_on: bool) -> str:
        """Stands for the hash of the file until that is known: 64 digits.

        It is the one of an earlier look if the file still begins with what was there then, and ``may_go_on``; else a new one.
        """
        if not self._token:
            known = self._known() if may_go_on else None
            self._token = known if known is not None else hash_bytes(uuid4().bytes)
        return self._token

    @property
    def clips(self) -> int:
        """How many clips from the first on were stored by then; 0 for a new name."""
        return self._clips

    def note(self, clips: int) -> int:
        """Note what of the file is there by now, and that so many clips are stored; how many bytes that is.

        Raises:
            MediaFault: ``source_missing``.
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        with named(self._video):
            self._take(self._video.stat().st_size)
        self._clips = int(min(clips, self._most))
        record = {"token": self._token, "bytes": self._bytes, "sha256": self._digest.hexdigest(), "clips": self._clips}
        write_atomically(self._path, json.dumps(record).encode())
        return self._bytes

    def bound(self, clips: int) -> None:
        """The file seemed to end: only so many clips from the first on did not look at that end.

        Raises:
            MediaFault, StoreFault: as :meth:`note`.
        """
        self._most = clips
        self.note(min(clips, self._clips))

    def forget(self) -> None:
        """Nobody goes on from what was noted."""
        self._path.unlink(missing_ok=True)

    def _known(self) -> str | None:
        try:
            record = json.loads(self._path.read_bytes())
            token, size, sha256 = str(record["token"]), int(record["bytes"]), record["sha256"]
            clips = int(record["clips"])
            if self._video.stat().st_size < size:
                return None
            self._take(size)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if self._digest.hexdigest() == sha256:
            self._clips = clips
            return token
        self._digest, self._bytes = hashlib.sha256(), 0
        return None

    def _take(self, size: int) -> None:
        """Hash the file on, up to so many bytes."""
        with self._video.open("rb") as file:
            file.seek(self._bytes)
            while self._bytes < size and (block := file.read(min(_BLOCK, size - self._bytes))):
                self._digest.update(block)
                self._bytes += len(block)


#: What of a probe the rows depend on; how long the header says the video is does not matter.
_MATTERS = ("codec", "width", "height", "rotation", "frame_rate", "start", "has_audio")
#: Seconds between two looks for a file that is not there yet.
_STEP = 0.2
#: So many clips at the end of a video look at its end.
_LAST = 2


@dataclass(frozen=True, kw_only=True)
class Following:
    """How a growing file is followed: it is complete once it has stayed as it is for ``settled`` seconds.

    ``published`` is told, after each clip, up to which time (seconds) the world can be asked.
    """

    settled: float
    published: Callable[[float], None] = lambda seconds: None


def follow_world(job: Job, following: Following) -> BuildReport:
    """Build the world of a video while it is being written; returns when it is complete.

    Raises:
        MediaFault, StoreFault, BackendFault: as :func:`world_api.build.builder.build_world`.
    """
    started = job.clock.monotonic()
    _await(job.video, following)
    with closing(MediaWorker(job.limits)) as worker, lock_of(job):
        source = _followed(job, following, worker)
        followed = _memorise(job, following, source, worker) if source is not None else None
        stamp = stamp_of(job.video)
        whole = worker.probe(job.video)
        stages, source_hash = job.recipe.stages(job.video, worker), hash_source(job.video)
        # Rows count only if they were made of these very bytes, and stages are told the same of them.
        adopts = followed is not None and followed.read == source_hash and _same_to_stages(followed.source, whole)
        if followed is not None and adopts:
            _adopt(job, stages, token=followed.token, source_hash=source_hash)
            followed.log.adopt(source_hash, job.limits)
        report = build_locked(
            job, whole, stages, worker, stamp, source_hash=source_hash, started=started, reuse=adopts or not job.force,
            is_followed=followed is not None and followed.is_published,
        )  # fmt: skip
        Growth(job.folder, job.video).forget()
        return report


@dataclass(frozen=True, kw_only=True)
class _Followed:
    """A file that was followed to its end: what stages were told of it, the SHA-256 of what was read, and the rows' name.

    ``is_published`` where a world of its beginning was put in place.
    """

    source: Probe
    read: str | None
    token: str
    log: DecodeLog
    is_published: bool


def _await(video: Path, following: Following) -> None:
    """Give a file that is about to be written the time to appear; one that does not is met by probing."""
    until = monotonic() + following.settled
    while not (video.is_file() and video.stat().st_size) and monotonic() < until:
        sleep(min(_STEP, following.settled))


def _followed(job: Job, following: Following, worker: MediaWorker) -> Probe | None:
    """What the beginning of the file says it is, or None for one that can only be read once it is whole."""
    try:
        return worker.probe(job.video, settled=following.settled)
    except MediaFault as fault:
        job.progress.say(f"{job.video.name} cannot be followed ({fault.message}); it is built once it stands still")
        return None


def _memorise(job: Job, following: Following, source: Probe, worker: MediaWorker) -> _Followed:
    """Make rows as the frames come, and publish a world after each clip."""
    folder = job.folder
    growth = Growth(folder, job.video)
    old = find_predecessor(folder, job.video, force=job.force)
    # What a world of another origin notes of the file, and its rows, are not believed.
    token = growth.token(may_go_on=old.is_same_growing and not job.force)
    if not job.force:
        old.refuse_other(profile=job.recipe.profile, source_hash=hash_source(job.video))
    stages = [stage for stage in job.recipe.stages(job.video, worker) if not stage.spec.whole_file]
    keys = keys_of(stages, row_source(token, job.limits))
    rows = RowStore(folder, source, keys, reuse=not job.force, hear=no_sound, most=growth.clips)
    log = DecodeLog(folder / DECODE_LOG, source_hash=token, limits=job.limits, reuse=False)
    publishes = old.is_same_growing or not old.is_there  # another world stays until this one is complete
    published = 0

    def publish(clips: int) -> None:
        nonlocal published
        clips = min(clips, int(decode.last_time // CLIP_SECONDS))  # more of the last one may yet come
        if not publishes or clips <= published:
            return
        published, seconds = clips, clips * CLIP_SECONDS
        manifest = describe(
            folder, job.name, job.recipe.profile, _standing_at(source, seconds, frames=decode.count),
            files=rows.files(clips) + old.committed(stages, token), lost=(), stages=stages, keys=keys,
            source_hash=token, source_bytes=growth.note(clips), built_at=job.clock.now(), complete=False,
        )  # fmt: skip
        write_manifest(folder, manifest)
        remember_source(folder, job.video)
        following.published(seconds)

    scheduler = Scheduler(stages=stages, rows=rows, progress=job.progress, expected=0.0, clip_done=publish)
    decode = VideoPass(
        source=source, limits=job.limits, wants=scheduler.wants(None), noted=log.note,
        settled=following.settled, process=worker.hand_over(),
    )  # fmt: skip
    try:
        with opencv_on_one_thread():
            scheduler.run_pass(decode)
            if decode.final is not None:
                duration = DecodePass(source=source, go_on_from=decode.final).duration
                # The end may turn out to be none; the last clips and those that look ahead into them are then made anew.
                growth.bound(max(0, clip_count(duration) - _LAST))
                log.finish(decode.final, decode.lost)
                scheduler.finish(duration)
    finally:
        decode.close()
        scheduler.stop()
    read = None if decode.lost else decode.read
    return _Followed(source=source, read=read, token=token, log=log, is_published=published > 0)


def _standing_at(source: Probe, seconds: float, *, frames: int) -> DecodePass:
    """A pass that stands where the part of the video that can be asked ends."""
    decode = DecodePass(source=replace(source, declared_duration=None))
    decode.frames, decode.last_time = frames, seconds
    return decode


def _same_to_stages(followed: Probe, whole: Probe) -> bool:
    """Whether stages make the same rows of both."""
    return all(getattr(followed, name) == getattr(whole, name) for name in _MATTERS)


def _adopt(job: Job, stages: Sequence[Stage], *, token: str, source_hash: str) -> None:
    """Give rows the names that a build of the whole file looks for."""
    provisional = keys_of(stages, row_source(token, job.limits))
    final = keys_of(stages, row_source(source_hash, job.limits))
    for stage in stages:
        name = stage.spec.name
        for table in stage.spec.tables:
            for clip, entry in find_rows(job.folder, table=table, key=provisional[name]).items():
                place = job.folder / rows_path(table, clip, final[name], entry.sha256)
                if not place.exists():
                    link(job.folder / entry.path, place)


def is_address(video: str) -> bool:
    """Whether this names a stream on the network and no file."""
    scheme, colon, _ = video.partition("://")
    return bool(colon) and scheme.isalnum() and not Path(video).exists()


def follow_stream(job: Job, address: str, following: Following) -> BuildReport:
    """Record a stream into the job's video file, and build that file's world meanwhile.

    The recording stays: evidence is looked up in it.

    Raises:
        MediaFault: ``network_not_allowed``, ``stream_not_reached``, ``recording_exists``; as following a file.
    """
    recording = _Recording(job, address)
    recording.start()
    try:
        return follow_world(job, following)
    except VideoWorldError:
        recording.stop()
        if recording.fault is not None:
            raise recording.fault from None
        raise
    finally:
        recording.stop()


class _Recording(Thread):
    """Writes the stream until it ends."""

    def __init__(self, job: Job, address: str) -> None:
        super().__init__(name="recording", daemon=True)
        self.fault: VideoWorldError | None = None
        self._address = address
        self._path = job.video
        self._worker = MediaWorker(job.limits)
        if not job.limits.network:
            raise MediaFault(
                "network_not_allowed", f"{address} is on the network, which is not allowed", hint="add --allow-network"
            )
        if self._path.exists():
            raise MediaFault(
                "recording_exists",
                f"{self._path} is there already",
                hint="name another file with --record, or remove it",
            )
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            being_written(self._path).touch()
        except OSError as error:
            raise not_writable(self._path, error) from error
        self._worker.start()  # so that there is one to kill, however early the recording is stopped

    def run(self) -> None:
        """Record; whatever happens, the file is then complete."""
        try:
            self._worker.ask({"do": "capture", "address": self._address}, self._path)
        except VideoWorldError as fault:
            self.fault = fault
        finally:
            being_written(self._path).unlink(missing_ok=True)

    def stop(self) -> None:
        """End the recording, if it goes on."""
        with closing(self._worker):
            self._worker.kill()
        self.join()

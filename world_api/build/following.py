"""Following a video that is still being written: its world grows clip by clip and can be queried meanwhile.

The file is decoded once, while it grows. Its rows are stored under provisional keys, since the hash of an incomplete
file is unknown. Once the file is complete, rows that a build of the whole file would make in the same way are linked
under the keys of such a build. That build then runs: it finds these rows, makes the missing ones and writes the final
manifest.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from uuid import uuid4

from world_api.build.builder import BuildReport, Job, Subject, build_locked, describe, find_predecessor, row_source
from world_api.build.checkpoint import DECODE_LOG, DecodeLog, RowStore
from world_api.build.scheduler import Scheduler, opencv_on_one_thread
from world_api.build.source import hash_source, remember_source, source_errors, stamp_of
from world_api.build.stage import CLIP_SECONDS, clip_count, keys_of, no_sound
from world_api.core.faults import MediaFault, VideoWorldError
from world_api.core.files import hash_bytes, link, not_writable, write_atomically
from world_api.media.container import Probe
from world_api.media.decode_pass import PassState
from world_api.media.decoder import MediaWorker, VideoPass
from world_api.media.growing_file import being_written, is_being_written
from world_api.world.storage import rows_path, write_manifest

_GROWTH_FILE = "growing.json"
_BLOCK = 1 << 20
#: The facts of a probe that rows depend on; the duration in the header does not matter.
_FACTS = ("codec", "width", "height", "rotation", "frame_rate", "start", "has_audio")
#: Seconds between two checks for a file that does not exist yet.
_STEP = 0.2
#: The number of clips at the end of a video whose rows depend on where it ends.
_LAST = 2


class Growth:
    """The provisional hash (``token``) of a growing file, and how much of the file was processed under it.

    The token has 64 digits and replaces the hash of the file until that is known. With ``may_resume`` it is the token
    of an earlier run if the file still begins with the same bytes; else it is new. ``clips``: how many clips are stored
    under it, from the first on.
    """

    def __init__(self, folder: Path, video: Path, *, may_resume: bool) -> None:
        self._path = folder / _GROWTH_FILE
        self._video = video
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._most = math.inf
        self.clips = 0
        self.token = (self._known() if may_resume else None) or hash_bytes(uuid4().bytes)

    def note(self, clips: int) -> int:
        """Store the size and hash of the file now, and the number of stored clips, for a later run; return the size.

        Raises:
            MediaFault: ``source_missing``.
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        with source_errors(self._video):
            self._hash_up_to(self._video.stat().st_size)
        self.clips = int(min(clips, self._most))
        record = {"token": self.token, "bytes": self._bytes, "sha256": self._digest.hexdigest(), "clips": self.clips}
        write_atomically(self._path, json.dumps(record).encode())
        return self._bytes

    def bound(self, clips: int) -> None:
        """Limit the clips that a later run may reuse to the first ``clips``: the others depend on where the file ended.

        Raises as :meth:`note`.
        """
        self._most = clips
        self.note(min(clips, self.clips))

    def _known(self) -> str | None:
        """Return the token of an earlier run; None unless the file still begins with the same bytes."""
        try:
            record = json.loads(self._path.read_bytes())
            token, size, clips = str(record["token"]), int(record["bytes"]), int(record["clips"])
            self._hash_up_to(size)
            is_same = self._bytes == size and self._digest.hexdigest() == record["sha256"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            is_same = False
        if not is_same:
            self._digest, self._bytes = hashlib.sha256(), 0
            return None
        self.clips = clips
        return token

    def _hash_up_to(self, size: int) -> None:
        with self._video.open("rb") as file:
            file.seek(self._bytes)
            while self._bytes < size and (block := file.read(min(_BLOCK, size - self._bytes))):
                self._digest.update(block)
                self._bytes += len(block)


@dataclass(frozen=True, kw_only=True)
class Following:
    """Options for following a growing file, which is complete once it has not changed for ``settled`` seconds.

    ``published`` is called after each clip with the time (seconds) up to which the world can be queried.
    """

    settled: float
    published: Callable[[float], None] = lambda seconds: None


def follow_world(job: Job, following: Following) -> BuildReport:
    """Build the world of a video while it is being written; return when it is complete. Raises as ``build_world``."""
    started = job.clock.monotonic()
    until = monotonic() + following.settled
    # It is about to be written, or being recorded; probing reports a file that does not appear.
    while not (job.video.is_file() and job.video.stat().st_size) and (
        monotonic() < until or is_being_written(job.video)
    ):
        sleep(min(_STEP, following.settled))
    with closing(MediaWorker(job.limits)) as worker, job.lock():
        followed = None
        try:
            source = worker.probe(job.video, settled=following.settled)
        except MediaFault as fault:
            job.progress.say(f"{job.video.name} cannot be followed ({fault.message}); it is built once it is complete")
        else:
            followed = _build_growing(job, following, source, worker)
        subject = Subject.examined(job, worker)
        # Rows count only if they were made of these very bytes, and of the same facts about the video.
        adopts = followed is not None and followed.is_of(subject)
        if followed is not None and adopts:
            followed.adopt(job, subject)
        report = build_locked(
            job, subject, worker, started=started, reuse=adopts or not job.force,
            is_followed=followed is not None and followed.is_published,
        )  # fmt: skip
        (job.folder / _GROWTH_FILE).unlink(missing_ok=True)
        return report


@dataclass(frozen=True, kw_only=True)
class _Followed:
    """The finished decode pass of a followed file, and the token of its rows. ``is_published``: a world was written."""

    decode: VideoPass
    rows: RowStore
    token: str
    is_published: bool

    def is_of(self, subject: Subject) -> bool:
        """Whether the pass read the whole file without loss, so that its rows equal those of a normal build.

        False, too, if packets after the last frame gave no picture: a normal build, which knows the header's end, has a hole there.
        """
        source, decode = subject.source, self.decode
        is_same = all(getattr(decode.source, name) == getattr(source, name) for name in _FACTS)
        is_ended = decode.final is not None and decode.final.refused.last <= decode.final.duration
        return is_same and is_ended and not decode.lost and decode.read == subject.source_hash

    def adopt(self, job: Job, subject: Subject) -> None:
        """Link rows under the names that a build of the whole file looks for, and log that the file was decoded."""
        provisional = keys_of(subject.stages, row_source(self.token, job.limits))
        for name, key in provisional.items():
            # Not what is found on disk: a pass that broke off after a false end left other rows under these names.
            for entry in self.rows.files_of(key):
                place = rows_path(entry.table, entry.clip, subject.keys[name], entry.sha256)
                link(job.folder / entry.path, job.folder / place)
        if self.decode.final is not None:
            log = DecodeLog(job.folder / DECODE_LOG, source_hash=subject.source_hash, limits=job.limits, reuse=False)
            log.finish(self.decode.final, [])


def _build_growing(job: Job, following: Following, source: Probe, worker: MediaWorker) -> _Followed:
    """Make rows while the file grows, and write a manifest after each clip, unless it would replace another world."""
    folder = job.folder
    old = find_predecessor(folder, job.video, force=job.force)
    # The notes and rows of a world of another origin are not trusted.
    growth = Growth(folder, job.video, may_resume=old.is_same_growing and not job.force)
    if not job.force:
        old.refuse_other(profile=job.recipe.profile, source_hash=hash_source(job.video))
    stages = [stage for stage in job.recipe.stages(job.video, worker) if not stage.spec.whole_file]
    keys = keys_of(stages, row_source(growth.token, job.limits))
    subject = Subject(
        source=replace(source, declared_duration=None), stages=stages, keys=keys, source_hash=growth.token,
        stamp=stamp_of(job.video),
    )  # fmt: skip
    old.note_beginning()
    rows = RowStore(folder, source, keys, reuse=not job.force, audio=no_sound, most=growth.clips)
    publishes = old.is_same_growing or not old.exists  # another world stays until this one is complete
    published = 0

    def publish(clips: int) -> None:
        nonlocal published
        clips = min(clips, int(decode.last_time // CLIP_SECONDS))  # more of the last one may yet come
        if not publishes or clips <= published:
            return
        published, seconds = clips, clips * CLIP_SECONDS
        state = PassState(start=source.start, frames=decode.count, last_time=seconds)
        files = rows.files(clips) + old.committed(growth.token)
        lost = [one for one in decode.lost if (one.start_time or 0.0) <= seconds]
        manifest = describe(
            job, subject, state, files=files, lost=lost, source_bytes=growth.note(clips), complete=False
        )
        write_manifest(folder, manifest)
        remember_source(folder, job.video)
        following.published(seconds)

    scheduler = Scheduler(stages=stages, rows=rows, progress=job.progress, expected=0.0, clip_done=publish)
    decode = VideoPass(
        source=subject.source, limits=job.limits, wants=scheduler.wants(None), settled=following.settled,
        process=worker.detach(), holes=rows.holes,
    )  # fmt: skip
    try:
        with opencv_on_one_thread():
            scheduler.run_pass(decode)
            if decode.final is not None:
                duration = decode.final.duration
                # The file may grow again; then the last clips and those that look ahead into them are made again.
                growth.bound(max(0, clip_count(duration) - _LAST))
                scheduler.finish(duration)
    finally:
        decode.close()
        scheduler.stop()
    return _Followed(decode=decode, rows=rows, token=growth.token, is_published=published > 0)


def is_address(video: str) -> bool:
    """Whether ``video`` is the address of a stream (``scheme://...``) and not an existing file."""
    scheme, colon, _ = video.partition("://")
    return bool(colon) and scheme.isalnum() and not Path(video).exists()


def follow_stream(job: Job, address: str, following: Following) -> BuildReport:
    """Record a stream into the job's video file, and build the world of that file at the same time.

    The recording is kept, since evidence is looked up in it.

    Raises:
        MediaFault: ``network_not_allowed``, ``stream_not_reached``, ``recording_exists``; as :func:`follow_world`.
    """
    path = job.video
    if not job.limits.network:
        raise MediaFault(
            "network_not_allowed", f"{address} is on the network, which is not allowed", hint="add --allow-network"
        )
    if path.exists():
        raise MediaFault(
            "recording_exists", f"{path} is there already", hint="name another file with --record, or remove it"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        being_written(path).touch()
    except OSError as error:
        raise not_writable(path, error) from error
    with closing(MediaWorker(job.limits)) as worker, ThreadPoolExecutor(1, thread_name_prefix="recording") as executor:
        worker.start()  # so that there is a process to kill, however early the recording is stopped
        recording = executor.submit(_record, worker, address, path)
        try:
            return follow_world(job, following)
        except VideoWorldError:
            fault = recording.exception() if recording.done() else None
            if isinstance(fault, VideoWorldError):
                raise fault from None
            raise
        finally:
            worker.kill()


def _record(worker: MediaWorker, address: str, path: Path) -> None:
    """Record a stream until it ends or fails; then remove the marker that the file is being written."""
    try:
        # Once only: another try would write over what was recorded, and the worker is killed to end the recording.
        worker.ask({"do": "capture", "address": address}, path, is_repeatable=False)
    finally:
        being_written(path).unlink(missing_ok=True)

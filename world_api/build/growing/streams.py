"""Following a stream from the network: it is recorded into a file, and that file is followed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Thread

from world_api.build.builder import BuildReport, Job
from world_api.build.growing.following import Following, follow_world
from world_api.build.media.apart.worker import MediaWorker
from world_api.build.media.child.growing import being_written
from world_api.core.faults import MediaFault, VideoWorldError
from world_api.world.files import not_writable


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

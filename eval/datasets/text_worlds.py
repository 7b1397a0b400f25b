"""Worlds of dialogues, written from the words.

Scenes are sessions. The date and time of a session is on the screen while it lasts. Turns are speech that begins with the
speaker's name. Pictures that were sent along are captions, and so is who talks in a session. The manifest says that there is no
video: profile and container are ``text``, the codec is ``none``, and there are no frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.datasets.items import Dataset, Dialogue, Session
from world_api.core.faults import EvalFault, StoreFault
from world_api.installation import project_version

if TYPE_CHECKING:
    import pyarrow as pa

    from world_api.world.manifest import FileEntry, Manifest


PROFILE = "text"
PRODUCER = "dialogue/1"
WIDTH, HEIGHT = 640, 360
#: The picture says nothing of the video's; it gives boxes of text a place.
_BOX = {"x1": 0.1 * WIDTH, "y1": 0.4 * HEIGHT, "x2": 0.9 * WIDTH, "y2": 0.6 * HEIGHT}
FILE_SECONDS = 3600.0
#: The date is read again so often (seconds), and for the last time so long before the session's end.
READING_STEP, _BEFORE_END = 15.0, 0.1
#: The world says nothing of when it was written, so that the same words give the same bytes.
_BUILT_AT = "1970-01-01T00:00:00+00:00"

Row = dict[str, Any]


def ensure_text_worlds(dataset: Dataset, store: Path) -> tuple[str, ...]:
    """Write the worlds of a dataset's dialogues that are not in the store yet; the ids of those that were written.

    A world of the same id stays where it is of the same words; one of other words is written anew; one that is no text is in the way.

    Raises:
        EvalFault: ``world_in_the_way``.
        StoreFault: ``store_not_writable``, ``disk_full``, ``bad_video_id``.
    """
    written = []
    for video_id, video in sorted(dataset.videos.items()):
        if video.text is not None and not text_world_is_there(store, video_id, video.text):
            write_text_world(store, video_id, video.text)
            written.append(video_id)
    return tuple(written)


def text_world_is_there(store: Path, video_id: str, dialogue: Dialogue) -> bool:
    """Whether the store holds the world of this very dialogue, whole: a damaged one is as good as none, since it can be written again.

    Raises:
        EvalFault: ``world_in_the_way``: it holds another world under the id, which is not a text's.
        StoreFault: ``bad_video_id``.
    """
    from world_api.world.manifest import read_manifest
    from world_api.world.store import world_folder

    folder = world_folder(store, video_id)
    try:
        manifest = read_manifest(folder)
    except StoreFault:
        return False
    if manifest.profile != PROFILE:
        raise EvalFault(
            "world_in_the_way",
            f"the store holds a world {video_id!r} that was built from a video ({manifest.source.file_name})",
            hint="choose another --store for this dataset",
        )
    same = manifest.source.sha256 == dialogue.sha256 and all(stage.version == PRODUCER for stage in manifest.stages)
    return same and all(_is_whole(folder / file.path, file.sha256) for file in manifest.files)


def _is_whole(path: Path, sha256: str) -> bool:
    from world_api.world.files import hash_file

    try:
        return hash_file(path) == sha256
    except OSError:
        return False


def write_text_world(store: Path, video_id: str, dialogue: Dialogue) -> None:
    """Write the world of a dialogue where it is not there; the same words, the same bytes.

    Raises:
        EvalFault: ``world_in_the_way``.
        StoreFault: ``store_not_writable``, ``disk_full``, ``bad_video_id``.
    """
    from world_api.api import text_embedder
    from world_api.search.documents import prepare
    from world_api.world.files import world_lock
    from world_api.world.manifest import write_manifest
    from world_api.world.store import world_folder

    folder = world_folder(store, video_id)
    with world_lock(store, video_id, waiting=lambda _: None):  # another process may be writing the same
        if not text_world_is_there(store, video_id, dialogue):
            files = list(_write(folder, dialogue))
            write_manifest(folder, _manifest(folder, video_id, dialogue, files))
    prepare(store, video_id, text_embedder())


def _manifest(folder: Path, video_id: str, dialogue: Dialogue, files: list[FileEntry]) -> Manifest:
    from world_api.world.manifest import Manifest, SourceFacts, StageFacts, VideoFacts
    from world_api.world.store import world_hash
    from world_api.world.tables import SCHEMA_VERSION

    video = VideoFacts(
        duration=dialogue.duration, frame_rate=0.0, width=WIDTH, height=HEIGHT, rotation=0, frames=0, codec="none",
        has_audio=False,
    )  # fmt: skip
    stage = StageFacts(
        name="dialogue", version=PRODUCER, key=PROFILE, parameters={}, tables=sorted({file.table for file in files})
    )
    return Manifest(
        schema_version=SCHEMA_VERSION, video_id=video_id, profile=PROFILE, title=f"dialogue {dialogue.title}",
        built_at=_BUILT_AT, project_version=project_version(), clip_seconds=FILE_SECONDS, stages=[stage], losses=[],
        source=SourceFacts(file_name=dialogue.title, sha256=dialogue.sha256, bytes=0, container=PROFILE),
        video=video, files=files, images=[], world_hash=world_hash(folder, video, files),
    )  # fmt: skip


def _write(folder: Path, dialogue: Dialogue) -> Iterator[FileEntry]:
    """The rows of every table, parted into files by when they begin."""
    from world_api.world.storage import rows_from_records, write_rows

    last = int(max(0.0, dialogue.duration - 1e-3) // FILE_SECONDS)
    for table, rows in _tables(dialogue).items():
        by_file: dict[int, list[Row]] = {}
        for row in rows:
            clip = min(last, int((row["time"] if "time" in row else row["start"]) // FILE_SECONDS))
            by_file.setdefault(clip, []).append({**row, "producer": PRODUCER})
        for clip in range(last + 1):
            records: pa.Table = rows_from_records(table, by_file.get(clip, []))
            yield write_rows(folder, table=table, clip=clip, key=PROFILE, rows=records)


def _tables(dialogue: Dialogue) -> dict[str, list[Row]]:
    starts = [session.start for session in dialogue.sessions[1:]]
    return {
        "cuts": [{"time": time, "score": 1.0, "kind": "cut", "known_at": time} for time in starts],
        "scene_cuts": [{"time": time, "strength": 1.0, "known_at": time} for time in starts],
        "speech": list(_speech(dialogue)),
        "screen_texts": [row for session in dialogue.sessions for row in _dates(session)],
        "captions": list(_captions(dialogue)),
    }


def _speech(dialogue: Dialogue) -> Iterable[Row]:
    for session in dialogue.sessions:
        for turn in session.turns:
            if turn.text:
                # The operations tell what is said and not by whom, and a dialogue cannot be followed without.
                text = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
                yield {
                    "start": turn.start, "end": turn.end, "text": text, "speaker": turn.speaker, "language": "",
                    "source": "truth", "confidence": 1.0, "known_at": turn.end,
                }  # fmt: skip


def _dates(session: Session) -> Iterable[Row]:
    """The date and time, read at even distances and once more at the end."""
    if not session.when:
        return
    time = session.start
    while time < session.end:
        yield _reading(time, session.when)
        time = round(time + READING_STEP, 3)
    yield _reading(round(session.end - _BEFORE_END, 3), session.when)


def _reading(time: float, text: str) -> Row:
    return {"time": time, "text": text, **_BOX, "confidence": 1.0, "known_at": time}


def _captions(dialogue: Dialogue) -> Iterable[Row]:
    for session in dialogue.sessions:
        speakers = " and ".join(dict.fromkeys(turn.speaker for turn in session.turns))
        told = f"{speakers} talk" + (f", {session.when}" if session.when else "")
        yield _caption(session.start, session.end, told)
        for turn in session.turns:
            if turn.picture:
                yield _caption(turn.start, turn.end, f"{turn.speaker} shares a picture: {turn.picture}")


def _caption(start: float, end: float, text: str) -> Row:
    return {"start": start, "end": end, "text": text, "confidence": 1.0, "known_at": end}

"""Dialogues: the benchmark LoCoMo, and the text worlds that are made from the text of a dialogue.

Formats of github.com/snap-research/locomo (arXiv 2402.17753): ``data/locomo10.json``, a list of ``{"sample_id",
"conversation": {"speaker_a", "speaker_b", "session_1", "session_1_date_time", ...}, "qa": [...]}``; or
``data/locomo10.zip``, with one JSON file per dialogue, named after it, in which the keys of ``conversation`` are at the
same level as ``qa``; or a folder of such files.

A turn is ``{"speaker", "dia_id": "D1:3", "text", "blip_caption"?}``, a question ``{"question", "answer", "category",
"evidence": ["D1:3"]}``. Categories, as ``task_eval/evaluation.py`` scores them: 1 several hops (answers with commas), 2
time, 3 world knowledge (the answer is before a semicolon), 4 one hop, 5 adversarial: the dialogue does not contain the
answer, and ``adversarial_answer`` is a plausible wrong one. ``task_eval/evaluate_gpts.py`` turns these into a choice of
two options: that answer, or "not said". This adapter does the same; the order of the options depends on the question's
id.

The times of a dialogue are invented: turns follow one another, and each lasts as long as speaking its words would take.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.datasets.adapters import Entries, Entry, Raw, Sources, Unusable, entries_of, nested, text_of
from eval.datasets.files import bad, json_files, read_json
from eval.datasets.items import Dataset, Dialogue, DialogueSession, Turn
from world_api.core.canonical import content_hash
from world_api.core.faults import EvalFault, StoreFault
from world_api.core.files import hash_file, world_lock
from world_api.core.spans import round_time
from world_api.installation import project_version

if TYPE_CHECKING:
    from world_api.world.storage import FileEntry, Manifest


#: Seconds per word, of the shortest turn, between turns, and between sessions.
WORD, SHORTEST, PAUSE, BREAK = 0.4, 1.5, 0.5, 10.0
MAX_TURNS, MAX_TEXT = 100_000, 20_000
_SESSION = re.compile(r"session_(\d{1,4})")
_AS_PUBLISHED = "give the file of dialogues as it was published"


def dialogue_of(name: str, conversation: object) -> Dialogue:
    """Return the dialogue ``name``, with invented times, from LoCoMo's keys ``session_N`` and ``session_N_date_time``."""
    if not isinstance(conversation, Mapping):
        raise bad(f"dialogue {name} is not an object of sessions", _AS_PUBLISHED)
    found = (_SESSION.fullmatch(key) for key in conversation if isinstance(key, str))
    sessions: list[DialogueSession] = []
    at, count = 0.0, 0
    for number in sorted(int(match[1]) for match in found if match):
        turns = _turns(conversation[f"session_{number}"], f"dialogue {name}, session {number}", at)
        count += len(turns)
        if count > MAX_TURNS:
            raise bad(f"dialogue {name} has more than {MAX_TURNS:,} turns", _AS_PUBLISHED)
        if turns:
            when = _text(conversation, f"session_{number}_date_time")
            sessions.append(DialogueSession(when=when, start=at, end=turns[-1].end, turns=turns))
            at = round_time(turns[-1].end + BREAK)
    if not sessions:
        raise bad(f"dialogue {name} has no turns", _AS_PUBLISHED)
    text = [
        [session.when, [[turn.id, turn.speaker, turn.text, turn.picture] for turn in session.turns]]
        for session in sessions
    ]
    return Dialogue(title=name, sessions=tuple(sessions), sha256=content_hash(text))


def _turns(raw: object, where: str, at: float) -> tuple[Turn, ...]:
    if not isinstance(raw, list):
        raise bad(f"{where} is not a list of turns", _AS_PUBLISHED)
    found = []
    for place, item in enumerate(raw):
        turn = item if isinstance(item, Mapping) else {}
        text, picture, speaker = (_text(turn, key) for key in ("text", "blip_caption", "speaker"))
        if not (text or picture):
            raise bad(f"{where}, turn {place} says nothing", _AS_PUBLISHED)
        end = round_time(at + max(SHORTEST, WORD * len(text.split())))
        name = _text(turn, "dia_id") or f"turn {place}"
        found.append(Turn(id=name, speaker=speaker, text=text, start=at, end=end, picture=picture))
        at = round_time(end + PAUSE)
    return tuple(found)


def _text(record: Mapping[str, Any], key: str) -> str:
    return text_of(record.get(key))[:MAX_TEXT]


#: The right option of an adversarial question, in the project's own words.
NOT_SAID = "The conversation does not say"
CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D:?(\d{1,4}):(\d{1,5})")


def read_locomo(sources: Sources) -> Entries:
    """Yield the questions of all dialogues, and a ``SkippedEntry`` for each that cannot be used."""
    samples = _samples(sources)
    dialogues = {name: dialogue_of(name, sample.get("conversation", sample)) for name, sample in samples.items()}
    listed = (nested(f"dialogue {name}", sample, "qa", sample=name) for name, sample in samples.items())
    return entries_of(chain.from_iterable(listed), lambda entry: _question(entry, dialogues))


def _samples(sources: Sources) -> dict[str, Mapping[str, Any]]:
    path = sources.annotations
    if path.suffix.lower() == ".zip" and not path.is_dir():
        files = json_files(path)
    else:
        paths = [path]
        if path.is_dir():
            inside = sorted(item for item in path.iterdir() if item.suffix == ".json" and item.is_file())
            paths = [item for item in inside if item.name == "locomo10.json"] or inside
        files = {item.name: read_json(item) for item in paths}
    found: dict[str, Mapping[str, Any]] = {}
    for name, value in files.items():
        for stem, sample in _parts(name, value):
            own = stem.removeprefix("conv-")
            if own in found:
                raise bad(f"two dialogues are named {own[:60]!r}", "give locomo10.json or locomo10.zip as published")
            found[own] = sample
    if not found:
        raise EvalFault("no_annotations", f"{path.name} holds no dialogue", hint="give locomo10.json or locomo10.zip")
    return dict(sorted(found.items()))


def _parts(name: str, value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (name, sample) for each sample of a file: a list of samples, or one sample, named after the file."""
    several = isinstance(value, list)
    for number, item in enumerate(value if isinstance(value, list) else [value]):
        if not isinstance(item, dict):
            raise bad(f"{name}, sample {number} is not an object", "give locomo10.json or locomo10.zip as published")
        yield text_of(item.get("sample_id")) or (str(number) if several else Path(name).stem), item


def _question(entry: Entry, dialogues: Mapping[str, Dialogue]) -> Raw:
    sample, category = entry.text("sample"), entry.number("category")
    if category not in CATEGORIES:
        raise Unusable(f"there is no category {category}")
    name, text = f"locomo-{sample}", dialogues[sample]
    own = f"{name}-q{int(entry.place):03d}"
    spans, unknown = _evidence(entry.raw("evidence"), text)
    labels = {"category": category, "type": CATEGORIES[category]}
    asked = Raw(
        where=entry.where,
        id=own,
        video=name,
        question=entry.text("question"),
        spans=spans,
        labels={**labels, "unknown_evidence": unknown} if unknown else labels,
        answer=None,
        text=text,
    )
    if category != 5:
        return replace(asked, answer=entry.text("answer"))
    wrong = entry.text("adversarial_answer", "answer")
    not_said_first = hashlib.sha256(own.encode()).digest()[0] % 2 == 0
    options = (NOT_SAID, wrong) if not_said_first else (wrong, NOT_SAID)
    return replace(asked, kind="choice", options=options, answer="A" if not_said_first else "B")


def _evidence(value: object, dialogue: Dialogue) -> tuple[tuple[tuple[float, float], ...], list[str]]:
    """Return the sorted intervals of the turns that ``value`` names ("D1:3", ...), and its texts that name none or an unknown one."""
    places = {turn.id: (turn.start, turn.end) for session in dialogue.sessions for turn in session.turns}
    found: dict[tuple[float, float], None] = {}
    unknown = []
    for text in value[:100] if isinstance(value, list) else ():
        named = [f"D{int(a)}:{int(b)}" for a, b in _EVIDENCE.findall(text)] if isinstance(text, str) else []
        found |= {places[item]: None for item in named if item in places}
        if not named or any(item not in places for item in named):
            unknown.append(str(text)[:60])
    return tuple(sorted(found)), unknown


PROFILE = "text"
PRODUCER = "dialogue/2"
WIDTH, HEIGHT = 640, 360
#: The size of the frame is invented; it is needed for the boxes of screen texts.
_BOX = {"x1": 0.1 * WIDTH, "y1": 0.4 * HEIGHT, "x2": 0.9 * WIDTH, "y2": 0.6 * HEIGHT}
FILE_SECONDS = 3600.0
#: Seconds between two rows of the date, and between the last one and the end of the session.
READING_STEP, _BEFORE_END = 15.0, 0.1
#: A fixed time instead of the real one, so that the same text gives the same bytes.
_BUILT_AT = "1970-01-01T00:00:00+00:00"

Row = dict[str, Any]


def ensure_text_worlds(dataset: Dataset, store: Path) -> tuple[str, ...]:
    """Write the worlds of a dataset's dialogues that are not in the store yet; return the ids of those written.

    A world of the same text is kept; a world of another text is replaced. Raises EvalFault: ``world_in_the_way``: the
    store has a world with that id that was built from a video; StoreFault: ``store_not_writable``, ``disk_full``,
    ``bad_video_id``.
    """
    written = []
    for video_id, video in sorted(dataset.videos.items()):
        if video.text is not None and not text_world_is_there(store, video_id, video.text):
            write_text_world(store, video_id, video.text)
            written.append(video_id)
    return tuple(written)


def text_world_is_there(store: Path, video_id: str, dialogue: Dialogue) -> bool:
    """Whether the complete world of this dialogue exists. Raises EvalFault: ``world_in_the_way``; StoreFault."""
    from world_api.world.storage import read_manifest
    from world_api.world.store import world_folder

    folder = world_folder(store, video_id)
    try:
        manifest = read_manifest(folder)
    except StoreFault:
        return False
    if manifest.profile != PROFILE:
        message = f"the store holds a world {video_id!r} that was built from a video ({manifest.source.file_name})"
        raise EvalFault("world_in_the_way", message, hint="choose another --store for this dataset")
    same = manifest.source.sha256 == dialogue.sha256 and all(stage.version == PRODUCER for stage in manifest.stages)
    try:
        return same and all(hash_file(folder / file.path) == file.sha256 for file in manifest.files)
    except OSError:
        return False


def write_text_world(store: Path, video_id: str, dialogue: Dialogue) -> None:
    """Write a dialogue's world unless the store has it; equal text, equal bytes. Raises as ``ensure_text_worlds``."""
    from world_api.api import text_embedder
    from world_api.search.searcher import prepare
    from world_api.world.storage import write_manifest
    from world_api.world.store import world_folder

    folder = world_folder(store, video_id)
    with world_lock(store, video_id, waiting=lambda _: None):  # another process may be writing the same
        if not text_world_is_there(store, video_id, dialogue):
            files = list(_write(folder, dialogue))
            write_manifest(folder, _manifest(folder, video_id, dialogue, files))
    prepare(store, video_id, text_embedder())


def _manifest(folder: Path, video_id: str, dialogue: Dialogue, files: list[FileEntry]) -> Manifest:
    from world_api.world.storage import Manifest, SourceFacts, StageFacts, VideoFacts
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
    """Write the rows of every table, in one file for each ``FILE_SECONDS``; yield the manifest entries of the files."""
    from world_api.world.storage import rows_from_records, write_rows

    last = int(max(0.0, dialogue.duration - 1e-3) // FILE_SECONDS)
    for table, rows in _tables(dialogue).items():
        by_file: dict[int, list[Row]] = {}
        for row in rows:
            clip = min(last, int((row["time"] if "time" in row else row["start"]) // FILE_SECONDS))
            by_file.setdefault(clip, []).append({**row, "producer": PRODUCER})
        for clip in range(last + 1):
            records = rows_from_records(table, by_file.get(clip, []))
            yield write_rows(folder, table=table, clip=clip, key=PROFILE, rows=records)


def _tables(dialogue: Dialogue) -> dict[str, list[Row]]:
    starts = [session.start for session in dialogue.sessions[1:]]
    return {
        "cuts": [{"time": time, "score": 1.0, "kind": "cut", "known_at": time} for time in starts],
        "scene_cuts": [{"time": time, "strength": 1.0, "known_at": time} for time in starts],
        "speech": [_speech(turn) for session in dialogue.sessions for turn in session.turns if turn.text],
        "screen_texts": [row for session in dialogue.sessions for row in _dates(session)],
        "captions": [row for session in dialogue.sessions for row in _captions(session)],
    }


def _speech(turn: Turn) -> Row:
    # Operations return the text without the speaker, and a dialogue cannot be understood without the speakers.
    text = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
    fixed = {"language": "", "source": "truth", "confidence": 1.0, "known_at": turn.end}
    return {"start": turn.start, "end": turn.end, "text": text, "speaker": turn.speaker, **fixed}


def _dates(session: DialogueSession) -> Iterator[Row]:
    """Yield rows of screen text with a session's date, at regular intervals and once more at its end."""
    times, time = [], session.start
    while time < session.end:
        times.append(time)
        time = round(time + READING_STEP, 3)
    for time in dict.fromkeys((*times, round(session.end - _BEFORE_END, 3))) if session.when else ():
        yield {"time": time, "text": session.when, **_BOX, "confidence": 1.0, "known_at": time}


def _captions(session: DialogueSession) -> Iterator[Row]:
    speakers = " and ".join(dict.fromkeys(turn.speaker for turn in session.turns))
    said = f"{speakers} talk" + (f", {session.when}" if session.when else "")
    rows = [(session.start, session.end, said)]
    for turn in session.turns:
        if turn.picture:
            rows.append((turn.start, turn.end, f"{turn.speaker} shares a picture: {turn.picture}"))
    for start, end, text in rows:
        yield {"start": start, "end": end, "text": text, "confidence": 1.0, "known_at": end}

"""The tables of a world, their Arrow schemas, and the causal cut, which decides which rows a session may know.

Each row has the time at which it became known (``known_at``, seconds of video that had to be seen) and its producer
(``name/version``). Most rows are facts about moments; the reader derives shots, scenes, tracks and screen texts from
the rows that are visible behind its causal cut. So a cut never has to split something that was partly known. All
comparisons with ``known_at`` by readers are in ``Cut``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.core import execution
from world_api.core.ports import TagKind

if execution.is_command and "pandas" not in sys.modules:
    # With the first value that it converts, pyarrow imports pandas if that is installed: 0.15 s for nothing. Not in other
    # programs: without it ``pa.array`` takes the missing values of a pandas Series for plain objects.
    with execution.hidden("pandas"):
        pa.array([])

# --- the tables -----------------------------------------------------------------------------------------------------

SCHEMA_VERSION = 2
DESCRIPTOR_DIMENSION = 128
TRACK_LOOK_DIMENSION = 76

_TAIL = [pa.field("known_at", pa.float64(), nullable=False), pa.field("producer", pa.string(), nullable=False)]


#: What no id is, as a regular expression: empty, long, with control characters, or with separators of paths.
NO_ID = r"^$|^.{201}|[\x00-\x1f\x7f/\\]"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the rows of a sound world satisfy beyond their types.

    Reading a table checks what a single row shows: ``within``, ``ids``, ``choices``. The rest is checked by ``verification`` alone.

    Attributes:
        within: Columns whose times are not after the end of the video. Ends of intervals may be later and are cut when read;
            what sessions wrote may be later, since the video may be built again shorter.
        repeats: Whether several rows may have the same key.
        unique: Columns, beside the key, in which no value occurs twice.
        ids: Columns of ids: none that ``NO_ID`` matches.
        choices: The texts that a column may have.
        references: The table and column in which each value of a column must be.
        follows: Two columns, such as a track and its successor; steps from the first to the second form no circle.
    """

    within: tuple[str, ...] = ("time",)
    repeats: bool = False
    unique: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    references: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    follows: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """One table: its name, its Arrow schema, the columns that identify and order a row, and the rules for its rows."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    rules: Rules


def _table(name: str, key: tuple[str, ...], rules: Rules | None = None, /, **columns: pa.DataType) -> TableSpec:
    fields = [pa.field(column, kind, nullable=False) for column, kind in columns.items()]
    return TableSpec(name=name, schema=pa.schema(fields + _TAIL), key=key, rules=rules or Rules())


_F64, _F32, _TEXT, _INT = pa.float64(), pa.float32(), pa.string(), pa.int64()
_BOX = dict.fromkeys(("x1", "y1", "x2", "y2"), _F32)
_TRACK = ("sightings", "track")
_LINKS = Rules(references={"earlier": _TRACK, "later": _TRACK}, follows=("earlier", "later"))
#: The parts of a person of which ``person_looks`` has rows.
PERSON_PARTS = ("body", "face", "upper", "lower", "hair", "facing", "near_upper", "near_lower", "near_hair")
#: The kinds of tags of a picture (``TagKind``).
TAG_KINDS = get_args(TagKind)
#: Tables that worlds of this schema did not always have: without rows they do not count in a world's hash.
ADDED_TABLES = frozenset(
    {"person_looks", "picture_vectors", "picture_tags", "sounds", "voice_turns", "voice_names", "voice_links"}
)
_CAMERA = ("still", "pan_left", "pan_right", "tilt_up", "tilt_down", "zoom_in", "zoom_out", "turn", "shake")

TABLES: dict[str, TableSpec] = {
    spec.name: spec
    for spec in (
        # A boundary between two shots: the time of the first frame of the later one.
        _table("cuts", ("time",), time=_F64, score=_F32, kind=_TEXT),
        # A boundary between two scenes; always also a cut. strength in 0..1: how little the two sides look alike.
        _table("scene_cuts", ("time",), Rules(references={"time": ("cuts", "time")}), time=_F64, strength=_F32),
        # Sharp, new-looking frames kept as JPEG under images/.
        _table("key_frames", ("time",), time=_F64, image=_TEXT, sharpness=_F32),
        # How the picture looks at a moment: colour and edge layout, unit length.
        _table("looks", ("time",), time=_F64, vector=pa.list_(_F32, DESCRIPTOR_DIMENSION)),
        # One sampled sighting of one track. track ids name the clip they began in: t0002_01.
        _table(
            "sightings", ("track", "time"), Rules(ids=("track",)),
            track=_TEXT, time=_F64, **_BOX, category=_TEXT, confidence=_F32, colours=pa.list_(_TEXT),
        ),
        # How a followed thing looked at a moment: colours by thirds and shape, unit length (perception/appearance.py).
        _table(
            "track_looks", ("track", "time"), Rules(references={"track": _TRACK}),
            track=_TEXT, time=_F64, vector=pa.list_(_F32, TRACK_LOOK_DIMENSION),
        ),
        # What the camera did in the second up to a moment. strength: how far the picture went, in picture widths a second.
        _table("camera", ("time",), Rules(choices={"kind": _CAMERA}), time=_F64, kind=_TEXT, strength=_F32),
        # What was judged of a part of a person at a moment: words (colours of upper, lower and hair; facing) or the vector of a
        # model (body, face), unit length. score: 0 to 1, of the detection, or the share of the part that the first word covers.
        _table(
            "person_looks", ("track", "time", "part"),
            Rules(references={"track": _TRACK}, choices={"part": PERSON_PARTS}),
            track=_TEXT, time=_F64, part=_TEXT, words=pa.list_(_TEXT), vector=pa.list_(_F32), score=_F32,
        ),
        # How an image-text model or classifier of whole pictures saw a key frame (track is empty) or a tracked thing (a track id):
        # the vector of the model, unit length; words for what a key frame may show. score: not calibrated (PictureTag).
        _table("picture_vectors", ("time", "track"), time=_F64, track=_TEXT, vector=pa.list_(_F32)),
        _table(
            "picture_tags", ("time", "kind", "word"), Rules(choices={"kind": TAG_KINDS}),
            time=_F64, kind=_TEXT, word=_TEXT, chinese=_TEXT, score=_F32,
        ),
        # Two tracks that show the same thing. later names the younger one, time (seconds) is its first sighting. kind: stitch,
        # over the join of two clips or while a person did not move; same_person, recognised when seen again.
        _table(
            "track_links", ("earlier", "later"), _LINKS,
            earlier=_TEXT, later=_TEXT, time=_F64, kind=_TEXT, score=_F32,
        ),
        # Two tracks that look alike; possibly different things. score: 0 to 1, not calibrated; columns: as track_links.
        _table("look_links", ("earlier", "later"), _LINKS, earlier=_TEXT, later=_TEXT, time=_F64, score=_F32),
        # One line of text read off one frame.
        _table("screen_texts", ("time", "text", "y1", "x1"), time=_F64, text=_TEXT, **_BOX, confidence=_F32),
        # A spoken line. Two speakers may say the same at once.
        _table(
            "speech", ("start", "end", "text", "speaker"),
            Rules(choices={"source": ("sidecar", "embedded", "recognised", "truth")}),
            start=_F64, end=_F64, text=_TEXT, speaker=_TEXT, language=_TEXT, source=_TEXT, confidence=_F32,
        ),
        # A recognised word of the spoken line that starts at line_start. A recogniser may give two equal words one time.
        _table(
            "words", ("start", "end", "word", "line_start"),
            Rules(repeats=True, references={"line_start": ("speech", "start")}),
            line_start=_F64, start=_F64, end=_F64, word=_TEXT, confidence=_F32,
        ),
        # A class of sounds that a model heard in one window of about a second. score: its own, 0 to 1.
        _table("sounds", ("start", "label"), start=_F64, end=_F64, label=_TEXT, score=_F32),
        # Speech of one voice without a pause of a second. vector: of a speaker encoder, unit length; empty if it was not judged.
        _table("voice_turns", ("start",), Rules(within=("start",)), start=_F64, end=_F64, vector=pa.list_(_F32)),
        # The voice of a turn, judged when the turn that starts at ``time`` had been heard. score: an inner product, not calibrated.
        _table(
            "voice_names", ("turn",),
            Rules(ids=("voice",), references={"turn": ("voice_turns", "start"), "time": ("voice_turns", "start")}),
            turn=_F64, time=_F64, voice=_TEXT, score=_F32,
        ),
        # Two voices that may be one person's; time and score: as in voice_names.
        _table(
            "voice_links", ("earlier", "later"),
            Rules(references={"earlier": ("voice_names", "voice"), "later": ("voice_names", "voice")}),
            earlier=_TEXT, later=_TEXT, time=_F64, score=_F32,
        ),
        # A sentence about an interval, from a captioner or from truth.
        _table("captions", ("start", "end", "text"), start=_F64, end=_F64, text=_TEXT, confidence=_F32),
        # An action. subject: a track id, or empty.
        _table(
            "actions", ("start", "end", "label", "subject"),
            start=_F64, end=_F64, label=_TEXT, subject=_TEXT, confidence=_F32,
        ),
        # What sessions wrote and committed, numbered in that order; parts: the memories a merged one was made of.
        _table(
            "memories", ("number",),
            Rules(
                within=(), unique=("memory_id",), ids=("memory_id",), choices={"level": ("frame", "segment", "event")},
                references={"parts": ("memories", "memory_id")}, follows=("memory_id", "parts"),
            ),
            number=_INT, memory_id=_TEXT, level=_TEXT, start=_F64, end=_F64, content=_TEXT, parts=pa.list_(_TEXT),
        ),
        # Entities that sessions registered and committed, numbered likewise; hint: the caller's words for a track, or for
        # a place in a frame; later words for the same entity hold.
        _table(
            "registrations", ("number",), Rules(within=(), ids=("entity_id",)),
            number=_INT, entity_id=_TEXT, hint=_TEXT, category=_TEXT, time=_F64, **_BOX, confidence=_F32,
        ),
    )
}  # fmt: skip


#: The tables that sessions write; all others come from the video alone.
SESSION_TABLES = ("memories", "registrations")


def empty_table(name: str) -> pa.Table:
    """Return the table of this name without rows, in its schema."""
    return TABLES[name].schema.empty_table()


def one(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; not copied if it is one chunk, as in a table mapped from disk."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def matrix(column: pa.ChunkedArray, width: int) -> NDArray[Any]:
    """Return a column of lists of length ``width`` as the rows of a matrix, shape (n, width)."""
    flat: NDArray[np.float32] = one(column).flatten().to_numpy()
    return flat.reshape(-1, width)


# --- the causal cut -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """Hides what became known after ``as_of`` (seconds); None hides nothing."""

    as_of: float | None

    def shows(self, known_at: float) -> bool:
        """Whether a fact that became known at a time (seconds) is visible."""
        return self.as_of is None or known_at <= self.as_of

    def shows_each(self, known_at: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which of n facts are visible, from the times at which they became known; shape (n,)."""
        return np.ones(len(known_at), dtype=np.bool_) if self.as_of is None else known_at <= self.as_of

    def visible(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Return which rows of a table with a column ``known_at`` are visible, shape (n,)."""
        return self.shows_each(rows.column("known_at").to_numpy())

    def visible_rows(self, rows: pa.Table) -> pa.Table:
        """Return the visible rows of a table with a column ``known_at``."""
        return rows if self.as_of is None else rows.filter(pa.array(self.visible(rows)))

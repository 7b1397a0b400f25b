"""Argument and result types of the operations: answer first, then evidence; times in seconds, boxes in pixels.

``x-type`` names the tool language's type of a value; faces that do not know it leave it out. Every result about a time interval
carries ``start_time``, ``end_time`` and ``center_time``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, Field

from world_api.core.ports import Source
from world_api.world.tracks import Side, Size

MAX_TIME = 1e7  #: seconds; about 115 days
MAX_QUERY_CHARACTERS = 2000
MAX_TOP_K = 10_000


#: The ``x-type`` of a field that results leave out if it is empty; tools do not use such fields.
MAY_BE_ABSENT = "MayBeAbsent"


def _typed(name: str) -> dict[str, Any]:
    return {"x-type": name}


def not_blank(text: str) -> str:
    """Return the text unchanged.

    Raises ValueError: it is empty or only white space.
    """
    if not text.strip():
        raise ValueError("must not be empty")
    return text


Time = Annotated[float, Field(ge=0, le=MAX_TIME, allow_inf_nan=False, json_schema_extra=_typed("Time"))]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
VideoId = Annotated[str, Field(description="Which video: the id the question gives.")]
StartTime = Annotated[Time, Field(description="Start of the time span, in seconds (inclusive).")]
EndTime = Annotated[Time, Field(description="End of the time span, in seconds (exclusive); after start_time.")]
Timestamp = Annotated[Time, Field(description="A moment, in seconds.")]
Query = Annotated[
    str,
    AfterValidator(not_blank),
    Field(
        min_length=1, max_length=MAX_QUERY_CHARACTERS, description="What to look for, in words (English or Chinese)."
    ),
]
TopK = Annotated[int, Field(ge=1, le=MAX_TOP_K, description=f"How many to return at most: 1 to {MAX_TOP_K}.")]
Level = Annotated[
    Literal["frame", "segment", "event"], Field(description="Level of memory: a frame, a segment or an event.")
]
EntityId = Annotated[str, Field(description="An entity, by the id that list_entities or register_entity gave.")]


class _Part(BaseModel, extra="forbid"):
    pass


class TimeRange(_Part, strict=True, json_schema_extra=_typed("Interval")):
    """A half-open time span of the video."""

    start_time: StartTime
    end_time: EndTime


OptionalTimeRange = Annotated[
    TimeRange | None, Field(description="Confine to this time span (seconds, half-open); without it the whole video.")
]

#: Descriptions of parameters that chat models do not get: the instructions, or the name and its values, say the same.
IMPLIED = frozenset(
    described
    for declared in (VideoId, StartTime, EndTime, Timestamp, Query, TopK, Level, EntityId, OptionalTimeRange)
    for described in (getattr(part, "description", None) for part in get_args(declared))
    if described
) | {str(TimeRange.__doc__)}


MEASURED = "What it looks like, as measured."
Confidence = Annotated[float | None, Field(description="0 to 1; null where the source is not calibrated.", ge=0, le=1)]


#: only orders the hits of one search; the tool language refuses to compare it with any other number
RankScore = Annotated[float, Field(json_schema_extra=_typed("Score"))]


class EvidenceItem(_Part, json_schema_extra=_typed("Evidence")):
    """Where a claim can be looked at again."""

    video_id: str
    start_time: Time
    end_time: Time
    source: Source
    confidence: Confidence
    frame_time: Annotated[Time, Field(description="A time whose frame shows it.")]


class Result(_Part):
    """What every result carries beside its answer."""

    evidence: list[EvidenceItem]
    hint: Annotated[str, Field(description="How to narrow or go on; empty when nothing needs saying.")] = ""


class Interval(_Part):
    """The times of an entry about a span of video."""

    start_time: Time
    end_time: Time
    center_time: Time


class Scene(Interval, json_schema_extra=_typed("Scene")):
    """A scene, or a chapter of scenes where a video has too many to list."""

    scene_id: str
    brief_caption: str
    kind: Literal["scene", "chapter"]
    scenes: Annotated[int, Field(description="How many scenes it groups (1 for a scene).")]


MatchedWords = Annotated[
    list[str], Field(description='Words that could be judged; of a narrower word ("man") the category it belongs to.')
]
UnmatchedWords = Annotated[
    list[str],
    Field(description="Words that could not be judged: it is unknown whether they hold. They removed nothing."),
]
NotFound = Annotated[
    list[TimeRange],
    Field(description="Where nothing fits: the spans that were examined. That nothing was found is no absence."),
]
NotJudged = Annotated[
    list[str],
    Field(description='Words without which nothing can be said: the answer is "cannot tell", never none.'),
]
NotExamined = Annotated[
    list[TimeRange], Field(description="Spans that were asked for and not examined: nothing is known of them.")
]
Lacks = Annotated[
    list[str],
    Field(
        description="Words asked for that it is not shown to have; empty where it has all. A word that is only said or "
        "written (source) is not seen."
    ),
]


class SceneList(Result):
    """The scenes in time order."""

    scenes: list[Scene]


class SegmentInfo(Result, json_schema_extra=_typed("Segment")):
    """The name of a part of the video and where it is."""

    segment_id: str
    scene_id: Annotated[str, Field(description="The scene it begins in.")]
    scene_ids: Annotated[list[str], Field(description="All scenes it spans, in time order.")]
    duration: Seconds
    start_time: Time
    end_time: Time
    center_time: Time


SPEAKER = "Who speaks: a name from subtitles, or the entity id of a voice; null where that is not known."


class MatchingLine(Interval):
    """A line that is said, or a text on screen, with its own times."""

    text: str
    source: Source
    speaker: Annotated[
        str | None,
        Field(
            description=SPEAKER,
            exclude_if=lambda speaker: speaker is None,
            json_schema_extra=_typed(MAY_BE_ABSENT),
        ),
    ] = None
    as_given: Annotated[
        bool, Field(description="Whether it holds the query word for word; case and punctuation do not count.")
    ]
    evidence: list[EvidenceItem]


class LinkedEntity(_Part):
    """An entity that a caption of a vision model names."""

    entity_id: str
    hint: Annotated[str, Field(description=MEASURED)]


Linked = Annotated[
    list[LinkedEntity],
    Field(
        description="The entities that a vision model's caption names by their ids; absent where it names none.",
        exclude_if=lambda linked: not linked,
        json_schema_extra=_typed(MAY_BE_ABSENT),
    ),
]


class Hit(Interval, json_schema_extra=_typed("Segment")):
    """A segment that answers a search. ``score`` orders the hits of one search and means nothing else."""

    segment_id: str
    score: RankScore
    snippet: Annotated[str, Field(description="The words or the caption that matched.")]
    source: Source
    confidence: Confidence
    lacks: Lacks = []
    entities: Linked = []
    matching_lines: Annotated[
        list[MatchingLine],
        Field(
            description="What is said or written in it that shares most with the query's words, in time order; "
            "a segment is longer than a line, so these times are the closer ones. Empty where no line has its words."
        ),
    ] = []


class Moment(Interval):
    """What matched in a segment, with its own times: an action, a caption, an appearance, a line or a text."""

    text: str
    source: Source
    entity_id: Annotated[str | None, Field(description="Who does it or is seen; null if that is not known.")]
    entities: Linked = []
    lacks: Lacks = []
    evidence: list[EvidenceItem]


class Candidates(Result):
    """Segments, the best first."""

    candidates: list[Hit]
    moments: Annotated[
        list[Moment],
        Field(
            description="What in these segments has all words of the query that can be judged, each once, in time order, with its "
            "own times: closer than those of its segment. One that lacks words only may be it."
        ),
    ] = []
    matched: MatchedWords = []
    unmatched: UnmatchedWords = []
    not_found: NotFound = []
    not_judged: NotJudged = []


class SimilarSegments(Result):
    """Segments that look alike, the most alike first."""

    similar_segments: list[Hit]


class Caption(Result):
    """A time span in words."""

    caption: str
    start_time: Time
    end_time: Time
    center_time: Time
    entities: Linked = []


class Detection(Interval, json_schema_extra=_typed("Detection")):
    """An object at a moment. Its span is how long the same thing was seen without a break around it."""

    bbox: Annotated[list[float], Field(json_schema_extra=_typed("Box"), description="[x1, y1, x2, y2] in pixels.")]
    category: str
    confidence: Confidence
    entity_hint: Annotated[str, Field(description="What it looks like; usable as the hint of register_entity.")]
    entity_id: Annotated[str | None, Field(description="The build-time identity it belongs to, if any.")]
    timestamp: Annotated[Time, Field(description="The moment of the frame looked at.")]
    lacks: Lacks = []


class Detections(Result):
    """Objects in one frame, the surest first. Where none fits all words, those that fit some of them, the best first."""

    detections: list[Detection]
    unused_words: Annotated[list[str], Field(description="The same as unmatched.")] = []
    matched: MatchedWords = []
    unmatched: UnmatchedWords = []
    not_found: NotFound = []
    not_judged: NotJudged = []
    not_examined: NotExamined = []


class Action(Interval, json_schema_extra=_typed("Action")):
    """Something done in a time span."""

    label: str
    confidence: Confidence
    entity_id: str | None
    caption: Annotated[
        str | None, Field(description="What a caption says of it, such as who does it where; null if none does.")
    ] = None


class Actions(Result):
    """Actions in time order."""

    actions: list[Action]


class LookAlike(_Part):
    """An entity that this one may be, judged by its looks alone; the two are not merged."""

    entity_id: str
    score: Annotated[float, Field(description="How alike they look, 0 to 1; not calibrated.", ge=0, le=1)]


MayBe = Annotated[list[LookAlike], Field(description="Entities that it may be the same as, the most alike first.")]


class RegisteredEntity(Result):
    """The entity a hint names at a moment."""

    entity_id: str
    hint: Annotated[str, Field(description=MEASURED)]
    label: Annotated[str, Field(description="The words it was registered with now; kept beside hint, not measured.")]
    already_known: Annotated[bool, Field(description="Whether this entity had been identified or registered before.")]
    confidence: Confidence
    may_be: MayBe = []
    matched: MatchedWords = []
    unmatched: UnmatchedWords = []
    lacks: Lacks = []


class TimedBox(_Part):
    """A box at a moment."""

    time: Time
    bbox: Annotated[list[float], Field(json_schema_extra=_typed("Box"), description="[x1, y1, x2, y2] in pixels.")]


class TrajectoryPart(Interval, json_schema_extra=_typed("Appearance")):
    """One unbroken appearance of an entity."""

    scene_id: Annotated[str, Field(description="The scene it begins in.")]
    place: Annotated[
        str | None, Field(description="Where it is, as a caption of the scene says; null if none does.")
    ] = None
    path_repr: Annotated[str, Field(description="The path in words.")]
    boxes: Annotated[list[TimedBox], Field(description="Where it is in the picture at up to 8 moments.")] = []
    enters_from: Annotated[Side | None, Field(description="The side it came in from; null where it is not known.")]
    leaves_to: Annotated[Side | None, Field(description="The side it went out to; null where it is not known.")]


class Trajectory(Result):
    """Where and when an entity appears, in time order."""

    trajectory: list[TrajectoryPart]
    total_seconds: Annotated[Seconds, Field(description="For how long it is seen in all.")] = 0.0
    size: Annotated[Size | None, Field(description="How much of the picture it usually takes; null if unknown.")]
    may_be: MayBe = []


class StateAnswer(Result):
    """An answer about an entity."""

    answer: str
    confidence: Confidence
    matched: MatchedWords = []
    unmatched: UnmatchedWords = []
    not_judged: NotJudged = []


class WrittenMemory(Result):
    """The memory just written."""

    memory_id: str


class Memory(Interval, json_schema_extra=_typed("Memory")):
    """A memory. ``parts`` lists what a merged one was made of."""

    memory_id: str
    level: Literal["frame", "segment", "event"]
    time_range: TimeRange
    content: str
    parts: list[str]
    snippet: str
    source: Source
    score: RankScore
    confidence: Confidence
    lacks: Lacks = []


class Memories(Result):
    """Memories, the best match first."""

    memories: list[Memory]
    matched: MatchedWords = []
    unmatched: UnmatchedWords = []
    not_judged: NotJudged = []


class MergedEvent(Result):
    """The merged event; its parts are kept."""

    merged_event: Memory


class EntityLook(_Part):
    """What a vision model said of pictures of an entity. Of the words it was asked about, ``not_judged`` it could not see."""

    has: list[str]
    has_not: list[str]
    not_judged: list[str]
    description: Annotated[str, Field(description="The entity in a sentence of the model.")]
    uncertain: Annotated[str, Field(description="What the model was not certain of; empty where it said nothing.")]
    model: Annotated[str, Field(description="The model, and what its answer depends on besides the pictures.")]
    frame_times: Annotated[list[Time], Field(description="The times of the frames that the pictures were cut out of.")]


class Entity(_Part, json_schema_extra=_typed("Entity")):
    """An entity of the video."""

    entity_id: str
    hint: Annotated[str, Field(description=MEASURED)]
    label: Annotated[
        str | None, Field(description="The words it was registered with last, not measured; null if it never was.")
    ]
    category: str
    origin: Annotated[
        Literal["build", "session"], Field(description="Identified at build time, or registered by the session.")
    ]
    first_time: Time
    last_time: Time
    appearances: int
    size: Annotated[Size | None, Field(description="How much of the picture it usually takes; null if unknown.")]
    enters_from: Annotated[Side | None, Field(description="The side it first came in from; null if unknown.")]
    leaves_to: Annotated[Side | None, Field(description="The side it last went out to; null if unknown.")]
    may_be: MayBe = []
    looked_at: Annotated[
        EntityLook | None,
        Field(
            description="What a vision model said of it; absent where none looked.",
            exclude_if=lambda look: look is None,
            json_schema_extra=_typed(MAY_BE_ABSENT),
        ),
    ] = None
    lacks: Annotated[
        list[str],
        Field(description="What is not shown of it: that it is another one than those before. So it may count twice."),
    ] = []


class HeardVoice(_Part):
    """A voice that is distinguished by its sound alone."""

    entity_id: str
    hint: str
    first_time: Time
    last_time: Time
    turns: Annotated[int, Field(description="How often it surely speaks.")]
    may_be: Annotated[list[LookAlike], Field(description="Voices that may be the same person's, the most alike first.")]
    samples: Annotated[list[TimeRange], Field(description="The spans in which it is heard longest, to listen to.")]


class EntityList(Result):
    """The entities in order of first appearance."""

    entities: list[Entity]
    voices: Annotated[
        list[HeardVoice],
        Field(
            description="The voices that are heard, in the order of their ids; absent where none is known. They are not among the "
            "entities: which of the people seen has which voice is not judged.",
            exclude_if=lambda voices: not voices,
            json_schema_extra=_typed(MAY_BE_ABSENT),
        ),
    ] = []


class Resolution(_Part):
    """Size of the displayed (rotated) frame in pixels."""

    width: int
    height: int


class JudgedWords(_Part):
    """What can be judged in a video, beside colours. Plurals, synonyms and Chinese words are understood."""

    categories: Annotated[list[str], Field(description="The kinds of things that can be distinguished.")]


class Metadata(Result):
    """The technical facts of a video."""

    duration: Annotated[Seconds, Field(description="Seconds; the visible part when the session has a causal cut.")]
    frame_rate: float
    resolution: Resolution
    title: str
    has_audio: bool
    has_speech_text: bool
    speakers: Annotated[
        Literal["named", "judged", "not_judged"] | None,
        Field(
            description="Whether subtitles name who speaks, voices were distinguished, or neither: then nothing is known of it. "
            "Absent where no line was written down.",
            exclude_if=lambda how: how is None,
            json_schema_extra=_typed(MAY_BE_ABSENT),
        ),
    ] = None
    profile: str
    vocabulary: JudgedWords = JudgedWords(categories=[])


class Inspection(Result):
    """What a model answers that looked at some frames; ``evidence`` says which, ``hint`` what it could not see."""

    answer: str
    confidence: Confidence
    start_time: Time
    end_time: Time
    center_time: Time


class TranscriptLine(Interval):
    """A line that is said, or a text that is shown on the screen."""

    text: str
    source: Literal["speech", "screen_text"]
    speaker: Annotated[str | None, Field(description=SPEAKER)]
    confidence: Confidence


class Transcript(Result):
    """Lines in time order."""

    lines: list[TranscriptLine]
    spoken: Annotated[int, Field(description="How many lines are said in the whole span.", ge=0)]
    shown: Annotated[int, Field(description="How many texts are shown on the screen in the whole span.", ge=0)]


class ScannedSegments(Result):
    """The segments that match, in time order."""

    matches: list[Hit]
    matched_in_all: Annotated[int, Field(description="How many segments match in the whole range.", ge=0)]
    segments_in_all: Annotated[int, Field(description="How many segments the whole range has.", ge=0)]
    scanned_from: Annotated[Time, Field(description="Where the first segment begins, in seconds.")]
    scanned_until: Annotated[Time, Field(description="Where the last one ends, in seconds.")]
    unused_words: Annotated[
        list[str], Field(description='Words of the query that made no difference, and what follows a "not".')
    ]
    matched: MatchedWords = []
    unmatched: UnmatchedWords = []
    not_found: Annotated[NotFound, Field(default_factory=list)]
    not_judged: NotJudged = []

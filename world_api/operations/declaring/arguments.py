"""The argument types the operations share, with their units and limits.

``x-type`` names the tool language's type of a value; faces that do not know it leave it out.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MAX_TIME = 1e7  #: seconds; about 115 days
MAX_QUERY_CHARACTERS = 2000
MAX_TOP_K = 200


def _typed(name: str) -> dict[str, Any]:
    return {"x-type": name}


def not_blank(text: str) -> str:
    """The text, which must say something.

    Raises:
        ValueError: it is empty but for white space.
    """
    if not text.strip():
        raise ValueError("must not be empty")
    return text


Time = Annotated[float, Field(ge=0, le=MAX_TIME, allow_inf_nan=False, json_schema_extra=_typed("Time"))]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
VideoId = Annotated[str, Field(description="Which video: the id the question gives.")]
StartTime = Annotated[Time, Field(description="Start of the stretch, in seconds (inclusive).")]
EndTime = Annotated[Time, Field(description="End of the stretch, in seconds (exclusive); after start_time.")]
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


class TimeRange(BaseModel):
    """A half-open stretch of video time."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_typed("Interval"))

    start_time: StartTime
    end_time: EndTime


OptionalTimeRange = Annotated[
    TimeRange | None, Field(description="Confine to this stretch (seconds, half-open); null for the whole video.")
]

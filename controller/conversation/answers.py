"""How an episode ends: the ``submit_answer`` tool, and whether the spans it cites were ever returned by a tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tool_induction.toolset import ToolDeclaration
from world_api.core.canonical import parse_json
from world_api.core.spans import TimeSpan, round_time
from world_api.exposure.schemas import plain_schema

SUBMIT_ANSWER = "submit_answer"
MAX_ANSWER_CHARACTERS = 20_000
MAX_SPANS = 100
#: A model that rounds to whole seconds still cites the span it was given.
ROUNDING_SECONDS = 0.5
_MOMENTS = ("timestamp", "frame_time", "time", "center_time", "first_time", "last_time")


class Span(BaseModel):
    """A stretch of the video that shows the answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    start_time: float = Field(ge=0, allow_inf_nan=False, description="Start in seconds.")
    end_time: float = Field(ge=0, allow_inf_nan=False, description="End in seconds; not before start_time.")

    @model_validator(mode="after")
    def _runs_forwards(self) -> Span:
        if self.end_time < self.start_time:
            raise ValueError("end_time lies before start_time")
        return self


class SubmittedAnswer(BaseModel):
    """The arguments of ``submit_answer``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer: str = Field(
        min_length=1, max_length=MAX_ANSWER_CHARACTERS, description="The answer, in the language of the question."
    )
    spans: list[Span] = Field(
        max_length=MAX_SPANS, description="The stretches that show it, as tools returned them; empty if there are none."
    )

    @field_validator("answer")
    @classmethod
    def _says_something(cls, answer: str) -> str:
        if not answer.strip():
            raise ValueError("must not be empty")
        return answer


@dataclass(frozen=True, kw_only=True)
class CitedSpan:
    """A span the answer cites, in seconds, and the ids of the calls that returned it; if none did, it is flagged."""

    start_time: float
    end_time: float
    returned_by: list[str]


def submit_answer_tool() -> ToolDeclaration:
    """The declaration of ``submit_answer``."""
    return ToolDeclaration(
        name=SUBMIT_ANSWER,
        description=(
            "Give the final answer and end. Cite the stretches of the video that show it, "
            "with times that the tools returned."
        ),
        parameters=plain_schema(SubmittedAnswer.model_json_schema()),
    )


def parse_answer(arguments: Mapping[str, Any]) -> SubmittedAnswer | str:
    """The answer, or what is wrong with the arguments."""
    try:
        return SubmittedAnswer.model_validate(dict(arguments), strict=True)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()[:5])
        return "; ".join(faults)


def usable_answer(arguments: Mapping[str, Any]) -> SubmittedAnswer | None:
    """What can be taken of an answer that cannot be given again: its text, and those of its spans that are ones."""
    text, spans = arguments.get("answer"), arguments.get("spans")
    good = [span for span in map(_span, spans[:MAX_SPANS]) if span is not None] if isinstance(spans, list) else []
    if not isinstance(text, str) or not text.strip():
        return None
    text = text.encode("utf-8", errors="replace").decode()  # escapes can spell characters that are not Unicode text
    return SubmittedAnswer(answer=text.strip()[:MAX_ANSWER_CHARACTERS], spans=good)


def answer_in_text(text: str) -> SubmittedAnswer | None:
    """The answer in a call of ``submit_answer`` that a server left in the text, unparsed."""
    if SUBMIT_ANSWER not in text:
        return None
    try:
        call = parse_json(text[text.find("{") : text.rfind("}") + 1])
        if call.get("name", SUBMIT_ANSWER) != SUBMIT_ANSWER:
            return None
        arguments = next((call[key] for key in ("arguments", "parameters") if key in call), call)
        arguments = parse_json(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, AttributeError):
        return None
    return usable_answer(arguments) if isinstance(arguments, dict) else None


def _span(value: Any) -> Span | None:
    try:
        return Span.model_validate(value)
    except ValidationError:
        return None


def cite(spans: Sequence[Span], results: Iterable[tuple[str, Any]]) -> list[CitedSpan]:
    """Match the cited spans against what calls returned, given as (call id, result)."""
    returned = [(call_id, span) for call_id, result in results for span in spans_in(result)]
    cited = []
    for item in spans:
        span = TimeSpan(start=item.start_time, end=item.end_time)
        calls = dict.fromkeys(call_id for call_id, other in returned if _same(span, other))
        cited.append(
            CitedSpan(start_time=round_time(span.start), end_time=round_time(span.end), returned_by=list(calls))
        )
    return cited


def spans_in(value: Any) -> Iterator[TimeSpan]:
    """Every stretch and every moment that a result holds, at any depth."""
    if isinstance(value, Mapping):
        start, end = value.get("start_time"), value.get("end_time")
        if _is_time(start) and _is_time(end) and start <= end:
            yield TimeSpan(start=float(start), end=float(end))
        for key in _MOMENTS:
            moment = value.get(key)
            if _is_time(moment):
                yield TimeSpan(start=float(moment), end=float(moment))
        for item in value.values():
            yield from spans_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from spans_in(item)


def _same(left: TimeSpan, right: TimeSpan) -> bool:
    return abs(left.start - right.start) <= ROUNDING_SECONDS and abs(left.end - right.end) <= ROUNDING_SECONDS


def _is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9

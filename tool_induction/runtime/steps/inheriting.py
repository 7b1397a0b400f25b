"""What a loop's product takes over from the item it was made from: times, evidence, ``parent``."""

from __future__ import annotations

from tool_induction.aggregates.functions import evidence_of, span_of, times
from tool_induction.language.evaluation import Json
from tool_induction.language.types import INTERVAL, ListType, RecordType, Type, plain
from world_api.core.spans import round_time

_TIMES = ("start_time", "end_time", "center_time")
_MAX_EVIDENCE = 6


def flattened(value: Json, flattens: str | None) -> list[Json]:
    """What one iteration gave, before it inherits: the value, or the rows of its one list (of itself where that is ``""``)."""
    if flattens is None:
        return [value]
    rows = value if flattens == "" else value.get(flattens) if isinstance(value, dict) else None
    return rows if isinstance(rows, list) else []


def inherit(made: Json, item: Json, result: Json) -> Json:
    """The product with what it lacks. A detection has times of its own and keeps them."""
    if not isinstance(made, dict):
        return made
    product: dict[str, Json] = dict(made)
    if not isinstance(product.get("start_time"), int | float):
        product |= _times_of(item)
    own = evidence_of([made]) or (evidence_of([result]) if made is not result and not _has_evidence(made) else [])
    inherited = [piece for piece in evidence_of([item]) if piece not in own]
    product["evidence"] = [*own, *inherited][:_MAX_EVIDENCE]
    product["parent"] = item
    return product


def _has_evidence(made: dict[str, Json]) -> bool:
    return "evidence" in made


def _times_of(item: Json) -> dict[str, Json]:
    if isinstance(item, dict):
        return {key: item[key] for key in _TIMES if key in item}
    span = span_of(item)
    return {} if span is None else times(span)


def projected(item: Json, fields: dict[str, Json]) -> dict[str, Json]:
    """A projection: times and evidence stay unless overwritten."""
    kept: dict[str, Json] = {}
    if isinstance(item, dict):
        kept = {key: item[key] for key in (*_TIMES, "evidence") if key in item}
    return kept | fields


def completed(value: Json, type_: Type) -> Json:
    """Intervals with their centre and duration, wherever the type says that there is one."""
    inner = plain(type_)
    if isinstance(inner, ListType) and isinstance(value, list):
        return [completed(item, inner.item) for item in value]
    if not isinstance(inner, RecordType) or inner.name != INTERVAL.name or not isinstance(value, dict):
        return value
    span = span_of(value)
    return value if span is None else times(span) | {"duration": round_time(span.duration)} | value

"""Results as a language model reads them: rounded, without bookkeeping, no larger than allowed."""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy

from tool_induction.aggregates.functions import is_evidence
from tool_induction.language import limits
from tool_induction.language.evaluation import Json, as_text, weight
from tool_induction.language.model import Output
from tool_induction.language.types import ListType, plain
from tool_induction.runtime.budget import RunLimits
from world_api.core.canonical import canonical

_LARGEST_TEXT = 200_000  #: values; beyond, a record is not written out as text


def presented(value: Json, output: Output, *, run: RunLimits, most_items: int, notes: list[str]) -> Json:
    """An output as a model sees it; what was left out is noted."""
    if isinstance(value, list) and len(value) > most_items:
        notes.append(f"{output.name}: {most_items} of {len(value)} entries are shown")
        value = value[:most_items]
    if isinstance(value, str) and len(value) > run.output_characters:
        notes.append(f"{output.name}: {run.output_characters} of {len(value)} characters are shown")
    keeps = isinstance(plain(output.type), ListType) and "evidence" in output.name
    page = _Page(run, keep_evidence=keeps)
    shown = page.put(value)
    if page.room < 0:
        notes.append(f"{output.name}: too large to be shown whole")
    return shown


class _Page:
    """Takes values until there is no room for more."""

    def __init__(self, run: RunLimits, *, keep_evidence: bool) -> None:
        self.room = run.output_values
        self._characters = run.output_characters
        self._keep_evidence = keep_evidence

    def put(self, value: Json) -> Json:
        self.room -= 1
        if isinstance(value, float):
            return round(value, 3)
        if isinstance(value, str):
            return value[: self._characters]
        if isinstance(value, list):
            rows: list[Json] = []
            for item in value:
                if self.room < 1:
                    self.room = -1
                    break
                rows.append(self.put(item))
            return rows
        if isinstance(value, dict):
            hidden = () if self._keep_evidence else bookkeeping(value)
            record: dict[str, Json] = {}
            for key, item in value.items():
                if self.room < 1:
                    self.room = -1
                    break
                if key not in hidden:
                    record[key] = self.put(item)
            return record
        return value


def bookkeeping(record: dict[str, Json]) -> Collection[str]:
    """The keys that only say where a record comes from: its evidence, and with it the item it was made from.

    A field that merely has one of these names (the ``parent`` of a child) is data like any other.
    """
    evidence = record.get("evidence")
    is_carried = isinstance(evidence, list) and all(is_evidence(piece) for piece in evidence)
    return ("parent", "evidence") if is_carried else ()


def text_of(value: Json) -> str:
    """A list or record as readable text."""
    if weight(value, most=_LARGEST_TEXT) > _LARGEST_TEXT:
        return "(too large to be written out)"
    text = _written(value)
    return text if len(text) <= limits.MAX_STRING_RESULT else text[: limits.MAX_STRING_RESULT - 3] + "..."


def _written(value: Json) -> str:
    if isinstance(value, list):
        return "; ".join(_written(item) for item in value)
    if isinstance(value, dict):
        if is_evidence(value):
            sure = value.get("confidence")
            tail = "" if sure is None else f", confidence {as_text(sure)}"
            stretch = f"{as_text(value.get('start_time'))}-{as_text(value.get('end_time'))} s"
            return f"{stretch} ({as_text(value['source'])}{tail})"
        hidden = bookkeeping(value)
        return ", ".join(
            f"{key} {_written(item)}" for key, item in value.items() if key not in hidden and item is not None
        )
    return as_text(value)


def cited(evidence: list[Json], most: int) -> list[Json]:
    """Copies of the evidence that is shown: each stretch and source once, the first ``most``."""
    kept: dict[str, Json] = {}
    for piece in evidence:
        if isinstance(piece, dict):
            kept.setdefault(cited_as(piece), piece)
    return deepcopy(list(kept.values())[:most])


def cited_as(piece: dict[str, Json]) -> str:
    """What makes two pieces of evidence the same to a reader: stretch and source."""
    return canonical([piece.get(key) for key in ("video_id", "start_time", "end_time", "source")])

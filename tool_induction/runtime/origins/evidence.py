"""The evidence behind each output, and the calls behind each piece of evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tool_induction.aggregates.functions import evidence_of
from tool_induction.language.evaluation import Json
from tool_induction.runtime.presenting import cited_as
from tool_induction.runtime.trace import TraceNode


def tell_evidence(tool: TraceNode, shown: Sequence[Json], cited: Mapping[str, Sequence[Json]]) -> None:
    """Put down on a tool's node which calls gave each piece that is shown, and which pieces each output rests on."""
    places = {cited_as(piece): place for place, piece in enumerate(shown) if isinstance(piece, dict)}
    givers: list[list[int]] = [[] for _ in shown]
    for call in tool.calls():
        for place in _places(evidence_of([dict(call.result)]), places):
            givers[place].append(call.number or 0)
        call.result = {}  # nobody needs it any more, and a trace may be kept for long
    tool.evidence = tuple(tuple(calls) for calls in givers)
    tool.outputs = {
        name: replace(source, evidence=_places(cited.get(name, ()), places)) for name, source in tool.outputs.items()
    }


def _places(pieces: Sequence[Json], places: Mapping[str, int]) -> tuple[int, ...]:
    found = {places.get(cited_as(piece)) for piece in pieces if isinstance(piece, dict)}
    return tuple(sorted(place for place in found if place is not None))

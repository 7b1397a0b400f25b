"""The origins of what the steps bind, found once a step is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tool_induction.language.evaluation import Json
from tool_induction.language.model import Aggregate, Filter, JudgeStep, Project, Step, Tool, values, walk_steps
from tool_induction.language.syntax import Expr, names
from tool_induction.runtime.origins.expressions import origin_of
from tool_induction.runtime.origins.origin import NO_CALLS, NOTHING, Calls, Origin, Origins, joined, source_of

if TYPE_CHECKING:
    from tool_induction.runtime.trace import TraceNode

Values = Mapping[str, Json]
_DEEP = 3  #: how far into an aggregate's result its inputs' items are looked for


def of_filter(step: Filter, scope: Values, origins: Origins, rows: Sequence[Json], kept: Sequence[Json]) -> Origin:
    """Each item that was kept keeps its own origin; the condition decided about all."""
    over = origin_of(step.inputs, scope, origins)
    each = over.each(len(rows))
    inner, own = dict(scope), origins.inside()
    asked: Calls = NO_CALLS
    items: list[Origin] = []
    for row, origin in zip(rows, each, strict=True):
        inner["item"], own.names["item"] = row, origin
        asked |= origin_of(step.where, inner, own).behind()
        if len(items) < len(kept) and kept[len(items)] is row:
            items.append(origin)
    return Origin(decided=over.membership() | asked, items=tuple(items))


def of_projection(step: Project, scope: Values, origins: Origins, rows: Sequence[Json], made: Sequence[Json]) -> Origin:
    """Field by field; times and evidence that stayed are the item's."""
    over = origin_of(step.inputs, scope, origins)
    inner, own = dict(scope), origins.inside()
    items: list[Origin] = []
    for row, record, origin in zip(rows, made, over.each(len(rows)), strict=True):
        inner["item"], own.names["item"] = row, origin
        fields = {key: origin_of(value, inner, own) for key, value in step.fields}
        kept = {key: origin.field(key) for key in record if key not in fields} if isinstance(record, dict) else {}
        items.append(Origin(fields=kept | fields))
    return Origin(decided=over.membership(), items=tuple(items))


def of_judgement(step: JudgeStep, scope: Values, origins: Origins, count: int) -> Origin:
    """Each item keeps its own origin; what was asked decided about the answers."""
    over = origin_of(step.inputs, scope, origins)
    asked = origin_of(step.question, scope, origins).behind()
    return Origin(decided=over.decided | asked, items=tuple(one.computed() for one in over.each(count)))


def of_aggregate(step: Aggregate, scope: Values, origins: Origins, given: Json, value: Json) -> Origin:
    """Items of the inputs that stand in the result keep their origins; all else is made of everything."""
    inputs = origin_of(step.inputs, scope, origins)
    others = [origin_of(expr, scope, origins) for _, expr in step.params]
    known: dict[int, Origin] = {}
    for row, origin in _records(given, inputs):
        before = known.get(id(row))
        known[id(row)] = origin if before is None else joined((before, origin))
    return _within(value, known, joined((inputs, *others)), _DEEP)


def _records(value: Json, origin: Origin, depth: int = _DEEP) -> Iterator[tuple[dict[str, Json], Origin]]:
    """The records among the inputs, in lists and lists of lists; and the lists of a pair."""
    if isinstance(value, list):
        for item, own in zip(value, origin.each(len(value)), strict=True):
            if isinstance(item, dict):
                yield item, own
            elif depth:
                yield from _records(item, own, depth - 1)
    elif isinstance(value, dict):
        yield value, origin
        for key, item in value.items():
            if isinstance(item, list) and depth:
                yield from _records(item, origin.field(key), depth - 1)


def _within(value: Json, known: Mapping[int, Origin], rest: Origin, depth: int) -> Origin:
    everything = rest.calls | rest.decided
    if isinstance(value, dict) and id(value) in known:
        return known[id(value)].also_decided_by(everything)
    if depth and isinstance(value, list):
        return Origin(decided=everything, items=tuple(_within(item, known, rest, depth - 1) for item in value))
    if depth and isinstance(value, dict) and any(isinstance(item, dict | list) for item in value.values()):
        return Origin(fields={key: _within(item, known, rest, depth - 1) for key, item in value.items()})
    return rest


def of_product(made: Json, origin: Origin, product: Json, item: Origin) -> Origin:
    """What a loop collects: what the call gave, and what it took over from the loop's item."""
    if not isinstance(made, dict) or not isinstance(product, dict):
        return origin
    taken = {key: item.field(key) for key, value in product.items() if made.get(key, made) is not value}
    taken["parent"] = item
    taken["evidence"] = joined((origin.field("evidence"), item))
    return Origin(calls=origin.calls, decided=origin.decided, fields={**(origin.fields or {}), **taken})


def rows_of(origin: Origin, count: int, flattens: str | None) -> tuple[Origin, ...]:
    """The origins of what one iteration adds to a loop's list, before it inherits."""
    if flattens is None:
        return (origin,)
    return (origin if flattens == "" else origin.field(flattens)).each(count)


def read_by(step: Step, origins: Origins) -> Calls:
    """All calls behind the names that a step reads, inside it too."""
    read = {name for one in walk_steps((step,)) for _, value in values(one) for name in names(value)}
    return NO_CALLS.union(*(origins.of(name).behind() for name in read))


def of_arguments(params: Sequence[tuple[str, Expr]], scope: Values, origins: Origins) -> dict[str, Origin]:
    """The origins of a call's arguments."""
    return {key: origin for key, value in params if (origin := origin_of(value, scope, origins)) is not NOTHING}


def of_callee(outputs: Origin, given: Mapping[str, Origin], made: Calls) -> Origin:
    """A called tool's record: its outputs, told apart; its status and its evidence hang on all that it did."""
    everything = made.union(*(origin.behind() for origin in given.values()))
    return Origin(calls=everything, fields=outputs.fields)


def of_outputs(tool: Tool, scope: Values, origins: Origins, node: TraceNode) -> Origin:
    """The outputs of a tool that has come to its end, which are put down on its node."""
    fields: dict[str, Origin] = {}
    for output in tool.outputs:
        source = output.source
        if source is None or not names(source) <= scope.keys():
            continue
        fields[output.name] = origin_of(source, scope, origins).also_decided_by(origins.held | origins.branch)
    node.outputs = {name: source_of(origin) for name, origin in fields.items()}
    return Origin(fields=fields)

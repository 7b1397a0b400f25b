"""Trial arguments for a tool, chosen by the names and types of its inputs from the texts, ids and times of a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tool_induction.admission.schema_world import VIDEO, own_id, parameters_of
from tool_induction.language import types
from tool_induction.language.expressions import Name
from tool_induction.language.model import Block, Call, Step, Tool, blocks
from tool_induction.runtime.calls import Caller
from world_api.core.faults import VideoWorldError
from world_api.operations import OPERATIONS

#: Parts of the video that moments are taken from, as shares of its duration.
_INTERVALS = ((0.2, 0.6), (0.45, 0.9), (0.05, 0.3))
_DEFAULT_EVERY = 3  #: turns; in one of them optional texts keep their defaults
#: Parts of names that say which end of an interval, or of a range of numbers, an input is.
_LOWER = frozenset({"start", "starts", "from", "after", "since", "begin", "begins", "first", "min", "minimum", "least"})
_UPPER = frozenset({"end", "ends", "to", "until", "till", "before", "stop", "last", "max", "maximum", "most"})
_SECOND = frozenset({"second", "b", "2", "later", "other"})


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Values for arguments. ``duration``: of the video (seconds); ``named``: words and ids by the name of their input."""

    video_id: str
    texts: tuple[str, ...]
    duration: float
    named: Mapping[str, Sequence[str]]


def arguments_for(tool: Tool, offer: Offer, *, turn: int = 0, whole: bool = False) -> dict[str, Any] | None:
    """Return trial arguments for a tool, others for each ``turn`` (0, 1, ...). ``whole`` includes optional inputs.

    None if the world offers no id for a required input.
    """
    given: dict[str, Any] = {}
    inputs = [item for item in tool.inputs if item.required or whole]
    ids = 0
    for place, item in zip(_places([(item.name, item.type) for item in inputs]), inputs, strict=True):
        value = _Values(offer=offer, turn=turn, place=place, inputs=len(inputs), ids=ids).of(item.name, item.type)
        if item.default is not None and isinstance(value, str) and turn % _DEFAULT_EVERY == 1:
            value = item.default.value
        ids += item.name != VIDEO and (item.name in offer.named or item.name.endswith(("_id", "_ids")))
        if value is None and item.required and not isinstance(item.type, types.OptionalType):
            return None
        given[item.name] = value
    return given


def _places(inputs: Sequence[tuple[str, types.Type]]) -> list[int]:
    """Return the rank of each input, by which its value is chosen.

    It is the input's position, but of two times or two amounts the lower bound, or first thing, has the lower rank.
    """
    places = list(range(len(inputs)))
    for fits in (is_moment, _is_amount):
        ours = [place for place, (name, type_) in enumerate(inputs) if fits(name, type_)]
        for place, taken in zip(sorted(ours, key=lambda place: _role(inputs[place][0])), ours, strict=True):
            places[place] = taken
    return places


def _role(name: str) -> tuple[int, int]:
    """Return a sort key from an input's name: 1 for the second of two things, else 0; then -1 (start), 1 (end), else 0."""
    words = name.lower().split("_")
    which = int(any(word in _SECOND for word in words))
    is_lower, is_upper = (any(word in known for word in words) for known in (_LOWER, _UPPER))
    return which, int(is_upper) - int(is_lower)


def bound_of(name: str, type_: types.Type) -> Literal["lower", "upper", ""]:
    """Return which bound of time an input is, by its type and name; empty for any other input."""
    end = _role(name)[1] if is_moment(name, type_) else 0
    return "lower" if end < 0 else "upper" if end > 0 else ""


def is_moment(name: str, type_: types.Type) -> bool:
    """Whether an input or output is a time, by its type or by its name."""
    is_timed = name.endswith(("time", "timestamp")) and types.plain(type_) in (types.FLOAT, types.NUMBER, types.SCORE)
    return types.plain(type_) == types.TIME or is_timed


def is_interval(type_: types.Type) -> bool:
    """Whether an input or output is a record with two times."""
    kind = types.plain(type_)
    return isinstance(kind, types.RecordType) and kind.name == types.INTERVAL.name


def _is_amount(name: str, type_: types.Type) -> bool:
    return types.plain(type_) in (types.INT, types.FLOAT, types.NUMBER, types.SCORE) and not is_moment(name, type_)


@dataclass(frozen=True, kw_only=True)
class _Values:
    """Chooses values for one input of a tool.

    ``place`` is its rank among ``inputs`` inputs; ``ids``: how many inputs before it got an id or a named word.
    """

    offer: Offer
    turn: int
    place: int
    inputs: int
    ids: int

    def of(self, name: str, type_: types.Type) -> Any:
        match type_:
            case types.OptionalType(item):
                return self.of(name, item)
            case types.EnumType(values):
                return values[self.turn % len(values)]
            case types.ScalarType():
                return self._scalar(name, type_)
            case types.ListType(name="Box"):
                return [10.0, 20.0, 110.0, 220.0]
            case types.ListType():
                both = [self._next(step).of(name, type_.item) for step in range(2)]
                return None if None in both else both
            case types.RecordType() if type_.name == types.INTERVAL.name:
                return dict(zip(("start_time", "end_time"), self._ends(), strict=True))
            case types.RecordType():
                places = _places(type_.fields)
                fields = zip(places, type_.fields, strict=True)
                return {key: self._next(place).of(key, inner) for place, (key, inner) in fields}
        return self._text()

    def _next(self, step: int) -> _Values:
        """Return the chooser for the item or field at position ``step`` of the same input; later ones get larger numbers."""
        return replace(self, place=self.place + step, inputs=self.inputs + 1, ids=self.ids + step)

    def _scalar(self, name: str, type_: types.ScalarType) -> Any:
        if is_moment(name, type_):
            return self._time()
        match type_.name:
            case "string":
                return self._string(name)
            case "bool":
                return self.turn % 2 == 0
            case "int":
                return 2 + self.turn + self.place
            case "float" | "number" | "Score":
                return self._number()
        return None

    def _number(self) -> float:
        """Return a share of 0 to 1, an amount or seconds, depending on the turn; later inputs get larger numbers."""
        share = (self.place + 1) / (self.inputs + 1)
        return (round(share, 2), 2.5 + self.place, self._time())[self.turn % 3]

    def _string(self, name: str) -> str | None:
        if name == VIDEO:
            return self.offer.video_id
        is_id = name.endswith(("_id", "_ids"))
        named = self.offer.named.get(name.removesuffix("s") if is_id else name, ())
        if named:
            return named[(self.turn + self.ids) % len(named)]
        return None if is_id else self._text()

    def _text(self) -> str:
        texts = self.offer.texts or ("something",)
        return texts[(self.turn + self.place) % len(texts)]

    def _time(self) -> float:
        """Return a time in seconds; later inputs get later times."""
        start, end = self._ends()
        return round(start + (end - start) * self.place / max(1, self.inputs), 1)

    def _ends(self) -> tuple[float, float]:
        start, end = (round(share * self.offer.duration, 1) for share in _INTERVALS[self.turn % len(_INTERVALS)])
        return start, end


def made_up_ids(tool: Tool) -> dict[str, list[str]]:
    """Return, by the name of each input that takes ids, six ids of the imagined film for its id parameter or its own name."""
    names = {item.name.removesuffix("s"): item.name for item in tool.inputs if item.name.endswith(("_id", "_ids"))}
    return {
        name: [own_id(field, place) for place in range(6)] for name, field in (_id_parameters(tool) | names).items()
    }


def _id_parameters(tool: Tool) -> dict[str, str]:
    """Return by input the name of the id parameter it is passed to, whole or item by item; inputs without one are left out."""
    inputs = {item.name for item in tool.inputs}
    found: dict[str, str] = {}

    def visit(steps: tuple[Step, ...], of_item: Mapping[str, str]) -> None:
        for step in steps:
            known = dict(of_item)
            loop = step.loop if isinstance(step, Call | Block) else None
            if loop is not None and isinstance(loop.over, Name) and loop.over.name in inputs:
                known[loop.variable] = loop.over.name
            for key, value in step.params if isinstance(step, Call) else ():
                given = known.get(value.name, value.name) if isinstance(value, Name) else ""
                if given in inputs and key != VIDEO and key.endswith(("_id", "_ids")):
                    found.setdefault(given, key)
            for block in blocks(step):
                visit(block, known)

    visit(tool.steps, {})
    return found


def found_words(tool: Tool, call: Caller, video_id: str) -> dict[str, list[str]]:
    """Return values from a real world by the names of a tool's inputs; inputs without any are left out.

    The values of an input are those of the field of the same name (of the id parameter's name, if the input is passed
    to one) in the results of all operations that need only the video: ``entity_id`` and ``category`` come from the
    entities.
    """
    names = (item.name.removesuffix("s") if item.name.endswith("_ids") else item.name for item in tool.inputs)
    fields = {name: name for name in names}
    fields |= {name: field.removesuffix("s") for name, field in _id_parameters(tool).items()}
    fields.pop(VIDEO, None)
    rows: list[Any] = []
    for name, operation in OPERATIONS.items() if fields else ():
        if set(parameters_of(name).get("required", ())) == {VIDEO} and operation.state == "reads":
            try:
                result = call(name, {VIDEO: video_id})
            except VideoWorldError:
                continue
            rows.extend(row for value in result.values() if isinstance(value, list) for row in value)
    found: dict[str, list[str]] = {}
    for name, field in sorted(fields.items()):
        held = [row.get(field) for row in rows if isinstance(row, dict)]
        if texts := [text for text in held if isinstance(text, str) and text]:
            found[name] = list(dict.fromkeys(texts))
    return found


def length_of(call: Caller, video_id: str) -> float:
    """Return the duration of a real video in seconds; 60 if it is unknown."""
    try:
        duration = call("get_video_metadata", {VIDEO: video_id}).get("duration")
    except VideoWorldError:
        duration = None
    return float(duration) if isinstance(duration, int | float) and duration > 0 else 60.0

"""The result of a run: values of its outputs, a summary line, evidence, and judged words.

Outputs are whole; only the evidence and parents that records carry are removed, and numbers are rounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from tool_induction import limits
from tool_induction.aggregates.functions import evidence_of, is_evidence, span_of
from tool_induction.language import expressions as ex
from tool_induction.language.diagnostics import shorten
from tool_induction.language.evaluation import Json, as_text, evaluate, weight
from tool_induction.language.model import Output, Tool, binds, values, walk_steps
from tool_induction.language.types import INT, STRING, TIME, ListType, OptionalType, plain, show
from tool_induction.runtime.doubts import (
    NOT_EXAMINED,
    Doubt,
    Extent,
    Scope,
    doubt_of,
    doubt_of_record,
    firm,
    joined,
    lacked,
    with_lacks,
)
from tool_induction.runtime.limits import completed
from tool_induction.runtime.trace import TraceNode
from world_api.core.canonical import canonical_json
from world_api.core.faults import ToolFault, VideoWorldError
from world_api.core.spans import merge_spans

_T = TypeVar("_T")
_SUMMARY = 200
_LARGEST = 100_000  #: values of one output
_LARGEST_TEXT = 200_000  #: values; beyond, a record is not written out as text
_MOST_EVIDENCE = 1_000  #: pieces gathered before the best are chosen
_MOST_WORDS = 8  #: named in a reason
_WORDS, _SPANS = ("matched", "unmatched", "not_judged"), ("not_found", "not_examined")


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    """How a run of one tool ended.

    ``stopped``: at a ``require`` with another status than ``ok``; ``fault``: the fault that ended it, if any. ``cited``
    has the evidence of each output separately, so a piece may occur several times. ``outputs`` are computed with possible
    items; ``doubts`` has what is not sure of each.
    """

    status: str
    reason: str
    summary: str
    outputs: dict[str, Json]
    evidence: list[Json]
    cited: Mapping[str, list[Json]]
    doubts: Mapping[str, Doubt] = field(default_factory=dict)
    fault: VideoWorldError | None = None
    stopped: bool = False

    @property
    def doubt(self) -> Doubt | None:
        """What is in doubt about the record that a calling tool gets."""
        found = joined(*self.doubts.values())
        # Items of a list say themselves what they lack.
        others = {key: one for key, one in self.doubts.items() if one.extent != Extent.ITEMS}
        return found and Doubt(words=found.words, fields=dict.fromkeys((*self.outputs, "status", "evidence")) | others)


def outcome_of(
    tool: Tool, scope: Scope, judged: Judged, *, status: str, reason: str, fault: VideoWorldError | None
) -> ToolOutcome:
    """Return the outcome of a run whose names have the values in ``scope``; outputs without a value are null.

    A run that ended with a fault is ``partial`` if an output that is computed from results of steps has a value. So is
    one that ended as ``ok`` or ``empty`` and of which an output, or a condition that could have ended it, is in doubt.
    """
    inputs = {item.name for item in tool.inputs}
    values = scope.values
    outputs: dict[str, Json] = {}
    doubts: dict[str, Doubt] = {}
    others = {name: doubt.alternative for name, doubt in scope.doubts.items() if doubt.alternative is not None}
    found_out = False
    for output in tool.outputs:
        try:
            value = _value(output, values)
            own = _doubt(output, scope) if judged.is_unsure else None
            if value not in (None, 0):  # with something found, nothing hangs on what other hits there may be
                own = firm(own)
            if (doubt := joined(judged.control, own)) is not None:
                doubts[output.name] = doubt if own is None else replace(own, words=doubt.words)
                if output.name != "evidence" and (other := _value(output, {**values, **others})) not in (None, value):
                    doubts[output.name] = replace(doubts[output.name], alternative=presented(other, output))
        except VideoWorldError as unreadable:
            value = None
            if status == "ok":
                status, reason, fault = "error", unreadable.message, unreadable
        outputs[output.name] = value
        is_found = output.source is not None and bool(ex.names(output.source) - inputs)
        found_out = found_out or (is_found and value not in (None, [], ""))
    if status == "error" and found_out:
        status = "partial"
    if why := judged.doubted(doubts.values()):
        reason = "; ".join(filter(None, (why, reason)))
        status = "partial" if status in ("ok", "empty") else status
    has_evidence = status not in ("empty", "error")
    cited = _cited(tool, values) if has_evidence else {}
    evidence = _evidence(tool, values, cited) if has_evidence else []
    sure = {output.name: surely(outputs[output.name], output, doubts.get(output.name)) for output in tool.outputs}
    summary = _summary(tool, sure, doubts, status, reason)
    return ToolOutcome(
        status=status,
        reason=reason,
        summary=summary,
        outputs=outputs,
        evidence=evidence,
        cited=cited,
        doubts=doubts,
        fault=fault if status in ("error", "partial") else None,
    )


def _doubt(output: Output, scope: Scope) -> Doubt | None:
    """Return what is in doubt about an output; evidence is exempt, since it names what it is evidence of."""
    if output.source is None or not ex.names(output.source) <= set(scope.values):
        return None
    return None if show(plain(output.type)) == "list<Evidence>" else doubt_of(output.source, scope)


def surely(value: Json, output: Output, doubt: Doubt | None) -> Json:
    """Return what is known of an output that is in doubt, in its declared type.

    Of a number that is its sure part, of a truth value null or, if it must not be null, false; of any other, and of a field
    of a candidate, the candidate.
    """
    if doubt is None or value is None or doubt.is_field:
        return value
    if isinstance(value, bool):
        return None if isinstance(output.type, OptionalType) else False
    if isinstance(value, int | float) and doubt.least is not None:
        least = max(doubt.least, min(value, 0))  # a difference of counts may have a bound below zero
        return int(least) if isinstance(value, int) else least
    return value


def _value(output: Output, scope: Mapping[str, Json]) -> Json:
    source = output.source
    if source is None or not ex.names(source) <= set(scope):
        return None
    value = evaluate(source, scope)
    if weight(value, most=_LARGEST) > _LARGEST:
        raise ToolFault("output_too_large", f"the output {output.name!r} holds more than {_LARGEST} values")
    value = completed(value, output.type)
    wanted = plain(output.type)
    if wanted == STRING and not isinstance(value, str | None):
        return text_of(value)
    if wanted == INT and isinstance(value, float):
        if not value.is_integer():
            raise ToolFault("bad_output", f"the output {output.name!r} is {value}, not a whole number")
        return int(value)
    return value


def _cited(tool: Tool, scope: Mapping[str, Json]) -> dict[str, list[Json]]:
    """Return, by output, the evidence of all values that its expression reads, enclosing records included."""
    at: dict[ex.Expr, list[Json]] = {}
    cited: dict[str, list[Json]] = {}
    for output in tool.outputs:
        nodes = [] if output.source is None else [*ex.walk(output.source)]
        paths = [
            node for node in nodes if isinstance(node, ex.Name | ex.Field | ex.Index) and ex.names(node) <= set(scope)
        ]
        for path in (path for path in paths if path not in at):
            with suppress(VideoWorldError):
                at[path] = evidence_of([evaluate(path, scope)], most=_MOST_EVIDENCE)
        cited[output.name] = [piece for path in paths for piece in at.get(path, ())]
    return cited


def _evidence(tool: Tool, scope: Mapping[str, Json], cited: Mapping[str, list[Json]]) -> list[Json]:
    """Return the evidence for the outputs of a tool.

    ``cited`` is the evidence of the values that the outputs are computed from. If it is empty, the values that these
    were computed from are examined instead, and so on, step by step. A value that is null or an empty list is not
    followed further: its own sources are what did not match, so they support nothing.
    """
    found = [piece for pieces in cited.values() for piece in pieces]
    sources = [output.source for output in tool.outputs if output.source is not None]
    level = {name for source in sources for name in ex.names(source)}
    made_by = {} if found else {name: step for step in walk_steps(tool.steps) for name in binds(step)}
    seen: set[str] = set()
    while level and not found:
        seen |= level
        level = {name for name in level if scope.get(name) not in ([], None)}
        level = {
            name for made in level & made_by.keys() for _, value in values(made_by[made]) for name in ex.names(value)
        }
        level = level - seen & scope.keys()
        found = [piece for name in sorted(level) for piece in evidence_of([scope[name]], most=_MOST_EVIDENCE)]
    return evidence_of(found, most=_MOST_EVIDENCE)


def _summary(tool: Tool, outputs: Mapping[str, Json], doubts: Mapping[str, Doubt], status: str, reason: str) -> str:
    """Return one short line: the values of the outputs, or the status and its reason."""
    parts: list[str] = []
    for output in tool.outputs:
        value = outputs.get(output.name)
        if output.name == "evidence" or value in (None, [], ""):
            continue
        doubt = doubts.get(output.name)
        said = _short(value, output)
        if doubt is not None and doubt.alternative is not None:
            said += f" (possibly {_short(doubt.alternative, output)})"
        elif doubt is not None and isinstance(value, int | float) and doubt.range:
            said = f"{doubt.range}{_unit(output)}"
        elif doubt is not None and isinstance(value, list) and doubt.extent in (Extent.ITEMS, Extent.MISSING):
            least = f"{len(value) - doubt.possible:g} to " if doubt.possible else ""
            said = f"{least}{said}{' or more' * (doubt.extent == Extent.MISSING)}"
        elif doubt is not None:
            said += " (possible)"
        parts.append(f"{output.name}: {said}")
    answer = ", ".join(parts)
    if status == "ok":
        line = answer or "done"
    else:
        line = f"{status}: {reason}" if reason else status
        line = f"{line} ({answer})" if answer and status in ("partial", "budget_exhausted") else line
    return shorten(line, _SUMMARY)


def _short(value: Json, output: Output) -> str:
    if isinstance(value, list):
        return f"{len(value)} item{'s' * (len(value) != 1)}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{round(value, 2):g}{_unit(output)}"
    if isinstance(value, str):
        return shorten(value, 80)
    return text_of(value)[:80]


def _unit(output: Output) -> str:
    is_time = plain(output.type) == TIME or output.name.endswith(("_time", "_seconds", "duration"))
    return " s" if is_time else ""


def presented(value: Json, output: Output) -> Json:
    """Return an output without the evidence and parents that its records carry, numbers rounded to three decimals."""
    keeps = isinstance(plain(output.type), ListType) and "evidence" in output.name
    return _copied(value, keep_evidence=keeps)


def _copied(value: Json, *, keep_evidence: bool) -> Json:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, list):
        return [_copied(item, keep_evidence=keep_evidence) for item in value]
    if isinstance(value, dict):
        hidden = () if keep_evidence else bookkeeping(value)
        return {key: _copied(item, keep_evidence=keep_evidence) for key, item in value.items() if key not in hidden}
    return value


def bookkeeping(record: dict[str, Json]) -> Collection[str]:
    """Return the keys that only state the origin of a record: ``evidence``, and ``parent``, the item it was made from.

    Empty if ``evidence`` is not a list of evidence: then both are ordinary data (such as the ``parent`` of a child).
    """
    evidence = record.get("evidence")
    is_carried = isinstance(evidence, list) and all(is_evidence(piece) for piece in evidence)
    return ("parent", "evidence") if is_carried else ()


def text_of(value: Json) -> str:
    """Return a list or record as readable text, cut if it is long; for a very large one a remark in brackets."""
    if weight(value, most=_LARGEST_TEXT) > _LARGEST_TEXT:
        return "(too large to be written out)"
    return shorten(_written(value), limits.MAX_STRING_RESULT)


def _written(value: Json) -> str:
    if isinstance(value, list):
        return "; ".join(_written(item) for item in value)
    if isinstance(value, dict):
        if is_evidence(value):
            sure = value.get("confidence")
            tail = "" if sure is None else f", confidence {as_text(sure)}"
            span = f"{as_text(value.get('start_time'))}-{as_text(value.get('end_time'))} s"
            return f"{span} ({as_text(value['source'])}{tail})"
        hidden = bookkeeping(value)
        return ", ".join(
            f"{key} {_written(item)}" for key, item in value.items() if key not in hidden and item is not None
        )
    return as_text(value)


def cited(evidence: list[Json]) -> list[Json]:
    """Return copies of the pieces of evidence, without repetitions of a span and source."""
    kept: dict[str, Json] = {}
    for piece in evidence:
        if isinstance(piece, dict):
            kept.setdefault(cited_as(piece), piece)
    return deepcopy(list(kept.values()))


def cited_as(piece: dict[str, Json]) -> str:
    """Return the key by which two pieces of evidence count as the same: video, span and source."""
    return canonical_json([piece.get(key) for key in ("video_id", "start_time", "end_time", "source")])


@dataclass
class Judged:
    """Collects what operations report about the words of their queries and about spans, each once and in order."""

    parts: dict[str, list[Json]] = field(default_factory=dict)
    found: bool = False
    is_unsure: bool = False  #: whether anything in the run may be in doubt
    control: Doubt | None = None  #: about conditions that ended the tool, or could have ended it

    def noted(self, result: dict[str, Json], under: str | None) -> dict[str, Json]:
        """Add what one result of an operation reports of words and spans; return it with what its items lack.

        ``under``: the only list field of the result. Words that nothing can judge are lacked by each of its items, or by
        the result itself. A result without a report adds nothing.
        """
        for key in (*_WORDS, *_SPANS, "unused_words"):
            if key in result:
                found = _listed(result, key, dict if key in _SPANS else str)
                self._add("unmatched" if key == "unused_words" else key, found)
        words = [str(word) for key in ("unmatched", "unused_words") for word in _listed(result, key, str)]
        # If nothing fits the words that were judged, the others make no difference.
        if not result.get("not_found"):
            self.found = self.found or bool(result.get("matched"))
            if words and (under is None or "lacks" in result):
                result = cast("dict[str, Json]", with_lacks(result, words))
            elif words and under is not None:
                result = result | {under: [with_lacks(row, words) for row in _listed(result, under)]}
        if not self.is_unsure:
            rows = (item for value in result.values() if isinstance(value, list) for item in value)
            self.is_unsure = any(map(lacked, (result, *rows))) or doubt_of_record(result) is not None
        return result

    def merge(self, other: Judged, *, stopped: bool) -> None:
        """Add the reports of a called tool, which may have ``stopped`` this one."""
        for key, parts in other.parts.items():
            self._add(key, parts)
        self.found = self.found or other.found
        self.is_unsure = self.is_unsure or other.is_unsure
        if stopped:
            self.control = joined(self.control, other.control)

    def doubted(self, doubts: Iterable[Doubt]) -> str:
        """Return why a result is uncertain: words not judged or not seen to fit, spans not examined; empty if it is certain."""
        doubt = joined(self.control, *doubts)
        if doubt is None:
            return ""
        words = [word for word in doubt.words if word != NOT_EXAMINED]
        kinds = {
            "not judged": [word for word in words if not self.can_judge(word)],
            "not seen to fit": [word for word in words if self.can_judge(word)],
        }
        reasons = [f"{what}: {named(found)}" for what, found in kinds.items() if found]
        if NOT_EXAMINED in doubt.words:
            reasons.append("not all that was asked for was examined")
        return f"cannot tell ({'; '.join(reasons)})"

    def can_judge(self, word: str) -> bool:
        """Whether no operation reported that it cannot judge a word."""
        return word not in self._words("unmatched", "not_judged")

    def record(self) -> dict[str, Json]:
        """Return the value of ``judged`` in a result record; it has ``not_found`` only if nothing was found."""
        unmatched = self._words("unmatched")
        words = {
            "matched": [word for word in self._words("matched") if word not in unmatched],
            "unmatched": unmatched,
            "not_judged": self._words("not_judged"),
        }
        record: dict[str, Json] = {key: list(value) for key, value in words.items() if value}
        for key in _SPANS:
            spans = [] if key == "not_found" and self.found else _merged(self.parts.get(key, []))
            if spans:
                record[key] = spans
        return record

    def _words(self, *keys: str) -> list[str]:
        return list(dict.fromkeys(str(word) for key in keys for word in self.parts.get(key, ())))

    def _add(self, key: str, values: Iterable[Json]) -> None:
        kept = self.parts.setdefault(key, [])
        kept.extend(value for value in values if value not in kept)


def named(words: list[str]) -> str:
    """Return words as text for a sentence: the first eight, and the number of the others."""
    more = f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
    return ", ".join(words[:_MOST_WORDS]) + more


def _listed(result: Mapping[str, Json], key: str, type_: type = object) -> list[Json]:
    """Return the values of a type in the list under a key; empty if there is no list."""
    value = result.get(key)
    return [item for item in value if isinstance(item, type_)] if isinstance(value, list) else []


def _merged(spans: list[Json]) -> list[Json]:
    """Return spans in time order, with overlapping and touching ones joined."""
    found = [span for one in spans if isinstance(one, dict) and (span := span_of(one)) is not None]
    return [{"start_time": span.start, "end_time": span.end} for span in merge_spans(found)]


def note_evidence(tool: TraceNode, shown: Sequence[Json], cited: Mapping[str, Sequence[Json]]) -> None:
    """Record in a tool's trace node which calls gave each shown piece of evidence, and which pieces each output uses.

    The results of the calls are removed from the trace, because they are not needed any more.
    """
    places = {cited_as(piece): place for place, piece in enumerate(shown) if isinstance(piece, dict)}
    givers: list[list[int]] = [[] for _ in shown]
    for call in tool.calls():
        for place in _places(evidence_of([dict(call.result)]), places):
            givers[place].append(call.number or 0)
        call.result = {}  # not needed any more, and a trace may be kept for long
    tool.evidence = tuple(tuple(calls) for calls in givers)
    tool.outputs = {
        name: replace(source, evidence=_places(cited.get(name, ()), places)) for name, source in tool.outputs.items()
    }


def _places(pieces: Sequence[Json], places: Mapping[str, int]) -> tuple[int, ...]:
    found = {places.get(cited_as(piece)) for piece in pieces if isinstance(piece, dict)}
    return tuple(sorted(place for place in found if place is not None))

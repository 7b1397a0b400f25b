"""How the model sees a tool result: whole, shortened if it is long, folded into a summary once it is old.

Text from the video is given to the model only as JSON inside ``data_from_video``: it may contain instructions, but it
remains inside its field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.evidence import leaves, spans_in
from controller.prompts import Prompts
from controller.replies import Problem, ToolCall
from world_api.chat.prompts import DATA, data_line
from world_api.core.canonical import parse_json
from world_api.core.faults import ErrorBody

_SHORTEST_TEXT = 200  #: characters; texts are not cut below this
_MOST_EVIDENCE = 8  #: pieces that are shown; entries have times of their own
_LEAST_EVIDENCE = 3  #: pieces that a long result keeps
_WIDE = 16  #: entries; narrower objects are taken for records, which are not halved
_QUOTED = 300
_BOOK_KEEPING = frozenset({"calls", "cost"})  #: the cost of an induced tool

# What the summary of a folded result contains at most.
_KEPT_SPANS, _KEPT_IDS, _KEPT_CHARACTERS = 6, 12, 160
_IDS = ("entity_id", "memory_id", "scene_id", "segment_id")
_SAYINGS = ("answer", "caption", "summary", "content", "brief_caption", "snippet", "text", "hint")


def call_slip(call: ToolCall, problem: Problem, prompts: Prompts) -> ErrorBody:
    """Return the message to the model about a malformed call, quoting unreadable arguments or an unknown tool."""
    quoted = {"arguments_not_json": call.written, "arguments_not_object": call.written, "unknown_tool": call.tool}
    detail = f"{quoted[problem]!r}" if problem in quoted else ""
    return prompts.notice(problem, detail if len(detail) <= _QUOTED else detail[:_QUOTED] + "...")


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The result of a call. ``is_data``: a tool returned it; otherwise it is the loop's own text."""

    call: ToolCall
    result: dict[str, Any]
    is_data: bool
    notice: ErrorBody | None = None

    def message(self, prompts: Prompts, *, limit: int) -> dict[str, Any]:
        """Return the message that answers the call; a result longer than ``limit`` characters is shortened.

        At most the first 8 pieces of evidence are shown. If anything is left out, the message contains how much
        (``cut``).
        """
        whole = {key: value for key, value in self.result.items() if key not in _BOOK_KEEPING}
        evidence = _listed(whole)
        shown, cut = shorten(whole | ({"evidence": evidence[:_MOST_EVIDENCE]} if evidence else {}), limit)
        # Also for a fault of a tool: its message may quote the video, or a model that looked at it.
        body: dict[str, Any] = {DATA: shown} if self.is_data else dict(shown)
        if cut is not None:
            notice = prompts.notice("cut", f"{cut.shown}/{cut.size}")
            body["cut"] = {"note": notice["message"], "hint": notice["hint"]} | ({"of": cut.lists} if cut.lists else {})
        if (kept := len(_listed(shown))) < len(evidence):
            lists = {} if cut is None else cut.lists
            body["cut"] = {**body.get("cut", {}), "of": {**lists, "evidence": f"{kept}/{len(evidence)}"}}
        if self.notice is not None:
            body["notice"] = self.notice
        return self._answering(body)

    def folded(self, prompts: Prompts) -> dict[str, Any]:
        """Return the message that replaces the whole one if room is needed: arguments and a summary of the result."""
        return self._answering({DATA: {"folded": _gist(self.call, self.result)}, "notice": prompts.notice("folded")})

    def dropped(self, prompts: Prompts) -> dict[str, Any]:
        """Return the message that replaces the folded one when even more room is needed: only a notice."""
        return self._answering({"notice": prompts.notice("dropped")})

    def _answering(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": self.call.id, "content": data_line(body)}


def _listed(result: Mapping[str, Any]) -> list[Any]:
    """Return the evidence of a result; empty if it is not a list."""
    evidence = result.get("evidence")
    return evidence if isinstance(evidence, list) else []


def _gist(call: ToolCall, result: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in result.items() if key not in _BOOK_KEEPING | {"evidence"}}
    spans = list(dict.fromkeys((span.start, span.end) for span in spans_in(found) if span.duration > 0))
    texts = [(key, leaf) for key, leaf in leaves(found) if isinstance(leaf, str)]
    ids = list(dict.fromkeys(text for key, text in texts if key in _IDS))
    says = next((text for wanted in _SAYINGS for key, text in texts if key == wanted), "")
    gist: dict[str, Any] = {
        "tool": call.tool,
        "asked": shorten(call.arguments, _QUOTED)[0],
        "items": _lengths(found),
        "spans": spans[:_KEPT_SPANS],
        "of_spans": len(spans),
        "ids": ids[:_KEPT_IDS],
        "of_ids": len(ids),
        "says": says if len(says) <= _KEPT_CHARACTERS else says[:_KEPT_CHARACTERS] + "...",
    }
    return {key: value for key, value in gist.items() if value or key == "tool"}


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What was left out of a result.

    ``shown`` and ``size`` are characters of JSON after and before; ``lists`` gives ``shown/size`` in entries for each
    shortened list, by key.
    """

    shown: int
    size: int
    lists: dict[str, str]


def shorten(result: dict[str, Any], limit: int) -> tuple[dict[str, Any], Cut | None]:
    """Return a result in at most ``limit`` characters of JSON, and what was left out; None if nothing was.

    Evidence is shortened first; then the largest list or text is cut again and again, so that the structure and the
    first entries (the best, or the earliest) are kept. If that is not enough, wide objects are cut too, and finally
    only the fields that fit are kept.
    """
    size = len(data_line(result))
    if size <= limit:
        return result, None
    shown: dict[str, Any] = parse_json(data_line(result))
    evidence = shown.get("evidence")
    if isinstance(evidence, list):
        shown["evidence"] = evidence[:_LEAST_EVIDENCE]
    for weigh in (_list_or_text, _wide_object):
        while (over := len(data_line(shown)) - limit) > 0 and _cut_largest(shown, weigh, over):
            pass
    if len(data_line(shown)) > limit:
        shown = _what_fits(shown, limit)
    before, after = _lengths(result), _lengths(shown)
    lists = {key: f"{after.get(key, 0)}/{number}" for key, number in before.items() if after.get(key, 0) < number}
    return shown, Cut(shown=len(data_line(shown)), size=size, lists=lists if len(lists) <= _WIDE else {})


def _lengths(result: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of entries of each list in a result and in its ``outputs``, by key."""
    outputs = result.get("outputs")
    found = {**result, **(outputs if isinstance(outputs, dict) else {})}
    return {key: len(value) for key, value in found.items() if isinstance(value, list)}


def _what_fits(result: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return the fields that fit into ``limit`` characters, in order; a longer value becomes "..." if that fits."""
    shown: dict[str, Any] = {}
    left = limit - len("{}")
    for key, value in result.items():
        for kept in (value, "..."):
            length = len(data_line({key: kept})) - len("{}") + len(",")
            if length <= left:
                shown[key] = kept
                left -= length
                break
    return shown


def _cut_largest(root: dict[str, Any], weigh: Callable[[Any], int], over: int) -> bool:
    """Shorten the value of the largest weight by ``over`` characters, at most by half; False if none has a weight."""
    best: tuple[int, Any, Any] | None = None
    nodes: list[Any] = [root]
    while nodes:
        node = nodes.pop()
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            weight = weigh(value)
            if weight and (best is None or weight > best[0]):
                best = (weight, node, key)
            if isinstance(value, dict | list):
                nodes.append(value)
    if best is None:
        return False
    weight, holder, key = best
    value = holder[key]
    share = max(0.5, (weight - 1.05 * over) / weight)  # a little more, so that it is seldom done twice
    number = min(len(value) - 1, int(len(value) * share))
    if isinstance(value, str):
        holder[key] = value[: max(number - len("..."), 1)] + "..."
    else:
        holder[key] = dict(list(value.items())[:number]) if isinstance(value, dict) else value[:number]
    return True


def _list_or_text(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if len(value) > _SHORTEST_TEXT else 0
    if isinstance(value, list) and len(value) > 1:
        return len(data_line(value))
    return 0


def _wide_object(value: Any) -> int:
    return len(data_line(value)) if isinstance(value, dict) and len(value) > _WIDE else 0

"""What a model is shown of tool results: their lean form, the pages of long ones, and the summaries of old ones.

The record of an episode has whole results. Here, and nowhere before, they are made shorter for a model: each time, line and
piece of evidence is said once, a long result is shown page by page (``read_more``), and an old one is folded into a summary.
Text from the video is given to the model only as JSON inside ``data_from_video``: it may contain instructions, but it
remains inside its field.

In the lean form an interval is one text, ``"53-74.5"``, at the thing that it belongs to. A hit names its words by how they
are known, ``seen``, ``said``, ``written`` or ``caption``, after their own time if that is a closer one. Left out are evidence
for an interval that the result or the arguments of the call name, values that are usual, null or empty, and values that
follow from others (centres, names of segments, scores that only order hits). What says that something is not known or was
not found (``lacks``, ``unmatched``, ``not_judged``, ``not_found``, ``not_examined``, ``unsure``, ``status``) is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from controller.messages import Problem, ToolCall, leaves, spans_in
from controller.prompts import Prompts
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import CURSOR, DATA, READ_MORE, Page, ResultPages, data_line, first_page
from world_api.core.canonical import closed_object, is_finite_number
from world_api.core.faults import ErrorBody

_MAX_QUOTED = 300  #: characters
#: Pieces of evidence that are shown of an operation's result, and of a tool's.
_MOST_EVIDENCE, _OF_A_TOOL = 8, 4
_BOOK_KEEPING = frozenset({"calls", "cost"})  #: the cost of an induced tool

# What the summary of a folded result contains at most.
_KEPT_SPANS, _KEPT_IDS, _KEPT_CHARACTERS = 6, 12, 160
_IDS = ("entity_id", "memory_id", "scene_id", "segment_id")
_SAYINGS = ("answer", "caption", "summary", "content", "brief_caption", "snippet", "text", "hint")


def call_slip(call: ToolCall, problem: Problem, prompts: Prompts) -> ErrorBody:
    """Return the message to the model about a malformed call, quoting unreadable arguments or an unknown tool."""
    quoted = {"arguments_not_json": call.written, "arguments_not_object": call.written, "unknown_tool": call.tool}
    detail = f"{quoted[problem]!r}" if problem in quoted else ""
    return prompts.notice(problem, detail if len(detail) <= _MAX_QUOTED else detail[:_MAX_QUOTED] + "...")


def read_more_tool(prompts: Prompts) -> ToolDeclaration:
    """Return the declaration of ``read_more``, which every system with tools offers beside ``submit_answer``."""
    cursor = {"type": "string", "description": prompts.of_pages("cursor")}
    return ToolDeclaration(
        name=READ_MORE, description=prompts.of_pages("tool"), parameters=closed_object({CURSOR: cursor})
    )


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The result of a call, or a page of one. ``is_data``: a tool returned it; otherwise it is the loop's own text."""

    call: ToolCall
    result: dict[str, Any]
    is_data: bool
    notice: ErrorBody | None = None

    def message(self, pages: ResultPages, *, limit: int) -> dict[str, Any]:
        """Return the message that answers the call; of a result longer than ``limit`` characters it has the first page.

        ``truncated`` says then which entries this page has of how many, and the cursor of the next one. Evidence beyond
        the first pieces is only counted.
        """
        whole = {key: value for key, value in self.result.items() if key not in _BOOK_KEEPING}
        shown = lean(whole, self.call.arguments) if self.is_data else whole
        evidence = _listed(shown)
        most = _OF_A_TOOL if "outputs" in shown else _MOST_EVIDENCE
        shown = {**shown, "evidence": evidence[:most]} if evidence else shown
        ordered: set[str] = set()
        if len(data_line(shown)) > limit:
            shown, ordered = _by_relevance(shown)
        page = first_page(shown, limit)
        parts = {path: f"{part}, by relevance" if path in ordered else part for path, part in page.parts.items()}
        page = replace(page, parts=parts)
        if (kept := len(_listed(page.shown))) < len(evidence):
            page = replace(page, parts={**page.parts, "evidence": f"{kept} of {len(evidence)}"})
        return self.page_message(page, pages)

    def page_message(self, page: Page, pages: ResultPages) -> dict[str, Any]:
        """Return the message with one page of a result."""
        # Also for a fault of a tool: its message may quote the video, or a model that looked at it.
        body: dict[str, Any] = {DATA: page.shown} if self.is_data else dict(page.shown)
        body |= pages.announced(page)
        if self.notice is not None:
            body["notice"] = self.notice
        return self._answering(body)

    def folded(self, prompts: Prompts) -> dict[str, Any]:
        """Return the message that replaces the whole one if space is needed: arguments and a summary of the result."""
        return self._answering({DATA: {"folded": _gist(self.call, self.result)}, "notice": prompts.notice("folded")})

    def dropped(self, prompts: Prompts) -> dict[str, Any]:
        """Return the message that replaces the folded one if even more space is needed: only a notice."""
        return self._answering({"notice": prompts.notice("dropped")})

    def _answering(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": self.call.id, "content": data_line(body)}


def _by_relevance(result: Mapping[str, Any], before: str = "") -> tuple[dict[str, Any], set[str]]:
    """Return a result whose lists have the most relevant entries first, and the paths of the lists that changed.

    Entries that lack nothing come before others, and in lists of entities persons before other things; else the order,
    which is that of rank or time, stays. Lists in the ``outputs`` of a tool are ordered too.
    """
    shown: dict[str, Any] = {}
    changed: set[str] = set()
    for key, value in result.items():
        shown[key] = value
        if isinstance(value, Mapping) and key == "outputs":
            shown[key], inner = _by_relevance(value, f"{key}.")
            changed |= inner
        elif isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
            shown[key] = sorted(value, key=_irrelevance)
            changed |= {f"{before}{key}"} if shown[key] != value else set()
    return shown, changed


def _irrelevance(entry: Mapping[str, Any]) -> tuple[bool, bool]:
    looks = str(entry.get("category") or entry.get("hint") or entry.get("looks"))
    return bool(entry.get("lacks")), "entity_id" in entry and "label" not in entry and not looks.startswith("person")


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
    outputs = found.get("outputs")
    lists = {**found, **(outputs if isinstance(outputs, dict) else {})}
    gist: dict[str, Any] = {
        "tool": call.tool,
        "asked": first_page(call.arguments, _MAX_QUOTED).shown,
        "items": {key: len(value) for key, value in lists.items() if isinstance(value, list)},
        "spans": spans[:_KEPT_SPANS],
        "of_spans": len(spans),
        "ids": ids[:_KEPT_IDS],
        "of_ids": len(ids),
        "says": says if len(says) <= _KEPT_CHARACTERS else says[:_KEPT_CHARACTERS] + "...",
    }
    return {key: value for key, value in gist.items() if value or key == "tool"}


# --- the lean form of results ---------------------------------------------------------------------------------------

Record = dict[str, Any]
_Span = tuple[float, float]

#: How the words of a source are known.
_KNOWN_AS = {"tracker": "seen", "speech": "said", "screen_text": "written", "caption": "caption"}
_PIECE = frozenset({"start_time", "end_time", "source", "frame_time"})
#: Values of a record with a time that follow from its other values, or only order a list.
_DERIVED = frozenset({"center_time", "video_id", "timestamp", "frame_time"})
#: Records by the fields that name them, with the values that go without saying.
_USUAL: Sequence[tuple[Set[str], Mapping[str, Any]]] = (
    ({"scene_id", "brief_caption"}, {"kind": "scene", "scenes": 1}),
    ({"entity_id", "first_time", "last_time"}, {"origin": "build", "appearances": 1}),
    ({"text", "as_given"}, {"as_given": False}),
    ({"evidence", "hint"}, {"truncated": False}),
)
_RENAMED = {"brief_caption": "caption", "path_repr": "path", "entity_hint": "hint"}
_PAIRS = (("start_time", "end_time"), ("first_time", "last_time"))
_LEAST_SHARED = 3  #: entries of a list of which a common value is stated once
#: Boxes along a path stay in the record: detect_objects gives those of a moment.
_ONLY_RECORDED = frozenset({"boxes"})


def lean(result: Mapping[str, Any], arguments: Any = None) -> Record:
    """Return a result as a model reads it; ``arguments`` are those of the call."""
    known = {_key(span.start, span.end) for span in spans_in(arguments)}
    shown: Record = _record(dict(result), known, top=True)
    return shown


def seconds(time: float) -> str:
    """Return a time as text, in seconds to the millisecond without trailing zeros."""
    return f"{time:.3f}".rstrip("0").rstrip(".")


def span_text(start: float, end: float) -> str:
    """Return an interval in seconds as text, ``"53-74.5"``; a moment as one time."""
    return seconds(start) if start == end else f"{seconds(start)}-{seconds(end)}"


def _key(start: float, end: float) -> _Span:
    return round(start, 3), round(end, 3)


def _value(value: Any, known: Set[_Span]) -> Any:
    if isinstance(value, Mapping):
        return _record(dict(value), known)
    if isinstance(value, list):
        return [_value(item, known) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def _record(record: Record, known: Set[_Span], *, top: bool = False) -> Any:
    """Return an object as it is shown: a text if it is only an interval or a piece of evidence.

    ``known``: intervals that need no evidence. ``top``: it is the result itself, whose first field is kept if empty.
    """
    interval = _interval(record, *_PAIRS[0])
    if interval is not None and record.keys() == set(_PAIRS[0]):
        return span_text(*interval)
    if record.keys() >= _PIECE:
        return _piece(record)
    first = next(iter(record), None)
    if isinstance(record.get("evidence"), list):
        record = _with_needed_evidence(record, known)
    if {"status", "summary", "outputs"} <= record.keys():
        record = _of_tool(record)
    if isinstance(record.get("moments"), list):
        record = _with_words_once(record)
    record = _with_one_time(_without_repetitions(record), last=top)
    if "snippet" in record and "source" in record:
        record = _hit(record, interval)
    elif "text" in record and "source" in record and interval is not None:
        record = _known_words(record)
    shown: Record = {}
    for key, value in record.items():
        if key not in _ONLY_RECORDED:
            shown |= _field(key, value, known)
    return {key: value for key, value in shown.items() if not _is_empty(value) or (top and key == first)}


def _field(key: str, value: Any, known: Set[_Span]) -> Record:
    """Return a field as it is shown; of a list two fields if its entries share values."""
    if isinstance(value, str):
        return {_RENAMED.get(key, key): value}
    if isinstance(value, Mapping) and key == "outputs":
        return {key: _outputs(dict(value), known)}
    if isinstance(value, Mapping) and key == "unsure":
        return {key: _grouped(value)}
    if not isinstance(value, list):
        return {key: _value(value, known)}
    if key in ("may_be", "joined"):
        return {key: [_look_alike(item) for item in value]}
    if key == "bbox":
        return {key: [round(side) if is_finite_number(side) else side for side in value]}
    entries = [_value(item, known) for item in value]
    if shared := _shared(entries):
        return {key: [_without(item, shared) for item in entries], f"all_{key}": shared}
    return {key: entries}


def _of_tool(result: Record) -> Record:
    """Return the result of a tool without what its summary repeats, and without outputs if it has none.

    The summary consists of the status, a reason if it is not ``ok``, and the outputs in words.
    """
    outputs, summary = result["outputs"], str(result["summary"])
    if result["status"] == "ok" or not isinstance(outputs, Mapping):
        return {key: value for key, value in result.items() if key != "summary"}
    ends = [place for name in outputs if (place := summary.find(f" ({name}: ")) >= 0]
    reason = summary[: min(ends, default=len(summary))].removeprefix(str(result["status"])).removeprefix(": ")
    has_outputs = any(not _is_empty(value) for value in outputs.values())
    return {**result, "summary": reason, "outputs": dict(outputs) if has_outputs else {}}


def _outputs(outputs: Record, known: Set[_Span]) -> Record:
    """Return the outputs of a tool under their declared names; one that is null stays, since that is its answer."""
    if isinstance(outputs.get("evidence"), list):
        outputs = _with_needed_evidence(outputs, known)
        outputs["evidence"] = outputs["evidence"][:_OF_A_TOOL]
    shown: Record = {}
    for name, value in outputs.items():
        shown |= {name: value} if isinstance(value, str) else _field(name, value, known)
    return {name: value for name, value in shown.items() if name != "evidence" or not _is_empty(value)}


def _grouped(unsure: Mapping[str, Any]) -> Record:
    """Return what is in doubt of each output, outputs with the same doubt under one key."""
    doubts: dict[str, tuple[list[str], Any]] = {}
    for name, doubt in unsure.items():
        says_why = isinstance(doubt, Mapping) and doubt.get("why") == "lacks" and doubt.get("lacks")
        short = _without(doubt, ["why"]) if says_why else doubt
        doubts.setdefault(repr(short), ([], short))[0].append(name)
    return {", ".join(names): _value(doubt, frozenset()) for names, doubt in doubts.values()}


def _with_needed_evidence(record: Record, known: Set[_Span]) -> Record:
    """Return a record with evidence at the hits that it belongs to, and without that for intervals that are stated.

    Searches return a piece for each hit, in the same order.
    """
    evidence: list[Any] = record["evidence"]
    pieces = [piece for piece in evidence if isinstance(piece, Mapping)]
    hits = next(
        (key for key, value in record.items() if isinstance(value, list) and value and all(map(_is_hit, value))), None
    )
    if hits is not None and len(record[hits]) == len(evidence) == len(pieces):
        placed = [{**hit, "evidence": [piece]} for hit, piece in zip(record[hits], pieces, strict=True)]
        return {**record, hits: placed, "evidence": []}
    stated = known | {_key(span.start, span.end) for span in spans_in({**record, "evidence": []})}
    caption = str(record.get("caption", ""))

    def is_needed(piece: Any) -> bool:
        span = _span_of(piece) if isinstance(piece, Mapping) else None
        if span is None:
            return True
        return (
            span not in stated
            and piece["source"] != "metadata"
            and span_text(*(round(end, 1) for end in span)) not in caption
        )

    return {**record, "evidence": list(filter(is_needed, evidence))}


def _with_one_time(record: Record, *, last: bool) -> Record:
    """Return a record whose start and end are one text, its ``time``, first or ``last``, without values that follow from it."""
    for pair in _PAIRS:
        interval = _interval(record, *pair)
        if interval is not None:
            derived = _DERIVED if last else _DERIVED | {"scene_id"}
            others = {key: value for key, value in record.items() if key not in pair and key not in derived}
            time = {"first_to_last" if record.get("appearances", 1) != 1 else "time": span_text(*interval)}
            return others | time if last else time | others
    return record


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _interval(record: Mapping[str, Any], start: str, end: str) -> _Span | None:
    first, last = record.get(start), record.get(end)
    return (float(first), float(last)) if is_finite_number(first) and is_finite_number(last) else None


def _span_of(piece: Mapping[str, Any]) -> _Span | None:
    interval = _interval(piece, "start_time", "end_time")
    return None if interval is None else _key(*interval)


def _piece(piece: Mapping[str, Any]) -> str:
    """Return a piece of evidence as text: ``"53-74.5 tracker 0.9"``; a confidence of 1 is not stated."""
    interval = _interval(piece, "start_time", "end_time")
    sure = piece.get("confidence")
    parts = [span_text(*interval) if interval else "", str(piece["source"]), "" if sure in (None, 1) else f"{sure:g}"]
    return " ".join(filter(None, parts))


def _is_hit(item: Any) -> bool:
    return isinstance(item, Mapping) and {"snippet", "source", "start_time", "end_time"} <= item.keys()


def _with_words_once(result: Record) -> Record:
    """Return the result of a search without words of hits that its moments give with closer times."""
    given = {str(moment.get("text")) for moment in result["moments"] if isinstance(moment, Mapping)}
    shown = dict(result)
    for key, hits in result.items():
        if isinstance(hits, list) and hits and all(map(_is_hit, hits)):
            shown[key] = [
                hit if str(hit["snippet"]) not in given
                else {**hit, "snippet": "", "evidence": [], "matching_lines": [
                    line for line in hit.get("matching_lines") or () if str(line.get("text")) not in given
                ]}
                for hit in hits
            ]  # fmt: skip
    return shown


def _known_words(line: Record) -> Record:
    """Return a line or a moment with its words under how they are known."""
    text, source = line["text"], str(line["source"])
    shown: Record = {}
    for key, value in line.items():
        shown |= {_KNOWN_AS.get(source, source): text} if key == "text" else {} if key == "source" else {key: value}
    return shown


def _hit(hit: Record, interval: _Span | None) -> Record:
    """Return a hit with its words once, under how they are known; each after its own time if that is closer."""
    lines = [line for line in hit.pop("matching_lines", None) or () if isinstance(line, Mapping)]
    snippet, source, pieces = str(hit.pop("snippet") or ""), str(hit.pop("source")), hit.pop("evidence", None) or []
    for key in ("score", "segment_id"):
        hit.pop(key, None)
    if "content" in hit:  # of a memory; its snippet is a part of it
        return hit
    said = [(str(line.get("source")), str(line.get("text")), _span_of(line)) for line in lines]
    if snippet and all(text != snippet for _, text, _ in said):
        said.insert(0, (source, snippet, _span_of(pieces[0]) if len(pieces) == 1 else None))
    elif not said and pieces and _span_of(pieces[0]) not in (None, interval):
        hit["evidence"] = pieces
    words: dict[str, list[str]] = {}
    for how, text, own in said:
        is_closer = own is not None and (interval is None or own != _key(*interval))
        words.setdefault(_KNOWN_AS.get(how, how), []).append(
            f"{span_text(*own)} {text}" if is_closer and own is not None else text
        )
    lacks = {"lacks": hit.pop("lacks")} if "lacks" in hit else {}
    return hit | {key: texts[0] if len(texts) == 1 else texts for key, texts in words.items()} | lacks


def _without_repetitions(record: Record) -> Record:
    """Return a record without values that are usual, or that follow from other values of it."""
    left = dict(record)
    for fields, usual in _USUAL:
        if fields <= record.keys():
            left = {key: value for key, value in left.items() if key not in usual or usual[key] != value}
    for key, follows in _FOLLOWS.items():
        if key in left and follows(left):
            del left[key]
    return left


def _is_in_looks(record: Record) -> bool:
    looks, category = record.get("hint") or record.get("entity_hint") or record.get("looks"), record["category"]
    return isinstance(looks, str) and isinstance(category, str) and category.replace("_", " ") in looks


def _is_in_path(side: str) -> Callable[[Record], bool]:
    return lambda record: isinstance(record.get("path_repr"), str) and str(record[side]) in record["path_repr"]


#: Fields, and when they follow from the others of their record.
_FOLLOWS: Mapping[str, Callable[[Record], bool]] = {
    "category": _is_in_looks,
    "enters_from": _is_in_path("enters_from"),
    "leaves_to": _is_in_path("leaves_to"),
    "time_range": lambda record: {"memory_id", "content"} <= record.keys(),
    "scene_ids": lambda record: record["scene_ids"] == [record.get("scene_id")],
    "unused_words": lambda record: record["unused_words"] == record.get("unmatched", []),
    "matched": lambda record: isinstance(record["matched"], list) and not record.get("unmatched"),
    "unmatched": lambda record: record["unmatched"] == record.get("not_judged"),
}


def _look_alike(item: Any) -> Any:
    """Return an entity that another may be, with the number that says how alike they look (1: the same look)."""
    if isinstance(item, Mapping) and item.keys() == {"entity_id", "score"}:
        return f"{item['entity_id']} {item['score']:g}"
    return item


def _shared(items: Sequence[Any]) -> Record:
    """Return the texts and numbers that all entries of a list of at least three records have."""
    if len(items) < _LEAST_SHARED or not all(isinstance(item, Mapping) for item in items):
        return {}
    common = {key for key, value in items[0].items() if isinstance(value, str | int | float)}
    return {
        key: items[0][key] for key in items[0] if key in common and all(one.get(key) == items[0][key] for one in items)
    }


def _without(item: Mapping[str, Any], keys: Iterable[str]) -> Record:
    return {key: value for key, value in item.items() if key not in set(keys)}

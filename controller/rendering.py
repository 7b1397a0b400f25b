"""What a model is shown of tool results: their lean form, the pages of long ones, and the summaries of old ones.

The record of an episode has whole results. Here, and nowhere before, they are made shorter for a model: each time, line and
piece of evidence is said once, a long result is shown page by page (``read_more``), and an old one is folded into a summary.
Text from the video is given to the model only as JSON inside ``data_from_video``: it may contain instructions, but it
remains inside its field.

In the lean form an interval is one text, ``"53-74.5"``, at the thing that it belongs to. A hit names its words by how they
are known, ``seen``, ``said``, ``written`` or ``caption``, after their own time if that is a closer one. Left out are

- values that are null, empty, or usual (``_USUAL``), ids of videos, and names of scenes and segments beside their time,
- centres, and moments inside an interval of at most ``_SHORT`` seconds; the frame of a piece of evidence,
- evidence for an interval that the result or the arguments of the call name, or from the file's metadata,
- scores of hits, which only order them, and whether a line has the query as it was given,
- the boxes of a path that is given in words; other boxes are in whole pixels,
- what other values of the record say, too (``_FOLLOWS``), and what the summary of a tool repeats of its outputs.

All else is kept: above all what is not known or was not found (``lacks``, ``unmatched``, ``not_judged``, ``not_found``,
``not_examined``, ``unsure``, ``status``). A record of another form than that of the operations keeps what it has, and
no name that the lean form gives replaces one that is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from controller.conversation import Prompts
from controller.messages import Problem, ToolCall, leaves, spans_in
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import CURSOR, DATA, READ_MORE, Page, ResultPages, data_line, first_page
from world_api.core.canonical import closed_object, is_finite_number
from world_api.core.faults import ErrorBody

Record = dict[str, Any]

_MAX_QUOTED = 300  #: characters
#: Pieces of evidence that are shown of an operation's result, and of a tool's.
_MOST_EVIDENCE, _OF_A_TOOL = 8, 4
_EVIDENCE = "evidence"
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
        shown, counted = _with_some_evidence(shown)
        ordered: set[str] = set()
        if len(data_line(shown)) > limit:
            shown, ordered = _by_relevance(shown)
        page = first_page(shown, limit)
        parts = {path: f"{part}, by relevance" if path in ordered else part for path, part in page.parts.items()}
        page = replace(page, parts=parts)
        for path, total in counted.items():
            holder = page.shown if path == _EVIDENCE else page.shown.get("outputs")
            if (kept := len(_listed(holder))) < total:
                page = replace(page, parts={**page.parts, path: f"{kept} of {total}"})
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


def _listed(result: Any) -> list[Any]:
    """Return the evidence of a result or of a tool's outputs; empty if it is not a list."""
    evidence = result.get(_EVIDENCE) if isinstance(result, Mapping) else None
    return evidence if isinstance(evidence, list) else []


def _with_some_evidence(shown: Record) -> tuple[Record, dict[str, int]]:
    """Return a result with the first pieces of its evidence and of that in a tool's outputs, and by path how many there are."""
    outputs = shown.get("outputs")
    most = _MOST_EVIDENCE if outputs is None else _OF_A_TOOL
    counted = {}
    if evidence := _listed(shown):
        counted[_EVIDENCE] = len(evidence)
        shown = {**shown, _EVIDENCE: evidence[:most]}
    if isinstance(outputs, Mapping) and (evidence := _listed(outputs)):
        counted[f"outputs.{_EVIDENCE}"] = len(evidence)
        shown = {**shown, "outputs": {**outputs, _EVIDENCE: evidence[:most]}}
    return shown, counted


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

_Span = tuple[float, float]

#: How the words of a source are known.
_KNOWN_AS = {"tracker": "seen", "speech": "said", "screen_text": "written", "caption": "caption"}
_PIECE = frozenset({"start_time", "end_time", "source", "frame_time"})
_OF_A_PIECE = _PIECE | {"video_id", "confidence"}
_OF_A_LINE = frozenset({"start_time", "end_time", "center_time", "text", "source", "as_given", "evidence"})
_SHORT = 0.5  #: seconds
_NOT_A_TIME, _ROUNDED = 1e9, 0.002  #: seconds
#: Records by the fields that name them, with the values that go without saying.
_USUAL: Sequence[tuple[Set[str], Mapping[str, Any]]] = (
    ({"scene_id", "brief_caption"}, {"kind": "scene", "scenes": 1}),
    ({"entity_id", "first_time", "last_time"}, {"origin": "build", "appearances": 1}),
    ({"entity_id", "looks"}, {"appearances": 1}),
    ({"text", "as_given"}, {"as_given": False}),
    ({"evidence", "hint"}, {"truncated": False}),
)
_RENAMED = {"brief_caption": "caption", "path_repr": "path", "entity_hint": "hint"}
_PAIRS = (("start_time", "end_time"), ("first_time", "last_time"))
_LEAST_SHARED = 3  #: entries of a list of which a common value is stated once


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
    if interval is not None and record.keys() == set(_PAIRS[0]) and not top:
        return span_text(*interval)
    if _is_piece(record) and not top:
        return _piece(record)
    first = next(iter(record), None)
    if {"status", "summary", "outputs"} <= record.keys():
        record = _of_tool(record)
    if isinstance(record.get("evidence"), list):
        record = _with_needed_evidence(record, known)
    if isinstance(record.get("moments"), list):
        record = _with_words_once(record)
    of_hit = _span_of(record) if _is_hit(record) else None
    record = _with_one_time(_without_repetitions(record), last=top)
    if of_hit is not None:
        record = _hit(record, of_hit)
    elif "text" in record and isinstance(record.get("source"), str) and interval is not None:
        record = _known_words(record)
    shown: Record = {}
    for key, value in record.items():
        name = _RENAMED.get(key, key)
        name = key if name in record else name
        fields = _field(name, value, known, record)
        shown |= {own: one for own, one in fields.items() if not _is_empty(one) or (top and key == first)}
    return shown


def _field(key: str, value: Any, known: Set[_Span], beside: Mapping[str, Any]) -> Record:
    """Return a field as it is shown; of a list two fields if its entries share values. ``beside``: its record."""
    if isinstance(value, Mapping) and key == "outputs":
        return {key: _outputs(dict(value), known, beside.get("unsure"))}
    if isinstance(value, Mapping) and key == "unsure":
        return {key: _grouped(value, beside.get("outputs"))}
    if not isinstance(value, list):
        return {key: _value(value, known)}
    if key in ("may_be", "joined"):
        return {key: [_look_alike(item) for item in value]}
    if (
        key == "bbox"
        and len(value) == len("xyxy")
        and all(is_finite_number(side) for side in value)
        and max(value, default=0) > 1
    ):  # no shares
        return {key: [round(side) for side in value]}
    entries = [_value(item, known) for item in value]
    common = f"all_{key}"
    if common not in beside and (shared := _shared(entries)):
        return {key: [_without(item, shared) for item in entries], common: shared}
    return {key: entries}


def _of_tool(result: Record) -> Record:
    """Return the result of a tool without what its summary repeats, and without outputs if it has none.

    The summary consists of the status, a reason if it is not ``ok``, and the outputs in words.
    """
    outputs, summary = result["outputs"], result["summary"]
    if not isinstance(outputs, Mapping) or not isinstance(summary, str):
        return result
    judged = result.get("judged")
    if isinstance(judged, Mapping):
        result = {**result, "judged": _without(judged, ["matched", *_repeated(judged, summary)])}
    if result["status"] == "ok":
        return _without(result, ["summary"])
    named = next((name for name, value in outputs.items() if name != "evidence" and not _is_empty(value)), None)
    begin = summary.find(f" ({named}: ") if named is not None else -1
    reason = summary if begin < 0 else summary[:begin]
    reason = reason.removeprefix(str(result["status"])).removeprefix(": ")
    return {**result, "summary": reason, "outputs": {} if all(map(_is_empty, outputs.values())) else dict(outputs)}


def _repeated(judged: Mapping[str, Any], summary: str) -> list[str]:
    """Return the lists of words in ``judged`` that the summary of a tool names, all of them in a row."""
    words = {key: value for key, value in judged.items() if isinstance(value, list) and value}
    return [key for key, value in words.items() if f": {', '.join(map(str, value))}" in summary]


def _outputs(outputs: Record, known: Set[_Span], unsure: Any) -> Record:
    """Return the outputs of a tool under their declared names; one that is null stays, since that is its answer.

    A number that is in doubt is given as its range, if that is known: ``"1 to 6"``, ``"3 or more"``.
    """
    if isinstance(outputs.get("evidence"), list):
        outputs = _with_needed_evidence(outputs, known)
    for name, doubt in unsure.items() if isinstance(unsure, Mapping) else ():
        if isinstance(doubt, Mapping) and "range" in doubt and is_finite_number(outputs.get(name)):
            outputs = {**outputs, name: doubt["range"]}
    shown: Record = {}
    for name, value in outputs.items():
        shown |= _field(name, value, known, outputs)
    return {name: value for name, value in shown.items() if name != "evidence" or not _is_empty(value)}


def _grouped(unsure: Mapping[str, Any], outputs: Any) -> Record:
    """Return what is in doubt of each output, outputs with the same doubt under one key; ``all outputs`` if it is all of them."""
    doubts: dict[str, tuple[list[str], Any]] = {}
    for name, doubt in unsure.items():
        says_why = isinstance(doubt, Mapping) and doubt.get("why") == "lacks" and doubt.get("lacks")
        short = _without(doubt, ["range", "why"] if says_why else ["range"]) if isinstance(doubt, Mapping) else doubt
        doubts.setdefault(repr(short), ([], short))[0].append(name)
    every = {name for name, value in outputs.items() if not _is_empty(value)} if isinstance(outputs, Mapping) else set()
    is_all = len(doubts) == 1 and len(every) > 1 and every <= unsure.keys()
    return {
        "all outputs" if is_all else ", ".join(names): _value(doubt, frozenset()) for names, doubt in doubts.values()
    }


def _with_needed_evidence(record: Record, known: Set[_Span]) -> Record:
    """Return a record with evidence at the hits that it belongs to, and without that for intervals that are stated.

    Searches return a piece for each hit, in the same order.
    """
    evidence: list[Any] = record["evidence"]
    hits = next(
        (key for key, value in record.items() if isinstance(value, list) and value and all(map(_is_hit, value))), None
    )
    is_of_hits = hits is not None and len(record[hits]) == len(evidence) and all(map(_is_piece, evidence))
    if hits is not None and is_of_hits and not any(hit.get("evidence") for hit in record[hits]):
        placed = [{**hit, "evidence": [piece]} for hit, piece in zip(record[hits], evidence, strict=True)]
        return {**record, hits: placed, "evidence": []}
    stated = known | {_key(span.start, span.end) for span in spans_in({**record, "evidence": []})}
    caption = str(record.get("caption", ""))

    def is_needed(piece: Any) -> bool:
        if not _is_piece(piece):
            return True
        span = _span_of(piece)
        printed = span_text(*(round(end, 1) for end in span))
        in_caption = re.search(rf"(?<![\d.-]){re.escape(printed)}(?![\d-]|\.\d)", caption)
        return span not in stated and piece["source"] != "metadata" and in_caption is None

    return {**record, "evidence": list(filter(is_needed, evidence))}


def _with_one_time(record: Record, *, last: bool) -> Record:
    """Return a record whose start and end are one text, its ``time``, first or ``last``, without values that follow from it."""
    for pair in _PAIRS:
        interval = _interval(record, *pair)
        name = "time" if record.get("appearances", 1) == 1 else "first_to_last"
        if interval is not None and name not in record:
            others = {
                key: value
                for key, value in record.items()
                if key not in pair
                and not _is_known_with(interval, key, value)
                and (last or key != "scene_id" or not isinstance(value, str))
            }
            time = {name: span_text(*interval)}
            return others | time if last else time | others
    return record


def _is_known_with(interval: _Span, key: str, value: Any) -> bool:
    """Whether a field follows from the interval of its record: its centre, a moment in a short one, the video."""
    start, end = interval
    if key in ("timestamp", "frame_time"):
        return is_finite_number(value) and start <= value <= end <= start + _SHORT
    if key == "center_time":
        return is_finite_number(value) and abs(value - (start + end) / 2) <= _ROUNDED
    return key == "video_id" and isinstance(value, str)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _interval(record: Mapping[str, Any], start: str, end: str) -> _Span | None:
    first, last = record.get(start), record.get(end)
    if is_finite_number(first) and is_finite_number(last) and 0 <= first <= last < _NOT_A_TIME:
        return float(first), float(last)
    return None


def _span_of(piece: Mapping[str, Any]) -> _Span:
    return _key(float(piece["start_time"]), float(piece["end_time"]))


def _is_piece(record: Any) -> bool:
    """Whether a value is a piece of evidence as operations return it, with an interval and nothing else."""
    if not isinstance(record, Mapping) or not _PIECE <= record.keys() <= _OF_A_PIECE:
        return False
    sure = record.get("confidence")
    return (
        isinstance(record["source"], str)
        and isinstance(record.get("video_id", ""), str)
        and is_finite_number(record["frame_time"])
        and _interval(record, *_PAIRS[0]) is not None
        and (sure is None or is_finite_number(sure))
    )


def _piece(piece: Mapping[str, Any]) -> str:
    """Return a piece of evidence as text: ``"53-74.5 tracker 0.9"``; a confidence of 1 is not stated."""
    sure = piece.get("confidence")
    return " ".join([span_text(*_span_of(piece)), piece["source"], *([] if sure in (None, 1) else [f"{sure:.6g}"])])


def _is_hit(record: Any) -> bool:
    """Whether a value has the form of a hit of a search, so that its words can be named by how they are known."""
    if not isinstance(record, Mapping) or not {"snippet", "source"} <= record.keys():
        return False
    lines, pieces = record.get("matching_lines") or [], record.get("evidence") or []
    sources = (
        [record["source"], *(line.get("source") for line in lines if isinstance(line, Mapping))]
        if isinstance(lines, list)
        else []
    )
    return (
        _interval(record, *_PAIRS[0]) is not None
        and isinstance(record["snippet"], str)
        and isinstance(record.get("segment_id", ""), str)
        and is_finite_number(record.get("score", 0))
        and isinstance(lines, list)
        and isinstance(pieces, list)
        and all(map(_is_line, lines))
        and all(map(_is_piece, pieces))
        and all(isinstance(source, str) and _KNOWN_AS.get(source, source) not in record for source in sources)
    )


def _is_line(line: Any) -> bool:
    """Whether a value has the form of a line of a hit."""
    if not isinstance(line, Mapping) or not line.keys() <= _OF_A_LINE:
        return False
    span, pieces = _interval(line, *_PAIRS[0]), line.get("evidence") or []
    return (
        span is not None
        and isinstance(line.get("text"), str)
        and isinstance(line.get("as_given", False), bool)
        and isinstance(line.get("source"), str)
        and isinstance(pieces, list)
        and all(map(_is_piece, pieces))
        and ("center_time" not in line or _is_known_with(span, "center_time", line["center_time"]))
    )


def _with_words_once(result: Record) -> Record:
    """Return the result of a search without what its moments give with closer times: words of hits, and hits without others."""
    moments = [one for one in result["moments"] if isinstance(one, Mapping) and _interval(one, *_PAIRS[0])]
    given = {(one.get("source"), one.get("text")) for one in moments if isinstance(one.get("text"), str)}
    spans = [_span_of(one) for one in moments]

    def is_inside(piece: Mapping[str, Any]) -> bool:
        start, end = _span_of(piece)
        return any(first <= start and end <= last for first, last in spans)

    def short(hit: Record) -> Record:
        lines = [line for line in hit.get("matching_lines") or () if (line["source"], line["text"]) not in given]
        if (hit["source"], hit["snippet"]) not in given:
            return hit
        pieces = [
            piece for piece in hit.get("evidence") or () if _span_of(piece) != _span_of(hit) and not is_inside(piece)
        ]
        return {**hit, "snippet": "", "source": "", "evidence": pieces, "matching_lines": lines}

    shown = {"moments": result["moments"], **result} if moments else dict(result)
    for key, value in result.items():
        if isinstance(value, list) and value and all(map(_is_hit, value)):
            hits = [hit for hit in map(short, value) if hit["snippet"] or hit["matching_lines"] or hit["evidence"]]
            shown[key] = hits
            if not hits:
                del shown[key]
    return shown


def _known_words(line: Record) -> Record:
    """Return a line or a moment with its words under how they are known."""
    source = str(line["source"])
    name = _KNOWN_AS.get(source, source)
    if name in line:
        return line
    return {name if key == "text" else key: value for key, value in line.items() if key != "source"}


def _hit(hit: Record, own: _Span) -> Record:
    """Return a hit with its words once, under how they are known; each after its own time if that is closer than ``own``."""
    hit = dict(hit)
    lines, pieces = hit.pop("matching_lines", None) or [], hit.pop("evidence", None) or []
    snippet, source = hit.pop("snippet"), hit.pop("source")
    for key in ("score", "segment_id"):
        hit.pop(key, None)
    said = [(line["source"], line["text"], _span_of(line)) for line in lines]
    is_part = snippet and isinstance(hit.get("content"), str) and snippet.rstrip(".…") in hit["content"]  # of a memory
    if snippet and not is_part and all((how, text) != (source, snippet) for how, text, _ in said):
        said.insert(0, (source, snippet, _span_of(pieces[0]) if len(pieces) == 1 else own))
    elif not snippet and not said and source not in ("", "memory"):
        hit["source"] = source
    stated = {own, *(span for _, _, span in said)}
    pieces = [*pieces, *(piece for line in lines for piece in line.get("evidence") or ())]
    if left := [piece for piece in pieces if _span_of(piece) not in stated]:
        hit["evidence"] = left
    words: dict[str, list[str]] = {}
    for how, text, span in said:
        words.setdefault(_KNOWN_AS.get(how, how), []).append(text if span == own else f"{span_text(*span)} {text}")
    lacks = {"lacks": hit.pop("lacks")} if "lacks" in hit else {}
    return hit | {key: texts[0] if len(texts) == 1 else texts for key, texts in words.items()} | lacks


def _without_repetitions(record: Record) -> Record:
    """Return a record without values that are usual, or that follow from other values of it."""
    left = dict(record)
    for fields, usual in _USUAL:
        if fields <= record.keys():
            left = {
                key: value
                for key, value in left.items()
                if key not in usual or (type(value), value) != (type(usual[key]), usual[key])
            }
    for key, follows in _FOLLOWS.items():
        if key in left and follows(left):
            del left[key]
    return left


def _is_in_looks(record: Record) -> bool:
    looks, category = record.get("hint") or record.get("entity_hint") or record.get("looks"), record["category"]
    if not isinstance(looks, str) or not isinstance(category, str) or not category:
        return False
    return re.search(rf"(?<!\w){re.escape(category.replace('_', ' '))}(?!\w)", looks) is not None


def _is_in_path(field: str, words: str) -> Callable[[Record], bool]:
    return lambda record: isinstance(record.get("path_repr"), str) and f"{words} {record[field]}" in record["path_repr"]


def _is_own_time(record: Record) -> bool:
    return {"memory_id", "content"} <= record.keys() and record["time_range"] == {
        key: record.get(key) for key in _PAIRS[0]
    }


def _are_along_path(record: Record) -> bool:
    """Whether boxes are those of a path in words; ``detect_objects`` gives those of a moment."""
    boxes = record["boxes"] if isinstance(record["boxes"], list) else [None]
    has_path = isinstance(record.get("path_repr"), str)
    return has_path and all(isinstance(one, Mapping) and one.keys() == {"time", "bbox"} for one in boxes)


#: Fields, and when they follow from the others of their record, or, as the words of a query that can be judged, say
#: nothing about what was found.
_FOLLOWS: Mapping[str, Callable[[Record], bool]] = {
    "category": _is_in_looks,
    "enters_from": _is_in_path("enters_from", "enters from the"),
    "leaves_to": _is_in_path("leaves_to", "leaves to the"),
    "boxes": _are_along_path,
    "time_range": _is_own_time,
    "scene_ids": lambda record: record["scene_ids"] == [record.get("scene_id")],
    "unused_words": lambda record: record["unused_words"] == record.get("unmatched", []),
    "matched": lambda record: isinstance(record["matched"], list) and {"unmatched", "not_judged"} <= record.keys(),
    "unmatched": lambda record: record["unmatched"] == record.get("not_judged"),
}


def _look_alike(item: Any) -> Any:
    """Return an entity that another may be, with the number that says how alike they look (1: the same look)."""
    if not isinstance(item, Mapping) or item.keys() != {"entity_id", "score"} or not is_finite_number(item["score"]):
        return _value(item, frozenset())
    return f"{item['entity_id']} {item['score']:.6g}"


def _shared(items: Sequence[Any]) -> Record:
    """Return the texts and numbers, and what they lack, that all entries of a list of at least three records have."""
    if len(items) < _LEAST_SHARED or not all(isinstance(item, Mapping) for item in items):
        return {}

    def is_common(key: str, value: Any) -> bool:
        return all(key in one and type(one[key]) is type(value) and one[key] == value for one in items)

    return {
        key: value
        for key, value in items[0].items()
        if (isinstance(value, str | int | float) or (key == "lacks" and value)) and is_common(key, value)
    }


def _without(item: Mapping[str, Any], keys: Iterable[str]) -> Record:
    return {key: value for key, value in item.items() if key not in set(keys)}

"""What a model is shown of tool results: observations, the pages of long ones, and the summaries of old ones.

The record of an episode has whole results. Here, and nowhere before, they are made shorter for a model: a long result is
shown page by page (``read_more``), and folded into a summary once it is old. Text from the video is given to the model only
as JSON inside ``data_from_video``: it may contain instructions, but it remains inside its field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.messages import Problem, ToolCall, leaves, spans_in
from controller.prompts import Prompts
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import CURSOR, DATA, READ_MORE, Page, ResultPages, data_line, first_page
from world_api.core.canonical import closed_object
from world_api.core.faults import ErrorBody

#: Pieces of evidence that are shown of an operation's result, and of a tool's; entries have times of their own.
_MOST_EVIDENCE, _OF_A_TOOL = 8, 4
_MAX_QUOTED = 300  #: characters
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


def rendered(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model reads of a result: all of it but the cost, and of its evidence the first 8 pieces.

    A tool has evidence of its own and often as an output, too; of each the first 4 pieces are shown. Boxes of a trajectory stay in
    the record: detect_objects gives those of a moment.
    """
    whole = {key: value for key, value in result.items() if key not in _BOOK_KEEPING}
    if isinstance(parts := whole.get("trajectory"), list):
        whole["trajectory"] = [
            {key: value for key, value in part.items() if key != "boxes"} if isinstance(part, Mapping) else part
            for part in parts
        ]
    outputs = whole.get("outputs")
    if not isinstance(outputs, Mapping):
        return _with_some_evidence(whole, _MOST_EVIDENCE)
    whole["outputs"] = _with_some_evidence(outputs, _OF_A_TOOL)
    return _with_some_evidence(whole, _OF_A_TOOL)


def _with_some_evidence(record: Mapping[str, Any], most: int) -> dict[str, Any]:
    evidence = _listed(record)
    return {**record, "evidence": evidence[:most]} if evidence else dict(record)


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The result of a call, or a page of one. ``is_data``: a tool returned it; otherwise it is the loop's own text."""

    call: ToolCall
    result: dict[str, Any]
    is_data: bool
    notice: ErrorBody | None = None

    def message(self, pages: ResultPages, *, limit: int) -> dict[str, Any]:
        """Return the message that answers the call; of a result longer than ``limit`` characters it has the first page.

        ``truncated`` says then which entries this page has of how many, and the cursor of the next one. Evidence that is
        left out is only counted.
        """
        return self.page_message(first_page(rendered(self.result), limit), pages)

    def page_message(self, page: Page, pages: ResultPages) -> dict[str, Any]:
        """Return the message with one page of a result."""
        # Also for a fault of a tool: its message may quote the video, or a model that looked at it.
        body: dict[str, Any] = {DATA: page.shown} if self.is_data else dict(page.shown)
        kept, evidence = len(_listed(page.shown)), len(_listed(self.result))
        if kept < evidence:
            page = replace(page, parts={**page.parts, "evidence": f"{kept} of {evidence}"})
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

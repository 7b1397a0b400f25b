"""Write ``docs/diagnostics.md`` and ``docs/recordings.md``.

The first shows every code of the compiler with a document that has it, the finding, and the change that mends it; the second
counts the findings about recorded documents of a language model.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tool_induction import Diagnostic, compile_document
from tool_induction.check_report import codes_table, count_codes
from tool_induction.language.diagnostics import Code, Path as JsonPath, format_path
from tool_induction.reference import code

FOLDER = Path(__file__).resolve().parent
#: The recordings beside a checkout, if they are there.
RECORDINGS = FOLDER.parent.parent / "shared" / "recordings" / "induction"
Json = Any
#: places and their new values; ``...`` takes a place away
Changes = tuple[tuple[JsonPath, Json], ...]

SEARCH: Json = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 5},
    "save_as": "hits",
}
EARLIEST: Json = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "first_hit"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One code: when it is said, a document of which it is said, and how that is mended."""

    code: Code
    when: str
    example: Json  #: a document, or JSON text if the fault is in the text
    mended: Changes | str
    entities: tuple[str, ...] = ()

    @property
    def sound(self) -> Json:
        """The mended document."""
        return self.mended if isinstance(self.mended, str) else changed(self.example, self.mended)


def changed(document: Json, changes: Changes) -> Json:
    """A document with other values at some places; a place one past a list's end is added."""
    made = copy.deepcopy(document)
    for path, value in changes:
        holder = made
        for part in path[:-1]:
            holder = holder[part]
        if value is ...:
            del holder[path[-1]]
        elif isinstance(holder, list) and path[-1] == len(holder):
            holder.append(value)
        else:
            holder[path[-1]] = value
    return made


def tool(*steps: Json, **parts: Json) -> Json:
    """A small tool: a search, then the steps. ``inputs`` are added to the usual two; other keys replace."""
    whole = {
        "tool_name": "find_first_hit",
        "description": "Finds when something that is said or described comes first.",
        "inputs": {"video_id": "string", "query": "string"} | parts.pop("inputs", {}),
        "outputs": {"start_time": "Time"},
        "steps": [SEARCH, *(steps or (EARLIEST,))],
    }
    return whole | parts


_LOOK: Json = {
    "type": "call_world_api",
    "api": "detect_objects",
    "loop_over": "hits",
    "params": {"video_id": "{{video_id}}", "timestamp": "{{item.center_time}}", "category": "person"},
    "save_as": "seen",
}
_FIRST_SEEN = {"type": "aggregate", "operation": "pick_earliest", "inputs": "seen", "save_as": "first_hit"}
_SCAN: Json = {
    "type": "call_world_api",
    "api": "scan_segments",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
    "save_as": "found",
}
_FIRST_MATCH = {"type": "aggregate", "operation": "pick_earliest", "inputs": "found", "save_as": "first_hit"}
_CALL: Json = {
    "type": "call_tool",
    "tool": "find_first_hit",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
    "save_as": "found",
}
_OUTER: Json = {
    "tool_name": "find_twice",
    "description": "Finds when something comes first, by way of another tool.",
    "inputs": {"video_id": "string", "query": "string"},
    "outputs": {"start_time": "Time"},
    "steps": [_CALL],
}


def _level(number: int) -> Json:
    name = "find_first_hit" if number == 1 else f"find_{number - 1}"
    return _OUTER | {"tool_name": f"find_{number}", "steps": [_CALL | {"tool": name}]}


FAULTS: tuple[Case, ...] = (
    Case(
        code="E_JSON",
        when="The text is not JSON, a key occurs twice, a number is not finite, or the bytes are not UTF-8.",
        example='{"tool_name": "find_first_hit",}',
        mended='{"tool_name": "find_first_hit", "description": "Finds when something that is said comes first.", '
        '"inputs": {"video_id": "string", "query": "string"}, "outputs": {"start_time": "Time"}, "steps": ['
        '{"type": "call_world_api", "api": "search_segments_by_text", "params": {"video_id": "{{video_id}}", '
        '"query": "{{query}}", "top_k": 5}, "save_as": "hits"}, '
        '{"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "first_hit"}]}',
    ),
    Case(
        code="E_SHAPE",
        when="A key is missing, unknown, or holds something of another kind; a step's type does not exist.",
        example=tool({"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "output": "first_hit"}),
        mended=((("steps", 1, "output"), ...), (("steps", 1, "save_as"), "first_hit")),
    ),
    Case(
        code="E_NAME",
        when="A name is none, is a word of the language, an operation's or a controller's, or two tools share it.",
        example=tool(EARLIEST | {"save_as": "first hit"}),
        mended=((("steps", 1, "save_as"), "first_hit"),),
    ),
    Case(
        code="E_UNKNOWN_API",
        when="There is no operation of that name.",
        example=tool(_LOOK | {"api": "detect_object"}, _FIRST_SEEN),
        mended=((("steps", 1, "api"), "detect_objects"),),
    ),
    Case(
        code="E_OPERATION_OFF",
        when="The operation belongs to an optional group that is not switched on (--with GROUP).",
        example=tool(_SCAN, _FIRST_MATCH),
        mended=((("steps", 1, "api"), "search_segments_by_text"), (("steps", 1, "params", "top_k"), 5)),
    ),
    Case(
        code="E_UNKNOWN_TOOL",
        when="There is no tool of that name in the file, or the one there is has faults of its own.",
        example=[tool(), _OUTER | {"steps": [_CALL | {"tool": "find_frist_hit"}]}],
        mended=(((1, "steps", 0, "tool"), "find_first_hit"),),
    ),
    Case(
        code="E_UNKNOWN_AGGREGATE",
        when="There is no aggregate of that name.",
        example=tool(EARLIEST | {"operation": "pick_erliest"}),
        mended=((("steps", 1, "operation"), "pick_earliest"),),
    ),
    Case(
        code="E_UNKNOWN_PARAM",
        when="The operation, tool or aggregate has no parameter of that name.",
        example=tool(_LOOK | {"params": {**_LOOK["params"], "text_qery": "{{query}}"}}, _FIRST_SEEN),
        mended=((("steps", 1, "params", "text_qery"), ...), (("steps", 1, "params", "text_query"), "{{query}}")),
    ),
    Case(
        code="E_MISSING_PARAM",
        when="A parameter that has no default is not given.",
        example=tool(steps=[SEARCH | {"params": {"video_id": "{{video_id}}", "query": "{{query}}"}}, EARLIEST]),
        mended=((("steps", 0, "params", "top_k"), 5),),
    ),
    Case(
        code="E_EXPR_SYNTAX",
        when="The text between braces cannot be read as an expression, or there is text around it where none may be.",
        example=tool(EARLIEST, {"type": "require", "condition": "{{ first_hit && query }}"}),
        mended=((("steps", 2, "condition"), "{{ first_hit and query != '' }}"),),
    ),
    Case(
        code="E_EXPR_FORBIDDEN",
        when="The expression uses what Jinja has and the language has not: calls, slices, other filters, statements.",
        example=tool(steps=[SEARCH | {"params": SEARCH["params"] | {"query": "{{ query.lower() }}"}}, EARLIEST]),
        mended=((("steps", 0, "params", "query"), "{{ query | lower }}"),),
    ),
    Case(
        code="E_EXPR_SIZE",
        when="The expression has more than 512 characters, 64 parts or 12 levels, or a number is too large.",
        example=tool(EARLIEST, {"type": "require", "condition": "{{ first_hit.start_time < 9999999999999999 }}"}),
        mended=((("steps", 2, "condition"), "{{ first_hit != none and first_hit.start_time < 3600 }}"),),
    ),
    Case(
        code="E_UNDEFINED",
        when="Nothing binds the name, or it exists only inside a loop.",
        example=tool(EARLIEST | {"inputs": "hit"}),
        mended=((("steps", 1, "inputs"), "hits"),),
    ),
    Case(
        code="E_FORWARD",
        when="The name is bound, but only by a later step.",
        example=tool(
            steps=[EARLIEST, SEARCH], outputs={"start_time": {"type": "Time", "from": "{{ first_hit.start_time }}"}}
        ),
        mended=((("steps",), [SEARCH, EARLIEST]),),
    ),
    Case(
        code="E_REDEFINED",
        when="Two steps, or a step and an input, bind the same name.",
        example=tool(EARLIEST | {"save_as": "hits"}),
        mended=((("steps", 1, "save_as"), "first_hit"),),
    ),
    Case(
        code="E_ITEM_OUTSIDE_LOOP",
        when="'item' is read where there is no loop, no 'where' and no 'fields'.",
        example=tool({key: value for key, value in _LOOK.items() if key != "loop_over"}, _FIRST_SEEN),
        mended=((("steps", 1, "loop_over"), "hits"),),
    ),
    Case(
        code="E_TYPE",
        when="A value cannot be used in its place: a list for a time, a field that is not there, a constant out of range.",
        example=tool(_LOOK | {"params": {**_LOOK["params"], "timestamp": "{{ hits }}"}}, _FIRST_SEEN),
        mended=((("steps", 1, "params", "timestamp"), "{{ item.center_time }}"),),
    ),
    Case(
        code="E_OPTIONAL",
        when="The value may be null, its place may not, and what is meant then is for the writer to say; or it is always null.",
        example=tool(EARLIEST, {"type": "set", "value": "{{ first_hit.start_time + 5 }}", "save_as": "start_time"}),
        mended=(
            (
                ("steps",),
                [
                    SEARCH,
                    EARLIEST,
                    {
                        "type": "require",
                        "condition": "{{ first_hit is not none }}",
                        "status": "empty",
                        "reason": "nothing",
                    },
                    {"type": "set", "value": "{{ first_hit.start_time + 5 }}", "save_as": "start_time"},
                ],
            ),
        ),
    ),
    Case(
        code="E_SCORE",
        when="A rank score is compared with anything but another one. It only orders the hits of one search: rank by it "
        "(pick_best, top_k, sort_by), or compare the confidence.",
        example=tool(
            {"type": "filter", "inputs": "hits", "where": "{{ item.score > 0.5 }}", "save_as": "good"},
            EARLIEST | {"inputs": "good"},
        ),
        mended=((("steps", 1, "where"), "{{ item.confidence > 0.5 }}"),),
    ),
    Case(
        code="E_OUTPUT_UNBOUND",
        when="An output has no 'from', no step saves its name, and the last step's result has no such field.",
        example=tool(outputs={"start_time": "Time", "place": "string"}),
        mended=((("outputs", "place"), {"type": "string", "from": "{{ first_hit.snippet }}"}),),
    ),
    Case(
        code="E_BRANCH_MISMATCH",
        when="The two blocks of an 'if' bind different names, or the same name with types that have nothing in common.",
        example=tool(
            EARLIEST,
            {
                "type": "if",
                "condition": "{{ hits | length > 3 }}",
                "then": [{"type": "set", "value": "many", "save_as": "how"}],
            },
            outputs={"how": "string", "start_time": {"type": "Time", "from": "{{ first_hit.start_time }}"}},
        ),
        mended=((("steps", 2, "else"), [{"type": "set", "value": "few", "save_as": "how"}]),),
    ),
    Case(
        code="E_CYCLE",
        when="A tool calls itself, directly or through others.",
        example=[tool(), _OUTER | {"steps": [_CALL | {"tool": "find_twice"}]}],
        mended=(((1, "steps", 0, "tool"), "find_first_hit"),),
    ),
    Case(
        code="E_DEPTH",
        when="Tools call tools more than three deep, or loops nest more than two deep.",
        example=[tool(), _level(1), _level(2), _level(3)],
        mended=(((3, "steps", 0, "tool"), "find_1"),),
    ),
    Case(
        code="E_UNBOUNDED",
        when="Nothing says how long the list of a loop can be.",
        example=tool(_LOOK | {"loop_over": "moments"}, _FIRST_SEEN, inputs={"moments": "list<Segment>"}),
        mended=((("steps", 1, "max_items"), 20),),
    ),
    Case(
        code="E_BUDGET",
        when="At worst the tool makes more than 1000 calls.",
        example=tool(
            steps=[
                SEARCH | {"params": SEARCH["params"] | {"top_k": 50}},
                {
                    "type": "loop",
                    "loop_over": "hits",
                    "as": "hit",
                    "do": [
                        {
                            "type": "call_world_api",
                            "api": "detect_objects",
                            "loop_over": "{{ hits }}",
                            "params": {
                                "video_id": "{{video_id}}",
                                "timestamp": "{{item.center_time}}",
                                "category": "person",
                            },
                            "save_as": "found",
                        }
                    ],
                    "save_as": "seen",
                },
                _FIRST_SEEN,
            ]
        ),
        mended=((("steps", 1, "max_items"), 10),),
    ),
    Case(
        code="E_SIZE",
        when="The document, a block, a text, a number, or the list of findings is larger than the language allows.",
        example=tool(description="Finds. " * 400),
        mended=((("description",), "Finds when something that is said or described comes first."),),
    ),
    Case(
        code="E_SECRET",
        when="A text looks like a key, a token or a password. No operation needs one, and documents are kept and shown.",
        example=tool({"type": "set", "value": "Bearer 0123456789abcdef0123456789abcdef", "save_as": "key"}, EARLIEST),
        mended=((("steps", 1), {"type": "set", "value": "a caption", "save_as": "key"}),),
    ),
)


_FROM = {"type": "Time?", "from": "{{ first_hit.start_time }}"}
_COUNT = {"type": "aggregate", "operation": "count", "inputs": "{{ hits.candidates }}", "save_as": "n"}

NOTES: tuple[Case, ...] = (
    Case(
        code="W_COERCED",
        when="A value is read as another type, or null as something: what is written out says how.",
        example=tool(outputs={"start_time": _FROM, "words": {"type": "string", "from": "{{ hits.candidates }}"}}),
        mended=((("outputs", "words", "type"), "list<Segment>"),),
    ),
    Case(
        code="W_IMPLICIT_BINDING",
        when="What the document leaves open is decided: which field of a record is meant, where an output comes from, how "
        "many items a loop takes.",
        example=tool(EARLIEST | {"inputs": "{{ hits.candidates }}"}, outputs={"start_time": "Time?"}),
        mended=((("outputs", "start_time"), _FROM),),
    ),
    Case(
        code="W_IMPLICIT_REQUIRE",
        when="A value that may be missing is needed: without it the tool ends with status 'empty'.",
        example=tool(outputs={"start_time": {"type": "Time", "from": "{{ first_hit.start_time }}"}}),
        mended=((("steps", 2), {"type": "require", "condition": "{{ first_hit is not none }}", "reason": "no hit"}),),
    ),
    Case(
        code="W_REQUIRE_IN_LOOP",
        when="A 'require' in a loop asks something of an item: the first item that has it not ends the whole tool.",
        example=tool(
            {
                "type": "loop",
                "loop_over": "hits",
                "do": [
                    {"type": "require", "condition": "{{ item.start_time > 5 }}", "reason": "too early"},
                    {"type": "set", "value": "{{ item }}", "save_as": "good"},
                ],
                "save_as": "all_good",
            },
            EARLIEST | {"inputs": "all_good"},
        ),
        mended=(
            (
                ("steps", 1),
                {"type": "filter", "inputs": "hits", "where": "{{ item.start_time > 5 }}", "save_as": "all_good"},
            ),
        ),
    ),
    Case(
        code="W_ALIAS",
        when="Another spelling, which can mean one thing only, is read as that.",
        example=tool(EARLIEST | {"operation": "pick_earliest_segment"}),
        mended=((("steps", 1, "operation"), "pick_earliest"),),
    ),
    Case(
        code="W_LITERAL",
        when="A text is exactly a name, or a path from one, but has no braces: in 'params', 'fields' and 'value' it stays text.",
        example=tool(
            {"type": "project", "inputs": "hits", "fields": {"at": "item.start_time"}, "save_as": "rows"},
            outputs={"rows": "list"},
        ),
        mended=((("steps", 1, "fields", "at"), "{{ item.start_time }}"),),
    ),
    Case(
        code="W_CONSTANT_CONDITION",
        when="A condition is always or never true, for any video: a length is never below 0, a constant never changes.",
        example=tool(_COUNT, {"type": "require", "condition": "{{ n >= 0 }}", "reason": "no hit"}, EARLIEST),
        mended=((("steps", 2, "condition"), "{{ n > 0 }}"),),
    ),
    Case(
        code="W_UNUSED",
        when="An input or a saved name is never read.",
        example=tool(inputs={"mood": "string"}),
        mended=((("inputs", "mood"), ...),),
    ),
    Case(
        code="W_SHADOW",
        when="A name hides another one, or is also the name of an operation.",
        example=tool(steps=[SEARCH | {"save_as": "list_scenes"}, EARLIEST | {"inputs": "list_scenes"}]),
        mended=((("steps", 0, "save_as"), "hits"), (("steps", 1, "inputs"), "hits")),
    ),
    Case(
        code="L_CONSTANT_ENTITY",
        when="A text of the tool is, or holds, an entity of the examples it was induced from: it answers no other question. "
        "(Only where entities are given; here: 'red backpack'.)",
        example=tool(steps=[SEARCH | {"params": SEARCH["params"] | {"query": "a Red  Backpack"}}, EARLIEST]),
        mended=((("steps", 0, "params", "query"), "{{query}}"),),
        entities=("red backpack",),
    ),
    Case(
        code="L_WRAPPER",
        when="The tool makes one call and returns its result.",
        example=tool(
            steps=[SEARCH], outputs={"start_time": {"type": "Time?", "from": "{{ hits.candidates[0].start_time }}"}}
        ),
        mended=((("steps", 1), EARLIEST), (("outputs", "start_time"), _FROM)),
    ),
    Case(
        code="L_TOO_MANY_INPUTS",
        when="More than six inputs are declared.",
        example=tool(
            {
                "type": "filter",
                "inputs": "hits",
                "where": "{{ item.start_time > a + b + c + d + e }}",
                "save_as": "late",
            },
            EARLIEST | {"inputs": "late"},
            inputs={name: {"type": "Time", "default": 0} for name in "abcde"},
        ),
        mended=(
            (("inputs",), {"video_id": "string", "query": "string", "a": {"type": "Time", "default": 0}}),
            (("steps", 1, "where"), "{{ item.start_time > a }}"),
        ),
    ),
    Case(
        code="L_UNKNOWABLE_ID",
        when="An input is an id that only an earlier call can give.",
        example=tool(
            {
                "type": "call_world_api",
                "api": "get_entity_trajectory",
                "params": {"video_id": "{{video_id}}", "entity_id": "{{who}}"},
                "save_as": "path",
            },
            EARLIEST | {"inputs": ["hits", "path"], "operation": "concat_lists", "save_as": "all"},
            EARLIEST | {"inputs": "all"},
            inputs={"who": "string"},
        ),
        mended=(
            (
                ("steps", 1),
                {
                    "type": "call_world_api",
                    "api": "register_entity",
                    "loop_over": "hits",
                    "params": {
                        "video_id": "{{video_id}}",
                        "timestamp": "{{item.center_time}}",
                        "entity_hint": "{{who}}",
                    },
                    "save_as": "path",
                },
            ),
            (("steps", 2, "inputs"), ["hits", "path"]),
        ),
    ),
    Case(
        code="L_NO_EVIDENCE",
        when="No output is a time or evidence: the answer cannot be looked up.",
        example=tool(_COUNT, outputs={"n": "int"}),
        mended=((("steps", 2), EARLIEST), (("outputs", "start_time"), _FROM)),
    ),
    Case(
        code="L_DUPLICATE",
        when="The tool has the steps of another tool of the file.",
        example=[tool(), tool(tool_name="find_start")],
        mended=(((1, "steps", 1), EARLIEST | {"operation": "pick_latest", "save_as": "latest"}),),
    ),
    Case(
        code="L_DESCRIPTION",
        when="The description is too short to say what the tool is for and when not to use it.",
        example=tool(description="Finds it."),
        mended=((("description",), "Finds when something that is said or described comes first."),),
    ),
)


CASES: tuple[Case, ...] = (*FAULTS, *NOTES)


_DIAGNOSTICS_HEAD = """# Diagnostics

<!-- Generated by `make docs`: every example is compiled, and so is its mended form; do not edit. -->

What the compiler says about a document is `{code, severity, tool, json_path, message, found, expected, suggestion,
edits}`. The list of codes is closed. `E_` stops a tool; `W_` says what the compiler decided; `L_` is advice. Faults come first, and
of those the ones that do not follow from another; `json_path` starts at the root of the file and exists in it.

A suggestion that is one exact change has it as `edits`, a JSON Patch (RFC 6902) of the file: a document changed that way means what
was meant. If more than one thing can be meant, the suggestion asks, names the choices or says what to do in words.

`videoworld tools check FILE` prints them with the line of the document.
"""


def diagnostics_page() -> str:
    """The whole page."""
    rows = [f"| [{case.code}](#{case.code.lower()}) | {case.when.replace('|', chr(92) + '|')} |" for case in CASES]
    parts = [_DIAGNOSTICS_HEAD, "| code | said when |", "| --- | --- |", *rows, ""]
    for case in CASES:
        parts.extend(_case(case))
    return "\n".join(parts).rstrip() + "\n"


def _case(case: Case) -> Iterator[str]:
    said = next(
        item for item in compile_document(case.example, entities=case.entities).diagnostics if item.code == case.code
    )
    yield f"## {case.code}\n"
    yield f"{case.when}\n"
    yield f"```json\n{case.example if isinstance(case.example, str) else written(case.example)}\n```\n"
    yield f"```text\n{spoken(said)}\n```\n"
    yield "Mended:\n"
    if isinstance(case.mended, str):
        yield f"```json\n{written(json.loads(case.mended))}\n```\n"
        return
    for path, value in case.mended:
        yield f"- {code(format_path(path))} {'is taken out' if value is ... else 'becomes ' + code(_short(value))}"
    yield ""


def spoken(item: Diagnostic) -> str:
    """A finding in two lines."""
    line = f"{item.code} {item.json_path}: {item.message}"
    return f"{line}\n  -> {item.suggestion}" if item.suggestion else line


def _short(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def written(document: Json, indent: int = 0) -> str:
    """JSON with one step, input or output a line."""
    pad = " " * indent
    if isinstance(document, dict) and "steps" in document:
        lines = []
        for key, value in document.items():
            shown = _lines(value, indent + 1) if key == "steps" or _is_long(value) else _short(value)
            lines.append(f'{pad} "{key}": {shown}')
        return "{\n" + ",\n".join(lines) + f"\n{pad}}}"
    if isinstance(document, list):
        return "[\n" + ",\n".join(f"{pad} {written(item, indent + 1)}" for item in document) + f"\n{pad}]"
    return _short(document)


def _is_long(value: Json) -> bool:
    return isinstance(value, dict) and len(_short(value)) > 80


def _lines(value: Json, indent: int) -> str:
    pad = " " * indent
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{pad} {_short(key)}: {_short(item)}" for key, item in value.items()) + f"\n{pad}}}"
    return "[\n" + ",\n".join(f"{pad} {_short(item)}" for item in value) + f"\n{pad}]"


_RECORDINGS_HEAD = """# Recorded documents

<!-- Generated by `make docs` where the recordings are there (../shared/recordings/induction); do not edit. -->

Six files of tool documents as a language model wrote them in one go for three domains: `minimal` with the seed form only,
`full` with an earlier wording of the language. They are input for the compiler, faults included; nothing in them was edited.

**These numbers measure nothing about an induction.** The writer had seen more than a prompt would show, and the compiler's
suggestions know these files: a share of sound tools computed from them would say nothing about any other document, so none is given.
The table says what the compiler has to say, code by code, as `videoworld tools check --summary FILE...` prints it.
"""


def recordings_page(folder: Path) -> str:
    """Return the page about the recordings in a folder."""
    files = {path.stem: compile_document(path.read_bytes()) for path in sorted(folder.glob("*.json"))}
    return f"{_RECORDINGS_HEAD}\n{codes_table(count_codes(files))}\n"


def pages() -> dict[str, str]:
    """Return the pages by file name; the one about recordings only if those are there."""
    made = {"diagnostics.md": diagnostics_page()}
    return made | ({"recordings.md": recordings_page(RECORDINGS)} if RECORDINGS.is_dir() else {})


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")

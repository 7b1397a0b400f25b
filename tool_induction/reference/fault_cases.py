"""An example for each code that stops a tool."""

from __future__ import annotations

from tool_induction.reference.cases import EARLIEST, SEARCH, Case, Json, tool

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
        when="The text is not JSON, a key stands twice, a number is not finite, or the bytes are not UTF-8.",
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
        when="What stands between braces cannot be read as an expression, or text stands around it where none may.",
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
        when="A value cannot stand where it stands: a list for a time, a field that is not there, a constant out of range.",
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

"""An example for each warning (what the compiler decided) and each piece of advice."""

from __future__ import annotations

from tool_induction.reference.cases import EARLIEST, SEARCH, Case, tool

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
        when="A value that may be missing is needed where it stands: without it the tool ends with status 'empty'.",
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
        when="A condition is always true, or never, whatever the video holds: a length is never below 0, a constant never changes.",
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
        when="A name hides another one, differs from one by capitals only, or is also the name of an operation.",
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
        when="The tool makes one call and hands on what comes of it.",
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
        when="No output is a time or evidence: nobody can look the answer up.",
        example=tool(_COUNT, outputs={"n": "int"}),
        mended=((("steps", 2), EARLIEST), (("outputs", "start_time"), _FROM)),
    ),
    Case(
        code="L_DUPLICATE",
        when="The tool does what an operation does, or has the steps of another tool of the file.",
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

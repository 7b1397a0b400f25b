"""What is only possible, or was not judged, is told beside the outputs and never passes for sure."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from tests.support.scripted_judge import ScriptedJudge
from tool_induction import compile_document, run_tool
from tool_induction.compiler import result_schema
from tool_induction.judge import Judge
from tool_induction.runtime import Memo

WORD = "tall"
Json = dict[str, Any]


def thing(start: float, *, label: str = "a", confidence: float | None = 0.8, length: float = 2, **more: Any) -> Json:
    """A detection; ``lacks`` makes it a possible one."""
    end = start + length
    times = {"start_time": start, "end_time": end, "center_time": start + length / 2, "timestamp": start}
    looks = {"bbox": [0, 0, 9, 9], "category": "person", "entity_hint": label, "entity_id": label}
    return times | looks | {"confidence": confidence, "lacks": []} | more


def possible(item: Json) -> Json:
    return item | {"lacks": [WORD]}


class FakeWorld:
    """Gives things by category; notes what else its answers should say of them."""

    def __init__(self, **things: list[Json]) -> None:
        self.things, self.said = things, {name: {} for name in things}

    def __call__(self, name: str, arguments: Json) -> Json:
        if name == "describe_segment":
            start = arguments["start_time"]
            return {
                "caption": f"at {start}",
                "start_time": start,
                "end_time": start + 1,
                "center_time": start,
                "evidence": [],
            }
        category = arguments["category"]
        evidence = [
            {"video_id": "v", "source": "detector", "confidence": None, "frame_time": item["start_time"]}
            | {key: item[key] for key in ("start_time", "end_time")}
            for item in self.things[category]
        ]
        return {"detections": self.things[category], "evidence": evidence, **self.said[category]}


def look(category: str, name: str) -> Json:
    asked = {"video_id": "{{ video_id }}", "timestamp": 0, "category": category}
    return {"type": "call_world_api", "api": "detect_objects", "params": asked, "save_as": name}


def aggregate(operation: str, inputs: Any, name: str, **params: Any) -> Json:
    return {"type": "aggregate", "operation": operation, "inputs": inputs, "params": params, "save_as": name}


def tool(steps: list[Json], name: str = "tell_things", **outputs: Any) -> Json:
    """A tool that looks for things of the kinds a and b, does some steps, and gives outputs: name=(type, from)."""
    return {
        "tool_name": name,
        "description": "Tells of things of two kinds. Use for tests. Not for users.",
        "inputs": {"video_id": "string"},
        "outputs": {key: {"type": type_, "from": source} for key, (type_, source) in outputs.items()},
        "steps": [look("a", "a"), look("b", "b"), *steps],
    }


def told(world: FakeWorld, *documents: Json, judge: Judge | None = None) -> Json:
    compiled = compile_document([*documents], allow_judge=judge is not None).require()
    name = documents[-1]["tool_name"]
    result = run_tool(compiled, name, {"video_id": "v"}, call=world, memo=Memo(), judge=judge)
    Draft202012Validator(result_schema(compiled[name].tool)).validate(result)
    return result


ONE_OF_EACH = [thing(1), possible(thing(5)), thing(9)]


def test_a_count_is_the_sure_number_and_what_is_possible_stands_beside() -> None:
    document = tool([aggregate("count", "a", "n")], n=("int", "{{ n }}"))
    result = told(FakeWorld(a=ONE_OF_EACH, b=[]), document)
    assert (result["status"], result["outputs"]) == ("partial", {"n": 2})
    assert result["unsure"] == {"n": {"range": "2 to 3", "possible": 1, "lacks": [WORD], "why": "lacks"}}
    assert "n: 2 to 3" in result["summary"]


def test_seconds_and_sums_are_the_sure_ones() -> None:
    steps = [aggregate("total_duration", "a", "seconds"), aggregate("sum", "a", "sum", key="confidence")]
    document = tool(steps, seconds=("float", "{{ seconds }}"), sum=("float", "{{ sum }}"))
    result = told(FakeWorld(a=ONE_OF_EACH, b=[]), document)
    assert result["outputs"] == {"seconds": 4.0, "sum": 1.6}
    assert {name: beside["possible"] for name, beside in result["unsure"].items()} == {"seconds": 2.0, "sum": 0.8}


def test_a_difference_of_counts_is_at_least_none() -> None:
    steps = [aggregate("count", "a", "n"), aggregate("count", "b", "m")]
    document = tool(steps, left=("int", "{{ n - m }}"), over=("bool", "{{ n - m > -3 }}"))
    world = FakeWorld(a=[possible(thing(1)), possible(thing(5)), possible(thing(9))], b=[possible(thing(3)), thing(4)])
    result = told(world, document)
    assert (result["outputs"], [*result["unsure"]]) == ({"left": 0, "over": True}, ["left"])


def test_a_sure_item_leads_and_a_possible_one_that_is_earlier_stands_beside_it() -> None:
    steps = [aggregate("pick_earliest", "a", "first"), aggregate("pick_latest", "a", "last")]
    document = tool(steps, first=("Time?", "{{ first.start_time }}"), last=("Time?", "{{ last.start_time }}"))
    result = told(FakeWorld(a=[possible(thing(1)), thing(5)], b=[]), document)
    assert (result["outputs"], [*result["unsure"]]) == ({"first": 5, "last": 5}, ["first"])
    assert result["unsure"]["first"] == {"alternative": 1, "lacks": [WORD], "why": "lacks"}
    assert "first: 5 s (possibly 1 s)" in result["summary"]
    only = told(FakeWorld(a=[possible(thing(1)), possible(thing(5))], b=[]), document)
    assert (only["outputs"], "alternative" in only["unsure"]["first"]) == ({"first": 1, "last": 5}, False)
    sure = told(FakeWorld(a=ONE_OF_EACH, b=[]), document)
    assert (sure["status"], sure["outputs"], sure.get("unsure")) == ("ok", {"first": 1, "last": 9}, None)


@pytest.mark.parametrize(
    ("things", "status", "times"),
    [
        ([thing(1), possible(thing(5))], "ok", [1]),  # the sure one stands for both
        ([possible(thing(1)), thing(5)], "partial", [1]),
        ([thing(1), possible(thing(5, label="b")), possible(thing(7, label="b", confidence=0.1))], "partial", [1, 5]),
    ],
)
def test_leaving_out_what_a_sure_item_stands_for_misses_nothing(
    things: list[Json], status: str, times: list[float]
) -> None:
    steps = [aggregate("dedupe_by", "a", "once", key="entity_id"), aggregate("first", "once", "first")]
    document = tool(steps, first=("Time?", "{{ first.start_time }}"), once=("list<Detection>", "{{ once }}"))
    result = told(FakeWorld(a=things, b=[]), document)
    assert (result["status"], [item["start_time"] for item in result["outputs"]["once"]]) == (status, times)
    assert ("first" in result.get("unsure", {})) is bool(things[0]["lacks"] or status == "partial")


def test_a_truth_value_of_a_candidate_is_as_it_has_it_and_one_about_it_is_not_yes() -> None:
    known = {"type": "project", "inputs": "a", "fields": {"is_known": True}, "save_as": "known"}
    steps = [known, aggregate("pick_earliest", "known", "first")]
    outputs = {"is_known": "{{ first.is_known }}", "is_early": "{{ (first.start_time | default(9)) < 2 }}"}
    document = tool(steps, **{name: ("bool?", source) for name, source in outputs.items()})
    result = told(FakeWorld(a=[possible(thing(1)), thing(5)], b=[]), document)
    assert (result["outputs"], [*result["unsure"]]) == ({"is_known": True, "is_early": None}, [*outputs])


@pytest.mark.parametrize(
    ("things", "flags", "unsure"),
    [
        ([thing(1), possible(thing(5))], {"any": True, "all": True}, []),
        ([possible(thing(5))], {"any": False, "all": True}, ["any"]),
        ([possible(thing(5, confidence=0.1))], {"any": False, "all": False}, ["all"]),
        ([thing(1), thing(5, confidence=0.1)], {"any": True, "all": False}, []),
        ([], {"any": False, "all": True}, []),
    ],
)
def test_yes_and_no_are_told_only_where_nothing_possible_could_change_them(
    things: list[Json], flags: Json, unsure: list[str]
) -> None:
    steps = [aggregate(name, "a", f"is_{name}", where="{{ item.confidence > 0.5 }}") for name in ("any", "all")]
    outputs = {name: ("bool", f"{{{{ is_{name} }}}}") for name in ("any", "all")}
    result = told(FakeWorld(a=things, b=[]), tool(steps, **outputs))
    assert (result["outputs"], [*result.get("unsure", {})]) == (flags, unsure)
    optional = {name: ("bool?", source) for name, (_, source) in outputs.items()}
    result = told(FakeWorld(a=things, b=[]), tool(steps, **optional))
    assert result["outputs"] == {name: None if name in unsure else flag for name, flag in flags.items()}


def test_a_length_that_no_possible_item_takes_over_a_bound_is_sure() -> None:
    document = tool(
        [], some=("bool", "{{ (a.detections | length) > 0 }}"), many=("bool", "{{ (a.detections | length) > 2 }}")
    )
    result = told(FakeWorld(a=ONE_OF_EACH, b=[]), document)
    assert (result["outputs"], [*result["unsure"]]) == ({"some": True, "many": False}, ["many"])


def test_what_a_requirement_would_have_stopped_keeps_its_candidates() -> None:
    steps = [
        aggregate("count", "a", "n"),
        {"type": "require", "condition": "{{ n > 0 }}", "status": "empty", "reason": "nobody"},
        aggregate("pick_earliest", "a", "first"),
    ]
    document = tool(steps, n=("int", "{{ n }}"), first=("Time?", "{{ first.start_time }}"))
    result = told(FakeWorld(a=[possible(thing(5))], b=[]), document)
    assert (result["status"], result["outputs"], [*result["unsure"]]) == (
        "partial",
        {"n": 0, "first": 5},
        ["n", "first"],
    )


def test_a_tool_that_leaves_out_what_lacks_a_word_does_not_say_that_it_is_absent() -> None:
    shown = {"type": "filter", "inputs": "a", "where": "{{ (item.lacks | length) == 0 }}", "save_as": "shown"}
    steps = [shown, aggregate("count", "shown", "n"), aggregate("any", "shown", "is_there")]
    document = tool(steps, n=("int", "{{ n }}"), is_there=("bool", "{{ is_there }}"))
    result = told(FakeWorld(a=[possible(thing(5))], b=[]), document)
    assert (result["status"], result["outputs"]) == ("partial", {"n": 0, "is_there": False})
    why = {"lacks": [WORD], "why": "lacks"}
    assert result["unsure"] == {"n": {"range": "0 or more", **why}, "is_there": why}
    stop = {"type": "require", "condition": "{{ (a.not_judged | length) == 0 }}", "status": "empty", "reason": "none"}
    world = FakeWorld(a=[], b=[])
    world.said["a"] = {"unmatched": ["zebra"], "not_judged": ["zebra"]}
    assert told(world, tool([stop], n=("int", "{{ a.detections | length }}")))["status"] == "partial"


def test_words_that_nobody_judged_make_an_empty_list_unsure() -> None:
    world = FakeWorld(a=[], b=[thing(3)])
    world.said["a"] = {"unmatched": ["zebra"], "not_judged": ["zebra"]}
    steps = [aggregate("any", "a", "is_there"), aggregate("count", "b", "others")]
    result = told(world, tool(steps, is_there=("bool", "{{ is_there }}"), others=("int", "{{ others }}")))
    assert (result["status"], result["outputs"]) == ("partial", {"is_there": False, "others": 1})
    assert result["unsure"] == {"is_there": {"lacks": ["zebra"], "why": "not_judged"}}


def test_stretches_that_nobody_examined_make_a_count_unsure() -> None:
    world = FakeWorld(a=[], b=[])
    world.said["a"] = {"not_examined": [{"start_time": 0, "end_time": 9}]}
    result = told(world, tool([aggregate("count", "a", "n")], n=("int", "{{ n }}")))
    assert (result["status"], result["unsure"]) == ("partial", {"n": {"range": "0 or more", "why": "not_examined"}})


def test_a_caller_keeps_the_doubt_of_each_output_of_the_tool_it_calls() -> None:
    inner = tool(
        [aggregate("count", "a", "n"), aggregate("count", "b", "m")], n=("int", "{{ n }}"), m=("int", "{{ m }}")
    )
    call = {"type": "call_tool", "tool": "tell_things", "params": {"video_id": "{{ video_id }}"}, "save_as": "inner"}
    sides = {"n": ("int", "{{ inner.n }}"), "m": ("int", "{{ inner.m }}"), "many": ("bool", "{{ inner.n > 2 }}")}
    asked = tool([], "tell_whether", more=("bool", "{{ n > 2 }}"), same=("string", "{{ video_id }}"))
    asked["inputs"]["n"] = "int"
    whether = call | {"tool": "tell_whether", "params": {"video_id": "v", "n": "{{ inner.n }}"}, "save_as": "whether"}
    sides |= {"more": ("bool", "{{ whether.more }}"), "same": ("string", "{{ whether.same }}")}
    outer = tool([call, whether], "tell_more", **sides)
    result = told(FakeWorld(a=ONE_OF_EACH, b=[thing(1)]), inner, asked, outer)
    assert result["outputs"] == {"n": 2, "m": 1, "many": False, "more": False, "same": "v"}
    assert [*result["unsure"]] == ["n", "many", "more"]


def test_what_is_made_in_a_loop_from_a_possible_item_is_possible() -> None:
    times = {"start_time": "{{ item.start_time }}", "end_time": "{{ item.end_time }}"}
    told_of = {"video_id": "{{ video_id }}", **times}
    steps = [
        {"type": "call_world_api", "api": "describe_segment", "loop_over": "a", "params": told_of, "save_as": "rows"},
        {"type": "project", "inputs": "rows", "fields": {"text": "{{ item.caption }}"}, "save_as": "texts"},
        aggregate("count", "texts", "n"),
    ]
    result = told(
        FakeWorld(a=ONE_OF_EACH, b=[]), tool(steps, n=("int", "{{ n }}"), texts=("list<record>", "{{ texts }}"))
    )
    assert result["outputs"]["n"] == 2
    assert [row.get("lacks") for row in result["outputs"]["texts"]] == [None, [WORD], None]


def test_an_operation_that_judges_the_word_itself_settles_a_possible_item() -> None:
    asked = {"video_id": "{{ video_id }}", "timestamp": "{{ item.center_time }}", "category": "b"}
    seen = {"type": "call_world_api", "api": "detect_objects", "loop_over": "a", "params": asked, "save_as": "seen"}
    document = tool([seen, aggregate("count", "seen", "n")], n=("int", "{{ n }}"))
    world = FakeWorld(a=[possible(thing(5))], b=[thing(5)])
    assert told(world, document)["outputs"]["n"] == 0
    world.said["b"] = {"matched": [WORD]}
    assert (told(world, document)["status"], told(world, document)["outputs"]) == ("ok", {"n": 1})


def test_an_answer_to_a_question_in_doubt_is_in_doubt() -> None:
    asked = {"type": "judge", "inputs": "b", "answers": ["yes", "no"], "save_as": "rows"}
    yes = {"type": "filter", "inputs": "rows", "where": "{{ item.answer == 'yes' }}", "save_as": "kept"}
    world = FakeWorld(a=[possible(thing(5))], b=[thing(1), possible(thing(3))])
    for question, sure in (("Is it one of two?", 1), ("Is it one of {{ a.detections | length }}?", 0)):
        document = tool([asked | {"question": question}, yes], n=("int", "{{ kept | length }}"))
        result = told(world, document, judge=ScriptedJudge(["yes", "yes"]))
        assert (result["status"], result["outputs"]["n"], result["unsure"]["n"]["possible"]) == (
            "partial",
            sure,
            2 - sure,
        )


def test_a_possible_item_that_ends_the_tool_leaves_it_partial() -> None:
    stop = {"type": "require", "condition": "{{ 2 < 1 or video_id == '' }}", "status": "empty", "reason": "nobody"}
    loop = {
        "type": "loop",
        "loop_over": "a",
        "do": [{"type": "set", "value": "{{ item.start_time }}", "save_as": "x"}, stop],
        "save_as": "times",
    }
    result = told(FakeWorld(a=[possible(thing(5))], b=[]), tool([loop], n=("int", "{{ times | length }}")))
    assert (result["status"], result["unsure"]["n"]["lacks"]) == ("partial", [WORD])


def test_a_possible_item_that_ends_a_loop_leaves_others_out() -> None:
    body = {"type": "set", "value": {"start_time": "{{ item.start_time }}"}, "save_as": "x"}
    loop = {"type": "loop", "loop_over": "a", "until": "{{ item.start_time > 3 }}", "do": [body], "save_as": "looked"}
    document = tool([loop], few=("bool", "{{ (looked | length) < 2 }}"))
    result = told(FakeWorld(a=[possible(thing(4)), thing(1), thing(2)], b=[]), document)
    assert (result["status"], result["outputs"]) == ("partial", {"few": False})
    assert told(FakeWorld(a=[thing(4), possible(thing(1))], b=[]), document)["status"] == "ok"


def rows(operation: str, inputs: Any = "{0}", **params: Any) -> Json:
    return aggregate(operation, inputs, "", **params)


def loop(inner: Json, *more: Json, **keys: Any) -> Json:
    return {"type": "loop", "loop_over": "{0}", "do": [inner | {"save_as": "x"}, *more], "save_as": ""} | keys


NEAR = {"start_time": 2, "end_time": 6}
TIMES = {"start_time": "{{ item.start_time }}", "end_time": "{{ item.end_time }}"}
SIDES = {"a": "{0}", "b": "{1}"}
LATER = {"start_time": "{{ item.start_time + ({1} | length) }}", "end_time": "{{ item.end_time + 9 }}"}
DESCRIBED = {"type": "call_world_api", "api": "describe_segment", "params": {"video_id": "v", **TIMES}}
#: steps from a list of things to a list of things; {0} is the list, {1} another
LISTS = [
    rows("sort_by", key="start_time", descending=True),
    rows("sort_by", key="confidence"),
    rows("top_k", k=2),
    rows("top_k", k=1, key="confidence"),
    rows("filter_by_score", min_score=0.5),
    rows("filter_in_interval", interval=NEAR),
    rows("clamp", interval=NEAR),
    rows("dedupe_by", key="entity_hint"),
    rows("dedupe_overlaps", iou=0.3),
    rows("merge_intervals", gap=1),
    rows("concat_lists", ["{0}", "{1}"]),
    rows("intersect_by", SIDES, key="start_time"),
    rows("difference_by", SIDES, key="start_time"),
    *(
        {"type": "filter", "inputs": "{0}", "where": f"{{{{ {where} }}}}", "save_as": ""}
        for where in ("item.start_time > 2", "item.start_time > ({1} | length)", "(item.lacks | length) == 0")
    ),
    {"type": "project", "inputs": "{0}", "fields": LATER, "save_as": ""},
    DESCRIBED | {"loop_over": "{0}", "save_as": ""},
    loop({"type": "set", "value": TIMES}, until="{{ item.start_time > 3 }}"),
    loop(aggregate("first", ["{{ item }}"], "x"), max_items=2),
    loop({"type": "set", "value": TIMES}, {"type": "require", "condition": "{{ item.start_time < 6 }}"}),
]


End = tuple[list[Json], str, str]


def value(operation: str, type_: str, source: str = "{{ out }}", *, inputs: Any = "{0}", **params: Any) -> End:
    return [aggregate(operation, inputs, "out", **params)], type_, source


def counted(step: Json) -> End:
    return [step | {"save_as": "x"}, aggregate("count", "x", "out")], "int", "{{ out }}"


#: outputs of a list {0}; each as (steps, type, from)
ENDS: list[End] = [
    value("count", "int"),
    value("count_distinct", "int", key="start_time"),
    value("total_duration", "float"),
    value("sum", "float", key="start_time"),
    *(value(name, "float?", key="start_time") for name in ("avg", "min", "max", "mode")),
    value("concat_text", "string", key="start_time"),
    value("any", "bool", where="{{ item.start_time > 4 }}"),
    value("all", "bool", where="{{ item.start_time > 4 }}"),
    value("any", "bool", "{{ not out }}"),
    *(
        value(name, "Time?", "{{ out.start_time }}")
        for name in ("pick_earliest", "pick_latest", "pick_longest", "pick_best", "first")
    ),
    value("nth", "Time?", "{{ out.start_time }}", n=1),
    value("next_after", "Time?", "{{ out.start_time }}", time=3),
    value("previous_before", "Time?", "{{ out.start_time }}", time=5),
    value("ordered_pair", "Time?", "{{ out.b.start_time }}", inputs=SIDES),
    counted(rows("join_nearest_in_time", SIDES)),
    counted(rows("group_by", key="start_time")),
    value("count", "int", "{{ 9 - out }}"),
    value("count", "bool", "{{ out < 3 }}"),
    value("count", "bool", "{{ out >= 2 or ({1} | length) == 0 }}"),
    value("count", "string", "{{ out }} things"),
    ([{"type": "set", "value": "{{ {0}[1] }}", "save_as": "out"}], "Time?", "{{ out.start_time }}"),
    ([], "Time?", "{{ {0}[-1].start_time }}"),
    ([], "int", "{{ {0} | length }}"),
    ([], "bool", "{{ ({0} | length) > ({1} | length) }}"),
    ([], "string", "{{ 'several' if ({0} | length) > 1 else 'few' }}"),
    ([{"type": "require", "condition": "{{ ({0} | length) > 1 }}", "reason": "few"}], "string", "{{ video_id }}"),
    ([{"type": "require", "condition": "{{ ({0} | length) < 2 }}", "status": "ok"}], "string", "{{ video_id }}"),
    (
        [
            {
                "type": "if",
                "condition": "{{ ({0} | length) > 1 }}",
                "then": [{"type": "set", "value": "several", "save_as": "out"}],
                "else": [{"type": "set", "value": "few", "save_as": "out"}],
            }
        ],
        "string",
        "{{ out }}",
    ),
]


def filled(part: Any, *names: str) -> Any:
    """A step with the names of its lists."""
    text = json.dumps(part)
    for place, name in enumerate(names):
        text = text.replace(f"{{{place}}}", name)
    return json.loads(text)


@st.composite
def chains(draw: Any) -> list[Json]:
    """A tool of up to three steps on lists, and one output; also one that calls it."""
    steps: list[Json] = [
        aggregate("concat_lists", ["a.detections"], "l0"),
        aggregate("concat_lists", ["b.detections"], "l1"),
    ]
    names = ["l0", "l1"]
    for step in draw(st.lists(st.sampled_from(LISTS), max_size=3)):
        given = [draw(st.sampled_from(names[::-1])), draw(st.sampled_from(names))]
        steps.append(filled(step, *given) | {"save_as": f"l{len(names)}"})
        names.append(f"l{len(names)}")
        for inner in steps[-1].get("do", ())[:1]:
            inner["save_as"] = f"x{len(names)}"
    more, type_, source = draw(st.sampled_from(ENDS))
    given = [names[-1], draw(st.sampled_from(names))]
    made = tool([*steps, *filled(more, *given)], out=(type_, filled(source, *given)))
    call = {"type": "call_tool", "tool": "tell_things", "params": {"video_id": "v"}, "save_as": "inner"}
    return [made, tool([call], "tell_more", out=(type_, "{{ inner.out }}"))][: draw(st.integers(1, 2))]


THINGS = st.lists(
    st.builds(
        thing,
        st.integers(0, 8),
        label=st.sampled_from("ab"),
        confidence=st.sampled_from([None, 0.2, 0.9]),
        length=st.integers(1, 4),
        lacks=st.sampled_from([[], [WORD]]),
    ),
    max_size=4,
)


def worlds(a: list[Json], b: list[Json]) -> list[FakeWorld]:
    """The worlds in which each possible thing either has all words or is not what was asked for."""
    unsure = [(side, place) for side, rows in (("a", a), ("b", b)) for place, item in enumerate(rows) if item["lacks"]]
    found = []
    for size in range(len(unsure) + 1):
        for gone in combinations(unsure, size):
            sides = {
                side: [item | {"lacks": []} for place, item in enumerate(rows) if (side, place) not in gone]
                for side, rows in (("a", a), ("b", b))
            }
            found.append(FakeWorld(**sides))
    return found


@settings(max_examples=150, deadline=None)
@given(documents=chains(), a=THINGS, b=THINGS, extra=THINGS, is_judged=st.booleans())
def test_what_a_possible_thing_could_change_is_never_sure(
    documents: list[Json], a: list[Json], b: list[Json], extra: list[Json], is_judged: bool
) -> None:
    if not compile_document([*documents]).ok:
        return  # some steps do not fit each other
    asked = FakeWorld(a=a, b=b)
    others = worlds(a, b)
    if not is_judged:  # then other things may be there, too
        asked.said["b"] = {"unmatched": ["zebra"], "not_judged": ["zebra"]}
        asked.things["b"] = []
        others = [*worlds(a, []), *worlds(a, extra)]
    result = told(asked, *documents)
    value, unsure = result["outputs"]["out"], result.get("unsure", {}).get("out")
    assert (result["status"] == "partial") == (unsure is not None) or result["status"] == "error"
    for world in others:
        truth = told(world, *documents)
        other = truth["outputs"]["out"]
        if unsure is None:
            assert (truth["status"], other) == (result["status"], value)
        elif isinstance(value, bool):
            assert value is False or other is not False
        elif "possible" in unsure and isinstance(value, int | float) and truth["status"] == "ok":
            assert value <= other + 1e-6

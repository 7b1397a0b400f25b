"""Named warnings: each small tool that promises what it does not do gets its own, and its sound twin gets none."""

from __future__ import annotations

from typing import Any

import pytest

from tool_induction.admission import Flaw, Verdict

Step = dict[str, Any]
LOOKS, DEED, WORDS = ({"video_id": "string", name: "string"} for name in ("looks", "deed", "words"))
TEXT = {"account": {"type": "string", "from": "{{ d.caption }}"}}
TIMES = {key: {"type": "Time", "from": "{{ one." + key + " }}"} for key in ("start_time", "end_time")}
NOT_NONE = {"type": "require", "condition": "{{ one is not none }}", "status": "empty", "reason": "nothing"}
SHOWN = {"start_time": "{{ one.start_time }}", "end_time": "{{ [one.end_time, one.start_time + 0.5] | max }}"}
WHOLE = {"start_time": "{{ 0 }}", "end_time": "{{ about.duration }}"}


def call(api: str, name: str, *, over: str = "", most: int = 60, **params: Any) -> Step:
    on_error = {"on_error": params.pop("on_error")} if "on_error" in params else {}
    loop = {"loop_over": over, "max_items": most, "on_error": "skip"} if over else on_error
    step = {"type": "call_world_api", "api": api, "params": {"video_id": "{{video_id}}", **params}, "save_as": name}
    return {**step, **loop}


def fold(operation: str, items: Any, name: str, **params: Any) -> Step:
    return {"type": "aggregate", "operation": operation, "inputs": items, "params": params, "save_as": name}


def keep(items: str, where: str, name: str) -> Step:
    return {"type": "filter", "inputs": items, "where": where, "save_as": name}


def bind(value: str, name: str) -> Step:
    return {"type": "set", "value": value, "save_as": name}


ABOUT = call("get_video_metadata", "about")
DESCRIBED = call("describe_segment", "d", **SHOWN)


def detected(within: Any = None, *, looks: str = "{{looks}}", name: str = "found", **more: Any) -> Step:
    return call(
        "detect_objects", name, timestamp=0, category="person", text_query=looks, time_range=within or WHOLE, **more
    )


def one_seen_since(within: Any) -> Any:
    enough = {"type": "require", "condition": "{{ since < about.duration }}", "status": "empty", "reason": "too late"}
    inputs, text = LOOKS | {"since": "Time"}, "{{looks}} from {{since}} s on: {{d.caption}}"
    steps = [ABOUT, enough, detected(within), fold("pick_earliest", "found.detections", "one"), NOT_NONE, DESCRIBED]
    outputs = {"note": {"type": "string", "from": "{{ note }}"}, "at": {"type": "Time", "from": "{{ one.start_time }}"}}
    return (
        "describe_person",
        "What a person is seen to do from a moment on.",
        inputs,
        outputs,
        [*steps, bind(text, "note")],
    )


def is_seen(*, early: bool) -> Any:
    some = [fold("any", "found.detections", "seen")]
    steps = [
        ABOUT,
        detected(),
        fold("pick_earliest", "found.detections", "one"),
        *(some if early else [NOT_NONE, *some]),
    ]
    kind = "Time?" if early else "Time"
    outputs = {"seen": {"type": "bool", "from": "{{ seen }}"}, "when": {"type": kind, "from": "{{ one.start_time }}"}}
    return ("check_person", "Whether a person is ever seen.", LOOKS, outputs, steps)


def first_deed(top_k: int) -> Any:
    steps = [
        call("search_segments_by_semantics", "hits", query="{{deed}}", top_k=top_k),
        call("recognize_actions", "acts", over="hits", start_time="{{item.start_time}}", end_time="{{item.end_time}}"),
        keep("acts", "{{ deed in item.label }}", "done"),
        fold("pick_earliest", "done", "one"),
        NOT_NONE,
    ]
    return ("find_first_deed", "When something is done for the first time.", DEED, TIMES, steps)


def every_scene(most: int) -> Any:
    span = {"start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"}
    steps = [
        call("list_scenes", "scenes"),
        call("describe_segment", "views", over="scenes", most=most, **span),
        fold("concat_text", "views", "text", key="caption", max_chars=4000),
    ]
    outputs = {
        "text": {"type": "string", "from": "{{ text }}"},
        "views": {"type": "list<record>", "from": "{{ views }}"},
    }
    return ("describe_scenes", "What is seen in every scene, in order.", {"video_id": "string"}, outputs, steps)


def said_at(*, own: bool) -> Any:
    lines = {
        "type": "loop",
        "loop_over": "hits.candidates",
        "as": "hit",
        "max_items": 60,
        "do": [keep("hit.matching_lines", "{{ item.as_given }}", "lines")],
        "save_as": "all_lines",
    }
    held = keep("hits", "{{ item.matching_lines | length > 0 }}", "all_lines")
    search = call("search_segments_by_text", "hits", query='"{{words}}"', top_k=60)
    steps = [search, lines if own else held, fold("pick_earliest", "all_lines", "one"), NOT_NONE]
    return ("find_first_line", "When words are first said or shown.", WORDS, TIMES, steps)


def time_of_one(name: str = "measure_time") -> Any:
    steps = [
        ABOUT,
        detected(),
        keep("found.detections", "{{ item.entity_id is not none }}", "known"),
        fold("pick_earliest", "known", "one"),
        {**NOT_NONE, "condition": "{{ one is not none and one.entity_id is not none }}"},
        call("get_entity_trajectory", "path", entity_id="{{one.entity_id}}"),
        fold("total_duration", "path.trajectory", "s"),
    ]
    outputs = {"seconds": {"type": "float", "from": "{{ s }}"}}
    return (name, "Total seconds that a person is on screen.", LOOKS, outputs, steps)


def time_of_all() -> Any:
    name, says, inputs, outputs, _ = time_of_one()
    steps = [
        call("search_segments_by_text", "hits", query="{{looks}}", top_k=60),
        call(
            "detect_objects",
            "seen",
            over="hits",
            timestamp="{{item.center_time}}",
            category="person",
            text_query="{{looks}}",
        ),
        {**NOT_NONE, "condition": "{{ seen | length > 0 }}"},
        fold("total_duration", "seen", "s"),
    ]
    return (name, says, inputs, outputs, steps)


def both_people(second: str) -> Any:
    steps: list[Step] = [ABOUT]
    for name, looks in (("one", "{{person}}"), ("two", second)):
        steps += [detected(looks=looks, name=f"seen_{name}"), fold("concat_lists", [f"seen_{name}.detections"], name)]
    outputs = {f"{name}_spans": {"type": "list<record>", "from": "{{ " + name + " }}"} for name in ("one", "two")}
    inputs = {"video_id": "string", "person": "string", "other_person": "string"}
    return ("list_two_people", "The spans in which two people are seen, side by side.", inputs, outputs, steps)


def sure_ones(default: str) -> Any:
    sure = keep("found.detections", "{{ item.confidence | default(" + default + ") >= 0.5 }}", "sure")
    steps = [ABOUT, detected(), sure, fold("pick_earliest", "sure", "one"), NOT_NONE]
    return ("find_first_person", "When a person is first seen.", LOOKS, TIMES, steps)


def count_seen(items: str, **more: Any) -> Any:
    steps = [
        ABOUT,
        detected(**more),
        bind("{{ " + items + " }}", "all"),
        fold("count_distinct", "all", "n", key="entity_id"),
    ]
    outputs = {"count": {"type": "int", "from": "{{ n }}"}, "seen": {"type": "list<record>", "from": "{{ all }}"}}
    return ("count_people", "How many different people look so.", LOOKS, outputs, steps)


def minutes_before(since: str) -> Any:
    inputs = DEED | {"minutes": {"type": "float", "description": "How far to go back.", "default": 1}}
    steps = [
        call("search_segments_by_semantics", "hits", query="{{deed}}", top_k=5),
        fold("first", "hits", "one"),
        {**NOT_NONE, "condition": "{{ one is not none and one.start_time > 0 and minutes > 0 }}"},
        bind("{{ [" + since + ", 0] | max }}", "begin"),
        {**NOT_NONE, "condition": "{{ begin < one.start_time }}"},
        call("describe_segment", "d", start_time="{{begin}}", end_time="{{one.start_time}}"),
    ]
    return ("describe_minutes_before", "What happens in the minutes before something is done.", inputs, TEXT, steps)


def later_views(time: str) -> Any:
    span = {"start_time": "{{" + time + ".start_time}}", "end_time": "{{" + time + ".start_time + 5}}"}
    steps = [
        ABOUT,
        detected(),
        fold("pick_earliest", "found.detections", "one"),
        NOT_NONE,
        call("describe_segment", "views", over="found.detections", most=30, **span),
        fold("concat_text", "views", "text", key="caption", max_chars=2000),
    ]
    return (
        "describe_views",
        "What a person does each time.",
        LOOKS,
        {"text": {"type": "string", "from": "{{ text }}"}},
        steps,
    )


def looked_at_again(within: dict[str, str]) -> Any:
    steps = [
        ABOUT,
        call("search_segments_by_semantics", "hits", query="{{deed}}", top_k=5),
        fold("first", "hits", "one"),
        {**NOT_NONE, "condition": "{{ one is not none and one.end_time < about.duration }}"},
        call("search_segments_by_semantics", "again", query="{{deed}}", top_k=5, time_range=within),
        fold("count", "again", "n"),
    ]
    outputs = {"agreeing": {"type": "int", "from": "{{ n }}"}, "at": {"type": "Time", "from": "{{ one.start_time }}"}}
    return ("find_deed", "Something that is done, and a second look at it.", DEED, outputs, steps)


def nearest_before(pick: str) -> Any:
    inputs = LOOKS | {"moment": "Time"}
    steps = [
        ABOUT,
        detected(),
        keep("found.detections", "{{ item.end_time <= moment }}", "former"),
        fold(pick, "former", "one"),
        NOT_NONE,
        DESCRIBED,
    ]
    return ("describe_nearest", "The nearest view of a person before a moment.", inputs, TEXT, steps)


def in_list(source: str) -> Step:
    kept = keep("hit.matching_lines", '{{ item.as_given and item.source == "' + source + '" }}', "lines")
    return {
        "type": "loop",
        "loop_over": "hits.candidates",
        "as": "hit",
        "max_items": 60,
        "do": [kept],
        "save_as": "all_lines",
    }


def written_at(source: str, says: str) -> Any:
    search = call("search_segments_by_text", "hits", query='"{{words}}"', top_k=60)
    steps = [search, in_list(source), fold("pick_earliest", "all_lines", "one"), NOT_NONE]
    return ("find_first_words", says, WORDS, TIMES, steps)


def moments(query: str, name: str, first: str) -> list[Step]:
    return [
        call("search_segments_by_text", name, query=query, top_k=200),
        fold("pick_earliest", f"{name}.moments", first),
    ]


def doer(person: str) -> Any:
    at = call("detect_objects", "seen", timestamp="{{one.start_time}}", category="person")
    known = call("list_entities", "all_people")
    steps = [
        *moments("{{deed}}", "hits", "one"),
        {**NOT_NONE, "condition": "{{ one is not none and one.entity_id is not none }}"},
        at,
        known,
        keep("all_people.entities", "{{ item.entity_id == one.entity_id }}", "own"),
        fold("first", person, "who"),
        {**NOT_NONE, "condition": "{{ who is not none }}"},
    ]
    looks = "who.entity_hint" if person == "seen.detections" else "who.hint"
    outputs = {
        "looks": {"type": "string", "from": "{{ " + looks + " }}", "description": "The looks of the one who does it."},
        "evidence": {"type": "list<Evidence>", "from": "{{ one.evidence }}"},
    }
    return ("find_doer", "The person who does something first.", DEED, outputs, steps)


def part_of_film(middle: str) -> Any:
    steps = [
        ABOUT,
        *moments("{{deed}}", "hits", "one"),
        NOT_NONE,
        bind("{{ 'early' if one.start_time < " + middle + " else 'late' }}", "part"),
    ]
    outputs = {
        "part": {"type": "string", "from": "{{ part }}"},
        "evidence": {"type": "list<Evidence>", "from": "{{ one.evidence }}"},
    }
    return ("tell_part", "Whether something is first done early or late in the video.", DEED, outputs, steps)


def comes_before(*, both: bool) -> Any:
    later = keep("b.moments", "{{ item.start_time > one.start_time }}", "later")
    steps = [
        *moments("{{event}}", "a", "one"),
        NOT_NONE,
        call("search_segments_by_text", "b", query="{{other_event}}", top_k=200),
        later,
        fold("pick_earliest", "b.moments" if both else "later", "two"),
        {**NOT_NONE, "condition": "{{ two is not none }}"},
        fold("collect_evidence", ["one", "two"], "proof"),
    ]
    outputs = {
        "before": {"type": "bool", "from": "{{ one.start_time < two.start_time }}"},
        "evidence": {"type": "list<Evidence>", "from": "{{ proof }}"},
    }
    inputs = {"video_id": "string", "event": "string", "other_event": "string"}
    return ("check_before", "Whether an event happens before another.", inputs, outputs, steps)


def deeds_of(where: str) -> Any:
    steps = [
        ABOUT,
        detected(),
        {**NOT_NONE, "condition": "{{ found.detections | length > 0 }}"},
        call("recognize_actions", "acts", start_time=WHOLE["start_time"], end_time=WHOLE["end_time"]),
        keep("acts.actions", where, "own"),
        fold("sort_by", "own", "deeds", key="start_time"),
    ]
    outputs = {"deeds": {"type": "list<record>", "from": "{{ deeds }}"}}
    return ("list_deeds", "What a person does, deed by deed.", LOOKS, outputs, steps)


def scenes_up_to(k: int) -> Any:
    name, says, inputs, outputs, steps = every_scene(40)
    few = fold("top_k", "scenes.scenes", "few", k=k)
    return (name, says, inputs, outputs, [steps[0], few, {**steps[1], "loop_over": "few"}, *steps[2:]])


ON_SIGN, SPOKEN, IN_CHINESE = (
    "When words are first written on a sign.",
    "When words are first spoken.",
    "屏幕上第一次写着这些字的时间。",
)
#: flaw, faulty tool, sound twin
PAIRS: list[tuple[Flaw, Any, Any]] = [
    ("dead_input", one_seen_since(WHOLE), one_seen_since({**WHOLE, "start_time": "{{since}}"})),
    ("one_valued", is_seen(early=False), is_seen(early=True)),
    ("short_lists", first_deed(1), first_deed(40)),
    ("short_lists", every_scene(3), every_scene(40)),
    ("rough_times", said_at(own=False), said_at(own=True)),
    ("other_channel", written_at("speech", ON_SIGN), written_at("screen_text", ON_SIGN)),
    ("other_channel", written_at("screen_text", SPOKEN), written_at("speech", SPOKEN)),
    ("other_channel", written_at("speech", IN_CHINESE), written_at("screen_text", IN_CHINESE)),
    ("other_person", doer("seen.detections"), doer("own")),
    ("one_valued", part_of_film("about.duration"), part_of_film("about.duration / 2")),
    ("one_valued", comes_before(both=False), comes_before(both=True)),
    ("dead_input", deeds_of("{{ item.entity_id is not none }}"), deeds_of("{{ item.entity_id == found.detections[0].entity_id }}")),
    ("short_lists", scenes_up_to(4), scenes_up_to(40)),
    ("one_of_several", time_of_one(), time_of_all()),
    ("dead_input", both_people("person in any colour"), both_people("{{other_person}}")),
    ("one_left_out", both_people("{{person}}"), both_people("{{other_person}}")),
    ("drops_unknown", sure_ones("0"), sure_ones("1")),
    ("failure_as_zero", count_seen("found.detections | default([])", on_error="null"), count_seen("found.detections")),
    ("wrong_unit", minutes_before("one.start_time - minutes"), minutes_before("one.start_time - 60 * minutes")),
    ("same_call", later_views("one"), later_views("item")),
    (
        "confirms_itself",
        looked_at_again({"start_time": "{{one.start_time}}", "end_time": "{{one.end_time}}"}),
        looked_at_again({"start_time": "{{one.end_time}}", "end_time": "{{about.duration}}"}),
    ),
    ("farthest", nearest_before("pick_earliest"), nearest_before("pick_latest")),
]  # fmt: skip
NAMES = [f"{flaw}-{place}" for place, (flaw, _, _) in enumerate(PAIRS)]


def verdict(tool: Any, verdicts: Any, case: Any) -> Verdict:
    name, says, inputs, outputs, steps = case
    document = tool(*steps, name=name, inputs=inputs, outputs=outputs)
    document["description"] = f"{says} Use when that is asked. Not for anything else."
    found: Verdict = verdicts(document)[name]
    return found


@pytest.mark.parametrize(("flaw", "faulty"), [pair[:2] for pair in PAIRS], ids=NAMES)
def test_a_tool_that_does_not_do_what_it_promises_gets_the_warning_that_names_it(
    tool: Any, verdicts: Any, flaw: Flaw, faulty: Any
) -> None:
    given = [item for item in verdict(tool, verdicts, faulty).weaknesses if item.code == flaw]
    assert given
    assert all(item.message and item.suggestion for item in given)


@pytest.mark.parametrize("sound", [pair[2] for pair in PAIRS], ids=NAMES)
def test_its_sound_twin_is_admitted_without_a_warning(tool: Any, verdicts: Any, sound: Any) -> None:
    found = verdict(tool, verdicts, sound)
    assert found.admitted, found.explanation
    assert found.weaknesses == ()


def test_a_verdict_shows_its_warnings_as_json(tool: Any, verdicts: Any) -> None:
    record = verdict(tool, verdicts, sure_ones("0")).record()
    (warning,) = record["weaknesses"]
    assert set(warning) == {"code", "message", "suggestion"}
    assert warning["code"] == "drops_unknown"


def test_what_a_tool_says_it_leaves_out_is_not_held_against_it(tool: Any, verdicts: Any) -> None:
    name, _, *rest = sure_ones("0")
    says = "When a person is first seen; views of unknown confidence are left out."
    assert verdict(tool, verdicts, (name, says, *rest)).weaknesses == ()

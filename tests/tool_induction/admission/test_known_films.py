"""What a tool says of films that are known: what contradicts them refuses it, what is weak is noted, what is right stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tool_induction.admission import ExampleWorld, Fact, Verdict, schema_worlds
from tool_induction.domains import load_domain
from tool_induction.inducer import trial_worlds
from world_api.core import TimeSpan

Step = dict[str, Any]
ENDS = {key: {"type": "Time", "from": "{{ one." + key + " }}"} for key in ("start_time", "end_time")}
NOT_NONE = {"type": "require", "condition": "{{ one is not none }}", "status": "empty", "reason": "nothing"}


def call(api: str, name: str, *, over: str = "", **params: Any) -> Step:
    loop = {"loop_over": over, "max_items": 60, "on_error": "skip"} if over else {}
    step = {"type": "call_world_api", "api": api, "params": {"video_id": "{{video_id}}", **params}, "save_as": name}
    return {**step, **loop}


def fold(operation: str, items: Any, name: str, **params: Any) -> Step:
    return {"type": "aggregate", "operation": operation, "inputs": items, "params": params, "save_as": name}


def keep(items: str, where: str, name: str) -> Step:
    return {"type": "filter", "inputs": items, "where": where, "save_as": name}


def seen(query: str = "{{looks}}") -> list[Step]:
    at = {"timestamp": "{{item.center_time}}", "category": "person", "text_query": query}
    return [
        call("search_segments_by_text", "hits", query="{{looks}}", top_k=60),
        call("detect_objects", "seen", over="hits", **at),
    ]


def done(saved: str = "done", query: str = "deed") -> list[Step]:
    span = {"start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"}
    return [
        call("search_segments_by_semantics", f"{saved}_hits", query="{{" + query + "}}", top_k=40),
        call("recognize_actions", f"{saved}_acts", over=f"{saved}_hits", **span),
        keep(f"{saved}_acts", "{{ " + query + " in item.label }}", saved),
    ]


def ordered(first: str, second: str) -> list[Step]:
    picks = [fold("pick_earliest", saved, f"{saved}_one") for saved in ("a", "b")]
    order = {"a": "a_one", "b": "b_one"}
    return [
        *done("a", "event"),
        *done("b", "other_event"),
        *picks,
        fold("order_check", [order[first], order[second]], "o"),
    ]


LOOKS, DEED = {"video_id": "string", "looks": "string"}, {"video_id": "string", "deed": "string"}
EVENT = {"video_id": "string", "event": "string"}
EVENTS = EVENT | {"other_event": "string"}
AFTER = LOOKS | {"after_time": "Time"}
COUNT = {"count": {"type": "int", "from": "{{ n }}"}}
ORDER = {"event_is_first": {"type": "bool?", "from": "{{ o.ordered }}"}}
ACCOUNT = {"account": {"type": "string", "from": "{{ d.caption }}"}}
EVENT_HIT = [
    call("search_segments_by_semantics", "hits", query="{{event}}", top_k=5),
    fold("first", "hits", "one"),
    NOT_NONE,
]
SPLIT = [fold("merge_intervals", "seen", "visits", gap=1)]
TWELVE_LATE = {key: {"type": "Time", "from": "{{ one." + key + " + 12 }}"} for key in ("start_time", "end_time")}
PEOPLE = [call("list_entities", "all"), keep("all", "item.category == 'person'", "people")]
SECONDS = {"seconds": {"type": "float", "from": "{{ s }}"}}
ONE_VISIT = [
    fold("pick_earliest", "seen", "one"),
    NOT_NONE,
    {"type": "set", "value": "{{ one.end_time - one.start_time }}", "save_as": "s"},
]
WHEN = {"when": {"type": "Time", "from": "{{ one.start_time }}"}}
GONE = {"when": {"type": "Time", "from": "{{ one.end_time }}"}}
IS_SEEN = {"seen": {"type": "bool", "from": "{{ seen_later }}"}}
SCENES = [call("list_scenes", "scenes")]
HAS_SCENE = {**NOT_NONE, "condition": "{{ scene is not none }}"}
SCENE = {f"scene_{end}": {"type": "Time", "from": "{{ scene." + end + "_time }}"} for end in ("start", "end")}


def nearest(*, descending: bool) -> Any:
    search = call("search_segments_by_text", "hits", query="{{deed}}", top_k=200)
    fields = {"what": "{{ item.text }}", "distance": "{{ (item.start_time - moment) | abs }}"}
    placed = {"type": "project", "inputs": "{{ hits.moments }}", "fields": fields, "save_as": "placed"}
    ordered = fold("sort_by", "placed", "by_distance", key="distance", descending=descending)
    steps = [search, placed, ordered, fold("first", "by_distance", "one"), NOT_NONE]
    return (
        "find_nearest",
        "When something is done that is nearest to a moment.",
        DEED | {"moment": "Time"},
        ENDS,
        steps,
    )


def arranged(items: str) -> Any:
    row = {"type": "project", "inputs": "{{ earliest }}", "fields": {"event": "{{ event }}"}, "save_as": "row"}
    inner = [
        call("search_segments_by_text", "hits", query="{{event}}", top_k=200),
        fold("sort_by", "hits.moments", "by_time", key="start_time"),
        fold("top_k", "by_time", "earliest", k=1),
        row,
    ]
    loop = {"type": "loop", "loop_over": "events", "as": "event", "max_items": 6, "do": inner, "save_as": "placed"}
    steps = [
        loop,
        {**NOT_NONE, "condition": "{{ placed | length > 0 }}"},
        fold("sort_by", "placed", "in_time", key="start_time"),
        fold("concat_text", items, "order", key="event", sep=" -> ", max_chars=2000),
    ]
    outputs = {
        "order": {"type": "string", "from": "{{ order }}"},
        "first_times": {"type": "list", "from": "{{ placed }}"},
    }
    return ("arrange", "The order of events in time.", {"video_id": "string", "events": "list<string>"}, outputs, steps)


def visible(name: str) -> list[Step]:
    return [fold("merge_intervals", name, f"{name}_spans", gap=1), fold("total_duration", f"{name}_spans", f"{name}_s")]


def shared(value: str) -> Any:
    share = {"type": "set", "value": "{{ " + value + " }}", "save_as": "part"}
    enough = {**NOT_NONE, "condition": "{{ about.duration > 0 and seen | length > 0 }}"}
    steps = [call("get_video_metadata", "about"), *seen(), enough, *visible("seen"), share]
    outputs = {"percent": {"type": "float", "from": "{{ part }}"}, "seen": {"type": "list", "from": "{{ seen }}"}}
    return ("measure_share", "In what part of the video a person is on screen, in percent.", LOOKS, outputs, steps)


def compared(value: str) -> Any:
    twice: list[Step] = []
    for name, looks in (("a", "{{looks}}"), ("b", "{{other_looks}}")):
        at = {"timestamp": "{{item.center_time}}", "category": "person", "text_query": looks}
        twice += [
            call("search_segments_by_text", f"{name}_hits", query=looks, top_k=60),
            call("detect_objects", name, over=f"{name}_hits", **at),
            *visible(name),
        ]
    some = {**NOT_NONE, "condition": "{{ a | length > 0 or b | length > 0 }}"}
    steps = [*twice, some, fold("collect_evidence", ["a", "b"], "proof")]
    outputs = {"longer": {"type": "bool", "from": value}, "proof": {"type": "list<Evidence>", "from": "{{ proof }}"}}
    return (
        "compare_time",
        "Whether a person is visible longer than another.",
        LOOKS | {"other_looks": "string"},
        outputs,
        steps,
    )


def lines_within(where: str) -> Any:
    search = call("search_segments_by_text", "hits", query="{{words}}", top_k=200)
    inputs = {"video_id": "string", "words": "string", "start_time": "Time", "end_time": "Time"}
    outputs = {"lines": {"type": "list", "from": "{{ own }}"}}
    return (
        "list_words",
        "Where words are said or shown within an interval.",
        inputs,
        outputs,
        [search, keep("hits.moments", where, "own")],
    )


#: wrong tool, right twin
TWINS = {
    "nearest": (nearest(descending=True), nearest(descending=False)),
    "order": (arranged("placed"), arranged("in_time")),
    "percent": (shared("seen_s / about.duration"), shared("100 * seen_s / about.duration")),
    "comparison": (compared("{{ b_s > a_s }}"), compared("{{ a_s > b_s }}")),
    "interval": (
        lines_within("{{ item.start_time >= start_time or item.end_time <= end_time }}"),
        lines_within("{{ item.end_time >= start_time and item.start_time <= end_time }}"),
    ),
}

#: name, first sentence, inputs, outputs, steps
RIGHT: list[tuple[str, str, Any, Any, list[Step]]] = [
    ("find_first", "When a person is first seen.", LOOKS, ENDS, [*seen(), fold("pick_earliest", "seen", "one"), NOT_NONE]),
    ("find_last", "When a person is last seen.", LOOKS, ENDS, [*seen(), fold("pick_latest", "seen", "one"), NOT_NONE]),
    ("find_next", "When a person is next seen after a moment.", AFTER, ENDS,
     [*seen(), fold("next_after", "seen", "one", time="{{after_time}}"), NOT_NONE]),
    ("count_visits", "How many times a person comes into view.", LOOKS, COUNT, [*seen(), *SPLIT, fold("count", "visits", "n")]),
    ("measure_time", "Total seconds that a person is on screen.", LOOKS, SECONDS,
     [*seen(), *SPLIT, {"type": "require", "condition": "{{ visits | length > 0 }}", "status": "empty", "reason": "not seen"},
      fold("total_duration", "visits", "s")]),
    ("tell_first", "Which of two events comes first.", EVENTS, ORDER, ordered("a", "b")),
    ("count_people", "How many different people there are.", {"video_id": "string"},
     COUNT | {"perhaps_same": {"type": "int", "from": "{{ likes | length }}"}},
     [*PEOPLE, keep("people", "item.may_be | length > 0", "likes"), fold("count_distinct", "people", "n", key="entity_id")]),
    ("describe_what_follows", "What happens right after an event.", EVENT, ACCOUNT,
     [*EVENT_HIT, call("describe_segment", "d", start_time="{{one.end_time}}", end_time="{{one.end_time + 20}}")]),
    ("find_departure", "When a person goes out of view for the last time.", LOOKS, GONE,
     [*seen(), fold("pick_latest", "seen", "one"), NOT_NONE]),
    ("check_seen_after", "Whether a person is seen after a moment.", AFTER, IS_SEEN,
     [*seen(), keep("seen", "{{ item.start_time > after_time }}", "later"), fold("any", "later", "seen_later")]),
    ("describe_scene_before", "The scene right before an event.", EVENT, SCENE,
     [*EVENT_HIT, *SCENES, fold("previous_before", "scenes", "scene", time="{{one.start_time}}"), HAS_SCENE]),
]  # fmt: skip
WRONG: list[tuple[str, str, Any, Any, list[Step]]] = [
    ("find_last", "When a person is last seen.", LOOKS, ENDS, [*seen(), fold("pick_earliest", "seen", "one"), NOT_NONE]),
    ("find_first", "When a person is first seen.", LOOKS, ENDS, [*seen(), fold("pick_latest", "seen", "one"), NOT_NONE]),
    ("find_first", "When a person is first seen.", LOOKS, TWELVE_LATE,
     [*seen(), fold("pick_earliest", "seen", "one"), NOT_NONE]),
    ("find_next", "When a person is next seen after a moment.", AFTER, ENDS,
     [*seen(), fold("previous_before", "seen", "one", time="{{after_time}}"), NOT_NONE]),
    ("count_visits", "How many times a person comes into view.", LOOKS, COUNT, [*seen(), fold("count", "seen", "n")]),
    ("measure_time", "Total seconds that a person is on screen.", LOOKS, SECONDS, [*seen(), *ONE_VISIT]),
    ("check_person", "Whether a person is ever seen.", LOOKS, {"seen": {"type": "bool", "from": "{{ people | length > 0 }}"}},
     [call("search_segments_by_text", "hits", query="{{looks}}", top_k=5), *PEOPLE]),
    ("tell_first", "Which of two events comes first.", EVENTS, ORDER, ordered("b", "a")),
    ("count_people", "How many different people there are.", {"video_id": "string"}, COUNT,
     [*PEOPLE, fold("sum", "people", "n", key="appearances")]),
    ("describe_what_follows", "What happens right after an event.", EVENT, ACCOUNT,
     [*EVENT_HIT, call("describe_segment", "d", start_time="{{[0, one.start_time - 20] | max}}", end_time="{{one.start_time}}")]),
    ("find_departure", "When a person goes out of view for the last time.", LOOKS, WHEN,
     [*seen(), fold("pick_latest", "seen", "one"), NOT_NONE]),
    ("check_seen_after", "Whether a person is seen after a moment.", AFTER, IS_SEEN,
     [*seen(), keep("seen", "{{ item.start_time > 0 * after_time }}", "later"), fold("any", "later", "seen_later")]),
    ("describe_scene_before", "The scene right before an event.", EVENT, SCENE,
     [*EVENT_HIT, *SCENES, keep("scenes", "{{ item.start_time <= one.start_time }}", "begun"), fold("pick_latest", "begun", "scene"),
      HAS_SCENE]),
    ("count_people", "How many different people there are.", {"video_id": "string"}, {"different": COUNT["count"]},
     [*PEOPLE, fold("count_distinct", "people", "n", key="hint")]),
    ("count_deeds", "How many times a person does something.", DEED | {"looks": "string"}, COUNT,
     [*done(), fold("merge_intervals", "done", "spans", gap=1), fold("count", "spans", "n")]),
    ("measure_time", "For how many seconds a person is on screen in total.", LOOKS, SECONDS, [*seen(), *ONE_VISIT]),
]  # fmt: skip
WEAK: list[tuple[str, str, Any, Any, list[Step]]] = [
    ("count_deeds", "How many times something is done.", DEED, COUNT,
     [call("search_segments_by_semantics", "hits", query="{{deed}}", top_k=40), fold("count", "hits", "n")]),
    ("find_deed", "When something is done.", DEED, ENDS,
     [call("search_segments_by_semantics", "hits", query="{{deed}}", top_k=40), fold("pick_best", "hits", "one"), NOT_NONE]),
    ("count_people", "How many different people there are.", {"video_id": "string"}, COUNT,
     [*PEOPLE, fold("count_distinct", "people", "n", key="entity_id")]),
    ("find_sure_words", "When words are said.", {"video_id": "string", "words": "string"}, ENDS,
     [call("search_segments_by_text", "hits", query="{{words}}", top_k=20), fold("filter_by_score", "hits", "sure", min_score=0.5),
      fold("pick_earliest", "sure", "one"), NOT_NONE]),
]  # fmt: skip


def verdict(tool: Any, verdicts: Any, case: Any, **facts: Any) -> Verdict:
    name, says, inputs, outputs, steps = case
    document = tool(*steps, name=name, inputs=inputs, outputs=outputs)
    document["description"] = f"{says} Use when that is asked. Not for anything else."
    found: Verdict = verdicts(document, **facts)[name]
    return found


@pytest.mark.parametrize("case", RIGHT, ids=[case[0] for case in RIGHT])
def test_a_right_tool_is_admitted_and_nothing_is_held_against_it(tool: Any, verdicts: Any, case: Any) -> None:
    told = verdict(tool, verdicts, case)
    assert told.admitted, told.explanation
    assert not [note for note in told.notes if "it says" in note or "cites only" in note]
    assert told.weaknesses == ()
    assert any(run.probe is not None and run.status == "ok" for run in told.runs)


@pytest.mark.parametrize("case", WRONG, ids=[f"{case[0]}-{place}" for place, case in enumerate(WRONG)])
def test_a_tool_that_contradicts_the_films_is_refused_and_told_what_they_hold(
    tool: Any, verdicts: Any, case: Any
) -> None:
    told = verdict(tool, verdicts, case)
    assert told.reason == "contradicts", told.notes
    assert (
        "the film has it at" in told.explanation
        or "nowhere in the film" in told.explanation
        or "never does it" in told.explanation
        or "does not have it there" in told.explanation
        or "in all" in told.explanation
    )


@pytest.mark.parametrize("kind", TWINS)
def test_what_is_related_wrongly_is_refused_and_its_right_twin_is_not(tool: Any, verdicts: Any, kind: str) -> None:
    wrong, right = (verdict(tool, verdicts, case) for case in TWINS[kind])
    assert wrong.reason == "contradicts", (wrong.explanation, wrong.notes)
    assert right.admitted, right.explanation
    assert right.weaknesses == ()


@pytest.mark.parametrize("case", WEAK, ids=[case[0] for case in WEAK])
def test_a_weak_tool_is_admitted_with_a_note_or_a_warning(tool: Any, verdicts: Any, case: Any) -> None:
    told = verdict(tool, verdicts, case)
    assert told.admitted, told.explanation
    assert told.weaknesses or [note for note in told.notes if "tokens" not in note]


def test_evidence_on_a_real_world_counts_for_a_tool(tool: Any, verdicts: Any) -> None:
    """Here: of a tool that cites only what is later than any made film."""
    late = keep("hits", "item.start_time > 4000", "late")
    search = call("search_segments_by_text", "hits", query="{{looks}}", top_k=10)
    case = ("list_late", "What is late.", LOOKS, COUNT, [search, late, fold("count", "late", "n")])

    def call_it(name: str, arguments: Any) -> Any:
        times = {"start_time": 5000.0, "end_time": 5002.0}
        result = schema_worlds()["one"](name, arguments)
        hits = result.get("candidates", ()) if "kettle" in arguments.get("query", "") else ()
        moved = [item | times | {"center_time": 5001.0} for item in hits]
        return result | {"evidence": [piece | times for piece in result["evidence"]], "candidates": moved}

    texts = ("a kettle", "a train")
    real = ExampleWorld(name="a real one", video_id="clip", texts=texts, open=lambda: (call_it, None))

    assert verdict(tool, verdicts, case, examples=[real]).admitted
    assert not verdict(tool, verdicts, case).admitted


def test_a_world_with_facts_speaks_against_a_tool_as_staged_films_do(tool: Any, verdicts: Any, make_world: Any) -> None:
    make_world()
    plain = trial_worlds(load_domain("A_locate_count"), ("made",), store=make_world.store).open()[0]
    assert {fact.kind for fact in plain.facts} == {"looks", "words", "said", "written"}
    assert all(
        fact.existence == "present" for fact in plain.facts
    )  # what a world that was looked at lacks is not known
    # A complete truth, and facts that are not so.
    make_world(profile="oracle")
    plain = trial_worlds(load_domain("A_locate_count"), ("made",), store=make_world.store).open()[0]
    elsewhere = (TimeSpan(start=5000.0, end=5100.0),)
    moved = tuple(Fact(kind="looks", text=fact.text, spans=elsewhere) for fact in plain.facts if fact.kind == "looks")
    other = ExampleWorld(name="moved", video_id="made", texts=plain.texts, open=plain.open, facts=moved)
    assert not [note for note in verdict(tool, verdicts, RIGHT[0], examples=[plain]).notes if "it says" in note]
    told = verdict(tool, verdicts, RIGHT[0], examples=[other])
    warned = [item.message for item in told.weaknesses]
    assert [text for text in (*warned, *told.notes, told.explanation) if "5000.0" in text]


def test_the_judged_recordings_come_out_as_judged(shared_data: Path) -> None:
    """Wrong ones are refused or not compiled, or can no longer be ``ok`` where they were wrong; right ones stay."""
    import json

    from tool_induction.admission import admit
    from tool_induction.compiler import compile_document
    from tool_induction.inducer import read_tools

    folder = shared_data.parent / "recordings" / "induction" / "2"
    recorded = json.loads((folder / "A_hasty.json").read_text(encoding="utf-8"))
    judged = json.loads((folder / "judged.json").read_text(encoding="utf-8"))["A_hasty"]
    last = {
        tool.name: tool.value for item in recorded["rounds"] for tool in read_tools(item["reply"]).tools if tool.value
    }
    compiled = compile_document(list(last.values()))
    found = {item.tool: item for item in admit(compiled.tools).verdicts}
    assert found["last_appearance"].reason == "contradicts"
    assert "find_speech" not in compiled.tools
    for name, verdict in judged.items():
        if verdict.startswith("right"):
            assert found[name].admitted, name
        elif name in found:
            notes = [note for note in found[name].notes if "tokens" not in note]
            assert not found[name].admitted or found[name].weaknesses or notes, name

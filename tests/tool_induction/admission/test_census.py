"""All that a known film holds, its sides and order, and moments within an occurrence: each faulty tool is found out, its twin not."""

from __future__ import annotations

from typing import Any

import pytest

from tool_induction.admission import Flaw, Verdict

Step = dict[str, Any]
NONE = {"type": "require", "status": "empty", "reason": "nothing was found"}
VIDEO = {"video_id": "string"}
LOOKS, EVENT = VIDEO | {"person": "string"}, VIDEO | {"event": "string"}
PART, BEFORE = {"start_time": "Time", "end_time": "Time"}, {"before_time": "Time"}
WHOLE = {"start_time": 0, "end_time": "{{about.duration}}"}
SPAN = {key: "{{" + key + "}}" for key in PART}


def call(api: str, name: str, **params: Any) -> Step:
    return {
        "type": "call_world_api",
        "api": api,
        "params": {"video_id": "{{video_id}}", **params},
        "save_as": name,
    }


ABOUT = call("get_video_metadata", "about")


def fold(operation: str, items: Any, name: str, **params: Any) -> Step:
    return {"type": "aggregate", "operation": operation, "inputs": items, "params": params, "save_as": name}


def keep(items: str, where: str, name: str) -> Step:
    return {"type": "filter", "inputs": items, "where": "{{ " + where + " }}", "save_as": name}


def done(text: str = "event", name: str = "done", top_k: int = 1000) -> list[Step]:
    search = call("search_segments_by_text", f"{name}_hits", query="{{" + text + "}}", top_k=top_k)
    return [search, keep(f"{name}_hits.moments", "item.source != 'tracker'", name)]


def picked(operation: str, items: str, name: str = "one", **params: Any) -> list[Step]:
    return [fold(operation, items, name, **params), {**NONE, "condition": f"{name} is not none"}]


def of(*items: str) -> Step:
    return fold("collect_evidence", list(items), "proof")


def made(name: str, says: str, inputs: Any, outputs: dict[str, tuple[str, str]], *steps: Step) -> Any:
    bound: dict[str, Any] = {
        key: {"type": kind, "from": "{{ " + value + " }}"} for key, (kind, value) in outputs.items()
    }
    bound["evidence"] = {"type": "list<Evidence>", "from": "{{ proof }}"}
    return {"tool_name": name, "description": says, "inputs": inputs, "outputs": bound, "steps": list(steps)}


def stays(text: str = "person") -> list[Step]:
    search = call("search_segments_by_text", "hits", query="{{" + text + "}}", top_k=1000)
    return [search, keep("hits.moments", "item.source == 'tracker'", "seen")]


def last_before(where: str) -> Any:
    outputs = {"last_seen": ("Time", "one.end_time")}
    return made("find_last_before", "When a person was last seen before a moment.", LOOKS | BEFORE, outputs, *stays(),
                keep("seen", where, "earlier"), *picked("pick_latest", "earlier"), of("one"))  # fmt: skip


def lead_up(stop: str) -> Any:
    told = call("describe_segment", "told", start_time="{{ start }}", end_time="{{ " + stop + " }}")
    start = {"type": "set", "value": "{{ [one.start_time - 15, 0] | max }}", "save_as": "start"}
    return made("describe_before", "What is seen and said before an event.", EVENT, {"before": ("string", "told.caption")},
                *done(), *picked("pick_earliest", "done"), start, {**NONE, "condition": f"{stop} > start"}, told,
                of("one", "told"))  # fmt: skip


def long_ones(where: str) -> Any:
    long = keep("done", where, "long")
    return made("find_deed", "When something is done.", EVENT, {"start_time": ("Time", "one.start_time")}, *done(), long,
                *picked("pick_earliest", "long"), of("one"))  # fmt: skip


def counted(top_k: int) -> Any:
    return made("count_times", "How many times something is done.", EVENT, {"count": ("int", "n")}, *done(top_k=top_k),
                fold("count", "done", "n"), of("done"))  # fmt: skip


def deeds(where: str) -> Any:
    seen = call("detect_objects", "views", timestamp=0, category="person", text_query="{{person}}", time_range=WHOLE)
    acts = call("recognize_actions", "acts", **SPAN)
    return made("list_deeds", "All that one person does in a part of the video.", LOOKS | PART, {"deeds": ("list<record>", "own")},
                ABOUT, seen, *picked("first", "views.detections", "who"), acts, keep("acts.actions", where, "own"),
                of("who", "own"))  # fmt: skip


SEEN = ("bool", "there")
AT = {"at_time": {"type": "Time", "description": "The moment."}}


def longest(pick: str, **key: Any) -> Any:
    return made("find_longest_stay", "The time in which a person is seen longest without a break.", LOOKS,
                {"start_time": ("Time", "one.start_time")}, *stays(), *picked(pick, "seen", **key), of("one"))  # fmt: skip


def seconds_with_people(*folded: Step) -> Any:
    path = call("get_entity_trajectory", "path", entity_id="{{ who.entity_id }}")
    each = {"type": "loop", "loop_over": "people", "as": "who", "max_items": 200, "save_as": "seen",
            "do": [path, {"type": "set", "value": "{{ path.trajectory }}", "save_as": "its"}]}  # fmt: skip
    return made("measure_time_with_people", "For how many seconds at least one person is seen.", VIDEO,
                {"seconds": ("number", "s")}, call("list_entities", "known"),
                keep("known.entities", "item.category == 'person'", "people"), each, *folded, of("seen"))  # fmt: skip


LENGTHS = {"type": "project", "inputs": "seen", "save_as": "lengths",
           "fields": {"length": "{{ item.end_time - item.start_time }}"}}  # fmt: skip


def others(where: str) -> Any:
    at = call("detect_objects", "views", timestamp="{{one.center_time}}", category="person")
    return made("list_others", "Who else is in the picture while a person is seen first.", LOOKS,
                {"others": ("list<record>", "rest")}, *stays(), *picked("pick_earliest", "seen"), at,
                keep("views.detections", where, "rest"), of("rest", "one"))  # fmt: skip


def looked_for(*looking: Step) -> Any:
    return made("check_seen", "Whether a person is seen anywhere in the video.", LOOKS, {"seen": SEEN}, ABOUT,
                {**NONE, "condition": "about.duration > 0"}, *looking, fold("any", "views", "there"), of("views"))  # fmt: skip


def now_and_then(step: float) -> Any:
    moments = {"type": "aggregate", "operation": "sample_times", "save_as": "moments",
               "params": {"interval": WHOLE, "step": step, "max_items": 200}}  # fmt: skip
    at = call("detect_objects", "views", timestamp="{{moment}}", category="person", text_query="{{person}}")
    return looked_for(moments, {**at, "loop_over": "moments", "as": "moment", "max_items": 200})


def always() -> Any:
    return looked_for(
        call("detect_objects", "views", timestamp=0, category="person", text_query="{{person}}", time_range=WHOLE)
    )


def nth(place: str) -> Any:
    number = {"number": {"type": "int", "description": "Which one: 1 is the first."}}
    return made("find_nth_stay", "When a person is seen for the n-th time.", LOOKS | number,
                {"start_time": ("Time", "one.start_time")}, *stays(), {**NONE, "condition": "number >= 1"},
                fold("sort_by", "seen", "rows", key="start_time"), *picked("nth", "rows", n=place), of("one"))  # fmt: skip


def visible_at(where: str) -> Any:
    return made("is_visible_at", "Whether a person is visible at a moment.", LOOKS | AT, {"visible": SEEN}, *stays(),
                keep("seen", where, "then"), fold("any", "then", "there"), of("seen"))  # fmt: skip


def long_stays(where: str) -> Any:
    least = {"min_seconds": {"type": "float", "description": "Shorter stays are left out."}}
    return made("list_long_stays", "All stays of a person that last some seconds.", LOOKS | least,
                {"stays": ("list<record>", "long")}, *stays(), keep("seen", where, "long"), of("long"))  # fmt: skip


def scene(where: str) -> Any:
    outputs = {"scene_start": ("Time", "its.start_time"), "scene_end": ("Time", "its.end_time")}
    return made("find_scene", "The scene in which something is first done.", EVENT, outputs, *done(),
                *picked("pick_earliest", "done"), call("list_scenes", "all"), keep("all.scenes", where, "fitting"),
                *picked("first", "fitting", "its"), of("one"))  # fmt: skip


def meanwhile(where: str) -> Any:
    return made("seen_while", "Whether a person is seen while something is done.", LOOKS | EVENT, {"seen": SEEN}, *stays(),
                *done(), *picked("pick_earliest", "done"), keep("seen", where, "then"),
                fold("any", "then", "there"), of("seen", "one"))  # fmt: skip


def more_than_once(n: int) -> Any:
    return made("check_repeated", "Whether something is done more than once.", EVENT, {"repeated": ("bool", f"n > {n}")}, *done(),
                fold("count", "done", "n"), of("done"))  # fmt: skip


def at_least(inputs: dict[str, Any]) -> Any:
    return made("check_habit", "Whether something is done repeatedly: at least so many times.", EVENT | inputs,
                {"repeated": ("bool", "n >= least_times")}, *done(), fold("count", "done", "n"), of("done"))  # fmt: skip


def absence(value: str) -> Any:
    return made("is_absent", "Whether a person is absent between two moments.", LOOKS | PART, {"absent": ("bool", value)}, *stays(),
                keep("seen", "item.start_time <= end_time and item.end_time >= start_time", "inside"),
                fold("any", "inside", "there"), of("seen"))  # fmt: skip


def said_or_shown(where: str) -> Any:
    search = call("search_segments_by_text", "found", query='"{{words}}"', top_k=1000)
    return made("find_words", "When words are first said or shown on the screen.", VIDEO | {"words": "string"},
                {"start_time": ("Time", "one.start_time")}, search, keep("found.moments", where, "lines"),
                *picked("pick_earliest", "lines"), of("one"))  # fmt: skip


def first_said(pick: Step) -> Any:
    search = call("search_segments_by_text", "found", query='"{{words}}"', top_k=1000)
    return made("find_first_words", "When words are first said or shown.", VIDEO | {"words": "string"},
                {"first_time": ("Time", "one.start_time")}, search, pick, {**NONE, "condition": "one is not none"},
                of("one"))  # fmt: skip


#: flaw, faulty tool, sound twin
WARNED: list[tuple[Flaw, Any, Any]] = [
    ("wrong_side", last_before("item.start_time <= before_time"), last_before("item.end_time <= before_time")),
    ("wrong_side", lead_up("one.start_time + 15"), lead_up("one.start_time")),
    ("finds_nothing", long_ones("item.end_time - item.start_time > 60"), long_ones("item.lacks | length == 0")),
    ("short_lists", counted(3), counted(1000)),
    ("partly_wrong", nth("{{ number if number == 1 else number - 1 }}"), nth("{{ number - 1 }}")),
    ("sampled", now_and_then(30), always()),
    (
        "finds_nothing",
        said_or_shown("item.source == 'speech'"),
        said_or_shown("item.source in ['speech', 'screen_text']"),
    ),
    ("other_person", deeds("item.entity_id is not none"), deeds("item.entity_id == who.entity_id")),
]


def actions(least: float) -> Any:
    acts = call("recognize_actions", "acts", **SPAN)
    sure = fold("filter_by_score", "acts.actions", "sure", min_score=least, keep_null=False)
    return made("list_actions", "All actions between two moments.", VIDEO | PART, {"actions": ("list<record>", "sure")}, acts, sure,
                of("sure"))  # fmt: skip


def people(**when: Any) -> Any:
    seen = call("detect_objects", "views", timestamp="{{start_time}}", category="person", **when)
    return made("count_people", "How many people are seen between two moments.", VIDEO | PART, {"people": ("int", "n")}, seen,
                fold("count_distinct", "views.detections", "n", key="entity_id"), of("views.detections"))  # fmt: skip


def side(field: str) -> Any:
    seen = call("detect_objects", "views", timestamp=0, category="person", text_query="{{person}}", time_range=WHOLE)
    path = call("get_entity_trajectory", "path", entity_id="{{ who.entity_id | default('') }}")
    return made("find_side", "From which side a person first enters.", LOOKS, {"enters_from": ("optional<string>", f"one.{field}")},
                ABOUT, seen, *picked("first", "views.detections", "who"), path, *picked("pick_earliest", "path.trajectory"),
                of("one"))  # fmt: skip


def most(key: str) -> Any:
    path = call("get_entity_trajectory", "path", entity_id="{{ thing.entity_id }}")
    row = {"looks": "{{thing.hint}}", "seconds": "{{path.total_seconds}}", "times": "{{path.trajectory | length}}"}
    row |= {"start_time": "{{thing.first_time}}", "evidence": "{{path.evidence}}"}
    each = {"type": "loop", "loop_over": "people", "as": "thing", "max_items": 200, "save_as": "rows",
            "do": [path, {"type": "set", "value": row, "save_as": "row"}]}  # fmt: skip
    return made("find_longest", "Which person is seen longest.", VIDEO, {"looks": ("string", "one.looks")},
                call("list_entities", "known"), keep("known.entities", "item.category == 'person'", "people"), each,
                *picked("pick_best", "rows", key=key), of("one"))  # fmt: skip


def fullest() -> Any:
    span = {key: "{{scene." + key + "}}" for key in PART}
    seen = call("detect_objects", "views", timestamp="{{scene.start_time}}", category="person", time_range=span)
    row = {**span, "people": "{{n}}"}
    each = {"type": "loop", "loop_over": "outline.scenes", "as": "scene", "max_items": 200, "save_as": "rows",
            "do": [seen, fold("count_distinct", "views.detections", "n", key="entity_id"),
                   {"type": "set", "value": row, "save_as": "row"}]}  # fmt: skip
    return made("find_fullest", "In which scene the most people are seen, and how many.", VIDEO, {"people": ("int", "one.people")},
                call("list_scenes", "outline"), each, *picked("pick_best", "rows", key="people"),
                {**NONE, "condition": "one.people > 0"}, of("rows"))  # fmt: skip


def wait(later: str, value: str) -> Any:
    return made("wait_until", "How many seconds after an event another one next begins.", EVENT | {"other_event": "string"},
                {"seconds_later": ("float", value)}, *done(), *done("other_event", "rest"), *picked("pick_earliest", "done"),
                keep("rest", later, "after"), *picked("pick_earliest", "after", "two"), of("one", "two"))  # fmt: skip


#: faulty tool, sound twin
REFUSED: dict[str, tuple[Any, Any]] = {
    "all left out": (actions(0.99), actions(0.1)),
    "first words": (
        first_said(fold("first", "found.candidates", "one")),
        first_said(fold("pick_earliest", "found.moments", "one")),
    ),
    "one frame": (people(), people(time_range=SPAN)),
    "longest": (longest("pick_best", key="end_time"), longest("pick_longest")),
    "counted twice": (
        seconds_with_people(LENGTHS, fold("sum", "lengths", "s", key="length")),
        seconds_with_people(fold("total_duration", "seen", "s")),
    ),
    "the one asked for": (
        others("item.entity_id == one.entity_id"),
        others("item.entity_id != one.entity_id"),
    ),
    "now and then": (now_and_then(10), always()),
    "moment": (
        visible_at("item.start_time <= at_time"),
        visible_at("item.start_time <= at_time and item.end_time >= at_time"),
    ),
    "least": (
        long_stays("item.end_time - item.start_time <= min_seconds"),
        long_stays("item.end_time - item.start_time >= min_seconds"),
    ),
    "next scene": (
        scene("item.start_time > one.end_time"),
        scene("item.start_time <= one.start_time and item.end_time > one.start_time"),
    ),
    "while": (
        meanwhile("item.start_time <= one.start_time"),
        meanwhile("item.start_time <= one.end_time and item.end_time >= one.start_time"),
    ),
    "repeated": (more_than_once(0), more_than_once(1)),
    "absent": (absence("there"), absence("not there")),
    "side": (side("leaves_to"), side("enters_from")),
    "rank": (most("times"), most("seconds")),
    "wait": (
        wait("item.start_time >= 0", "(two.start_time - one.end_time) | abs"),
        wait("item.start_time >= one.end_time", "two.start_time - one.end_time"),
    ),
}
NAMES = [f"{flaw}-{place}" for place, (flaw, _, _) in enumerate(WARNED)]


def verdict(verdicts: Any, document: Any) -> Verdict:
    found: Verdict = verdicts(document)[document["tool_name"]]
    return found


@pytest.mark.parametrize(("flaw", "faulty"), [one[:2] for one in WARNED], ids=NAMES)
def test_an_answer_that_lacks_or_exceeds_what_the_film_has_gets_the_warning_that_names_it(
    verdicts: Any, flaw: Flaw, faulty: Any
) -> None:
    told = verdict(verdicts, faulty)
    assert flaw in {item.code for item in told.weaknesses}, (told.explanation, told.notes, told.weaknesses)


@pytest.mark.parametrize("faulty", [one[0] for one in REFUSED.values()], ids=[*REFUSED])
def test_an_answer_that_a_known_film_contradicts_is_refused(verdicts: Any, faulty: Any) -> None:
    told = verdict(verdicts, faulty)
    assert told.reason in ("contradicts", "constant", "always_empty"), (told.explanation, told.notes, told.compared)


SOUND = {f"{name}-sound": one for name, one in zip(NAMES, (one[2] for one in WARNED), strict=True)}
SOUND |= {name: one[1] for name, one in REFUSED.items()}
SOUND["the number in one of several parts"] = fullest()
SOUND["as often as is asked for"] = at_least({"least_times": "int"})


@pytest.mark.parametrize("name", SOUND)
def test_the_sound_twin_of_each_is_admitted_without_a_warning(verdicts: Any, name: str) -> None:
    told = verdict(verdicts, SOUND[name])
    assert told.admitted, told.explanation
    assert told.weaknesses == ()

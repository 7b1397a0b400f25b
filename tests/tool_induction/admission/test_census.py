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


#: flaw, faulty tool, sound twin
WARNED: list[tuple[Flaw, Any, Any]] = [
    ("wrong_side", last_before("item.start_time <= before_time"), last_before("item.end_time <= before_time")),
    ("wrong_side", lead_up("one.start_time + 15"), lead_up("one.start_time")),
    ("finds_nothing", long_ones("item.end_time - item.start_time > 60"), long_ones("item.lacks | length == 0")),
    ("short_lists", counted(3), counted(1000)),
    ("other_person", deeds("item.entity_id is not none"), deeds("item.entity_id == who.entity_id")),
]


def first_said(pick: Step) -> Any:
    search = call("search_segments_by_text", "found", query='"{{words}}"', top_k=1000)
    return made("find_first_words", "When words are first said or shown.", VIDEO | {"words": "string"},
                {"first_time": ("Time", "one.start_time")}, search, pick, {**NONE, "condition": "one is not none"},
                of("one"))  # fmt: skip


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


def wait(later: str, value: str) -> Any:
    return made("wait_until", "How many seconds after an event another one next begins.", EVENT | {"other_event": "string"},
                {"seconds_later": ("float", value)}, *done(), *done("other_event", "rest"), *picked("pick_earliest", "done"),
                keep("rest", later, "after"), *picked("pick_earliest", "after", "two"), of("one", "two"))  # fmt: skip


#: faulty tool, sound twin
REFUSED: dict[str, tuple[Any, Any]] = {
    "best for first": (
        first_said(fold("first", "found.candidates", "one")),
        first_said(fold("pick_earliest", "found.moments", "one")),
    ),
    "all left out": (actions(0.99), actions(0.1)),
    "one frame": (people(), people(time_range=SPAN)),
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


@pytest.mark.parametrize("name", SOUND)
def test_the_sound_twin_of_each_is_admitted_without_a_warning(verdicts: Any, name: str) -> None:
    told = verdict(verdicts, SOUND[name])
    assert told.admitted, told.explanation
    assert told.weaknesses == ()

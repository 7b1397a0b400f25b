"""Answers that are compared with each other and with more facts: each faulty tool is found out, its sound twin is not."""

from __future__ import annotations

from typing import Any

import pytest

from tool_induction.admission import Flaw, Verdict

Step = dict[str, Any]
NONE = {"type": "require", "status": "empty", "reason": "nothing was found"}
LOOKS, EVENT = {"video_id": "string", "person": "string"}, {"video_id": "string", "event": "string"}
PEOPLE, EVENTS = LOOKS | {"other_person": "string"}, EVENT | {"other_event": "string"}
LATER, PART = {"after_time": "Time"}, {"start_time": "Time", "end_time": "Time"}
ABOUT = {
    "type": "call_world_api",
    "api": "get_video_metadata",
    "params": {"video_id": "{{video_id}}"},
    "save_as": "about",
}


def fold(operation: str, items: Any, name: str, **params: Any) -> Step:
    return {"type": "aggregate", "operation": operation, "inputs": items, "params": params, "save_as": name}


def keep(items: str, where: str, name: str) -> Step:
    return {"type": "filter", "inputs": items, "where": where, "save_as": name}


def found(text: str, name: str, source: str = "item.source == 'tracker'") -> list[Step]:
    params = {"video_id": "{{video_id}}", "query": "{{" + text + "}}", "top_k": 1000}
    search = {"type": "call_world_api", "api": "search_segments_by_text", "params": params, "save_as": f"{name}_hits"}
    return [search, keep(f"{name}_hits.moments", source, name)]


def done(text: str = "event", name: str = "done") -> list[Step]:
    return found(text, name, "item.source != 'tracker'")


def picked(operation: str, items: str, name: str = "one") -> list[Step]:
    return [fold(operation, items, name), {**NONE, "condition": f"{name} is not none"}]


def some(condition: str) -> Step:
    return {**NONE, "condition": condition}


def of(*items: str) -> Step:
    return fold("collect_evidence", list(items), "proof")


def made(name: str, says: str, inputs: Any, outputs: dict[str, tuple[str, str]], *steps: Step) -> Any:
    bound: dict[str, Any] = {
        key: {"type": kind, "from": "{{ " + value + " }}"} for key, (kind, value) in outputs.items()
    }
    bound["evidence"] = {"type": "list<Evidence>", "from": "{{ proof }}"}
    return {"tool_name": name, "description": says, "inputs": inputs, "outputs": bound, "steps": list(steps)}


def first_stay(length: str) -> Any:
    outputs = {key: ("Time", f"one.{key}") for key in PART} | {"duration": ("float", length)}
    total = fold("total_duration", "seen", "total")
    return made("find_first_stay", "The first stay of a person.", LOOKS, outputs, *found("person", "seen"),
                *picked("pick_earliest", "seen"), total, of("one"))  # fmt: skip


def returns(sign: str) -> Any:
    later = keep("seen", "{{ item.end_time " + sign + " after_time }}", "later")
    return made("check_returns", "Whether a person is seen after a moment.", LOOKS | LATER, {"seen": ("bool", "r")},
                *found("person", "seen"), later, fold("any", "later", "r"), of("seen"))  # fmt: skip


def is_before(comparison: str) -> Any:
    return made("check_before", "Whether an event happens before another one.", EVENTS, {"before": ("bool", comparison)}, *done(),
                *done("other_event", "rest"), *picked("pick_earliest", "done"), *picked("pick_earliest", "rest", "two"),
                of("one", "two"))  # fmt: skip


def first_seen(pick: str) -> Any:
    return made("find_first", "When a person is first seen.", LOOKS, {"first_time": ("Time", "one.start_time")},
                *found("person", "seen"), *picked(pick, "seen"), of("one"))  # fmt: skip


def long_stays(where: str) -> Any:
    return made("list_long_stays", "Every long stay of a person.", LOOKS, {"stays": ("list<record>", "long")},
                *found("person", "seen"), keep("seen", where, "long"), some("long | length > 0"), of("long"))  # fmt: skip


def someday(name: str) -> Any:
    return made("find_it", "When it is there.", {"video_id": "string", name: "string"}, {"when": ("Time", "one.start_time")},
                *found(name, "seen"), *picked("pick_earliest", "seen"), of("one"))  # fmt: skip


def share(of_what: str) -> Any:
    outputs = {"fraction": ("float", f"total / {of_what}")}
    return made("measure_share", "What fraction of the video a person is seen.", LOOKS, outputs, ABOUT, *found("person", "seen"),
                some("seen | length > 0 and about.duration > 0"), fold("total_duration", "seen", "total"), of("seen"))  # fmt: skip


def counted(number: str) -> Any:
    outputs = {"count": ("int", number), "stays": ("list<record>", "seen")}
    return made("count_stays", "How many times a person comes into view, with each stay.", LOOKS, outputs, *found("person", "seen"),
                some("seen | length > 0"), fold("count", "seen", "n"), fold("count_distinct", "seen", "kinds", key="source"),
                of("seen"))  # fmt: skip


#: flaw, faulty tool, sound twin
WARNED: list[tuple[Flaw, Any, Any]] = [
    ("inconsistent", first_stay("total"), first_stay("one.end_time - one.start_time")),
    ("inconsistent", counted("kinds"), counted("n")),
    ("fewer_if_wider", returns("<"), returns(">=")),
    ("not_symmetric", is_before("one.start_time <= two.start_time"), is_before("one.start_time < two.start_time")),
    ("changed_by_later", first_seen("pick_latest"), first_seen("pick_earliest")),
    ("no_effect", long_stays("{{ item.start_time >= 0 }}"), long_stays("{{ item.end_time - item.start_time >= 18 }}")),
    ("not_compared", someday("x"), someday("looks")),
    ("other_amount", share("about.duration / 3"), share("about.duration")),
]  # fmt: skip


def doer(who: str) -> Any:
    entities = {**ABOUT, "api": "list_entities", "save_as": "all"}
    outputs = {"entity_id": ("string", f"{who}.entity_id")}
    return made("find_doer", "Who does something.", EVENT, outputs, *done(), entities,
                keep("done", "item.entity_id is not none", "known"),
                *picked("pick_earliest", "known"), some("one.entity_id is not none"), *picked("first", "all.entities", "other"),
                of("one"))  # fmt: skip


def together(both: Step) -> Any:
    return made("measure_together", "How many seconds two people are seen together.", PEOPLE, {"seconds": ("float", "s")},
                *found("person", "seen"), *found("other_person", "rest"), both, fold("total_duration", "both", "s"),
                of("seen", "rest"))  # fmt: skip


CUT = fold("clamp", "rest", "cut", interval={key: "{{stay." + key + "}}" for key in PART})
OVERLAP = {"type": "loop", "loop_over": "seen", "as": "stay", "max_items": 60, "do": [CUT], "save_as": "both"}


def until(value: str) -> Any:
    return made("wait_for_return", "How many seconds after a moment a person is next seen.", LOOKS | LATER,
                {"seconds_until": ("float", value)}, *found("person", "seen"),
                fold("next_after", "seen", "one", time="{{after_time}}"), some("one is not none"), of("one"))  # fmt: skip


def extreme(pick: str) -> Any:
    outputs = {key: ("Time", f"one.{key}") for key in PART}
    return made("find_longest_stay", "The longest stay of a person.", LOOKS, outputs, *found("person", "seen"), *picked(pick, "seen"),
                of("one"))  # fmt: skip


def longer(operation: str) -> Any:
    each = [fold(operation, name, short) for name, short in (("seen", "a"), ("rest", "b"))]
    return made("tell_longer", "Which of two people is seen longer.", PEOPLE,
                {"longer": ("string", "person if a > b else other_person")}, *found("person", "seen"),
                *found("other_person", "rest"), *each, some("a > 0 or b > 0"), of("seen", "rest"))  # fmt: skip


def in_part(where: str) -> Any:
    return made("count_between", "How many times something is done between two moments.", EVENT | PART,
                {"count": ("int", "n")}, *done(), keep("done", where, "inside"), fold("count", "inside", "n"), of("done"))  # fmt: skip


def ends(start: str, end: str) -> Any:
    outputs = {"first_seen": ("Time", start), "last_seen": ("Time", end)}
    return made("find_ends", "When a person is first and last seen.", LOOKS, outputs, *found("person", "seen"),
                *picked("pick_earliest", "seen"), *picked("pick_latest", "seen", "two"), of("one", "two"))  # fmt: skip


INSIDE = "{{ item.start_time >= start_time and item.end_time <= end_time }}"
#: faulty tool, sound twin
REFUSED: dict[str, tuple[Any, Any]] = {
    "doer": (doer("other"), doer("one")),
    "together": (together(fold("concat_lists", ["seen", "rest"], "both")), together(OVERLAP)),
    "until": (until("one.start_time"), until("one.start_time - after_time")),
    "longest": (extreme("pick_latest"), extreme("pick_longest")),
    "longer": (longer("count"), longer("total_duration")),
    "part": (in_part("{{ item.start_time >= start_time or item.end_time <= end_time }}"), in_part(INSIDE)),
    "ends": (ends("two.end_time", "one.start_time"), ends("one.start_time", "two.end_time")),
    "range": (share("10"), share("about.duration")),
}
NAMES = [f"{flaw}-{place}" for place, (flaw, _, _) in enumerate(WARNED)]


def verdict(verdicts: Any, document: Any) -> Verdict:
    found: Verdict = verdicts(document)[document["tool_name"]]
    return found


@pytest.mark.parametrize(("flaw", "faulty"), [one[:2] for one in WARNED], ids=NAMES)
def test_a_tool_whose_answers_do_not_fit_together_gets_the_warning_that_names_it(
    verdicts: Any, flaw: Flaw, faulty: Any
) -> None:
    given = [item for item in verdict(verdicts, faulty).weaknesses if item.code == flaw]
    assert given
    assert all(item.message and item.suggestion for item in given)


@pytest.mark.parametrize("faulty", [one[0] for one in REFUSED.values()], ids=[*REFUSED])
def test_a_tool_whose_amounts_order_or_doer_contradict_the_films_is_refused(verdicts: Any, faulty: Any) -> None:
    told = verdict(verdicts, faulty)
    assert told.reason == "contradicts", (told.explanation, told.notes)


SOUND = {f"{name}-sound": one for name, one in zip(NAMES, (one[2] for one in WARNED), strict=True)}
SOUND |= {name: one[1] for name, one in REFUSED.items()}


@pytest.mark.parametrize("name", SOUND)
def test_the_sound_twin_is_admitted_without_a_warning(verdicts: Any, name: str) -> None:
    told = verdict(verdicts, SOUND[name])
    assert told.admitted, told.explanation
    assert told.weaknesses == ()


def test_a_verdict_says_how_many_answers_of_each_output_were_compared(verdicts: Any) -> None:
    record = verdict(verdicts, first_seen("pick_earliest")).record()
    assert record["compared"]["first_time"] > 0
    assert "evidence" not in record["compared"]

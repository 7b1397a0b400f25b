"""The oracle ladder: one operation answered from the truth, the others from what was perceived, in the perceived world's ids."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.digest import digest_of
from controller.records import Journal, answer_recorded, replay_recorded
from controller.systems import SystemContext
from eval.runs import open_ladder, operations_on
from eval.tables import SampleRow, ladder_of
from tests.support.sample_rows import sample_row
from tool_induction import LibraryTools, compile_document
from world_api import SystemClock
from world_api.api import open_session
from world_api.chat import RuleBasedChatModel
from world_api.core import EvalFault, OperationFault
from world_api.operations import run
from world_api.session import Session

VIDEO = {"video_id": "made"}
DOCUMENT = {
    "tool_name": "everybody",
    "description": "Lists who is there. Use for counting. Not for times.",
    "inputs": {"video_id": "string"},
    "outputs": {"people": {"type": "list<record>", "from": "{{ found.entities }}"}},
    "steps": [
        {"type": "call_world_api", "api": "list_entities", "params": {"video_id": "{{video_id}}"}, "save_as": "found"}
    ],
}


def walk(track: str, times: list[float], **facts: Any) -> list[dict[str, Any]]:
    """Somebody who walks to the right from 100 pixels on, 20 pixels a second, each 22 s again; all worlds agree on where."""
    return [
        {
            "track": track, "time": time,
            "x1": 100.0 + 20 * ((time - 22) % 22), "y1": 60.0, "x2": 160.0 + 20 * ((time - 22) % 22), "y2": 260.0,
            "known_at": time, "category": "person", "confidence": 0.8, "colours": ["black"], "producer": "made/1", **facts,
        }
        for time in times
    ]  # fmt: skip


def half_seconds(start: float, end: float) -> list[float]:
    return [start + number / 2 for number in range(int((end - start) * 2) + 1)]


@pytest.fixture
def stores(make_world: Any, minute_rows: Any, tmp_path: Path) -> tuple[Path, Path]:
    """Ann walks for ten seconds and is perceived as two; Bob is never perceived; at 50 s something is perceived that is nothing."""
    perceived = [
        *walk("t0000_01", half_seconds(22, 25)),
        *walk("t0000_02", half_seconds(28, 32)),
        *walk("t0001_09", half_seconds(50, 54), colours=["green"]),
    ]
    true = [
        *walk("ann", half_seconds(22, 32)),
        *walk("bob", half_seconds(5, 12), colours=["red"]),
    ]
    for name, rows in (("classical", perceived), ("oracle", true)):
        type(make_world)(tmp_path / name)({**minute_rows, "sightings": rows})
    return tmp_path / "classical", tmp_path / "oracle"


@pytest.fixture
def on(stores: tuple[Path, Path]) -> Any:
    """Opens a session on a step."""
    return lambda step, **more: open_ladder(stores[0], "made", step, oracle=stores[1], **more)


def listed(session: Session) -> list[str]:
    return [item["entity_id"] for item in run(session, "list_entities", VIDEO)["entities"]]


def stretches(session: Session, entity: str) -> list[tuple[float, float]]:
    found = run(session, "get_entity_trajectory", {**VIDEO, "entity_id": entity})["trajectory"]
    return [(item["start_time"], item["end_time"]) for item in found]


def test_only_the_operation_that_is_named_is_answered_from_the_truth(on: Any, stores: tuple[Path, Path]) -> None:
    plain = open_session(stores[0], "made", name=None)
    session = on("list_entities")
    assert listed(plain) == ["ent_t0000_01", "ent_t0000_02", "ent_t0001_09"]
    assert listed(session) == ["ent_bob", "ent_t0000_02"]  # Ann under the id of what is perceived of her for longest
    assert stretches(session, "ent_t0000_01") == stretches(plain, "ent_t0000_01") == [(22.0, 25.0)]


def test_each_part_of_somebody_is_answered_as_the_whole(on: Any) -> None:
    session = on("get_entity_trajectory")
    assert stretches(session, "ent_t0000_01") == stretches(session, "ent_t0000_02") == [(22.0, 32.0)]


def test_what_is_nothing_in_truth_is_unknown_there(on: Any) -> None:
    with pytest.raises(OperationFault, match="nothing that is there") as fault:
        stretches(on("get_entity_trajectory"), "ent_t0001_09")
    assert fault.value.code == "unknown_entity"


def test_who_was_not_perceived_is_known_where_the_truth_answers_and_unknown_elsewhere(on: Any) -> None:
    assert stretches(on("entities"), "ent_bob") == [(5.0, 12.0)]
    with pytest.raises(OperationFault):
        stretches(on("list_entities"), "ent_bob")


def test_the_id_of_who_was_not_perceived_tells_neither_name_nor_looks() -> None:
    """In made films: names are heard, so an id that told one would hand it to whatever is not answered from the truth."""
    from eval.sandbox import tell

    film, facts = (story := tell(3, 2, split="test")).film, story.facts
    for subject, track in film.tracks().items():
        assert track[1:].isdecimal()
        assert not any(person.name in subject.description for person in facts.people)


def test_a_moment_is_told_in_the_id_of_what_is_perceived_then(on: Any) -> None:
    for time, expected in ((23.0, "ent_t0000_01"), (30.0, "ent_t0000_02")):
        found = run(on("detect_objects"), "detect_objects", {**VIDEO, "timestamp": time, "category": "person"})
        assert [item["entity_id"] for item in found["detections"]] == [expected]


def test_registering_from_the_truth_is_known_to_the_session(on: Any) -> None:
    session = on("register_entity")
    found = run(session, "register_entity", {**VIDEO, "timestamp": 30.0, "entity_hint": "the person in black"})
    assert found["entity_id"] == "ent_t0000_02"
    assert stretches(session, "ent_t0000_02") == [(28.0, 32.0)]
    unseen = run(session, "register_entity", {**VIDEO, "timestamp": 8.0, "entity_hint": "the person in red"})
    assert unseen["entity_id"] == "ent_bob"
    assert stretches(session, "ent_bob") == [(8.0, 8.04)]  # known from that frame, followed by nobody
    assert session.revision == 2


def test_tools_of_a_library_meet_the_same_truth(on: Any) -> None:
    session = on("list_entities")
    tools = dict(compile_document(DOCUMENT).tools)
    result = LibraryTools(tools, call=partial(run, session), world=session).call_tool("everybody", dict(VIDEO))
    assert [item["entity_id"] for item in result["outputs"]["people"]] == ["ent_bob", "ent_t0000_02"]


def test_what_is_remembered_of_one_step_is_not_taken_for_another(on: Any, stores: tuple[Path, Path]) -> None:
    plain = open_session(stores[0], "made", name=None)
    keys = {plain.memo_key, on("list_entities").memo_key, on("detect_objects").memo_key}
    assert len(keys) == 3
    assert on("list_entities").memo_key == on("list_entities").memo_key


def test_the_digest_tells_of_the_entities_that_the_operation_would_list(on: Any) -> None:
    digest = digest_of(on("list_entities"), 800)
    assert digest is not None
    assert [item["entity_id"] for item in digest["persons"]] == ["ent_bob", "ent_t0000_02"]


def test_an_episode_says_who_stood_in_and_replays_byte_for_byte(on: Any, tmp_path: Path) -> None:
    question = Question(text="How many people are there?", kind="count")
    context = SystemContext(model=RuleBasedChatModel(), clock=SystemClock())
    journal = Journal(tmp_path / "records")
    episode, name = answer_recorded(
        question, on("detect_objects+list_entities"), system="flat", context=context, journal=journal
    )
    assert episode.value == 2
    assert episode.task.settings["stood_in"]["detect_objects"]["profile"] == "classical"  # as the made world says
    assert replay_recorded(journal, name).identical


def test_the_causal_cut_holds_for_the_truth_too(on: Any) -> None:
    assert stretches(on("entities", as_of=25.0), "ent_t0000_01") == [(22.0, 25.0)]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("detect_objects", ("detect_objects",)),
        ("perception", ("describe_segment", "detect_objects", "recognize_actions")),
        ("list_entities+get_video_metadata", ("list_entities", "get_video_metadata")),
    ],
)
def test_a_step_is_an_operation_a_category_or_several_of_them(step: str, expected: tuple[str, ...]) -> None:
    assert operations_on(step) == expected


def test_everything_is_all_but_the_callers_own_memory() -> None:
    named = operations_on("all")
    assert "search_segments_by_text" in named
    assert not {"write_memory", "read_memory"} & set(named)


@pytest.mark.parametrize("step", ["", "detect", "write_memory", "perception+", "detect_objects,list_scenes"])
def test_a_step_that_there_is_not_is_refused_with_those_there_are(step: str, on: Any) -> None:
    with pytest.raises(EvalFault) as fault:
        on(step)
    assert fault.value.code == "unknown_rung"
    assert "perception" in fault.value.hint


def row(arm: str, world: str, item: int, *, correct: bool) -> SampleRow:
    return sample_row(arm, str(item), world=world, correct=correct, video=f"film{item % 5}")


def test_all_that_is_lost_is_lost_somewhere() -> None:
    right = {  # of twenty questions, those below the number
        ("hier", "classical"): 6,
        ("hier", "oracle:perception"): 10,
        ("hier", "oracle:retrieval"): 7,
        ("hier", "oracle"): 13,
        ("flat", "oracle"): 15,
    }
    rows = [row(*key, item, correct=item < number) for key, number in right.items() for item in range(20)]
    losses = ladder_of(rows, arm="hier")
    assert {loss.questions for loss in losses} == {20}
    lost = {(loss.part, loss.step): round(loss.lost.estimate, 6) for loss in losses}
    assert lost == {
        ("operation", "perception"): 0.2,
        ("operation", "retrieval"): 0.05,
        ("together", ""): 0.1,
        ("tools", ""): 0.1,
        ("controller", ""): 0.25,
    }
    assert sum(lost.values()) == pytest.approx(1 - 0.3)


def test_a_ladder_needs_both_ends() -> None:
    rows = [row("flat", "classical", item, correct=True) for item in range(4)]
    assert ladder_of(rows, arm="flat") == []

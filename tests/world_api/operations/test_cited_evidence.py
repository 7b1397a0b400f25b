"""What results cite: the part that lies in the entry, each entry, and a word where something is left out."""

from __future__ import annotations

from typing import Any

from tests.conftest import WorldMaker, made_rows, sightings, steps
from world_api.api import open_session
from world_api.operations import run
from world_api.session import Session


def opened(make_world: WorldMaker, *, inspecting: bool = False, **rows: list[dict[str, Any]]) -> Session:
    """A session on the made minute, with some tables changed."""
    make_world(made_rows() | rows)
    groups = frozenset({"inspect"} if inspecting else ())
    return open_session(make_world.store, "made", name=None, groups=groups)


def ask(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    return run(session, name, {"video_id": "made", **arguments})


def crowd(count: int) -> list[dict[str, Any]]:
    """So many people, one after the other, a second each."""
    return [row for n in range(count) for row in sightings(f"t{n:04d}_01", steps(float(n), n + 1.0), x=0.0)]


def test_the_evidence_of_a_hit_is_the_part_that_lies_inside_the_hit(make_world: WorldMaker) -> None:
    session = opened(
        make_world, sightings=sightings("t0000_01", steps(22.0, 48.0), step=1.0), speech=[], screen_texts=[]
    )
    found = ask(session, "search_segments_by_text", query="a person in black", top_k=9)
    cited = list(zip(found["candidates"], found["evidence"], strict=True))
    assert len(cited) > 2
    assert all(piece["start_time"] == max(hit["start_time"], 22.0) for hit, piece in cited)
    assert all(min(hit["end_time"], 48.0) <= piece["end_time"] <= hit["end_time"] for hit, piece in cited)
    assert all(piece["start_time"] <= piece["frame_time"] < piece["end_time"] for piece in found["evidence"])


def test_a_description_cites_nothing_outside_its_stretch(make_world: WorldMaker) -> None:
    session = opened(make_world)
    pieces = ask(session, "describe_segment", start_time=23.0, end_time=24.0)["evidence"]
    assert {(piece["start_time"], piece["end_time"]) for piece in pieces} == {(23.0, 24.0)}
    assert {piece["source"] for piece in pieces} == {"speech", "tracker"}


def test_a_list_cites_each_of_its_entries(make_world: WorldMaker) -> None:
    session = opened(make_world, sightings=crowd(30))
    people = ask(session, "list_entities")
    assert [(item["first_time"], item["last_time"]) for item in people["entities"]] == [
        (piece["start_time"], piece["end_time"]) for piece in people["evidence"]
    ]
    assert len(people["evidence"]) == 30
    done = ask(session, "recognize_actions", start_time=0.0, end_time=20.0)
    assert len(done["evidence"]) == len(done["actions"]) == 57


def test_a_description_cites_all_that_it_rests_on(make_world: WorldMaker) -> None:
    made = {"confidence": 0.5, "producer": "made/1"}
    many = [{"start": n / 10, "end": n / 10 + 0.1, "text": f"step {n}", "known_at": 60.0, **made} for n in range(100)]
    session = opened(make_world, captions=many, sightings=[], screen_texts=[])
    assert len(ask(session, "describe_segment", start_time=0.0, end_time=10.0)["evidence"]) == 100


def test_a_segment_has_all_its_matching_lines(make_world: WorldMaker) -> None:
    line = made_rows()["speech"][0]
    said = [line | {"start": 20.0 + n / 4, "end": 20.2 + n / 4, "text": f"hello {n}"} for n in range(20)]
    session = opened(make_world, inspecting=True, speech=said)
    for name, key, more in (("scan_segments", "matches", {}), ("search_segments_by_text", "candidates", {"top_k": 1})):
        assert len(ask(session, name, query="hello", **more)[key][0]["matching_lines"]) == 20


def test_what_is_registered_is_cited_at_the_moment_when_it_was_seen(make_world: WorldMaker) -> None:
    session = opened(make_world)
    [piece] = ask(session, "register_entity", timestamp=27.9, entity_hint="a person")["evidence"]
    assert piece["start_time"] <= piece["frame_time"] == 28.0 <= piece["end_time"] < 28.4

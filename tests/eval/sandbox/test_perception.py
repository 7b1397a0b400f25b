"""A small film, drawn, encoded, built from its pixels, and measured against its truth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from eval.commands.datasets import sandbox_app as app
from eval.sandbox import TruthWriter, encode_film, plan_of
from eval.sandbox.perception import (
    Drawn,
    MatchCounts,
    Perceived,
    measure,
    moments_agree,
    owner_of,
    plain,
    step_of,
    table_of,
)
from eval.sandbox.script import Actor, Card, Carry, Film, Gesture, Look, Performance, Prop, Resting, Room, Shot, Walk
from tests.support.building import Silent
from world_api import SystemClock
from world_api.api import build_world, open_session
from world_api.build import Truth, read_truth
from world_api.core import EvalFault, TimeSpan
from world_api.core.spans import spans_iou
from world_api.world import View

pytestmark = [pytest.mark.media]

MIA = Actor(name="Mia", look=Look(coat="red", trousers="blue", hair="black", hair_style="bun", skin="light"), pitch=205)
TOM = replace(MIA, name="Tom", look=replace(MIA.look, coat="white", trousers="brown", hair="grey"))
BOX = Prop(name="green box", category="box", colour="green")


def visit(actor: Actor, kind: Any, variant: int) -> Shot:
    """Somebody comes in, puts a box down, and goes out at the other side."""
    plan = plan_of(kind, variant)
    spot = plan.spots[0]
    walks = (
        Walk(start=2.0, end=6.0, origin=plan.left, goal=spot.stand),
        Walk(start=8.0, end=12.0, origin=spot.stand, goal=plan.right),
    )
    put = Gesture(
        start=6.4, end=7.6, kind="puts down", label="puts it down", facing=spot.facing, place=spot.place, prop=BOX
    )
    return Shot(
        room=Room(kind=kind, name=kind, sign=f"{kind.upper()} 7", clock="10:25", variant=variant, seed=variant),
        duration=12.5,
        caption="somebody brings a box",
        performances=(
            Performance(actor=actor, walks=walks, gestures=(put,), carries=(Carry(start=0.0, end=7.0, prop=BOX),)),
        ),
        resting=(Resting(start=7.0, end=12.5, prop=BOX, place=spot.place),),
    )


FILM = Film(
    title="two visits",
    frame_rate=8,
    parts=(
        visit(MIA, "office", 9),
        visit(TOM, "kitchen", 12),
        Card(title="DONE", subtitle="at last", duration=5.0, caption=""),
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("perceived")
    truth = TruthWriter(FILM)
    silence = np.zeros(round(FILM.duration * 24_000), np.float32)
    encode_film(made / "two.mp4", FILM, truth, silence)
    truth.write(made / "two.truth.json")
    return made


@pytest.fixture(scope="module")
def truth(folder: Path) -> Truth:
    return read_truth(folder / "two.truth.json")


@pytest.fixture(scope="module")
def view(folder: Path) -> View:
    build_world(folder / "two.mp4", folder / "worlds", progress=Silent(), clock=SystemClock())
    return open_session(folder / "worlds", "two", name=None).view


@pytest.fixture(scope="module")
def perceived(view: View, truth: Truth) -> Perceived:
    return measure(view, truth)


def test_scenes_people_and_texts_of_a_drawn_film_are_perceived(perceived: Perceived) -> None:
    assert perceived.scene_cuts.f1 == perceived.shot_cuts.f1 == 1.0
    assert [person.name for person in perceived.people] == ["s0002", "s0003"]
    assert all(person.presence >= 0.8 for person in perceived.people)
    assert all(person.visit_iou >= 0.8 for person in perceived.people)
    assert perceived.texts.recall >= 0.9, perceived.unread


def test_a_truth_that_lies_is_found_out(view: View, truth: Truth) -> None:
    mia, tom = (track for track in truth.tracks if track.category == "person")
    swapped = truth.model_copy(
        update={
            "cuts": tuple(time + 1.0 for time in truth.cuts),
            "screen_text": tuple(text.model_copy(update={"text": text.text + "9"}) for text in truth.screen_text),
            "tracks": (mia.model_copy(update={"sightings": [
                sighting.model_copy(update={"time": sighting.time + 6.0}) for sighting in mia.sightings]}), tom),
        }
    )  # fmt: skip
    found = measure(view, swapped)
    assert found.shot_cuts.right == 0
    assert found.texts.right == 0
    assert found.texts.found > 0
    assert found.weakest is not None
    assert found.weakest.name == "s0002"
    assert found.weakest.presence < 0.5


def test_an_entity_belongs_to_whom_its_places_say_and_else_to_nobody(view: View, truth: Truth) -> None:
    drawn = [Drawn.of(track, step_of(truth.tracks)) for track in truth.tracks if track.category == "person"]
    first = min((track for track in view.tracks if track.category == "person"), key=lambda track: track.span.start)
    assert owner_of(first, drawn) == "s0002"
    elsewhere = [replace(one, boxes=one.boxes + np.array([300.0, 0.0, 300.0, 0.0])) for one in drawn]
    assert owner_of(first, elsewhere) is None


def test_the_command_prints_a_table_and_the_same_as_json(folder: Path, perceived: Perceived) -> None:
    printed = CliRunner().invoke(app, ["check", str(folder)])
    assert printed.exit_code == 0
    assert "two" in printed.output
    assert "seen worst is" in printed.output
    assert printed.stdout.strip().endswith(table_of([perceived]).splitlines()[-1])
    record = json.loads(CliRunner().invoke(app, ["check", str(folder), "--json"]).stdout)
    assert record["films"][0]["presence_iou"] == pytest.approx(perceived.presence, abs=1e-3)
    assert record["films"][0]["scene_cuts_f1"] == 1.0


def test_presence_is_of_all_entities_together_and_a_visit_of_one(perceived: Perceived) -> None:
    one, other = perceived.people
    in_pieces = replace(one, presence=1.0, visits=3, visit_iou=0.5, returns=MatchCounts(right=1, found=2, true=2))
    whole = replace(other, presence=1.0, visits=1, visit_iou=1.0, returns=MatchCounts(right=0, found=0, true=1))
    film = replace(perceived, people=(in_pieces, whole))
    assert (film.presence, film.visit_iou) == (1.0, 0.625)
    assert film.record()["visit_iou"] == 0.625
    head, row, *_ = table_of([film, film]).splitlines()
    assert row.split()[3:5] == ["1.00", "0.62"]
    assert head.split()[-1] == "returns"
    assert "2/6" in table_of([film, film])  # of both films


def test_what_cards_say_is_told_apart_from_what_is_read_in_rooms(view: View, truth: Truth) -> None:
    scenes = tuple(scene.model_copy(update={"caption": "A card: The end."}) for scene in truth.scenes)
    found = measure(view, truth.model_copy(update={"scenes": scenes}))
    assert found.texts.true == len(truth.screen_text) > found.texts_in_rooms.true == 0
    assert 0 < found.texts.precision <= 1


def test_a_folder_without_films_is_a_named_fault(tmp_path: Path) -> None:
    from eval.sandbox.perception import check_films

    with pytest.raises(EvalFault, match="no_films"):
        check_films(tmp_path, tmp_path / "worlds", tell=lambda text: None)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [101, 102, 103, 104, 105, 106])
def test_films_of_seeds_that_nothing_was_made_for_are_perceived(seed: int, tmp_path: Path) -> None:
    from eval.sandbox import make_film
    from eval.sandbox.perception import PRESENCE_GOAL, SCENES_GOAL, TEXT_GOAL, check_films

    make_film(tmp_path, seed=seed, minutes=3, split="test")
    [film] = check_films(tmp_path, tmp_path / "worlds", tell=lambda text: None)
    assert film.scene_cuts.f1 >= SCENES_GOAL
    assert film.presence >= PRESENCE_GOAL
    assert film.texts.recall >= TEXT_GOAL


def spans(*pairs: tuple[float, float]) -> list[TimeSpan]:
    return [TimeSpan(start=start, end=end) for start, end in pairs]


def test_moments_are_matched_one_to_one_within_the_tolerance() -> None:
    found = moments_agree([1.0, 1.05, 5.0, 9.5], [1.02, 5.1, 8.0], tolerance=0.2)
    assert found == MatchCounts(right=2, found=4, true=3)
    assert found.precision == 0.5
    assert found.recall == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(4 / 7)


def test_the_nearest_pair_is_matched_first() -> None:
    assert moments_agree([1.0, 1.3], [1.2], tolerance=0.25).right == 1
    assert moments_agree([0.0, 0.4], [0.2, 0.6], tolerance=0.2).right == 2


def test_where_nothing_is_true_and_nothing_found_all_is_right() -> None:
    assert moments_agree([], [], tolerance=0.1).f1 == 1.0
    assert moments_agree([1.0], [], tolerance=0.1).f1 == 0.0
    assert moments_agree([], [1.0], tolerance=0.1).recall == 0.0


def test_stretches_count_once_however_they_overlap() -> None:
    assert spans_iou(spans((0, 4), (2, 6)), spans((3, 9))) == pytest.approx(3 / 9)
    assert spans_iou(spans((0, 1), (8, 9)), spans((0, 1), (8, 9))) == 1.0
    assert spans_iou(spans((0, 1)), spans((1, 2))) == 0.0
    assert spans_iou([], []) == 0.0


def test_texts_are_compared_by_letters_and_figures() -> None:
    assert plain(" Office 14 ") == plain("OFFICE-14")
    assert plain("09:15") != plain("09:16")
    assert plain("会议 10") == "会议10"

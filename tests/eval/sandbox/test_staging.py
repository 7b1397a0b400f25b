"""Where people are at a moment, and how they stand."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from eval.sandbox import WIDTH, Film, Performance, Shot, cast, lost_folder, questions
from eval.sandbox.figures import arm_towards
from eval.sandbox.renderer import people_at, size_at, step_times, walked

SEEDS = range(25)


def _performances(film: Film) -> list[tuple[Shot, Performance]]:
    return [(shot, performance) for _, shot in film.shots() for performance in shot.performances]


@pytest.mark.parametrize("seed", SEEDS)
def test_any_seed_gives_people_who_can_be_told_apart(seed: int) -> None:
    chosen = cast(seed)
    actors = (chosen.owner, chosen.finder, chosen.reader)
    coats = {actor.look.coat for actor in actors}
    assert len({actor.name for actor in actors}) == 3
    assert len(coats) == 3
    assert chosen.folder.colour not in coats


def test_the_same_seed_gives_the_same_film_and_another_seed_another() -> None:
    assert lost_folder(7) == lost_folder(7)
    assert lost_folder(7) != lost_folder(8)


def test_every_part_begins_on_a_frame_and_the_film_is_about_a_minute_long() -> None:
    film = lost_folder(7)
    assert 60 <= film.duration <= 75
    for start, _ in film.placed():
        assert start * film.frame_rate == round(start * film.frame_rate)


def test_every_room_is_empty_for_two_seconds_before_somebody_enters() -> None:
    for shot, performance in _performances(lost_folder(7)):
        assert performance.walks[0].start >= 2.0
        for time in (0.0, 1.0, 1.9):
            assert all(not -40 < stance.feet[0] < WIDTH + 40 for stance in people_at(shot, time))


def test_people_walk_at_the_pace_of_people() -> None:
    for _, performance in _performances(lost_folder(7)):
        for walk in performance.walks:
            pixels = math.dist(walk.origin, walk.goal) / (walk.end - walk.start)
            metres = pixels / size_at(walk.goal[1]) * 1.7
            assert 0.7 <= metres <= 2.0, f"{performance.actor.name} walks {metres:.2f} m/s"


def test_the_gait_follows_the_ground_that_is_covered() -> None:
    _, performance = _performances(lost_folder(7))[0]
    walk = performance.walks[0]
    distance = math.dist(walk.origin, walk.goal)
    assert walked(performance, walk.start) == 0
    assert walked(performance, (walk.start + walk.end) / 2) == pytest.approx(distance / 2)
    assert walked(performance, walk.end) == pytest.approx(distance)
    assert all(walk.start < time < performance.walks[-1].end for time in step_times(performance))


def test_a_standing_person_does_not_stride_and_a_walking_one_does() -> None:
    shot, performance = _performances(lost_folder(7))[0]
    walk = performance.walks[0]
    [walking] = people_at(shot, (walk.start + walk.end) / 2)
    [standing] = people_at(shot, walk.end + 0.1)
    assert walking.pose.stride == 1.0
    assert standing.pose.stride == 0.0
    assert standing.feet == walk.goal


@pytest.mark.parametrize("facing", [1, -1])
def test_a_hand_reaches_what_is_near_enough(facing: int) -> None:
    arm = arm_towards((300 + facing * 40, 240.0), (300.0, 330.0), 185.0, facing)
    hand = (
        300 + facing * 185 * (-0.035 + 0.165 * math.sin(arm.upper) + 0.172 * math.sin(arm.fore)) + facing * 4,
        330 - 185 * (0.775 - 0.165 * math.cos(arm.upper) - 0.172 * math.cos(arm.fore)) + 12,
    )
    assert hand == pytest.approx((300 + facing * 40, 240.0), abs=0.5)


def test_a_hand_towards_what_is_too_far_is_a_stretched_arm() -> None:
    arm = arm_towards((900.0, 240.0), (300.0, 330.0), 185.0, 1)
    assert arm.upper == pytest.approx(arm.fore, abs=0.2)


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_speaks_with_two_voices_at_once_and_every_line_is_in_its_shot(seed: int) -> None:
    for _, shot in lost_folder(seed).shots():
        lines = sorted(shot.lines, key=lambda line: line.start)
        assert all(first.end <= second.start for first, second in pairwise(lines))
        assert all(0 <= line.start < line.end <= shot.duration for line in lines)
        assert all(line.speaker in {item.actor for item in shot.performances} for line in lines)


@pytest.mark.parametrize("seed", SEEDS)
def test_questions_have_answers_and_spans_inside_the_film(seed: int) -> None:
    film, asked = lost_folder(seed), questions(seed)
    assert len({question.id for question in asked}) == len(asked) >= 3
    assert {question.task for question in asked} == {"A", "B", "C"}
    for question in asked:
        assert question.answer not in (None, "", [])
        assert question.spans
        assert all(0 <= start < end <= film.duration for start, end in question.spans)

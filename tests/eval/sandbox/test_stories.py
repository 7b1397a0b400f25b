"""Stories hang together: over many seeds nothing is said of a film that cannot be, and the script says the same as the facts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

import pytest

from eval.sandbox import FilmFacts, Story, plan_of, tell
from eval.sandbox.facts import Relation, Visit
from eval.sandbox.script import Card

_SEEDS = (*range(1, 30), 101, 4242, 99_999)
_LENGTHS = (1.0, 3.0, 8.0, 25.0)
STORIES = [(seed, _LENGTHS[number % len(_LENGTHS)]) for number, seed in enumerate(_SEEDS)]


@pytest.fixture(scope="module", params=_LENGTHS)
def stories(request: pytest.FixtureRequest) -> list[Story]:
    """Stories of one length."""
    return [tell(seed, minutes, split="test") for seed, minutes in STORIES if minutes == request.param]


def _overlapping(stretches: list[Relation] | list[Visit]) -> Iterator[tuple[object, object]]:
    ordered = sorted(stretches, key=lambda item: (item.start, item.end))
    for one, other in pairwise(ordered):
        if other.start < one.end - 1e-6:
            yield one, other


def _by(facts: FilmFacts, *kinds: str) -> dict[str, list[Relation]]:
    """Relations of these kinds, by the thing in them."""
    found: dict[str, list[Relation]] = defaultdict(list)
    for relation in facts.relations:
        if relation.kind in kinds:
            found[relation.object if relation.kind in {"holds", "wears"} else relation.subject].append(relation)
    return found


def test_a_thing_is_at_any_time_in_one_place_or_with_one_person(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        kept = _by(facts, "on", "inside", "holds", "wears")
        for thing in facts.things:
            stretches = sorted(kept[thing.id], key=lambda item: item.start)
            assert stretches[0].start == 0
            assert stretches[-1].end == pytest.approx(facts.duration)
            for one, other in pairwise(stretches):
                assert other.start == pytest.approx(one.end), (thing.id, one, other)


def test_nobody_holds_two_things_or_wears_two_hats_or_is_in_two_rooms(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        kinds = {thing.id: thing.category for thing in facts.things}
        for person in facts.people:
            worn = [item for item in facts.relations if item.kind == "wears" and item.subject == person.id]
            for kind in ("hat", "scarf"):
                assert list(_overlapping([item for item in worn if kinds[item.object] == kind])) == []
            held = [item for item in facts.relations if item.kind == "holds" and item.subject == person.id]
            rooms = [item for item in facts.relations if item.kind == "in" and item.subject == person.id]
            seen = [item for item in facts.visits if item.subject == person.id]
            assert list(_overlapping(held)) == []
            assert list(_overlapping(rooms)) == []
            assert list(_overlapping(seen)) == []


def test_whoever_acts_is_seen_where_they_act(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        for event in facts.events:
            for person in filter(None, (event.actor, event.other if event.kind == "gives" else "")):
                assert any(
                    visit.subject == person
                    and visit.place == event.place
                    and visit.start <= event.start + 0.05
                    and event.end <= visit.end + 0.05
                    for visit in facts.visits
                ), event


def test_somebody_is_on_screen_only_in_the_room_they_are_in(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        people = {person.id for person in facts.people}
        for visit in facts.visits:
            if visit.subject in people:
                assert any(
                    item.kind == "in" and item.subject == visit.subject and item.object == visit.place
                    and item.start <= visit.start + 0.05 and visit.end <= item.end + 0.05
                    for item in facts.relations
                ), visit  # fmt: skip
            assert any(
                scene.place == visit.place and scene.start <= visit.start and visit.end <= scene.end + 0.05
                for scene in facts.scenes
            ), visit


def test_whoever_is_in_a_room_that_is_shown_is_on_screen(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        people = {person.id for person in facts.people}
        for scene in facts.scenes:
            for item in facts.relations:
                start, end = max(item.start, scene.start), min(item.end, scene.end)
                if item.kind == "in" and item.object == scene.place and item.subject in people and end - start > 0.2:
                    assert any(
                        visit.subject == item.subject and visit.start <= start + 0.05 and visit.end >= end - 0.05
                        for visit in facts.visits
                    ), (scene, item)


def test_causes_come_before_their_effects(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        events = {event.id: event for event in facts.events}
        for cause in facts.causes:
            assert events[cause.cause].end <= events[cause.effect].start + 1.6, cause
            assert events[cause.cause].start < events[cause.effect].start, cause


def test_deeds_leave_the_state_that_they_say(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        for event in facts.events:
            holds = {(item.subject, item.start, item.end) for item in facts.relations if item.object == event.thing}
            middle = pytest.approx((event.start + event.end) / 2, abs=0.11)
            if event.kind in {"picks_up", "takes_off"}:
                assert any(who == event.actor and start == middle for who, start, _ in holds), event
            if event.kind == "gives":
                assert any(who == event.actor and end == middle for who, _, end in holds), event
                assert any(who == event.other and start == middle for who, start, _ in holds), event
            if event.kind == "puts_down":
                assert any(who == event.actor and end == middle for who, _, end in holds), event
                placed = [item for item in facts.relations if item.subject == event.thing and item.kind != "in"]
                assert any(item.start == middle and item.object == event.target for item in placed), event


def test_rules_are_never_broken(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        for fact in facts.facts:
            if fact.kind == "rule":
                things = {
                    item.id
                    for item in facts.things
                    if item.category == fact.values["category"]
                    and any(f"{fact.values['label']} label" in mark for mark in item.marks)
                }
                put = [event for event in facts.events if event.kind == "puts_down" and event.thing in things]
                assert len(put) == len(fact.spans) >= 2
                assert {(event.target, event.place) for event in put} == {(fact.values["target"], fact.values["place"])}


def test_habits_are_always_kept(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        for fact in facts.facts:
            if fact.kind == "habit":
                own = [
                    event
                    for event in facts.events
                    if event.actor == fact.values["person"] and event.place == fact.values["place"]
                ]
                if fact.values["habit"].startswith("wave"):
                    entered = [event.end for event in own if event.kind == "enters"]
                    waved = [event.start for event in own if event.kind == "waves"]
                    assert all(any(0 <= wave - end < 1.5 for wave in waved) for end in entered)
                    assert len(fact.spans) == len(entered)
                else:
                    seats = {event.target for event in own if event.kind == "sits"}
                    assert len(seats) == 1


def test_appointments_are_kept_at_their_time(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        for fact in facts.facts:
            if fact.kind == "appointment":
                met = fact.spans[-1]
                clocks = [text.text for text in facts.written if text.start <= met[0] < text.end]
                assert fact.values["time"] in clocks
                assert any(fact.values["time"] in event.words for event in facts.events if event.end <= met[0])


def test_clocks_never_go_back(stories: list[Story]) -> None:
    for story in stories:
        clocks = [shot.room.clock for _, shot in story.film.shots()]
        assert clocks == sorted(clocks)


def test_what_is_on_the_script_is_in_the_facts(stories: list[Story]) -> None:
    for story in stories:
        said = [(round(start + line.start, 1), line.text) for start, shot in story.film.shots() for line in shot.lines]
        assert said == [(event.start, event.words) for event in story.facts.events if event.kind == "says"]
        assert [round(start, 1) for start, _ in story.film.shots()] == [scene.start for scene in story.facts.scenes]
        assert story.facts.duration == pytest.approx(story.film.duration)
        assert abs(story.film.duration - story.facts.extras["minutes"] * 60) < 45


def test_everybody_on_a_script_walks_and_acts_inside_the_shot(stories: list[Story]) -> None:
    for story in stories:
        for _, shot in story.film.shots():
            plan = plan_of(shot.room.kind, shot.room.variant)
            names = {item.name for item in plan.openings}
            for opening in shot.openings:
                assert opening.target in names
                assert 0 <= opening.start < opening.end <= shot.duration
            for performance in shot.performances:
                for walk in performance.walks:
                    assert walk.start < walk.end <= shot.duration
                for one, other in pairwise(sorted(performance.walks, key=lambda walk: walk.start)):
                    assert one.end <= other.start + 1e-6
                    assert one.goal == other.origin or one.goal in (plan.left, plan.right)
                ordered = sorted(performance.gestures, key=lambda gesture: gesture.start)
                assert all(one.end <= other.start + 1e-6 for one, other in pairwise(ordered))
                for gesture in ordered:
                    assert gesture.end <= shot.duration
                    during = [
                        w for w in performance.walks if w.start < gesture.end - 1e-6 and gesture.start < w.end - 1e-6
                    ]
                    assert during == []


def test_a_room_is_shown_again_only_after_twenty_seconds_of_others(stories: list[Story]) -> None:
    for story in stories:
        left_at: dict[str, float] = {}
        for start, shot in story.film.shots():
            assert start - left_at.get(shot.room.name, -100.0) > 20, (story.facts.film, start)
            left_at[shot.room.name] = start + shot.duration


def test_nobody_is_in_a_room_before_or_after_the_camera_is(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        people = {person.id for person in facts.people}
        for scene in facts.scenes:
            for visit in facts.visits:
                if visit.subject in people and scene.start <= visit.start < scene.end:
                    assert visit.start > scene.start + 0.5
                    assert visit.end < scene.end - 0.1


def test_people_and_things_can_be_told_apart(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        assert len({person.description for person in facts.people}) == len(facts.people)
        assert (
            len({thing.name for thing in facts.things})
            == len({thing.id for thing in facts.things})
            == len(facts.things)
        )
        assert len({place.name for place in facts.places}) == len(facts.places)


def test_the_same_seed_tells_the_same_story_and_another_split_another() -> None:
    assert tell(3, 3, split="test") == tell(3, 3, split="test")
    assert tell(3, 3, split="test").facts.events != tell(3, 3, split="development").facts.events
    assert tell(3, 3, split="test").facts.film == "sandbox-test-0003"


def test_stories_differ_from_seed_to_seed() -> None:
    """No count and no order can be guessed: the commonest of each is no more than half."""
    short = [tell(seed, 3, split="test").facts for seed in range(200, 216)]
    for count in (
        [len(facts.scenes) for facts in short],
        [sum(event.kind == "picks_up" for event in facts.events) for facts in short],
        [Counter(event.actor for event in facts.events).most_common(1)[0][1] for facts in short],
    ):
        assert Counter(count).most_common(1)[0][1] <= len(short) / 2, count
    assert len({facts.scenes[0].place for facts in short}) > 2
    assert len({tuple(event.kind for event in facts.events[:6]) for facts in short}) > len(short) / 2


def test_a_story_of_ten_hours_is_told_from_end_to_end() -> None:
    story = tell(5, 600, split="induction")
    assert story.film.duration > 35_900
    assert sum(isinstance(part, Card) for part in story.film.parts) > 50
    starts = [event.start for event in story.facts.events]
    assert max(two - one for one, two in pairwise(starts)) < 60


@pytest.mark.parametrize("minutes", [0.5, 601])
def test_a_story_has_a_length_within_bounds(minutes: float) -> None:
    with pytest.raises(ValueError, match="1 to 600"):
        tell(1, minutes)

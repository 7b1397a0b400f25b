"""Check questions against the facts of their film along another way than they were made.

The words are read back by the question's template, each phrase must name one person, thing, room or event, and the answer is
found from the facts again: times by counting frames, the rest by going through events and relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from eval.datasets.items import Item
from eval.questions.drafts import KEEPING, does_so, facts_within, is_with_person, windows_of
from eval.questions.generator import domain_of
from eval.questions.phrasing import Chinese, English, Unsayable, Wording
from eval.sandbox.facts import Event, FilmFacts, Person, Place, Relation, Thing
from tool_induction.domains.domain import Template
from tool_induction.domains.guard import PLACEHOLDER
from world_api.core.spans import TimeSpan

_FRAMES = 20  #: moments a second at which is counted who is seen
_NEAR = 0.15  #: seconds that two ways of counting may differ
_BORDERLINE = 0.6  #: seconds about the ends of a stretch in which nobody may come or go
_INSIDE = 0.5  #: seconds that a moment lies inside of its range
_SAME, _OTHER = 0.06, 0.25  #: shares by which lengths may, and must, differ
_LEAST_SEEN = 0.9  #: seconds for which something must be seen to count
_WITHIN = {
    "en": re.compile(r"Consider only the part of the video from (\d+) s to (\d+) s\. (.*)", re.DOTALL),
    "zh": re.compile(r"只看视频的(\d+)秒到(\d+)秒这一段。(.*)", re.DOTALL),
}

_Item = TypeVar("_Item", Person, Thing, Place, Event)
_Frames: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is wrong with a question."""

    item: str
    message: str


class Unclear(Exception):
    """Words that name nothing in the film, or more than one thing; an answer that is not the only one."""


def check_items(items: Sequence[Item], facts: FilmFacts) -> list[Problem]:
    """What is wrong with questions about a film: nothing, if all is well.

    Of the options of a choice exactly one must be right.
    """
    lexicons: dict[tuple[str, TimeSpan | None], _Lexicon] = {}
    problems = []
    for item in items:
        try:
            _check(item, facts, lexicons)
        except Unclear as why:
            problems.append(Problem(item=item.id, message=str(why)))
    names = [item.id for item in items]
    return problems + [
        Problem(item=name, message="its id stands twice") for name in set(names) if names.count(name) > 1
    ]


def _check(item: Item, facts: FilmFacts, lexicons: dict[tuple[str, TimeSpan | None], _Lexicon]) -> None:
    if item.video_id != facts.film:
        raise Unclear(f"it is about {item.video_id}")
    if any(span.start < 0 or span.end > facts.duration + 1e-3 for span in item.spans):
        raise Unclear("its evidence lies outside of the film")
    language, window = str(item.labels.get("language")), None
    if found := _WITHIN[language].fullmatch(item.question.text):
        window = TimeSpan(start=float(found[1]), end=float(found[2]))
        if window not in windows_of(facts):
            raise Unclear(f"{window} is no window of the film")
        if any(span.start < window.start or span.end > window.end for span in item.spans):
            raise Unclear("its evidence lies outside of the part that is asked about")
        facts, item = facts_within(facts, window), replace(item, question=replace(item.question, text=found[3]))
    asked = _read(item, lexicons.setdefault((language, window), _Lexicon(facts, language)))
    check = _CHECKS.get(asked.type)
    if check is None:
        raise Unclear(f"nobody can check questions of type {asked.type}")
    right = check(asked)
    question = item.question
    if question.kind != "choice":
        if not right:
            raise Unclear(f"the answer is not {item.answer!r}")
        return
    if isinstance(right, bool):
        if question.options != asked.say.yes_no:
            raise Unclear(f"the options are not {list(asked.say.yes_no)}")
        right = [right, not right]
    letters = [letter for letter, is_right in zip(question.letters, right, strict=True) if is_right]
    if letters != [item.answer]:
        raise Unclear(f"right are {letters}, not {item.answer}: {question.text}")


# -- reading a question back


class _Lexicon:
    """From words to what they name in a film, in one language."""

    def __init__(self, facts: FilmFacts, language: str) -> None:
        self.facts = facts
        self.say: Wording = Chinese(facts) if language == "zh" else English(facts)
        self.people = _by_words(facts.people, self.say.name)
        self.things = _by_words(facts.things, self.say.name)
        self.places = _by_words(facts.places, self.say.name)

    @cached_property
    def events(self) -> dict[str, list[Event]]:
        """Events by clause and as nouns."""
        return _by_words(self.facts.events, self.say.clause, self.say.doing)

    @cached_property
    def deeds(self) -> dict[str, list[Event]]:
        """Events by what is done, in the base form and in the third person."""
        return _by_words(self.facts.events, self.say.deed, self.say.does)

    def pattern(self, slot: str) -> str:
        """What can stand in a slot, as a pattern: two slots may stand side by side."""
        if slot not in ("person", "other_person", "place"):
            return ".+?"
        names = list(self.places if slot == "place" else self.people)
        return "|".join(re.escape(words) for words in sorted(names, key=len, reverse=True))


def _by_words(items: Iterable[_Item], *ways: Callable[[_Item], str]) -> dict[str, list[_Item]]:
    found: dict[str, list[_Item]] = {}
    for item in items:
        for words in {said for way in ways if (said := _spoken(way, item))}:
            found.setdefault(words, []).append(item)
    return found


def _spoken(way: Callable[[_Item], str], item: _Item) -> str:
    """The words, empty if the language has none."""
    try:
        return way(item)
    except Unsayable:
        return ""


def _one(named: Mapping[str, list[_Item]], words: str) -> _Item:
    """The only thing that words name."""
    found = named.get(words, [])
    if len(found) != 1:
        raise Unclear(f"{words!r} names {len(found)} things of the film")
    return found[0]


@dataclass(frozen=True, kw_only=True)
class _ParsedQuestion:
    """A question, read: what stands in the slots of its template, and look-ups in its film."""

    item: Item
    words: _Lexicon
    type: str
    slots: Mapping[str, str]

    @property
    def say(self) -> Wording:
        return self.words.say

    @property
    def facts(self) -> FilmFacts:
        return self.words.facts

    @property
    def options(self) -> tuple[str, ...]:
        return self.item.question.options

    def person(self, slot: str = "person") -> Person:
        return _one(self.words.people, self.slots[slot])

    def thing(self) -> Thing:
        return _one(self.words.things, self.slots["object"])

    def place(self) -> Place:
        return _one(self.words.places, self.slots["place"])

    def event(self, slot: str = "event") -> Event:
        return _one(self.words.events, self.slots[slot])

    def subject(self) -> str:
        """The id of the person or thing that is asked about."""
        return self.person().id if "person" in self.slots else self.thing().id

    def frames(self, subject: str, place: str = "") -> _Frames:
        """At which moments a subject is on screen, in one room if one is given."""
        visits = [item for item in self.facts.visits if item.subject == subject and place in ("", item.place)]
        return self.during((item.start, item.end) for item in visits)

    def during(self, stretches: Iterable[tuple[float, float]]) -> _Frames:
        """The moments of some stretches."""
        frames = np.zeros(int(self.facts.duration * _FRAMES) + 1, dtype=bool)
        for start, end in stretches:
            frames[round(start * _FRAMES) : round(end * _FRAMES)] = True
        return frames

    def done_by(self, person: Person, words: str) -> list[Event]:
        """When somebody does what words say, in these words or in more, in order of time."""
        phrases = {item.verb_phrase for item in self.words.deeds.get(words, ())}
        if not phrases:
            raise Unclear(f"nobody does {words!r}")
        return [
            item
            for item in sorted(self.facts.events, key=lambda event: event.start)
            if item.actor == person.id and any(does_so(item, phrase) for phrase in phrases)
        ]

    def row(self, option: str) -> list[str]:
        """The parts of an option that tells several events."""
        return option.split(self.say.fill("row"))


def _read(item: Item, lexicon: _Lexicon) -> _ParsedQuestion:
    """The question by its template."""
    kinds = domain_of(item.domain or "").question_types
    template: Template | None = {one.id: one for kind in kinds for one in kind.templates}.get(item.template or "")
    if template is None or template.split != item.split:
        raise Unclear(f"{item.template!r} is no template of the split {item.split!r}")
    for wording in template.wordings:
        escaped = re.sub(r"[^\w\s{}]", lambda sign: re.escape(sign.group()), wording)
        pattern = PLACEHOLDER.sub(lambda slot: f"(?P<{slot.group(1)}>{lexicon.pattern(slot.group(1))})", escaped)
        if found := re.fullmatch(pattern, item.question.text):
            return _ParsedQuestion(
                item=item, words=lexicon, type=template.id.partition("/")[0], slots=found.groupdict()
            )
    raise Unclear(f"{item.question.text!r} does not read as {template.id} does")


# -- moments and stretches


def _runs(frames: _Frames) -> list[tuple[float, float]]:
    """The unbroken stretches, in seconds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], frames, [False]]).astype(int)))
    return [(first / _FRAMES, end / _FRAMES) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def _is_seen(frames: _Frames, start: float, end: float) -> bool:
    """Whether anything is seen in a stretch; what shows for a blink only, or only just outside, is unclear."""

    def seconds(first: float, last: float) -> float:
        low = max(0, round(first * _FRAMES))
        return float(frames[low : max(low, round(last * _FRAMES))].sum()) / _FRAMES

    inside, around = seconds(start, end), seconds(start - _BORDERLINE, end + _BORDERLINE)
    if (inside == 0) != (around == 0) or 0 < inside < _BORDERLINE:
        raise Unclear("it is at a borderline")
    return inside > 0


def _is_at(
    asked: _ParsedQuestion, found: Sequence[tuple[float, float]], *, last: bool = False
) -> Sequence[bool] | bool:
    """Whether the answer is the first (or last) stretch found, or which range its beginning (or end) lies in."""
    if not found:
        raise Unclear("it is never seen")
    start, end = found[-1] if last else found[0]
    answer = asked.item.answer
    if asked.item.question.kind == "interval":
        return isinstance(answer, dict) and bool(
            abs(answer["start_time"] - start) <= _NEAR and abs(answer["end_time"] - end) <= _NEAR
        )
    return [_in_range(option, end if last else start) for option in asked.options]


def _in_range(option: str, moment: float) -> bool:
    start, end = (float(number) for number in re.findall(r"\d+", option))
    if (start <= moment <= end and not (start + _INSIDE <= moment or start == 0)) or abs(moment - end) < _INSIDE:
        raise Unclear(f"{moment} is at the end of a range")
    return start <= moment <= end


# -- domain A: locate and count


def _appearance(asked: _ParsedQuestion) -> Sequence[bool] | bool:
    return _is_at(asked, _runs(asked.frames(asked.subject())), last=asked.type == "last_appearance")


def _event_time(asked: _ParsedQuestion) -> Sequence[bool] | bool:
    found = asked.done_by(asked.person(), asked.slots["action"])
    if len(found) != 1:
        raise Unclear(f"it happens {len(found)} times")
    return _is_at(asked, [(found[0].start, found[0].end)])


def _words_time(asked: _ParsedQuestion) -> Sequence[bool] | bool:
    words = asked.slots["words"].casefold()
    found = [(item.start, item.end) for item in asked.facts.events if words in item.words.casefold() and item.words]
    if "read on screen" in asked.item.question.text or "屏幕上" in asked.item.question.text:
        found += [(item.start, item.end) for item in asked.facts.written if words in item.text.casefold()]
    if len(found) != 1:
        raise Unclear(f"the words are there {len(found)} times")
    return _is_at(asked, found)


def _together_time(asked: _ParsedQuestion) -> Sequence[bool] | bool:
    both = asked.frames(asked.person().id) & asked.frames(asked.person("other_person").id)
    return _is_at(asked, _runs(both))


def _distinct_count(asked: _ParsedQuestion) -> bool:
    facts, place = asked.facts, asked.place().id if "place" in asked.slots else ""
    if "things" in asked.slots:
        subjects = [item.id for item in facts.things if asked.say.kind_of_thing(item.category) == asked.slots["things"]]
    elif place:
        entering = {item.actor for item in facts.events if item.kind == "enters" and item.place == place}
        return bool(asked.item.answer == len(entering))
    else:
        subjects = [item.id for item in facts.people]
    return bool(asked.item.answer == sum(bool(asked.frames(name, place).any()) for name in subjects))


def _occurrence_count(asked: _ParsedQuestion) -> bool:
    return bool(asked.item.answer == len(asked.done_by(asked.person(), asked.slots["action"])))


def _visible_duration(asked: _ParsedQuestion) -> Sequence[bool]:
    """The option that is nearest, if no other is near."""
    seconds = float(asked.frames(asked.subject()).sum()) / _FRAMES
    offered = [float(re.findall(r"\d+", option)[0]) for option in asked.options]
    if sum(abs(length - seconds) < _OTHER * min(length, seconds) for length in offered) > 1:
        raise Unclear("two lengths are near")
    return [abs(length - seconds) <= max(0.6, _SAME * seconds) for length in offered]


def _presence(asked: _ParsedQuestion) -> bool:
    """Whether it is there: ever, after, before, between."""
    facts, slots = asked.facts, asked.slots
    if "object" in slots:
        named = [item for item in facts.things if asked.say.made_up(item.colour, item.category) == slots["object"]]
        return any(bool(asked.frames(item.id).any()) for item in named)
    seen, event = asked.frames(asked.person().id), asked.event()
    if "other_event" in slots:
        return _is_seen(seen, event.end, asked.event("other_event").start)
    is_before = "before" in asked.item.question.text or "之前" in asked.item.question.text
    return _is_seen(seen, 0.0, event.start) if is_before else _is_seen(seen, event.end, facts.duration)


def _place_count(asked: _ParsedQuestion) -> bool:
    rooms = [item.id for item in asked.facts.places if asked.frames(asked.person().id, item.id).any()]
    return bool(asked.item.answer == len(rooms))


# -- domain B: order and cause


def _pair_order(asked: _ParsedQuestion) -> Sequence[bool] | bool:
    """By their beginnings; neither may reach into the other."""
    event, other = asked.event(), asked.event("other_event")
    if event.end > other.start and other.end > event.start:
        raise Unclear("one goes on while the other does")
    if asked.options == asked.say.yes_no:
        return event.start < other.start
    first = min((event, other), key=lambda item: item.start)
    return [asked.say.clause(first) == option for option in asked.options]


def _sequence_order(asked: _ParsedQuestion) -> bool:
    question = asked.item.question
    lettered = dict(zip(question.letters, question.options, strict=True))
    starts = {letter: _one(asked.words.events, text).start for letter, text in lettered.items()}
    is_listed = all(f"({letter}) {text}" in question.text for letter, text in lettered.items())
    return is_listed and list(asked.item.answer) == sorted(starts, key=lambda letter: starts[letter])


def _beside(asked: _ParsedQuestion) -> Sequence[bool]:
    """The nearest event on one side: of all, or of somebody; or what somebody did because of it."""
    event = asked.event()
    if asked.item.template == "just_after/test/0":
        return _matching(asked, _effects(asked, event))
    person = asked.person().id if "person" in asked.slots else ""
    others = [item for item in asked.facts.events if item is not event and person in ("", item.actor)]
    if asked.type == "just_before":
        found = max((item for item in others if item.end <= event.start), key=lambda item: item.end, default=None)
    else:
        found = min((item for item in others if item.start >= event.end), key=lambda item: item.start, default=None)
    return _matching(asked, [] if found is None else [found])


def _between(asked: _ParsedQuestion) -> Sequence[bool]:
    event, other = asked.event(), asked.event("other_event")
    person = asked.person().id if "person" in asked.slots else ""
    inside = [item for item in asked.facts.events if event.end <= item.start and item.end <= other.start]
    own = [item for item in inside if person in ("", item.actor)]
    if asked.item.template == "between/development/0":
        rooms = {item.place for item in own if item.kind == "enters"}
        return [_one(asked.words.places, option).id in rooms for option in asked.options]
    return _matching(asked, own)


def _matching(asked: _ParsedQuestion, events: Iterable[Event]) -> list[bool]:
    """Which options tell one of the events: what somebody does if a person is asked about, else clauses."""
    way = asked.say.deed if "person" in asked.slots else asked.say.clause
    expected = {_spoken(way, item) for item in events}
    return [option in expected for option in asked.options]


def _cause(asked: _ParsedQuestion) -> Sequence[bool]:
    is_told = "event" in asked.slots
    effects = [asked.event()] if is_told else asked.done_by(asked.person(), asked.slots["action"])
    if len(effects) != 1:
        raise Unclear(f"it happens {len(effects)} times")
    reasons = {item.reason for item in asked.facts.causes if item.effect == effects[0].id}
    return [option in reasons for option in asked.options]


def _consequence(asked: _ParsedQuestion) -> Sequence[bool]:
    return _matching(asked, _effects(asked, asked.event()))


def _effects(asked: _ParsedQuestion, event: Event) -> list[Event]:
    names = {item.effect for item in asked.facts.causes if item.cause == event.id}
    return [item for item in asked.facts.events if item.id in names]


def _state_change(asked: _ParsedQuestion) -> Sequence[bool]:
    """The one state that holds when the event begins."""
    thing, time = asked.thing(), asked.event().start
    states = [item for item in _states_of(asked, thing) if item.start <= time < item.end]
    if len(states) != 1:
        raise Unclear(f"{thing.name} is in {len(states)} states")
    expected = _state_in_words(asked, thing, states[0], time)
    return [option == expected for option in asked.options]


def _states_of(asked: _ParsedQuestion, thing: Thing) -> list[Relation]:
    """Where a thing is, in order of time."""
    found = [item for item in asked.facts.relations if item.kind in KEEPING and thing.id in (item.subject, item.object)]
    return sorted(found, key=lambda item: item.start)


def _state_in_words(asked: _ParsedQuestion, thing: Thing, state: Relation, time: float | None = None) -> str:
    """A state in words, at a time or in its middle."""
    time = (state.start + state.end) / 2 if time is None else time
    keeper = next((item for item in asked.facts.people if item.id == state.subject), None)
    rooms = [
        item.object
        for item in asked.facts.relations
        if item.kind == "in" and item.subject == thing.id and item.start <= time < item.end
    ]
    room = next((item for item in asked.facts.places if rooms and item.id == rooms[0]), None)
    try:
        return asked.say.kept(state, keeper, None if keeper is not None else room)
    except Unsayable as word:
        raise Unclear(f"{word} cannot be said") from None


def _responsible(asked: _ParsedQuestion) -> Sequence[bool]:
    """Who put it down last, of the things of which the fact is true at the end."""
    makers = []
    for thing in asked.facts.things:
        states = _states_of(asked, thing)
        if not states or is_with_person(states[-1]):
            continue
        try:
            fact = asked.say.fill("lies", asked.say.name(thing), _state_in_words(asked, thing, states[-1]))
        except (Unsayable, Unclear):
            continue
        if fact == asked.slots["fact"]:
            handled = [item for item in asked.facts.events if item.thing == thing.id and item.kind == "puts_down"]
            makers.append(max(handled, key=lambda item: item.end).actor)
    if len(makers) != 1:
        raise Unclear(f"the fact is true of {len(makers)} things")
    return [_one(asked.words.people, option).id == makers[0] for option in asked.options]


# -- domain C: summaries and several steps


def _video_summary(asked: _ParsedQuestion) -> Sequence[bool]:
    """The row whose events are in their order."""
    rows = [[_one(asked.words.events, part).start for part in asked.row(option)] for option in asked.options]
    return [row == sorted(row) for row in rows]


def _part_summary(asked: _ParsedQuestion) -> Sequence[bool]:
    """The row all of whose events lie in the stretch."""
    slots, duration = asked.slots, asked.facts.duration
    if "start_time" in slots:  # whole seconds are told
        start, end = (float(re.findall(r"\d+", slots[name])[0]) for name in ("start_time", "end_time"))
        start, end = start - 1, end + 1
    elif "part" in slots:
        number, third = asked.say.thirds.index(slots["part"]), duration / 3
        start, end = number * third, (number + 1) * third
    else:
        scenes = [item for item in asked.facts.scenes if item.place == asked.place().id]
        if len(scenes) != 1:
            raise Unclear(f"the room is shown {len(scenes)} times")
        start, end = scenes[0].start, scenes[0].end
    lies_inside = {
        part
        for part, events in asked.words.events.items()
        if any(start - 1e-6 <= event.start and event.end <= end + 1e-6 for event in events)
    }
    return [lies_inside.issuperset(asked.row(option)) for option in asked.options]


def _person_summary(asked: _ParsedQuestion) -> Sequence[bool]:
    return [_does_all(asked, asked.person(), option) for option in asked.options]


def _does_all(asked: _ParsedQuestion, person: Person, row: str) -> bool:
    return all(asked.done_by(person, part) for part in asked.row(row))


def _comparison(asked: _ParsedQuestion) -> Sequence[bool]:
    return [_is_true_of_both(asked, option) for option in asked.options]


def _is_true_of_both(asked: _ParsedQuestion, option: str) -> bool:
    one, other, say = asked.person(), asked.person("other_person"), asked.say
    for deed in asked.words.deeds:
        if option == say.fill("both", deed):
            return bool(asked.done_by(one, deed)) and bool(asked.done_by(other, deed))
        for doer, idle in ((one, other), (other, one)):
            if option == say.fill("only", say.name(doer), deed, say.name(idle)):
                return bool(asked.done_by(doer, deed)) and not asked.done_by(idle, deed)
    for busy, less in ((one, other), (other, one)):
        head = say.fill("busy", say.name(busy), "")
        if option.startswith(head):
            counts = [
                sum(item.actor == who.id and item.kind != "says" for item in asked.facts.events) for who in (busy, less)
            ]
            return counts[0] > counts[1] and _does_all(asked, busy, option.removeprefix(head))
    raise Unclear(f"{option!r} says nothing that is known")


def _followed_thing(asked: _ParsedQuestion) -> Sequence[bool]:
    """The last state, all holders in order, or the last holder and the first state."""
    thing, say = asked.thing(), asked.say
    states = _states_of(asked, thing)
    people = {item.id: item for item in asked.facts.people}
    holders: list[str] = []
    for state in states:
        if is_with_person(state) and holders[-1:] != [state.subject]:
            holders.append(state.subject)
    if asked.item.template == "followed_thing/induction/0":
        expected = _state_in_words(asked, thing, states[-1])
    elif asked.item.template == "followed_thing/development/0":
        expected = say.fill("row").join(_spoken(say.name, people[name]) for name in holders)
    else:
        expected = say.fill("had", _spoken(say.name, people[holders[-1]]), _state_in_words(asked, thing, states[0]))
    return [option == expected for option in asked.options]


def _spoken_reference(asked: _ParsedQuestion) -> Sequence[bool]:
    """The time of the only appointment."""
    facts = [item for item in asked.facts.facts if item.kind == "appointment"]
    kept = [item.values["time"] for item in facts if asked.person().id in item.values["people"].split()]
    if len(kept) != 1:
        raise Unclear(f"there are {len(kept)} appointments")
    return [option == kept[0] for option in asked.options]


def _chain(asked: _ParsedQuestion) -> Sequence[bool]:
    """What the doer does later; who is seen in the room and later with the thing."""
    if "action" not in asked.slots:
        return [_is_later_with(asked, _one(asked.words.people, option)) for option in asked.options]
    doers = [event for person in asked.facts.people for event in asked.done_by(person, asked.slots["action"])]
    if len(doers) != 1:
        raise Unclear(f"{len(doers)} people or times fit")
    person = next(item for item in asked.facts.people if item.id == doers[0].actor)
    return [any(item.start >= doers[0].end for item in asked.done_by(person, option)) for option in asked.options]


def _is_later_with(asked: _ParsedQuestion, person: Person) -> bool:
    inside = _runs(asked.frames(person.id, asked.place().id))
    if not inside:
        raise Unclear(f"{person.description} is never there")
    seen = asked.frames(person.id)
    for state in asked.facts.relations:
        if is_with_person(state) and (state.subject, state.object) == (person.id, asked.thing().id):
            later = _runs(seen & asked.during([(state.start, state.end)]))
            if any(end - max(start, inside[0][1]) >= _LEAST_SEEN for start, end in later):
                return True
    return False


def _general_rule(asked: _ParsedQuestion) -> Sequence[bool]:
    """The target of the only rule about such things."""
    say, expected = asked.say, []
    for rule in (item for item in asked.facts.facts if item.kind == "rule"):
        room = next(item for item in asked.facts.places if item.id == rule.values["place"])
        try:
            if say.labelled(rule.values["category"], rule.values["label"]) == asked.slots["things"]:
                expected.append(say.fill("put_into", say.furniture(rule.values["target"]), say.name(room)))
        except Unsayable:
            continue
    if len(expected) != 1:
        raise Unclear(f"{len(expected)} rules are about them")
    return [option == expected[0] for option in asked.options]


#: By type of question: whether each option is right, or whether the answer is (or "yes").
_CHECKS: Mapping[str, Callable[[_ParsedQuestion], Sequence[bool] | bool]] = {
    "first_appearance": _appearance,
    "last_appearance": _appearance,
    "event_time": _event_time,
    "words_time": _words_time,
    "together_time": _together_time,
    "distinct_count": _distinct_count,
    "occurrence_count": _occurrence_count,
    "visible_duration": _visible_duration,
    "presence": _presence,
    "place_count": _place_count,
    "pair_order": _pair_order,
    "sequence_order": _sequence_order,
    "just_before": _beside,
    "just_after": _beside,
    "between": _between,
    "cause": _cause,
    "consequence": _consequence,
    "state_change": _state_change,
    "responsible": _responsible,
    "video_summary": _video_summary,
    "part_summary": _part_summary,
    "person_summary": _person_summary,
    "comparison": _comparison,
    "followed_thing": _followed_thing,
    "spoken_reference": _spoken_reference,
    "chain": _chain,
    "general_rule": _general_rule,
}

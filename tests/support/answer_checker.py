"""Check questions against the facts of their film along another way than they were made.

The words are read back by the question's template, each phrase must name one person, thing, room or event, and the answer is
found from the facts again: times by counting frames, the rest by going through events and relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from controller.answers import ABSTENTIONS, NOT_THERE, UNDETERMINABLE
from eval.datasets import Item
from eval.questions.drafts import facts_within, windows_of
from eval.questions.pairs import NAMED, PAIR
from eval.questions.phrasing import Unsayable, Wording, wording
from eval.sandbox import FilmFacts
from eval.sandbox.facts import Event, Person, Place, Relation, Thing
from tool_induction.domains import load_domain
from tool_induction.domains.domain import PLACEHOLDER, Template
from world_api.core import TimeSpan

_FRAMES = 20  #: moments a second at which people are counted
_NEAR = 0.15  #: seconds by which two ways of counting may differ
_BORDERLINE = 0.6  #: seconds about the ends of an interval in which no person may come or go
_INSIDE = 0.5  #: seconds from a moment to the ends of its range
_SAME, _OTHER = 0.06, 0.25  #: shares by which lengths may, and must, differ
_LEAST_SEEN = 0.9  #: seconds for which something must be seen to count
_WITHIN = {
    "en": re.compile(r"Consider only the part of the video from (\d+) s to (\d+) s\. (.*)", re.DOTALL),
    "zh": re.compile(r"只看视频的(\d+)秒到(\d+)秒这一段。(.*)", re.DOTALL),
}

_Item = TypeVar("_Item", Person, Thing, Place, Event)
_Any = TypeVar("_Any")
_Frames: TypeAlias = NDArray[np.bool_]
#: Whether each option is right, or whether the answer is (for yes-or-no questions: whether it is yes).
_Verdict: TypeAlias = Sequence[bool] | bool


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is wrong with a question."""

    item: str
    message: str


class Unclear(Exception):
    """Words that name nothing in the film, or more than one thing; an answer that is not the only one."""


def check_items(items: Sequence[Item], facts: FilmFacts) -> list[Problem]:
    """Return what is wrong with questions about a film; of the options of a choice exactly one must be right."""
    lexicons: dict[tuple[str, TimeSpan | None], _Lexicon] = {}
    problems = []
    for item in items:
        try:
            _check(item, facts, lexicons)
        except Unclear as why:
            problems.append(Problem(item=item.id, message=str(why)))
    names = [item.id for item in items]
    twice = {name for name in names if names.count(name) > 1}
    return problems + [Problem(item=name, message="its id occurs twice") for name in twice]


def _check(item: Item, facts: FilmFacts, lexicons: dict[tuple[str, TimeSpan | None], _Lexicon]) -> None:
    if item.video_id != facts.film:
        raise Unclear(f"it is about {item.video_id}")
    whole = facts
    language, window, bounds = str(item.labels.get("language")), None, TimeSpan(start=0.0, end=facts.duration + 1e-3)
    if found := _WITHIN[language].fullmatch(item.question.text):
        window = bounds = TimeSpan(start=float(found[1]), end=float(found[2]))
        if window not in windows_of(facts):
            raise Unclear(f"{window} is no window of the film")
        facts, item = facts_within(facts, window), replace(item, question=replace(item.question, text=found[3]))
    if any(span.start < bounds.start or span.end > bounds.end for span in item.spans):
        raise Unclear("its evidence is outside of the part that is parsed about")
    lexicon = lexicons.setdefault((language, window), _Lexicon(facts, language))
    if item.labels.get(NAMED) == "unknown":
        _check_undeterminable(_parse(item, lexicon, names=False), whole)
    elif item.answer in ABSTENTIONS or PAIR in item.labels:
        _check_absent(_parse(item, lexicon, names=False))
    else:
        named = item.labels.get(NAMED) == "known"
        _check_answer(_parse(_by_looks(item, whole, lexicon.say) if named else item, lexicon))


def _check_answer(parsed: _Parsed) -> None:
    """Refuse a question with another answer than its facts give; of the options of a choice exactly one must be right."""
    item = parsed.item
    check = _CHECKS.get(parsed.type)
    if check is None:
        raise Unclear(f"there is no check for questions of type {parsed.type}")
    right, question = check(parsed), item.question
    if question.kind != "choice":
        if not right:
            raise Unclear(f"the answer is not {item.answer!r}")
        return
    if isinstance(right, bool):
        if question.options != parsed.say.yes_no:
            raise Unclear(f"the options are not {list(parsed.say.yes_no)}")
        right = [right, not right]
    letters = [letter for letter, is_right in zip(question.letters, right, strict=True) if is_right]
    if letters != [item.answer]:
        raise Unclear(f"right are {letters}, not {item.answer}: {question.text}")


def _check_absent(parsed: _Parsed) -> None:
    """Refuse a question about something absent if all that it names is in the film, or if it is answered otherwise."""
    words, slots, there = parsed.words, parsed.slots, []
    for name, said in slots.items():
        if name in ("person", "other_person"):
            there.append(said in words.people)
        elif name == "object":
            there.append(said in words.things)
        elif name in ("event", "other_event"):
            there.append(said in words.events)
        elif name == "action":
            doer = words.people.get(slots.get("person", ""), [])
            there.append(len(doer) == 1 and said in words.deeds and bool(parsed.done_by(doer[0], said)))
        elif name == "words":
            known = [*(event.words for event in parsed.facts.events), *(text.text for text in parsed.facts.written)]
            there.append(any(said.casefold() in one.casefold() for one in known))
        elif name == "things":
            rules = [rule.values for rule in parsed.facts.facts if rule.kind == "rule"]
            there.append(said in {parsed.say.labelled(rule["category"], rule["label"]) for rule in rules})
        elif name == "events":
            there += [part in words.events for part in parsed.options]
    if all(there):
        raise Unclear(f"all that it names is in the film: {parsed.item.question.text}")
    if parsed.item.answer != (0 if parsed.item.question.kind == "count" else NOT_THERE) or parsed.item.spans:
        raise Unclear("what is absent has an answer or evidence")


def _check_undeterminable(parsed: _Parsed, facts: FilmFacts) -> None:
    """Refuse a question that cannot be told if the film tells who is meant, or leaves nobody who could be."""
    heard = " ".join(event.words for event in facts.events)
    called = [said for name, said in parsed.slots.items() if name in ("person", "other_person")]
    unknown = [said for said in called if said not in parsed.words.people]
    if not unknown or any(name in heard for name in unknown):
        raise Unclear(f"the film tells who {called} are")
    if sum(person.name not in heard for person in facts.people) < 2:
        raise Unclear("only one in the film is without a name")
    if parsed.item.answer != UNDETERMINABLE or parsed.item.spans:
        raise Unclear("what cannot be told has an answer or evidence")


def _by_looks(item: Item, facts: FilmFacts, say: Wording) -> Item:
    """The question with each person whose name is said to them in the film named by looks."""
    for person in facts.people:
        if any(event.other == person.id and person.name in event.words for event in facts.events):
            text, *options = (
                one.replace(person.name, say.name(person)) for one in (item.question.text, *item.question.options)
            )
            item = replace(item, question=replace(item.question, text=text, options=tuple(options)))
    return item


class _Lexicon:
    """What words name in a film, in one language."""

    def __init__(self, facts: FilmFacts, language: str) -> None:
        self.facts = facts
        self.say: Wording = wording(language, facts)
        self.people = _by_words(facts.people, self.say.name)
        self.things = _by_words(facts.things, self.say.name)
        self.places = _by_words(facts.places, self.say.name)

    @cached_property
    def events(self) -> dict[str, list[Event]]:
        """Events by their clauses and as nouns."""
        return _by_words(self.facts.events, self.say.clause, self.say.doing)

    @cached_property
    def deeds(self) -> dict[str, list[Event]]:
        """Events by what is done, in the base form and in the third person."""
        return _by_words(self.facts.events, self.say.deed, self.say.does)

    def pattern(self, slot: str) -> str:
        """A pattern for the words of a slot; two slots may be side by side."""
        if slot not in ("person", "other_person", "place"):
            return ".+?"
        names = list(self.places if slot == "place" else self.people)
        return "|".join(re.escape(words) for words in sorted(names, key=len, reverse=True))


_domain = lru_cache(load_domain)


def _with_person(relation: Relation) -> bool:
    return relation.kind in ("holds", "wears")


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
    """Return the only thing that words name."""
    return _only(named.get(words, []), f"things of the film that {words!r} names")


def _only(found: Sequence[_Any], what: str) -> _Any:
    """Return the only one that was found."""
    if len(found) != 1:
        raise Unclear(f"there are {len(found)} {what}")
    return found[0]


@dataclass(frozen=True, kw_only=True)
class _Parsed:
    """A question that was read back: the words in the slots of its template, and look-ups in its film."""

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
        """The id of the person or thing that is parsed about."""
        return self.person().id if "person" in self.slots else self.thing().id

    def frames(self, subject: str, place: str = "") -> _Frames:
        """At which moments a subject is on screen, in one room if one is given."""
        visits = [item for item in self.facts.visits if item.subject == subject and place in ("", item.place)]
        return self.during((item.start, item.end) for item in visits)

    def during(self, intervals: Iterable[tuple[float, float]]) -> _Frames:
        """The moments of some intervals."""
        frames = np.zeros(int(self.facts.duration * _FRAMES) + 1, dtype=bool)
        for start, end in intervals:
            frames[round(start * _FRAMES) : round(end * _FRAMES)] = True
        return frames

    def done_by(self, person: Person, words: str) -> list[Event]:
        """When a person does what words say, in these words or in more, in order of time."""
        phrases = {item.verb_phrase for item in self.words.deeds.get(words, ())}
        if not phrases:
            raise Unclear(f"no person does {words!r}")
        return [
            item
            for item in sorted(self.facts.events, key=lambda event: event.start)
            if item.actor == person.id and any(f"{item.verb_phrase} ".startswith(f"{phrase} ") for phrase in phrases)
        ]

    def row(self, option: str) -> list[str]:
        """The parts of an option that names several events."""
        return option.split(self.say.fill("row"))


def _parse(item: Item, lexicon: _Lexicon, *, names: bool = True) -> _Parsed:
    """Read a question back by its template; with ``names`` its people and rooms must be those of the film."""
    kinds = _domain(item.domain or "").question_types
    template: Template | None = {one.id: one for kind in kinds for one in kind.templates}.get(item.template or "")
    if template is None or template.split != item.split:
        raise Unclear(f"{item.template!r} is no template of the split {item.split!r}")
    for text in template.wordings:
        escaped = re.sub(r"[^\w\s{}]", lambda sign: re.escape(sign.group()), text)
        pattern = PLACEHOLDER.sub(
            lambda slot: f"(?P<{slot.group(1)}>{lexicon.pattern(slot.group(1)) if names else '.+?'})", escaped
        )
        if found := re.fullmatch(pattern, item.question.text):
            kind = template.id.partition("/")[0]
            return _Parsed(item=item, words=lexicon, type=kind, slots=found.groupdict())
    raise Unclear(f"{item.question.text!r} does not read as {template.id} does")


# -- moments and intervals


def _runs(frames: _Frames) -> list[tuple[float, float]]:
    """The unbroken intervals, in seconds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], frames, [False]]).astype(int)))
    return [(first / _FRAMES, end / _FRAMES) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def _is_seen(frames: _Frames, start: float, end: float) -> bool:
    """Whether anything is seen in an interval; it is unclear if it shows for a blink only, or only just outside."""

    def seconds(first: float, last: float) -> float:
        low = max(0, round(first * _FRAMES))
        return float(frames[low : max(low, round(last * _FRAMES))].sum()) / _FRAMES

    inside, around = seconds(start, end), seconds(start - _BORDERLINE, end + _BORDERLINE)
    if (inside == 0) != (around == 0) or 0 < inside < _BORDERLINE:
        raise Unclear("it is at a borderline")
    return inside > 0


def _is_at(parsed: _Parsed, found: Sequence[tuple[float, float]], *, last: bool = False) -> _Verdict:
    """Whether the answer is the first (or last) interval found, or which range its beginning (or end) is in."""
    if not found:
        raise Unclear("it is never seen")
    start, end = found[-1] if last else found[0]
    answer = parsed.item.answer
    if parsed.item.question.kind == "interval":
        return isinstance(answer, dict) and bool(
            abs(answer["start_time"] - start) <= _NEAR and abs(answer["end_time"] - end) <= _NEAR
        )
    return [_in_range(option, end if last else start) for option in parsed.options]


def _in_range(option: str, moment: float) -> bool:
    start, end = (float(number) for number in re.findall(r"\d+", option))
    if (start <= moment <= end and not (start + _INSIDE <= moment or start == 0)) or abs(moment - end) < _INSIDE:
        raise Unclear(f"{moment} is at the end of a range")
    return start <= moment <= end


# -- domain A: locate and count


def _appearance(parsed: _Parsed) -> _Verdict:
    return _is_at(parsed, _runs(parsed.frames(parsed.subject())), last=parsed.type == "last_appearance")


def _event_time(parsed: _Parsed) -> _Verdict:
    found = _only(parsed.done_by(parsed.person(), parsed.slots["action"]), "times that it happens")
    return _is_at(parsed, [(found.start, found.end)])


def _words_time(parsed: _Parsed) -> _Verdict:
    words = parsed.slots["words"].casefold()
    found = [(item.start, item.end) for item in parsed.facts.events if words in item.words.casefold() and item.words]
    if "read on screen" in parsed.item.question.text or "屏幕上" in parsed.item.question.text:
        found += [(item.start, item.end) for item in parsed.facts.written if words in item.text.casefold()]
    return _is_at(parsed, [_only(found, "times that the words are there")])


def _together_time(parsed: _Parsed) -> _Verdict:
    both = parsed.frames(parsed.person().id) & parsed.frames(parsed.person("other_person").id)
    return _is_at(parsed, _runs(both))


def _distinct_count(parsed: _Parsed) -> bool:
    facts, place = parsed.facts, parsed.place().id if "place" in parsed.slots else ""
    if "things" in parsed.slots:
        subjects = [
            item.id for item in facts.things if parsed.say.kind_of_thing(item.category) == parsed.slots["things"]
        ]
    elif place:
        entering = {item.actor for item in facts.events if item.kind == "enters" and item.place == place}
        return bool(parsed.item.answer == len(entering))
    else:
        subjects = [item.id for item in facts.people]
    return bool(parsed.item.answer == sum(bool(parsed.frames(name, place).any()) for name in subjects))


def _occurrence_count(parsed: _Parsed) -> bool:
    return bool(parsed.item.answer == len(parsed.done_by(parsed.person(), parsed.slots["action"])))


def _visible_duration(parsed: _Parsed) -> Sequence[bool]:
    """The option that is nearest, if no other is near."""
    seconds = float(parsed.frames(parsed.subject()).sum()) / _FRAMES
    offered = [float(re.findall(r"\d+", option)[0]) for option in parsed.options]
    if sum(abs(length - seconds) < _OTHER * min(length, seconds) for length in offered) > 1:
        raise Unclear("two lengths are near")
    return [abs(length - seconds) <= max(0.6, _SAME * seconds) for length in offered]


def _presence(parsed: _Parsed) -> bool:
    """Whether a person or a thing is there: ever, after, before, between."""
    facts, slots = parsed.facts, parsed.slots
    if "object" in slots:
        named = [item for item in facts.things if parsed.say.made_up(item.colour, item.category) == slots["object"]]
        return any(bool(parsed.frames(item.id).any()) for item in named)
    seen, event = parsed.frames(parsed.person().id), parsed.event()
    if "other_event" in slots:
        return _is_seen(seen, event.end, parsed.event("other_event").start)
    is_before = "before" in parsed.item.question.text or "之前" in parsed.item.question.text
    return _is_seen(seen, 0.0, event.start) if is_before else _is_seen(seen, event.end, facts.duration)


def _place_count(parsed: _Parsed) -> bool:
    rooms = [item.id for item in parsed.facts.places if parsed.frames(parsed.person().id, item.id).any()]
    return bool(parsed.item.answer == len(rooms))


# -- domain B: order and cause


def _pair_order(parsed: _Parsed) -> _Verdict:
    """By their beginnings; they may not overlap."""
    event, other = parsed.event(), parsed.event("other_event")
    if event.end > other.start and other.end > event.start:
        raise Unclear("they overlap")
    if parsed.options == parsed.say.yes_no:
        return event.start < other.start
    first = min((event, other), key=lambda item: item.start)
    return [parsed.say.clause(first) == option for option in parsed.options]


def _sequence_order(parsed: _Parsed) -> bool:
    question = parsed.item.question
    lettered = dict(zip(question.letters, question.options, strict=True))
    starts = {letter: _one(parsed.words.events, text).start for letter, text in lettered.items()}
    is_listed = all(f"({letter}) {text}" in question.text for letter, text in lettered.items())
    return is_listed and list(parsed.item.answer) == sorted(starts, key=lambda letter: starts[letter])


def _beside(parsed: _Parsed) -> Sequence[bool]:
    """The nearest event on one side, of all or of one person; or what a person did because of it."""
    event = parsed.event()
    if parsed.item.template == "just_after/test/0":
        return _matching(parsed, _effects(parsed, event))
    person = parsed.person().id if "person" in parsed.slots else ""
    others = [item for item in parsed.facts.events if item is not event and person in ("", item.actor)]
    if parsed.type == "just_before":
        found = max((item for item in others if item.end <= event.start), key=lambda item: item.end, default=None)
    else:
        found = min((item for item in others if item.start >= event.end), key=lambda item: item.start, default=None)
    return _matching(parsed, [] if found is None else [found])


def _between(parsed: _Parsed) -> Sequence[bool]:
    event, other = parsed.event(), parsed.event("other_event")
    person = parsed.person().id if "person" in parsed.slots else ""
    inside = [item for item in parsed.facts.events if event.end <= item.start and item.end <= other.start]
    own = [item for item in inside if person in ("", item.actor)]
    if parsed.item.template == "between/development/0":
        rooms = {item.place for item in own if item.kind == "enters"}
        return [_one(parsed.words.places, option).id in rooms for option in parsed.options]
    return _matching(parsed, own)


def _matching(parsed: _Parsed, events: Iterable[Event]) -> list[bool]:
    """Which options name one of the events: by what is done if a person is asked about, else by clauses."""
    way = parsed.say.deed if "person" in parsed.slots else parsed.say.clause
    expected = {_spoken(way, item) for item in events}
    return [option in expected for option in parsed.options]


def _cause(parsed: _Parsed) -> Sequence[bool]:
    by_event = "event" in parsed.slots
    effects = [parsed.event()] if by_event else parsed.done_by(parsed.person(), parsed.slots["action"])
    effect = _only(effects, "times that it happens")
    reasons = {item.reason for item in parsed.facts.causes if item.effect == effect.id}
    return [option in reasons for option in parsed.options]


def _consequence(parsed: _Parsed) -> Sequence[bool]:
    return _matching(parsed, _effects(parsed, parsed.event()))


def _effects(parsed: _Parsed, event: Event) -> list[Event]:
    names = {item.effect for item in parsed.facts.causes if item.cause == event.id}
    return [item for item in parsed.facts.events if item.id in names]


def _state_change(parsed: _Parsed) -> Sequence[bool]:
    """Match options with the state at event start; one bool per option."""
    thing, time = parsed.thing(), parsed.event().start
    states = [item for item in _states_of(parsed, thing) if item.start <= time < item.end]
    expected = _state_in_words(parsed, thing, _only(states, f"states of {thing.name}"), time)
    return [option == expected for option in parsed.options]


def _states_of(parsed: _Parsed, thing: Thing) -> list[Relation]:
    """Where a thing is, in order of time."""
    states = (item for item in parsed.facts.relations if item.kind != "in" and thing.id in (item.subject, item.object))
    return sorted(states, key=lambda item: (item.start, item.end))


def _state_in_words(parsed: _Parsed, thing: Thing, state: Relation, time: float | None = None) -> str:
    """A state in words, at a time or in its middle."""
    time = (state.start + state.end) / 2 if time is None else time
    keeper = next((item for item in parsed.facts.people if item.id == state.subject), None)
    own = [item for item in parsed.facts.relations if (item.kind, item.subject) == ("in", thing.id)]
    places = [item.object for item in own if item.start <= time < item.end]
    place = next((item for item in parsed.facts.places if item.id in places[:1]), None)
    try:
        return parsed.say.kept(state, keeper, None if keeper is not None else place)
    except Unsayable as word:
        raise Unclear(f"{word} cannot be said") from None


def _responsible(parsed: _Parsed) -> Sequence[bool]:
    """Who put it down last, among the things for which the fact is true at the end."""
    makers = []
    for thing in parsed.facts.things:
        states = _states_of(parsed, thing)
        if not states or _with_person(states[-1]):
            continue
        try:
            fact = parsed.say.fill("lies", parsed.say.name(thing), _state_in_words(parsed, thing, states[-1]))
        except (Unsayable, Unclear):
            continue
        if fact == parsed.slots["fact"]:
            handled = [item for item in parsed.facts.events if item.thing == thing.id and item.kind == "puts_down"]
            makers.append(max(handled, key=lambda item: item.end).actor)
    maker = _only(makers, "things for which the fact is true")
    return [_one(parsed.words.people, option).id == maker for option in parsed.options]


# -- domain C: summaries and several steps


def _video_summary(parsed: _Parsed) -> Sequence[bool]:
    """The row whose events are in their order."""
    rows = [[_one(parsed.words.events, part).start for part in parsed.row(option)] for option in parsed.options]
    return [row == sorted(row) for row in rows]


def _part_summary(parsed: _Parsed) -> Sequence[bool]:
    """The row all of whose events are in the interval."""
    slots, duration = parsed.slots, parsed.facts.duration
    if "start_time" in slots:  # the question has whole seconds
        start, end = (float(re.findall(r"\d+", slots[name])[0]) for name in ("start_time", "end_time"))
        start, end = start - 1, end + 1
    elif "part" in slots:
        number, third = parsed.say.thirds.index(slots["part"]), duration / 3
        start, end = number * third, (number + 1) * third
    else:
        place = parsed.place().id
        scene = _only([item for item in parsed.facts.scenes if item.place == place], "scenes of the room")
        start, end = scene.start, scene.end

    def is_inside(words: str) -> bool:
        events = parsed.words.events.get(words, ())
        return any(start - 1e-6 <= event.start and event.end <= end + 1e-6 for event in events)

    return [all(map(is_inside, parsed.row(option))) for option in parsed.options]


def _person_summary(parsed: _Parsed) -> Sequence[bool]:
    return [_does_all(parsed, parsed.person(), option) for option in parsed.options]


def _does_all(parsed: _Parsed, person: Person, row: str) -> bool:
    return all(parsed.done_by(person, part) for part in parsed.row(row))


def _comparison(parsed: _Parsed) -> Sequence[bool]:
    return [_compares(parsed, option) for option in parsed.options]


def _compares(parsed: _Parsed, option: str) -> bool:
    one, other, say = parsed.person(), parsed.person("other_person"), parsed.say
    for deed in parsed.words.deeds:
        if option == say.fill("both", deed):
            return bool(parsed.done_by(one, deed)) and bool(parsed.done_by(other, deed))
        for doer, idle in ((one, other), (other, one)):
            if option == say.fill("only", say.name(doer), deed, say.name(idle)):
                return bool(parsed.done_by(doer, deed)) and not parsed.done_by(idle, deed)
    for busy, less in ((one, other), (other, one)):
        head = say.fill("busy", say.name(busy), "")
        if option.startswith(head):
            deeds = [item.actor for item in parsed.facts.events if item.kind != "says"]
            return deeds.count(busy.id) > deeds.count(less.id) and _does_all(parsed, busy, option.removeprefix(head))
    raise Unclear(f"{option!r} says nothing that is known")


def _followed_thing(parsed: _Parsed) -> Sequence[bool]:
    """The last state, all holders in order, or the last holder and the first state."""
    thing, say = parsed.thing(), parsed.say
    states = _states_of(parsed, thing)
    people = {item.id: item for item in parsed.facts.people}
    holders: list[str] = []
    for state in states:
        if _with_person(state) and holders[-1:] != [state.subject]:
            holders.append(state.subject)
    if parsed.item.template == "followed_thing/induction/0":
        expected = _state_in_words(parsed, thing, states[-1])
    elif parsed.item.template == "followed_thing/development/0":
        expected = say.fill("row").join(_spoken(say.name, people[name]) for name in holders)
    else:
        expected = say.fill("had", _spoken(say.name, people[holders[-1]]), _state_in_words(parsed, thing, states[0]))
    return [option == expected for option in parsed.options]


def _spoken_reference(parsed: _Parsed) -> Sequence[bool]:
    """The time of the only appointment."""
    facts = [item for item in parsed.facts.facts if item.kind == "appointment"]
    kept = [item.values["time"] for item in facts if parsed.person().id in item.values["people"].split()]
    time = _only(kept, "appointments")
    return [option == time for option in parsed.options]


def _chain(parsed: _Parsed) -> Sequence[bool]:
    """What the doer does later; who is seen in the room and later with the thing."""
    if "action" not in parsed.slots:
        return [_is_later_with(parsed, _one(parsed.words.people, option)) for option in parsed.options]
    doers = [event for person in parsed.facts.people for event in parsed.done_by(person, parsed.slots["action"])]
    event = _only(doers, "people or times that fit")
    person = next(item for item in parsed.facts.people if item.id == event.actor)
    return [any(item.start >= event.end for item in parsed.done_by(person, option)) for option in parsed.options]


def _is_later_with(parsed: _Parsed, person: Person) -> bool:
    inside = _runs(parsed.frames(person.id, parsed.place().id))
    if not inside:
        raise Unclear(f"{person.description} is never there")
    seen = parsed.frames(person.id)
    for state in parsed.facts.relations:
        if _with_person(state) and (state.subject, state.object) == (person.id, parsed.thing().id):
            later = _runs(seen & parsed.during([(state.start, state.end)]))
            if any(end - max(start, inside[0][1]) >= _LEAST_SEEN for start, end in later):
                return True
    return False


def _general_rule(parsed: _Parsed) -> Sequence[bool]:
    """The target of the only rule about such things."""
    say, expected = parsed.say, []
    for rule in (item for item in parsed.facts.facts if item.kind == "rule"):
        place = next(item for item in parsed.facts.places if item.id == rule.values["place"])
        try:
            if say.labelled(rule.values["category"], rule.values["label"]) == parsed.slots["things"]:
                expected.append(say.fill("put_into", say.furniture(rule.values["target"]), say.name(place)))
        except Unsayable:
            continue
    target = _only(expected, "rules about them")
    return [option == target for option in parsed.options]


#: The check of each type of question.
_CHECKS: Mapping[str, Callable[[_Parsed], _Verdict]] = {
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

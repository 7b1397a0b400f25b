"""Minimal pairs: a question about a film, and the same question with one thing changed so that it is not in the film.

The person gets a coat that no one wears, the thing a colour that no such thing has, the event another actor, the deed
becomes one that the person never does, the quoted words another colour or number. All else that the question says, and
the options, stay the same, so that only the film shows which question of a pair has an answer.

What a film does not determine is who a name belongs to that no one says. Some questions name a person by name instead of
by looks: equally many by a name that the film shows, and by one that it does not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any

from controller.answers import NOT_THERE, UNDETERMINABLE
from eval.datasets.items import Item
from eval.questions import phrasing as say
from eval.questions.drafts import Asker, Draft, as_rare, says_the_same, shape
from eval.questions.order_cause import clock_times
from eval.questions.phrasing import Part, Say, Unsayable, Wording, spoken
from eval.sandbox.facts import Event, FilmFacts, Person, Thing
from eval.sandbox.story_world import COATS, LABELS, NAMES, VIVID
from eval.scoring.scorers import ABSENCE
from world_api.core.vocabulary import content_words

NAMED = "named"  #: label of a question that names a person by name: whether the film shows whose name it is
PAIR = "pair"  #: label of a question about something absent: the id of the question that it was made from
_CHANGED = re.compile(rf"\b(?:{'|'.join(VIVID)})\b|\b(\d{{1,2}}):(\d{{2}})\b|\d+")
#: Types of questions that say by more than looks or name who is meant: what the person does, or has to do.
_SAYS_WHO = ("between/", "consequence/", "spoken_reference/")
_TRIES = 6  #: changes to try for each part of a question


def absent_twin(ask: Asker, item: Item, draft: Draft, words: Wording, chance: random.Random) -> Item | None:
    """Return the question with one part changed to something that is not in the film; None if no change is fair.

    A number of something absent is 0; otherwise what is asked about is not there. Whether something is seen at all is
    not asked again: there the answer would be a plain no.
    """
    texts = [*(spoken(part, words) for part in draft.slots.values()), *item.question.options]
    for old, new in _changes(ask, draft, chance):
        with suppress(Unsayable):
            before, after = old(words), new(words)
            changed = [text.replace(before, after) for text in texts]
            options = tuple(changed[len(draft.slots) :])
            text = item.question.text.replace(before, after)
            if text == item.question.text or len(set(options)) < len(options) or _common(texts) != _common(changed):
                continue
            question = replace(item.question, text=text, options=options)
            answer: Any = 0 if question.kind == "count" else NOT_THERE
            labels = {name: value for name, value in item.labels.items() if name != ABSENCE}
            return replace(item, question=question, answer=answer, spans=(), labels={**labels, PAIR: item.id})
    return None


def known_names(facts: FilmFacts) -> dict[str, str]:
    """Return the names that the film shows, by id of person: said to this person while no third one is on screen."""
    names = {person.id: person.name for person in facts.people}
    found = {}
    for event in facts.events:
        if event.other in names and re.search(rf"\b{re.escape(names[event.other])}\b", event.words):
            there = {visit.subject for visit in facts.visits if visit.start < event.end and visit.end > event.start}
            if there & names.keys() == {event.actor, event.other}:
                found[event.other] = names[event.other]
    return found


def unknown_names(facts: FilmFacts) -> list[str]:
    """Return names that no one says, if the film leaves open what two people who are seen in it are called; else none."""
    heard = " ".join([*(event.words for event in facts.events), *(text.text for text in facts.written)])
    seen = {visit.subject for visit in facts.visits}
    free = [name for name in NAMES if re.search(rf"\b{name}\b", heard) is None]
    return free if sum(person.name in free and person.id in seen for person in facts.people) > 1 else []


def by_name(item: Item, draft: Draft, words: Wording, names: Mapping[str, str], *, known: bool) -> Item | None:
    """Return the question with a person called by name; None if it names no one by looks of whom ``names`` has a name.

    ``known``: whether the film shows whose name it is; otherwise the question cannot be answered. None also if the
    question says what the person does, by which it could be.
    """
    if "action" in draft.slots or draft.template.id.startswith(_SAYS_WHO) or " react " in draft.template.en:
        return None
    for part in draft.slots.values():
        if isinstance(part, Part) and isinstance(part.about, Person) and part.about.id in names:
            looks, name = part(words), names[part.about.id]
            options = tuple(option.replace(looks, name) for option in item.question.options)
            question = replace(item.question, text=item.question.text.replace(looks, name), options=options)
            named = replace(item, question=question, labels={**item.labels, NAMED: "known" if known else "unknown"})
            return named if known else replace(named, answer=UNDETERMINABLE, spans=())
    return None


def _common(texts: list[str]) -> list[int]:
    """Return how many words each two texts share: a pair must not be distinguishable by whom question and options repeat."""
    return [len(one & other) for one, other in combinations([set(content_words(text)) for text in texts], 2)]


def _changes(ask: Asker, draft: Draft, chance: random.Random) -> list[tuple[Say, Say]]:
    """Return parts of a draft with what each may become, in random order."""
    parts = [*draft.slots.items(), *(("event", part) for part in draft.order)]
    if draft.template.id.startswith("presence/"):
        parts = [(name, part) for name, part in parts if name.endswith("event")]
    found = []
    for _, part in parts:
        if isinstance(part, Part):
            others = _others(ask, draft, part, chance)
            found += [(part, new) for new in chance.sample(others, min(len(others), _TRIES))]
    return chance.sample(found, len(found))


def _others(ask: Asker, draft: Draft, part: Part, chance: random.Random) -> list[Say]:
    """Return what a part may become, so that it is not in the film."""
    facts, about, doer = ask.film.facts, part.about, draft.slots.get("person")
    if isinstance(about, Person):
        worn = {person.looks.get("coat") for person in facts.people}
        coats = [chance.choice(group) for group in COATS if worn.isdisjoint(group)]
        return [part.of(_in_coat(about, coat)) for coat in coats]
    if isinstance(about, Thing) and about.name == f"the {about.colour} {about.category}":
        had = {word for item in _of_kind(facts, about.category) for word in (item.colour, *_marks(item))}
        free = [colour for colour in VIVID if colour not in had]
        names = {colour: f"the {colour} {about.category}" for colour in free}
        return [part.of(replace(about, id="", name=name, colour=colour)) for colour, name in names.items()]
    if isinstance(about, Event) and part.method in ("clause", "doing"):
        events = [_by(ask, about, person) for person in ask.film.people if person.id != about.other]
        return [part.of(event) for event in events if not _happens(ask, event)]
    if isinstance(about, Event) and isinstance(doer, Part):
        deeds = {item.verb_phrase: item for item in ask.film.deeds if shape(item) == shape(about)}
        rare = [item for item in as_rare(ask, about, deeds.values()) if item.other != doer.about.id]
        return [part.of(item) for item in rare if not _happens(ask, replace(item, actor=doer.about.id))]
    if part.method == "labelled":
        category, label = part.parts
        used = {word for item in _of_kind(facts, category) for word in _marks(item)}
        return [say.labelled(category, colour) for colour in LABELS if colour not in used and colour != label]
    return _other_words(ask, about, chance) if part.method == "same" else []


def _in_coat(person: Person, coat: str) -> Person:
    looks = {**person.looks, "coat": coat}
    own = f"the {person.looks.get('coat')} coat"
    return replace(person, id="", looks=looks, description=person.description.replace(own, f"the {coat} coat"))


def _of_kind(facts: FilmFacts, category: str) -> list[Thing]:
    return [item for item in facts.things if item.category == category]


def _marks(thing: Thing) -> list[str]:
    return " ".join(thing.marks).split()


def _happens(ask: Asker, event: Event) -> bool:
    """Whether its actor ever does what the words of an event say, in these, in fewer, or in more words."""
    return any(says_the_same(item, event) for item in ask.film.events)


def _by(ask: Asker, event: Event, person: Person) -> Event:
    """Return an event as if another person did it."""
    before = ask.film.person_by_id[event.actor].description
    return replace(event, actor=person.id, clause=person.description + event.clause.removeprefix(before))


def _other_words(ask: Asker, text: str, chance: random.Random) -> list[Say]:
    """Return quoted words with another colour or number, which no one says and which cannot be read in the film."""
    known = [item.words for item in ask.film.events] + [item.text for item in ask.film.facts.written]

    def other(found: re.Match[str]) -> str:
        number = found[0]
        if found[1]:
            return chance.choice(clock_times(replace(ask, chance=chance), found)[0])
        if not number.isdigit():
            return chance.choice([colour for colour in VIVID if colour != number])
        return str(chance.randrange(10 ** (len(number) - 1), 10 ** len(number))).zfill(len(number))

    changed = [_CHANGED.sub(other, text, count=1) for _ in range(_TRIES)]
    return [say.quoted(one) for one in changed if not any(one.casefold() in words.casefold() for words in known)]

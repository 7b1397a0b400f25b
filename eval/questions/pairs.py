"""Minimal pairs: a question about a film, and the same question with one thing changed so that it is not in the film.

The person gets a coat that nobody wears, the thing a colour that no such thing has, the event another actor, the deed
becomes one that the person never does, the quoted words another colour or number. Whatever else the question says, and
the options, stay the same, so that only the film shows which question of a pair has an answer.

What a film does not determine is who a name belongs to that nobody says. Some questions name a person by name instead of
by looks: equally many by a name that the film tells, and by one that it does not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any

from controller.answers import NOT_THERE, UNDETERMINABLE
from eval.datasets.items import Item
from eval.questions import phrasing as say
from eval.questions.drafts import Asker, Draft, does_so, shape
from eval.questions.order_cause import clock_times
from eval.questions.phrasing import Part, Say, Unsayable, Wording
from eval.sandbox.facts import Event, FilmFacts, Person, Thing
from eval.sandbox.story_world import COATS, LABELS, NAMES, VIVID
from world_api.core.vocabulary import content_words

NAMED = "named"  #: label of a question that names a person by name: whether the film tells whose name it is
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
    slots = {name: _spoken(part, words) for name, part in draft.slots.items()}
    for old, new in _changes(ask, draft, chance):
        with suppress(Unsayable):
            before, after = old(words), new(words)
            texts = [*slots.values(), *item.question.options]
            changed = [text.replace(before, after) for text in texts]
            options = tuple(changed[len(slots) :])
            text = item.question.text.replace(before, after)
            if text == item.question.text or len(set(options)) < len(options) or _common(texts) != _common(changed):
                continue
            question = replace(item.question, text=text, options=options)
            answer: Any = 0 if question.kind == "count" else NOT_THERE
            labels = {name: value for name, value in item.labels.items() if name != "absence"}
            return replace(item, question=question, answer=answer, spans=(), labels={**labels, PAIR: item.id})
    return None


def known_names(facts: FilmFacts) -> dict[str, str]:
    """Return the names that the film tells, by id of person: said to this person while no third one is on screen."""
    names = {person.id: person.name for person in facts.people}
    found = {}
    for event in facts.events:
        if event.other in names and re.search(rf"\b{re.escape(names[event.other])}\b", event.words):
            there = {visit.subject for visit in facts.visits if visit.start < event.end and visit.end > event.start}
            if there & names.keys() == {event.actor, event.other}:
                found[event.other] = names[event.other]
    return found


def unknown_names(facts: FilmFacts) -> list[str]:
    """Return names that nobody says, if the film leaves open what two people who are seen in it are called; else none."""
    heard = " ".join([*(event.words for event in facts.events), *(text.text for text in facts.written)])
    seen = {visit.subject for visit in facts.visits}
    free = [name for name in NAMES if re.search(rf"\b{name}\b", heard) is None]
    return free if sum(person.name in free and person.id in seen for person in facts.people) > 1 else []


def by_name(item: Item, draft: Draft, words: Wording, names: dict[str, str] | list[str]) -> Item | None:
    """Return the question with a person called by name; None if it names no person by looks, or ``names`` has no name.

    ``names`` are those of people by id, or names of nobody in particular: who is meant then cannot be told. None also if
    the question says what the person does, by which it could be told.
    """
    if "action" in draft.slots or draft.template.id.startswith(_SAYS_WHO) or " react " in draft.template.en:
        return None
    for part in draft.slots.values():
        if not (isinstance(part, Part) and isinstance(part.about, Person) and part.method == "name"):
            continue
        name = names.get(part.about.id) if isinstance(names, dict) else names[0] if names else None
        if name is not None:
            text = item.question.text.replace(part(words), name)
            options = tuple(option.replace(part(words), name) for option in item.question.options)
            renamed = replace(item, question=replace(item.question, text=text, options=options))
            labels = {**item.labels, NAMED: "known" if isinstance(names, dict) else "unknown"}
            if isinstance(names, dict):
                return replace(renamed, labels=labels)
            return replace(renamed, labels=labels, answer=UNDETERMINABLE, spans=())
    return None


def _spoken(part: Say, words: Wording) -> str:
    try:
        return part(words)
    except Unsayable:
        return ""


def _common(texts: list[str]) -> list[int]:
    """Return how many words each two texts share: a pair must not be told apart by whom question and options repeat."""
    return [len(one & other) for one, other in combinations([set(content_words(text)) for text in texts], 2)]


def _changes(ask: Asker, draft: Draft, chance: random.Random) -> Iterator[tuple[Say, Say]]:
    """Yield parts of a draft with what each may become, in random order."""
    parts = [(name, part) for name, part in draft.slots.items() if isinstance(part, Part)]
    parts += [("events", part) for part in draft.order if isinstance(part, Part)]
    if draft.is_fixed and draft.template.id.startswith("presence/"):
        parts = [(name, part) for name, part in parts if name.endswith("event")]
    found = [(part, new) for name, part in parts for new in _others(ask, draft, part, chance)]
    yield from chance.sample(found, len(found))


def _others(ask: Asker, draft: Draft, part: Part, chance: random.Random) -> list[Say]:
    """Return what a part may become, so that it is not in the film."""
    facts, about = ask.film.facts, part.about
    found: list[Say] = []
    if isinstance(about, Person) and part.method == "name":
        worn = {person.looks.get("coat") for person in facts.people}
        coats = [chance.choice(group) for group in COATS if worn.isdisjoint(group)]
        found = [say.name(_in_coat(about, coat)) for coat in coats]
    elif isinstance(about, Thing) and part.method == "name":
        free = [colour for colour in VIVID if not _has(ask, colour, about.category)]
        found = [
            say.name(replace(about, id="", name=f"the {colour} {about.category}", colour=colour)) for colour in free
        ]
        found = found if about.name == f"the {about.colour} {about.category}" else []
    elif isinstance(about, Event) and part.method in ("clause", "doing"):
        others = [person for person in ask.film.people if not _does(ask, person, about)]
        found = [part.of(_by(ask, about, person)) for person in others if person.id != about.other]
    elif isinstance(about, Event):
        doer = draft.slots.get("person")
        person = doer.about if isinstance(doer, Part) else None
        if isinstance(person, Person):
            rare = ask.film.is_only_of(about.actor, about.verb_phrase)
            deeds = {item.verb_phrase: item for item in ask.film.deeds if shape(item) == shape(about)}.values()
            found = [
                part.of(item)
                for item in deeds
                if person.id != item.other
                and not _does(ask, person, item)
                and ask.film.is_only_of(item.actor, item.verb_phrase) == rare
            ]
    elif part.method == "labelled":
        category, label = part.parts
        used = {mark for thing in facts.things if thing.category == category for mark in thing.marks}
        free = [colour for colour in LABELS if not any(colour in mark.split() for mark in used)]
        found = [say.labelled(category, colour) for colour in free if colour != label]
    elif part.method == "same":
        found = _other_words(ask, str(part.parts[0]), chance)
    return chance.sample(found, min(len(found), _TRIES))


def _in_coat(person: Person, coat: str) -> Person:
    looks = {**person.looks, "coat": coat}
    own = f"the {person.looks.get('coat')} coat"
    return replace(person, id="", looks=looks, description=person.description.replace(own, f"the {coat} coat"))


def _has(ask: Asker, colour: str, category: str) -> bool:
    """Whether the film has a thing of a category in a colour, or marked with it."""
    alike = [item for item in ask.film.facts.things if item.category == category]
    return any(colour == item.colour or any(colour in mark.split() for mark in item.marks) for item in alike)


def _does(ask: Asker, person: Person, event: Event) -> bool:
    """Whether a person ever does what the words of an event say, in these, in fewer, or in more words."""
    own = (item for item in ask.film.events if item.actor == person.id)
    return any(does_so(item, event.verb_phrase) or does_so(event, item.verb_phrase) for item in own)


def _by(ask: Asker, event: Event, person: Person) -> Event:
    """Return an event as if another person did it."""
    before = ask.film.person_by_id[event.actor].description
    return replace(event, actor=person.id, clause=person.description + event.clause.removeprefix(before))


def _other_words(ask: Asker, text: str, chance: random.Random) -> list[Say]:
    """Return quoted words with another colour or number, which nobody says and which cannot be read in the film."""
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

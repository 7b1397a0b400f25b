"""Reading a question back: which template, and what stands in its slots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from eval.datasets.items import Item
from eval.sandbox.asking.phrases import Chinese, English, Unsayable, Wording
from eval.sandbox.facts import Event, FilmFacts, Person, Place, Thing
from tool_induction.domains.domain import Domain
from tool_induction.domains.guard import PLACEHOLDER
from world_api.core.spans import TimeSpan

_Named = TypeVar("_Named", Person, Thing, Place, Event)
ROWS = {"en": "; then ", "zh": "，然后"}
_WITHIN = {
    "en": re.compile(r"Consider only the part of the video from (\d+) s to (\d+) s\. (.*)", re.DOTALL),
    "zh": re.compile(r"只看视频的(\d+)秒到(\d+)秒这一段。(.*)", re.DOTALL),
}


class Unclear(Exception):
    """Words that name nothing in the film, or more than one thing; an answer that is not the only one."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, read: its type, the film's words for what it names, and those slots."""

    item: Item
    facts: FilmFacts
    words: Lexicon
    type: str
    slots: Mapping[str, str]

    @property
    def template(self) -> str:
        """The template's id."""
        return self.item.template or ""

    def person(self, slot: str = "person") -> Person:
        """Whom a slot names."""
        return one(self.words.people, self.slots[slot])

    def thing(self, slot: str = "object") -> Thing:
        """What a slot names."""
        return one(self.words.things, self.slots[slot])

    def place(self, slot: str = "place") -> Place:
        """Which room a slot names."""
        return one(self.words.places, self.slots[slot])

    def event(self, slot: str = "event") -> Event:
        """Which event a slot names."""
        return one(self.words.events, self.slots[slot])


class Lexicon:
    """From words to what they name in a film, in one language."""

    def __init__(self, facts: FilmFacts, language: str) -> None:
        self.facts = facts
        self.say: Wording = Chinese(facts) if language == "zh" else English(facts)
        self.people = self._by_words(facts.people, self.say.person)
        self.things = self._by_words(facts.things, self.say.thing)
        self.places = self._by_words(facts.places, self.say.place)

    def _by_words(self, items: Iterable[_Named], *ways: Callable[[_Named], str]) -> dict[str, list[_Named]]:
        found: dict[str, list[_Named]] = {}
        for item in items:
            for words in {said for way in ways if (said := spoken(way, item))}:
                found.setdefault(words, []).append(item)
        return found

    def pattern(self, slot: str) -> str:
        """What can stand in a slot, as a pattern: two slots may stand side by side."""
        known: Mapping[str, object]
        match slot:
            case "person" | "other_person":
                known = self.people
            case "place":
                known = self.places
            case _:
                return ".+?"
        return "|".join(re.escape(words) for words in sorted(known, key=len, reverse=True))

    @cached_property
    def events(self) -> dict[str, list[Event]]:
        """Events by clause and as nouns."""
        return self._by_words(self.facts.events, self.say.clause, self.say.doing)

    @cached_property
    def deeds(self) -> dict[str, list[Event]]:
        """Events by what is done, in the base form and in the third person."""
        return self._by_words(self.facts.events, self.say.deed, self.say.does)

    def done_by(self, person: Person, words: str) -> list[Event]:
        """When somebody does what words say, in these words or in more, in order of time."""
        phrases = {item.verb_phrase for item in self.deeds.get(words, ())}
        if not phrases:
            raise Unclear(f"nobody does {words!r}")
        return [
            item
            for item in sorted(self.facts.events, key=lambda event: event.start)
            if item.actor == person.id and any(f"{item.verb_phrase} ".startswith(f"{phrase} ") for phrase in phrases)
        ]


def one(named: Mapping[str, list[_Named]], words: str) -> _Named:
    """The only thing that words name.

    Raises:
        Unclear: there is none, or there are several.
    """
    found = named.get(words, [])
    if len(found) != 1:
        raise Unclear(f"{words!r} names {len(found)} things of the film")
    return found[0]


def spoken(way: Callable[[_Named], str], item: _Named) -> str:
    """The words, empty where the language has none."""
    try:
        return way(item)
    except Unsayable:
        return ""


def window_and_question(text: str, language: str) -> tuple[TimeSpan | None, str]:
    """Return the part of the film that a question is confined to (None: the whole film), and the question itself."""
    found = _WITHIN[language].fullmatch(text)
    if found is None:
        return None, text
    return TimeSpan(start=float(found[1]), end=float(found[2])), found[3]


def read(item: Item, facts: FilmFacts, domain: Domain, lexicon: Lexicon) -> Asked:
    """The question by its template.

    Raises:
        Unclear: it does not read as its template does.
    """
    templates = {one.id: one for kind in domain.question_types for one in kind.templates}
    template = templates.get(item.template or "")
    if template is None or template.split != item.split:
        raise Unclear(f"{item.template!r} is no template of the split {item.split!r}")
    for wording in template.wordings:
        pattern = PLACEHOLDER.sub(
            lambda slot: f"(?P<{slot.group(1)}>{lexicon.pattern(slot.group(1))})", _escaped(wording)
        )
        if found := re.fullmatch(pattern, item.question.text):
            kind = template.id.partition("/")[0]
            return Asked(item=item, facts=facts, words=lexicon, type=kind, slots=found.groupdict())
    raise Unclear(f"{item.question.text!r} does not read as {template.id} does")


def _escaped(wording: str) -> str:
    """The wording as a pattern, its slots left as they are."""
    return re.sub(r"[^\w\s{}]", lambda sign: re.escape(sign.group()), wording)

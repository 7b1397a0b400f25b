"""The words for people, things, rooms, events and times, in English and in Chinese.

A part of a question is a function of the language (``Say``), so that a question is made once and worded in either one.
English clauses and descriptions are those of the film; Chinese sentences are made from the parts of an event. If a word
has no Chinese translation, the question is not asked in Chinese.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from eval.sandbox.facts import Event, FilmFacts, Person, Place, Relation, Thing
from eval.sandbox.script import with_article
from world_api.core.yaml_text import packaged_yaml

#: The words of ``words.yaml``, by the name of the list and the word.
WORDS: Mapping[str, Any] = packaged_yaml("eval.questions", "words.yaml")
Named: TypeAlias = Person | Thing | Place
Parts = ParamSpec("Parts")
Item = TypeVar("Item")


class Unsayable(Exception):
    """The language lacks a word, or its words for two different things are the same."""


class Wording:
    """The words of one language for the contents of a film; this class has the English ones."""

    language: Literal["en", "zh"] = "en"
    yes_no = ("Yes", "No")
    thirds = ("first third", "middle third", "last third")

    def __init__(self, facts: FilmFacts) -> None:
        self.facts = facts
        self.people = {item.id: item for item in facts.people}

    def fill(self, sentence: str, *parts: str) -> str:
        """Return a sentence, named by its key in ``words.yaml``, with ``parts`` in its slots."""
        return str(WORDS["sentences"][sentence][self.language == "zh"].format(*parts))

    def name(self, item: Named) -> str:
        """Return the words for a person ("the person in the red coat"), a thing or a room."""
        return item.description if isinstance(item, Person) else item.name

    def kind_of_thing(self, category: str) -> str:
        """Return a kind of things in the plural: "folders"."""
        return plural(category)

    def same(self, text: str) -> str:
        """Return a text that is the same in every language, such as speech or a text on screen."""
        return text

    def labelled(self, category: str, label: str) -> str:
        """Return things with a label: "folders with a red label"."""
        return f"{plural(category)} with {with_article(label)} label"

    def made_up(self, colour: str, category: str) -> str:
        """Return a thing by its colour and kind, also if the film has none: "the green folder"."""
        return f"the {colour} {category}"

    def furniture(self, target: str) -> str:
        """Return the words for furniture on or in which things are put; ``target``: in English, "the left drawer"."""
        return target

    def clause(self, event: Event) -> str:
        """Return an event as a clause: "the person in the red coat opens the left drawer"."""
        return event.clause

    def doing(self, event: Event) -> str:
        """Return an event as a noun phrase: "the person in the red coat opening the left drawer"."""
        return f"{self.people[event.actor].description} {gerund(event.verb_phrase)}"

    def deed(self, event: Event) -> str:
        """Return what is done, in the base form: "open the left drawer"."""
        return event.verb_phrase

    def does(self, event: Event) -> str:
        """Return what is done, in the third person: "opens the left drawer"."""
        return event.clause.removeprefix(self.people[event.actor].description + " ")

    def kept(self, relation: Relation, keeper: Person | None, place: Place | None) -> str:
        """Return a relation in words: "worn by" or "in the hands of" ``keeper``; if None "on the desk in" ``place``."""
        if keeper is not None:
            return ("worn by " if relation.kind == "wears" else "in the hands of ") + keeper.description
        where = "in" if relation.kind in ("in", "inside") else "on"
        return f"{where} {relation.object}" + ("" if place is None else f" in {place.name}")


#: A part of a question, worded in a language.
Say: TypeAlias = Callable[[Wording], str]


def spoken(part: Say, words: Wording) -> str:
    """Return a part of a question in words; "" if the language lacks a word for it."""
    try:
        return part(words)
    except Unsayable:
        return ""


def plural(noun: str) -> str:
    """Return the plural of a regular noun: folders, boxes, keys, parties."""
    if re.search(r"(?:s|x|z|ch|sh)$", noun):
        return noun + "es"
    if re.search(r"f$", noun) and not noun.endswith(("ff", "ief")):
        return noun[:-1] + "ves"
    return noun[:-1] + "ies" if re.search(r"[^aeiou]y$", noun) else noun + "s"


def gerund(phrase: str) -> str:
    """Return a phrase in the base form with -ing: "put the cup down" -> "putting the cup down"."""
    verb, _, rest = phrase.partition(" ")
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        verb = verb[:-1]
    elif len(re.findall(r"[aeiou]+", verb)) == 1 and re.search(r"[^aeiou][aeiou][^aeiouwxy]$", verb):
        verb += verb[-1]
    return f"{verb}ing {rest}".strip()


class _Chinese(Wording):
    """Chinese words: people by the colour of the coat, things by colour and kind.

    ``Unsayable`` is raised if the English words contain more than that, or fit another number of events than the
    Chinese ones.
    """

    language = "zh"
    yes_no = ("是", "否")
    thirds = ("前三分之一", "中间三分之一", "最后三分之一")

    def name(self, item: Named) -> str:
        if isinstance(item, Place):
            return _noun(item.name)
        if isinstance(item, Thing):
            if item.name.removeprefix("the ") != f"{item.colour} {item.category}":
                raise Unsayable(item.name)
            return self.made_up(item.colour, item.category)
        coat = item.looks.get("coat", "")
        is_plain = f"in the {coat} coat" in item.description and " and " not in item.description
        if not is_plain or sum(other.looks.get("coat") == coat for other in self.facts.people) != 1:
            raise Unsayable(item.description)
        return f"穿{_word('colours', coat)}外套的人"

    def kind_of_thing(self, category: str) -> str:
        return _word("nouns", category)

    def labelled(self, category: str, label: str) -> str:
        return f"贴有{_word('colours', label)}标签的{_word('nouns', category)}"

    def made_up(self, colour: str, category: str) -> str:
        return _word("colours", colour) + "的" + _word("nouns", category)

    def furniture(self, target: str) -> str:
        noun = _noun(target)
        return noun + ("里" if noun.endswith(tuple(WORDS["containers"])) else "上")

    def clause(self, event: Event) -> str:
        words = self._clause(event)
        if self._in_chinese["", words] != self._in_english["", event.clause]:
            raise Unsayable(event.clause)
        return words

    doing = clause

    def deed(self, event: Event) -> str:
        words = self._deed(event)
        if self._in_chinese[event.actor, words] != self._in_english[event.actor, event.verb_phrase]:
            raise Unsayable(event.verb_phrase)
        return words

    does = deed

    def kept(self, relation: Relation, keeper: Person | None, place: Place | None) -> str:
        if keeper is not None:
            return ("戴在{}身上" if relation.kind == "wears" else "在{}手里").format(self.name(keeper))
        return f"在{'' if place is None else self.name(place)}{self.furniture(relation.object)}"

    def _clause(self, event: Event) -> str:
        return self.name(self.people[event.actor]) + self._deed(event)

    def _deed(self, event: Event) -> str:
        slots = {
            "thing": self.name(self._named[event.thing]) if event.thing else "",
            "other": self.name(self.people[event.other]) if event.other else "",
            "place": self.name(self._named[event.place]) if event.kind in ("enters", "leaves") else "",
            "target": _noun(event.target) if event.target else "",
            "at": self.furniture(event.target) if event.target else "",
        }
        for pattern in WORDS["deeds"].get(event.kind, ()):
            if all(slots[slot] for slot in re.findall(r"\{(\w+)\}", pattern)):
                return str(pattern.format(**slots))
        raise Unsayable(event.clause)

    @cached_property
    def _named(self) -> dict[str, Named]:
        items: list[Named] = [*self.facts.things, *self.facts.places]
        return {item.id: item for item in items}

    @cached_property
    def _in_chinese(self) -> Counter[tuple[str, str]]:
        """How many events have the same Chinese clause (key: "", words), or the same deed (key: person's id, words)."""
        found: Counter[tuple[str, str]] = Counter()
        for event in self.facts.events:
            for who, way in (("", self._clause), (event.actor, self._deed)):
                with suppress(Unsayable):
                    found[who, way(event)] += 1
        return found

    @cached_property
    def _in_english(self) -> Counter[tuple[str, str]]:
        """The counts of ``_in_chinese``, for English words."""
        events = self.facts.events
        return Counter(key for item in events for key in (("", item.clause), (item.actor, item.verb_phrase)))


def _word(table: str, word: str) -> str:
    """Return a word of a table of ``words.yaml`` in Chinese. Raises Unsayable: the table lacks it."""
    if word not in WORDS[table]:
        raise Unsayable(word)
    return str(WORDS[table][word])


def _noun(name: str) -> str:
    """Return in Chinese a noun with adjectives or number: "the left drawer", "the meeting room", "office 14"."""
    rest = re.sub(r"^(?:the|a|an) ", "", name.strip().casefold())
    number = re.search(r" (\d+)$", rest)
    if number:
        return number.group(1) + "号" + _noun(rest[: number.start()])
    if rest in WORDS["nouns"]:
        return _word("nouns", rest)
    first, _, others = rest.partition(" ")
    if not others:
        raise Unsayable(name)
    if first in WORDS["sides"]:
        return _word("sides", first) + _noun(others)
    return _word("colours", first) + _noun(others)


def wording(language: str, facts: FilmFacts) -> Wording:
    """Return the ``Wording`` of a language, "en" or "zh", for the contents of a film."""
    return _Chinese(facts) if language == "zh" else Wording(facts)


# -- parts of questions, worded later by one of the languages


@dataclass(frozen=True)
class Part:
    """A part of a question as the ``method`` of a ``Wording`` words it, from ``parts`` such as a person or an event."""

    method: str
    parts: tuple[Any, ...]

    def __call__(self, words: Wording) -> str:
        """Return the part in a language."""
        return str(getattr(words, self.method)(*self.parts))

    @property
    def about(self) -> Any:
        """What is worded: a person, a thing, a room, an event or a word."""
        return self.parts[0]

    def of(self, about: Any) -> Part:
        """Return the same part about something else."""
        return replace(self, parts=(about, *self.parts[1:]))


def _later(method: Callable[Concatenate[Wording, Parts], str]) -> Callable[Parts, Say]:
    """Turn a method of ``Wording`` into a function that returns a ``Part``, which calls the method later."""

    def part(*parts: Parts.args, **_: Parts.kwargs) -> Part:
        return Part(method.__name__, parts)

    return part


name = _later(Wording.name)
clause, doing, deed, does = map(_later, (Wording.clause, Wording.doing, Wording.deed, Wording.does))
kept = _later(Wording.kept)
things = _later(Wording.kind_of_thing)
quoted = _later(Wording.same)
labelled, made_up = _later(Wording.labelled), _later(Wording.made_up)


def sentence(which: str, *parts: Say | float) -> Say:
    """Return a sentence, named by its key in ``words.yaml``, with its parts; numbers are rounded to whole ones."""
    return lambda words: words.fill(which, *(part(words) if callable(part) else str(round(part)) for part in parts))


def row(items: Iterable[Item], way: Callable[[Item], Say]) -> Say:
    """Return several items in their order, joined by "then"; ``way`` words each."""
    parts = list(map(way, items))
    return lambda words: words.fill("row").join(part(words) for part in parts)


def third(number: int) -> Say:
    """Return the words for a third of the video; 0 is the first."""
    return lambda words: words.thirds[number]


def put_into(target: str, place: Place) -> Say:
    """Return "put into the left drawer in the office", for a piece of furniture (``target``) and its room."""
    return lambda words: words.fill("put_into", words.furniture(target), words.name(place))


def in_english(text: str) -> Say:
    """Return a part of a question that has only English words, such as a reason; in Chinese it raises Unsayable."""
    return lambda words: text if words.language == "en" else never(words)


def never(words: Wording) -> str:
    """Raise Unsayable; it serves as a part that has no words in any language."""
    raise Unsayable(words.language)

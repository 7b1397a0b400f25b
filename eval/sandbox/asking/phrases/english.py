"""English words. Clauses and descriptions are the film's own; other forms of a verb are made from its base form."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eval.sandbox.asking.phrases.wording import Wording, letters
from eval.sandbox.facts import Event, FilmFacts, Person, Place, Relation, Thing

_ORDINALS = ("first", "middle", "last")


class English(Wording):
    """English."""

    language = "en"

    def __init__(self, facts: FilmFacts) -> None:
        self._described = {item.id: item.description for item in facts.people}

    def person(self, person: Person) -> str:
        """By looks."""
        return person.description

    def thing(self, thing: Thing) -> str:
        """By its name."""
        return thing.name

    def kind_of_thing(self, category: str) -> str:
        """The plural."""
        return plural(category)

    def made_up(self, colour: str, category: str) -> str:
        """As things are named."""
        return f"the {colour} {category}"

    def place(self, place: Place) -> str:
        """By its name."""
        return place.name

    def clause(self, event: Event) -> str:
        """The film's."""
        return event.clause

    def doing(self, event: Event) -> str:
        """The doer and the verb with -ing."""
        return f"{self._described[event.actor]} {gerund(event.verb_phrase)}"

    def deed(self, event: Event) -> str:
        """The film's."""
        return event.verb_phrase

    def does(self, event: Event) -> str:
        """The clause without its subject; where it does not begin with that, the verb is inflected."""
        subject = self._described[event.actor] + " "
        return event.clause.removeprefix(subject) if event.clause.startswith(subject) else third(event.verb_phrase)

    def kept(self, relation: Relation, keeper: Person | None, place: Place | None) -> str:
        """Holder or place."""
        if keeper is not None:
            return ("worn by " if relation.kind == "wears" else "in the hands of ") + keeper.description
        where = "in" if relation.kind in ("in", "inside") else "on"
        return f"{where} {relation.object}" + ("" if place is None else f" in {place.name}")

    def seconds(self, amount: float) -> str:
        """Whole seconds."""
        return f"about {round(amount)} seconds"

    def moment(self, time: float) -> str:
        """Whole seconds."""
        return f"{round(time)} s"

    def range(self, start: float, end: float) -> str:
        """Whole seconds."""
        return f"between {round(start)} and {round(end)} seconds"

    def within(self, start: float, end: float, question: str) -> str:
        """Whole seconds."""
        return f"Consider only the part of the video from {round(start)} s to {round(end)} s. {question}"

    def third(self, number: int) -> str:
        """First, middle, last."""
        return f"{_ORDINALS[number]} third"

    def answer(self, is_so: bool) -> str:
        """Yes, no."""
        return "Yes" if is_so else "No"

    def row(self, parts: Sequence[str]) -> str:
        """One after the other."""
        return "; then ".join(parts)

    def change(self, before: str, after: str) -> str:
        """Side by side."""
        return f"before: {before}; afterwards: {after}"

    def only(self, who: str, does: str, other: str) -> str:
        """With a stress on who does not."""
        return f"{who} {does}, {other} never does"

    def both(self, does: str) -> str:
        """Of two."""
        return f"each of them {does}"

    def lies(self, thing: str, where: str) -> str:
        """In the present."""
        return f"{thing} is {where}"

    def busy(self, who: str, deeds: str) -> str:
        """A list."""
        return f"{who}: {deeds}"

    def had(self, holder: str, origin: str) -> str:
        """Holder first."""
        return f"{holder}; at first it was {origin}"

    def put_into(self, target: str, room: str) -> str:
        """With the room."""
        return f"put into {target} in {room}"

    def labelled(self, category: str, label: str) -> str:
        """In the plural."""
        return f"{plural(category)} with {'an' if label[:1] in 'aeiou' else 'a'} {label} label"

    def lettered(self, parts: Sequence[str]) -> str:
        """In brackets."""
        return ", ".join(letters(parts))


def plural(noun: str) -> str:
    """The plural of a regular noun: folders, boxes, keys, parties."""
    if re.search(r"(?:s|x|z|ch|sh)$", noun):
        return noun + "es"
    if re.search(r"f$", noun) and not noun.endswith(("ff", "ief")):
        return noun[:-1] + "ves"
    return noun[:-1] + "ies" if re.search(r"[^aeiou]y$", noun) else noun + "s"


def gerund(phrase: str) -> str:
    """A phrase in the base form with its verb's -ing: "put the cup down" -> "putting the cup down"."""
    verb, _, rest = phrase.partition(" ")
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        verb = verb[:-1]
    elif len(re.findall(r"[aeiou]+", verb)) == 1 and re.search(r"[^aeiou][aeiou][^aeiouwxy]$", verb):
        verb += verb[-1]
    return f"{verb}ing {rest}".strip()


def third(phrase: str) -> str:
    """A phrase in the base form with its verb in the third person: "wave" -> "waves"."""
    verb, _, rest = phrase.partition(" ")
    ending = "es" if re.search(r"(?:s|x|z|ch|sh|o)$", verb) else "s"
    if re.search(r"[^aeiou]y$", verb):
        verb, ending = verb[:-1], "ies"
    return f"{verb}{ending} {rest}".strip()

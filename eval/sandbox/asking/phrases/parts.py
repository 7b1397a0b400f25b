"""Parts of questions, to be said in a language later."""

from __future__ import annotations

from collections.abc import Sequence

from eval.sandbox.asking.phrases.wording import Say, Unsayable, Wording
from eval.sandbox.facts import Event, Person, Place, Relation, Thing


def person(item: Person) -> Say:
    """Somebody by their looks."""
    return lambda words: words.person(item)


def thing(item: Thing) -> Say:
    """A thing by its name."""
    return lambda words: words.thing(item)


def things(category: str) -> Say:
    """Things of a kind."""
    return lambda words: words.kind_of_thing(category)


def made_up(colour: str, category: str) -> Say:
    """A thing by colour and kind."""
    return lambda words: words.made_up(colour, category)


def place(item: Place) -> Say:
    """A room."""
    return lambda words: words.place(item)


def clause(item: Event) -> Say:
    """An event as a clause."""
    return lambda words: words.clause(item)


def doing(item: Event) -> Say:
    """An event as a noun."""
    return lambda words: words.doing(item)


def deed(item: Event) -> Say:
    """What is done, in the base form."""
    return lambda words: words.deed(item)


def does(item: Event) -> Say:
    """What is done, in the third person."""
    return lambda words: words.does(item)


def kept(relation: Relation, keeper: Person | None, room: Place | None) -> Say:
    """Where a thing is."""
    return lambda words: words.kept(relation, keeper, room)


def quoted(text: str) -> Say:
    """What is said or written, word for word in any language."""
    return lambda _: text


def in_english(text: str) -> Say:
    """What the film's script says in English, and nobody in the film."""
    return lambda words: text if words.language == "en" else never(words)


def seconds(amount: float) -> Say:
    """A length of time."""
    return lambda words: words.seconds(amount)


def moment(time: float) -> Say:
    """A moment."""
    return lambda words: words.moment(time)


def between(start: float, end: float) -> Say:
    """Between which moments."""
    return lambda words: words.range(start, end)


def third(number: int) -> Say:
    """A third of the video."""
    return lambda words: words.third(number)


def row(parts: Sequence[Say]) -> Say:
    """Several in their order."""
    return lambda words: words.row([part(words) for part in parts])


def lettered(parts: Sequence[Say]) -> Say:
    """Options inside of a question."""
    return lambda words: words.lettered([part(words) for part in parts])


def change(before: Say, after: Say) -> Say:
    """Before and after."""
    return lambda words: words.change(before(words), after(words))


def lies(item: Thing, state: Say) -> Say:
    """The fact that a thing is somewhere."""
    return lambda words: words.lies(words.thing(item), state(words))


def never(words: Wording) -> str:
    """What cannot be said.

    Raises:
        Unsayable: always.
    """
    raise Unsayable(words.language)


def differ(who: Person, event: Event, other: Person) -> Say:
    """What one does and the other never does."""
    return lambda words: words.only(words.person(who), words.does(event), words.person(other))


def both(event: Event) -> Say:
    """What both do."""
    return lambda words: words.both(words.does(event))


def had(holder: Person, origin: Say) -> Say:
    """Who has a thing, and where it was at first."""
    return lambda words: words.had(words.person(holder), origin(words))


def busy(who: Person, deeds: Say) -> Say:
    """Who does what."""
    return lambda words: words.busy(words.person(who), deeds(words))


def handed(holders: Sequence[Person]) -> Say:
    """Who has a thing, one after the other."""
    return lambda words: words.row([words.person(item) for item in holders])


def put_into(target: str, room: Place) -> Say:
    """Where things of a kind are put."""
    return lambda words: words.put_into(target, words.place(room))


def labelled(category: str, label: str) -> Say:
    """Things of a kind with a label."""
    return lambda words: words.labelled(category, label)

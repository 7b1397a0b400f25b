"""What a language can say. Parts of questions are functions of it, so that a question is made once and said in either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from eval.sandbox.facts import Event, Person, Place, Relation, Thing


class Unsayable(Exception):
    """A word is not known in this language, or two things that differ would sound alike."""


class Wording(ABC):
    """Words for what a film holds."""

    language: Literal["en", "zh"]

    @abstractmethod
    def person(self, person: Person) -> str:
        """Somebody by their looks: "the person in the red coat"."""

    @abstractmethod
    def thing(self, thing: Thing) -> str:
        """A thing: "the blue folder"."""

    @abstractmethod
    def kind_of_thing(self, category: str) -> str:
        """Things of a kind, in the plural: "folders"."""

    @abstractmethod
    def made_up(self, colour: str, category: str) -> str:
        """A thing by its colour and kind: "the green folder"."""

    @abstractmethod
    def place(self, place: Place) -> str:
        """A room: "the kitchen"."""

    @abstractmethod
    def clause(self, event: Event) -> str:
        """An event as a clause: "the person in the red coat opens the left drawer"."""

    @abstractmethod
    def doing(self, event: Event) -> str:
        """An event as a noun: "the person in the red coat opening the left drawer"."""

    @abstractmethod
    def deed(self, event: Event) -> str:
        """What is done, in the base form: "open the left drawer"."""

    @abstractmethod
    def does(self, event: Event) -> str:
        """What is done, in the third person: "opens the left drawer"."""

    @abstractmethod
    def kept(self, relation: Relation, keeper: Person | None, place: Place | None) -> str:
        """Where a thing is: "on the desk in the office", "with the person in the red coat"."""

    @abstractmethod
    def seconds(self, amount: float) -> str:
        """A length of time: "about 40 s"."""

    @abstractmethod
    def moment(self, time: float) -> str:
        """A moment, for "from ... to ...": "70 s"."""

    @abstractmethod
    def range(self, start: float, end: float) -> str:
        """Between which two moments: "between 40 and 50 s"."""

    @abstractmethod
    def within(self, start: float, end: float, question: str) -> str:
        """A question about a part of the video: "Consider only the part of the video from 40 s to 90 s. ..."."""

    @abstractmethod
    def third(self, number: int) -> str:
        """A part of the video: "first third"."""

    @abstractmethod
    def answer(self, is_so: bool) -> str:
        """Yes or no."""

    @abstractmethod
    def row(self, parts: Sequence[str]) -> str:
        """Several in their order: "a; then b; then c"."""

    @abstractmethod
    def change(self, before: str, after: str) -> str:
        """Before and after: "before: ...; after: ..."."""

    @abstractmethod
    def only(self, who: str, does: str, other: str) -> str:
        """What one does and another does not."""

    @abstractmethod
    def both(self, does: str) -> str:
        """What both do."""

    @abstractmethod
    def lies(self, thing: str, where: str) -> str:
        """That a thing is somewhere: "the blue folder is on the desk"."""

    @abstractmethod
    def busy(self, who: str, deeds: str) -> str:
        """Who does what: "the person in the red coat: wave; then ..."."""

    @abstractmethod
    def had(self, holder: str, origin: str) -> str:
        """Who has a thing, and where it was at first."""

    @abstractmethod
    def put_into(self, target: str, room: str) -> str:
        """Where things are put: "put into the left drawer in the office"."""

    @abstractmethod
    def labelled(self, category: str, label: str) -> str:
        """Things with a label: "folders with a red label"."""

    @abstractmethod
    def lettered(self, parts: Sequence[str]) -> str:
        """Options inside of a question: "(A) ...; (B) ..."."""


#: A part of a question, said in a language.
Say: TypeAlias = Callable[[Wording], str]


def letters(parts: Sequence[str]) -> list[str]:
    """Each part behind its letter."""
    return [f"({chr(ord('A') + number)}) {part}" for number, part in enumerate(parts)]

"""How events are told: a verb with its objects, once for a main clause and once in the base form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.sandbox.facts import Event, EventKind

_TOLD = 5  #: events that a shot's caption tells

_VERBS: dict[EventKind, tuple[str, str]] = {  # third person, base form
    "enters": ("enters", "enter"),
    "leaves": ("leaves", "leave"),
    "sits": ("sits down", "sit down"),
    "stands_up": ("stands up", "stand up"),
    "picks_up": ("picks up", "pick up"),
    "puts_down": ("puts", "put"),
    "puts_on": ("puts on", "put on"),
    "takes_off": ("takes off", "take off"),
    "gives": ("gives", "give"),
    "opens": ("opens", "open"),
    "closes": ("closes", "close"),
    "waves": ("waves", "wave"),
    "drinks": ("drinks", "drink"),
    "says": ("says", "say"),
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """An event in words: ``predicate`` in the third person ("opens the left drawer"), ``base`` without its ending."""

    predicate: str
    base: str


def tell_event(
    kind: EventKind,
    *,
    thing: str = "",
    other: str = "",
    target: str = "",
    room: str = "",
    words: str = "",
    inside: bool = False,
) -> Told:
    """An event in words; all parts are names with their articles ("the blue cup"), empty where there is none."""
    rest = _objects(kind, thing=thing, other=other, target=target, room=room, words=words, inside=inside)
    third, base = _VERBS[kind]
    if kind == "picks_up" and target and inside:
        third, base = "takes", "take"
    return Told(predicate=f"{third}{rest}", base=f"{base}{rest}")


def _objects(kind: EventKind, *, thing: str, other: str, target: str, room: str, words: str, inside: bool) -> str:
    if kind in {"enters", "leaves"}:
        return f" {room}" + (f" with {thing}" if thing else "")
    if kind == "sits":
        return f" on {target}"
    if kind == "stands_up":
        return f" from {target}" if target else ""
    if kind == "picks_up" and target:
        return f" {thing} {'out of' if inside else 'from'} {target}"
    if kind == "puts_down":
        return f" {thing} {'into' if inside else 'on'} {target}"
    if kind == "gives":
        return f" {thing} to {other}"
    if kind == "waves":
        return f" at {other}" if other else ""
    if kind == "drinks":
        return f" from {thing}"
    if kind == "says":
        return f' "{words}"' + (f" to {other}" if other else "")
    return f" {thing or target}" if thing or target else ""


def capital(sentence: str) -> str:
    """The sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def clock_words(minute: int) -> str:
    """Minutes of the day as a clock shows them: ``09:05``."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def caption_of(room: str, events: Sequence[Event]) -> str:
    """A shot in one sentence: the first things that are done in it, and the first that is said."""
    deeds = [event for event in events if event.kind not in {"says", "stands_up", "opens", "closes"}]
    said = next((f' "{event.words}"' for event in events if event.kind == "says"), "")
    told = "; ".join(event.clause for event in deeds[:_TOLD]) or "nothing happens"
    heard = f"; somebody says{said}" if said else ""
    return f"In {room}, {told}{heard}."

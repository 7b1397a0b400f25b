"""Colours by name, as people say them, and by hexadecimal code. All are BGR, 0 to 255."""

from __future__ import annotations

Colour = tuple[float, float, float]


def hexa(code: str) -> Colour:
    """``#rrggbb`` as blue, green, red."""
    red, green, blue = (int(code[place : place + 2], 16) for place in (1, 3, 5))
    return float(blue), float(green), float(red)


def shade(colour: Colour, factor: float) -> Colour:
    """The colour made darker (below 1) or lighter (above 1)."""
    blue, green, red = (min(255.0, max(0.0, part * factor)) for part in colour)
    return blue, green, red


#: Clothes and things, by the word a person would use.
COLOURS: dict[str, Colour] = {
    "red": hexa("#d6322c"),
    "orange": hexa("#ef8a1d"),
    "yellow": hexa("#f2cb2e"),
    "green": hexa("#2f9a4a"),
    "blue": hexa("#2b66d9"),
    "purple": hexa("#8440b5"),
    "pink": hexa("#ee7fae"),
    "white": hexa("#f1f0ec"),
    "grey": hexa("#84878c"),
    "brown": hexa("#75492a"),
    "black": hexa("#26262b"),
}

SKINS: dict[str, Colour] = {
    "light": hexa("#f3cdb0"),
    "tan": hexa("#d9a276"),
    "dark": hexa("#8f5c3c"),
}

HAIRS: dict[str, Colour] = {
    "black": hexa("#2a2523"),
    "brown": hexa("#5f3d26"),
    "blond": hexa("#dcb462"),
    "grey": hexa("#b9b6b1"),
    "ginger": hexa("#b5562a"),
}

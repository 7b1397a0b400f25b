"""Elements of SVG. Whatever is put into them is escaped; colours are classes, so that light, dark and print may differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

Attribute = str | int | float | None


def element(tag: str, *children: Markup | str, **attributes: Attribute) -> Markup:
    """One element. ``_`` in the name of an attribute stands for ``-``, one at its end falls away; None is left out."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = Markup().join(escape(child) for child in children)
    return Markup(f"<{tag}{written}>{inside}</{tag}>")  # noqa: S704 - every part has been escaped above


def joined(parts: Iterable[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup().join(parts)


@dataclass(frozen=True, kw_only=True)
class Behind:
    """What is behind a mark: the number of its set of samples on the page, None where there is none; and its words."""

    words: str
    samples: int | None = None


def mark(behind: Behind, *shapes: Markup, place: str = "") -> Markup:
    """Shapes that tell what they stand for, and that are a button where episodes are behind them."""
    title = element("title", behind.words)
    if behind.samples is None:
        return element("g", title, *shapes, class_="mark", transform=place or None)
    return element(
        "g", title, *shapes, class_="mark open", data_set=behind.samples, tabindex=0, role="button",
        aria_label=f"{behind.words}: list the episodes", transform=place or None,
    )  # fmt: skip


def drawing(*parts: Markup, width: float, height: float, title: str, about: str, name: str) -> Markup:
    """A whole drawing with its title and its description for those who cannot see it."""
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", about, id=f"{name}-about"),
        *parts,
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        width=width,
        height=height,
        role="group",
        aria_labelledby=f"{name}-title {name}-about",
    )


def text(words: str, x: float, y: float, *, anchor: str = "start", kind: str = "label") -> Markup:
    """Words at a place."""
    return element("text", words, x=x, y=y, text_anchor=anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def shortened(words: str, letters: int) -> str:
    """The words, cut where there are too many."""
    return words if len(words) <= letters else words[: letters - 1].rstrip() + "…"


#: Shapes differ beside colours, for those who see few of these, and on paper.
_SHAPES = (
    "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0Z",
    "M-4,-4H4V4H-4Z",
    "M0,-5.2L5,3.8H-5Z",
    "M0,-5.6L5.6,0L0,5.6L-5.6,0Z",
    "M0,5.2L5,-3.8H-5Z",
    "M-1.6,-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
    "M-5,0L-2.5,-4.4H2.5L5,0L2.5,4.4H-2.5Z",
    "M0,-5.5L1.6,-1.7L5.3,-1.7L2.4,0.9L3.4,4.7L0,2.5L-3.4,4.7L-2.4,0.9L-5.3,-1.7L-1.6,-1.7Z",
)
SERIES = len(_SHAPES)  #: colours and shapes there are; further series begin again


def dot(series: int) -> Markup:
    """The shape of a series, around the origin."""
    return element("path", d=_SHAPES[series % SERIES], class_=f"dot c{series % SERIES}")


def legend(names: Iterable[str], *, y: float, width: float) -> tuple[Markup, float]:
    """Names beside their shapes, in rows; and how high that is."""
    parts, x, top = [], 8.0, y
    for number, name in enumerate(names):
        shown = shortened(name, 34)
        needed = 26 + 6.6 * len(shown)
        if x > 8 and x + needed > width:
            x, top = 8.0, top + 18
        parts.append(element("g", dot(number), transform=f"translate({_text(x + 6)},{_text(top)})"))
        parts.append(text(shown, x + 16, top + 4))
        x += needed
    return joined(parts), top - y + 18


def _text(value: str | int | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)

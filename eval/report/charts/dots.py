"""Figures with their intervals, one a line: differences around nothing, the rungs of a ladder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eval.report.charts.estimates import Dot
from eval.report.charts.scales import Scale, around
from eval.report.charts.svg import Behind, dot, drawing, element, line, mark, shortened, text

_HEAD, _BOTTOM = 26.0, 44.0
_LONG = 14  #: lines from which on the scale stands above them too


@dataclass(frozen=True, kw_only=True)
class _Form:
    """How wide the chart is, and where the labels of its lines stand: before them, or above them where ``left`` is small."""

    width: float
    left: float
    right: float
    line: float
    ticks: int
    letters: int  #: of a label
    head: int  #: letters of the head of a group
    above: bool


_BROAD = _Form(width=760, left=300, right=20, line=24, ticks=8, letters=38, head=90, above=False)
_NARROW = _Form(width=300, left=16, right=16, line=42, ticks=4, letters=38, head=36, above=True)


def dot_chart(
    dots: Sequence[Dot],
    *,
    name: str,
    title: str,
    about: str,
    axis: str,
    zero: bool,
    tick: Callable[[float], str],
    narrow: bool = False,
) -> Markup:
    """Lines in the order given; ``zero`` draws the line of no difference, ``narrow`` is for telephones."""
    form = _NARROW if narrow else _BROAD
    groups = [dot.group for dot in dots]
    heads = sum(bool(group) and (place == 0 or groups[place - 1] != group) for place, group in enumerate(groups))
    height = 14 + len(dots) * form.line + heads * _HEAD + _BOTTOM
    x = around([end for one in dots for end in one.at.ends], start=form.left, end=form.width - form.right, zero=zero)
    foot = height - _BOTTOM
    parts = []
    for value in x.ticks(form.ticks):
        parts.append(line(x(value), 6, x(value), foot, "grid"))
        parts.append(text(tick(value), x(value), foot + 16, anchor="middle", kind="tick"))
        if len(dots) > _LONG:
            parts.append(text(tick(value), x(value), 10, anchor="middle", kind="tick"))
    if zero:
        parts.append(line(x(0.0), 6, x(0.0), foot, "axis zero"))
    parts.append(text(axis, (form.left + form.width - form.right) / 2, foot + 34, anchor="middle", kind="tick"))
    y, last = 14.0, ""
    for one in dots:
        if one.group and one.group != last:
            parts.append(text(shortened(one.group, form.head), 8, y + 17, kind="head"))
            y += _HEAD
        last = one.group
        parts.append(_line(one, x, y, form))
        y += form.line
    return drawing(*parts, width=form.width, height=height, title=title, about=about, name=name)


def _line(one: Dot, x: Scale, top: float, form: _Form) -> Markup:
    series = 1 if one.marked else 0
    y = top + (form.line - 14 if form.above else form.line / 2)
    label = shortened(one.label, form.letters)
    parts = [element("rect", x=0, y=top, width=form.width, height=form.line, class_="reach")]
    parts.append(text(label, 8, top + 15) if form.above else text(label, form.left - 10, y + 4, anchor="end"))
    if one.at.low is not None and one.at.high is not None:
        parts.append(line(x(one.at.low), y, x(one.at.high), y, f"bar wide c{series}"))
    parts.append(element("g", dot(series), transform=f"translate({x(one.at.value):.1f},{y:.1f})"))
    return mark(Behind(words=one.words, samples=one.samples), *parts)

"""Figures with their intervals, one a line: differences around nothing, the rungs of a ladder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from eval.report.charts.estimates import Dot
from eval.report.charts.scales import Scale, around
from eval.report.charts.svg import Behind, dot, drawing, element, line, mark, shortened, text

_WIDTH, _LEFT, _RIGHT = 760.0, 300.0, 20.0
_LINE, _HEAD, _BOTTOM = 24.0, 26.0, 44.0
_LETTERS = 46


def dot_chart(
    dots: Sequence[Dot], *, name: str, title: str, about: str, axis: str, zero: bool, tick: Callable[[float], str]
) -> Markup:
    """Lines in the order given; ``zero`` draws the line of no difference."""
    groups = [dot.group for dot in dots]
    heads = sum(bool(group) and (place == 0 or groups[place - 1] != group) for place, group in enumerate(groups))
    height = 10 + len(dots) * _LINE + heads * _HEAD + _BOTTOM
    x = around([end for one in dots for end in one.at.ends], start=_LEFT, end=_WIDTH - _RIGHT, zero=zero)
    foot = height - _BOTTOM
    parts = []
    for value in x.ticks():
        parts.append(line(x(value), 6, x(value), foot, "grid"))
        parts.append(text(tick(value), x(value), foot + 16, anchor="middle", kind="tick"))
    if zero:
        parts.append(line(x(0.0), 6, x(0.0), foot, "axis zero"))
    parts.append(text(axis, (_LEFT + _WIDTH - _RIGHT) / 2, foot + 34, anchor="middle", kind="tick"))
    y, last = 10.0, ""
    for one in dots:
        if one.group and one.group != last:
            parts.append(text(shortened(one.group, 90), 8, y + 17, kind="head"))
            y += _HEAD
        last = one.group
        parts.append(_line(one, x, y + _LINE / 2))
        y += _LINE
    return drawing(*parts, width=_WIDTH, height=height, title=title, about=about, name=name)


def _line(one: Dot, x: Scale, y: float) -> Markup:
    series = 1 if one.marked else 0
    parts = [element("rect", x=0, y=y - _LINE / 2, width=_WIDTH, height=_LINE, class_="reach")]
    parts.append(text(shortened(one.label, _LETTERS), _LEFT - 10, y + 4, anchor="end"))
    if one.at.low is not None and one.at.high is not None:
        parts.append(line(x(one.at.low), y, x(one.at.high), y, f"bar wide c{series}"))
    parts.append(element("g", dot(series), transform=f"translate({x(one.at.value):.1f},{y:.1f})"))
    return mark(Behind(words=one.words, samples=one.samples), *parts)

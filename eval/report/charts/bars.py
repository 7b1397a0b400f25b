"""Bars, lying: how often a tool was called, how far tools came."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from eval.report.charts.estimates import Bar
from eval.report.charts.scales import Scale
from eval.report.charts.svg import SERIES, Behind, drawing, element, legend, mark, shortened, text

_WIDTH, _LEFT, _RIGHT = 760.0, 200.0, 130.0
_LINE, _HEAD = 24.0, 26.0


def bar_chart(
    bars: Sequence[Bar], *, name: str, title: str, about: str, series: Sequence[str], width: float = _WIDTH
) -> Markup:
    """Bars in the order given, under the heads of their groups; ``series`` names what pieces are, where there are several."""
    parts: list[Markup] = []
    y = 6.0
    if len(series) > 1:
        names, high = legend(series, y=14, width=width)
        parts.append(names)
        y += high + 4
    longest = max((bar.length for bar in bars), default=0.0)
    x = Scale(low=0.0, high=longest or 1.0, start=0.0, end=width - _LEFT - _RIGHT)
    last = ""
    for bar in bars:
        if bar.group and bar.group != last:
            parts.append(text(shortened(bar.group, 100), 8, y + 17, kind="head"))
            y += _HEAD
        last = bar.group
        parts.append(text(shortened(bar.label, 30), _LEFT - 10, y + _LINE / 2 + 4, anchor="end"))
        parts += _pieces(bar, x, y)
        parts.append(text(bar.shown, _LEFT + x(bar.length) + 6, y + _LINE / 2 + 4, kind="tick"))
        y += _LINE
    return drawing(*parts, width=width, height=y + 8, title=title, about=about, name=name)


def _pieces(bar: Bar, x: Scale, y: float) -> list[Markup]:
    drawn, before = [], 0.0
    for piece in bar.pieces:
        if piece.value <= 0:
            continue
        start, end = x(before), x(before + piece.value)
        before += piece.value
        shape = element(
            "rect", x=_LEFT + start, y=y + 4, width=max(1.0, end - start), height=_LINE - 8,
            class_=f"piece c{piece.series % SERIES}",
        )  # fmt: skip
        drawn.append(mark(Behind(words=piece.words, samples=piece.samples), shape))
    return drawn

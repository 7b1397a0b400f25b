"""Accuracy against cost: an arm is a line over its budgets, with intervals both ways."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from eval.report.charts.estimates import CostPoint
from eval.report.charts.scales import Scale, amounts, percent, short
from eval.report.charts.svg import SERIES, Behind, dot, drawing, element, joined, legend, line, mark, shortened, text

_WIDTH, _HEIGHT = 440.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 30.0, 46.0
_ACROSS = 2
_LABELLED = 14  #: points of a panel that still have room for their names


def cost_chart(points: Sequence[CostPoint], *, name: str, title: str, axis: str) -> Markup:
    """One panel for each of the points' ``panel``, all on the same scales."""
    series = list(dict.fromkeys(point.series for point in points))
    panels = list(dict.fromkeys(point.panel for point in points))
    across = min(_ACROSS, len(panels))
    width = across * _WIDTH
    names, high = legend(series, y=14, width=width)
    x = amounts([end for point in points for end in point.cost.ends], start=_LEFT, end=_WIDTH - _RIGHT)
    y = _shares(points)
    drawn = [
        element(
            "g",
            _panel(panel, [point for point in points if point.panel == panel], series, x, y, axis),
            transform=f"translate({number % across * _WIDTH:g},{high + number // across * _HEIGHT:g})",
        )
        for number, panel in enumerate(panels)
    ]
    rows = -(-len(panels) // across)
    about = f"Share of right answers against {axis}, one line an arm, one point a budget, bars are 95 % intervals."
    return drawing(names, *drawn, width=width, height=high + rows * _HEIGHT, title=title, about=about, name=name)


def _shares(points: Sequence[CostPoint]) -> Scale:
    """From 0 to a little above the best; all of 0 to 1 where that is near."""
    most = max((end for point in points for end in point.share.ends), default=1.0)
    high = 1.0 if most > 0.6 else max(0.1, most * 1.15)
    return Scale(low=0.0, high=high, start=_HEIGHT - _BOTTOM, end=_TOP)


def _panel(title: str, points: Sequence[CostPoint], series: Sequence[str], x: Scale, y: Scale, axis: str) -> Markup:
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts = [text(shortened(title, 60), middle, _TOP - 12, anchor="middle", kind="head")]
    for share in y.ticks():
        parts += [line(_LEFT, y(share), _WIDTH - _RIGHT, y(share), "grid")]
        parts += [text(percent(share), _LEFT - 6, y(share) + 4, anchor="end", kind="tick")]
    for cost in x.ticks():
        parts += [line(x(cost), _TOP, x(cost), _HEIGHT - _BOTTOM, "grid")]
        parts += [text(short(cost), x(cost), _HEIGHT - _BOTTOM + 16, anchor="middle", kind="tick")]
    parts.append(line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM, "axis"))
    scale = ", logarithmic" if x.logarithmic else ""
    parts.append(text(f"{axis}{scale}", middle, _HEIGHT - 10, anchor="middle", kind="tick"))
    named = len(points) <= _LABELLED
    for number, one in enumerate(series):
        own = sorted((point for point in points if point.series == one), key=lambda point: point.cost.value)
        if len(own) > 1:
            path = "M" + "L".join(f"{x(point.cost.value):.1f},{y(point.share.value):.1f}" for point in own)
            parts.append(element("path", d=path, class_=f"curve c{number % SERIES}"))
        parts += [_point(point, number, x, y, named=named) for point in own]
    return joined(parts)


def _point(point: CostPoint, series: int, x: Scale, y: Scale, *, named: bool) -> Markup:
    at_x, at_y = x(point.cost.value), y(point.share.value)
    kind = f"bar c{series % SERIES}"
    parts = []
    if point.share.low is not None and point.share.high is not None:
        parts.append(line(0, y(point.share.low) - at_y, 0, y(point.share.high) - at_y, kind))
    if point.cost.low is not None and point.cost.high is not None:
        parts.append(line(x(point.cost.low) - at_x, 0, x(point.cost.high) - at_x, 0, kind))
    parts.append(element("circle", r=12, class_="reach"))
    if point.primary:
        parts.append(element("circle", r=9, class_="ring"))
    parts.append(dot(series))
    if named and point.label:
        parts.append(text(shortened(point.label, 14), 9, -7, kind="tick"))
    behind = Behind(words=point.words, samples=point.samples)
    return mark(behind, *parts, place=f"translate({at_x:.1f},{at_y:.1f})")

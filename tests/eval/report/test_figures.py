"""Charts take their figures from tables: what a mark says, where it stands, and the samples behind it."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from eval.report.charts.scales import Scale, amounts, around, round_step, short
from eval.report.charts.svg import Behind, drawing, element, mark, text
from eval.report.charts.tiles import shade
from eval.report.figures.drawn import figure_of
from eval.report.index import Sets
from eval.tables.registry import tables_of
from eval.tables.rows import SampleRow
from eval.tables.study import Study
from eval.tables.table import Table
from tests.support.sample_rows import hier_row, sample_row, spend, use

DOMAINS = ("A_locate_count", "B_order_cause")


def rows() -> list[SampleRow]:
    """Two arms at two budgets, in worlds from pixels, with one operation from the truth, and from the truth."""
    made = []
    for world, better in (("classical", 0), ("oracle:detect_objects", 1), ("oracle", 2)):
        for budget, tokens in (("small", 1_000), ("large", 4_000)):
            for video in range(4):
                for item in range(4):
                    place = {
                        "world": world, "budget": budget, "video": f"v{video}", "domain": DOMAINS[item % 2],
                        "spend": spend(tokens=tokens, money=tokens / 1e5),
                    }  # fmt: skip
                    name = f"v{video}-q{item}"
                    made.append(sample_row("flat", name, correct=item < better, **place))
                    tools = (use("find_person", calls=2),)
                    made.append(hier_row(name, correct=item <= better, tools=tools, offered=("find_person",), **place))
    return made


PRIMARY = {"arm": "hier", "library": "hand_A", "against": "flat", "budget": "large", "world": "oracle"}


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(rows=tuple(rows()), primary=PRIMARY)


@pytest.fixture(scope="module")
def tables(study: Study) -> dict[str, Table]:
    return {table.name: table for table in tables_of(study)}


@pytest.fixture
def sets(study: Study) -> Sets:
    return Sets(places={row.sample: place for place, row in enumerate(study.rows)})


def marks(
    table: Table, sets: Sets, primary: frozenset[tuple[str, str, str]] = frozenset()
) -> list[ElementTree.Element]:
    """The marks of all drawings of a table's figure."""
    figure = figure_of(table, sets, primary)
    assert figure is not None
    assert figure.caption
    roots = [ElementTree.fromstring(str(drawn)) for drawn in figure.drawings]  # noqa: S314 - drawn a moment ago
    return [group for root in roots for group in root.iter("g") if (group.get("class") or "").startswith("mark")]


DRAWN = ("curve", "comparisons", "comparisons_by_domain", "transfer_difference", "ladder", "tools", "funnel", "primary")


@pytest.mark.parametrize("name", DRAWN)
def test_every_mark_says_what_it_is_and_has_samples_behind_it(tables: dict[str, Table], sets: Sets, name: str) -> None:
    found = marks(tables[name], sets)
    assert found
    for one in found:
        title = one.find("title")
        assert title is not None
        assert title.text
        if one.get("data-set") is not None:
            assert sets.record()[int(one.get("data-set", ""))]
            assert one.get("tabindex") == "0"
            assert one.get("role") == "button"
    assert any(one.get("data-set") is not None for one in found)


def test_a_mark_has_the_samples_behind_it_that_its_cell_has(tables: dict[str, Table], sets: Sets) -> None:
    table = tables["transfer_difference"]
    columns = [column.key for column in table.columns if column.key.startswith("domain:")]
    places = [(row, key) for row in range(len(table.rows)) for key in columns if table.cell(row, key).value is not None]
    cells = {sets.number(table.samples(row, key)) for row, key in places}
    drawn = {int(number) for one in marks(table, sets) if (number := one.get("data-set")) is not None}
    assert drawn == cells
    assert len(drawn) > 2


def test_the_curve_is_drawn_against_tokens_and_against_money(tables: dict[str, Table], sets: Sets) -> None:
    figure = figure_of(tables["curve"], sets)
    assert figure is not None
    assert ["tokens a question" in str(drawn) for drawn in figure.drawings] == [True, False]
    assert "USD a question" in str(figure.drawings[1])


def test_the_point_that_was_named_before_is_ringed_and_no_other(tables: dict[str, Table], sets: Sets) -> None:
    named = frozenset({("hier@hand_A", "oracle", "large"), ("flat", "oracle", "large")})
    ringed = [one for one in marks(tables["curve"], sets, named) if any(shape.get("class") == "ring" for shape in one)]
    titles = {str(one.findtext("title")) for one in ringed}
    assert len(ringed) == 4  # two arms, against tokens and against money
    assert all("oracle" in title and "large" in title for title in titles)


def test_a_run_without_tokens_is_drawn_against_calls(study: Study) -> None:
    flat = [row for row in study.rows if row.arm == "flat" and row.budget == "small" and row.world == "oracle"]
    plain = study.with_rows([replace(row, spend=spend()) for row in flat])
    sets = Sets(places={row.sample: place for place, row in enumerate(plain.rows)})
    by_name = {table.name: table for table in tables_of(plain)}
    figure = figure_of(by_name["main"], sets)
    assert figure is not None
    assert "no tokens were spent" in str(figure.drawings[0])
    assert figure_of(by_name["curve"], sets) is None


def test_a_librarys_own_domain_is_framed_on_the_heat_map(tables: dict[str, Table], sets: Sets) -> None:
    framed = [one for one in marks(tables["transfer_difference"], sets) if " own" in (one[1].get("class") or "")]
    assert framed
    assert all("on A_locate_count" in str(one.findtext("title")) for one in framed)


def test_shades_lie_on_either_side_of_nothing() -> None:
    assert [shade(value, 0.5) for value in (-0.5, -0.01, 0.0, 0.01, 0.5)] == [
        "tile down5", "tile down1", "tile even", "tile up1", "tile up5",
    ]  # fmt: skip
    assert shade(None, 0.5) == "tile none"
    assert shade(0.0, 0.0) == "tile even"


def test_scales_hold_what_they_are_made_for() -> None:
    wide = amounts([100, 90_000], start=0, end=100)
    assert wide.logarithmic
    assert 0 < wide(100) < wide(3_000) < wide(90_000) < 100
    flat = amounts([0.0, 0.0], start=0, end=100)
    assert flat(0.0) == 0
    assert around([0.2], start=0, end=10, zero=True)(0.0) > 0
    assert 0.4 < amounts([], start=0, end=1)(0.5) < 0.6


@pytest.mark.parametrize("high", [0.003, 0.7, 1.0, 7.3, 4_100, 2.5e9])
def test_ticks_are_few_round_and_inside(high: float) -> None:
    ticks = Scale(low=0.0, high=high, start=0, end=1).ticks()
    assert 2 <= len(ticks) <= 7
    assert ticks[0] == 0
    assert ticks[-1] <= high * (1 + 1e-9)
    step = ticks[1] - ticks[0]
    assert round_step(step) == pytest.approx(step)


def test_numbers_beside_an_axis_are_short() -> None:
    assert [short(value) for value in (0, 0.25, 1_500, 12_000, 2_500_000, 3e9)] == [
        "0",
        "0.25",
        "1.5k",
        "12k",
        "2.5M",
        "3G",
    ]


def test_what_is_drawn_cannot_become_markup() -> None:
    evil = '"><script>alert(1)</script>&'
    shape = mark(Behind(words=evil, samples=1), text(evil, 0, 0), element("path", d=evil))
    whole = str(drawing(shape, width=1, height=1, title=evil, about=evil, name="chart"))
    assert "<script" not in whole
    assert re.search(r"[^;]&[^a-z#]", whole) is None
    root = ElementTree.fromstring(whole)  # noqa: S314 - drawn a moment ago
    assert root.findtext("title") == evil

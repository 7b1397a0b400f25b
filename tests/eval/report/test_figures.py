"""Charts take their figures from tables: what a mark says, where it stands, and the samples behind it."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from eval.report.charts import figure_of, series_marks, shade
from eval.report.episodes import Sets
from eval.tables import SampleRow, Study, Table, tables_of
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
    roots = [ElementTree.fromstring(drawn) for drawn in figure.drawings]  # noqa: S314 - drawn a moment ago
    groups = [group for root in roots for group in root.iter("g") if "role-mark" in group.get("class", "")]
    return [mark for group in groups for mark in group if mark.find("title") is not None]


DRAWN = ("curve", "comparisons", "comparisons_by_domain", "transfer_difference", "ladder", "tools", "funnel", "primary")


@pytest.mark.parametrize("name", DRAWN)
def test_every_mark_says_what_it_is_and_has_samples_behind_it(tables: dict[str, Table], sets: Sets, name: str) -> None:
    found = marks(tables[name], sets)
    assert found
    for one in found:
        assert one.findtext("title")
        if one.tag == "a":
            assert sets.record()[int(one.get("data-set", ""))]
            assert one.get("href") == f"#episodes?set={one.get('data-set')}"
            assert str(one.get("aria-label")).endswith("list the episodes")
    assert any(one.tag == "a" for one in found)


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
    rings = []
    for drawing in getattr(figure_of(tables["curve"], sets, named), "drawings", ()):
        shapes = list(ElementTree.fromstring(drawing).iter("path"))  # noqa: S314 - drawn a moment ago
        rings += [shape.get("transform") for shape in shapes if shape.get("stroke") == "var(--ink)"]
    assert len(rings) == 4  # two arms, against tokens and against money
    places = [one[1].get("transform") for one in marks(tables["curve"], sets, named)]
    assert all(place in places for place in rings)


def test_more_than_eight_arms_are_told_apart_by_mark_and_number(study: Study) -> None:
    assert len(set(series_marks(64))) == 64
    few = [row for row in study.rows if row.arm == "flat" and row.world == "oracle"]
    rows = [
        replace(row, arm=f"arm_{number:02}", sample=f"{number}-{row.sample}") for number in range(20) for row in few
    ]
    many = Study(rows=tuple(rows), primary=None)
    sets = Sets(places={row.sample: place for place, row in enumerate(rows)})
    figure = figure_of({table.name: table for table in tables_of(many)}["curve"], sets)
    assert figure is not None
    words = [text.text for text in ElementTree.fromstring(figure.drawings[0]).iter("text")]  # noqa: S314
    assert [f"{number}  arm_{number - 1:02}" in words for number in range(1, 21)] == [True] * 20
    assert words.count("1-20") == 2  # all are at the same points, one for each budget


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
    tiles = [one for one in marks(tables["transfer_difference"], sets) if one.tag == "a"]
    framed = [one for one in tiles if one[1].get("stroke") == "var(--ink)"]
    assert framed
    assert all("on A_locate_count" in str(one.findtext("title")) for one in framed)


def test_shades_lie_on_either_side_of_zero() -> None:
    assert [shade(value, 0.5) for value in (-0.5, -0.01, 0.0, 0.01, 0.5)] == [-5, -1, 0, 1, 5]
    assert shade(0.0, 0.0) == 0


def test_names_cannot_become_markup_or_leave_their_drawing(study: Study) -> None:
    evil = "\"><script>alert(1)</script>&'\\\x00\u2028"
    rows = [
        replace(row, arm=row.arm + evil, library=row.library and row.library + evil, world=row.world + evil)
        for row in study.rows
    ]
    hostile = Study(rows=tuple(rows), primary=PRIMARY)
    sets = Sets(places={row.sample: place for place, row in enumerate(rows)})
    for table in tables_of(hostile):
        figure = figure_of(table, sets)
        for drawing in figure.drawings if figure is not None else ():
            assert "<script" not in drawing
            root = ElementTree.fromstring(drawing)  # noqa: S314 - drawn a moment ago
            assert all(link.get("href", "").startswith("#episodes?set=") for link in root.iter("a"))

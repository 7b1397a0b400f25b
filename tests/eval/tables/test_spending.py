"""Arms at equal spend: matched points, the curve, its front; on rows of which it is known what must come out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.episode import Account
from eval.tables import Study
from tests.support.sample_rows import hier_row, sample_row, spend, table_of
from world_api.world import BuildCost


def test_an_arm_is_matched_with_a_baseline_that_spends_no_less() -> None:
    rows = [hier_row(f"q{number}", video=f"v{number}", correct=True, spend=spend(tokens=150)) for number in range(6)]
    for seed in (1, 2):
        rows += [
            sample_row(
                "flat",
                f"q{number}",
                video=f"v{number}",
                seed=seed,
                value="A",
                correct=number < 3,
                spend=spend(tokens=100),
            )
            for number in range(6)
        ]
    table = table_of(Study(rows=tuple(rows)), "matched")
    assert (table.cell(0, "against").value, table.cell(0, "tokens_against").value) == ("flat usual, 2 votes", 200.0)
    assert table.cell(0, "difference").value == pytest.approx(0.5)
    assert set(table.samples(0, "difference")) == {row.sample for row in rows}
    alone = table_of(Study(rows=tuple(row for row in rows if row.seed == 1)), "matched")
    assert "never spends as much" in alone.cell(0, "difference").mark


def curve(*points: tuple[str, int, int]) -> Study:
    """Twelve questions at budgets of ``flat`` and ``hier``: by arm and budget how many are right, and tokens a question."""
    rows = []
    for budget, right, cost in points:
        for number in range(12):
            place = {"video": f"v{number}", "budget": budget, "correct": number < right, "spend": spend(tokens=cost)}
            rows.append((sample_row if budget.startswith("f") else hier_row)(item=f"q{number}", **place))
    return Study(rows=tuple(rows))


def test_along_the_curve_the_baseline_spends_as_much_as_the_arm() -> None:
    study = curve(("f1", 3, 100), ("f2", 6, 200), ("f3", 6, 400), ("h1", 9, 150), ("h2", 12, 300), ("h3", 12, 500))
    table = table_of(study, "along")
    assert table.column("budget") == ["all", "h1", "h2", "h3"]
    assert table.cell(1, "difference").value == pytest.approx(9 / 12 - 4.5 / 12)
    assert table.cell(1, "against").value == "50 % flat f1 and 50 % flat f2"
    assert table.cell(2, "difference").value == pytest.approx(0.5)
    assert table.cell(3, "difference").why == "the baseline never spends so much"
    whole = table.cell(0, "difference")
    assert whole.value == pytest.approx((4.5 / 12 + 0.5) / 2)
    assert whole.low is not None
    assert (table.cell(0, "against").value, table.cell(0, "videos").value) == ("2 of 3 budgets", 12)
    behind = set(table.samples(0, "difference"))
    assert behind == {row.sample for row in study.rows if row.budget != "h3"}


def test_the_baseline_at_its_own_spend_is_no_different_from_itself() -> None:
    rows = [
        replace(row, arm="again", sample="again" + row.sample) for row in curve(("f1", 3, 100), ("f2", 6, 200)).rows
    ]
    table = table_of(Study(rows=(*curve(("f1", 3, 100), ("f2", 6, 200)).rows, *rows)), "along")
    assert set(table.column("difference")) == {0.0}


def test_the_front_is_that_of_each_world() -> None:
    study = curve(("f1", 3, 100), ("f2", 3, 200), ("h1", 6, 200), ("h2", 5, 300), ("h3", 7, 400))
    table = table_of(study, "curve")
    front = dict(zip(table.column("budget"), table.column("front"), strict=True))
    assert front == {"f1": True, "f2": False, "h1": True, "h2": False, "h3": True}


def building(seconds: float, *, whole: bool = True) -> BuildCost:
    return BuildCost(seconds=seconds, requests=2, tokens=500, whole=whole)


def test_totals_add_the_building_of_a_video_to_its_questions() -> None:
    rows = [sample_row(item=f"q{number}", video=f"v{number}", world="classical", seconds=3.0) for number in range(2)]
    built = {"v0": {"classical": building(10.0)}, "v1": {"classical": building(30.0)}}
    table = table_of(Study(rows=tuple(rows), building=built), "totals")
    assert [table.cell(0, f"building_{of}").value for of in ("requests", "tokens", "seconds")] == [2, 500, 20]
    assert [table.cell(0, f"tokens_{number}").value for number in (1, 5, 20)] == [1_500, 5_500, 20_500]
    assert [table.cell(0, f"seconds_{number}").value for number in (1, 5, 20)] == [23, 35, 80]


def test_totals_of_a_ladder_count_both_worlds_and_a_resumed_build_is_a_lower_bound() -> None:
    row = sample_row(world="oracle:detect_objects", seconds=1.0)
    built = {"v1": {"classical": building(10.0, whole=False), "oracle": building(2.0)}}
    table = table_of(Study(rows=(row,), building=built), "totals")
    assert (table.cell(0, "building_seconds").value, table.cell(0, "seconds_1").value) == (12, 13)
    assert [table.cell(0, name).mark for name in ("building_seconds", "seconds_5", "tokens_5")] == ["at least"] * 3


def test_totals_are_blank_where_no_world_says_what_building_took() -> None:
    table = table_of(Study(rows=(sample_row(),)), "totals")
    assert table.cell(0, "tokens_5").value is None
    assert table.cell(0, "tokens_5").why == "no world says what building it took"


def test_cached_tokens_the_first_request_and_what_is_left_out_stand_in_the_table_of_costs() -> None:
    own = Account(prompt=1_000, cached=640, completion=10)
    held = {"controller": own, "perception": Account(), "judge": Account(), "total": own}
    settings = {"groups": ["inspect", "no-memory"], "exposure": "tools_first"}
    row = sample_row(spend={"logical": held, "physical": held}, first_request=321, settings=settings)
    table = table_of(Study(rows=(row,)), "costs")
    assert [table.cell(0, name).value for name in ("physical_cached", "physical_tokens_in", "first_request")] == [
        640,
        1_000,
        321,
    ]
    assert (table.cell(0, "exposure").value, table.cell(0, "left_out").value) == ("tools-first", "memory")

"""Use of tools, libraries as draws, votes, break-even, labels: on rows of which it is known what must come out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eval.datasets import load_protocol, packaged_protocols
from eval.runs import DatasetRecord
from eval.tables import (
    Labels,
    LibraryFacts,
    SampleRow,
    Study,
    TableCell,
    evidence_of,
    library_rows,
    tables_of,
)
from eval.tables.budgets import winner
from eval.tables.tools import break_even
from eval.tables.transfer import Incomplete, components
from tests.support.sample_rows import hier_row, sample_row, spend, table_of, use

OFFERED = ("locate", "count", "never")


def used(item: str, *names: str, correct: bool, template: str | None = "t1", empty: int = 0) -> SampleRow:
    tools = tuple(use(name, calls=2, empty=empty) for name in names)
    return hier_row(item, correct=correct, tools=tools, offered=OFFERED, calls=4, inner_calls=8, template=template)


STUDY = Study(
    rows=(
        used("q1", "locate", correct=True, template="t1"),
        used("q2", "locate", correct=True, template="t2"),
        used("q3", "locate", "count", correct=False, template="t3"),
        used("q4", correct=False, template="t4"),
    )
)


def test_every_tool_is_told_with_right_and_wrong_uses_apart() -> None:
    table = table_of(STUDY, "tools")
    assert table.column("tool") == list(OFFERED)
    assert [table.cell(0, key).value for key in ("calls", "used", "right", "wrong", "templates")] == [6, 3, 2, 1, 2]
    assert table.cell(0, "hash").value == "hash of locate"
    assert table.cell(0, "share").value == pytest.approx(6 / 16)
    assert (table.cell(2, "calls").value, table.cell(2, "found").why) == (0, "never called")
    assert len(table.samples(0, "wrong")) == 1


def test_use_of_a_library_is_summed_up() -> None:
    table = table_of(STUDY, "tool_use")
    assert table.cell(0, "used").value == pytest.approx(0.75)
    assert table.cell(0, "accuracy_used").value == pytest.approx(2 / 3)
    assert table.cell(0, "accuracy_unused").value == 0.0
    assert table.cell(0, "compression").value == pytest.approx(2.0)
    assert table.cell(0, "reused").value == 1
    shares = (6 / 8, 2 / 8)
    assert table.cell(0, "entropy").value == pytest.approx(-sum(part * math.log2(part) for part in shares))


def facts(name: str, **given: Any) -> LibraryFacts:
    fields: dict[str, Any] = {"name": name, "hash": f"hash of {name}", **given}
    return LibraryFacts(**fields)


WITHOUT = facts("without", of="hash of hand_A", dropped=("locate",), origin="edited")


def left_out_study(*, with_: int, without: int, cost: int = 0) -> Study:
    """Ten questions about ten videos; so many right with the whole library and without ``locate``; ``cost`` tokens less with it."""
    rows = []
    for number in range(10):
        place = {"video": f"v{number}", "offered": OFFERED}
        rows += [
            hier_row(
                f"q{number}", correct=number < with_, spend=spend(tokens=1000 - cost), tools=(use("count"),), **place
            ),
            hier_row(f"q{number}", library="without", correct=number < without, **place),
            sample_row("flat", f"q{number}", video=f"v{number}"),
        ]
    return Study(rows=tuple(rows), libraries={"hand_A": facts("hand_A"), "without": WITHOUT})


def test_leaving_a_tool_out_says_what_it_brings() -> None:
    table = table_of(left_out_study(with_=8, without=5), "leave_one_out")
    assert table.column("tool") == ["locate"]
    assert table.cell(0, "difference").value == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("with_", "without", "cost", "enters"),
    [(8, 5, 0, True), (5, 8, 500, False), (5, 5, 500, True), (5, 5, 0, False), (5, 5, -500, False)],
)
def test_a_tool_enters_only_if_it_raises_accuracy_or_lowers_cost(
    with_: int, without: int, cost: int, enters: bool
) -> None:
    study = left_out_study(with_=with_, without=without, cost=cost)
    found = {item.tool: item for item in evidence_of(study, library_rows(study, "hand_A", None))}
    assert (found["locate"].by, found["locate"].enters) == ("left_out", enters)
    assert (found["never"].by, found["never"].enters) == ("nothing", False)
    assert found["count"].by == "use"


def test_being_sure_wants_the_whole_interval_above_zero() -> None:
    study = left_out_study(with_=6, without=5)
    own = library_rows(study, "hand_A", None)
    assert {item.tool: item.enters for item in evidence_of(study, own)}["locate"]
    assert not {item.tool: item.enters for item in evidence_of(study, own, sure=True)}["locate"]


def vote(value: object, *, seed: int, kind: str = "choice", correct: bool = False) -> SampleRow:
    return sample_row("flat", "q", seed=seed, value=value, kind=kind, correct=correct, spend=spend(tokens=100 * seed))


def test_most_seeds_win_a_vote() -> None:
    rows = [vote("A", seed=1), vote("B", seed=2, correct=True), vote("B", seed=3, correct=True)]
    assert winner(rows, seed="1").correct


def test_stretches_vote_by_overlap() -> None:
    spans = [(0.0, 5.0), (50.0, 60.0), (51.0, 61.0)]
    rows = [
        vote({"start_time": a, "end_time": b}, seed=place, kind="interval") for place, (a, b) in enumerate(spans, 1)
    ]
    assert winner(rows, seed="1").seed in (2, 3)


def test_ties_are_broken_by_the_seed_alone() -> None:
    rows = [vote(letter, seed=place) for place, letter in enumerate("ABCD", 1)]
    picks = [winner(rows, seed=str(seed)).value for seed in range(40)]
    assert picks == [winner(rows[::-1], seed=str(seed)).value for seed in range(40)]
    assert len(set(picks)) == 4


def test_a_failed_episode_votes_only_where_nobody_answered() -> None:
    failed = [replace(vote(None, seed=seed), outcome="failed") for seed in (1, 2)]
    assert winner([*failed, vote("A", seed=3)], seed="1").seed == 3
    assert winner(failed, seed="1").seed == 1


def test_votes_cost_what_all_voters_cost() -> None:
    rows = [vote("A", seed=1), vote("B", seed=2, correct=True), vote("B", seed=3, correct=True)]
    table = table_of(Study(rows=tuple(rows)), "curve")
    points = dict(zip(table.column("voters"), range(len(table.rows)), strict=True))
    assert table.cell(points[3], "tokens").value == pytest.approx(600)
    assert table.cell(points[3], "accuracy").value == 1.0
    assert len(table.samples(points[3], "accuracy")) == 3
    assert table.cell(points[1], "front").value is True


def test_variance_components_are_recovered() -> None:
    random = np.random.default_rng(5)
    found = []
    for _ in range(60):
        library, video, seed = (random.normal(0, sd, size) for sd, size in ((0.3, 6), (0.5, 10), (0.1, 4)))
        numbers, labels = [], []
        for place in np.ndindex(6, 10, 4):
            numbers.append(library[place[0]] + video[place[1]] + seed[place[2]] + random.normal(0, 0.2))
            labels.append([str(part) for part in place])
        names = ("library", "video", "seed")
        found.append(components(numbers, {name: [row[at] for row in labels] for at, name in enumerate(names)}))
    means = {effect: float(np.mean([item[effect] for item in found])) for effect in found[0]}
    assert means[("library",)] == pytest.approx(0.09, abs=0.03)
    assert means[("video",)] == pytest.approx(0.25, abs=0.06)
    assert means[("library", "video", "seed")] == pytest.approx(0.04, abs=0.003)
    assert abs(means[("library", "video")]) < 0.01


def test_an_incomplete_design_has_no_components() -> None:
    with pytest.raises(Incomplete, match="not every library"):
        components([1.0, 0.0, 1.0], {"library": ["a", "a", "b"], "video": ["v", "w", "v"]})


def test_few_libraries_are_too_few_for_a_claim() -> None:
    rows = [sample_row("flat", f"q{video}", video=f"v{video}") for video in range(8)]
    rows += [hier_row(f"q{video}", video=f"v{video}", library=name, correct=name == "one" or video < 4)
             for name in ("one", "two") for video in range(8)]  # fmt: skip
    draws, variance = tables_of(Study(rows=tuple(rows)), ("draws", "variance"))
    whole = draws.column("domain").index("all")
    assert draws.cell(whole, "difference").value == pytest.approx(0.75)
    assert "too few for a claim" in draws.cell(whole, "difference").mark
    assert (draws.cell(whole, "least").value, draws.cell(whole, "greatest").value) == (pytest.approx(0.5), 1.0)
    assert {"library", "video"} <= set(map(str, variance.column("source")))


INDUCED = {
    "yields": {"asked": 10, "written": 8, "compiled_first": 6, "admitted_first": 4, "compiled": 7, "admitted": 6, "duplicates": 1},
    "cost": {"prompt_tokens": 9_000, "completion_tokens": 1_000, "money": 0.5},
}  # fmt: skip


def test_induction_is_earned_back_by_the_tokens_saved() -> None:
    rows = [sample_row("flat", f"q{number}", video=f"v{number}", spend=spend(tokens=1000)) for number in range(10)]
    rows += [hier_row(f"q{number}", video=f"v{number}", spend=spend(tokens=600)) for number in range(10)]
    study = Study(rows=tuple(rows), libraries={"hand_A": facts("hand_A", induction=INDUCED, tools={"a": "1"})})
    table = table_of(study, "break_even")
    assert (table.cell(0, "induction").value, table.cell(0, "amortised").value) == (10_000, 1_000)
    assert table.cell(0, "break_even").value == 25
    yields = table_of(study, "yields")
    assert (yields.cell(0, "first_pass_yield").value, yields.cell(0, "admission_yield").value) == (0.5, 0.75)


def test_who_saves_nothing_never_breaks_even() -> None:
    assert break_even(100.0, TableCell(value=-5.0, low=-9.0, high=-1.0), "").why.startswith("never")
    assert break_even(None, TableCell(value=5.0), "the library was not induced").why == "the library was not induced"
    assert break_even(100.0, TableCell(value=5.0, low=-1.0, high=9.0), "").mark == "perhaps never"


def test_a_placebo_was_not_induced_whatever_its_manifest_carries() -> None:
    rows = (hier_row("q", library="placebo"),)
    made = facts("placebo", arm="placebo", induction=INDUCED)
    table = table_of(Study(rows=rows, libraries={"placebo": made}), "yields")
    assert table.cell(0, "written").why == "the library was not induced"


def test_agreement_with_labels_stands_by_arm() -> None:
    rows = [sample_row("flat", f"q{number}", correct=number % 2 == 0, scorer="judge/1") for number in range(8)]
    labels = {row.sample: row.correct for row in rows[:6]} | {rows[0].sample: False}
    table = table_of(Study(rows=tuple(rows), labels=Labels(right=labels)), "scorers")
    assert (table.cell(0, "labelled").value, table.cell(0, "false_right").value) == (6, 1)
    assert table.cell(0, "agreement").value == pytest.approx(5 / 6)
    unlabelled = table_of(Study(rows=tuple(rows)), "scorers")
    assert unlabelled.cell(0, "agreement").why == "no answer of it was labelled"


@pytest.mark.parametrize(
    ("protocol", "value", "why"),
    [
        ({"chance": 0.25}, 0.25, ""),
        ({"chance": 0}, 0.0, ""),
        ({"chance": 25}, None, "25 is no share from 0 to 1"),
        ({"chance": None, "chance_on": "open answers"}, None, "open answers"),
    ],
)
def test_chance_is_a_share(protocol: dict[str, Any], value: float | None, why: str) -> None:
    record = DatasetRecord(hash="h", protocol={**protocol, "published": [{"system": "s", "accuracy": 60.2}]})
    table = table_of(Study(rows=(), datasets={"set": record}), "baselines")
    assert table.column("kind") == ["chance", "published"]
    assert (table.cell(0, "accuracy").value, table.cell(0, "accuracy").why) == (value, why)
    assert table.cell(1, "accuracy").value == pytest.approx(0.602)


@pytest.mark.parametrize("name", packaged_protocols())
def test_every_shipped_protocol_says_what_chance_gives(name: str) -> None:
    protocol = load_protocol(name)
    assert (protocol.chance is None) == bool(protocol.chance_on)

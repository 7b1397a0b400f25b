"""Pairs, contrasts, what abstraction may claim, transfer: on rows of which it is known what must come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from eval.tables import CONTROLS, SampleRow, Study, chosen, compare, concerns, filtered, pairs_of, tables_of
from tests.support.sample_rows import hier_row, sample_row, spend, table_of
from world_api.core import EvalFault

Right = Callable[[int, int], bool]
VIDEOS, QUESTIONS = 12, 4


def questions(make: Callable[..., SampleRow], right: Right, **given: Any) -> list[SampleRow]:
    """Four questions about each of twelve videos; ``right`` says by video and question which are answered."""
    return [
        make(item=f"v{video}q{number}", video=f"v{video}", correct=right(video, number), **given)
        for video in range(VIDEOS)
        for number in range(QUESTIONS)
    ]


def flat(right: Right, **given: Any) -> list[SampleRow]:
    return questions(lambda **fields: sample_row(**{"arm": "flat", **fields}), right, **given)


def hier(right: Right, **given: Any) -> list[SampleRow]:
    return questions(hier_row, right, **given)


def study(*parts: list[SampleRow], **given: Any) -> Study:
    return Study(rows=tuple(row for part in parts for row in part), **given)


def test_pairs_are_made_by_question_world_budget_and_seed() -> None:
    one = [sample_row("a", "q1"), sample_row("a", "q2"), sample_row("a", "q1", seed=2)]
    other = [sample_row("b", "q1"), sample_row("b", "q1", seed=2), sample_row("b", "q3")]
    pairs = pairs_of(one, other)
    assert [(left.item, left.seed, right.item, right.seed) for left, right in pairs.pairs] == [
        ("q1", 1, "q1", 1),
        ("q1", 2, "q1", 2),
    ]
    assert ([row.item for row in pairs.left], [row.item for row in pairs.right]) == (["q2"], ["q3"])


def test_a_question_that_two_seeds_asked_is_one_pair_of_mcnemars_test() -> None:
    def p_of(seeds: int) -> Any:
        parts = [
            *(hier(lambda video, number: number < 2, seed=seed) for seed in range(seeds)),
            *(flat(lambda video, number: number == 3 and video < 6, seed=seed) for seed in range(seeds)),
        ]
        table = table_of(study(*parts), "comparisons")
        return table.cell(0, "pairs").value, table.cell(0, "only_arm").value, table.cell(0, "p_mcnemar").value

    assert p_of(1)[:2] == (48, 24)
    assert p_of(2)[:2] == (96, 48)  # samples are counted as they are
    assert p_of(1)[2] == p_of(2)[2] == p_of(5)[2]


def test_a_question_counts_for_the_arm_that_is_right_under_more_seeds() -> None:
    right = {"even": (1, 1), "ours": (2, 1), "theirs": (0, 1), "never": (0, 0), "always": (3, 3)}
    one = [sample_row("a", item, seed=n, correct=n < ours) for item, (ours, _) in right.items() for n in range(3)]
    other = [
        # Right under other seeds than the first, so that every pair of "even" is discordant.
        sample_row("b", item, seed=n, correct=n >= 3 - theirs)
        for item, (_, theirs) in right.items()
        for n in range(3)
    ]
    found = dict(zip(right, pairs_of(one, other).questions, strict=True))
    assert found["even"] == found["always"] == (True, True)
    assert (found["ours"], found["theirs"], found["never"]) == ((True, False), (False, True), (False, False))


def test_samples_that_cannot_be_told_apart_are_refused() -> None:
    one = [sample_row("a", "q1"), sample_row("c", "q1")]
    with pytest.raises(EvalFault) as caught:
        pairs_of(one, [sample_row("b", "q1")])
    assert caught.value.code == "ambiguous_pairs"


def test_a_difference_is_that_of_the_same_questions_and_counts_both_ways() -> None:
    found = study(flat(lambda video, number: number == 0), hier(lambda video, number: number in (1, 2)))
    table = table_of(found, "comparisons")
    assert table.cell(0, "difference").value == pytest.approx(0.25)
    assert (table.cell(0, "only_arm").value, table.cell(0, "only_against").value) == (24, 12)
    assert (table.cell(0, "pairs").value, table.cell(0, "videos").value) == (48, 12)
    assert len(table.samples(0, "only_against")) == 24


def test_failed_samples_count_as_wrong_and_are_counted() -> None:
    rows = flat(lambda video, number: True)
    broken = replace(rows[0], correct=False, score=0.0, outcome="failed", reason="endpoint_unreachable", spend={})
    table = table_of(study([broken, *rows[1:]]), "main")
    assert table.cell(0, "accuracy").value == pytest.approx(47 / 48)
    assert (table.cell(0, "failed").value, table.samples(0, "failed")) == (1, (broken.sample,))
    assert (table.cell(0, "tokens").n, table.cell(0, "accuracy").n) == (47, 48)


def test_money_that_leaves_something_out_is_marked() -> None:
    rows = flat(lambda video, number: True)
    priced = [replace(row, spend=spend(tokens=10, money=0.5)) for row in rows[:10]]
    table = table_of(study(priced + rows[10:]), "main")
    assert table.cell(0, "money").value == pytest.approx(0.5)
    assert (table.cell(0, "money").n, table.cell(0, "money").mark) == (10, "at least")


def test_the_p_values_of_a_table_are_adjusted_together() -> None:
    better = lambda video, number: number < 2 and video != 3  # noqa: E731 - a rule, named once
    arms = [flat(better, arm=f"flat{number}", system="other") for number in range(4)]
    alone = table_of(study(flat(lambda video, number: False), arms[0]), "comparisons").cell(0, "p_holm").value
    together = table_of(study(flat(lambda video, number: False), *arms), "comparisons")
    assert isinstance(alone, float)
    assert together.cell(0, "p_clustered").value == alone
    assert together.cell(0, "p_holm").value == pytest.approx(min(1.0, 4 * alone))


def test_the_primary_contrast_is_the_one_that_was_named() -> None:
    named = {"arm": "hier", "against": "flat", "budget": "usual", "world": "oracle", "library": "hand_B"}
    parts = (flat(lambda *_: False), hier(lambda *_: False), hier(lambda *_: True, library="hand_B"))
    table = table_of(study(*parts, primary=named), "primary")
    assert table.cell(0, "arm").value == "hier@hand_B"
    assert table.cell(0, "difference").value == 1.0
    pooled = table_of(study(*parts, primary={**named, "library": None}), "primary")
    assert pooled.cell(0, "difference").value == pytest.approx(0.5)
    assert (pooled.cell(0, "arm").value, pooled.cell(0, "pairs").value) == ("hier", 96)
    assert "no pairs" in table_of(study(*parts, primary={**named, "world": "classical"}), "primary").note


def controls(right: Right) -> dict[str, list[SampleRow]]:
    found = {name: flat(right, arm=name, system=name) for name in CONTROLS}
    found["hints"] = hier(right, system="hints", arm="hints@hand_A")
    return found


def test_abstraction_is_claimed_only_where_all_controls_are_beaten() -> None:
    some = lambda video, number: number == 0  # noqa: E731
    rivals = controls(some)
    won = table_of(study(hier(lambda *_: True), *rivals.values()), "abstraction")
    assert won.cell(0, "claim").value is True
    assert (won.cell(0, "abstraction").value, won.cell(0, "beaten").value) == (pytest.approx(0.75), 4)
    rivals["hints"] = hier(lambda video, number: not (video == 0 and number), system="hints", arm="hints@hand_A")
    lost = table_of(study(hier(lambda *_: True), *rivals.values()), "abstraction")
    assert lost.cell(0, "claim").value is False
    assert lost.cell(0, "beaten").value == 3
    assert lost.cell(0, "abstraction").value == pytest.approx(3 / 48)


def test_what_abstraction_may_claim_rests_on_no_more_than_the_control_with_the_fewest_pairs() -> None:
    rivals = controls(lambda *_: False)
    rivals["flat+compose"] = rivals["flat+compose"][: 5 * QUESTIONS]
    table = table_of(study(hier(lambda *_: True), *rivals.values()), "abstraction")
    pairs = {table.cell(0, f"minus {name}").n for name in CONTROLS}
    assert pairs == {5 * QUESTIONS, VIDEOS * QUESTIONS}
    composite = table.cell(0, "abstraction")
    assert (composite.n, composite.clusters) == (5 * QUESTIONS, 5)


def test_a_control_that_was_not_run_leaves_the_claim_open() -> None:
    rivals = controls(lambda *_: False)
    del rivals["flat+compose"]
    table = table_of(study(hier(lambda *_: True), *rivals.values()), "abstraction")
    assert table.cell(0, "claim").value is None
    assert table.cell(0, "claim").why == "not run: flat+compose"


def test_hints_of_another_library_are_no_control() -> None:
    rivals = controls(lambda *_: False)
    rivals["hints"] = hier(lambda *_: False, system="hints", arm="hints@hand_B", library="hand_B")
    table = table_of(study(hier(lambda *_: True), *rivals.values()), "abstraction")
    assert table.cell(0, "claim").why == "not run: hints"


def of_two_domains(make: Callable[..., list[SampleRow]], a: Right, b: Right, **given: Any) -> list[SampleRow]:
    first = make(a, domain="A", **given)
    second = [replace(row, item="b" + row.item, sample="b" + row.sample) for row in make(b, domain="B", **given)]
    return first + second


def library(right_a: bool, right_b: bool, *, name: str, made_for: str, arm: str | None = None) -> list[SampleRow]:
    def make(right: Right, *, domain: str) -> list[SampleRow]:
        rows = hier(right, library=name)
        return [replace(row, domain=domain, library_domain=made_for, library_arm=arm) for row in rows]

    return of_two_domains(make, lambda *_: right_a, lambda *_: right_b)


def test_transfer_crosses_libraries_with_domains() -> None:
    parts = (
        of_two_domains(flat, lambda *_: False, lambda video, number: number == 0),
        library(True, False, name="one", made_for="A"),
        library(False, True, name="two", made_for="B"),
        library(True, True, name="nothing", made_for="A", arm="placebo"),
    )
    accuracy, difference, own_other = tables_of(study(*parts), ("transfer", "transfer_difference", "own_other"))
    one = accuracy.column("library").index("one")
    assert (accuracy.cell(one, "domain:A").value, accuracy.cell(one, "domain:B").value) == (1.0, 0.0)
    assert difference.cell(one, "domain:B").value == pytest.approx(-0.25)
    whole = own_other.column("domain").index("all")
    assert own_other.cell(whole, "difference").value == 1.0
    assert own_other.cell(whole, "own").value == "one, two"
    assert "nothing" not in str(own_other.cell(whole, "other").value)


def test_own_less_other_is_blank_where_there_is_no_other() -> None:
    table = table_of(study(library(True, True, name="one", made_for="A")), "own_other")
    assert table.cell(0, "difference").value is None
    assert table.cell(0, "other").why == "no library was induced for another"


def test_the_ladder_pairs_worlds_of_one_arm() -> None:
    parts = [
        flat(lambda video, number: number < 1, world="classical"),
        flat(lambda video, number: number < 2, world="oracle:detect_objects"),
        flat(lambda *_: True, world="oracle"),
    ]
    table = table_of(study(*parts), "ladder")
    assert table.column("world") == ["nothing", "detect_objects", "everything"]
    assert [table.cell(row, "gain").value for row in range(3)] == [None, pytest.approx(0.25), pytest.approx(0.75)]
    losses = table_of(study(*parts), "losses")
    lost = dict(zip(losses.column("part"), losses.column("lost"), strict=True))
    assert lost["detect_objects"] == pytest.approx(0.25)
    assert sum(float(str(value)) for value in lost.values()) == pytest.approx(0.75)


def test_arms_are_found_by_name_library_and_filters() -> None:
    rows = [*flat(lambda *_: True), *hier(lambda *_: True), *hier(lambda *_: True, library="hand_B")]
    assert {row.library for row in chosen(rows, "hier@library=hand_B")} == {"hand_B"}
    assert chosen(rows, "hier@hand_B") == chosen(rows, "hier@library=hand_B")
    for wanted, code in (("hire", "unknown_arm"), ("hier", "several_arms"), ("flat@wrld=x", "bad_filter"),
                         ("flat@world=moon", "nothing_chosen")):  # fmt: skip
        with pytest.raises(EvalFault) as caught:
            chosen(rows, wanted)
        assert caught.value.code == code
        assert caught.value.hint
    assert filtered(rows, ["library=none"]) == rows[:48]


def test_two_worlds_of_one_arm_are_compared_across_worlds() -> None:
    found = study(flat(lambda *_: True, world="oracle"), flat(lambda *_: False, world="classical"))
    result = compare(found, "flat@world=oracle", "flat@world=classical")
    assert result.across == ("world",)
    assert (result.differs, result.concerns) == (["world"], [])
    assert result.tables[0].cell(0, "difference").value == 1.0


def test_what_differs_beside_the_thing_studied_is_said() -> None:
    settings = {"language": "en", "judge": None}
    one = [replace(row, settings={**settings, "exposure": "all"}) for row in hier(lambda *_: True)]
    other = [replace(row, settings=settings) for row in flat(lambda *_: True)]
    assert concerns(pairs_of(one, other)) == []
    changed = [replace(row, settings={**settings, "language": "zh"}) for row in other]
    assert concerns(pairs_of(one, changed)) == ["setting language"]
    moved = [replace(row, world_hash="2") for row in other]
    assert concerns(pairs_of([replace(row, world_hash="1") for row in one], moved)) == ["worlds of the same name"]

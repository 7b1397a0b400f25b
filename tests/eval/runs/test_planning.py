"""Plans: the cells that a configuration comes to, and what it is refused for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.datasets import Dataset, SkippedEntry
from eval.runs import DatasetPart, Picked, RunFolder, RunPlan, make_plan, open_experiment, spread
from tests.support.runs import QUESTIONS, prepare, write_dataset
from tool_induction import Origin, freeze_library, load_library
from world_api import SystemClock
from world_api.core import VideoWorldError

Planned = Callable[..., RunPlan]
PRIMARY = (
    "arms: [flat, hier, {{name: hints, system: hier}}]\nlibraries: [hand_A, hand_B]\n"
    "primary: {{arm: hier, against: hints, budget: usual, world: classical, {more}}}\n"
)


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """Plans a configuration over a made world."""

    def plan(text: str, *, questions: Sequence[dict[str, Any]] = QUESTIONS, overrides: Sequence[str] = ()) -> RunPlan:
        config = prepare(tmp_path, configuration="schema_version: 1\ndatasets: [films]\n" + text, videos=["made"])
        write_dataset(tmp_path / "films", videos=["made"], questions=questions)
        what = open_experiment(config, overrides=tuple(overrides))
        return make_plan(what.configuration, RunFolder(tmp_path / "run"), clock=SystemClock(), environment={})[0]

    return plan


def refused(planned: Planned, text: str, **more: Any) -> VideoWorldError:
    with pytest.raises(VideoWorldError) as caught:
        planned(text, **more)
    return caught.value


def test_libraries_are_crossed_with_the_arms_that_take_one(planned: Planned) -> None:
    plan = planned("arms: [flat, hier, {name: few, system: hier, libraries: [hand_B]}]\nlibraries: [hand_A, hand_B]\n")
    assert [(cell.arm.name, cell.arm.library) for cell in plan.cells] == [
        ("flat", None),
        ("hier", "hand_A"),
        ("hier", "hand_B"),
        ("few", "hand_B"),
    ]


def test_cells_are_the_product_of_all_that_is_crossed(planned: Planned) -> None:
    plan = planned("arms: [flat, blind]\nseeds: [1, 2, 3]\nbudgets: {small: {rounds: 2}, usual: {}}\n")
    assert len(plan.cells) == 2 * 3 * 2
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)
    assert plan.count == len(plan.cells) * len(QUESTIONS)
    assert len({sample.key for sample in plan.samples()}) == plan.count


def test_an_arm_and_its_twin_share_what_decides_and_no_sample(planned: Planned) -> None:
    one, other = planned("arms: [flat, {name: again, system: flat}]\n").cells
    assert one.configuration == other.configuration
    assert one.sample_key("made-q1") != other.sample_key("made-q1")


@pytest.mark.parametrize(
    "change",
    [
        "budgets.usual.rounds=3",
        "arms.0.settings.patience=2",
        "request.temperature=0.5",
        "language=zh",
        "libraries.0=hand_B",
    ],
)
def test_what_decides_an_episode_is_in_its_key(planned: Planned, change: str) -> None:
    text = "arms: [{name: hier, system: hier}]\nlibraries: [{name: tools, path: hand_A}]\nbudgets: {usual: {}}\n"
    if change.startswith("libraries"):
        change = "libraries.0.path=hand_B"
    keys = {planned(text, overrides=sets).cells[0].sample_key("made-q1") for sets in ((), (change,))}
    assert len(keys) == 2


@pytest.mark.parametrize("change", ["seeds=[1,2]", "parallel=3", "limits.failures=9", "name=other"])
def test_what_decides_nothing_changes_no_key(planned: Planned, change: str) -> None:
    keys = {planned("arms: [flat]\n", overrides=sets).cells[0].sample_key("made-q1") for sets in ((), (change,))}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("arms:\n  - flta\n", 4, "no system 'flta'"),
        ("arms: [{name: a, system: flat}, {name: a, system: blind}]\n", 3, "'a' is there twice"),
        ("arms: [hier]\n", 3, "needs a tool library"),
        ("arms: [{name: h, system: hier, libraries: [hand_Q]}]\nlibraries: [hand_A]\n", 3, "named 'hand_Q'"),
        ("arms: [{name: f, system: flat, libraries: [hand_A]}]\nlibraries: [hand_A]\n", 3, "takes no library"),
        ("arms: [flat]\nlibraries: [{arm: placbo, of: hand_A}]\n", 4, "no arm 'placbo'"),
        ("arms: [flat]\nlibraries: [{arm: placebo}]\n", 4, "either a `path`, or an `arm`"),
        ("arms: [flat]\nlibraries: [hand_A, hand_A]\n", 4, "two libraries"),
        ("arms: [flat]\nworlds: [magic]\n", 4, "'magic'"),
        ("arms: [flat]\nworlds: ['oracle:teleport']\n", 4, "'teleport'"),
        ("arms: [flat]\nprimary: {arm: hier, against: flat, budget: usual, world: classical}\n", 4, "named 'hier'"),
        (PRIMARY.format(more="domain: A_locate_cuont"), 5, "of the domain 'A_locate_cuont'"),
        (PRIMARY.format(more="library: nope"), 5, "run with no library 'nope'"),
        (PRIMARY.format(more="").replace("arm: hier", "arm: hints"), 5, "compared with itself"),
        (PRIMARY.format(more="").replace("arm: hier", "arm: flat"), 5, "which of them 'flat' is compared"),
        ("arms: [{name: f, system: flat, settings: {split: test}}]\n", 3, "the split is the question's"),
    ],
)
def test_what_does_not_fit_together_is_refused_at_its_line(planned: Planned, text: str, line: int, what: str) -> None:
    fault = refused(planned, text)
    assert fault.code == "bad_configuration"
    assert f"line {line}" in fault.message
    assert what in fault.message


def test_a_wrong_option_of_a_system_is_refused_before_anything_is_asked(planned: Planned) -> None:
    fault = refused(planned, "arms: [{name: b, system: blind, settings: {varaint: x}}]\n")
    assert fault.code == "bad_option"
    assert "line 3: the arm 'b'" in fault.message


def test_pictures_a_budget_of_money_and_a_missing_library_are_refused_by_name(planned: Planned) -> None:
    assert refused(planned, "arms: [direct]\n").code == "images_needed"
    assert refused(planned, "arms: [flat]\nbudgets: {usual: {money: 1}}\n").code == "no_price"
    assert refused(planned, "arms: [hier]\nlibraries: [not_there]\n").code == "no_such_library"


def test_questions_of_another_split_are_refused(planned: Planned) -> None:
    leaked = {**QUESTIONS[0], "question": "When does the man first appear?", "split": "test"}
    fault = refused(planned, "arms: [flat]\n", questions=[leaked])
    assert fault.code == "split_leak"
    assert "films" in fault.message


def test_a_primary_contrast_of_two_arms_with_the_same_libraries_is_paired_by_them(planned: Planned) -> None:
    for more in ("", "library: hand_B", "domain: A_locate_count"):
        assert planned(PRIMARY.format(more=more)).configuration.document.primary is not None


@pytest.mark.parametrize("split", [None, "test"])
@pytest.mark.parametrize("domain", [None, "my_domain", "A_locate_count"])
@pytest.mark.parametrize("seen", ["example_worlds", "examples_used"])
def test_what_an_induction_saw_is_refused_whatever_the_questions_split_and_domain(
    planned: Planned, tmp_path: Path, split: str | None, domain: str | None, seen: str
) -> None:
    asked = {"id": "q", "question": "How many zebras?", "kind": "count", "answer": 1}
    question = asked | {key: value for key, value in (("split", split), ("domain", domain)) if value is not None}
    saw = {"example_worlds": ["made"]} if seen == "example_worlds" else {"examples_used": ["how many zebras"]}
    library = load_library("hand_A")
    origin = Origin(how="induced", date="2026-01-01", domain="B_order_cause", details={"induction": saw})
    freeze_library(library.tools, tmp_path / "mine", name="mine", origin=origin)
    text = "arms: [{{name: {0}, system: {0}}}]\nlibraries: [{{name: mine, path: mine}}]\n"
    assert planned(text.format("flat"), questions=[question]).count == 1
    fault = refused(planned, text.format("hier"), questions=[question])
    assert fault.code == "split_leak"
    assert "'How many zebras?' of made" in fault.message


def test_videos_without_file_and_world_are_left_out_and_named(planned: Planned, tmp_path: Path) -> None:
    prepare(tmp_path, configuration="schema_version: 1\ndatasets: [films]\narms: [flat]\n", videos=["made"])
    write_dataset(tmp_path / "films", videos=["made", "gone"])
    what = open_experiment(tmp_path / "config.yaml")
    plan, _ = make_plan(what.configuration, RunFolder(tmp_path / "run"), clock=SystemClock(), environment={})
    assert plan.missing == {"films": ("gone",)}
    assert plan.count == len(QUESTIONS)
    assert plan.manifest({}).datasets["films"].missing_questions == len(QUESTIONS)
    write_dataset(tmp_path / "films", videos=["gone"])
    with pytest.raises(VideoWorldError) as caught:
        make_plan(what.configuration, RunFolder(tmp_path / "run"), clock=SystemClock(), environment={})
    assert caught.value.code == "nothing_to_ask"


def test_entries_of_a_file_that_cannot_be_asked_are_counted_by_reason() -> None:
    reasons = ["its answer is not published"] * 5 + ["two options"] * 2 + [f"option {n} is blank" for n in range(30)]
    entries = tuple(SkippedEntry(where=str(place), reason=reason) for place, reason in enumerate(reasons))
    dataset = Dataset(name="x", items=(), videos={}, left_out=entries)
    counts = Picked(name="x", part=DatasetPart(path="x"), dataset=dataset, items=()).left_out
    assert (counts["its answer is not published"], counts["two options"]) == (5, 2)
    assert (len(counts), sum(counts.values()), counts["other reasons"]) == (21, 37, 12)
    whole = replace(dataset, left_out=())
    assert Picked(name="x", part=DatasetPart(path="x"), dataset=whole, items=()).left_out == {}


def test_a_limit_takes_from_every_video_and_domain_and_a_larger_one_adds(planned: Planned) -> None:
    items = planned("arms: [flat]\n").items["films"]
    few, more = spread(items, 3), spread(items, 4)
    assert {item.domain for item in few} == {"A_locate_count", "B_order_cause", "C_summary_multihop"}
    assert set(map(id, few)) < set(map(id, more))


CONTRAST = "primary: {{arm: hier, against: {against}, budget: usual, world: classical{more}}}\n"


@pytest.mark.parametrize(
    ("arms", "more", "said"),
    [
        (
            "{name: hints, system: hints, libraries: [hand_B, hand_C]}",
            "",
            "'hints' has 2 libraries, and which of them 'hier' is compared with is not said",
        ),
        ("{name: hints, system: hints, libraries: [hand_A, hand_B]}", "", None),
        ("{name: hints, system: hints, libraries: [hand_A, hand_B]}", ", library: hand_A", None),
        ("{name: hints, system: hints, libraries: [hand_B]}", "", None),
        ("hints", ", dataset: flims", "no dataset is named 'flims'"),
        ("hints", ", dataset: films", None),
    ],
)
def test_a_primary_contrast_that_no_table_could_make_is_refused(
    planned: Planned, arms: str, more: str, said: str | None
) -> None:
    text = f"libraries: [hand_A, hand_B, hand_C]\narms: [{{name: hier, system: hier, libraries: [hand_A]}}, {arms}]\n"
    text += CONTRAST.format(against="hints", more=more)
    if said is None:
        assert planned(text).cells
        return
    fault = refused(planned, text)
    assert fault.code == "bad_configuration"
    assert said in fault.message
    assert fault.hint


def test_a_category_is_left_out_for_all_arms_alike(planned: Planned) -> None:
    plan = planned("arms: [flat, hier, blind]\nlibraries: [hand_A]\nwithout: [memory]\n")
    assert {cell.arm.groups for cell in plan.cells} == {("no-memory",)}
    usual = planned("arms: [flat]\n")
    assert usual.cells[0].configuration not in {cell.configuration for cell in plan.cells}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arms: [flat]\nwithout: [memories]\n", "there is no category of operations 'memories'"),
        ("arms: [flat, {name: few, system: flat, groups: [no-memory]}]\n", "left out for one arm only"),
        ("arms: [hier]\nlibraries: [hand_A]\nwithout: [perception]\n", "calls operations that are left out"),
    ],
)
def test_what_cannot_be_left_out_is_refused(planned: Planned, text: str, words: str) -> None:
    assert words in refused(planned, text).message

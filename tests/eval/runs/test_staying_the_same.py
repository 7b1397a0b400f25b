"""What a run may not become once it has samples, and which score belongs to which episode."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from controller.records import EPISODES, DamagedEntry, Journal, JournalEntry
from eval.runs import Arm, Cell, read_manifest, read_run, score_run
from tests.eval.runs.test_running import FEW, drop_lines, samples
from tests.support.runs import made_run, prepare, run_here
from tool_induction import Origin, freeze_library, load_library
from world_api.core import EvalFault, json_line, parse_json


def refused(config: Path, *overrides: str) -> str:
    with pytest.raises(EvalFault) as caught:
        run_here(config, overrides=overrides)
    assert caught.value.code == "run_changed"
    return caught.value.message


@pytest.mark.parametrize("change", ["primary.arm=flat_again", "primary.domain=A_locate_count", "primary=null"])
def test_the_primary_contrast_cannot_be_changed_once_there_are_samples(tmp_path: Path, change: str) -> None:
    run = made_run(tmp_path)
    before = (run / "manifest.json").read_bytes()
    assert "its primary contrast was arm hier, against flat" in refused(tmp_path / "config.yaml", change)
    (run / "samples.jsonl").unlink()  # the episodes are there all the same, and would be adopted
    assert "primary contrast" in refused(tmp_path / "config.yaml", change)
    assert (run / "manifest.json").read_bytes() == before


def test_a_primary_contrast_may_be_mended_before_anything_is_asked(tmp_path: Path) -> None:
    primary = "primary: {arm: flat, against: blind, budget: usual, world: classical}\nlimits: {money: 1}\n"
    config = prepare(tmp_path, configuration=FEW.format(arm="flat, blind", model="rule-based") + primary)
    with pytest.raises(EvalFault, match="needs the price"):
        run_here(config)
    config.write_text(config.read_text().replace("limits: {money: 1}\n", ""))
    run_here(config, overrides=['datasets.0={"path": "films", "limit": 1}'])
    primary = read_manifest(tmp_path / "runs" / "config" / "manifest.json").primary
    assert primary is not None
    assert (primary["arm"], primary["against"]) == ("flat", "blind")


def test_questions_may_be_added_to_a_run_and_none_may_go(tmp_path: Path) -> None:
    config = prepare(tmp_path, configuration=FEW.format(arm="blind", model="rule-based"))
    few = 'datasets=[{"path": "films", "limit": 4}]'
    assert run_here(config, overrides=[few]).tally.ran == 4
    assert run_here(config).tally.ran == 6
    record = read_manifest(tmp_path / "runs" / "config" / "manifest.json").datasets["films"]
    assert (record.items, record.limit, record.domains) == (10, None, None)
    items = (tmp_path / "runs" / "config" / "items.jsonl").read_bytes()
    assert "begun with 10 questions of films; 4 of them" in refused(config, few)
    domains = 'datasets=[{"path": "films", "domains": ["A_locate_count"]}]'
    assert "begun with 10 questions of films; 4 of them" in refused(config, domains)
    assert (tmp_path / "runs" / "config" / "items.jsonl").read_bytes() == items


def test_how_questions_were_picked_stands_in_the_manifest(tmp_path: Path) -> None:
    config = prepare(tmp_path, configuration=FEW.format(arm="blind", model="rule-based"))
    run_here(
        config, overrides=['datasets=[{"path": "films", "domains": ["B_order_cause"], "limit": 3}]', "language=en"]
    )
    manifest = read_manifest(tmp_path / "runs" / "config" / "manifest.json")
    record = manifest.datasets["films"]
    assert (record.items, record.limit, record.domains, record.split) == (3, 3, ("B_order_cause",), None)
    assert len(record.picked) == 64
    assert manifest.settings["language"] == "en"


def test_names_with_dots_share_no_cell_and_a_library_under_two_names_no_sample() -> None:
    def cell(arm: str, dataset: str, library: str | None = None) -> Cell:
        made = Arm(name=arm, system="flat", library=library, library_hash="b" * 64)
        return Cell(
            arm=made, dataset=dataset, world="oracle", budget="usual", seed=1, model="m", configuration="a" * 64
        )

    pairs = [(cell("flat", "x.d"), cell("flat.x", "d")), (cell("flat", "d", "one"), cell("flat", "d", "other"))]
    for one, other in pairs:
        assert one.id != other.id
        assert one.sample_key("q") != other.sample_key("q")


def test_arms_and_datasets_with_dots_in_their_names_make_a_run_that_can_be_read(tmp_path: Path) -> None:
    text = FEW.format(arm="blind, {name: blind.x, system: blind}", model="rule-based")
    text = text.replace("[films]", "[{path: films, name: x.d, limit: 1}, {path: films, name: d, limit: 1}]")
    outcome = run_here(prepare(tmp_path, configuration=text, videos=["made"]))
    assert len(read_run(outcome.folder.root).samples) == outcome.tally.planned == 4


def test_the_score_of_an_episode_is_not_that_of_the_one_asked_after_it(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    scored = read_run(run)
    assert len(scored.scores) == scored.planned
    lines = [parse_json(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    again = next(place for place, line in enumerate(lines) if scored.scores[line["sample"]].correct)
    lines[again] |= {"episode": "another", "checksum": "0" * 64}
    (run / "samples.jsonl").write_text("".join(json_line(line) + "\n" for line in lines))
    assert set(scored.scores) - set(read_run(run).scores) == {lines[again]["sample"]}


def test_an_episode_asked_again_to_the_same_answer_keeps_its_score(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    line = samples(run)[0]
    journal = run / "episodes" / line.cell / EPISODES
    drop_lines(
        journal, *(place for place, text in enumerate(journal.read_text().splitlines()) if str(line.episode) in text)
    )
    assert run_here(run).again == 1
    found = read_run(run)
    assert found.by_key[line.sample].episode != line.episode
    assert found.by_key[line.sample].checksum == line.checksum
    assert line.sample in found.scores


def test_a_lost_file_of_samples_reads_each_journal_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run(tmp_path)
    scores = (run / "scores.jsonl").read_bytes()
    (run / "samples.jsonl").unlink()
    scans: list[None] = []
    scan = Journal.scan

    def counted(self: Journal, *, only: Collection[str] | None = None) -> Iterator[JournalEntry | DamagedEntry]:
        scans.append(None)
        return scan(self, only=only)

    monkeypatch.setattr(Journal, "scan", counted)
    monkeypatch.delattr(Journal, "find")
    outcome = run_here(run)
    assert (outcome.tally.ran, outcome.adopted) == (0, outcome.tally.planned)
    assert len(scans) <= len(read_run(run).cells)
    score_run(outcome.folder)
    assert (run / "scores.jsonl").read_bytes() == scores


def with_own_library(folder: Path) -> Path:
    """A configuration with a library that lies beside it, and a control arm of it."""
    library = load_library("hand_A")
    origin = Origin(how="brought", date="2026-01-01", domain="A_locate_count")
    freeze_library(library.tools, folder / "mine", name="mine", origin=origin)
    text = FEW.format(arm="hier", model="rule-based").replace("[films]", "[{path: films, limit: 2}]")
    return prepare(folder, configuration=text + "libraries: [mine, {arm: placebo, of: mine}]\n", videos=["made"])


@pytest.mark.parametrize("by_folder", [True, False])
def test_a_run_goes_on_with_its_copy_of_a_library_that_is_gone(tmp_path: Path, by_folder: bool) -> None:
    config = with_own_library(tmp_path)
    run = run_here(config).folder.root
    shutil.rmtree(tmp_path / "mine")
    drop_lines(run / "samples.jsonl", 0)
    shutil.rmtree(run / "episodes" / next(name for name in read_run(run).cells if name.startswith("hier.mine")))
    outcome = run_here(run if by_folder else config)
    assert (outcome.complete, outcome.tally.ran) == (True, 2)


def test_a_library_that_became_another_one_is_refused_by_its_configuration_and_not_used_by_its_run(
    tmp_path: Path,
) -> None:
    config = with_own_library(tmp_path)
    run = run_here(config).folder.root
    shutil.rmtree(tmp_path / "mine")
    origin = Origin(how="brought", date="2026-01-01", domain="A_locate_count")
    freeze_library(load_library("hand_B").tools, tmp_path / "mine", name="mine", origin=origin)
    assert run_here(run).complete
    with pytest.raises(EvalFault, match=r"library|made of") as caught:
        run_here(config)
    assert caught.value.code == "run_changed"
    changed = run / "libraries" / "mine"
    shutil.rmtree(changed)
    shutil.copytree(tmp_path / "mine", changed)
    with pytest.raises(EvalFault, match="the library mine"):
        run_here(run)

"""The page of a run: the same bytes for the same run, whole in one file, with every figure's episodes behind it."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from controller.display import WATERMARK
from eval.report import Choices, WrittenReport, write_report
from eval.runs import RunFolder, pack, read_run, score_run
from eval.tables import tables_of
from tests.support.numbered_film import number_in
from tests.support.reports import blocks_of, hostile_questions, index_of, places_of, unpacked
from tests.support.runs import CONFIGURATION, made_run, prepare, run_here
from world_api.core import json_line


def page_of(written: WrittenReport) -> str:
    return written.page.read_text(encoding="utf-8")


#: One video, one seed, two arms: what a page shows of such a run takes a fraction of the time.
SMALL = CONFIGURATION.replace("[1, 2]", "[1]").replace(", {arm: placebo, of: hand_A}", "")
SMALL = "\n".join(line for line in SMALL.splitlines() if "flat_again" not in line and "blind" not in line)


@pytest.fixture
def small_run(tmp_path: Path) -> Path:
    """A run of few samples for a test to change."""
    return made_run(tmp_path, configuration=SMALL, videos=("made",))


def test_an_episode_that_was_deleted_and_asked_again_gives_the_same_report(small_run: Path, tmp_path: Path) -> None:
    before = write_report(small_run, tmp_path / "before").page.read_bytes()
    journal = next(path for path in sorted((small_run / "episodes").iterdir()) if path.name.startswith("hier"))
    lines = (journal / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (journal / "episodes.jsonl").write_bytes(b"".join(lines[:1] + lines[2:]))
    assert run_here(small_run).complete
    score_run(RunFolder(small_run))
    assert write_report(small_run, tmp_path / "after").page.read_bytes() == before


def test_every_figure_of_a_table_has_as_many_episodes_behind_it_as_it_says(written: WrittenReport) -> None:
    index, page = index_of(written.page), page_of(written)
    found = 0
    for number, words in re.findall(r'<button type="button" class="cell" data-set="(\d+)" data-words="([^"]*)"', page):
        places = places_of(index["sets"][int(number)])
        assert all(0 <= place < len(index["item"]) for place in places)
        told = re.search(r"Accuracy and cost of every arm: .*, accuracy .*; n = ([\d,]+)", words)
        if told:
            found += 1
            assert len(places) == int(told[1].replace(",", ""))
            assert len({index["dimensions"][0]["codes"][place] for place in places}) == 1  # one arm
    assert found > 0


def test_every_sample_of_the_run_is_on_the_page_with_its_answer_and_its_trajectory(
    finished: Path, written: WrittenReport
) -> None:
    index, blocks = index_of(written.page), blocks_of(written.page)
    lines = RunFolder(finished).samples.read_text().count("\n")
    assert len(index["item"]) == len(index["answer"]) == written.episodes == lines
    for block, at in index["place"][:5]:
        record = unpacked(blocks[f"e{block}"])[at]
        assert record["rounds"]
        assert record["watermark"] == WATERMARK


def test_the_pictures_are_the_frames_of_the_moments_that_are_told(written: WrittenReport) -> None:
    index, blocks = index_of(written.page), blocks_of(written.page)
    assert written.pictures == len(index["frames"]) > 0
    for number, (_, time, width, height, source) in enumerate(index["frames"]):
        data = np.frombuffer(base64.b64decode(blocks[f"f{index['pictures'][number]}"]), np.uint8)
        assert number_in(cv2.imdecode(data, cv2.IMREAD_COLOR)) == min(int(time * 10 + 1e-6), 599)
        assert (width, height, source) == (640, 360, "video")


def test_a_box_that_a_tool_saw_is_drawn_on_the_frame_of_its_moment(written: WrittenReport) -> None:
    index, blocks = index_of(written.page), blocks_of(written.page)
    moments = [moment for block, at in index["place"] for moment in unpacked(blocks[f"m{block}"])[at]]
    boxed = [moment for moment in moments if moment["boxes"] and moment["frame"] is not None]
    assert boxed
    for moment in boxed:
        assert abs(index["frames"][moment["frame"]][1] - moment["time"]) < 0.051
        assert all(len(box) == 5 for box in moment["boxes"])


def test_frames_that_are_one_picture_are_on_the_page_once(own_run: Path) -> None:
    folder = own_run / "report" / "frames" / "made"
    still = next(folder.iterdir()).read_bytes()
    for path in folder.iterdir():
        path.write_bytes(still)
    page = write_report(own_run).page
    index, blocks = index_of(page), blocks_of(page)
    places = [place for place, frame in enumerate(index["frames"]) if frame[0] == "made"]
    assert len(places) > 1
    assert len({index["pictures"][place] for place in places}) == 1
    assert base64.b64decode(blocks[f"f{index['pictures'][places[0]]}"]) == still
    assert sum(name[0] == "f" for name in blocks) == len(set(index["pictures"])) < len(index["frames"])


@pytest.mark.nightly
def test_a_later_report_needs_no_video_and_no_world(own_run: Path, written: WrittenReport, tmp_path: Path) -> None:
    (own_run / "local.json").unlink()
    again = write_report(own_run, tmp_path / "again")
    assert again.pictures == written.pictures
    assert again.page.read_bytes() == written.page.read_bytes()


@pytest.mark.nightly
def test_a_second_report_from_a_bundle_has_the_same_bytes(
    own_run: Path, written: WrittenReport, tmp_path: Path
) -> None:
    bundle = tmp_path / "packed.vwbundle"
    pack(RunFolder(own_run), bundle)
    again = write_report(bundle)
    assert again.page == tmp_path / "packed-report" / "report.html"
    assert again.page.read_bytes() == written.page.read_bytes()
    tables = sorted(path.name for path in (written.page.parent / "tables").iterdir())
    assert len(tables) == 2 * written.tables > 0
    for name in tables:
        assert (again.page.parent / "tables" / name).read_bytes() == (
            written.page.parent / "tables" / name
        ).read_bytes()


def test_without_worlds_the_page_says_that_pictures_are_missing(own_run: Path) -> None:
    (own_run / "local.json").unlink()
    shutil.rmtree(own_run / "report")
    told = write_report(own_run)
    assert told.pictures == 0
    assert "its world is not on this machine" in page_of(told)


@pytest.mark.nightly
def test_a_page_holds_no_more_pictures_than_asked_for_and_says_so(own_run: Path) -> None:
    told = write_report(own_run, choices=Choices(most_frames=3))
    assert told.pictures == 3
    assert "The page holds 3 pictures at most" in page_of(told)


def test_a_page_that_would_grow_too_large_tells_results_in_a_line_and_says_so(small_run: Path) -> None:
    cut = write_report(small_run, choices=Choices(most_bytes=0, most_frames=0))
    assert "shown in one line only" in page_of(cut)
    assert cut.bytes < write_report(small_run, choices=Choices(most_frames=0)).bytes


def test_a_damaged_episode_costs_the_others_nothing_and_an_unfinished_run_says_how_much_is_missing(
    small_run: Path,
) -> None:
    journal = sorted((small_run / "episodes").iterdir())[0] / "episodes.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0].replace(b'"outcome":"', b'"outcome":"x') + b"".join(lines[1:]))
    samples = RunFolder(small_run).samples
    samples.write_bytes(b"".join(samples.read_bytes().splitlines(keepends=True)[:-3]))
    found = write_report(small_run, choices=Choices(most_frames=0))
    assert found.damaged == 1
    assert found.episodes == len(index_of(found.page)["item"]) - 1
    assert "1 episode cannot be read (recording_damaged)" in page_of(found)
    assert "The run is not finished: 3 samples still to be asked." in page_of(found)


def test_whatever_shows_the_rule_based_model_is_watermarked(written: WrittenReport) -> None:
    page = page_of(written)
    assert f'<p class="watermark" role="note">{WATERMARK}</p>' in page
    articles = re.findall(r"<article id=.*?</article>", page, re.DOTALL)
    assert len(articles) > 5
    assert all(WATERMARK in re.sub(r"<table>.*?</table>", "", article, flags=re.DOTALL) for article in articles)
    assert all(WATERMARK in figure for figure in re.findall(r"<figcaption>.*?</figcaption>", page, re.DOTALL))


def test_the_page_begins_with_the_contrast_that_was_named_before_and_the_accuracy_of_every_arm(
    finished: Path, written: WrittenReport
) -> None:
    lead = page_of(written).partition('id="overview-head">The result')[2].partition("What was run</h2>")[0]
    tables = {table.name: table for table in tables_of(read_run(finished))}
    contrast = tables["primary"].cell(0, "difference")
    assert contrast.low is not None
    words = re.sub(r"<[^>]*>", "", lead.partition("</p>")[0])
    assert "hier@hand_A less flat (films, classical, usual)" in words
    assert f"{100 * float(contrast.value or 0):.1f}" in words
    assert (
        f"[{100 * contrast.low:.1f}, {100 * (contrast.high or 0):.1f}] percent points, over 20 pairs on 2 videos"
        in words
    )
    arms = tables["main"]
    marks = re.findall(r'aria-label="([^":]*): accuracy ([\d.]+)', lead.partition('class="tight"')[0])
    assert [arm for arm, _ in marks] == arms.column("arm")
    assert [float(share) for _, share in marks] == [round(100 * share, 1) for share in arms.column("accuracy")]


def test_a_run_without_a_named_contrast_begins_with_its_arms_and_says_so(tmp_path: Path) -> None:
    lines = [line for line in SMALL.splitlines() if not line.startswith("primary:")]
    run = made_run(tmp_path, configuration="\n".join(lines), videos=("made",))
    lead = page_of(write_report(run, choices=Choices(most_frames=0))).partition("What was run</h2>")[0]
    assert "The run names no primary contrast." in lead
    assert "Accuracy by arm" in lead
    assert "#table-primary" not in lead


def test_where_the_contrast_is_of_one_domain_its_chart_says_that_it_is_of_all(tmp_path: Path) -> None:
    of_one = SMALL.replace("world: classical}", "world: classical, domain: A_locate_count}")
    run = made_run(tmp_path, configuration=of_one, videos=("made",))
    lead = page_of(write_report(run, choices=Choices(most_frames=0))).partition("What was run</h2>")[0]
    assert "(films, classical, usual, A_locate_count)" in lead
    assert "over the questions of all domains" in lead


def test_the_page_says_what_was_run(finished: Path, written: WrittenReport) -> None:
    overview = page_of(written).partition('<section id="results"')[0]
    manifest = read_run(finished).manifest
    for name, words in {  # an arm with two libraries is two
        "hier@hand_A": "the operations and a tool library; library hand_A",
        "hier@placebo_hand_A": "declared like hand_A, but its tools find nothing",
        "flat_again": "the operations",
        "blind": "the question alone",
    }.items():
        assert re.search(f"<dt>{name}</dt><dd>[^\n]*{words}", overview)
    hashes = [record.hash for record in (*manifest.libraries.values(), *manifest.datasets.values())]
    hashes += [value for made in manifest.worlds.values() for value in made.values()]
    assert all(value[:12] in overview for value in [*hashes, manifest.prompts, manifest.loop])
    assert "arm hier, against flat, budget usual, world classical" in overview


def test_the_policy_allows_this_page_alone(written: WrittenReport) -> None:
    page = page_of(written)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for kind, tag in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        text = re.findall(tag, page, re.DOTALL)
        assert len(text) == 1
        digest = base64.b64encode(hashlib.sha256(text[0].encode()).digest()).decode()
        assert f"{kind}-src &#39;sha256-{digest}&#39;" in policy[1]
    assert "default-src &#39;none&#39;" in policy[1]
    assert not re.search(r"""(src|href)=["'](?!#)""", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_charts_are_well_formed_and_tell_what_they_show(written: WrittenReport) -> None:
    drawings = re.findall(r"<svg .*?</svg>", page_of(written), re.DOTALL)
    assert len(drawings) >= 3
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)  # noqa: S314 - written a moment ago by this program
        assert root.find("title") is not None
        assert root.find("desc") is not None
        assert all(link.find("title") is not None for link in root.iter("a"))


@pytest.fixture
def hostile_run(tmp_path: Path) -> Path:
    """A run in which questions, options and references are markup."""
    config = prepare(tmp_path, configuration=SMALL, videos=("made",))
    lines = [{"schema_version": 1, "video": "made", **line} for line in hostile_questions()]
    (tmp_path / "films" / "questions.jsonl").write_text("".join(json_line(line) + "\n" for line in lines))
    outcome = run_here(config)
    score_run(outcome.folder)
    return outcome.folder.root


def test_hostile_text_stays_text(hostile_run: Path) -> None:
    written = write_report(hostile_run, choices=Choices(most_frames=0))
    page = page_of(written)
    assert len(re.findall(r"<script", page)) == len(re.findall(r"</script", page)) == len(blocks_of(written.page)) + 1
    assert "window.owned" not in page
    assert "window.owned" in str(index_of(written.page)["items"])

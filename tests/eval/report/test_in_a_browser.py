"""The report in a real browser: it loads without a complaint, asks nothing of anybody, and every click leads to episodes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from eval.report import Choices, WrittenReport, write_report
from eval.runs import RunFolder, score_run
from tests.support.browser import Browser, Tab
from tests.support.reports import hostile_questions, index_of, places_of
from tests.support.runs import CONFIGURATION, prepare, run_here
from world_api.core import json_line

LINES = "#episode-list .line"


@pytest.fixture
def tab(browser: Browser, written: WrittenReport) -> Iterator[Tab]:
    """The report, just opened; at the end nothing may have gone wrong or been fetched."""
    opened = browser.open(written.page)
    yield opened
    assert opened.complaints() == []
    assert set(opened.requests()) - {written.page.resolve().as_uri()} == {
        address for address in opened.requests() if address.startswith("data:image/jpeg;base64,")
    }
    opened.close()


def shows(tab: Tab, view: str) -> None:
    tab.wait_for(f"document.body.dataset.view === {view!r}")


def test_it_opens_on_its_result_and_says_that_it_is_plumbing(tab: Tab) -> None:
    assert tab.text("#overview h2") == "The result"
    assert tab.count("#overview .roomy svg a[data-set]") == 5  # arms
    assert "plumbing, not a result" in tab.text("p.watermark")
    assert tab.count("#results") == tab.count("#browse") == 0


def test_filters_change_the_list_and_the_count(tab: Tab) -> None:
    tab.click("nav a[href='#episodes']")
    shows(tab, "episodes")
    everything = tab.count(LINES)
    assert tab.text("#episode-count").startswith(f"{everything} of {everything} episodes")
    tab.choose("#by-arm", "blind")
    assert 0 < tab.count(LINES) < everything
    assert all(
        "blind" in where
        for where in tab.run(f"[...document.querySelectorAll('{LINES} .where')].map((one) => one.innerText)")
    )
    of_arm = tab.count(LINES)
    tab.choose("#mark", "right")
    right = tab.count(LINES)
    tab.choose("#mark", "wrong")
    assert right + tab.count(LINES) == of_arm
    tab.choose("#mark", "all")
    tab.choose("#words", "how many PEOPLE")
    assert 0 < tab.count(LINES) < of_arm
    tab.choose("#words", "nobody ever asked this")
    assert tab.count(LINES) == 0
    tab.click("#filter-form button[type=reset]")
    tab.wait_for(f"document.querySelectorAll('{LINES}').length === {everything}")


def test_the_address_keeps_what_was_chosen(tab: Tab, browser: Browser, written: WrittenReport) -> None:
    tab.click("nav a[href='#episodes']")
    shows(tab, "episodes")
    tab.choose("#by-seed", "2")
    address, count = tab.run("location.hash"), tab.count(LINES)
    other = browser.open(written.page, fragment=address)
    assert other.count(LINES) == count
    assert other.run("document.querySelector('#by-seed').selectedOptions[0].text") == "2"
    other.close()


def test_a_trajectory_opens_with_its_rounds_its_calls_and_its_frames(tab: Tab) -> None:
    tab.run("location.hash = '#episodes?arm=hier%40hand_A&words=first+look'")
    tab.wait_for(f"document.querySelectorAll('{LINES}').length > 0")
    tab.click(LINES)
    tab.wait_for("document.querySelector('#episode h2') !== null")
    assert "first look" in tab.text("#episode h2")
    assert tab.count("#episode .round") >= 2
    assert "locate_first_appearance" in tab.text("#episode .calls")
    assert tab.count("#episode .tree li") >= 1
    tab.wait_for(
        "[...document.querySelectorAll('#episode .frame img')].some((one) => one.complete && one.naturalWidth > 100)"
    )
    assert "cited" in tab.text("#episode .frames")
    assert "Reference 22 - " in " ".join(tab.text("#episode dl.facts").split())
    assert "1 (iou 1" in " ".join(tab.text("#episode dl.facts").split())
    tab.click("#episode .calls .later:last-of-type summary")
    tab.wait_for("document.querySelector('#episode .calls .later[open] dl') !== null")
    tab.run("document.querySelectorAll('#episode details').forEach((one) => { one.open = true; })")
    tab.wait_for("document.querySelector('#episode .setup .later pre') !== null")
    tab.run(
        "document.querySelectorAll('#episode .setup pre').forEach((one) => one.remove())"
    )  # a prompt, as it was sent
    assert not re.search(
        r'\{\s*"\w+"\s*:|\[\{', tab.run("document.getElementById('episode').innerText")
    )  # no JSON is shown


def test_the_line_of_time_is_that_of_the_whole_video_and_a_point_in_time_is_named(tab: Tab) -> None:
    tab.run("location.hash = '#episodes?arm=hier%40hand_A&words=first+look'")
    tab.wait_for(f"document.querySelectorAll('{LINES}').length > 0")
    tab.click(LINES)
    tab.wait_for("document.querySelector('#episode .strip svg') !== null")
    rows = tab.run("[...document.querySelectorAll('#episode .strip .label')].map((one) => one.textContent)")
    assert rows[:2] == ["answer", "reference"]
    assert tab.run("[...document.querySelectorAll('#episode .strip .tick')].at(-1).textContent") == "1:00.0"
    item = {"video": "made", "spans": [[12, 12]]}
    tab.run(
        f"document.body.append(timeline({json.dumps(item)}, {{ frames: [], spans: [[3, 3], [5, 9]] }}));"
        "document.body.lastChild.id = 'points'"
    )
    assert tab.count("#points .lane.point") == 2
    assert {"0:12.0", "0:03.0", "0:05.0–0:09.0"} <= set(
        tab.run("[...document.querySelectorAll('#points .tick')].map((one) => one.textContent)")
    )
    assert "reference: 0:12.0, a point in time" in tab.run("document.getElementById('points').textContent")


def test_the_first_tables_are_open_and_an_address_opens_one_of_the_others(tab: Tab) -> None:
    tab.click("nav a[href='#results']")
    shows(tab, "results")
    order = tab.run("[...document.querySelectorAll('#results article[id]')].map((one) => one.id)")
    assert order[:3] == ["table-primary", "table-main", "table-comparisons"]
    folded = tab.run("[...document.querySelectorAll('#results article:has(> .folded)')].map((one) => one.id)")
    assert folded == order[5:] and folded
    tab.run(f"location.hash = '#{folded[-1]}'")
    tab.wait_for(f"document.querySelector('#{folded[-1]} > .folded').open")
    tab.click("#unfold")
    assert tab.run("[...document.querySelectorAll('.folded')].every((one) => one.open)")


def test_the_boxes_of_a_call_lie_over_its_frame(tab: Tab, written: WrittenReport) -> None:
    tab.run("location.hash = '#episodes?arm=flat&words=first+look&open=0'")
    tab.wait_for("document.querySelector('#episode .over .box') !== null")
    tab.wait_for("document.querySelector('#episode .frame:has(.box) img').complete")  # before that it has no height
    box, frame = (
        tab.run(
            f"(({{x, y, width, height}}) => [x, y, width, height])(document.querySelector('{one}').getBoundingClientRect())"
        )
        for one in ("#episode .over .box", "#episode .frame:has(.box) img")
    )
    assert frame[0] <= box[0] < box[0] + box[2] <= frame[0] + frame[2] + 2
    assert frame[1] <= box[1] < box[1] + box[3] <= frame[1] + frame[3] + 2


@pytest.mark.parametrize("kind", ["a mark of a chart", "a cell of a table", "a key on a mark"])
def test_a_figure_lists_the_episodes_behind_it(tab: Tab, written: WrittenReport, kind: str) -> None:
    tab.click("nav a[href='#results']")
    shows(tab, "results")
    selector = "#table-main td button[data-set]" if kind == "a cell of a table" else "#results svg a[data-set]"
    number = int(tab.run(f"document.querySelector({selector!r}).dataset.set"))
    if kind == "a key on a mark":
        tab.run(f"document.querySelector({selector!r}).focus()")
        for way in ("keyDown", "keyUp"):
            tab.send("Input.dispatchKeyEvent", type=way, key="Enter", code="Enter", windowsVirtualKeyCode=13)
    else:
        tab.click(selector)
    shows(tab, "episodes")
    behind = places_of(index_of(written.page)["sets"][number])
    assert (
        tab.run(f"[...document.querySelectorAll('{LINES}')].map((one) => Number(one.dataset.sample))") == behind[:150]
    )
    assert "behind" in tab.text("#chosen")


def test_questions_stand_side_by_side_and_lead_to_their_episodes(tab: Tab) -> None:
    tab.click("nav a[href='#questions']")
    shows(tab, "questions")
    rows = tab.count("#question-table tbody tr")
    assert rows == 10
    tab.click("#differing")
    assert 0 < tab.count("#question-table tbody tr") < rows
    tab.click("#question-table tbody button.cell")
    shows(tab, "episodes")
    assert tab.count(LINES) == 2  # both seeds
    assert "question" in tab.text("#chosen")


def test_light_and_dark_can_be_switched(tab: Tab) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    before = tab.run(colour)
    tab.click("#theme")
    assert tab.run(colour) != before
    tab.click("#theme")
    assert tab.run(colour) == before


def test_text_from_videos_and_models_cannot_run(browser: Browser, tmp_path: Path) -> None:
    config = prepare(tmp_path, configuration=CONFIGURATION.replace("[1, 2]", "[1]"), videos=("made",))
    lines = [{"schema_version": 1, "video": "made", **line} for line in hostile_questions()]
    (tmp_path / "films" / "questions.jsonl").write_text("".join(json_line(line) + "\n" for line in lines))
    run = run_here(config).folder.root
    score_run(RunFolder(run))
    tab = browser.open(write_report(run, choices=Choices(most_frames=0)).page)
    for address in ("#results", "#questions", "#episodes?open=0", "#episodes?open=2&words=%3Cscript%3E"):
        tab.run(f"location.hash = {address!r}")
        tab.wait_for("document.querySelector('#episode h2') !== null" if "open" in address else "true")
        tab.run("document.querySelectorAll('#episode details').forEach((one) => { one.open = true; })")
    assert "<script>window.owned" in tab.text("#episode h2")
    assert tab.run("typeof window.owned") == "undefined"
    assert tab.run("document.querySelectorAll('img[src=x], svg[onload], body style').length") == 0
    assert tab.complaints() == []
    tab.close()


def test_the_page_lets_nothing_be_fetched_and_no_text_become_a_script(tab_alone: Tab) -> None:
    fetched = tab_alone.run("fetch('https://example.org/').then(() => 'came', () => 'refused')")
    assert fetched == "refused"
    refused = "(() => { try { document.body.innerHTML = '<img src=x onerror=1>'; return 'taken'; } catch { return 'refused'; } })()"
    assert tab_alone.run(refused) == "refused"
    complaints = " ".join(tab_alone.complaints())
    assert "connect-src" in complaints or "default-src" in complaints  # refused by the page, not by a missing network
    assert "TrustedHTML" in complaints


@pytest.fixture
def tab_alone(browser: Browser, written: WrittenReport) -> Iterator[Tab]:
    """The report for a test that makes it complain."""
    opened = browser.open(written.page)
    yield opened
    opened.close()

"""The report on screens of any width and on paper, whatever is written in it: nothing sticks out, nothing runs on without end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.display import WATERMARK
from eval.report import Choices, WrittenReport, write_report
from eval.runs import RunFolder, score_run
from tests.support.browser import Browser, Tab
from tests.support.reports import HOSTILE, index_of
from tests.support.runs import CONFIGURATION, QUESTIONS, prepare, run_here
from world_api.core import json_line

LONG = "W" * 3000
VIEWS = ("#overview", "#results", "#questions", "#episodes")


@pytest.fixture(scope="module")
def stretched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in which questions, options, references and names are as long as they may be."""
    folder = tmp_path_factory.mktemp("stretched")
    long_arm = "hier_" + "x" * 59
    configuration = CONFIGURATION.replace("[1, 2]", "[1]").replace("name: blind", f"name: {long_arm}")
    config = prepare(folder, configuration=configuration, videos=("made",))
    texts = " ".join(HOSTILE)
    lines = [
        {**QUESTIONS[0], "id": "i" * 60, "content": "c" * 60, "template": "t" * 60},
        {**QUESTIONS[1], "question": f"How many people are there? {LONG}", "content": "d" * 60},
        {**QUESTIONS[2], "options": [f"rain {LONG}", f"a bell {texts}"], "answer": "A"},
        {**QUESTIONS[4], "answer": texts * 20, "question": f"What happens? {texts * 300}"[:19_000]},
    ]
    questions = [json_line({"schema_version": 1, "video": "made", **line}) + "\n" for line in lines]
    (folder / "films" / "questions.jsonl").write_text("".join(questions))
    run = run_here(config).folder.root
    score_run(RunFolder(run))
    return write_report(run, choices=Choices(most_frames=0)).page


@pytest.fixture
def ordinary(written: WrittenReport) -> Path:
    return written.page


def one_of_every_arm(page: Path, question: str) -> Iterator[int]:
    """The sample of every arm with most operations inside tools, of the questions with these words."""
    index = index_of(page)
    codes = index["dimensions"][0]["codes"]
    for arm in sorted(set(codes)):
        own = [
            at
            for at, code in enumerate(codes)
            if code == arm and question in index["items"][index["item"][at]]["question"]
        ]
        yield max(own, key=lambda at: index["inner"][at])


def show(tab: Tab, address: str) -> None:
    """Go to a view, with all that can be opened in it open."""
    tab.run(f"location.hash = {address!r}")
    if "open=" not in address:
        tab.wait_for(f"document.body.dataset.view === {address.strip('#')!r}")
        return
    at = address.rpartition("=")[2]
    tab.wait_for(f"document.querySelector('#episode[data-at=\"{at}\"]') !== null")
    tab.run("document.querySelectorAll('#episode details').forEach((one) => { one.open = true; })")
    tab.wait_for("[...document.querySelectorAll('#episode .later > div')].every((one) => one.hasChildNodes())")


def widest(tab: Tab) -> str:
    """What sticks out furthest of all that does not stand in a box that scrolls."""
    return str(
        tab.run(
            "(() => { const all = [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility() &&"
            " !one.closest('.wide, pre, select')); all.sort((a, b) => b.getBoundingClientRect().right -"
            " a.getBoundingClientRect().right); return `${all[0].tagName}.${all[0].className} ${all[0].innerText?.slice(0, 60)}`; })()"
        )
    )


@pytest.mark.parametrize(("width", "dark"), [(360, False), (400, True), (800, False), (1600, True)])
@pytest.mark.parametrize("which", ["ordinary", "stretched"])
def test_no_view_is_wider_than_the_screen(
    browser: Browser, request: pytest.FixtureRequest, which: str, width: int, dark: bool
) -> None:
    page: Path = request.getfixturevalue(which)
    tab = browser.open(page, width=width, height=700, dark=dark)
    questions = ("first look", "people", "leave", "What happens") if which == "stretched" else ("first look",)
    episodes = [f"#episodes?open={at}" for asked in questions for at in one_of_every_arm(page, asked)]
    for address in (*VIEWS, *episodes):
        show(tab, address)
        assert tab.run("document.documentElement.scrollWidth") <= width, f"{address}: {widest(tab)}"
    assert tab.complaints() == []
    tab.close()


def test_an_episode_with_operations_inside_tools_is_among_those_that_are_looked_at(ordinary: Path) -> None:
    index = index_of(ordinary)
    assert max(index["inner"][at] for at in one_of_every_arm(ordinary, "first look")) >= 1


@pytest.mark.parametrize("width", [400, 1280])
def test_a_long_question_takes_a_few_lines_of_a_list_and_stands_whole_in_its_episode(
    browser: Browser, stretched: Path, width: int
) -> None:
    tab = browser.open(stretched, width=width)
    for view, line in (("#questions", "#question-table tbody tr"), ("#episodes", "#episode-list .line")):
        show(tab, view)
        high = tab.run(f"Math.max(...[...document.querySelectorAll({line!r})].map((one) => one.offsetHeight))")
        assert 0 < high < 260, view
    at = next(one_of_every_arm(stretched, "What happens"))
    show(tab, f"#episodes?open={at}")
    assert len(tab.text("#episode h2")) < 700
    whole = index_of(stretched)["items"][index_of(stretched)["item"][at]]["question"]
    assert tab.run("document.querySelector('#episode .whole pre').textContent") == whole
    tab.close()


def test_a_line_of_the_list_says_which_is_the_answer_and_which_the_reference(browser: Browser, ordinary: Path) -> None:
    tab = browser.open(ordinary, fragment="#episodes")
    assert tab.text("#episode-list .line .said").startswith("Answer: ")
    assert tab.text("#episode-list .line .reference").startswith("Reference: ")
    tab.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_that_it_is_plumbing_is_in_view_wherever_one_is(browser: Browser, ordinary: Path, width: int) -> None:
    tab = browser.open(ordinary, width=width, height=600)
    for address in (*VIEWS, "#table-comparisons", "#episodes?open=3"):
        tab.run(f"location.hash = {address!r}")
        tab.wait_for("document.querySelector('#episode h2') !== null" if "open" in address else "true")
        for place in ("0", "300", "document.documentElement.scrollHeight"):
            tab.run(f"window.scrollTo(0, {place})")
            top, bottom = tab.run(
                "(({top, bottom}) => [top, bottom])(document.querySelector('p.watermark').getBoundingClientRect())"
            )
            assert 0 <= top < bottom <= 600, (address, place)
            # It is not below anything else either.
            seen = f"document.elementFromPoint(20, {(top + bottom) / 2})?.innerText"
            assert tab.run(seen) == WATERMARK, (address, place)
    tab.close()


def test_the_head_of_a_table_that_is_gone_to_is_not_covered(browser: Browser, ordinary: Path) -> None:
    tab = browser.open(ordinary, fragment="#table-comparisons")
    tab.wait_for("window.scrollY > 0")
    head = tab.run("document.querySelector('#table-comparisons-head').getBoundingClientRect().top")
    assert head >= tab.run("document.querySelector('.top').getBoundingClientRect().bottom")
    tab.close()


def test_charts_of_differences_are_whole_on_a_telephone(browser: Browser, ordinary: Path) -> None:
    tab = browser.open(ordinary, width=360, fragment="#results")
    boxes = tab.run(
        "[...document.querySelectorAll('#table-primary figure svg')].filter((one) => one.checkVisibility())"
        ".map((one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().right])"
    )
    assert len(boxes) == 1
    assert 0 <= boxes[0][0] < boxes[0][1] <= 360
    tab.close()


def test_on_paper_what_stands_aside_is_left_out_and_tables_fit(browser: Browser, ordinary: Path) -> None:
    tab = browser.open(ordinary, width=1032)  # A4, lying, without its margins, in pixels of CSS
    assert tab.run("document.querySelectorAll('#results th.aside').length") > 0
    tab.send("Emulation.setEmulatedMedia", media="print")
    show(tab, "#results")
    assert tab.count("#results th.aside") == 0
    assert tab.count("#overview h2") == 3
    assert tab.run("document.documentElement.scrollWidth") <= 1032
    tab.close()

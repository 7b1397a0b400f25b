"""The page of a world that ``inspect --html`` writes: what it holds, hostile texts, its use in a browser; and ``frames``."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.conftest import Rows, WorldMaker, sightings, steps
from tests.support.browser import Browser, Tab
from tests.support.command_line import Cli

HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror="document.title=1">'


@pytest.fixture
def store(make_world: WorldMaker, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIDEOWORLD_STORE", str(make_world.store))
    return make_world.store


def block(page: Path, name: str) -> Any:
    """The data of a block of a page."""
    found = re.search(rf'id="{name}">([^<]*)<', page.read_text(encoding="utf-8"))
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


@pytest.mark.usefixtures("store")
def test_the_page_holds_what_the_world_holds(cli: Cli, make_world: WorldMaker, tmp_path: Path) -> None:
    world, page = make_world(), tmp_path / "page.html"
    outcome = cli("inspect", "made", "--html", str(page), "--json")
    assert outcome.json == {"page": str(page), "bytes": page.stat().st_size}
    held = block(page, "world")
    assert (held["id"], held["hash"], held["duration"]) == ("made", world.manifest.world_hash, 60)
    assert [line[:3] for line in held["speech"]] == [
        [22, 25, "Where did you put the blue folder?"],
        [45, 49, "今天的花园很安静"],
    ]
    first, second, third = held["things"]
    assert [one["hint"] for one in (first, second, third)] == [
        "person in black",
        "person in red and white",
        "person in black",
    ]
    assert [one["chinese"] for one in (first, second)] == ["穿黑色的人", "穿红色和白色的人"]
    assert first["spans"][0][0] == 22
    assert first["boxes"][:5] == [22, 100, 60, 160, 260]  # time, then pixels
    assert len(first["boxes"]) == 5 * 13
    assert [text[2] for text in held["texts"]] == ["THE LONG WALK"]


@pytest.mark.usefixtures("store")
def test_the_page_ends_at_the_causal_cut(cli: Cli, make_world: WorldMaker, tmp_path: Path) -> None:
    make_world()
    page = tmp_path / "page.html"
    assert cli("inspect", "made", "--as-of", "30", "--html", str(page)).status == 0
    held = block(page, "world")
    assert held["duration"] == 30
    assert [one["hint"] for one in held["things"]] == ["person in black"]
    assert len(held["speech"]) == 1
    # The video would show what comes after the cut.
    assert held["file"] == ""
    assert "media-src" not in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("store")
def test_a_page_that_cannot_be_written_is_a_fault(cli: Cli, make_world: WorldMaker, tmp_path: Path) -> None:
    make_world()
    (tmp_path / "file").write_text("", encoding="utf-8")
    outcome = cli("inspect", "made", "--html", str(tmp_path / "file" / "page.html"), "--json")
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "store_not_writable")
    film = tmp_path / "film.mp4"
    film.write_bytes(b"no page")
    for target in (film, tmp_path):
        for command in (["inspect", "made"], ["ask", "made", "Who is there?"]):
            refused = cli(*command, "--html", str(target), "--json")
            assert (refused.status, refused.json["error"]["code"]) == (1, "file_exists")
    assert film.read_bytes() == b"no page"


@pytest.fixture
def tab(
    browser: Browser, cli: Cli, make_world: WorldMaker, minute_rows: Rows, store: Path, tmp_path: Path
) -> Iterator[Tab]:
    """The page of the made minute, in which a line is hostile; its video is not beside it."""
    minute_rows["speech"][0]["text"] = HOSTILE
    make_world(minute_rows)
    page = tmp_path / "page.html"
    assert cli("inspect", "made", "--html", str(page)).status == 0
    opened = browser.open(page)
    yield opened
    # The page asks for the video beside it and for nothing else.
    asked = {address for address in opened.requests() if not address.startswith("data:")}
    assert asked == {page.resolve().as_uri(), page.with_name("made.mp4").resolve().as_uri()}
    assert all("ERR_FILE_NOT_FOUND" in one or "ERR_ABORTED" in one for one in opened.complaints())
    opened.close()


def test_search_finds_a_moment_and_a_click_goes_to_it(tab: Tab) -> None:
    tab.choose("#query", "花园")
    tab.wait_for("document.querySelectorAll('#list button').length === 2")
    tab.click("#list button:last-child")  # the first one is the scene, which quotes the line
    assert tab.text("#time").startswith("0:45.0 / 1:00.0")
    assert "今天的花园很安静" in tab.text("#now")


@pytest.mark.usefixtures("store")
def test_sounds_are_counted_listed_searched_and_said_once(
    browser: Browser, cli: Cli, make_world: WorldMaker, minute_rows: Rows, tmp_path: Path
) -> None:
    made = {"score": 0.5, "producer": "sounds/1"}
    windows = [("Bark", 5.0), ("Child speech, kid speaking", 22.0), ("Bark", 50.0)]
    minute_rows["sounds"] = [
        {"start": at, "end": at + 0.975, "label": label, "known_at": at + 0.975, **made} for label, at in windows
    ]
    make_world(minute_rows)
    page = tmp_path / "page.html"
    assert cli("inspect", "made", "--html", str(page)).status == 0
    opened = browser.open(page)
    assert "3 sounds" in opened.text("#facts")
    opened.click("[data-tab=sounds]")
    assert [opened.text(f"#list button:nth-child({place}) span") for place in (1, 2, 3)] == [one[0] for one in windows]
    for label, at in windows:
        opened.run(f"seek({at + 0.5})")
        assert opened.text("#now").count(label) == 1
    opened.choose("#query", "bark")
    opened.wait_for(
        "[...document.querySelectorAll('#list button')].filter((one) => /Sounds/.test(one.textContent)).length === 2"
    )
    opened.choose("#query", "trombone")
    opened.wait_for("document.querySelectorAll('#list button').length === 0")
    assert "no proof" in opened.text("#list")
    opened.close()


def test_a_box_lies_where_the_thing_is(tab: Tab) -> None:
    assert tab.count("#boxes rect") == 0
    tab.run("seek(24)")
    box = tab.run(
        "(() => { const one = document.querySelector('#boxes rect').getBoundingClientRect(), all ="
        " document.querySelector('#screen').getBoundingClientRect();"
        " return [(one.x - all.x) / all.width, (one.y - all.y) / all.height, one.width / all.width]; })()"
    )
    # Four steps after its first sighting at x = 100, in a picture of 640 x 360 pixels.
    assert box == pytest.approx([140 / 640, 60 / 360, 60 / 640], abs=0.01)
    tab.run("seek(30)")
    assert tab.count("#boxes rect") == 0


@pytest.mark.usefixtures("store")
def test_a_box_does_not_move_towards_that_of_another_shot(
    browser: Browser, cli: Cli, make_world: WorldMaker, minute_rows: Rows, tmp_path: Path
) -> None:
    seen = [*steps(28.0, 29.5), 30.5, 31.0]  # a cut at 30
    minute_rows["sightings"] = sightings("t0000_01", seen, step=0.0)
    for row in minute_rows["sightings"][-2:]:
        row["x1"], row["x2"] = row["x1"] + 300, row["x2"] + 300
    make_world(minute_rows)
    page = tmp_path / "page.html"
    assert cli("inspect", "made", "--html", str(page)).status == 0
    opened = browser.open(page)
    lefts = [opened.run(f"(boxAt(world.things[0], {time}) || [null])[0]") for time in (28.25, 29.9, 30.1, 31.0, 32.5)]
    assert lefts == [100, 100, 400, 400, None]
    assert "1 person or thing" in opened.text("#facts")
    opened.close()


@pytest.mark.usefixtures("store")
def test_the_text_of_a_scene_is_whole(cli: Cli, make_world: WorldMaker, minute_rows: Rows, tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(16))
    minute_rows["screen_texts"] += [{**row, "text": words.upper()} for row in minute_rows["screen_texts"]]
    make_world(minute_rows)
    page = tmp_path / "page.html"
    assert cli("inspect", "made", "--html", str(page)).status == 0
    assert block(page, "world")["scenes"][0][3].endswith("WORD15")


def test_hostile_texts_are_text(tab: Tab) -> None:
    tab.run("seek(23)")
    assert HOSTILE in tab.text("#now")
    tab.choose("#query", "onerror")
    tab.wait_for("document.querySelectorAll('#list button').length === 2")
    assert HOSTILE in tab.text("#list")
    assert tab.run("document.title") == "made.mp4"


def test_a_click_on_the_timeline_goes_there_and_chooses_the_thing(tab: Tab) -> None:
    assert tab.run("document.querySelector('#lanes').dataset.lanes") == "scenes people speech texts"
    place = tab.run(
        "(() => { const all = document.querySelector('#lanes').getBoundingClientRect(), lane = lanes.find((one) => one.name"
        " === 'people'); return [all.x + LABEL + 35 / 60 * (all.width - LABEL), all.y + lane.top + ROW / 2]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        tab.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
    tab.wait_for("Math.abs(now - 35) < 0.2")
    assert "person in red and white" in tab.text("#list .chosen")
    assert tab.count("#boxes rect.chosen") == 1


def test_keys_zoom_move_and_language(tab: Tab) -> None:
    tab.run("seek(30)")
    tab.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: '+'}))")
    assert tab.run("until - from") == pytest.approx(30)
    tab.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', shiftKey: true}))")
    assert tab.run("now") == pytest.approx(40)
    tab.click("#language")
    assert tab.run("document.documentElement.lang") == "zh"
    assert "人和物" in tab.text("#tabs")


@pytest.fixture
def film(cli: Cli, sample: Any, tmp_path: Path) -> Path:
    """The store of the sample film's world, without texts on screen."""
    store = tmp_path / "films"
    built = cli("build", str(sample.video), "--id", "film", "--without", "screen_texts", store=store)
    assert built.status == 0, built.err
    return store


@pytest.mark.media
def test_frames_are_written_with_the_boxes_of_what_is_tracked(cli: Cli, film: Path, tmp_path: Path) -> None:
    plain, boxed = tmp_path / "plain", tmp_path / "boxed"
    assert cli("frames", "film", "--at", "10", "--out", str(plain), store=film).status == 0
    record = cli("frames", "film", "--at", "10", "--boxes", "--out", str(boxed), "--json", store=film).json
    (frame,) = record["frames"]
    assert frame["picture"] == str(boxed / "film-10.0.jpg")
    assert [seen["hint"] for seen in frame["tracks"]] == ["person in red and black"]
    pictures = [cv2.imread(str(folder / "film-10.0.jpg")).astype(int) for folder in (plain, boxed)]
    assert pictures[0].shape == (360, 640, 3)
    differing = np.argwhere(np.abs(pictures[0] - pictures[1]).sum(axis=2) > 150)
    assert cli("inspect", "film", "--html", str(tmp_path / "page.html"), store=film).status == 0
    things = block(tmp_path / "page.html", "world")["things"]
    (boxes,) = [one["boxes"] for one in things if one["id"] == frame["tracks"][0]["entity_id"]]
    near = min(range(0, len(boxes), 5), key=lambda place: abs(boxes[place] - 10))
    _, x1, _, x2, y2 = boxes[near : near + 5]
    # The lower edge of the box: the label stands above it.
    assert differing[:, 0].max() == pytest.approx(y2, abs=4)
    lower = differing[differing[:, 0] > y2 - 8][:, 1]
    assert (lower.min(), lower.max()) == pytest.approx((x1, x2), abs=4)


def test_frames_of_what_is_not_there_are_faults(cli: Cli) -> None:
    outcome = cli("frames", "made", "--at", "3", "--json")
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "source_missing")
    assert "made.mp4" in outcome.json["error"]["hint"]
    assert cli("frames", "made", "--at", "60").status == 2
    assert cli("frames", "made", "--at", "31", "--as-of", "30").status == 2
    assert cli("frames", "made", "--at", "nan").status == 2


@pytest.mark.media
def test_the_video_beside_the_page_is_played(
    browser: Browser, cli: Cli, sample: Any, film: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    shutil.copy(sample.video, tmp_path / sample.video.name)
    assert cli("inspect", "film", "--html", str(page), store=film).status == 0
    opened = browser.open(page)
    opened.wait_for("canPlay || document.querySelector('#video').error !== null")
    if opened.run("document.querySelector('#video').error") is not None and not opened.run("canPlay"):
        pytest.skip("this browser cannot play the sample's codec")
    opened.run("seek(3)")
    opened.wait_for("Math.abs(document.querySelector('#video').currentTime - 3) < 0.1")
    assert opened.count("#picture") == 0
    assert opened.text("#source") == sample.video.name
    opened.run("document.querySelector('[data-tab=things]').click()")
    opened.wait_for("document.querySelector('#list .thumb.tall[data-time]') !== null")
    opened.run("document.querySelector('[data-tab=scenes]').click()")
    opened.wait_for("document.querySelectorAll('#list .thumb[data-time]').length >= 3")
    own = "document.querySelector('#list .thumb[data-time]')"
    drawn = f"new Set({own}.getContext('2d').getImageData(0, 0, {own}.width, {own}.height).data).size"
    assert opened.run(drawn) > 20  # a picture, not a plane
    opened.close()


@pytest.mark.media
def test_the_page_asks_for_the_video_only_where_it_is_not(
    browser: Browser, cli: Cli, sample: Any, film: Path, tmp_path: Path
) -> None:
    alone, beside = tmp_path / "alone" / "page.html", tmp_path / "page.html"
    alone.parent.mkdir()
    (tmp_path / sample.video.name).write_bytes(b"no video")
    for page, says in ((alone, f"put {sample.video.name} beside"), (beside, "this browser cannot play it")):
        assert cli("inspect", "film", "--html", str(page), store=film).status == 0
        opened = browser.open(page)
        opened.wait_for("whyNot !== ''")
        opened.wait_for(f"document.querySelector('#source').textContent.includes({says!r})")
        opened.run("document.querySelector('#language').click()")
        assert opened.run("document.documentElement.lang") == "zh"
        assert says not in opened.text("#source") and sample.video.name in opened.text("#source")
        opened.close()


@pytest.fixture
def answered(cli: Cli, make_world: WorldMaker, minute_rows: Rows, store: Path, tmp_path: Path) -> Path:
    """The page of a question about the made minute, in which a line is hostile."""
    minute_rows["speech"][0]["text"] = HOSTILE
    make_world(minute_rows)
    page = tmp_path / "answer.html"
    asked = ("ask", "made", "When does the person in black first appear?", "--model", "rule-based", "--tools", "hand_A")
    outcome = cli(*asked, "--html", str(page), "--json")
    assert outcome.status == 0, outcome.err
    assert f"written to {page}" in outcome.err
    (tmp_path / "answer.json").write_text(outcome.out, encoding="utf-8")
    return page


def test_the_page_of_an_answer_holds_the_calls_with_their_evidence(answered: Path) -> None:
    summary = json.loads(answered.with_suffix(".json").read_text(encoding="utf-8"))
    held = block(answered, "world")
    assert held["things"]  # the world is on it, too
    episode = held["episode"]
    assert episode["lines"] == [summary["question"], summary["answer"], summary["watermark"]]
    assert episode["spans"] == [[one["start_time"], one["end_time"]] for one in summary["spans"]]
    assert [call["head"].split()[0] for call in episode["calls"]] == [call["tool"] for call in summary["tool_calls"]]
    assert episode["spans"][0] in episode["calls"][0]["spans"]


def test_a_click_on_a_call_goes_to_its_evidence(browser: Browser, answered: Path) -> None:
    tab = browser.open(answered)
    assert "When does the person in black first appear?" in tab.text("#asked")
    held = block(answered, "world")["episode"]
    tab.run("seek(0)")
    tab.click("#list button")
    start = held["calls"][0]["spans"][0][0]
    assert tab.text("#time").startswith(f"0:{start:04.1f} / ")
    assert "calls" in tab.run("document.querySelector('#lanes').dataset.lanes").split()
    assert tab.run("document.title") == "made.mp4"
    tab.close()

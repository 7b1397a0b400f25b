"""Choosing frames to read text off: few reads, and rows that say when a text was there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.support.building import made_clip, sampled_for
from world_api.build import ScreenTexts, clip_span
from world_api.build.screen_texts import likely_places, looks_same
from world_api.core import Box, Image, TextLine, TimeSpan
from world_api.media import DecodePass, Frame, probe
from world_api.world import join_readings, rows_from_records

pytestmark = pytest.mark.media

MakeFrames = Callable[..., list[Frame]]
TITLE = Box(x1=8, y1=10, x2=160, y2=34)


class FakeReader:
    """Knows text by its pure white: one line at the title's place, and nothing elsewhere."""

    producer = "fake/1"

    def __init__(self) -> None:
        self.reads = 0
        self.glances = 0

    def locate(self, image: Image) -> Sequence[Box]:
        self.glances += 1
        return [TITLE] if self._has_title(image) else []

    def read(self, image: Image) -> Sequence[TextLine]:
        self.reads += 1
        return [TextLine(text="TITLE", box=TITLE, confidence=0.9)] if self._has_title(image) else []

    @staticmethod
    def _has_title(image: Image) -> bool:
        return bool((image[10:34, 8:160].min(axis=2) > 240).sum() > 100)


def written(picture: Image, text: str, *, y: int = 30) -> Image:
    drawn = picture.copy()
    cv2.putText(drawn, text, (10, y), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (255, 255, 255), 2)
    return drawn


@pytest.fixture
def wall() -> Image:
    return np.full((180, 320, 3), (40, 60, 50), np.uint8)


def leaves(seed: int) -> Image:
    """Strokes that are no text."""
    noise = np.random.default_rng(seed).integers(0, 2, (36, 80, 1), np.uint8)
    return np.ascontiguousarray(np.repeat(np.kron(noise * 200, np.ones((5, 4, 1), np.uint8)), 3, axis=2))


def run(reader: FakeReader, frames: Sequence[Frame], number: int = 0) -> list[dict[str, Any]]:
    stage = ScreenTexts(reader)
    worker = stage.open(made_clip(number))
    for frame in sampled_for(stage, frames):
        if reaches(stage, number, frame.time):
            worker.see(frame)
    return worker.finish()["screen_texts"]


def reaches(stage: ScreenTexts, number: int, time: float) -> bool:
    """Whether a time lies in the window of a clip."""
    assert stage.spec.sampling is not None
    return clip_span(number).start - stage.spec.sampling.warm_up <= time < clip_span(number).end


def noted(rows: list[dict[str, Any]]) -> list[tuple[float, str]]:
    return [(row["time"], row["text"]) for row in rows]


def test_text_has_likely_places_and_a_wall_has_none(wall: Image) -> None:
    assert likely_places(cv2.cvtColor(wall, cv2.COLOR_BGR2GRAY)) == []
    (place,) = likely_places(cv2.cvtColor(written(wall, "OPEN MOVIE"), cv2.COLOR_BGR2GRAY))
    assert place.iou(Box(x1=10, y1=15, x2=150, y2=31)) > 0.5


def test_a_place_is_another_when_one_character_is(wall: Image) -> None:
    one, other = (cv2.cvtColor(written(wall, text), cv2.COLOR_BGR2GRAY) for text in ("OPEN MOVIE", "OPEN MOVIF"))
    assert looks_same(one, one, TITLE)
    assert not looks_same(one, other, TITLE)
    assert looks_same(one, other, Box(x1=8, y1=10, x2=90, y2=34))


def test_text_that_stays_is_read_once_and_noted_again(make_frames: MakeFrames, wall: Image) -> None:
    reader = FakeReader()
    frames = make_frames(lambda t: written(wall, "OPEN MOVIE") if t >= 5 else wall, start=0, end=25, rate=2)
    rows = run(reader, frames)
    assert noted(rows) == [(0.0, ""), (6.0, "TITLE"), (11.0, "TITLE"), (16.0, "TITLE"), (21.0, "TITLE")]
    assert all(row["known_at"] == row["time"] for row in rows)
    assert (reader.glances, reader.reads) == (1, 1)


class TwoLineReader(FakeReader):
    """Knows a second line, too, lower down."""

    lower = Box(x1=8, y1=110, x2=160, y2=134)

    def locate(self, image: Image) -> Sequence[Box]:
        return [*super().locate(image), *([self.lower] if self._has_title(image[100:]) else [])]

    def read(self, image: Image) -> Sequence[TextLine]:
        below = TextLine(text="BELOW", box=self.lower, confidence=0.9)
        return [*super().read(image), *([below] if self._has_title(image[100:]) else [])]


def test_a_frame_that_is_read_when_lines_were_due_to_be_noted_again_is_noted_once(
    make_frames: MakeFrames, wall: Image
) -> None:
    title = written(wall, "OPEN MOVIE")

    def picture(time: float) -> Image:
        if time < 5:
            return wall
        return title if time < 10 else written(title, "BY NOBODY", y=130)

    reader = TwoLineReader()
    rows = run(reader, make_frames(picture, start=0, end=14, rate=2))
    assert reader.reads == 2
    assert noted(rows) == [(0.0, ""), (6.0, "TITLE"), (11.0, "TITLE"), (11.0, "BELOW")]
    whole = TimeSpan(start=0.0, end=30.0)
    texts = join_readings(rows_from_records("screen_texts", rows), [whole], whole)
    assert [(text.text, text.span.start) for text in texts] == [("TITLE", 6.0), ("BELOW", 11.0)]


def test_where_a_text_ends_is_noted_without_reading(make_frames: MakeFrames, wall: Image) -> None:
    reader = FakeReader()
    frames = make_frames(lambda t: written(wall, "OPEN MOVIE") if 5 <= t < 9 else wall, start=0, end=25, rate=2)
    rows = run(reader, frames)
    assert noted(rows) == [(0.0, ""), (6.0, "TITLE"), (9.0, "")]
    assert {key: rows[2][key] for key in ("x1", "y1", "x2", "y2", "confidence", "known_at")} == {
        "x1": 0, "y1": 0, "x2": 0, "y2": 0, "confidence": 1.0, "known_at": 9.0,
    }  # fmt: skip
    assert reader.reads == 1


def test_a_title_that_drifts_stands_until_it_is_gone(make_frames: MakeFrames, wall: Image) -> None:
    def picture(time: float) -> Image:
        if time >= 15:
            return wall
        big = cv2.resize(written(wall, "OPEN MOVIE"), None, fx=1 + time / 500, fy=1 + time / 500)
        return np.ascontiguousarray(big[:180, :320])

    rows = run(FakeReader(), make_frames(picture, start=0, end=25, rate=2))
    assert [text for _, text in noted(rows)] == ["TITLE", "TITLE", "TITLE", ""]
    assert noted(rows)[-1] == (15.0, "")


def test_a_title_that_fades_out_slowly_ends(make_frames: MakeFrames, wall: Image) -> None:
    def faded(time: float) -> Image:
        light = min(1.0, max(0.0, (18.0 - time) / 12.0))
        return (wall + (written(wall, "OPEN MOVIE").astype(float) - wall) * light).astype(np.uint8)

    rows = run(FakeReader(), make_frames(faded, start=0, end=30, rate=2))
    assert noted(rows)[0] == (1.0, "TITLE")
    (end,) = [time for time, text in noted(rows) if not text]
    assert 12.0 <= end <= 19.0


def test_a_text_that_fades_in_is_read_when_it_stands(make_frames: MakeFrames, wall: Image) -> None:
    def faded(time: float) -> Image:
        light = min(1.0, max(0.0, (time - 4.0) / 3.0))
        return (wall + (written(wall, "OPEN MOVIE").astype(float) - wall) * light).astype(np.uint8)

    rows = run(reader := FakeReader(), make_frames(faded, start=0, end=12, rate=2))
    assert next(time for time, text in noted(rows) if text) == 8.0
    assert reader.reads == 1


def test_a_clock_is_read_once_a_clip(make_frames: MakeFrames, wall: Image) -> None:
    reader = FakeReader()
    frames = make_frames(
        lambda t: written(wall, f"00:10:{int(t * 2) % 60:02d}.{int(t * 97) % 100:02d}"), start=0, end=90, rate=2
    )
    for number in range(3):
        rows = run(reader, frames, number)
        assert sum(1 for row in rows if row["text"]) == 1
    assert reader.reads == 3


def clock(wall: Image, time: float, *, x: int = 0, y: int = 30) -> Image:
    text = f"00:10:{int(time * 2) % 60:02d}.{int(time * 97) % 100:02d}"
    return np.roll(written(wall, text, y=y), x, axis=1)


class ClockReader(FakeReader):
    """Reads figures at the title's place."""

    def read(self, image: Image) -> Sequence[TextLine]:
        return [replace(line, text="00:10:02.12") for line in super().read(image)]


def test_a_clock_that_runs_on_is_noted_as_standing_there_unread_until_it_is_gone(
    make_frames: MakeFrames, wall: Image
) -> None:
    frames = make_frames(lambda t: clock(wall, t) if t < 22.5 else wall, start=0, end=30, rate=2)
    rows = run(reader := ClockReader(), frames)
    assert noted(rows) == [(3.0, "00:10:02.12"), *((t, "") for t in (8.0, 13.0, 18.0, 22.5))]
    boxes = [(row["x1"], row["y1"], row["x2"], row["y2"]) for row in rows]
    assert boxes == [boxes[0]] * 4 + [(0.0, 0.0, 0.0, 0.0)]
    assert all(row["known_at"] == row["time"] for row in rows)
    assert reader.reads == 1
    (text,) = join_readings(
        rows_from_records("screen_texts", rows), [TimeSpan(start=0.0, end=30.0)], TimeSpan(start=0.0, end=30.0)
    )
    assert (text.text, text.span) == ("00:10:02.12", TimeSpan(start=3.0, end=22.5))


@pytest.mark.parametrize("way", ["up", "another", "words"])
def test_what_leaves_its_place_or_has_no_figures_is_not_noted_as_standing_there(
    make_frames: MakeFrames, wall: Image, way: str
) -> None:
    pictures: dict[str, Callable[[float], Image]] = {
        "up": lambda t: clock(wall, t) if t <= 3 else clock(wall, t, y=30 + int(9 * (t - 3))),
        "another": lambda t: clock(wall, t) if t <= 3 else leaves(int(t)),
        "words": lambda t: clock(wall, t),
    }
    reader = FakeReader() if way == "words" else ClockReader()
    rows = run(reader, make_frames(pictures[way], start=0, end=14, rate=2))
    read = next(row for row in rows if row["text"])
    assert not [row for row in rows if not row["text"] and row["x2"] > 0 and row["time"] > read["time"] + 1]


def test_what_is_no_text_is_asked_about_once(make_frames: MakeFrames) -> None:
    reader = FakeReader()
    assert likely_places(cv2.cvtColor(leaves(1), cv2.COLOR_BGR2GRAY))
    frames = make_frames(lambda t: leaves(1 + int(t // 5) % 2), start=0, end=30, rate=2)
    assert noted(run(reader, frames)) == [(1.0, "")]
    assert (reader.glances, reader.reads) == (2, 0)


def test_reading_is_rationed_however_the_picture_changes(make_frames: MakeFrames, wall: Image) -> None:
    reader = FakeReader()
    frames = make_frames(lambda t: written(leaves(int(t / 1.5)) // 2, "OPEN MOVIE"), start=0, end=30, rate=2)
    run(reader, frames)
    assert 1 <= reader.reads <= 5
    assert reader.glances <= 12


def test_nothing_is_loaded_where_nothing_looks_like_text(make_frames: MakeFrames, wall: Image) -> None:
    reader = FakeReader()
    assert noted(run(reader, make_frames(lambda t: wall, start=0, end=8, rate=2))) == [(0.0, "")]
    assert (reader.glances, reader.reads) == (0, 0)


def test_a_title_over_the_join_of_clips_is_read_once(make_frames: MakeFrames, wall: Image) -> None:
    reader = FakeReader()
    frames = make_frames(lambda t: written(wall, "OPEN MOVIE") if 20 <= t < 36 else wall, start=0, end=60, rate=2)
    first, second = run(reader, frames, 0), run(reader, frames, 1)
    assert noted(first)[-1] == (26.0, "TITLE")
    assert noted(second) == [(36.0, "")]
    assert reader.reads == 1


def test_what_stays_on_after_the_join_is_read_again_once(make_frames: MakeFrames, wall: Image) -> None:
    reader = FakeReader()
    frames = make_frames(lambda t: written(wall, "OPEN MOVIE") if t >= 20 else wall, start=0, end=60, rate=2)
    run(reader, frames, 0)
    assert noted(run(reader, frames, 1))[0] == (39.5, "TITLE")
    assert reader.reads == 2


def test_a_title_that_began_shortly_before_the_join_is_read_by_the_later_clip(
    make_frames: MakeFrames, wall: Image
) -> None:
    frames = make_frames(lambda t: written(wall, "OPEN MOVIE") if 29.5 <= t < 36 else wall, start=0, end=60, rate=2)
    assert not any(text for _, text in noted(run(FakeReader(), frames, 0)))
    assert (30.5, "TITLE") in noted(run(FakeReader(), frames, 1))


@pytest.mark.shared_data
def test_real_titles_and_a_real_clock_are_found_in_few_readings(shared_data: Path) -> None:
    from world_api.perception import RapidOcrReader

    reader = CountingReader(RapidOcrReader())
    stage = ScreenTexts(reader)
    workers = [stage.open(made_clip(number)) for number in range(5)]
    for frame in sampled_for(stage, DecodePass(source=probe(shared_data / "video" / "composite_337s.mp4"))):
        if frame.time >= 150:
            break
        for number, worker in enumerate(workers):
            if reaches(stage, number, frame.time):
                worker.see(frame)
    texts = [row for worker in workers for row in worker.finish()["screen_texts"]]
    opening = " ".join(row["text"] for row in texts if row["time"] < 30)
    assert all(words in opening for words in ("PEACH", "OPEN MOVIE", "Big Buck", "BUNNY"))
    frames = [(row["time"], int(row["text"])) for row in texts if row["text"].isdigit() and len(row["text"]) == 6]
    assert frames
    stood = join_readings(
        rows_from_records("screen_texts", texts),
        [TimeSpan(start=a, end=b) for a, b in ((0.0, 30.0), (30.0, 102.0), (102.0, 147.0), (147.0, 150.0))],
        TimeSpan(start=0.0, end=150.0),
    )
    (counter,) = [text for text in stood if str(frames[0][1]) in text.text]
    assert 102 <= counter.span.start <= 106  # the clock stands from 102 to 147
    assert counter.span.end == pytest.approx(147, abs=0.5)
    for time, number in frames:
        assert number == pytest.approx((time - 102 + 600) * 30000 / 1001, abs=3)
    assert reader.reads <= 7


class CountingReader:
    """Counts the reads of a reader."""

    def __init__(self, inner: Any) -> None:
        self.producer: str = inner.producer
        self.reads = 0
        self._inner = inner

    def locate(self, image: Image) -> Sequence[Box]:
        found: Sequence[Box] = self._inner.locate(image)
        return found

    def read(self, image: Image) -> Sequence[TextLine]:
        self.reads += 1
        found: Sequence[TextLine] = self._inner.read(image)
        return found

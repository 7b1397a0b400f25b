"""The sample's files, read back as a user's player or our builder would."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from eval.sandbox import SampleFiles, Subtitle, lost_folder, make_sample, write_mp4
from eval.sandbox.rooms import paint_room
from world_api.core.faults import StoreFault
from world_api.core.spans import Box

pytestmark = [pytest.mark.media, pytest.mark.xdist_group("sample")]

Frames = list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]


@pytest.fixture(scope="module")
def truth(sample: SampleFiles) -> Any:
    return json.loads(sample.truth.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def frames(sample: SampleFiles) -> Frames:
    with av.open(str(sample.video)) as container:
        return [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]


def test_the_video_is_h264_with_aac_and_an_embedded_subtitle_track(sample: SampleFiles, truth: Any) -> None:
    with av.open(str(sample.video)) as container:
        assert {stream.codec_context.name for stream in container.streams} == {"h264", "aac", "mov_text"}
        video = container.streams.video[0]
        assert (video.width, video.height) == (truth["resolution"]["width"], truth["resolution"]["height"])
        assert video.average_rate == truth["frame_rate"]
        assert container.duration is not None
        assert container.duration / 1e6 == pytest.approx(truth["duration"], abs=0.1)


def test_every_frame_decodes(frames: Frames, truth: Any) -> None:
    assert len(frames) == truth["duration"] * truth["frame_rate"]


def test_the_cuts_are_the_only_sharp_changes(frames: Frames, truth: Any) -> None:
    changes = np.asarray([np.abs(b[::4, ::4].astype(int) - a[::4, ::4]).mean() for a, b in pairwise(frames)])
    sharpest = sorted((int(np.argsort(changes)[-1 - n]) + 1) / truth["frame_rate"] for n in range(len(truth["cuts"])))
    assert sharpest == truth["cuts"]
    assert np.sort(changes)[-len(truth["cuts"]) - 1] < 0.5 * np.sort(changes)[-len(truth["cuts"])]


def test_the_embedded_subtitles_the_srt_and_the_truth_say_the_same(sample: SampleFiles, truth: Any) -> None:
    with av.open(str(sample.video)) as container:
        stream = container.streams.subtitles[0]
        read = [
            (float(packet.pts * packet.time_base), line.dialogue.decode())
            for packet in container.demux(stream)
            if packet.size and packet.pts is not None
            for line in packet.decode()
        ]
    assert read == [(pytest.approx(line["start"]), line["text"]) for line in truth["speech"]]
    srt = sample.subtitles.read_text(encoding="utf-8")
    assert all(line["text"] in srt for line in truth["speech"])
    assert "00:00:10,400 --> 00:00:13,000" in srt


def test_something_is_heard_when_somebody_speaks_and_little_in_an_empty_room(sample: SampleFiles, truth: Any) -> None:
    with av.open(str(sample.video)) as container:
        sound = np.concatenate([frame.to_ndarray().ravel() for frame in container.decode(audio=0)])
        rate = container.streams.audio[0].rate

    def loudness(start: float, end: float) -> float:
        return float(np.sqrt(np.mean(sound[int(start * rate) : int(end * rate)] ** 2)))

    for line in truth["speech"]:
        assert loudness(line["start"], line["end"]) > 0.01
    assert loudness(truth["cuts"][0] + 0.5, truth["cuts"][0] + 1.8) < 0.01


def test_people_are_tall_enough_to_be_found_and_boxes_lie_in_the_frame(truth: Any) -> None:
    for track in truth["tracks"]:
        for sighting in track["sightings"]:
            x1, y1, x2, y2 = sighting["box"]
            assert 0 <= x1 < x2 <= 640
            assert 0 <= y1 < y2 <= 360
            assert track["category"] != "person" or y2 - y1 >= 90


def test_boxes_fit_what_the_decoded_frame_shows(frames: Frames, truth: Any) -> None:
    start, shot = next(lost_folder(7).shots())
    empty = paint_room(shot.room).image.astype(int)
    person = next(track for track in truth["tracks"] if track["category"] == "person")
    for sighting in person["sightings"][20:40:5]:
        assert start <= sighting["time"] < start + shot.duration
        frame = frames[round(sighting["time"] * truth["frame_rate"])]
        x1, y1, x2, y2 = (int(value) for value in sighting["box"])
        ink = np.abs(frame.astype(int) - empty).max(axis=2) > 60
        ink[:, x2:] = False  # the carried folder sticks out
        rows, columns = np.flatnonzero(ink.sum(axis=1) > 2), np.flatnonzero(ink.sum(axis=0) > 2)
        found = Box(x1=columns[0], y1=rows[0], x2=columns[-1] + 1, y2=rows[-1] + 1)
        assert found.iou(Box(x1=x1, y1=y1, x2=x2, y2=y2)) > 0.85


def test_one_person_comes_back_and_one_room_is_seen_again(truth: Any) -> None:
    cuts = [0.0, *truth["cuts"], truth["duration"]]
    shots = {
        track["track"]: {sum(cut <= sighting["time"] for cut in cuts) for sighting in track["sightings"]}
        for track in truth["tracks"]
    }
    assert any(len(seen) >= 3 for seen in shots.values())
    signs = [item["text"] for item in truth["screen_text"]]
    assert any(signs.count(sign) == 2 for sign in signs)


def test_actions_captions_and_scenes_are_ordered_spans_of_the_film(truth: Any) -> None:
    for key in ("scenes", "speech", "actions", "captions", "screen_text"):
        starts = [item["start"] for item in truth[key]]
        assert starts == sorted(starts)
        assert all(0 <= item["start"] < item["end"] <= truth["duration"] for item in truth[key])
    known = {track["track"] for track in truth["tracks"]}
    assert {action["track"] for action in truth["actions"]} <= known


def test_the_questions_name_the_video_they_ask_about(sample: SampleFiles) -> None:
    record = json.loads(sample.questions.read_text(encoding="utf-8"))
    assert record["video"] == sample.video.name
    assert 3 <= len(record["questions"]) <= 5


def test_nothing_unfinished_is_left_in_the_folder(sample: SampleFiles) -> None:
    assert {path.name for path in sample.video.parent.iterdir()} == {
        "sample.mp4",
        "sample.srt",
        "sample.truth.json",
        "sample.questions.json",
    }


def test_a_folder_that_cannot_be_made_is_a_named_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreFault, match="not_writable"):
        make_sample(tmp_path / "file" / "below")


def test_encoding_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    images = [np.full((64, 96, 3), shade, np.uint8) for shade in range(0, 120, 8)]
    sound = np.sin(np.arange(24_000) / 20).astype(np.float32) * 0.1
    lines = [Subtitle(start=0.2, end=0.8, text="你好")]
    for name in ("a.mp4", "b.mp4"):
        write_mp4(tmp_path / name, images, sound, lines, frame_rate=15, title="twice")
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()

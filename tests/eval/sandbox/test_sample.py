"""The sample's files, read back as a user's player or our builder would."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from eval.sandbox import SampleFiles, Subtitle, cast, lost_folder, questions, write_mp4
from eval.sandbox.script import Film, Performance, Shot
from videoworld import main

pytestmark = [pytest.mark.media]

Image = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
Frames = dict[int, Image]


@pytest.fixture(scope="module")
def truth(sample: SampleFiles) -> Any:
    return json.loads(sample.truth.read_text(encoding="utf-8"))


def coming_to_the_kitchen(truth: Any) -> list[Any]:
    """Sightings of the owner, alone and with nothing in hand, in the second shot."""
    owner = next(track for track in truth["tracks"] if track["category"] == "person")
    _, start, end, *_ = truth["cuts"]
    return [item for item in owner["sightings"] if start <= item["time"] < end][8:24:4]


@pytest.fixture(scope="module")
def decoded(sample: SampleFiles, truth: Any) -> tuple[list[Image], Frames]:
    """Every frame in a sixteenth of its size, and some frames after each cut whole."""
    rate, small, whole = truth["frame_rate"], [], {}
    wanted = {round(time * rate) + 1 for time in (0.0, *truth["cuts"])}
    wanted |= {round(item["time"] * rate) for item in coming_to_the_kitchen(truth)}
    with av.open(str(sample.video)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            grey = frame.to_ndarray(format="gray")
            small.append(grey[::4, ::4].copy())
            if number in wanted:
                whole[number] = frame.to_ndarray(format="bgr24")
    return small, whole


@pytest.fixture(scope="module")
def frames(decoded: tuple[list[Image], Frames]) -> Frames:
    return decoded[1]


def test_the_video_is_h264_with_aac_and_an_embedded_subtitle_track(sample: SampleFiles, truth: Any) -> None:
    with av.open(str(sample.video)) as container:
        assert {stream.codec_context.name for stream in container.streams} == {"h264", "aac", "mov_text"}
        video = container.streams.video[0]
        assert (video.width, video.height) == (truth["resolution"]["width"], truth["resolution"]["height"])
        assert video.average_rate == truth["frame_rate"]
        assert container.duration is not None
        assert container.duration / 1e6 == pytest.approx(truth["duration"], abs=0.1)


def test_every_frame_decodes(decoded: tuple[list[Image], Frames], truth: Any) -> None:
    assert len(decoded[0]) == truth["duration"] * truth["frame_rate"]


def test_the_cuts_are_the_only_sharp_changes(decoded: tuple[list[Image], Frames], truth: Any) -> None:
    changes = np.asarray([np.abs(b.astype(int) - a).mean() for a, b in pairwise(decoded[0])])
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
    first = truth["speech"][0]
    assert f"00:00:{first['start']:06.3f} --> 00:00:{first['end']:06.3f}".replace(".", ",") in srt


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
    empty = frames[round(truth["cuts"][1] * truth["frame_rate"]) + 1].astype(int)
    for sighting in coming_to_the_kitchen(truth):
        x1, y1, x2, y2 = (int(value) for value in sighting["box"])
        ink = np.abs(frames[round(sighting["time"] * truth["frame_rate"])].astype(int) - empty).max(axis=2) > 60
        rows, columns = np.flatnonzero(ink.sum(axis=1) > 2), np.flatnonzero(ink.sum(axis=0) > 2)
        assert (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1) == pytest.approx((x1, y1, x2, y2), abs=6)


def test_every_picture_says_what_is_written_in_it_and_where(frames: Frames, truth: Any) -> None:
    assert {text["start"] for text in truth["screen_text"]} == {0.0, *truth["cuts"]}
    for text in truth["screen_text"]:
        x1, y1, x2, y2 = (round(value) for value in text["box"])
        ink = frames[round(text["start"] * truth["frame_rate"]) + 1][y1:y2, x1:x2].astype(int)
        assert 0 <= x1 < x2 <= truth["resolution"]["width"]
        assert y2 - y1 >= 11
        assert ink.max() - ink.min() > 100, f"{text['text']} is hard to read"


def test_every_room_is_empty_for_two_seconds_before_a_person_enters(truth: Any) -> None:
    seen = [item["time"] for track in truth["tracks"] if track["category"] == "person" for item in track["sightings"]]
    for cut in truth["cuts"]:
        assert not any(cut <= time < cut + 1.9 for time in seen)


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


def test_a_folder_that_cannot_be_made_is_a_named_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SystemExit):
        main(["sample", str(tmp_path / "file" / "below")])
    assert "not_writable" in capsys.readouterr().err


def test_encoding_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    images = [np.full((64, 96, 3), shade, np.uint8) for shade in range(0, 120, 8)]
    sound = np.sin(np.arange(24_000) / 20).astype(np.float32) * 0.1
    lines = [Subtitle(start=0.2, end=0.8, text="你好")]
    for name in ("a.mp4", "b.mp4"):
        write_mp4(tmp_path / name, images, sound, lines, frame_rate=15, title="twice")
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


SEEDS = range(25)


def performances(film: Film) -> list[tuple[Shot, Performance]]:
    return [(shot, performance) for _, shot in film.shots() for performance in shot.performances]


def test_any_seed_gives_people_who_can_be_told_apart() -> None:
    for seed in SEEDS:
        chosen = cast(seed)
        actors = (chosen.owner, chosen.finder, chosen.reader)
        coats = {actor.look.coat for actor in actors}
        assert len({actor.name for actor in actors}) == len(coats) == 3
        assert chosen.folder.colour not in coats


def test_the_same_seed_gives_the_same_film_and_another_seed_another() -> None:
    assert lost_folder(7) == lost_folder(7)
    assert lost_folder(7) != lost_folder(8)


def test_every_part_begins_on_a_frame_and_the_film_is_short() -> None:
    film = lost_folder(7)
    assert 60 <= film.duration <= 120
    for start, _ in film.placed():
        assert start * film.frame_rate == pytest.approx(round(start * film.frame_rate))


def test_people_walk_at_the_pace_of_people() -> None:
    for _, performance in performances(lost_folder(7)):
        for walk in performance.walks:
            metres = (
                math.dist(walk.origin, walk.goal) / (walk.end - walk.start) / 183 * 1.7
            )  # people are 183 pixels tall
            assert 0.7 <= metres <= 2.0, f"{performance.actor.name} walks {metres:.2f} m/s"


def test_no_two_lines_are_spoken_at_once_and_every_line_is_in_its_shot() -> None:
    for _, shot in (item for seed in SEEDS for item in lost_folder(seed).shots()):
        lines = sorted(shot.lines, key=lambda line: line.start)
        assert all(first.end <= second.start for first, second in pairwise(lines))
        assert all(0 <= line.start < line.end <= shot.duration for line in lines)
        assert all(line.speaker in {item.actor for item in shot.performances} for line in lines)


def test_questions_have_answers_and_spans_inside_the_film() -> None:
    for seed in SEEDS:
        film, found = lost_folder(seed), questions(seed)
        assert len({question.id for question in found}) == len(found) >= 3
        assert {question.task for question in found} == {"A", "B", "C"}
        for question in found:
            assert question.answer not in (None, "", [])
            assert question.spans
            assert all(0 <= start < end <= film.duration for start, end in question.spans)

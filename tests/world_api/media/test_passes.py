"""The decoding process: it confines what a file can do, and may die without taking anybody along."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path

import av
import numpy as np
import pytest

from tests.support.decoders import decoder_of, decoding_that_dies_at, with_damage
from tests.world_api.conftest import encode
from world_api.core import Image, MediaFault, TimeSpan
from world_api.media.container import DEFAULT_LIMITS, Limits, Probe, probe
from world_api.media.decode_pass import DecodePass, PassState, losses
from world_api.media.decoder import MediaWorker, VideoPass
from world_api.media.frames import Frame, Want
from world_api.media.process import ProcessGone

pytestmark = pytest.mark.media

MakeVideo = Callable[..., Path]
EVERYTHING = (Want(fps=None, spans=((0.0, inf),)),)


def pass_over(path: Path, *, limits: Limits = DEFAULT_LIMITS, **facts: object) -> VideoPass:
    return VideoPass(**{"source": probe(path), "limits": limits, "wants": EVERYTHING, **facts})  # type: ignore[arg-type]  # VideoPass's own


def shades(number: int) -> list[Image]:
    return [np.full((48, 64, 3), 40 + n % 160, np.uint8) for n in range(number)]


def read(decode: VideoPass) -> list[float]:
    """The times of all frames; a hole is known before the frame after it is given."""
    times = []
    for frame in decode:
        assert (
            not times
            or frame.time - times[-1] < 2.0
            or [hole.end for hole in decode.holes[-1:]] == [round(frame.time, 3)]
        )
        times.append(frame.time)
        frame.release()
    return times


def shade(frame: Frame) -> int:
    return round(float(frame.picture().mean()))


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute at ten frames a second."""
    return encode(tmp_path_factory.mktemp("film") / "film.mp4", shades(600))


def test_frames_come_over_as_the_decoder_gave_them(film: Path) -> None:
    decode = pass_over(film)
    for here, there in zip(DecodePass(source=probe(film)), decode, strict=True):
        assert there.time == here.time
        assert there.shape == here.shape
        assert np.abs(there.picture().astype(int) - here.picture()).max() <= 2  # the scaler rounds by where bytes lie
        there.release()
    assert decode.final is not None
    assert decode.final.frames == 600


def test_a_frame_that_was_let_go_shows_nothing_any_more(film: Path) -> None:
    with closing(iter(pass_over(film))) as frames:  # type: ignore[type-var]  # a generator closes
        first = next(frames)
        kept = first.picture()
        first.release()
        with pytest.raises(RuntimeError):
            first.picture(16)
        assert np.array_equal(first.picture(), kept)


def test_only_wanted_frames_are_carried_over(film: Path) -> None:
    carried = []
    for frame in pass_over(film, wants=(Want(fps=1.0, spans=((10.0, 20.0),)),)):
        if frame.wanted:
            carried.append(round(frame.time, 3))
        frame.release()
    assert carried == [float(second) for second in range(10, 20)]


def test_no_more_frames_wait_than_there_are_slots(film: Path) -> None:
    held: list[Frame] = []
    decode = pass_over(film)
    thread = threading.Thread(target=lambda: held.extend(decode), daemon=True)
    thread.start()
    slots = 32  # of frames that small
    wait_for(lambda: len(held) == slots)
    for frame in held[: slots // 4]:
        frame.release()
    wait_for(lambda: len(held) == slots + slots // 4)
    thread.join(timeout=0.3)
    assert len(held) == slots + slots // 4
    while thread.is_alive():
        for frame in list(held):
            frame.release()
        thread.join(timeout=0.05)
    assert len(held) == 600


def wait_for(reached: Callable[[], bool]) -> None:
    """Wait for another thread, as long as a very busy machine may need."""
    waiting = threading.Event()
    assert any(reached() or waiting.wait(0.05) for _ in range(1200))


def test_a_pass_goes_on_where_one_stood(film: Path) -> None:
    notes: list[PassState] = []
    whole = [(frame.time, shade(frame), frame.release())[:2] for frame in pass_over(film, noted=notes.append)]
    assert [state.last_time // 10 for state in notes] == [1, 2, 3, 4, 5]
    decode = pass_over(film, resume_from=notes[2])
    rest = [(frame.time, shade(frame), frame.release())[:2] for frame in decode]
    assert rest == [pair for pair in whole if pair[0] > notes[2].last_time]
    assert decode.final is not None
    assert decode.final.frames == 600


def test_a_place_that_is_not_found_means_from_the_beginning(film: Path) -> None:
    notes: list[PassState] = []
    for frame in pass_over(film, noted=notes.append):
        frame.release()
    lost = PassState(**{**vars(notes[1]), "last_pts": 12345678})
    decode = DecodePass(source=probe(film), resume_from=lost)
    assert len(list(decode)) == decode.state.frames == 600


def test_nothing_is_left_out_for_a_decoder_that_died_before_it_told_of_a_frame(film: Path) -> None:
    worker = MediaWorker()
    worker.start()
    process = worker.detach()
    assert process is not None
    process.kill()
    decode = pass_over(film, process=process)
    assert [round((frame.time, frame.release())[0], 3) for frame in decode] == [n / 10 for n in range(600)]
    assert [loss.code for loss in decode.lost] == ["decoder_restarted"]


def test_nothing_is_left_out_for_one_that_died_where_a_pass_goes_on(film: Path) -> None:
    notes: list[PassState] = []
    for frame in pass_over(film, noted=notes.append):
        frame.release()
    worker = MediaWorker()
    worker.start()
    process = worker.detach()
    assert process is not None
    process.kill()
    decode = pass_over(film, resume_from=notes[1], process=process)
    first = round((next(frame for frame in decode)).time, 3)
    assert first == round(notes[1].last_time + 0.1, 3)
    decode.close()


def test_a_decoder_that_is_killed_is_started_again_and_no_frame_is_lost(film: Path) -> None:
    decode, times = pass_over(film), []
    for frame in decode:
        times.append(round(frame.time, 3))
        frame.release()
        if len(times) in (5, 250):
            number = decoder_of(decode)
            assert number is not None
            os.kill(number, signal.SIGKILL)
    assert times == [n / 10 for n in range(600)]
    assert [loss.code for loss in decode.lost] == ["decoder_restarted", "decoder_restarted"]
    assert "SIGKILL" in decode.lost[0].message


def test_a_stretch_that_kills_every_decoder_is_left_out(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(10.0, 13.0))
    decode = pass_over(film)
    times = []
    for frame in decode:
        times.append(frame.time)
        frame.release()
    assert times == sorted(set(times))
    before, after = [time for time in times if time < 13.0], [time for time in times if time >= 13.0]
    assert max(before) == pytest.approx(9.9)
    assert min(after) < 18.0  # at most the key frame after a skip of four seconds
    assert decode.final is not None
    assert decode.final.last_time == pytest.approx(59.9)
    [lost] = decode.lost
    assert (lost.code, lost.start_time, lost.end_time) == ("not_decoded", 10.0, round(min(after), 3))
    assert f"10.0-{min(after):.1f} s were not decoded" in lost.message


def test_where_no_frame_is_skipped_there_is_no_hole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slides = encode(tmp_path / "slides.mp4", shades(120), rate=10, times=[2.5 * number for number in range(120)])
    decoded, deaths = VideoPass._decoded, iter(range(2))

    def dying(self: VideoPass, *, skip: float) -> Iterator[Frame]:
        for frame in decoded(self, skip=skip):
            if frame.time == 62.5 and next(deaths, None) is not None:
                frame.release()
                self.last_time = 60.0
                raise ProcessGone("it was ended by SIGKILL")
            yield frame

    monkeypatch.setattr(VideoPass, "_decoded", dying)
    decode = pass_over(slides)
    times = []
    for frame in decode:
        times.append(frame.time)
        frame.release()
    assert times == [2.5 * number for number in range(120)]
    assert decode.holes == []
    assert [lost.code for lost in decode.lost] == ["decoder_restarted"]


def test_a_rest_of_unknown_length_that_kills_every_decoder_is_one_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = encode(tmp_path / "film.mp4", shades(1000))
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(30.0, inf))
    decode = pass_over(film)
    decode.source = replace(decode.source, declared_duration=None)
    for frame in decode:
        frame.release()
    assert decode.final is not None
    assert decode.final.last_time == pytest.approx(29.9)
    [lost] = decode.lost
    assert (lost.code, lost.start_time, lost.end_time) == ("decoder_died", 29.9, None)
    assert "what comes after is not decoded" in lost.message
    assert "with the same options and --force tries again" in lost.message


@pytest.mark.parametrize("start", [7.0, 30.0, 59.0])  # after all skips, after some, after one
def test_a_rest_that_kills_every_decoder_is_a_hole_to_the_declared_end(
    film: Path, monkeypatch: pytest.MonkeyPatch, start: float
) -> None:
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(start, inf))
    decode = pass_over(film)
    for frame in decode:
        frame.release()
    assert decode.final is not None
    assert (decode.final.duration, decode.holes) == (60.0, [TimeSpan(start=start, end=60.0)])
    [lost] = decode.lost
    assert (lost.code, lost.start_time, lost.end_time) == ("not_decoded", start, 60.0)
    assert losses(decode.source, decode.final) == []


@pytest.mark.parametrize("start", [7.0, 30.0, 52.0, 59.5, 59.9])
def test_a_rest_ends_with_the_file_and_not_where_a_false_header_says(
    film: Path, monkeypatch: pytest.MonkeyPatch, start: float
) -> None:
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(start, inf))
    decode = pass_over(film)
    decode.source = replace(decode.source, declared_duration=30_000.0)
    for frame in decode:
        frame.release()
    assert decode.final is not None
    assert decode.final.duration == pytest.approx(60.0)
    assert decode.holes == [TimeSpan(start=start, end=60.0)]
    assert [lost.code for lost in decode.lost] == ["not_decoded"]
    [cut_off] = losses(decode.source, decode.final)
    assert (cut_off.code, cut_off.start_time, cut_off.end_time) == ("ends_early", 60.0, 30_000.0)


def test_a_decoder_that_dies_after_the_last_frame_costs_no_frame(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = VideoPass._decoded

    def dying(self: VideoPass, *, skip: float) -> Iterator[Frame]:
        yield from decoded(self, skip=skip)
        if not skip:
            self.final = None
            raise ProcessGone("it was ended by SIGKILL")

    monkeypatch.setattr(VideoPass, "_decoded", dying)
    decode = pass_over(film)
    for frame in decode:
        frame.release()
    assert decode.final is not None
    assert (decode.final.duration, decode.holes) == (60.0, [])
    [lost] = decode.lost
    assert (lost.code, lost.end_time) == ("decoder_died", None)
    assert "the file has no frame after that" in lost.message
    assert "--force" not in lost.message


def test_a_rest_of_a_file_that_is_cut_off_ends_where_it_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = encode(tmp_path / "whole.mkv", shades(600))
    path = tmp_path / "cut.mkv"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    here = DecodePass(source=probe(path))
    for _ in here:
        pass
    end = here.state.duration
    assert 15.0 < end < 45.0
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(10.0, inf))
    decode = pass_over(path)
    for frame in decode:
        frame.release()
    assert decode.final is not None
    assert decode.final.duration == pytest.approx(end, abs=0.5)  # the last packet may be incomplete
    [hole] = decode.holes
    assert (hole.start, hole.end) == (10.0, decode.final.duration)
    assert [lost.code for lost in losses(decode.source, decode.final)] == ["ends_early"]


@pytest.mark.parametrize(("limit", "end"), [(1000.0, 300.0), (200.0, 200.0), (40.0, 40.0)])
def test_a_rest_that_kills_every_decoder_ends_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: float, end: float
) -> None:
    slides = encode(tmp_path / "slides.mp4", shades(120), rate=10, times=[2.5 * number for number in range(120)])
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(10.0, inf))
    decode = pass_over(slides, limits=Limits(duration=limit))
    for frame in decode:
        frame.release()
    assert decode.final is not None
    assert decode.final.duration == pytest.approx(end, abs=2.5)
    [hole] = decode.holes
    assert hole.end == pytest.approx(end, abs=2.5)


def test_a_header_says_nothing_of_a_rest_behind_a_leap_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [number / 10 + (5000 if number >= 150 else 0) for number in range(600)]
    path = encode(tmp_path / "leap.mkv", shades(600), times=times)
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(29.95, inf))
    decode = pass_over(path)
    assert decode.source.declared_duration == pytest.approx(5060.0, abs=0.2)
    for frame in decode:
        frame.release()
    assert decode.final is not None
    assert decode.final.duration == pytest.approx(30.0, abs=0.2)
    assert decode.holes == []
    assert [lost.code for lost in decode.lost] == ["decoder_died"]


def test_a_stage_that_takes_its_time_is_no_silence(film: Path) -> None:
    decode, count = pass_over(film, limits=Limits(timeout=2.5)), 0
    for frame in decode:
        count += 1
        if count == 20:
            held = frame
            continue
        if count == 25:
            threading.Event().wait(4.0)
        frame.release()
    held.release()
    assert (count, decode.lost) == (600, [])


def test_looking_for_a_lost_place_is_no_silence(film: Path) -> None:
    notes: list[PassState] = []
    for frame in pass_over(film, noted=notes.append):
        frame.release()
    lost = PassState(**{**vars(notes[3]), "last_pts": 12345678})
    decode, times = pass_over(film, resume_from=lost), []
    for frame in decode:
        times.append(round(frame.time, 3))
        frame.release()
    assert times == [n / 10 for n in range(round(notes[3].last_time * 10) + 1, 600)]


def test_frames_that_grow_on_the_way_are_fitted_into_the_first_and_said_to_be(tmp_path: Path) -> None:
    parts = []
    for number, (width, height) in enumerate([(64, 48), (2048, 1152), (64, 48)]):
        part = tmp_path / f"{number}.ts"
        with av.open(str(part), "w") as container:
            stream = container.add_stream("libx264", rate=10, options={"preset": "ultrafast", "g": "5"})
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            for pts in range(20):
                frame = av.VideoFrame.from_ndarray(np.full((height, width, 3), 90, np.uint8), format="bgr24")
                frame.pts = 20 * number + pts
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        parts.append(part.read_bytes())
    path = tmp_path / "growing picture.ts"
    path.write_bytes(b"".join(parts))
    decode, shapes = pass_over(path), []
    for frame in decode:
        shapes.append(frame.shape)
        frame.release()
    assert set(shapes) == {(48, 64)} and len(shapes) == 60
    assert decode.lost == []
    assert decode.final is not None
    told = losses(decode.source, decode.final)
    assert [loss.code for loss in told] == ["picture_size_changes"]
    assert "frames of other sizes (20) were scaled" in told[0].message
    assert (told[0].start_time, told[0].end_time) == (pytest.approx(2.0, abs=0.2), pytest.approx(3.9, abs=0.2))


def test_an_interrupt_is_left_to_the_parent(film: Path) -> None:
    decode, count = pass_over(film), 0
    for frame in decode:
        frame.release()
        count += 1
        if count == 40 and (number := decoder_of(decode)) is not None:
            os.kill(number, signal.SIGINT)
    assert (count, decode.lost) == (600, [])


def probed(path: Path, limits: Limits = DEFAULT_LIMITS) -> Probe:
    with closing(MediaWorker(limits)) as worker:
        return worker.probe(path)


def test_too_many_pixels_are_refused(make_video: MakeVideo) -> None:
    path = make_video("large.mp4", shades(3))
    with pytest.raises(MediaFault) as caught:
        probed(path, Limits(pixels=64 * 48 - 1))
    assert caught.value.code == "too_many_pixels"
    assert probed(path, Limits(pixels=64 * 48)).width == 64


def test_too_many_streams_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.mkv"
    with av.open(str(path), "w") as container:
        streams = [container.add_stream("mpeg4", rate=10) for _ in range(5)]
        for stream in streams:
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for stream in streams:
            container.mux(stream.encode(av.VideoFrame(64, 48, "yuv420p")))
            container.mux(stream.encode())
    with pytest.raises(MediaFault) as caught:
        probed(path, Limits(streams=4))
    assert caught.value.code == "too_many_streams"
    assert probed(path, Limits(streams=5)).codec == "mpeg4"


def test_a_video_longer_than_the_limit_is_cut_and_said_to_be(film: Path) -> None:
    decode = pass_over(film, limits=Limits(duration=20.0))
    times = [(frame.time, frame.release())[0] for frame in decode]
    assert times[-1] == pytest.approx(19.9)
    assert [loss.code for loss in decode.lost] == ["longer_than_limit"]


def test_a_limit_holds_for_the_time_of_frames_behind_a_gap(make_video: MakeVideo) -> None:
    times = [*(number / 10 for number in range(30)), 3000.0, 3000.1]
    decode = pass_over(make_video("gap.mkv", shades(32), times=times), limits=Limits(duration=100.0))
    seen = [(frame.time, frame.release())[0] for frame in decode]
    assert seen == pytest.approx(times[:30])
    assert decode.final is not None
    assert decode.final.frames == 30
    assert decode.final.duration <= 100.0
    assert [loss.code for loss in decode.lost] == ["longer_than_limit"]


PLAYLISTS = (
    "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{address}\n#EXT-X-ENDLIST\n",
    "ffconcat version 1.0\nfile '{address}'\n",
    "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {port} RTP/AVP 96\na=rtpmap:96 H264/90000\n",
)


def test_a_playlist_opens_neither_an_address_nor_another_file(film: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, closing(MediaWorker()) as worker:
        server.settimeout(0.3)
        port = server.getsockname()[1]
        addresses = (f"http://127.0.0.1:{port}/film.mp4", film.name, f"file:{film}")
        for number, (playlist, suffix, address) in enumerate(product(PLAYLISTS, (".m3u8", ".mp4", ".sdp"), addresses)):
            path = tmp_path / f"list{number}{suffix}"
            path.write_text(playlist.format(address=address, port=port))
            with pytest.raises(MediaFault) as caught:
                worker.probe(path)
            assert caught.value.code == "not_a_video", (playlist, suffix, address)
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_file_named_like_an_address_is_a_file(make_video: MakeVideo, tmp_path: Path) -> None:
    (tmp_path / "http:").mkdir()
    path = make_video("http:/film.mp4", shades(3))
    assert probed(path).width == 64


@pytest.mark.parametrize(
    ("parts", "holes"),
    [
        ([(10.0, 13.3)], 1),
        ([(8.0, 12.0), (30.0, 34.0)], 2),
        ([(0.0, 7.5)], 1),
        ([(50.0, 60.0)], 1),
        ([(10.0, 10.5), (12.5, 13.0)], 0),
    ],
)
def test_a_part_of_which_no_packet_can_be_decoded_is_a_hole(
    film: Path, tmp_path: Path, parts: list[tuple[float, float]], holes: int
) -> None:
    decode = pass_over(with_damage(film, tmp_path / "damaged.mp4", *parts))
    times = read(decode)
    assert not [time for time in times if any(start <= time < end - 1e-6 for start, end in parts)]
    assert times == sorted(set(times))
    assert decode.final is not None
    assert decode.final.duration == pytest.approx(60.0)
    missing = []
    for start, end in parts[:holes]:
        before, after = [time for time in times if time < start], [time for time in times if time >= end]
        missing.append((round(max(before, default=-0.1) + 0.1, 3), round(min(after, default=60.0), 3)))
        assert missing[-1][1] < end + 2.5  # the next key frame
    assert [(hole.start, hole.end) for hole in decode.holes] == missing
    assert [lost.place for lost in decode.lost] == [("not_decoded", *hole) for hole in missing]
    assert all(f"{lost.start_time:.1f}-{lost.end_time:.1f} s were not decoded" in lost.message for lost in decode.lost)
    lost_of_pass = [lost.code for lost in losses(decode.source, decode.final)]
    assert set(lost_of_pass) - {"times_step_back"} == {"damaged_frames"}


def test_damage_at_the_end_does_not_hide_that_the_rest_is_missing(film: Path, tmp_path: Path) -> None:
    damaged = with_damage(film, tmp_path / "damaged.mp4", (40.0, 60.0))
    decode = pass_over(damaged, source=replace(probe(damaged), declared_duration=75.0))
    read(decode)
    assert decode.final is not None
    assert decode.final.duration == pytest.approx(60.0, abs=0.2)
    [early] = [lost for lost in losses(decode.source, decode.final) if lost.code == "ends_early"]
    assert (early.start_time, early.end_time) == (pytest.approx(60.0, abs=0.2), 75.0)


@pytest.mark.parametrize("damage", [(30.0, 40.0), (30.0, 60.0)])
def test_a_limit_within_damage_is_the_end_of_the_video(film: Path, tmp_path: Path, damage: tuple[float, float]) -> None:
    decode = pass_over(with_damage(film, tmp_path / "damaged.mp4", damage), limits=Limits(duration=35.0))
    times = read(decode)
    assert decode.final is not None
    assert (max(times) < 30.0, decode.final.duration) == (True, pytest.approx(35.0))
    assert [lost.code for lost in decode.lost] == ["not_decoded", "longer_than_limit"]
    assert (decode.holes[0].start, decode.holes[0].end) == (pytest.approx(30.0, abs=0.2), 35.0)


def test_a_death_in_damage_is_one_hole(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(45.0, 1000.0))
    decode = pass_over(with_damage(film, tmp_path / "damaged.mp4", (50.0, 60.0)))
    read(decode)
    [hole] = decode.lost
    assert (hole.code, hole.start_time, hole.end_time) == ("not_decoded", 45.0, pytest.approx(60.0, abs=0.2))
    assert "again and again" in hole.message and "tries again" in hole.message


def test_a_frame_that_is_held_is_no_hole(tmp_path: Path) -> None:
    times = [*(n / 10 for n in range(51)), *(20 + n / 10 for n in range(60))]
    held = encode(tmp_path / "held.mp4", shades(len(times)), rate=10, times=times)
    for parts in ((), ((4.5, 4.7), (20.1, 20.4))):
        decode = pass_over(with_damage(held, tmp_path / "short.mp4", *parts))
        assert len([frame.release() for frame in decode]) > 100
        assert decode.holes == []
    missing = pass_over(with_damage(held, tmp_path / "missing.mp4", (5.0, 5.1)))
    assert read(missing)
    assert [(hole.start, hole.end) for hole in missing.holes] == [(5.0, 20.0)]


def test_many_holes_are_one_with_the_last(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("world_api.media.decoder._MOST_HOLES", 2)
    parts = [(5.0, 7.5), (15.0, 17.5), (25.0, 27.5), (35.0, 37.5)]
    decode = pass_over(with_damage(film, tmp_path / "damaged.mp4", *parts))
    assert read(decode)
    assert [lost.place for lost in decode.lost] == [("not_decoded", 5.0, 7.5), ("not_decoded", 15.0, 37.5)]
    assert "many parts" in decode.lost[-1].message
    assert [(hole.start, hole.end) for hole in decode.holes] == [(5.0, 7.5), (15.0, 37.5)]


def test_packets_that_could_not_be_decoded_are_told_with_their_times(film: Path, tmp_path: Path) -> None:
    decode = pass_over(with_damage(film, tmp_path / "damaged.mp4", (10.0, 10.5), (12.5, 13.0)))
    assert read(decode) and decode.final is not None
    [lost] = losses(decode.source, decode.final)
    assert lost.place == ("damaged_frames", 10.0, 12.9)
    assert lost.message == "packets that could not be decoded: 10, damaged frames: 0, from 10.0 s to 12.9 s"

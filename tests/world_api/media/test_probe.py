"""What a file is, or why it is no video."""

from __future__ import annotations

import os
import socket
import wave
from collections.abc import Callable
from pathlib import Path

import pytest

from world_api.api import build_world
from world_api.core import Image, MediaFault
from world_api.media import probe

pytestmark = pytest.mark.media


def code_of(path: Path) -> str:
    with pytest.raises(MediaFault) as caught:
        probe(path)
    assert caught.value.hint
    return caught.value.code


def test_what_is_not_there_is_said_so(tmp_path: Path) -> None:
    assert code_of(tmp_path / "gone.mp4") == "no_such_file"


def test_a_folder_is_no_video(tmp_path: Path) -> None:
    assert code_of(tmp_path) == "is_a_folder"


def test_an_empty_path_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(MediaFault) as caught:
        build_world("", tmp_path)
    assert (caught.value.code, caught.value.message) == ("no_such_file", "the path of the video is empty")


def test_a_pipe_a_socket_and_a_device_are_refused_without_being_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.mp4"
    os.mkfifo(pipe)
    assert code_of(pipe) == "not_a_file"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket.mp4"))
        assert code_of(tmp_path / "socket.mp4") == "not_a_file"
    assert code_of(Path(os.devnull)) == "not_a_file"
    (tmp_path / "link.mp4").symlink_to(pipe)
    assert code_of(tmp_path / "link.mp4") == "not_a_file"


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "empty.mp4"
    path.touch()
    assert code_of(path) == "empty_file"


@pytest.mark.parametrize("name", ["notes.txt", "notes.mp4", "notes.srt"])
def test_text_is_no_video_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nhello\n\n" * 50)
    assert code_of(path) == "not_a_video"


def test_random_bytes_are_no_video(tmp_path: Path) -> None:
    path = tmp_path / "noise.mkv"
    path.write_bytes(bytes(range(256)) * 40)
    assert code_of(path) == "not_a_video"


def test_sound_alone_has_no_video_stream(tmp_path: Path) -> None:
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16000))
    assert code_of(path) == "no_video_stream"


def test_a_video_is_described(make_video: Callable[..., Path], empty_room: Image) -> None:
    found = probe(make_video("room.mp4", [empty_room] * 20))
    assert (found.width, found.height, found.rotation, found.codec) == (320, 180, 0, "h264")
    assert found.frame_rate == pytest.approx(10, abs=0.6)
    assert not found.has_audio


def test_a_start_that_is_not_zero_is_noticed(make_video: Callable[..., Path], empty_room: Image) -> None:
    assert probe(make_video("late.mkv", [empty_room] * 20, start=5.0)).start == pytest.approx(5.0, abs=0.01)


@pytest.mark.shared_data
def test_a_rotated_video_has_the_size_it_is_shown_at(shared_data: Path) -> None:
    found = probe(shared_data / "video" / "decoder_cases" / "nasa_13013_rotated.mp4")
    assert (found.width, found.height, found.rotation) == (270, 480, 90)

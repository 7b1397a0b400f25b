"""Appended lines: whole or not at all, whoever else writes, whatever the disk does."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from world_api.core import append_line


def test_lines_stand_in_the_order_of_appending(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "lines"
    for number in range(3):
        append_line(path, b"%d" % number, sync=True)
    assert path.read_bytes() == b"0\n1\n2\n"


@pytest.mark.parametrize("torn", [b"half of a li", b"x" * 200_000, b"\xff\x00"])
def test_what_a_dead_writer_left_without_its_end_is_taken_away(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"first\n" + torn)
    append_line(path, b"second")
    assert path.read_bytes() == b"first\nsecond\n"


def test_a_file_that_is_nothing_but_a_torn_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"half")
    append_line(path, b"first")
    assert path.read_bytes() == b"first\n"


@pytest.mark.parametrize("written", [0, 3, 8])
def test_a_full_disk_leaves_the_lines_that_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """The disk takes some bytes of the line and then no more."""
    path = tmp_path / "lines"
    append_line(path, b"first")
    real, left = os.write, [written]

    def write(handle: int, data: Any) -> int:
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = real(handle, bytes(data)[: left[0]])
        left[0] -= done
        return done

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left"):
        append_line(path, b"second line")
    monkeypatch.undo()
    assert path.read_bytes() == b"first\n"
    append_line(path, b"third")
    assert path.read_bytes() == b"first\nthird\n"


def test_a_line_that_is_taken_in_parts_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data)[:4]))
    append_line(tmp_path / "lines", b"longer than four")
    assert (tmp_path / "lines").read_bytes() == b"longer than four\n"

"""What a build loads starts no threads of its own, and whoever set a number of threads keeps it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.decoders import number_of
from world_api.build.media.apart.process import DecoderProcess
from world_api.build.media.limits import DEFAULT_LIMITS
from world_api.build.running.loading import process_environment, without_collecting

ROOT = Path(__file__).resolve().parents[3]
VARIABLE = "OPENBLAS_NUM_THREADS"

_THREADS = """
import os
from world_api.build.running.loading import load_with_one_blas_thread
load_with_one_blas_thread(os.environ)
import cv2, numpy
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="this system has no /proc")


def _loaded(**variables: str) -> list[str]:
    inherited = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment = inherited | {"PYTHONPATH": str(ROOT)} | variables
    ended = subprocess.run(
        [sys.executable, "-c", _THREADS], env=environment, capture_output=True, text=True, check=True
    )
    return ended.stdout.split()


@needs_proc
def test_numpy_and_opencv_start_no_threads_and_leave_no_setting_behind() -> None:
    assert _loaded() == ["1", "None"]


@needs_proc
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="with one processor there are no such threads")
def test_a_number_of_threads_that_a_person_has_set_holds() -> None:
    threads, variable = _loaded(**{VARIABLE: "2"})
    assert int(threads) > 1
    assert variable == "2"


def test_a_process_of_a_build_is_given_what_a_person_has_set() -> None:
    assert process_environment({"HOME": "here"}).items() >= {"HOME": "here", VARIABLE: "1"}.items()
    assert process_environment({VARIABLE: "3"})[VARIABLE] == "3"


@needs_proc
def test_the_decoding_process_starts_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    process = DecoderProcess(DEFAULT_LIMITS)
    try:
        assert f"{VARIABLE}=1".encode() in Path(f"/proc/{number_of(process)}/environ").read_bytes().split(b"\0")
    finally:
        process.end()


def test_garbage_is_collected_again_after_imports_that_fail() -> None:
    with pytest.raises(ModuleNotFoundError), without_collecting():
        assert not gc.isenabled()
        raise ModuleNotFoundError("there is no such module")

    assert gc.isenabled()


def test_where_garbage_was_not_collected_it_is_not_afterwards() -> None:
    gc.disable()
    try:
        with without_collecting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

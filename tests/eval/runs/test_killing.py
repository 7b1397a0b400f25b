"""Runs that are killed, as real processes: nothing that was finished is asked again, and the scores come out the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from eval.runs import SubprocessWorker, read_run, score_run
from tests.eval.runs.test_running import names
from tests.support.runs import Silent, prepare, run_here
from world_api.core import EvalFault

ROOT = Path(__file__).resolve().parents[3]
_PATIENCE = 120.0
_SMALL = "schema_version: 1\ndatasets: [films]\narms: [flat, blind]\nseeds: [1, 2]\n"


#: Whoever runs the tests may have been started without Ctrl-C, and what it starts would have none either.
_HEARS_CTRL_C = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from videoworld import main; main()"
)


def start(config: Path) -> subprocess.Popen[bytes]:
    """Run a configuration in a process with two more that ask; all in a group of their own."""
    return subprocess.Popen(
        [sys.executable, "-c", _HEARS_CTRL_C, "eval", "run", str(config), "--set", "parallel=2"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_until(there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for something that a process does."""
    tick = threading.Event()
    for _ in range(int(_PATIENCE / 0.02)):
        if there() or process.poll() is not None:
            break
        tick.wait(0.02)
    assert there()


def finishes_whole(run: Path, reference: Path) -> None:
    """Go on with a run: each sample once, each episode of one sample, and the scores of a run that nobody killed."""
    kept = set(names(run))
    outcome = run_here(run.parents[1] / "config.yaml", overrides=["parallel=1"])
    assert outcome.complete
    found = read_run(run)
    used = [(sample.cell, str(sample.episode)) for sample in found.samples]
    assert len(used) == len(set(used)) == found.planned
    assert kept <= set(used)
    assert set(names(run)) == set(used)  # no episode was asked beside one that was there
    score_run(found.folder)
    assert (run / "scores.jsonl").read_bytes() == (reference / "scores.jsonl").read_bytes()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, which nobody killed."""
    folder = tmp_path_factory.mktemp("reference")
    outcome = run_here(prepare(folder, configuration=_SMALL), overrides=["parallel=1"])
    score_run(outcome.folder)
    return outcome.folder.root


def test_a_run_that_is_killed_at_several_moments_goes_on_and_repeats_nothing(tmp_path: Path, reference: Path) -> None:
    config = prepare(tmp_path, configuration=_SMALL)
    run = tmp_path / "runs" / "config"
    lines = run / "samples.jsonl"
    moments: list[tuple[Callable[[], bool], bool]] = [
        (lambda: any((run / "episodes").glob("*/recordings/*.jsonl")), True),
        (lambda: lines.exists() and lines.read_bytes().count(b"\n") >= 8, False),
    ]
    for there, whole_group in moments:
        process = start(config)
        wait_until(there, process)
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
    finishes_whole(run, reference)


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that a run asks with."""
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.nightly
def test_a_second_ctrl_c_leaves_what_is_under_way(tmp_path: Path) -> None:
    config = prepare(tmp_path, configuration=_SMALL)
    process = start(config)
    wait_until((tmp_path / "runs" / "config" / "samples.jsonl").exists, process)
    asking = children(process)
    assert len(asking) == 2
    for pid in asking:
        os.kill(pid, signal.SIGSTOP)  # a question that will not end
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    told = b""
    while b"what is under way is waited for" not in told and (more := process.stderr.readline()):
        told += more
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in told + rest
    assert not any(Path(f"/proc/{pid}").exists() for pid in asking)


def test_ctrl_c_keeps_what_is_there_and_ends_with_its_status(tmp_path: Path, reference: Path) -> None:
    config = prepare(tmp_path, configuration=_SMALL)
    run = tmp_path / "runs" / "config"
    process = start(config)
    wait_until((run / "samples.jsonl").exists, process)
    with pytest.raises(EvalFault) as caught:  # another process does not join in
        run_here(config, overrides=["parallel=2"], silent=Silent())
    assert caught.value.code == "run_busy"
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 130
    assert b"what is under way is waited for" in told
    assert b"Traceback" not in told
    assert read_run(run).samples
    assert (run / "scores.jsonl").exists()
    finishes_whole(run, reference)


def test_ctrl_c_is_not_for_a_process_that_still_gets_ready_to_ask(
    reference: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = read_run(reference)
    with (reference / ".lock").open() as lock:
        worker = SubprocessWorker(run.folder, lock=lock.fileno(), environment=os.environ)
        worker.start()
        (child,) = (Path("/proc/self/task") / str(threading.get_native_id()) / "children").read_text().split()[-1:]
        os.kill(int(child), signal.SIGINT)
        sample = run.samples[0]
        asked = worker.run(run.cells[sample.cell], run.item(sample))
        assert Path(f"/proc/{child}").exists()  # and no other was started in its place
        worker.close()
    assert asked.episode is not None
    assert "Traceback" not in capfd.readouterr().err

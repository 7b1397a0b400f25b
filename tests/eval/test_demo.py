"""``make demo`` and ``make ablation``: which commands they run, and how they end."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from controller.systems import own_system, system_names
from eval.commands import COMMANDS as EVAL_COMMANDS
from eval.runs import read_configuration
from videoworld import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = "ablation.yaml"
#: A Python in which every command prints a hundred lines, and the one that $FAILING names fails.
PYTHON = """#!/bin/sh
[ "$1" = -m ] || exec {python} "$@"
case " $* " in *" ${{FAILING:-none}} "*) exit 3 ;; esac
seq 100
"""


def run_demo(folder: Path, which: str, **environment: str) -> subprocess.CompletedProcess[str]:
    python = folder / "python"
    python.write_text(PYTHON.format(python=shlex.quote(sys.executable)))
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return subprocess.run(
        ["sh", str(ROOT / "eval" / "demo.sh"), which],
        cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHON": str(python), "PYTHONPATH": str(ROOT)} | environment,
    )  # fmt: skip


def commands_of(output: str) -> list[list[str]]:
    """The arguments of each command that was printed."""
    return [shlex.split(line)[2:] for line in output.splitlines() if line.startswith("$ videoworld")]


@pytest.mark.parametrize("video", ["", "clip.mp4"], ids=["sample", "own"])
def test_the_demo_goes_from_the_file_to_an_answer_with_commands_that_exist(video: str, tmp_path: Path) -> None:
    done = run_demo(tmp_path, "demo", VIDEO=video)
    names = [arguments[0] for arguments in commands_of(done.stdout)]
    assert done.returncode == 0, done.stderr
    assert names[0] == ("build" if video else "sample")
    assert names[-3:] == ["ask", "show", "replay"]
    assert {"build", "inspect", "ops", "call", "tools"} <= set(names) <= set(COMMANDS)


def test_a_file_name_with_spaces_and_quotes_becomes_one_argument_and_a_legal_id(tmp_path: Path) -> None:
    build, inspect, *_ = commands_of(run_demo(tmp_path, "demo", VIDEO="Ann's holiday.mov").stdout)
    assert build == ["build", "Ann's holiday.mov", "--store", "demo/worlds"]
    assert inspect[1] == "ann-s-holiday"


def test_each_command_is_printed_before_its_output_and_long_output_is_cut(tmp_path: Path) -> None:
    lines = run_demo(tmp_path, "demo", VIDEO="clip.mp4").stdout.splitlines()
    assert lines[1:4] == ["== 1. Build the video's world", "$ videoworld build clip.mp4 --store demo/worlds", "1"]
    assert lines[42:44] == ["40", "... and 60 lines more"]


def test_the_demo_stops_at_the_first_failure_with_its_status(tmp_path: Path) -> None:
    done = run_demo(tmp_path, "demo", VIDEO="gone.mp4", FAILING="inspect")
    assert done.returncode == 3
    assert [arguments[0] for arguments in commands_of(done.stdout)] == ["build", "inspect"]


def test_a_demo_of_another_name_is_refused(tmp_path: Path) -> None:
    done = run_demo(tmp_path, "ablate")
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage" in done.stderr


def test_the_example_library_is_there(tmp_path: Path) -> None:
    (checked,) = {
        arguments[2] for arguments in commands_of(run_demo(tmp_path, "demo").stdout) if arguments[0] == "tools"
    }
    assert (ROOT / checked).is_file()


def test_the_ablation_goes_from_films_to_the_report_with_commands_that_exist(tmp_path: Path) -> None:
    done = run_demo(tmp_path, "ablation")
    commands = commands_of(done.stdout)
    assert done.returncode == 0, done.stderr
    assert commands[0][:2] == ["sandbox", "make"]
    assert commands[-1][:2] == ["eval", "report"]
    assert {name for group, name, *_ in commands if group == "eval"} <= set(EVAL_COMMANDS)
    assert (tmp_path / "ablation" / CONFIGURATION).read_bytes() == (ROOT / "eval" / CONFIGURATION).read_bytes()


def test_every_system_that_needs_no_images_is_an_arm_and_every_domain_has_a_library() -> None:
    found = read_configuration(ROOT / "eval" / CONFIGURATION).document
    own = {name for name in system_names() if own_system(name) is not None}
    assert {arm.system for arm in found.arms} == own - {"direct", "flat+review"}  # no library here was reviewed
    assert {part.path for part in found.libraries} >= {"hand_A", "hand_B", "hand_C"}
    assert {part.arm for part in found.libraries} >= {"placebo", "random"}
    assert (found.worlds, len(found.seeds), found.model) == (["oracle", "classical"], 2, "rule-based")


def test_a_configuration_that_exists_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "ablation").mkdir()
    (tmp_path / "ablation" / CONFIGURATION).write_text("mine")
    assert run_demo(tmp_path, "ablation").returncode == 0
    assert (tmp_path / "ablation" / CONFIGURATION).read_text() == "mine"

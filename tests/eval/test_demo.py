"""The demonstration: which commands it runs, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from eval.demo import TOOLS, DemoSubject, run_steps, sample_subject, steps
from videoworld import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = [sample_subject(Path("demo")), DemoSubject(video=Path("my holiday.mov"))]


@pytest.mark.parametrize("subject", SUBJECTS, ids=["sample", "own"])
def test_it_goes_from_the_file_to_an_answer_with_commands_that_exist(subject: object) -> None:
    names = [step.arguments[0] for step in steps(subject, Path("demo"))]  # type: ignore[arg-type]  # both are subjects
    assert names[0] == "build"
    assert names[-3:] == ["ask", "show", "replay"]
    assert {"inspect", "ops", "call", "tools"} <= set(names) <= set(COMMANDS)


def test_a_file_name_with_spaces_becomes_one_argument_and_a_legal_id() -> None:
    build, inspect, *_ = steps(DemoSubject(video=Path("my holiday.mov")), Path("demo"))
    assert build.arguments[1] == "my holiday.mov"
    assert inspect.arguments[1] == "my-holiday"


def test_each_command_is_printed_before_its_output_and_long_output_is_cut() -> None:
    said: list[str] = []

    def run(arguments: Sequence[str]) -> CompletedProcess[str]:
        return CompletedProcess(arguments, 0, stdout="\n".join(f"line {n}" for n in range(100)))

    assert run_steps(steps(DemoSubject(video=Path("a b.mp4")), Path("demo")), Path("demo"), run, said.append) == 0
    assert said[0].endswith("$ videoworld build 'a b.mp4' --store demo/worlds")
    assert said[1].endswith("line 39")
    assert said[2] == "... and 60 lines more"


def test_it_stops_at_the_first_failure() -> None:
    said: list[str] = []

    def run(arguments: Sequence[str]) -> CompletedProcess[str]:
        return CompletedProcess(arguments, 1, stdout="")

    assert run_steps(steps(DemoSubject(video=Path("gone.mp4")), Path("demo")), Path("demo"), run, said.append) == 1
    assert sum("$ videoworld" in text for text in said) == 1


def test_the_example_library_is_there() -> None:
    assert (ROOT / TOOLS).is_file()

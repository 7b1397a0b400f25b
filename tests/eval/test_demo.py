"""``make demo`` and ``make ablation``: which commands they run, what the last screen says, and how they end."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from controller.systems import own_system, system_names
from eval.commands import COMMANDS as EVAL_COMMANDS
from eval.demo import ablation, demo, main, run_command
from eval.runs import read_configuration
from videoworld.command import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = "ablation.yaml"


class Commands:
    """Stands in for ``videoworld``: keeps the arguments of each command and prints what it would."""

    def __init__(self, *, spans: Sequence[tuple[float, float]] = ((4.0, 9.0),), failing: str = "") -> None:
        self.given: list[list[str]] = []
        self._failing = failing
        self._answers: dict[str, Any] = {
            "inspect": {
                "video_id": "clip", "video": {"duration": 61.0}, "scenes": [1, 2], "tracks": [1], "screen_texts": [], "speech": [1],
            },
            "ask": {
                "question": "When?", "answer": "At 4 s.", "reason": None, "model": "rule-based", "library": "hand_A",
                "spans": [{"start_time": start, "end_time": end} for start, end in spans], "watermark": "plumbing",
                "uncertain": [{"tool": "find", "not_judged": ["coat"]}], "tool_calls": [{}], "recorded_as": "episode-1",
            },
            "frames": {"frames": [{"picture": "demo/frames/a.jpg"}, {"picture": "demo/frames/b.jpg"}]},
        }  # fmt: skip

    def __call__(self, arguments: Sequence[str]) -> str:
        self.given.append(list(arguments))
        if arguments[0] == self._failing:
            raise SystemExit(3)
        if "--json" in arguments:
            return json.dumps(self._answers[arguments[0]])
        return "".join(f"{number}\n" for number in range(1, 101))

    @property
    def names(self) -> list[str]:
        return [arguments[0] for arguments in self.given]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("video", ["", "clip.mp4"], ids=["sample", "own"])
def test_the_demo_goes_from_the_file_to_an_answer_with_commands_that_exist(video: str) -> None:
    commands = Commands()
    demo(commands, video)
    assert commands.names[0] == ("build" if video else "sample")
    assert commands.names[-3:] == ["ask", "frames", "replay"]
    assert set(commands.names) <= set(COMMANDS)


def test_the_last_screen_says_what_was_built_asked_and_found_and_where_to_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    demo(Commands(), "clip.mp4")
    _, _, screen = capsys.readouterr().out.partition("=" * 100)
    for part in (
        "2 scenes",
        "When?",
        "At 4 s.",
        "0:04.0 to 0:09.0",
        "demo/frames/a.jpg",
        "demo/world.html",
        "demo/answer.html",
        "plumbing",
    ):
        assert part in screen
    assert "show demo/episodes episode-1" in screen
    assert "could not determine everything" in screen
    assert "{" not in screen
    assert max(len(line) for line in screen.splitlines() if "bin/videoworld" not in line) <= 100
    assert len(screen.splitlines()) <= 20


def test_frames_are_of_the_evidence_and_without_any_none_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    commands = Commands()
    demo(commands, "clip.mp4")
    (frames,) = [arguments for arguments in commands.given if arguments[0] == "frames"]
    moments = [float(value) for flag, value in pairwise(frames) if flag == "--at"]
    assert moments == [4.0, 6.5]
    commands = Commands(spans=())
    demo(commands, "clip.mp4")
    assert "frames" not in commands.names
    assert "none was cited" in capsys.readouterr().out


def test_a_file_name_with_spaces_and_quotes_becomes_one_argument_and_a_legal_id(
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands = Commands()
    demo(commands, "Ann's holiday.mov")
    build, inspect, *_ = commands.given
    assert build == ["build", "Ann's holiday.mov", "--store", "demo/worlds"]
    assert inspect[1] == "ann-s-holiday"
    printed = [shlex.split(line)[2:] for line in capsys.readouterr().out.splitlines() if line.startswith("$ ")]
    assert printed == commands.given


def test_each_command_is_printed_before_its_output_and_long_output_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    demo(Commands(), "clip.mp4")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "== 1. Build the video's world"
    assert lines[2].endswith("videoworld build clip.mp4 --store demo/worlds")
    assert lines[3] == "1"
    assert lines[42:44] == ["40", "... and 60 lines more"]


def test_the_demo_stops_at_the_first_failure_with_its_status() -> None:
    commands = Commands(failing="inspect")
    with pytest.raises(SystemExit) as ended:
        demo(commands, "gone.mp4")
    assert ended.value.code == 3
    assert commands.names == ["build", "inspect"]


def test_a_command_that_fails_ends_the_demo_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with pytest.raises(SystemExit) as ended:
        run_command(["inspect", "nobody", "--store", "worlds"])
    assert ended.value.code == 1
    assert run_command(["--version"]).startswith("video-world-api")


def test_a_demo_of_another_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["ablate"])
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_the_ablation_goes_from_films_to_the_report_with_commands_that_exist() -> None:
    commands = Commands()
    ablation(commands)
    assert commands.given[0][:2] == ["sandbox", "make"]
    assert commands.given[-1][:2] == ["eval", "report"]
    assert {name for group, name, *_ in commands.given if group == "eval"} <= set(EVAL_COMMANDS)
    assert (Path("ablation") / CONFIGURATION).read_bytes() == (ROOT / "eval" / CONFIGURATION).read_bytes()


def test_every_system_that_needs_no_images_is_an_arm_and_every_domain_has_a_library() -> None:
    found = read_configuration(ROOT / "eval" / CONFIGURATION).document
    own = {name for name in system_names() if own_system(name) is not None}
    assert {arm.system for arm in found.arms} == own - {"direct", "flat+review"}  # no library here was reviewed
    assert {part.path for part in found.libraries} >= {"hand_A", "hand_B", "hand_C"}
    assert {part.arm for part in found.libraries} >= {"placebo", "random"}
    assert (found.worlds, len(found.seeds), found.model) == (["oracle", "classical"], 2, "rule-based")


def test_a_configuration_that_exists_is_taken_as_it_is() -> None:
    Path("ablation").mkdir()
    (Path("ablation") / CONFIGURATION).write_text("mine")
    ablation(Commands())
    assert (Path("ablation") / CONFIGURATION).read_text() == "mine"

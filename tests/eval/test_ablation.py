"""The experiment of ``make ablation``: its commands, its configuration, and how it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from subprocess import CompletedProcess

from controller.systems import own_system, system_names
from eval.commands import COMMANDS
from eval.demo import CONFIGURATION, ablation_steps, run_ablation
from eval.runs import read_configuration


def test_it_goes_from_films_to_the_report_with_commands_that_exist() -> None:
    commands = [step.arguments[:2] for step in ablation_steps(Path("ablation"))]
    assert commands[0] == ("sandbox", "make")
    assert commands[-1] == ("eval", "report")
    assert {name for group, name in commands if group == "eval"} <= set(COMMANDS)


def test_every_system_that_needs_no_images_is_an_arm_and_every_domain_has_a_library() -> None:
    found = read_configuration(Path(str(files("eval") / CONFIGURATION))).document
    own = {name for name in system_names() if own_system(name) is not None}
    assert {arm.system for arm in found.arms} == own - {"direct"}
    assert {part.path for part in found.libraries} >= {"hand_A", "hand_B", "hand_C"}
    assert {part.arm for part in found.libraries} >= {"placebo", "random"}
    assert (found.worlds, len(found.seeds), found.model) == (["oracle", "classical"], 2, "rule-based")


def test_a_configuration_that_is_there_is_taken_as_it_is_and_a_failure_stops_it(tmp_path: Path) -> None:
    (tmp_path / CONFIGURATION).write_text("mine")
    ran: list[Sequence[str]] = []

    def run(arguments: Sequence[str]) -> CompletedProcess[str]:
        ran.append(arguments)
        return CompletedProcess(arguments, int(len(ran) == 3), stdout="")

    assert run_ablation(tmp_path, run, lambda _: None) == 1
    assert len(ran) == 3
    assert (tmp_path / CONFIGURATION).read_text() == "mine"

"""``make ablation``: a whole experiment, from films to report, one command after the other.

Each command is printed before it runs, so that it can be tried by hand. Everything is kept in ``ablation/``: run again after a
break, it makes no film twice, builds no world twice and asks no question twice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from eval.demo import Runner, Step, run_steps, videoworld

FOLDER = Path("ablation")
CONFIGURATION = "ablation.yaml"
SEED, FILMS, MINUTES = 1, 3, 3


def steps(folder: Path) -> list[Step]:
    """The commands, in order."""
    films, configuration, run = str(folder / "films"), str(folder / CONFIGURATION), str(folder / "run")
    make = ("sandbox", "make", "--seed", str(SEED), "--count", str(FILMS), "--minutes", str(MINUTES))
    return [
        Step(why="Make three films with truth and questions", arguments=(*make, "--split", "test", "--out", films)),
        Step(why="What there is to be asked", arguments=("eval", "check", films)),
        Step(
            why="What the experiment would ask, take and show; nothing is asked",
            arguments=("eval", "run", configuration, "--dry-run"),
        ),
        Step(why="Build the worlds, ask the questions", arguments=("eval", "run", configuration)),
        Step(why="Score the episodes again: the same scores", arguments=("eval", "score", run)),
        Step(why="Hierarchical against flat", arguments=("eval", "compare", run, "hier@library=hand_A", "flat")),
        Step(
            why="Sanity: flat against itself must cover zero", arguments=("eval", "compare", run, "flat-again", "flat")
        ),
        Step(
            why="Sanity: tools that find nothing must not help",
            arguments=("eval", "compare", run, "hier@library=placebo_hand_A", "flat"),
        ),
        Step(why="Libraries against domains", arguments=("eval", "transfer", run)),
        Step(why="The report", arguments=("eval", "report", run)),
    ]


def run_ablation(folder: Path, run: Runner, say: Callable[[str], None]) -> int:
    """Run the commands until one fails; its exit status, or 0. A configuration that is there is taken as it is."""
    configuration = folder / CONFIGURATION
    if not configuration.exists():
        folder.mkdir(parents=True, exist_ok=True)
        configuration.write_bytes((files("eval") / CONFIGURATION).read_bytes())
    status = run_steps(steps(folder), folder, run, say)
    if not status:
        say(f"Open {folder / 'run' / 'report' / 'report.html'} in a browser.")
        say("What the rule-based model answers is plumbing, not a result.")
    return status


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(run_ablation(FOLDER, videoworld, _say))

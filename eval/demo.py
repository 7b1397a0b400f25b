"""``make demo``: the whole way of a video, from the file to an answer, one command after the other.

Each command is printed before it runs, so that it can be tried by hand. Everything is kept in ``demo/``; a second run
finds the world already built.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from world_api.core.identifiers import video_id_from_file_name

FOLDER = Path("demo")
TOOLS = Path("toollibs/examples/people.json")
MAX_LINES = 40  #: of a command's output; the rest is counted, not shown

Runner = Callable[[Sequence[str]], "Ran"]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command left: its exit status, and what it wrote to standard output."""

    status: int
    output: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One ``videoworld`` command and why it is run."""

    why: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The video that is shown, and what is looked for in it."""

    video: Path
    person: str
    question: str


def sample_subject(folder: Path) -> Subject:
    """The film that the project draws itself."""
    from eval.sandbox import DEFAULT_SEED, cast

    coat = cast(DEFAULT_SEED).owner.look.coat
    return Subject(
        video=folder / "sample.mp4",
        person=f"a person in a {coat} coat",
        question=f"When does the person in the {coat} coat first appear?",
    )


def own_subject(video: Path) -> Subject:
    """Somebody's own video, of which nothing is known."""
    return Subject(video=video, person="a person", question="When does a person first appear?")


def steps(subject: Subject, folder: Path) -> list[Step]:
    """The commands, in order."""
    store = ("--store", str(folder / "worlds"))
    video_id = video_id_from_file_name(subject.video.stem)
    on_video = ("--video", video_id, *store)
    return [
        Step(why="Build the video's world", arguments=("build", str(subject.video), *store)),
        Step(why="What the world holds", arguments=("inspect", video_id, *store)),
        Step(why="The sixteen operations", arguments=("ops",)),
        Step(why="An operation: the scenes", arguments=("call", "list_scenes", *on_video)),
        Step(
            why="An operation: search by words",
            arguments=("call", "search_segments_by_text", *on_video, f"query={subject.person}", "top_k=3"),
        ),
        Step(why="An operation: who and what was identified", arguments=("call", "list_entities", *on_video)),
        Step(why="Check a high-level tool", arguments=("tools", "check", str(TOOLS))),
        Step(
            why="Run it",
            arguments=(
                *("tools", "run", str(TOOLS), "locate_first_appearance", *on_video),
                f"person_query={subject.person}",
            ),
        ),
        Step(
            why="Ask a question, with a tool library, and record the episode",
            arguments=(
                "ask",
                video_id,
                subject.question,
                "--tools",
                "hand_A",
                "--record",
                str(folder / "episodes"),
                *store,
            ),
        ),
        Step(why="What it did, round by round", arguments=("show", str(folder / "episodes"))),
        Step(why="Run the episode again, offline: the same bytes", arguments=("replay", str(folder / "episodes"))),
    ]


def run_demo(subject: Subject, folder: Path, run: Runner, say: Callable[[str], None]) -> int:
    """Run the commands until one fails; its exit status, or 0."""
    return run_steps(steps(subject, folder), folder, run, say)


def run_steps(steps: Sequence[Step], folder: Path, run: Runner, say: Callable[[str], None]) -> int:
    """Run commands whose work is kept in a folder until one fails; its exit status, or 0."""
    for number, step in enumerate(steps, start=1):
        status = _shown(step, f"{number}. {step.why}", run, say)
        if status:
            return status
    say(f"\nAll of it is in {folder}/. Remove that folder to begin again.")
    return 0


def _shown(step: Step, title: str, run: Runner, say: Callable[[str], None]) -> int:
    say(f"\n== {title}\n$ videoworld {shlex.join(step.arguments)}")
    ran = run(step.arguments)
    lines = ran.output.rstrip("\n").split("\n")
    if ran.output:
        say("\n".join(lines[:MAX_LINES]))
    if len(lines) > MAX_LINES:
        say(f"... and {len(lines) - MAX_LINES} lines more")
    return ran.status


def videoworld(arguments: Sequence[str]) -> Ran:
    """Run the command line in a process of its own; progress and errors go straight to the terminal."""
    ended = subprocess.run(
        [sys.executable, "-m", "videoworld", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    return Ran(status=ended.returncode, output=ended.stdout)


def main(environment: Mapping[str, str]) -> int:
    """Show ``VIDEO``, or the sample film where none is named."""
    named = environment.get("VIDEO", "").strip()
    if named:
        return run_demo(own_subject(Path(named).expanduser()), FOLDER, videoworld, _say)
    subject = sample_subject(FOLDER)
    if not (FOLDER / "sample.truth.json").exists():  # written last: where it is, the film is whole
        draw = Step(why="Draw a sample video (VIDEO=path takes yours)", arguments=("sample", str(FOLDER)))
        status = _shown(draw, f"0. {draw.why}", videoworld, _say)
        if status:
            return status
    return run_demo(subject, FOLDER, videoworld, _say)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


ABLATION = Path("ablation")
CONFIGURATION = "ablation.yaml"
SEED, FILMS, MINUTES = 1, 3, 3


def ablation_steps(folder: Path) -> list[Step]:
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
    status = run_steps(ablation_steps(folder), folder, run, say)
    if not status:
        say(f"Open {folder / 'run' / 'report' / 'report.html'} in a browser.")
        say("What the rule-based model answers is plumbing, not a result.")
    return status


if __name__ == "__main__":
    sys.exit(run_ablation(ABLATION, videoworld, _say) if sys.argv[1:] == ["ablation"] else main(os.environ))

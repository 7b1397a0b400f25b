"""``make demo`` and ``make ablation``: a video from its file to an answer, an experiment from its films to the report.

Each command is printed before it runs, so that it can be tried one by one. Everything is kept in ``demo/`` or ``ablation/``:
after a break no film is made twice, no world is built twice, and no question is asked twice.
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
from subprocess import CompletedProcess

from world_api.core.identifiers import video_id_from_file_name

FOLDER = Path("demo")
TOOLS = Path("toollibs/examples/people.json")
MAX_LINES = 40  #: of a command's output; the rest is counted, not shown

Runner = Callable[[Sequence[str]], CompletedProcess[str]]  #: runs one command, given its arguments


@dataclass(frozen=True, kw_only=True)
class Step:
    """One ``videoworld`` command and why it is run."""

    why: str
    arguments: tuple[str, ...]


def step(why: str, *arguments: str) -> Step:
    """A step with the arguments of its command."""
    return Step(why=why, arguments=arguments)


@dataclass(frozen=True, kw_only=True)
class DemoSubject:
    """The video that is shown, and what is looked for in it."""

    video: Path
    person: str = "a person"
    question: str = "When does a person first appear?"


def sample_subject(folder: Path) -> DemoSubject:
    """The film that the project draws itself."""
    from eval.sandbox import DEFAULT_SEED, cast

    coat = cast(DEFAULT_SEED).owner.look.coat
    question = f"When does the person in the {coat} coat first appear?"
    return DemoSubject(video=folder / "sample.mp4", person=f"a person in a {coat} coat", question=question)


def steps(subject: DemoSubject, folder: Path) -> list[Step]:
    """The commands, in order."""
    store = ("--store", str(folder / "worlds"))
    episodes = str(folder / "episodes")
    video_id = video_id_from_file_name(subject.video.stem)
    on_video = ("--video", video_id, *store)
    search = ("call", "search_segments_by_text", *on_video, f"query={subject.person}", "top_k=3")
    ask = ("ask", video_id, subject.question, "--tools", "hand_A", "--record", episodes, *store)
    run_tool = ("tools", "run", str(TOOLS), "locate_first_appearance", *on_video, f"person_query={subject.person}")
    return [
        step("Build the video's world", "build", str(subject.video), *store),
        step("What the world holds", "inspect", video_id, *store),
        step("The sixteen operations", "ops"),
        step("An operation: the scenes", "call", "list_scenes", *on_video),
        step("An operation: search by words", *search),
        step("An operation: who and what was identified", "call", "list_entities", *on_video),
        step("Check a high-level tool", "tools", "check", str(TOOLS)),
        step("Run it", *run_tool),
        step("Ask a question, with a tool library, and record the episode", *ask),
        step("What it did, round by round", "show", episodes),
        step("Run the episode again, offline: the same bytes", "replay", episodes),
    ]


def run_steps(steps: Sequence[Step], folder: Path, run: Runner, say: Callable[[str], None]) -> int:
    """Run steps until one fails; return its exit status, or 0 after naming ``folder``."""
    for number, step in enumerate(steps, start=1):
        status = _shown(step, f"{number}. {step.why}", run, say)
        if status:
            return status
    say(f"\nAll of it is in {folder}/. Remove that folder to begin again.")
    return 0


def _shown(step: Step, title: str, run: Runner, say: Callable[[str], None]) -> int:
    say(f"\n== {title}\n$ videoworld {shlex.join(step.arguments)}")
    ran = run(step.arguments)
    lines = ran.stdout.rstrip("\n").split("\n")
    if ran.stdout:
        say("\n".join(lines[:MAX_LINES]))
    if len(lines) > MAX_LINES:
        say(f"... and {len(lines) - MAX_LINES} lines more")
    return ran.returncode


def videoworld(arguments: Sequence[str]) -> CompletedProcess[str]:
    """Run the command line in a process of its own; progress and errors go straight to the terminal."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "videoworld", *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, env=environment,
        encoding="utf-8", errors="replace",
    )  # fmt: skip


def main(environment: Mapping[str, str]) -> int:
    """Show ``VIDEO``, or the sample film where none is named."""
    named = environment.get("VIDEO", "").strip()
    if named:
        return run_steps(steps(DemoSubject(video=Path(named).expanduser()), FOLDER), FOLDER, videoworld, _say)
    if not (FOLDER / "sample.truth.json").exists():  # written last: where it is, the film is whole
        draw = step("Draw a sample video (VIDEO=path takes yours)", "sample", str(FOLDER))
        status = _shown(draw, f"0. {draw.why}", videoworld, _say)
        if status:
            return status
    return run_steps(steps(sample_subject(FOLDER), FOLDER), FOLDER, videoworld, _say)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


ABLATION = Path("ablation")
CONFIGURATION = "ablation.yaml"


def ablation_steps(folder: Path) -> list[Step]:
    """The commands, in order."""
    films, configuration, run = (str(folder / name) for name in ("films", CONFIGURATION, "run"))
    compare = ("eval", "compare", run)
    return [
        step(
            "Make three films with truth and questions",
            *shlex.split("sandbox make --seed 1 --count 3 --minutes 3 --split test --out"),
            films,
        ),
        step("What there is to be asked", "eval", "check", films),
        step("What it would ask and take; nothing is asked", "eval", "run", configuration, "--dry-run"),
        step("Build the worlds, ask the questions", "eval", "run", configuration),
        step("Score the episodes again: the same scores", "eval", "score", run),
        step("Hierarchical against flat", *compare, "hier@library=hand_A", "flat"),
        step("Sanity: flat against itself must cover zero", *compare, "flat-again", "flat"),
        step("Sanity: tools that find nothing must not help", *compare, "hier@library=placebo_hand_A", "flat"),
        step("Libraries against domains", "eval", "transfer", run),
        step("The report", "eval", "report", run),
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

"""``make demo`` and ``make ablation``: a video from its file to an answer, an experiment from its films to the report.

Each command is printed before it runs, so that it can be tried by itself. Everything is kept in ``demo/`` or
``ablation/``: after an interruption no film is made, no world built and no question asked a second time.
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


class Step:
    """One ``videoworld`` command and why it is run."""

    def __init__(self, why: str, *arguments: str) -> None:
        self.why, self.arguments = why, arguments


@dataclass(frozen=True, kw_only=True)
class DemoSubject:
    """The video of the demo, and what is searched for in it."""

    video: Path
    person: str = "a person"
    question: str = "When does a person first appear?"


def sample_subject(folder: Path) -> DemoSubject:
    """Return the generated film ``sample.mp4`` in ``folder``, with a person in it and a question about this person."""
    from eval.sandbox import DEFAULT_SEED, cast

    coat = cast(DEFAULT_SEED).owner.look.coat
    question = f"When does the person in the {coat} coat first appear?"
    return DemoSubject(video=folder / "sample.mp4", person=f"a person in a {coat} coat", question=question)


def steps(subject: DemoSubject, folder: Path) -> list[Step]:
    """Return the commands of ``make demo``, in order."""
    store = ("--store", str(folder / "worlds"))
    episodes = str(folder / "episodes")
    video_id = video_id_from_file_name(subject.video.stem)
    on_video = ("--video", video_id, *store)
    search = ("call", "search_segments_by_text", *on_video, f"query={subject.person}", "top_k=3")
    ask = ("ask", video_id, subject.question, "--tools", "hand_A", "--record", episodes, *store)
    run_tool = ("tools", "run", str(TOOLS), "locate_first_appearance", *on_video, f"person_query={subject.person}")
    return [
        Step("Build the video's world", "build", str(subject.video), *store),
        Step("What the world holds", "inspect", video_id, *store),
        Step("The sixteen operations", "ops"),
        Step("An operation: the scenes", "call", "list_scenes", *on_video),
        Step("An operation: search by words", *search),
        Step("An operation: who and what was identified", "call", "list_entities", *on_video),
        Step("Check a high-level tool", "tools", "check", str(TOOLS)),
        Step("Run it", *run_tool),
        Step("Ask a question, with a tool library, and record the episode", *ask),
        Step("What it did, round by round", "show", episodes),
        Step("Run the episode again, offline: the same bytes", "replay", episodes),
    ]


def run_steps(steps: Sequence[Step], folder: Path, run: Runner, say: Callable[[str], None]) -> int:
    """Run steps, printing by ``say``, until one fails; return its exit status, or 0 after naming ``folder``."""
    for number, step in enumerate(steps, start=1):
        say(f"\n== {number}. {step.why}\n$ videoworld {shlex.join(step.arguments)}")
        ran = run(step.arguments)
        lines = ran.stdout.rstrip("\n").split("\n")
        if ran.stdout:
            say("\n".join(lines[:MAX_LINES]))
        if len(lines) > MAX_LINES:
            say(f"... and {len(lines) - MAX_LINES} lines more")
        if ran.returncode:
            return ran.returncode
    say(f"\nAll of it is in {folder}/. Remove that folder to begin again.")
    return 0


def videoworld(arguments: Sequence[str]) -> CompletedProcess[str]:
    """Run a ``videoworld`` command in a process of its own; progress and errors go directly to the terminal."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "videoworld", *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, env=environment,
        encoding="utf-8", errors="replace",
    )  # fmt: skip


def main(environment: Mapping[str, str]) -> int:
    """Run the demo on the file in the variable ``VIDEO``, or on the sample film; return the exit status."""
    named = environment.get("VIDEO", "").strip()
    subject = DemoSubject(video=Path(named).expanduser()) if named else sample_subject(FOLDER)
    shown = steps(subject, FOLDER)
    if not named and not (FOLDER / "sample.truth.json").exists():  # written last: where it is, the film is whole
        shown.insert(0, Step("Draw a sample video (VIDEO=path takes yours)", "sample", str(FOLDER)))
    return run_steps(shown, FOLDER, videoworld, _say)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


ABLATION = Path("ablation")
CONFIGURATION = "ablation.yaml"


def ablation_steps(folder: Path) -> list[Step]:
    """Return the commands of ``make ablation``, in order."""
    films, configuration, run = (str(folder / name) for name in ("films", CONFIGURATION, "run"))
    compare = ("eval", "compare", run)
    return [
        Step(
            "Make three films with truth and questions",
            *shlex.split("sandbox make --seed 1 --count 3 --minutes 3 --split test --out"),
            films,
        ),
        Step("What there is to be asked", "eval", "check", films),
        Step("What it would ask and take; nothing is asked", "eval", "run", configuration, "--dry-run"),
        Step("Build the worlds, ask the questions", "eval", "run", configuration),
        Step("Score the episodes again: the same scores", "eval", "score", run),
        Step("Hierarchical against flat", *compare, "hier@library=hand_A", "flat"),
        Step("Sanity: flat against itself must cover zero", *compare, "flat-again", "flat"),
        Step("Sanity: tools that find nothing must not help", *compare, "hier@library=placebo_hand_A", "flat"),
        Step("Libraries against domains", "eval", "transfer", run),
        Step("The report", "eval", "report", run),
    ]


def run_ablation(folder: Path, run: Runner, say: Callable[[str], None]) -> int:
    """Run ``ablation_steps`` until one fails; return its exit status, or 0. A configuration in ``folder`` is kept."""
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

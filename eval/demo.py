"""``make demo`` and ``make ablation``: a video from its file to an answer, and an experiment from its films to the report.

Each command is printed before it runs, so that it can be tried by itself. Everything is kept in ``demo/`` or ``ablation/``:
after an interruption no film is made, no world built and no question of an experiment asked a second time.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from world_api.core.identifiers import clock_text, plural, video_id_from_file_name

#: Runs a command of ``videoworld`` and returns its output. Raises SystemExit if the command fails.
Run = Callable[[Sequence[str]], str]

_MOST = 40  #: lines of a command's output; the rest is counted, not shown
_WIDTH, _LABEL = 100, 10  #: columns of the last screen, and of the labels in it
_COUNTED = {"scenes": "scenes", "tracks": "tracks", "screen_texts": "screen texts", "speech": "spoken lines"}


def run_command(arguments: Sequence[str]) -> str:
    """Run a command of ``videoworld`` and return what it prints. Raises SystemExit if it fails; its output is shown."""
    done = subprocess.run(
        [_program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        encoding="utf-8", env=os.environ | {"PYTHONIOENCODING": "utf-8"}, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.stdout.write(done.stdout)
        raise SystemExit(done.returncode)
    return done.stdout


def _program() -> str:
    """Return the path of ``videoworld`` in this environment, from the current folder."""
    return os.path.relpath(Path(sys.executable).with_name("videoworld"))


class Steps:
    """Prints numbered commands and runs them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._number = 0

    def __call__(self, why: str, *arguments: str) -> str:
        """Print a command, run it, print the beginning of its output unless that is JSON, and return the output."""
        self._number += 1
        _print(f"\n== {self._number}. {why}", f"$ {_program()} {shlex.join(arguments)}")
        output = self._run(arguments)
        if "--json" not in arguments:
            lines = output.splitlines()
            _print(*lines[:_MOST], *([f"... and {len(lines) - _MOST} lines more"] if len(lines) > _MOST else []))
        return output


def demo(run: Run, video: str = "") -> None:
    """Build the world of a video (of a drawn one if none is named), ask it a question, and show answer and evidence."""
    step, folder, store = Steps(run), Path("demo"), ("--store", "demo/worlds")
    question, how = "When does a person first appear?", list[str]()
    if not video:
        from eval.sandbox import DEFAULT_SEED, cast

        video = str(folder / "sample.mp4")
        question = f"When does the person in the {cast(DEFAULT_SEED).owner.look.coat} coat first appear?"
        how = [
            "--profile",
            "classical",
        ]  # people that are drawn: a detector trained on photographs need not recognise them
        if not (folder / "sample.truth.json").exists():  # written last
            step("Draw a sample video (make demo VIDEO=path takes yours)", "sample", str(folder))
    name = video_id_from_file_name(Path(video).stem)
    pages = {"answer": str(folder / "answer.html"), "world": str(folder / "world.html")}
    step("Build the video's world", "build", video, *store, *how)
    world = json.loads(step("Read what the world holds", "inspect", name, *store, "--json"))
    step("Write the world as a page", "inspect", name, *store, "--html", pages["world"])
    asking = ("--tools", "hand_A", "--record", str(folder / "episodes"), "--html", pages["answer"])
    asked = json.loads(step("Ask a question, with a tool library", "ask", name, question, *asking, *store, "--json"))
    frames = []
    if spans := asked["spans"]:
        start, end = spans[0]["start_time"], spans[0]["end_time"]
        moments = [part for time in (start, round((start + end) / 2, 3)) for part in ("--at", str(time))]
        where = ("--boxes", "--out", str(folder / "frames"), *store, "--json")
        found = step("Write two frames of the evidence, with boxes", "frames", name, *moments, *where)
        frames = [frame["picture"] for frame in json.loads(found)["frames"]]
    step("Run the episode again, offline: the same bytes", "replay", str(folder / "episodes"), asked["recorded_as"])
    _print("", *_last_screen(world, asked, video=video, frames=frames, pages=pages, store=store))


def _last_screen(
    world: Mapping[str, Any],
    asked: Mapping[str, Any],
    *,
    video: str,
    frames: Sequence[str],
    pages: Mapping[str, str],
    store: Sequence[str],
) -> list[str]:
    name, command = world["video_id"], _program()
    counts = ", ".join(f"{len(world[key])} {words}" for key, words in _COUNTED.items())
    spans = ", ".join(f"{clock_text(one['start_time'])} to {clock_text(one['end_time'])}" for one in asked["spans"])
    doubts = [doubt.get("summary") or f"{doubt['tool']} could not determine everything" for doubt in asked["uncertain"]]
    calls = plural(len(asked["tool_calls"]), "tool call")
    again = shlex.join(["ask", name, "your question", "--tools", "hand_A", *store])
    lines = {
        "built": f"{clock_text(world['video']['duration'])} of {video} as the world {store[1]}/{name}: {counts}",
        "question": asked["question"],
        "answer": asked["answer"] or f"none: {asked['reason']}",
        "evidence": spans or "none was cited",
        "frames": " ".join(frames),
        "uncertain": "; ".join(doubts),
        "by": f"{asked['model']} with the tools of {asked['library']}, {calls}",
        "note": asked["watermark"] or "",
    }
    return [
        "=" * _WIDTH,
        *(_labelled(label, text) for label, text in lines.items() if text),
        "",
        f"look at   {pages['answer']}: the evidence of each call; {pages['world']}: the world (in a browser)",
        f"          {command} show demo/episodes {asked['recorded_as']}",
        f"ask on    {command} {again}",
        "read      README.md; a model of your own: export OPENAI_BASE_URL, then add --model NAME",
        "          All of it is in demo/. Remove that folder to begin again.",
    ]


def _labelled(label: str, text: str) -> str:
    indent = " " * _LABEL
    return textwrap.fill(
        text, _WIDTH, initial_indent=f"{label:{_LABEL}}", subsequent_indent=indent, break_long_words=False
    )


def ablation(run: Run) -> None:
    """Make films, run an experiment on them, score it, and write its tables and report."""
    step, folder = Steps(run), Path("ablation")
    folder.mkdir(exist_ok=True)
    if not (folder / "ablation.yaml").exists():
        shutil.copy(Path(__file__).with_name("ablation.yaml"), folder)
    result, films = "ablation/run", "ablation/films"
    for why, command in {
        "Make three films with truth and questions": f"sandbox make --seed 1 --count 3 --minutes 3 --split test --out {films}",
        "What there is to be asked": f"eval check {films}",
        "What it would ask and take; nothing is asked": "eval run ablation/ablation.yaml --dry-run",
        "Build the worlds, ask the questions": "eval run ablation/ablation.yaml",
        "Score the episodes again: the same scores": f"eval score {result}",
        "Hierarchical against flat": f"eval compare {result} hier@library=hand_A flat",
        "Sanity: flat against itself must cover zero": f"eval compare {result} flat-again flat",
        "Sanity: tools that find nothing must not help": f"eval compare {result} hier@library=placebo_hand_A flat",
        "Libraries against domains": f"eval transfer {result}",
        "The report": f"eval report {result}",
    }.items():
        step(why, *command.split())
    _print(
        "\nAll of it is in ablation/. Remove that folder to begin again.",
        f"Open {result}/report/report.html in a browser.",
        "What the rule-based model answers is plumbing, not a result.",
    )


def _print(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    """Run ``demo`` (of the video that the environment variable ``VIDEO`` names) or ``ablation``."""
    match list(arguments):
        case ["demo"]:
            demo(run_command, os.environ.get("VIDEO", ""))
        case ["ablation"]:
            ablation(run_command)
        case _:
            sys.stderr.write("usage: python -m eval.demo demo|ablation\n")
            raise SystemExit(2)


if __name__ == "__main__":
    main(sys.argv[1:])

"""How long building a world takes, beside PySceneDetect and beside decoding alone, and how much memory.

``python benchmarks/build.py [VIDEO] [--repeat 3] [--long VIDEO] [--page docs/performance.md]``

Every command runs in a fresh process; figures are medians. Without videos it takes those of ``../shared/data``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.cutting import copy_beginning
from benchmarks.goals import BUILD_RATIO, MEMORY_GROWTH, verdict
from benchmarks.machine import machine, versions
from benchmarks.measured import left_out
from benchmarks.page import replace_section
from benchmarks.processes import ROOT, Run, run_fresh

_SHARED = ROOT.parent / "shared" / "data" / "video"
_VERSIONS = ("av", "opencv-python-headless", "scenedetect-headless", "numpy", "pyarrow", "lancedb", "rapidocr")
_MIB = 1024 * 1024

Measure = Callable[[], Run]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to measure: videos, how often, and the beginning (seconds) of the long one that it is compared with."""

    video: Path
    long: Path
    repeat: int
    first: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page where one is named."""
    given = _parser().parse_args(arguments)
    job = Job(video=given.video.resolve(), long=given.long.resolve(), repeat=given.repeat, first=given.first)
    for video in (job.video, job.long):
        if not video.is_file():
            sys.exit(f"there is no video {video}; name one")
    lines = [
        f"Machine: {machine()}.",
        f"Versions: {versions(_VERSIONS)}.",
        "",
        *_speed(job),
        "",
        *_stages(job),
        "",
        *_screen_text(job),
        "",
        *_memory(job),
    ]
    print("\n".join(lines))
    if given.page is not None:
        replace_section(given.page, "benchmarks/build.py", "\n".join(lines))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure building a world.")
    parser.add_argument("video", nargs="?", type=Path, default=_SHARED / "composite_337s.mp4")
    parser.add_argument("--repeat", type=int, default=3, help="how often everything is measured (3)")
    parser.add_argument("--long", type=Path, default=_SHARED / "timecode_1800s.mp4", help="for the memory")
    parser.add_argument(
        "--first", type=float, default=300.0, help="seconds of it that the whole is compared with (300)"
    )
    parser.add_argument("--page", type=Path, help="write the figures into this page, such as docs/performance.md")
    return parser


def _speed(job: Job) -> list[str]:
    """(a) and (b): the whole build over PySceneDetect's command and over decoding alone, taken in turns."""
    measures: dict[str, Measure] = {
        "build": lambda: _build(job.video),
        "scenedetect": lambda: run_fresh([sys.executable, "-m", "scenedetect", "-i", str(job.video), *_LIST_SCENES]),
        "decode": lambda: _measured("decode", job.video),
    }
    runs: dict[str, list[Run]] = {name: [] for name in measures}
    for measure in measures.values():
        measure()  # no bytecode is compiled while it is measured
    for _ in range(job.repeat):
        for name, measure in measures.items():
            runs[name].append(measure())
    wall = {name: median(run.wall for run in taken) for name, taken in runs.items()}
    cpu = {name: median(run.cpu for run in taken) for name, taken in runs.items()}
    ratio = wall["build"] / wall["scenedetect"]
    return [
        f"Video: {job.video.name}, {job.repeat} runs each, medians.",
        "",
        "| command | seconds | processor seconds |",
        "| --- | --- | --- |",
        f"| whole classical build, no screen text, no speech | {wall['build']:.2f} | {cpu['build']:.2f} |",
        f"| PySceneDetect's own command (`{' '.join(_LIST_SCENES)}`) | {wall['scenedetect']:.2f}"
        f" | {cpu['scenedetect']:.2f} |",
        f"| PyAV alone: decode, bring down, convert | {wall['decode']:.2f} | {cpu['decode']:.2f} |",
        "",
        f"- Build over PySceneDetect's command: {ratio:.2f} (goal: at most {BUILD_RATIO}; {verdict(ratio, BUILD_RATIO)})",
        f"- Build over decoding alone: {wall['build'] / wall['decode']:.2f}",
    ]


_LIST_SCENES = ("list-scenes", "-n", "-q")


def _stages(job: Job) -> list[str]:
    """(c): what each stage takes inside one build."""
    taken = [json.loads(_measured("stages", job.video).output) for _ in range(job.repeat)]
    duration = taken[0]["duration"]
    seconds = {name: median(one[name] for one in taken) for name in taken[0] if name != "duration"}
    return [
        "| stage | processor seconds | times real time |",
        "| --- | --- | --- |",
        *(
            f"| {name} | {took:.2f} | {duration / max(took, 1e-3):,.0f} |"
            for name, took in sorted(seconds.items(), key=lambda item: -item[1])
        ),
    ]


def _screen_text(job: Job) -> list[str]:
    """(d): screen text apart."""
    taken = [json.loads(_measured("screen_text", job.video).output) for _ in range(job.repeat)]
    each = median(one["reading"] / max(1, one["frames"]) for one in taken)
    glance = median(one["glancing"] / max(1, one["glances"]) for one in taken)
    minutes = taken[0]["duration"] / 60
    return [
        f"- Screen text: {each:.2f} seconds a frame read, {taken[0]['frames'] / minutes:.1f} frames read a minute of video",
        f"- Glances before that: {glance:.2f} seconds each, {taken[0]['glances'] / minutes:.1f} a minute of video",
    ]


def _memory(job: Job) -> list[str]:
    """(e): the memory of a build of a part of a video and of the whole."""
    with tempfile.TemporaryDirectory() as folder:
        part = copy_beginning(job.long, Path(folder) / f"part{job.long.suffix}", seconds=job.first)
        peaks = [(_build(part).peak, _build(job.long).peak) for _ in range(job.repeat)]
    short, whole = (median(sizes) / _MIB for sizes in zip(*peaks, strict=True))
    growth = (whole / short - 1) * 100
    return [
        f"- Most memory, first {job.first:g} seconds of {job.long.name}: {short:.0f} MiB",
        f"- Most memory, all of it: {whole:.0f} MiB ({growth:+.0f} %; "
        f"goal: within {MEMORY_GROWTH:g} %; {verdict(growth, MEMORY_GROWTH)})",
    ]


def _build(video: Path) -> Run:
    with tempfile.TemporaryDirectory() as store:
        without = [word for name in left_out(video) for word in ("--without", name)]
        return run_fresh(
            [
                sys.executable,
                "-m",
                "videoworld",
                "build",
                str(video),
                "--id",
                "measured",
                "--store",
                store,
                *without,
            ]
        )


def _measured(what: str, video: Path) -> Run:
    return run_fresh([sys.executable, "-m", "benchmarks", what, str(video)])


if __name__ == "__main__":
    main()

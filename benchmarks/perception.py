"""The detectors of profile neural: speed beside the bare model, the whole build, memory, and what each threshold finds.

``python -m benchmarks.perception VIDEO [--models DIR] [--detector NAME]`` prints Markdown. With ``VIDEO.truth.json`` beside
the video, which lists the ``visits`` of people (or ``people`` with ``visits``), thresholds are compared with it.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.machine import machine, versions
from benchmarks.measured import Silent
from world_api.api import build_world, model_folder
from world_api.core.ports import DetectedObject, Image
from world_api.media import probe
from world_api.media.decoder import VideoFrames
from world_api.options import NEURAL, BuildOptions, Listening
from world_api.perception.detector import OnnxDetector

BATCHES = (1, 8, 32)
LIMITS = (0.3, 0.4, 0.5, 0.6, 0.7)
GOAL_ADAPTER, GOAL_BUILD = 0.85, 1.5
#: Rounds of a comparison, of which the fastest counts, and frames of a round.
_ROUNDS, _FRAMES = 5, 32
_EVERY = 0.5  #: seconds between two frames
_LONGEST = 400.0  #: seconds of a video whose frames are compared


def sampled(video: Path, duration: float, side: int) -> list[Image]:
    """Two frames a second of a video, with ``side`` pixels on their longer side."""
    times = [float(time) for time in np.arange(0.0, duration, _EVERY)]
    return list(VideoFrames(video).pictures_played_at(times, side))


def fastest(run: Callable[[], object]) -> float:
    """Seconds of the fastest of some runs."""
    taken = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return min(taken)


def bare(detector: OnnxDetector, count: int, pictures: Sequence[Image]) -> Callable[[], object]:
    """The model alone, on inputs that are ready, ``count`` at once."""
    size = detector._input_size(pictures[:1])
    session = detector._session
    given = np.zeros((count, 3, *size), dtype=np.float32)
    name = session.get_inputs()[0].name
    return lambda: [session.run(None, {name: given}) for _ in range(len(pictures) // count)]


def adapter_lines(detector: OnnxDetector, pictures: Sequence[Image]) -> list[str]:
    """Frames a second of the adapter and of the model alone, by the size of the batch."""
    lines = ["| pictures at once | adapter, frames/s | model alone, frames/s | ratio |", "| --- | --- | --- | --- |"]
    for count in BATCHES:
        if count > 1 and detector._shape[0] is not None:
            lines.append(f"| {count} | the file takes {detector._shape[0]} at a time | | |")
            continue
        detector.__dict__["batch"] = count
        some = list(pictures[: max(count, _FRAMES // count * count)])
        own, alone = fastest(partial(detector.detect_all, some)), fastest(bare(detector, count, some))
        lines.append(f"| {count} | {len(some) / own:.1f} | {len(some) / alone:.1f} | {alone / own:.2f} |")
    detector.__dict__.pop("batch", None)
    return lines


def build_line(video: Path, detector: OnnxDetector, models: Path, name: str, pictures: Sequence[Image]) -> str:
    """Seconds of the whole build without screen text and speech, beside those of the model on two frames a second."""
    with tempfile.TemporaryDirectory() as folder:
        options = BuildOptions(
            profile=NEURAL, listening=Listening(speech="off", subtitles="none"), without=("screen_texts",), models=models,
            detector=name,
        )  # fmt: skip
        whole, whole_cpu = _taken(lambda: build_world(video, folder, progress=Silent(), options=options))
    alone, alone_cpu = _taken(bare(detector, 1, pictures))
    met = "met" if whole <= GOAL_BUILD * alone else "missed"
    return (
        f"Whole build {whole:.1f} s ({whole_cpu:.1f} processor seconds); the model alone on {len(pictures)} frames, two a "
        f"second, {alone:.1f} s ({alone_cpu:.1f}); ratio {whole / alone:.2f} (goal: at most {GOAL_BUILD}; {met}), of "
        f"processor seconds {whole_cpu / alone_cpu:.2f}"
    )


def _taken(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds of a run, and the processor seconds of this process and of those that it waited for."""

    def used() -> float:
        each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(one.ru_utime + one.ru_stime for one in each)

    started, before = time.perf_counter(), used()
    run()
    return time.perf_counter() - started, used() - before


def threshold_lines(found: Sequence[Sequence[DetectedObject]], visits: Sequence[tuple[float, float]]) -> list[str]:
    """By least confidence: the share of frames in visits with a person, other frames with one, and what else is found."""
    lines = [
        "| at least | frames in a visit with a person | other frames with a person | else |",
        "| --- | --- | --- | --- |",
    ]
    inside = [any(start <= _EVERY * i < end for start, end in visits) for i in range(len(found))]
    for limit in LIMITS:
        kinds = [{item.category for item in items if item.confidence >= limit} for items in found]
        right = sum("person" in kind for kind, is_in in zip(kinds, inside, strict=True) if is_in)
        wrong = sum("person" in kind for kind, is_in in zip(kinds, inside, strict=True) if not is_in)
        others = Counter(name for kind in kinds for name in kind if name != "person").most_common(4)
        said = ", ".join(f"{name} {count}" for name, count in others) or "nothing"
        lines.append(f"| {limit} | {right} of {sum(inside)} | {wrong} of {len(inside) - sum(inside)} | {said} |")
    return lines


def visits_of(video: Path) -> list[tuple[float, float]] | None:
    """The visits in the truth beside a video; None if there is no such file."""
    path = video.with_name(f"{video.stem}.truth.json")
    if not path.is_file():
        return None
    truth = json.loads(path.read_text(encoding="utf-8"))
    if "visits" in truth:
        return [(visit["start"], visit["end"]) for visit in truth["visits"]]
    people = truth.get("people")
    return None if people is None else [(start, end) for person in people for start, end in person["visits"]]


def main() -> None:
    """Measure and print."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("video", type=Path)
    reader.add_argument("--models", type=Path, default=None)
    reader.add_argument("--detector", default=None)
    given = reader.parse_args()
    folder = model_folder(given.models)
    model = folder.detector(given.detector)
    if model is None:
        raise SystemExit("no detector is here; `videoworld models pull` fetches one")
    detector = OnnxDetector(model)
    duration = min(probe(given.video).declared_duration or 0.0, _LONGEST)
    pictures = sampled(given.video, duration, detector.side)
    print(f"{model.name} on {given.video.name} ({duration:.0f} s, two frames a second at {detector.side} pixels)\n")
    print(f"Machine: {machine()}\n\nVersions: {versions(['onnxruntime', 'numpy', 'opencv-python-headless', 'av'])}\n")
    print("\n".join(adapter_lines(detector, pictures)), end="\n\n")
    print(build_line(given.video, detector, folder.folder, model.name, pictures), end="\n\n")
    if (visits := visits_of(given.video)) is not None:
        print("\n".join(threshold_lines(detector.detect_all(pictures), visits)), end="\n\n")
    print(f"Most memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()

"""How fast the operations answer as worlds grow: every operation on made worlds of several sizes, warm and at fresh cuts.

::

    python -m benchmarks.operations                         1,000, 5,000 and 100,000 segments; writes the figures to the docs
    python -m benchmarks.operations --segments 1000 --calls 50 --page ""
    python -m benchmarks.operations --video film.mp4        what decodes is measured on that film

Each world is measured in a process of its own. The figures depend on what else the machine does meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import OPEN_S, WARM_MS, verdict
from benchmarks.machine import machine, versions
from benchmarks.operation_calls import CASES, Case, Draws, call
from benchmarks.page import replace_section

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
SEGMENTS = (1_000, 5_000, 100_000)
#: Memories that a session holds when reading and merging them is measured.
MEMORIES = 200
#: Worlds beyond this many segments keep an hour of rows a file.
_CLIPS_UP_TO = 10_000
#: ru_maxrss counts kibibytes.
_KIB = 1024

Row = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print one table, and put it on the page."""
    chosen = _parser().parse_args(arguments)
    if chosen.measure:
        print(json.dumps(measure(chosen.store, chosen.measure, chosen.calls, chosen.cuts, chosen.seed)))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        store = chosen.store or Path(scratch)
        found = {segments: _measured(store, segments, chosen) for segments in chosen.segments}
        decoded = _decoding(store, chosen.video, chosen.calls, chosen.seed) if chosen.decode else None
    text = table(found, decoded, chosen)
    print(text)
    if chosen.page:
        replace_section(Path(chosen.page), "python -m benchmarks.operations", text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.operations", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--segments", type=int, nargs="+", default=list(SEGMENTS), help="sizes of the worlds")
    parser.add_argument("--calls", type=int, default=200, help="warm calls of each operation")
    parser.add_argument("--cuts", type=int, default=40, help="fresh causal cuts of each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", type=Path, help="keep the worlds here (default: a scratch folder)")
    parser.add_argument("--video", type=Path, help="the film for what decodes (default: the sample film)")
    parser.add_argument("--no-decode", dest="decode", action="store_false", help="leave out what decodes")
    parser.add_argument("--page", default=str(PAGE), help="page whose section is replaced; empty for none")
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    return parser


def _measured(store: Path, segments: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """Make a world of that size where it is not there, and measure it in a fresh process."""
    from benchmarks.made_worlds import Plan, write_world
    from world_api.api import text_embedder
    from world_api.search.searcher import prepare
    from world_api.world.store import list_worlds, open_world

    name = f"made-{segments}"
    if name not in list_worlds(store):
        print(f"writing {name} ...", file=sys.stderr)
        file_seconds = 30.0 if segments <= _CLIPS_UP_TO else 3600.0
        write_world(store, name, Plan.of_segments(segments, seed=chosen.seed, file_seconds=file_seconds))
    started = time.perf_counter()
    prepare(store, name, text_embedder())
    prepared = time.perf_counter() - started
    print(f"measuring {name} ...", file=sys.stderr)
    command = [sys.executable, "-m", "benchmarks.operations", "--measure", name, "--store", str(store)]
    command += ["--calls", str(chosen.calls), "--cuts", str(chosen.cuts), "--seed", str(chosen.seed)]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    manifest = open_world(store, name).manifest
    rows = {table: sum(entry.rows for entry in manifest.files_of(table)) for table in ("sightings", "speech")}
    return {**json.loads(output), "prepare": prepared, "hours": manifest.video.duration / 3600, **rows}


def measure(store: Path, name: str, calls: int, cuts: int, seed: int) -> dict[str, Any]:
    """All figures of one world: seconds to open and to answer first, milliseconds of every case, bytes of memory."""
    from world_api.api import open_session

    opened = _seconds(lambda: open_session(store, name, name=None))
    session = open_session(store, name, name=None)
    # Opening reads the manifest alone; the rows are read at the first question, so that belongs to it.
    metadata, scenes = (_first_answer(session, operation) for operation in ("get_video_metadata", "list_scenes"))
    facts: dict[str, Any] = {"open": opened, "metadata": opened + metadata, "scenes": opened + metadata + scenes}
    facts |= {"segments": 0, "cases": {}}
    for case in CASES:
        draws = Draws(session, seed)
        if case.operation in ("read_memory", "merge_events"):
            _remember(session, seed)
        warm = [_milliseconds(session, case, draws) for _ in range(calls + 1)]
        facts["cases"][case.name] = {
            "first": warm[0], "p50": float(np.percentile(warm[1:], 50)), "p95": float(np.percentile(warm[1:], 95)),
        }  # fmt: skip
    facts["cases"]["list_scenes"]["first"] = scenes * 1e3
    facts["cases"]["get_video_metadata"]["first"] = metadata * 1e3
    facts["segments"] = len(session.view.segments)
    facts["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    rng = np.random.default_rng(seed)
    for case in CASES:
        times = [_at_a_cut(store, name, case, float(rng.uniform(0.05, 1.0)), seed + n) for n in range(cuts)]
        facts["cases"][case.name] |= {
            "cut50": float(np.percentile(times, 50)),
            "cut95": float(np.percentile(times, 95)),
        }
    return facts


def _first_answer(session: Any, operation: str) -> float:
    """Seconds of the first call of an operation that needs nothing but the video's id."""
    from world_api.operations import run

    return _seconds(lambda: run(session, operation, {"video_id": session.video_id}))


def _at_a_cut(store: Path, name: str, case: Case, share: float, seed: int) -> float:
    """Milliseconds to open a session at a cut of its own and make the first call."""
    from world_api.api import open_session

    whole = open_session(store, name, name=None)
    as_of = round(whole.view.duration * share, 2)
    draws = Draws(open_session(store, name, as_of=as_of, name=None), seed)
    started = time.perf_counter()
    session = open_session(store, name, as_of=as_of, name=None)
    opened = (time.perf_counter() - started) * 1e3
    if case.operation in ("read_memory", "merge_events"):
        _remember(session, seed)
        draws = Draws(session, seed)
    return opened + _milliseconds(session, case, draws)


def _milliseconds(session: Any, case: Case, draws: Draws) -> float:
    from world_api.core.faults import OperationFault
    from world_api.operations import run

    arguments = {"video_id": session.video_id, **case.draw(draws)}
    started = time.perf_counter()
    with contextlib.suppress(OperationFault):  # an answer, too: nothing there matches
        run(session, case.operation, arguments)
    return (time.perf_counter() - started) * 1e3


def _remember(session: Any, seed: int) -> None:
    draws = Draws(session, seed)
    write = next(case for case in CASES if case.operation == "write_memory")
    while len(session.memories("event")) < MEMORIES:
        call(session, write, draws)


def _decoding(store: Path, video: Path | None, calls: int, seed: int) -> Row:
    """Detection on frames that were not sampled: each call decodes one frame and looks at it."""
    from world_api.media import VideoFrames
    from world_api.perception.classical import ClassicalDetector

    if video is None:
        from eval.sandbox import make_sample

        video = make_sample(store / ".sample").video
    print(f"looking at frames of {video.name} ...", file=sys.stderr)
    frames, detector, length = VideoFrames(video), ClassicalDetector(), _length(video)
    rng = np.random.default_rng(seed)

    def look(at: float) -> float:
        return 1e3 * _seconds(lambda: detector.detect(frames.pictures_played_at([at], None)[0], "person"))

    count = max(5, calls // 10)
    times = [look(at) for at in rng.uniform(0, length, count + 1).tolist()]
    return {"first": times[0], "p50": float(np.percentile(times[1:], 50)), "p95": float(np.percentile(times[1:], 95))}


def _length(video: Path) -> float:
    """Seconds of picture, without the last one."""
    import cv2

    film = cv2.VideoCapture(str(video))
    return max(1.0, film.get(cv2.CAP_PROP_FRAME_COUNT) / max(1.0, film.get(cv2.CAP_PROP_FPS)) - 1.0)


def _seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def table(found: dict[int, dict[str, Any]], decoded: Row | None, chosen: argparse.Namespace) -> str:
    """The figures as Markdown."""
    sizes = list(found)
    lines = [
        "## Operations", "",
        f"Machine: {machine()}.", "",
        f"Versions: {versions(['numpy', 'pyarrow', 'faiss-cpu'])}.", "",
        f"Milliseconds a call on made worlds (`benchmarks.made_worlds`, seed {chosen.seed}), answered from stored rows: the",
        f"first call in a process, then p50 and p95 of {chosen.calls} calls with other arguments; *cut*: a session opened",
        f"at a causal cut of its own with its first call, p50 and p95 of {chosen.cuts}. Memory operations: {MEMORIES}",
        "memories in the session. *open*: `open_session` alone, in a fresh process; then with the first answer of",
        "`get_video_metadata`, and of `list_scenes` after it, which reads rows.", "",
        "| world | hours | sightings | lines | open, s | and metadata, s | and scenes, s | prepare, s | memory, MB |",
        "| --- |" + " ---: |" * 8,
    ]  # fmt: skip
    for facts in found.values():
        lines.append(
            f"| {facts['segments']:,} segments | {facts['hours']:.1f} | {facts['sightings']:,} | {facts['speech']:,} "
            f"| {facts['open']:.3f} | {facts['metadata']:.3f} | {facts['scenes']:.3f} "
            f"| {facts['prepare']:.1f} | {facts['memory'] / 1e6:.0f} |"
        )
    heads = [f"{found[size]['segments']:,}: first | p50 | p95 | cut p50 | cut p95" for size in sizes]
    lines += ["", "| operation | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (5 * len(sizes))]
    for case in CASES:
        cells = [
            f"{found[size]['cases'][case.name][figure]:.1f}"
            for size in sizes
            for figure in ("first", "p50", "p95", "cut50", "cut95")
        ]
        lines.append(
            f"| `{case.name.split(' ', 1)[0]}`{case.name.removeprefix(case.operation)} | " + " | ".join(cells) + " |"
        )
    if decoded is not None:
        lines += ["", "What decodes, apart: `detect_objects` on a frame that was not sampled, "]
        lines[-1] += f"first {decoded['first']:.0f} ms, p50 {decoded['p50']:.0f} ms, p95 {decoded['p95']:.0f} ms."
    return "\n".join([*lines, "", *goals(found)])


def goals(found: dict[int, dict[str, Any]]) -> list[str]:
    """Each goal, met or missed, with the worst figure of the largest world."""
    facts = max(found.values(), key=lambda facts: facts["segments"])
    size = f"at {facts['segments']:,} segments"
    warm, slow = max((case["p95"], name) for name, case in facts["cases"].items())
    cut, slow_cut = max((case["cut95"], name) for name, case in facts["cases"].items())
    within = sum(case["cut95"] <= WARM_MS for case in facts["cases"].values())
    return [
        "Goals:", "",
        f"- p95 of every warm call at most {WARM_MS:g} ms {size}: {verdict(warm, WARM_MS)} ({slow}: {warm:.1f} ms).",
        f"- The same at fresh causal cuts: {verdict(cut, WARM_MS)} ({slow_cut}: {cut:.1f} ms; {within} of"
        f" {len(facts['cases'])} rows are within it).",
        f"- Open and first answers at most {OPEN_S:g} s {size}: {verdict(facts['scenes'], OPEN_S)}"
        f" (`get_video_metadata` {facts['metadata']:.3f} s, then `list_scenes` {facts['scenes']:.3f} s).",
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

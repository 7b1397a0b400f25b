"""What the loop costs beside its model and its tools: each round of a recorded episode, 32 episodes at once, replay, memory.

::

    python -m benchmarks.controller                     everything; writes the figures to the docs
    python -m benchmarks.controller --runs 3 --page ""  quickly, printed only

The model and the tools answer at once here, with replies and results that real operations gave on a made world; their own
time is taken off, and the digest of the world is made once and measured apart. What is left of a round is the loop, its
messages, its checks and the recording of its exchange.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.controller.instant import ROUNDS, InstantGround, InstantModel, InstantTools, Times, script_on
from benchmarks.controller.table import AT_ONCE, SEGMENTS, Figures, Overhead, table
from benchmarks.page import replace_section
from controller.answers import Question
from controller.digest import digest_of
from controller.episode_tools import AtomicTools
from controller.options import Budget
from controller.records import Journal, answer, replay_recorded
from controller.systems import SystemContext
from tool_induction.library import ToolLibrary, load_library
from tool_induction.library_tools import LibraryTools, ToolDeclaration
from world_api.api import open_session
from world_api.core.execution import SystemClock
from world_api.session.session import Session

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
_DIGEST_TOKENS = 800


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and put it on the page."""
    chosen = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(Path(scratch), chosen.segments, chosen.seed)
        bench.episode("warm")
        figures = Figures(
            alone=[bench.episode(f"run-{number}") for number in range(chosen.runs)],
            replays=[bench.replay(f"run-{number}") for number in range(chosen.runs)],
            together=bench.together(AT_ONCE),
            memory=bench.memory(AT_ONCE),
            sizes=bench.sizes("run-0"),
            digest=bench.digest(),
        )
    text = table(figures)
    print(text)
    if chosen.page:
        replace_section(Path(chosen.page), "python -m benchmarks.controller", text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.controller", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--runs", type=int, default=20, help="episodes one after the other")
    parser.add_argument("--segments", type=int, default=SEGMENTS, help="size of the made world")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", default=str(PAGE), help="page whose section is replaced; empty for none")
    return parser


class Bench:
    """Recorded episodes of ``hier`` on instant replies and results."""

    def __init__(self, folder: Path, segments: int, seed: int) -> None:
        from benchmarks.made_worlds import Plan, write_world

        print("writing a world ...", file=sys.stderr)
        self._folder, self._store = folder, folder / "worlds"
        write_world(self._store, "made", Plan.of_segments(segments, seed=seed))
        self._library: ToolLibrary = load_library("hand_A")
        session = self._session()
        self._script = script_on(session, seed)
        self._made: dict[str, Any] = {}  #: material, such as the digest
        self._declared = [*self._tools_of_library(session), *AtomicTools(session).get_tools()]

    def episode(self, name: str) -> Overhead:
        """One episode, recorded in a folder of its own; what it cost beside model and tools."""
        times, session = Times(), self._session()
        began = time.perf_counter()
        self._answer(self._folder / name, session, times)
        return overhead(times, began, time.perf_counter())

    def replay(self, name: str) -> float:
        """Seconds that running an episode again takes, a round."""
        journal = Journal(self._folder / name)
        [entry] = journal.entries()
        began = time.perf_counter()
        done = replay_recorded(journal, entry.name)
        seconds = time.perf_counter() - began
        if not done.identical:
            raise RuntimeError(f"the replay differs at {done.difference}")
        return seconds / len(entry.episode.rounds)

    def together(self, number: int) -> dict[str, float]:
        """So many episodes at once in one folder: seconds on the clock and of the processor, a round of one of them."""
        folder, rounds = self._folder / "together", number * (ROUNDS + 1)
        sessions = [self._session() for _ in range(number)]
        wall, cpu = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(number) as pool:
            list(pool.map(lambda session: self._answer(folder, session, Times()), sessions))
        return {
            "wall": (time.perf_counter() - wall) / rounds,
            "cpu": (time.process_time() - cpu) / rounds,
            "episodes": len(list(Journal(folder).entries())),
        }

    def memory(self, number: int) -> dict[str, float]:
        """Peak bytes of one episode, and of several at once."""
        peaks: dict[str, float] = {}
        for name, many in (("one", 1), ("many", number)):
            sessions = [self._session() for _ in range(many)]
            tracemalloc.start()
            with ThreadPoolExecutor(many) as pool:
                list(pool.map(lambda session: self._answer(self._folder / "held", session, Times()), sessions))
            peaks[name] = float(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return peaks

    def digest(self) -> float:
        """Seconds for the digest of the world on a session that has made it before."""
        session = self._session()
        digest_of(session, _DIGEST_TOKENS)
        began = time.perf_counter()
        digest_of(session, _DIGEST_TOKENS)
        return time.perf_counter() - began

    def sizes(self, name: str) -> dict[str, float]:
        """Bytes of an episode on disk: its own line, and its exchanges."""
        folder = self._folder / name
        exchanges = sum(path.stat().st_size for path in (folder / "recordings").iterdir())
        return {"line": (folder / "episodes.jsonl").stat().st_size, "exchanges": exchanges}

    def _answer(self, folder: Path, session: Session, times: Times) -> None:
        context = SystemContext(
            model=InstantModel(self._script, times),
            clock=SystemClock(),
            library=self._library,
            budget=Budget(rounds=ROUNDS + 1, calls=1000, tokens=10**9),
            inputs=InstantGround(InstantTools(self._declared, self._script, times), self._made),
        )
        question = Question(text="When does the person in red first appear?")
        done = answer(question, session, system="hier", context=context, journal=Journal(folder))
        if done.episode.outcome != "submitted" or len(done.episode.rounds) != ROUNDS + 1:
            raise RuntimeError(f"the episode ended as {done.episode.outcome}: {done.episode.reason}")

    def _session(self) -> Session:
        return open_session(self._store, "made", name=None)

    def _tools_of_library(self, session: Session) -> Sequence[ToolDeclaration]:
        return LibraryTools.on_session(self._library, session, traced=True).get_tools()


def overhead(times: Times, began: float, ended: float) -> Overhead:
    """What of an episode was neither the model's time nor the tools'."""
    between = [
        asked - answered - tools
        for answered, asked, tools in zip(times.answered, times.asked[1:], times.tools, strict=False)
    ]
    return Overhead(before=times.asked[0] - began, rounds=between, after=ended - times.answered[-1] - times.tools[-1])

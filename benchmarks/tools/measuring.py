"""What the tool language costs: a step over the same calls made from Python, loops at several calls at a time, compiling.

::

    python -m benchmarks.tools                    everything; writes the figures to the docs
    python -m benchmarks.tools --runs 3 --page "" quickly, printed only

Steps are measured in the processor time of the process, all its threads together, with one call at a time and with as many as tools
on a session make; loops over slow operations on the clock, the shortest of all runs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.goals import COMPILE_MS, SPEED_UP_SHARE, STEP_US, verdict
from benchmarks.machine import machine
from benchmarks.page import replace_section
from benchmarks.tools.plans import ARGUMENTS, Measured, World, plans, slow_plans, tool
from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.library import load_library
from tool_induction.limits import AT_A_TIME
from tool_induction.runtime.limits import RunLimits
from tool_induction.runtime.runner import run_tool
from tool_induction.runtime.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
#: Seconds a slow operation takes.
NAP = 0.05
WORKERS = (2, 4, 8)
_AGAIN = 20  #: runs of a tool that are timed together

Tools = Mapping[str, CompiledTool]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and put it on the page."""
    chosen = _parser().parse_args(arguments)
    steps = {plan.name: step_cost(plan, chosen.runs) for plan in plans()}
    speed = {name: speed_up(tools, chosen.runs, chosen.nap) for name, tools in slow_plans()}
    compiling = {name: compile_time(source, chosen.runs) for name, source in documents().items()}
    waits = {plan.name: plan.waits for plan in plans()}
    whole = {at_a_time: whole_tool(chosen.runs, at_a_time) for at_a_time in (1, AT_A_TIME)}
    text = table(steps, speed, compiling, chosen, whole, waits)
    print(text)
    if chosen.page:
        replace_section(Path(chosen.page), "python -m benchmarks.tools", text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tools", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="how often everything is measured; medians are printed")
    parser.add_argument("--nap", type=float, default=NAP, help="seconds a slow operation takes")
    parser.add_argument("--page", default=str(PAGE), help="page whose section is replaced; empty for none")
    return parser


def step_cost(plan: Measured, runs: int) -> dict[str, float]:
    """Microseconds a step of one kind costs beyond the calls themselves: one call at a time, several, and traced.

    The tool is compared with one that only searches, and the calls it makes beyond that with the same calls made here.
    """
    world, tools, bare = World(), _compiled(plan.tools), _compiled((_searching(plan),))
    calls = _calls_of(tools, world)

    def direct() -> None:
        for name, arguments in calls:
            world(name, arguments)

    ways: dict[str, dict[str, Any]] = {"alone": {}, "shipped": {"concurrency": AT_A_TIME}, "traced": {"traced": True}}
    found: dict[str, list[float]] = {kind: [] for kind in (*ways, "run")}
    for _ in range(runs):
        calling = _busy_time(direct)
        for kind, way in ways.items():
            whole = _busy_time(partial(_run, tools, world, **way))
            around = _busy_time(partial(_run, bare, world, **way))
            found[kind].append((whole - around - calling) / plan.steps * 1e6)
        found["run"].append(_busy_time(partial(_run, bare, world, concurrency=AT_A_TIME)) * 1e6)
    return {kind: median(values) for kind, values in found.items()}


def whole_tool(runs: int, concurrency: int) -> float:
    """Microseconds that a hand-written tool costs beyond its calls, all in all, for each of its steps and items."""
    tools, world, name = load_library("hand_A").tools, World(), "locate_first_appearance"
    arguments = {"video_id": "film", "person_query": "somebody"}
    made: list[tuple[str, dict[str, Any]]] = []

    def note(operation: str, given: dict[str, Any]) -> dict[str, Any]:
        made.append((operation, given))
        return world(operation, given)

    run_tool(tools, name, arguments, call=note)
    steps = len(tools[name].tool.steps) + len(made) - 1

    def direct() -> None:
        for operation, given in made:
            world(operation, given)

    whole = partial(run_tool, tools, name, arguments, call=world, limits=RunLimits(concurrency=concurrency))
    return median(_busy_time(whole) - _busy_time(direct) for _ in range(runs)) / steps * 1e6


def _searching(plan: Measured) -> dict[str, Any]:
    return tool(found=plan.tools[-1]["steps"][0]["params"]["top_k"])


def _calls_of(tools: Tools, world: World) -> list[tuple[str, dict[str, Any]]]:
    """The calls that a tool makes after its first, the search."""
    made: list[tuple[str, dict[str, Any]]] = []

    def note(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        made.append((name, arguments))
        return world(name, arguments)

    run_tool(tools, list(tools)[-1], ARGUMENTS, call=note)
    return made[1:]


def speed_up(documents: tuple[dict[str, Any], ...], runs: int, nap: float) -> dict[int, float]:
    """How many times faster a tool is with several calls at a time than with one, on slow operations."""
    tools, world = _compiled(documents), World(nap)
    # Side by side, and the shortest of each: what else the machine did in a run is no speed.
    times: dict[int, float] = {}
    for _ in range(runs):
        for workers in (1, *WORKERS):
            taken = _clock(partial(_run, tools, world, concurrency=workers))
            times[workers] = min(taken, times.get(workers, taken))
    return {workers: times[1] / times[workers] for workers in WORKERS}


def compile_time(source: str, runs: int) -> float:
    """Milliseconds a tool of a document, checked and compiled."""
    count = len(compile_document(source).names)
    return median(_busy_time(lambda: compile_document(source), again=3) for _ in range(runs)) / count * 1e3


def documents() -> dict[str, str]:
    """The packaged libraries, and what a model might write: many tools of many steps."""
    found = {
        folder.parent.name: folder.read_text(encoding="utf-8")
        for folder in sorted((ROOT / "toollibs").glob("*/library.json"))
    }
    made = [{**plan.tools[-1], "tool_name": f"tool_{place}"} for place, plan in enumerate(plans())]
    return {**found, f"{len(made)} tools of 20 steps or items": json.dumps(made)}


def _compiled(documents: tuple[dict[str, Any], ...]) -> Tools:
    return compile_document(list(documents)).require()


def _run(tools: Tools, world: World, *, concurrency: int = 1, traced: bool = False) -> None:
    limits, trace = RunLimits(concurrency=concurrency), Trace() if traced else None
    run_tool(tools, list(tools)[-1], ARGUMENTS, call=world, limits=limits, trace=trace)


def _busy_time(act: Callable[[], object], again: int = _AGAIN) -> float:
    """Seconds of processor time, all threads together."""
    act()
    started = time.process_time()
    for _ in range(again):
        act()
    return (time.process_time() - started) / again


def _clock(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def table(
    steps: Mapping[str, dict[str, float]],
    speed: Mapping[str, dict[int, float]],
    compiling: Mapping[str, float],
    chosen: argparse.Namespace,
    whole: Mapping[int, float],
    waits: Mapping[str, bool],
) -> str:
    """The figures as Markdown, with the goals."""
    run = median(cost["run"] for cost in steps.values())
    lines = [
        "## Tools", "",
        f"Machine: {machine()}. Medians of {chosen.runs} runs.", "",
        "Microseconds of processor time, all threads together, that a step costs beyond the calls it makes, which answer at once",
        f"here: with one call at a time; with {AT_A_TIME}, as on a session; with one and the *trace*, which records where each",
        f"output came from. A run costs {run:.0f} beside that, most of it for the evidence of what was found. Only calls that wait,",
        "by their declared price, are made by other threads.", "",
        f"| steps | one at a time | {AT_A_TIME} at a time | traced |", "| --- | ---: | ---: | ---: |",
        *(f"| {name} | {cost['alone']:.0f} | {cost['shipped']:.0f} | {cost['traced']:.0f} |" for name, cost in steps.items()), "",
        f"`locate_first_appearance` of hand_A, all in all, for each of its steps and items: {whole[1]:.0f} with one call at a time,",
        f"{whole[AT_A_TIME]:.0f} with {AT_A_TIME}.", "",
        f"Times faster than one call at a time, where a call takes {chosen.nap * 1e3:g} ms and does not use the processor:", "",
        "| calls at a time | " + " | ".join(map(str, WORKERS)) + " |", "| --- |" + " ---: |" * len(WORKERS),
        *(f"| {name} | " + " | ".join(f"{found[n]:.1f}" for n in WORKERS) + " |" for name, found in speed.items()), "",
        "Milliseconds a tool to check and compile:", "",
        "| document | a tool |", "| --- | ---: |",
        *(f"| {name} | {found:.1f} |" for name, found in compiling.items()), "",
    ]  # fmt: skip
    return "\n".join([*lines, *goals(steps, speed, compiling, waits)])


def goals(
    steps: Mapping[str, dict[str, float]],
    speed: Mapping[str, dict[int, float]],
    compiling: Mapping[str, float],
    waits: Mapping[str, bool],
) -> list[str]:
    """Each goal, met or missed, with the worst figure."""
    worst = {
        waiting: max(
            (max(cost["alone"], cost["shipped"]), name) for name, cost in steps.items() if waits[name] is waiting
        )
        for waiting in (False, True)
    }
    (cost, kind), (handed, waiter) = worst[False], worst[True]
    share, loop, workers = min((found[n] / n, name, n) for name, found in speed.items() for n in WORKERS)
    slowest, source = max((found, name) for name, found in compiling.items())
    return [
        "Goals:", "",
        f"- At most {STEP_US:g} microseconds a step, with one call at a time and with {AT_A_TIME}: {verdict(cost, STEP_US)}"
        f" ({kind}: {cost:.0f});",
        f"  where calls wait and are given to threads: {verdict(handed, STEP_US)} ({waiter}: {handed:.0f}).",
        f"- At least {SPEED_UP_SHARE:g} of the calls at a time: {verdict(-share, -SPEED_UP_SHARE)}"
        f" ({loop}, {workers} at a time: {share:.2f}).",
        f"- At most {COMPILE_MS:g} ms a tool to compile: {verdict(slowest, COMPILE_MS)} ({source}: {slowest:.1f} ms).",
    ]  # fmt: skip

"""Adapters: others' benchmarks, read from the files as their authors publish them."""

from __future__ import annotations

from eval.datasets.adapters.egoschema import EGOSCHEMA
from eval.datasets.adapters.locomo import LOCOMO
from eval.datasets.adapters.longvideobench import LONGVIDEOBENCH
from eval.datasets.adapters.lvbench import LVBENCH
from eval.datasets.adapters.m3bench import ROBOT, WEB
from eval.datasets.adapters.mlvu import MLVU
from eval.datasets.adapters.nextqa import NEXTQA
from eval.datasets.adapters.raw import Adapter
from eval.datasets.adapters.videomme import VIDEOMME
from world_api.core.faults import EvalFault

ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (ROBOT, WEB, VIDEOMME, LVBENCH, LONGVIDEOBENCH, EGOSCHEMA, NEXTQA, MLVU, LOCOMO)
}


def adapter_named(name: str) -> Adapter:
    """The adapter of a benchmark.

    Raises:
        EvalFault: ``no_such_adapter``.
    """
    found = ADAPTERS.get(name)
    if found is None:
        raise EvalFault("no_such_adapter", f"there is no adapter {name[:80]!r}", hint="one of: " + ", ".join(ADAPTERS))
    return found

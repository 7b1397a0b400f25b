"""A dry run: what would be asked and built, what it may cost, how long it may take, and what its primary contrast could show."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eval.runs.cells import Cell
from eval.runs.configuration.document import ConfigurationDocument
from eval.runs.places import RunFolder
from eval.runs.planning.building import Building, building_of
from eval.runs.planning.materials import material_of
from eval.runs.planning.plan import Plan, make_plan
from eval.runs.planning.spending import GETTING_READY, Expected, expected_of, pilot_of
from eval.runs.running.experiment import Given, at_once, limits_of
from eval.runs.running.showing import duration
from eval.runs.running.standing import standing_of
from eval.runs.running.starting import refuse_another
from eval.runs.running.tally import label_of
from eval.runs.running.workshop import store_of
from eval.statistics.power import USUAL_REPEAT_CORRELATION, Power, power
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.ports import Clock


@dataclass(frozen=True, kw_only=True)
class ArmEstimate:
    """What is left to be asked of one arm, and what that may take: tokens, USD where the price is known, seconds."""

    label: str
    left: int
    tokens: int
    money: float | None
    seconds: float | None
    basis: str
    time_basis: str


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A dry run's answer."""

    name: str
    cells: int
    samples: int
    finished: int
    building: Building
    missing: Mapping[str, tuple[str, ...]]
    arms: tuple[ArmEstimate, ...]
    parallel: int
    primary: str | None
    power: Power | None
    without: tuple[str, ...] = ()  #: what costs as well, and is in no figure
    cell_ids: tuple[str, ...] = field(default=(), repr=False)

    @property
    def tokens(self) -> int:
        """Of all that is left."""
        return sum(arm.tokens for arm in self.arms)

    @property
    def money(self) -> float | None:
        """USD, where the price of every arm is known of which anything is left."""
        known = [arm.money for arm in self.arms if arm.money is not None]
        return sum(known) if known and not self.unpriced else None

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The arms whose price is not known."""
        return tuple(arm.label for arm in self.arms if arm.money is None and arm.left)

    @property
    def asking(self) -> float | None:
        """Wall time of asking, with as many at once as the run would have, and of getting ready for it."""
        known = [arm.seconds for arm in self.arms if arm.seconds is not None]
        return sum(known) / self.parallel + (GETTING_READY if sum(known) else 0.0) if known else None

    @property
    def seconds(self) -> float | None:
        """Wall time of all: worlds are built before anything is asked."""
        return None if self.asking is None else self.asking + self.building.seconds

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "name": self.name,
            "cells": list(self.cell_ids),
            "samples": self.samples,
            "finished": self.finished,
            "worlds_to_build": dict(self.building.worlds),
            "missing_videos": {name: list(videos) for name, videos in self.missing.items()},
            "arms": [asdict(arm) for arm in self.arms],
            "tokens": self.tokens,
            "money": self.money,
            "not_priced": list(self.unpriced),
            "not_estimated": list(self.without),
            "seconds": self.seconds,
            "seconds_building": self.building.seconds,
            "seconds_asking": self.asking,
            "building_basis": self.building.basis,
            "parallel": self.parallel,
            "primary": self.primary,
            "power": self.power.record() if self.power is not None else None,
        }

    def _times(self) -> Iterator[str]:
        """What the time is made of, and what it rests on."""
        if self.building.seconds:
            yield f"of it building worlds: {duration(self.building.seconds)} ({self.building.basis})"
        if self.asking:
            bases = ", ".join(dict.fromkeys(arm.time_basis for arm in self.arms if arm.seconds))
            yield f"of it asking, {self.parallel} at once: {duration(self.asking)} ({bases})"

    def text(self) -> str:
        """For people."""
        lines = [f"{self.name}: {self.cells:,} cells, {self.samples:,} samples, {self.finished:,} of them finished"]
        build = ", ".join(f"{count} {profile}" for profile, count in self.building.worlds.items() if count)
        lines.append(f"worlds to build: {build or 'none'}")
        lines += [
            f"{name}: {len(videos)} videos are not there and are left out: {', '.join(videos[:5])}"
            + (" ..." if len(videos) > 5 else "")
            for name, videos in self.missing.items()
            if videos
        ]
        width = max(len(arm.label) for arm in self.arms)
        for arm in self.arms:
            money = "" if arm.money is None else f"  {arm.money:8.2f} USD"
            lines.append(f"  {arm.label:{width}}  {arm.left:6,} to ask  {arm.tokens:12,} tokens{money}  {arm.basis}")
        lines.append(
            f"in all about {self.tokens:,} tokens, "
            + self._money_told()
            + (f", {duration(self.seconds)}" if self.seconds is not None else "")
        )
        lines += [f"  {line}" for line in self._times()]
        lines += [f"not in these figures: {what}" for what in self.without]
        if self.primary is None:
            lines.append("no primary contrast is named; `primary:` names one before anything is asked")
        else:
            lines.append(f"primary: {self.primary}")
            lines.append("power: " + (self.power.text if self.power is not None else "no question is asked in both"))
        lines.append("nothing was asked")
        return "\n".join(lines)

    def _money_told(self) -> str:
        if self.money is not None:
            return f"{self.money:.2f} USD"
        known = sum(arm.money for arm in self.arms if arm.money is not None)
        return f"{known:.2f} USD and what {', '.join(self.unpriced)} take" if known else "money not known (no `prices`)"


def _without(document: ConfigurationDocument) -> tuple[str, ...]:
    """What of a configuration costs beside the answering model."""
    parts = (
        (document.judge, "the judge of open answers"),
        (document.tool_judge, "the judge steps of tools"),
        (document.perception, "the model that looks at frames"),
    )
    return tuple(what for part, what in parts if part is not None)


def estimate(
    what: Given, *, pilot: Path | None, effect: float, clock: Clock, environment: Mapping[str, str]
) -> Estimate:
    """What a run would take. Nothing is asked, built, or written into the run's folder.

    ``pilot`` is a run whose mean costs are taken; by default the run itself, where some of it is finished.

    Raises:
        VideoWorldError: what would forbid the run; what reading the pilot names.
    """
    with tempfile.TemporaryDirectory(prefix="videoworld-dry-run-") as scratch:
        # Control arms are made to be looked at, and are not kept.
        folder = RunFolder(Path(scratch))
        if what.folder.libraries.is_dir():
            shutil.copytree(what.folder.libraries, folder.libraries)
        plan, workshop = make_plan(
            what.configuration, folder, clock=clock, environment=environment, copies=what.goes_on
        )
    limits_of(plan, workshop)
    refuse_another(plan, what.folder)
    known = standing_of(plan, what.folder) if what.folder.manifest.exists() else None
    finished = known.finished if known is not None else {}
    costs = pilot_of(pilot if pilot is not None else what.folder.root, needed=pilot is not None)
    left: Counter[str] = Counter()
    first: dict[str, Cell] = {}
    by_label: dict[str, list[Expected]] = {}
    for cell in plan.cells:
        label = label_of(cell)
        first.setdefault(label, cell)
        count = sum(cell.sample_key(item.id) not in finished for item in plan.items[cell.dataset])
        left[label] += count
        budget = workshop.budget(cell.budget)
        material = functools.partial(
            material_of, cell, budget, store=store_of(what.configuration), items=plan.items[cell.dataset]
        )
        price = workshop.prices.of(workshop.model.name)
        one = expected_of(cell, budget, costs, price=price, material=material)
        by_label.setdefault(label, []).append(one.times(count))
    return Estimate(
        name=what.configuration.document.name or what.configuration.name,
        cells=len(plan.cells),
        samples=plan.count,
        finished=len(finished),
        building=building_of(plan.worlds),
        missing=plan.missing,
        arms=tuple(_arm(label, left[label], by_label[label]) for label in first),
        parallel=at_once(what.configuration),
        without=_without(what.configuration.document),
        primary=_primary(plan),
        power=_power(plan, effect),
        cell_ids=tuple(cell.id for cell in plan.cells),
    )


def _arm(label: str, left: int, parts: list[Expected]) -> ArmEstimate:
    monies = [part.money for part in parts if part.money is not None]
    seconds = [part.seconds for part in parts if part.seconds is not None]
    return ArmEstimate(
        label=label,
        left=left,
        tokens=round(sum(part.tokens for part in parts)),
        money=sum(monies) if monies else None,
        seconds=sum(seconds) if seconds else None,
        basis=parts[0].basis,
        time_basis=parts[0].time_basis,
    )


def _primary(plan: Plan) -> str | None:
    part = plan.configuration.document.primary
    if part is None:
        return None
    where = [f"budget {part.budget}", f"{part.world} worlds"]
    where += [f"dataset {part.dataset}"] if part.dataset is not None else []
    where += [f"domain {part.domain}"] if part.domain is not None else []
    where += [f"library {part.library}"] if part.library is not None else []
    return f"{part.arm} against {part.against}, {', '.join(where)}"


def _power(plan: Plan, effect: float) -> Power | None:
    """Of the primary contrast, over the videos that are asked about in both of its arms."""
    part = plan.configuration.document.primary
    if part is None:
        return None
    videos: Counter[tuple[str, str]] = Counter()
    for name, items in plan.items.items():
        for item in items if part.dataset in (None, name) else ():
            if part.domain is None or item.domain == part.domain:
                videos[name, item.video_id] += 1
    if not videos:
        return None
    document = plan.configuration.document
    return power(
        list(videos.values()),
        effect=effect,
        repeats=len(document.seeds),
        # The rule-based model ignores the seed: asking again tells nothing new.
        repeat_correlation=1.0 if document.model == RULE_BASED else USUAL_REPEAT_CORRELATION,
    )

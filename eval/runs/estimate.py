"""A dry run: what would be asked and built, what it may cost and take, and the power of its primary contrast."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from controller.accounts import accounts_of, total
from controller.budgets import Budget
from controller.systems.blind import Blind, BlindOptions
from controller.systems.direct import Direct, DirectOptions
from controller.systems.options import read_options
from controller.systems.socratic import Socratic, SocraticOptions
from controller.systems.transcript import transcript, transcript_tokens
from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.configuration import ConfigurationDocument
from eval.runs.experiment import Experiment, limits_of
from eval.runs.files import RunFolder
from eval.runs.plan import Plan, WorldNeeded, make_plan
from eval.runs.progress import duration
from eval.runs.reading import read_run
from eval.runs.resume import check_same_run, resume_state
from eval.runs.worlds import PERCEIVED, TRUE, open_for
from eval.statistics.power import USUAL_REPEAT_CORRELATION, Power, power
from world_api.backends.chat.prices import Price
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.backends.chat.usage import IMAGE_TOKENS, Usage, estimate_tokens
from world_api.build.media.apart.worker import MediaWorker
from world_api.core.faults import EpisodeFault, EvalFault, MediaFault, VideoWorldError
from world_api.core.ports import Clock

#: Seconds that a minute of video is assumed to take, of 640 x 360 on an ordinary machine that does nothing else.
_A_MINUTE: Mapping[str, float] = {TRUE: 2.0, PERCEIVED: 8.0}
_EACH = 1.0  #: and each world beside that
_MOST_FILMS = 20  #: videos whose length is looked up; the others are taken to be as long as these are on average


@dataclass(frozen=True, kw_only=True)
class Building:
    """The worlds that are to be built, by profile, and the seconds they may take; ``basis`` says what that rests on."""

    worlds: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    basis: str = ""


def building_of(worlds: Sequence[WorldNeeded]) -> Building:
    """What building the missing ones may take. One is built after the other."""
    missing = [world for world in worlds if world.hash is None]
    films = {world.video.video_id: world.video.path for world in missing if world.video.path is not None}
    minutes = _mean_minutes(list(films.values()))
    seconds = _EACH * len(missing)
    rates: dict[str, float] = {}
    for world in missing:
        if world.video.text is None and world.video.path is not None:
            rates[world.profile] = _A_MINUTE.get(world.profile, _A_MINUTE[PERCEIVED])
            seconds += rates[world.profile] * (minutes or 0.0)
    told = [f"{rate:g} s a minute of {profile} world" for profile, rate in rates.items()]
    if rates:
        told.append(
            f"films of {minutes:.1f} minutes" if minutes is not None else "no film could be read, so without them"
        )
    return Building(
        worlds=Counter(world.profile for world in missing),
        seconds=seconds,
        basis="assumed: " + ", ".join([*told, f"{_EACH:g} s a world"]) if missing else "",
    )


def _mean_minutes(films: Sequence[Path]) -> float | None:
    """The mean length of some of the films, as their files say; None where none does."""
    step = max(1, -(-len(films) // _MOST_FILMS))
    worker, found = MediaWorker(), list[float]()
    try:
        for film in films[::step]:
            try:
                length = worker.probe(film).declared_duration
            except MediaFault:
                continue  # building it will name it
            found += [length / 60] if length is not None else []
    finally:
        worker.close()
    return sum(found) / len(found) if found else None


#: Videos whose lines of speech are looked at, so that a dry run is over soon.
_MOST_VIDEOS = 5
#: What is assumed of a caption, and of all that is neither picture nor speech nor caption.
_CAPTION, _BARE = 80, 1_500


@dataclass(frozen=True, kw_only=True)
class Material:
    """Tokens of the request, and what they are of."""

    tokens: int
    basis: str


def material_of(cell: Cell, budget: Budget, *, store: Path, items: Sequence[Item]) -> Material | None:
    """What a sample of a cell sends in its one request; None of a system that acts with tools.

    Lines of speech are those of the first few worlds that are built; where none is, as many as the system takes at most.
    """
    system, settings = cell.arm.system, cell.arm.settings
    if system == Direct.name:
        shown = read_options(DirectOptions, settings, system=system)
        parts = [(IMAGE_TOKENS * shown.frames, f"{shown.frames} pictures of {IMAGE_TOKENS} tokens")]
        return _of([*parts, _speech(cell, budget, store, items)] if shown.transcript else parts)
    if system == Blind.name:
        heard = read_options(BlindOptions, settings, system=system).variant == "transcript"
        return _of([_speech(cell, budget, store, items)] if heard else [])
    if system == Socratic.name:
        captions = read_options(SocraticOptions, settings, system=system).top_k
        return _of([(_CAPTION * captions, f"{captions} captions")])
    return None


def _of(parts: Iterable[tuple[int, str]]) -> Material:
    found = list(parts)
    told = ", ".join(["1 request", *(what for _, what in found)])
    return Material(tokens=_BARE + sum(tokens for tokens, _ in found), basis=f"assumed: {told}")


def _speech(cell: Cell, budget: Budget, store: Path, items: Sequence[Item]) -> tuple[int, str]:
    """Tokens of the lines that are spoken, by the worlds that are there."""
    most = transcript_tokens(budget)
    found: list[int] = []
    for item in {item.video_id: item for item in reversed(items)}.values():
        with suppress(VideoWorldError):  # such as a world that is not built yet
            session = open_for(store, cell.world, item)
            found.append(estimate_tokens(transcript(session, max_tokens=most)))
        if len(found) == _MOST_VIDEOS:
            break
    if not found:
        return most, f"at most {most:,} tokens of speech (no world is built)"
    return round(sum(found) / len(found)), f"speech as in {len(found)} worlds"


#: What is assumed where no pilot tells: tokens of the first request with the declarations of the tools, what each
#: round adds to the next request, what a reply has; rounds of those that act with tools; seconds of a round.
_FIRST, _ROUND_ADDS, _REPLY = 9_000, 2_000, 250
_ROUNDS = 5
_SECONDS_A_ROUND = 4.0
_SECONDS_RULE_BASED = 0.3
GETTING_READY = 4.0  #: seconds until the first question is asked
_MOST_EPISODES = 50  #: episodes of a pilot's cell


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Tokens, USD and seconds that are expected, and what that rests on: ``basis`` of all, ``time_basis`` of the seconds."""

    prompt: float
    completion: float
    money: float | None
    seconds: float | None
    basis: str
    time_basis: str = ""

    @property
    def tokens(self) -> float:
        """Sent and written."""
        return self.prompt + self.completion

    def times(self, count: int) -> Expected:
        """Of so many samples."""
        return replace(
            self,
            prompt=self.prompt * count,
            completion=self.completion * count,
            money=None if self.money is None else self.money * count,
            seconds=None if self.seconds is None else self.seconds * count,
        )


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """Mean costs of a run's episodes by arm and library, or by system where that arm was not in it."""

    model: str = ""
    means: Mapping[str, Expected] = field(default_factory=dict)

    def of(self, cell: Cell) -> Expected | None:
        """What it tells of a cell; nothing of another model."""
        if cell.model != self.model:
            return None
        return self.means.get(cell.label) or self.means.get(f"system {cell.arm.system}")


def pilot_of(folder: Path, *, needed: bool) -> Pilot:
    """The mean costs of a run; where it is not ``needed``, none of a folder without one.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``no_pilot``: it has no episode.
    """
    if not needed and not (folder / "manifest.json").exists():
        return Pilot()
    run = read_run(folder)
    found: dict[str, list[Expected]] = {}
    for cell, samples in run.by_cell():
        for sample in samples[:_MOST_EPISODES]:
            try:
                episode = run.episode(sample)
            except EpisodeFault:
                continue
            if episode is None:
                continue
            spent = total(accounts_of(episode).logical)
            one = Expected(
                prompt=spent.prompt,
                completion=spent.completion,
                money=spent.money,
                seconds=episode.timings.seconds if episode.timings is not None else None,
                basis="",
            )
            for label in (cell.label, f"system {cell.arm.system}"):
                found.setdefault(label, []).append(one)
    if needed and not found:
        raise EvalFault("no_pilot", f"no episode of {folder.name} is finished", hint="run some of it first")
    return Pilot(model=run.manifest.model, means={label: _mean(parts) for label, parts in found.items()})


def expected_of(
    cell: Cell, budget: Budget, pilot: Pilot, *, price: Price | None, material: Callable[[], Material | None]
) -> Expected:
    """What one sample of a cell is likely to take. ``material`` tells what a system without tools sends."""
    known = pilot.of(cell)
    if known is not None:
        money = known.money if known.money is not None else _money(price, known.prompt, known.completion)
        return replace(known, money=money)
    if cell.model == RULE_BASED:
        return Expected(
            prompt=0,
            completion=0,
            money=None,
            seconds=_SECONDS_RULE_BASED,
            basis="the rule-based model counts no tokens",
            time_basis=f"assumed: {_SECONDS_RULE_BASED:g} s a question",
        )
    told = material()
    rounds = 1 if told is not None else max(1, min(_ROUNDS, budget.rounds))
    acting = sum(_FIRST + _ROUND_ADDS * number for number in range(rounds))
    prompt = min(float(told.tokens if told is not None else acting), float(budget.tokens))
    completion = float(_REPLY * rounds)
    return Expected(
        prompt=prompt,
        completion=completion,
        money=_money(price, prompt, completion),
        seconds=rounds * _SECONDS_A_ROUND,
        basis=told.basis if told is not None else f"assumed: {rounds} rounds",
        time_basis=f"assumed: {_SECONDS_A_ROUND:g} s a request",
    )


def _money(price: Price | None, prompt: float, completion: float) -> float | None:
    return None if price is None else price.money(Usage(prompt=round(prompt), completion=round(completion)))


def _mean(parts: list[Expected]) -> Expected:
    monies = [part.money for part in parts if part.money is not None]
    seconds = [part.seconds for part in parts if part.seconds is not None]
    return Expected(
        prompt=sum(part.prompt for part in parts) / len(parts),
        completion=sum(part.completion for part in parts) / len(parts),
        money=sum(monies) / len(monies) if monies else None,
        seconds=sum(seconds) / len(seconds) if seconds else None,
        basis=f"mean of {len(parts)} episodes",
        time_basis="means of episodes",
    )


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
    what: Experiment, *, pilot: Path | None, effect: float, clock: Clock, environment: Mapping[str, str]
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
        plan, runner = make_plan(
            what.configuration, folder, clock=clock, environment=environment, copies=what.continues
        )
    limits_of(plan, runner)
    check_same_run(plan, what.folder)
    known = resume_state(plan, what.folder) if what.folder.manifest.exists() else None
    finished = known.finished if known is not None else {}
    costs = pilot_of(pilot if pilot is not None else what.folder.root, needed=pilot is not None)
    left: Counter[str] = Counter()
    first: dict[str, Cell] = {}
    by_label: dict[str, list[Expected]] = {}
    for cell in plan.cells:
        label = cell.label
        first.setdefault(label, cell)
        count = sum(cell.sample_key(item.id) not in finished for item in plan.items[cell.dataset])
        left[label] += count
        budget = runner.budget(cell.budget)
        material = functools.partial(
            material_of, cell, budget, store=what.configuration.store, items=plan.items[cell.dataset]
        )
        price = runner.prices.of(runner.model.name)
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
        parallel=what.workers,
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

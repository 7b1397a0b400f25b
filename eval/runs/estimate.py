"""A dry run: missing samples and worlds, their expected cost and time, and the power of the primary contrast."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from controller.episode import Episode, Task, accounts_of, total
from controller.options import Budget
from controller.records.replay import RecordedSession
from controller.systems.base import SystemContext, read_options
from controller.systems.baselines import (
    Blind,
    BlindOptions,
    Direct,
    DirectOptions,
    Socratic,
    SocraticOptions,
    transcript,
    transcript_tokens,
)
from controller.systems.tool_systems import build_system, own_system
from eval.datasets.items import Item
from eval.runs.configuration import PrimaryPart
from eval.runs.experiment import Experiment, check_limits, check_same_run, resume_state
from eval.runs.plan import RunPlan, WorldNeeded, make_plan
from eval.runs.records import Cell, RunFolder
from eval.runs.scheduler import duration
from eval.runs.stored_run import read_run
from eval.runs.worlds import PERCEIVED, TRUE, open_for
from eval.statistics import USUAL_REPEAT_CORRELATION, Power, power
from world_api.chat.messages import IMAGE_TOKENS, Price, Usage, estimate_tokens
from world_api.chat.rule_based import RULE_BASED
from world_api.core.faults import BackendFault, EpisodeFault, EvalFault, MediaFault, VideoWorldError
from world_api.core.ports import Clock
from world_api.media.decoder import MediaWorker
from world_api.session.session import Session

#: Assumed seconds to build a minute of video (640 x 360, an ordinary idle machine), and per world in addition.
_BUILD_SECONDS: Mapping[str, float] = {TRUE: 2.0, PERCEIVED: 8.0}
_WORLD_SECONDS = 1.0
_MAX_FILMS = 20  #: most videos whose length is read; the others are assumed to have the mean
_MAX_SPEECH = 5  #: most worlds whose speech is measured
_MAX_EPISODES = 50  #: most episodes that are read in each cell of a pilot
#: Assumed tokens of a caption, and of a request without pictures, speech and captions.
_CAPTION_TOKENS, _BARE_TOKENS = 80, 1_500
#: Assumed without a pilot: tokens of the first request of a system of another package, tokens that each round adds,
#: tokens of a reply; rounds of a system with tools; seconds of a round and of a rule-based question.
_FIRST_TOKENS, _ROUND_TOKENS, _REPLY_TOKENS = 4_000, 1_000, 250
_ROUNDS = 5
_ROUND_SECONDS, _RULE_BASED_SECONDS = 4.0, 0.3
_START_SECONDS = 4.0  #: until the first question is asked


@dataclass(frozen=True, kw_only=True)
class Building:
    """Number of worlds to build by profile, and expected seconds for all of them; ``basis`` names the assumptions."""

    worlds: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    basis: str = ""


def building_of(worlds: Sequence[WorldNeeded]) -> Building:
    """Return the number of missing worlds and the expected time of building them one after the other."""
    missing = [world for world in worlds if world.hash is None]
    if not missing:
        return Building()
    filmed = [(world.profile, world.video.path) for world in missing if world.video.text is None and world.video.path]
    rates = {profile: _BUILD_SECONDS.get(profile, _BUILD_SECONDS[PERCEIVED]) for profile, _ in filmed}
    minutes = _mean_minutes(list(dict.fromkeys(path for _, path in filmed)))
    basis = [f"{rate:g} s a minute of {profile} world" for profile, rate in rates.items()]
    if filmed:
        basis.append("no film could be read, so without them" if minutes is None else f"films of {minutes:.1f} minutes")
    return Building(
        worlds=Counter(world.profile for world in missing),
        seconds=_WORLD_SECONDS * len(missing) + sum(rates[profile] for profile, _ in filmed) * (minutes or 0.0),
        basis="assumed: " + ", ".join([*basis, f"{_WORLD_SECONDS:g} s a world"]),
    )


def _mean_minutes(films: Sequence[Path]) -> float | None:
    """Return the mean length of films in minutes, as declared in the files; None if none can be read."""
    found: list[float | None] = []
    with closing(MediaWorker()) as worker:
        for film in films[:: max(1, -(-len(films) // _MAX_FILMS))]:
            with suppress(MediaFault):  # the build reports it
                found.append(worker.probe(film).declared_duration)
    seconds = _mean(found)
    return None if seconds is None else seconds / 60


@dataclass(frozen=True, kw_only=True)
class SampleEstimate:
    """Expected tokens, USD and seconds of a sample; ``basis`` and ``time_basis`` (for seconds) name the sources."""

    prompt: float = 0.0
    completion: float = 0.0
    money: float | None = None
    seconds: float | None = None
    basis: str = ""
    time_basis: str = ""


def pilot_means(folder: Path, *, model: str, needed: bool) -> Mapping[str, SampleEstimate]:
    """Return the mean costs of a run's episodes, by arm with library (``hier@hand_A``) and by system (``system hier``).

    Empty if the run has another model, or if ``needed`` is false and the folder has no run or the run no episode.
    Raises EvalFault: ``no_such_run``, ``run_damaged``; ``no_pilot``: a ``needed`` run has no episode.
    """
    if not needed and not (folder / "manifest.json").exists():
        return {}
    run = read_run(folder)
    found: dict[str, list[Episode]] = {}
    for cell, samples in run.by_cell():
        for sample in samples[:_MAX_EPISODES]:
            with suppress(EpisodeFault):
                if (episode := run.episode(sample)) is not None:
                    for label in (cell.label, f"system {cell.arm.system}"):
                        found.setdefault(label, []).append(episode)
    if needed and not found:
        raise EvalFault("no_pilot", f"no episode of {folder.name} is finished", hint="run some of it first")
    return {label: _mean_cost(episodes) for label, episodes in found.items()} if run.manifest.model == model else {}


def _mean_cost(episodes: Sequence[Episode]) -> SampleEstimate:
    spent = [total(accounts_of(episode).logical) for episode in episodes]
    return SampleEstimate(
        prompt=_mean(one.prompt for one in spent) or 0.0,
        completion=_mean(one.completion for one in spent) or 0.0,
        money=_mean(one.money for one in spent),
        seconds=_mean(one.timings.seconds for one in episodes if one.timings is not None),
        basis=f"mean of {len(episodes)} episodes",
        time_basis="means of episodes",
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


@dataclass(frozen=True, kw_only=True)
class FirstRequest:
    """Estimated tokens of a system's first request, and of the declarations of tools in it; the digest counts as its limit."""

    tokens: int
    declared: int


class _NotSent:
    """A model that keeps its first request and refuses it."""

    name = "not sent"

    def __init__(self) -> None:
        self.request: dict[str, Any] = {}

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        self.request = self.request or request
        raise BackendFault("not_sent", "a dry run sends nothing")


def first_request(cell: Cell, item: Item, context: SystemContext) -> FirstRequest | None:
    """Return the size of the first request of a system that declares tools, made without a world; None for any other system."""
    kind = own_system(cell.arm.system)
    if kind is None or kind in (Direct, Blind, Socratic):
        return None
    model, task = _NotSent(), Task(
        question=item.question, video_id=item.video_id, world_hash="", session="", revision=0, system=cell.arm.system
    )  # fmt: skip
    bare = replace(context, model=model, budget=replace(context.budget, digest_tokens=0, money=None))
    session = RecordedSession(task, groups=frozenset(cell.arm.groups))
    build_system(cell.arm.system, bare).answer(item.question, cast(Session, session))
    digest = context.budget.digest_tokens if kind.gives_digest else 0
    declared = estimate_tokens(model.request.get("tools", []))
    return FirstRequest(
        tokens=declared + estimate_tokens(model.request.get("messages", [])) + digest, declared=declared
    )


def _expected(
    cell: Cell,
    budget: Budget,
    pilot: Mapping[str, SampleEstimate],
    *,
    first: FirstRequest | None,
    price: Price | None,
    store: Path,
    items: Sequence[Item],
) -> SampleEstimate:
    """Return the expected cost of one sample of a cell: from the pilot if possible, else from assumptions."""

    def money(prompt: float, completion: float) -> float | None:
        return None if price is None else price.money(Usage(prompt=round(prompt), completion=round(completion)))

    known = pilot.get(cell.label) or pilot.get(f"system {cell.arm.system}")
    if known is not None:
        return known if known.money is not None else replace(known, money=money(known.prompt, known.completion))
    if cell.model == RULE_BASED:
        time_basis = f"assumed: {_RULE_BASED_SECONDS:g} s a question"
        basis = "the rule-based model counts no tokens"
        return SampleEstimate(seconds=_RULE_BASED_SECONDS, basis=basis, time_basis=time_basis)
    parts = _request_parts(cell, budget, store=store, items=items)
    if parts is None:
        rounds = max(1, min(_ROUNDS, budget.rounds))
        at_first = _FIRST_TOKENS if first is None else first.tokens
        prompt, basis = sum(at_first + _ROUND_TOKENS * number for number in range(rounds)), f"{rounds} rounds"
    else:
        rounds = 1
        prompt = _BARE_TOKENS + sum(tokens for tokens, _ in parts)
        basis = ", ".join(["1 request", *(what for _, what in parts)])
    prompt, completion = min(prompt, budget.tokens), _REPLY_TOKENS * rounds
    return SampleEstimate(
        prompt=prompt,
        completion=completion,
        money=money(prompt, completion),
        seconds=rounds * _ROUND_SECONDS,
        basis=f"assumed: {basis}",
        time_basis=f"assumed: {_ROUND_SECONDS:g} s a request",
    )


def _request_parts(cell: Cell, budget: Budget, *, store: Path, items: Sequence[Item]) -> list[tuple[int, str]] | None:
    """Return the parts of a system's single request (tokens, description); None for a system that acts with tools."""
    system, settings = cell.arm.system, cell.arm.settings
    parts: list[tuple[int, str]] = []
    hears = False
    if system == Direct.name:
        direct = read_options(DirectOptions, settings, system=system)
        parts.append((IMAGE_TOKENS * direct.frames, f"{direct.frames} pictures of {IMAGE_TOKENS} tokens"))
        hears = direct.transcript
    elif system == Blind.name:
        hears = read_options(BlindOptions, settings, system=system).variant == "transcript"
    elif system == Socratic.name:
        captions = read_options(SocraticOptions, settings, system=system).top_k
        parts.append((_CAPTION_TOKENS * captions, f"{captions} captions"))
    else:
        return None
    return [*parts, _speech(cell, budget, store, items)] if hears else parts


def _speech(cell: Cell, budget: Budget, store: Path, items: Sequence[Item]) -> tuple[int, str]:
    """Return the tokens of a transcript, and the text that describes this part of a request.

    The tokens are the mean over up to five built worlds; if no world is built, the limit of the system.
    """
    most = transcript_tokens(budget)
    found: list[int] = []
    for item in {item.video_id: item for item in reversed(items)}.values():
        with suppress(VideoWorldError):  # such as a world that is not built yet
            session = open_for(store, cell.world, item)
            found.append(estimate_tokens(transcript(session, max_tokens=most)))
        if len(found) == _MAX_SPEECH:
            break
    if not found:
        return most, f"at most {most:,} tokens of speech (no world is built)"
    return round(sum(found) / len(found)), f"speech as in {len(found)} worlds"


@dataclass(frozen=True, kw_only=True)
class ArmEstimate:
    """The unfinished samples of one arm and their expected tokens, USD (None if no price is known) and seconds.

    ``first``: the first request, for systems that declare tools.
    """

    label: str
    left: int
    tokens: int
    money: float | None
    seconds: float | None
    basis: str
    time_basis: str
    first: FirstRequest | None = None


@dataclass(frozen=True, kw_only=True)
class RunEstimate:
    """The result of a dry run."""

    name: str
    cells: tuple[str, ...]  #: their ids
    samples: int
    finished: int
    building: Building
    missing: Mapping[str, tuple[str, ...]]
    arms: tuple[ArmEstimate, ...]
    parallel: int
    primary: str | None
    power: Power | None
    without: tuple[str, ...]  #: models whose cost is not included

    @property
    def tokens(self) -> int:
        """Expected tokens of all unfinished samples."""
        return sum(arm.tokens for arm in self.arms)

    @property
    def money(self) -> float | None:
        """Expected USD; None unless the price of every unfinished arm is known."""
        return None if self.unpriced else _sum(arm.money for arm in self.arms)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The unfinished arms whose price is not known."""
        return tuple(arm.label for arm in self.arms if arm.money is None and arm.left)

    @property
    def asking(self) -> float | None:
        """Expected seconds for starting and for the samples, run by several workers at once; None if unknown."""
        seconds = _sum(arm.seconds for arm in self.arms)
        return seconds / self.parallel + _START_SECONDS if seconds else seconds

    @property
    def seconds(self) -> float | None:
        """Expected seconds of wall time in all, including the worlds, which are built first; None if unknown."""
        return None if self.asking is None else self.asking + self.building.seconds

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **{key: getattr(self, key) for key in ("name", "samples", "finished", "tokens", "money", "seconds")},
            "cells": list(self.cells),
            "worlds_to_build": dict(self.building.worlds),
            "missing_videos": {name: list(videos) for name, videos in self.missing.items()},
            "arms": [asdict(arm) for arm in self.arms],
            "not_priced": list(self.unpriced),
            "not_estimated": list(self.without),
            "seconds_building": self.building.seconds,
            "seconds_asking": self.asking,
            "building_basis": self.building.basis,
            "parallel": self.parallel,
            "primary": self.primary,
            "power": self.power.record() if self.power is not None else None,
        }

    def text(self) -> str:
        """Return the estimate as text for a terminal."""
        lines = [
            f"{self.name}: {len(self.cells):,} cells, {self.samples:,} samples, {self.finished:,} of them finished"
        ]
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
            if arm.first is not None:
                first = f"first request about {arm.first.tokens:,} tokens, {arm.first.declared:,} of them declarations"
                lines.append(f"  {'':{width}}  {first}")
        known = _sum(arm.money for arm in self.arms)
        cost = "money not known (no `prices`)" if known is None else f"{known:.2f} USD"
        cost += f" and what {', '.join(self.unpriced)} take" if known is not None and self.unpriced else ""
        time = f", {duration(self.seconds)}" if self.seconds is not None else ""
        lines.append(f"in all about {self.tokens:,} tokens, {cost}{time}")
        if self.building.seconds:
            lines.append(f"  of it building worlds: {duration(self.building.seconds)} ({self.building.basis})")
        if self.asking:
            bases = ", ".join(dict.fromkeys(arm.time_basis for arm in self.arms if arm.seconds))
            lines.append(f"  of it asking, {self.parallel} at once: {duration(self.asking)} ({bases})")
        lines += [f"not in these figures: {what}" for what in self.without]
        if self.primary is None:
            lines.append("no primary contrast is named; `primary:` names one before anything is asked")
        else:
            power_text = self.power.text if self.power is not None else "no question is asked in both"
            lines += [f"primary: {self.primary}", f"power: {power_text}"]
        return "\n".join([*lines, "nothing was asked"])


def estimate_run(
    what: Experiment, *, pilot: Path | None, effect: float, clock: Clock, environment: Mapping[str, str]
) -> RunEstimate:
    """Estimate the cost, time and power of a run. Nothing is asked or built, and the run's folder is unchanged.

    ``pilot`` is a run whose mean costs are used; by default the finished part of the run itself. ``effect`` is the
    assumed true difference in accuracy (0 to 1) for which the power of the primary contrast is computed. Raises
    VideoWorldError: the faults that would stop the run; the faults of reading the pilot.
    """
    with tempfile.TemporaryDirectory(prefix="videoworld-dry-run-") as scratch:
        # Control arms are made for the checks of the plan, and are not kept.
        folder = RunFolder(Path(scratch))
        if what.folder.libraries.is_dir():
            shutil.copytree(what.folder.libraries, folder.libraries)
        plan, runner = make_plan(
            what.configuration, folder, clock=clock, environment=environment, copies=what.continues
        )
    check_limits(plan, runner)
    check_same_run(plan, what.folder)
    known = resume_state(plan, what.folder) if what.folder.manifest.exists() else None
    finished = known.finished if known is not None else {}
    costs = pilot_means(pilot or what.folder.root, model=runner.model.name, needed=pilot is not None)
    price = runner.prices.of(runner.model.name)
    document = what.configuration.document
    others = (
        (document.judge, "the judge of open answers"),
        (document.tool_judge, "the judge steps of tools"),
        (document.perception, "the model that looks at frames"),
    )
    store, primary = what.configuration.store, document.primary
    by_label: dict[str, list[tuple[int, SampleEstimate]]] = {}
    firsts: dict[str, FirstRequest | None] = {}
    for cell in plan.cells:
        items = plan.items[cell.dataset]
        left = sum(cell.sample_key(item.id) not in finished for item in items)
        if cell.label not in firsts:
            firsts[cell.label] = first_request(cell, items[0], runner.context(cell, items[0]))
        first, budget = firsts[cell.label], runner.budget(cell.budget)
        one = _expected(cell, budget, costs, first=first, price=price, store=store, items=items)
        by_label.setdefault(cell.label, []).append((left, one))
    return RunEstimate(
        name=document.name or what.configuration.name,
        cells=tuple(cell.id for cell in plan.cells),
        samples=plan.count,
        finished=len(finished),
        building=building_of(plan.worlds),
        missing=plan.missing,
        arms=tuple(
            ArmEstimate(
                label=label,
                left=sum(count for count, _ in parts),
                tokens=round(sum(count * (one.prompt + one.completion) for count, one in parts)),
                money=_sum(None if one.money is None else count * one.money for count, one in parts),
                seconds=_sum(None if one.seconds is None else count * one.seconds for count, one in parts),
                basis=parts[0][1].basis,
                time_basis=parts[0][1].time_basis,
                first=firsts[label],
            )
            for label, parts in by_label.items()
        ),
        parallel=what.workers,
        without=tuple(name for part, name in others if part is not None),
        primary=_primary(primary) if primary is not None else None,
        power=_power(plan, primary, effect) if primary is not None else None,
    )


def _primary(part: PrimaryPart) -> str:
    named = {key: getattr(part, key) for key in ("dataset", "domain", "library")}
    where = [f"budget {part.budget}", f"{part.world} worlds"]
    where += [f"{key} {value}" for key, value in named.items() if value is not None]
    return f"{part.arm} against {part.against}, {', '.join(where)}"


def _power(plan: RunPlan, part: PrimaryPart, effect: float) -> Power | None:
    """Return the power of the primary contrast for a true difference of ``effect``; None if it has no questions."""
    asked = ((name, item) for name, items in plan.items.items() for item in items if part.dataset in (None, name))
    videos = Counter((name, item.video_id) for name, item in asked if part.domain in (None, item.domain))
    if not videos:
        return None
    document = plan.configuration.document
    return power(
        list(videos.values()),
        effect=effect,
        repeats=len(document.seeds),
        # The rule-based model ignores the seed: a repetition adds no information.
        repeat_correlation=1.0 if document.model == RULE_BASED else USUAL_REPEAT_CORRELATION,
    )

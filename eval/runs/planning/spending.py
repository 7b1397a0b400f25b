"""What a sample is likely to take: as a pilot took it, or under assumptions that are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from controller.accounts import accounts_of, total
from controller.budgets import Budget
from eval.runs.cells import Cell
from eval.runs.planning.materials import Material
from eval.runs.reading import read_run
from eval.runs.running.tally import label_of
from world_api.backends.chat.completions import Usage
from world_api.backends.chat.prices import Price
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.faults import EpisodeFault, EvalFault

#: What is assumed where no pilot tells: tokens of the first request with the declarations of the tools, what each
#: round adds to the next request, what a reply has; rounds of those that act with tools; seconds of a round.
_FIRST, _ROUND_ADDS, _REPLY = 9_000, 2_000, 250
_ROUNDS = 5
_SECONDS_A_ROUND = 4.0
_SECONDS_RULE_BASED = 0.3
GETTING_READY = 4.0  #: seconds until the first question is asked
_MOST_LOOKED_AT = 50  #: episodes of a pilot's cell


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
        return self.means.get(label_of(cell)) or self.means.get(f"system {cell.arm.system}")


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
        for sample in samples[:_MOST_LOOKED_AT]:
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
            for label in (label_of(cell), f"system {cell.arm.system}"):
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

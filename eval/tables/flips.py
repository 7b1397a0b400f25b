"""The questions that only one of two arms answered right, with both trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from controller.display import cut, round_lines, summary_record, value_text, wrapped
from controller.episode import Episode, accounts_of, total
from eval.datasets.items import Item
from eval.runs.stored_run import Run
from eval.tables.comparisons import Pairs
from eval.tables.rows import SampleRow
from eval.tables.study import grouped
from world_api.core.faults import EpisodeFault
from world_api.core.identifiers import columns as width_of

Which = Literal["all", "a", "b"]
#: In narrower terminals one trajectory is below the other.
SIDE_BY_SIDE = 120
_GAP = " | "


@dataclass(frozen=True, kw_only=True)
class Side:
    """One arm's sample, with its episode; ``why`` is the reason if ``episode`` is None."""

    row: SampleRow
    episode: Episode | None
    why: str = ""

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        names = ("sample", "arm", "correct", "score", "outcome", "reason")
        episode = summary_record(self.episode) if self.episode is not None else None
        return {**{name: getattr(self.row, name) for name in names}, "episode": episode, "why": self.why}


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A question that only one of two arms answered right."""

    item: Item
    one: Side
    other: Side

    def record(self) -> dict[str, Any]:
        """Return the JSON form. ``right`` is ``a`` if the first arm is right, else ``b``."""
        question, row = self.item.question, self.one.row
        return {
            "item": self.item.id,
            "question": question.text,
            "kind": question.kind,
            "options": list(question.options),
            "truth": self.item.answer,
            "spans": [[span.start, span.end] for span in self.item.spans],
            "video": self.item.video_id,
            "dataset": row.dataset,
            "domain": self.item.domain,
            "world": row.world,
            "budget": row.budget,
            "seed": row.seed,
            "right": "a" if row.correct else "b",
            "a": self.one.record(),
            "b": self.other.record(),
        }


def flipped(pairs: Pairs, which: Which = "all") -> list[tuple[SampleRow, SampleRow]]:
    """Return the pairs of which only the first sample is right (``which``: ``a``), then those of the second (``b``)."""
    better = pairs.better if which in ("all", "a") else []
    worse = pairs.worse if which in ("all", "b") else []
    return [*better, *worse]


def flips_of(run: Run, flips: Sequence[tuple[SampleRow, SampleRow]]) -> list[Flip]:
    """Return pairs of samples as flips, with their questions and episodes. Each cell's journal is read once."""
    sides: dict[str, Side] = {}
    for cell, rows in grouped((row for pair in flips for row in pair), lambda row: row.cell).items():
        sides.update({row.sample: _side(run, row) for row in rows})
        run.forget(cell)
    return [
        Flip(item=run.items[one.dataset, one.item], one=sides[one.sample], other=sides[other.sample])
        for one, other in flips
    ]


def _side(run: Run, row: SampleRow) -> Side:
    try:
        episode = run.episode(run.by_key[row.sample])
    except EpisodeFault as fault:
        return Side(row=row, episode=None, why=fault.message)
    return Side(row=row, episode=episode, why="" if episode is not None else f"no episode: {row.reason}")


def flip_text(flip: Flip, *, width: int, full: bool = False) -> str:
    """Return a flip as text: the question with its reference answer, then both trajectories.

    They are side by side if ``width`` (in characters) allows; ``full`` shows replies and calls in full length.
    """
    lines = list(_question(flip, min(width, 2 * SIDE_BY_SIDE)))
    if width >= SIDE_BY_SIDE:
        half = (width - len(_GAP)) // 2
        lines += _beside(_column(flip.one, half, full=full), _column(flip.other, half, full=full), half)
    else:
        for side in (flip.one, flip.other):
            lines += ["", *(line for block in _column(side, width, full=full) for line in block)]
    return "\n".join(lines)


def _question(flip: Flip, width: int) -> Iterator[str]:
    item, row = flip.item, flip.one.row
    shown = ", ".join(f"{span.start:g}-{span.end:g} s" for span in item.spans)
    options = zip(item.question.letters, item.question.options, strict=True)
    lines = [
        f"{item.id}  {item.question.text}",
        *(f"  {letter}. {option}" for letter, option in options),
        f"truth: {value_text(item.answer, 200)}" + (f", shown at {shown}" if shown else ""),
        f"video {item.video_id}, {item.domain or 'no domain'}, world {row.world}, budget {row.budget}, seed {row.seed}",
    ]
    for line in lines:
        yield from wrapped(line, width)


def _column(side: Side, width: int, *, full: bool) -> list[list[str]]:
    """Return one trajectory as blocks of lines: the outcome, then one block for each round."""
    row = side.row
    verdict = f"{row.arm}: {'RIGHT' if row.correct else 'WRONG'}, score {row.score:.2f}"
    head = [verdict, f"episode {row.cell}/{row.episode}" if row.episode else "no episode"]
    if side.episode is None:
        return [_fitted([*head, side.why], width)]
    episode = side.episode
    value = value_text(episode.value, 200) if episode.value is not None else episode.answer or "none"
    spent = total(accounts_of(episode).logical)
    head += [f"answer: {value}", f"ended: {episode.outcome}" + (f", {episode.reason}" if episode.reason else "")]
    head.append(f"{len(episode.rounds)} rounds, {len(episode.tool_calls)} calls, {spent.tokens:,} tokens")
    numbers = sorted({call.round for call in episode.calls if call.round == 0}) + [r.number for r in episode.rounds]
    return [
        _fitted(head, width),
        *(_fitted(["", *round_lines(episode, number, full=full)], width) for number in numbers),
    ]


def _fitted(lines: Sequence[str], width: int) -> list[str]:
    """Return the lines; those with more than ``width`` columns are cut."""
    return [cut(line, width) if width_of(line) > width else line for line in lines]


def _beside(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    yield "-" * width + "-+-" + "-" * width
    for one, other in zip_longest(left, right, fillvalue=()):
        for first, second in zip_longest(one, other, fillvalue=""):
            yield (first + " " * (width - width_of(first)) + _GAP + second).rstrip()

"""Going through a run once: what each episode was, packed cell by cell, and the moments that want a picture."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eval.report.frames.choosing import Chosen, FrameKey
from eval.report.frames.moments import Moment, moments_of
from eval.report.page.blocks import Pool, packed
from eval.report.page.building import Block
from eval.report.page.index import Place
from eval.report.trajectories import trajectory
from eval.runs.reading import Run
from eval.tables.rows import SampleRow
from world_api.core.faults import EpisodeFault

_AT_ONCE = 100  #: episodes in a block at most


@dataclass(kw_only=True)
class Gathered:
    """What the page holds of the episodes. ``damaged`` are those that could not be read, by sample, with the reason."""

    blocks: list[Block] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    answers: dict[str, str | None] = field(default_factory=dict)
    moments: dict[str, list[Moment]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


def gather(run: Run, rows: Collection[SampleRow], pool: Pool) -> Gathered:
    """Read the episodes of these samples; of a cell's journal nothing is kept once its cell is packed."""
    gathered = Gathered()
    wanted = {row.sample for row in rows}
    for _, samples in run.by_cell():
        records: list[dict[str, Any]] = []
        for sample in samples:
            if sample.sample not in wanted:
                continue
            try:
                entry = run.entry(sample)
            except EpisodeFault as fault:
                gathered.damaged[sample.sample] = fault.code
                continue
            if entry is None:
                continue
            gathered.answers[sample.sample] = entry.episode.answer
            gathered.moments[sample.sample] = moments_of(entry.episode, run.item(sample))
            gathered.places[sample.sample] = Place(block=len(gathered.blocks), at=len(records))
            records.append(trajectory(entry.episode, entry.conditions, pool))
            if len(records) == _AT_ONCE:
                _pack(gathered, records)
        if records:
            _pack(gathered, records)
    return gathered


def _pack(gathered: Gathered, records: list[dict[str, Any]]) -> None:
    gathered.blocks.append(Block(id=f"e{len(gathered.blocks)}", text=packed(records)))
    records.clear()


def frame_blocks(gathered: Gathered, chosen: Chosen, numbers: Mapping[FrameKey, int]) -> Iterator[Block]:
    """For every block of episodes, which picture shows which of their moments; ``numbers`` are those of the pictures."""
    by_block: dict[int, list[list[dict[str, Any]]]] = {}
    for sample, place in gathered.places.items():
        shown = [_shown(moment, chosen, numbers) for moment in gathered.moments[sample]]
        by_block.setdefault(place.block, []).append(shown)
    for number, moments in by_block.items():
        yield Block(id=f"m{number}", text=packed(moments))


def _shown(moment: Moment, chosen: Chosen, numbers: Mapping[FrameKey, int]) -> dict[str, Any]:
    frame = chosen.frame_of(moment)
    return {
        "frame": None if frame is None else numbers.get(frame),
        "time": moment.time,
        "why": moment.why,
        "boxes": [box.record() for box in moment.boxes],
    }

"""The questions of a run: datasets as the configuration picks from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.datasets.items import Dataset, Item
from eval.datasets.loading import load_dataset
from eval.runs.configuration.document import DatasetPart
from eval.runs.configuration.reading import Configuration
from tool_induction.language.diagnostics import closest
from world_api.core.faults import EvalFault

_MOST_REASONS, _OTHER_REASONS = 20, "other reasons"


@dataclass(frozen=True, kw_only=True)
class Picked:
    """The questions of one dataset that a run asks, under the name that the run has for it; ``part`` says which they are."""

    name: str
    part: DatasetPart
    dataset: Dataset
    items: tuple[Item, ...]

    @property
    def videos(self) -> tuple[str, ...]:
        """The videos that are asked about, in the order of the questions."""
        return tuple(dict.fromkeys(item.video_id for item in self.items))

    @property
    def left_out(self) -> dict[str, int]:
        """How many entries of the dataset's file cannot be asked, by reason; rare reasons, where there are many, together."""
        counts = Counter(entry.reason for entry in self.dataset.left_out)
        told = dict(counts.most_common(_MOST_REASONS))
        others = counts.total() - sum(told.values())
        return told | ({_OTHER_REASONS: others} if others else {})


def pick_all(configuration: Configuration) -> list[Picked]:
    """The datasets of a configuration, in its order.

    Raises:
        EvalFault: ``bad_configuration``: a name stands twice, a domain is not asked about, nothing is left to be asked;
            what loading a dataset raises.
    """
    found: list[Picked] = []
    for place, part in enumerate(configuration.document.datasets):
        picked = _picked(configuration, place, part)
        if picked.name in {item.name for item in found}:
            raise configuration.bad(
                ("datasets", place), f"two datasets are named {picked.name!r}", hint="give one of them a `name`"
            )
        found.append(picked)
    return found


def _picked(configuration: Configuration, place: int, part: DatasetPart) -> Picked:
    dataset = load_dataset(
        _source(configuration, part.path),
        videos=configuration.path(part.videos) if part.videos is not None else None,
        annotations=configuration.path(part.annotations) if part.annotations is not None else None,
    )
    items = [item for item in dataset.items if part.split is None or item.split == part.split]
    if not items:
        splits = sorted({item.split or "no split" for item in dataset.items})
        raise configuration.bad(
            ("datasets", place),
            f"{dataset.name} has no question of {part.split!r}",
            hint="it has: " + ", ".join(splits),
        )
    if part.domains is not None:
        items = _of_domains(configuration, place, part.domains, items)
    if part.limit is not None:
        items = spread(items, part.limit)
    return Picked(name=part.name or dataset.name, part=part, dataset=dataset, items=tuple(items))


def _source(configuration: Configuration, path: str) -> Path | str:
    """A path beside the configuration, where something is there; else a name, or ``ADAPTER:FILE`` with the file beside it."""
    there = configuration.path(path)
    if there.exists():
        return there
    adapter, colon, file = path.partition(":")
    return f"{adapter}:{configuration.path(file)}" if colon and file else path


def _of_domains(configuration: Configuration, place: int, names: Sequence[str], items: list[Item]) -> list[Item]:
    known = sorted({item.domain for item in items if item.domain is not None})
    for number, name in enumerate(names):
        if name not in known:
            near = closest(name, known)
            raise configuration.bad(
                ("datasets", place, "domains", number),
                f"no question is of the domain {name!r}",
                hint=f"did you mean {near!r}?" if near else "the domains are: " + (", ".join(known) or "none"),
            )
    return [item for item in items if item.domain in names]


def spread(items: Sequence[Item], limit: int) -> list[Item]:
    """So many of the questions, taken in turns from each video and domain, so that no part of them is left out; in their order.

    The same for the same questions, whatever the limit: a larger one adds to a smaller one.
    """
    groups: dict[tuple[str, str | None], list[int]] = {}
    for number, item in enumerate(items):
        groups.setdefault((item.video_id, item.domain), []).append(number)
    taken: list[int] = []
    longest = max(map(len, groups.values()), default=0)
    for turn in range(longest):
        taken += [numbers[turn] for numbers in groups.values() if turn < len(numbers)]
    return [items[number] for number in sorted(taken[:limit])]


def nothing_left(name: str) -> EvalFault:
    """A dataset of which nothing can be asked."""
    return EvalFault(
        "nothing_to_ask",
        f"no question of {name} can be asked: its videos are not there, and no worlds of them",
        hint="`videoworld eval check` names the videos that are missing",
    )

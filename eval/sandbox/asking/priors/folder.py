"""The priors of a folder of films: what can be answered of them blindly, by what other films' questions teach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eval.datasets.items import Item
from eval.sandbox.asking.asking import questions_of
from eval.sandbox.asking.priors.measuring import PriorLine, measure_priors
from eval.sandbox.stories.telling import tell
from tool_induction.domains.domain import SplitName
from world_api.core.faults import EvalFault

#: Stories that are told to learn from have these seeds and more: nobody is likely to make films of them.
_FIRST_SEED = 700_000_000
_LONGEST = 20.0  #: minutes of a story that is learned from


def prior_of_folder(folder: Path, *, films: int, seed: int = 1) -> list[PriorLine]:
    """Blind accuracies on the questions of a folder that ``sandbox make`` wrote.

    The priors learn from so many other stories of each split that the folder's films are of, about as long as these are. They are told
    and never drawn, which takes a fraction of a second each.

    Raises:
        EvalFault: ``bad_dataset`` and others, where the folder's dataset or facts cannot be read; ``nothing_to_compare``.
    """
    from eval.datasets.loading import load_dataset
    from eval.sandbox.making import FilmFiles, read_facts

    items = [item for item in load_dataset(folder).items if item.split is not None]
    if not items:
        raise EvalFault(
            "nothing_to_compare", f"{folder} has no questions of a split", hint="videoworld sandbox make --out DIR"
        )
    durations = {
        name: read_facts(FilmFiles.of(folder, name).facts).duration for name in {item.video_id for item in items}
    }
    minutes = min(_LONGEST, max(1.0, sum(durations.values()) / len(durations) / 60))
    others: list[Item] = []
    for split in sorted({item.split for item in items if item.split is not None}):
        others += _told(split, minutes, films, durations)
    return measure_priors(items, durations, others=others, seed=seed)


def _told(split: SplitName, minutes: float, films: int, durations: dict[str, float]) -> list[Item]:
    found: list[Item] = []
    for number in range(_FIRST_SEED, _FIRST_SEED + films):
        facts = tell(number, minutes, split=split).facts
        if facts.film not in durations:
            durations[facts.film] = facts.duration
            found += questions_of(facts, seed=number, split=split)
    return found


def told(lines: list[PriorLine]) -> str:
    """The lines as a table for a terminal, in percent."""
    head = f"{'domain':20} {'kind or type':18} {'n':>5}  {'chance':>6}  {'constant':>8}  {'learned':>7}  interval (95 %)   over chance"
    return "\n".join([head, *(_line(line) for line in lines)])


def _line(line: PriorLine) -> str:
    interval = "one film" if line.low is None or line.high is None else f"{line.low:6.1%} - {line.high:6.1%}"
    return (
        f"{line.domain or 'all':20} {line.kind or line.type or 'all':18} {line.questions:5}  {line.chance:6.1%}  "
        f"{line.constant:8.1%}  "
        f"{line.learned:7.1%}  {interval:17} {line.over:+6.1%}"
    )


def record(lines: list[PriorLine]) -> dict[str, Any]:
    """The wire form."""
    return {"lines": [line.record() for line in lines]}

"""The index of samples: what the page needs to filter, search and list them before any episode is unpacked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.display import cut, single_line
from controller.questions import Question
from eval.datasets.items import Item
from eval.tables.rows import SampleRow
from eval.tables.table import ranges

_ANSWER = 160  #: columns of an answer in a list
#: When an episode began: the first part of its name. It differs when it is asked again, and a shell completes it.
_BEGAN = re.compile(r"^\d{14}-", re.ASCII)

#: What samples are filtered by, in the order of the filters.
DIMENSIONS: tuple[tuple[str, str, Callable[[SampleRow], str | None]], ...] = (
    ("arm", "Arm", lambda row: row.arm),
    ("library", "Library", lambda row: row.library),
    ("domain", "Domain", lambda row: row.domain),
    ("content", "Content", lambda row: row.content),
    ("world", "World", lambda row: row.world),
    ("budget", "Budget", lambda row: row.budget),
    ("seed", "Seed", lambda row: str(row.seed)),
    ("dataset", "Dataset", lambda row: row.dataset),
    ("video", "Video", lambda row: row.video),
    ("kind", "Answer type", lambda row: row.kind),
    ("template", "Template", lambda row: row.template),
    ("outcome", "Ended", lambda row: row.outcome if row.reason is None else f"{row.outcome}: {row.reason}"),
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the trajectory of a sample lies: the number of its block, and its place in it."""

    block: int
    at: int


@dataclass(kw_only=True)
class Sets:
    """Sets of samples behind figures, each kept once, as ranges of places in the index."""

    places: Mapping[str, int]
    _known: dict[str, int] = field(default_factory=dict)

    def number(self, samples: Iterable[str]) -> int | None:
        """The number of a set; None where no sample of it is on the page."""
        text = ranges(samples, self.places)
        return self._known.setdefault(text, len(self._known)) if text else None

    def record(self) -> list[str]:
        """All sets, by number."""
        return list(self._known)


def index_of(
    rows: Sequence[SampleRow],
    items: Mapping[tuple[str, str], Item],
    answers: Mapping[str, str | None],
    places: Mapping[str, Place],
) -> dict[str, Any]:
    """The index; what it says of a sample stands at the same place in each of its columns."""
    numbered = {key: number for number, key in enumerate(dict.fromkeys((row.dataset, row.item) for row in rows))}
    return {
        "dimensions": [_dimension(name, title, [read(row) for row in rows]) for name, title, read in DIMENSIONS],
        "items": [_item(items[key]) for key in numbered],
        "tools": _tools(rows),
        "item": [numbered[row.dataset, row.item] for row in rows],
        "mark": [_mark(row, items[row.dataset, row.item]) for row in rows],
        "score": [round(row.score, 4) for row in rows],
        "answer": [_short(answers.get(row.sample)) for row in rows],
        "rounds": [row.rounds for row in rows],
        "calls": [row.calls for row in rows],
        "inner": [row.inner_calls for row in rows],
        "tokens": [_tokens(row) for row in rows],
        "details": [_details(row) for row in rows],
        "place": [
            None if row.sample not in places else [places[row.sample].block, places[row.sample].at] for row in rows
        ],
        "cell": _coded([row.cell for row in rows]),
        "episode": [None if row.episode is None else _BEGAN.sub("*-", row.episode) for row in rows],
    }


def reference_text(item: Item) -> str | None:
    """The reference answer for people; None where there is none."""
    told = [text for text in (value_in_words(item.question, value) for value in (item.answer, *item.also)) if text]
    return " / ".join(dict.fromkeys(told)) or None


def value_in_words(question: Question, value: Any) -> str | None:
    """A value of an answer, as people write it."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return f"{value.get('start_time')} - {value.get('end_time')} s"
    if question.kind == "choice" and isinstance(value, str) and value in question.letters:
        return f"{value}. {question.options[question.letters.index(value)]}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _dimension(name: str, title: str, values: Sequence[str | None]) -> dict[str, Any]:
    return {"name": name, "title": title, **_coded(values)}


def _coded(values: Sequence[str | None]) -> dict[str, Any]:
    """Values by number: each once, and for every sample which it has; -1 for none."""
    known = {
        value: number for number, value in enumerate(dict.fromkeys(value for value in values if value is not None))
    }
    return {"values": list(known), "codes": [-1 if value is None else known[value] for value in values]}


def _item(item: Item) -> dict[str, Any]:
    question = item.question
    return {
        "id": item.id,
        "video": item.video_id,
        "question": question.text,
        "kind": question.kind,
        "options": list(question.options),
        "as_of": question.as_of,
        "reference": reference_text(item),
        "spans": [[span.start, span.end] for span in item.spans],
    }


def _tools(rows: Sequence[SampleRow]) -> dict[str, Any]:
    """The tools that were called, and for each sample which of them."""
    known: dict[str, int] = {}
    used = [[known.setdefault(tool.name, len(known)) for tool in row.tools if tool.calls] for row in rows]
    return {"values": list(known), "used": used}


def _mark(row: SampleRow, item: Item) -> int:
    """1 right, 0 wrong, 2 for a question that nobody knows the answer of."""
    return 2 if item.answer is None else int(row.correct)


def _tokens(row: SampleRow) -> int:
    spent = row.spend.get("logical", {}).get("total")
    return spent.tokens if spent is not None else 0


def _short(answer: str | None) -> str | None:
    return None if answer is None else cut(single_line(answer), _ANSWER)


def _details(row: SampleRow) -> dict[str, Any]:
    """What the scorer said, where it is short."""
    kept = {key: value for key, value in row.details.items() if isinstance(value, str | int | float | bool)}
    return {key: cut(value, _ANSWER) if isinstance(value, str) else value for key, value in kept.items()}

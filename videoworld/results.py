"""What a ``World`` returns: results of operations, and episodes that show their evidence. Both show themselves in notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, overload

from controller.display import (
    arguments_text,
    doubt_text,
    doubts_of,
    item_text,
    result_text,
    span_text,
    summary_text,
    value_text,
    watermark,
)
from controller.episode import Episode
from world_api.core.faults import MediaFault, OperationFault, StoreFault
from world_api.core.identifiers import clock_text, plural, visible
from world_api.core.spans import Box, TimeSpan
from world_api.installation import data_frame
from world_api.operations.registry import BESIDE

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image as PilImage

    from controller.asking import Asked
    from controller.messages import CitedSpan
    from world_api.core.ports import Image
    from world_api.page.notebook import Picture
    from world_api.session.session import Session
    from world_api.world.view import View

#: The rows that are shown, and how many of them with a picture; pictures of an episode.
_SHOWN, _PICTURES = 12, 8
#: Fields of rows that a table leaves out, since others say the same or they are long.
_ASIDE = frozenset(
    "center_time evidence matching_lines time_range boxes bbox start_time end_time first_time last_time".split()
)
#: Fields of results that say what is not known.
_UNKNOWN = ("unmatched", "not_judged", "not_examined", "not_found")


class PublicNames:
    """A class whose ``dir`` has its public names only."""

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


class Result(PublicNames, Sequence[dict[str, Any]]):
    """The result of an operation: a sequence of its rows, such as scenes, hits or detections.

    ``result[0]`` is the first row, ``result["not_judged"]`` a field of the whole result; ``record`` is all of it, as a model
    gets it. A result without a list is one row. A short or empty result is no proof of absence: ``hint``, ``not_judged``
    and ``not_examined`` say what is not known.
    """

    def __init__(self, operation: str, arguments: Mapping[str, Any], record: dict[str, Any], session: Session) -> None:
        self.operation = operation
        self.arguments = dict(arguments)
        self.record = record
        self._session = session
        name, first = next(iter(record.items()))
        own = {key: value for key, value in record.items() if key not in BESIDE}
        self._name = name if isinstance(first, list) else "result"
        self._rows: list[dict[str, Any]] = _table(name, first) if isinstance(first, list) else [own]

    @property
    def hint(self) -> str:
        """How to narrow or go on; empty if nothing needs saying."""
        return str(self.record["hint"])

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> list[dict[str, Any]]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: int | slice | str) -> Any:
        return self._field(key) if isinstance(key, str) else self._rows[key]

    def _field(self, name: str) -> Any:
        if name not in self.record:
            there = ", ".join(self.record)
            raise OperationFault("no_such_field", f"{self.operation} has no field {name!r}", hint=f"one of: {there}")
        return self.record[name]

    def to_pandas(self, name: str | None = None) -> pd.DataFrame:
        """Return the rows as a table, or those of another list, such as ``moments``. Raises BackendFault: ``extra_missing``."""
        return data_frame(self._rows if name is None else _table(name, self._field(name)))

    def frames(self, *, boxes: bool = False) -> list[PilImage]:
        """Return the frame of each row as a PIL picture, where the row can be looked at again; of a row without a time, none.

        Raises StoreFault: ``source_missing``, if the video is not on this machine.
        """
        return pil_frames(
            self._session.view, [time for time in map(self._moment, self._rows) if time is not None], boxes=boxes
        )

    def _moment(self, row: Mapping[str, Any]) -> float | None:
        """Return the time whose frame shows a row: that of the evidence inside it, if any."""
        span = _span(row)
        if span is None or "timestamp" in row:
            at = row.get("timestamp", row.get("first_time", row.get("time")))
            return float(at) if isinstance(at, int | float) else None
        cited = [*row.get("evidence", ()), *self.record["evidence"]]
        inside = (
            item["frame_time"] for item in cited if span.start <= item["start_time"] and item["end_time"] <= span.end
        )
        return float(next((time for time in inside if span.contains(time)), span.center))

    def _head(self) -> str:
        return f"{self.operation}({arguments_text(self.arguments)})"

    def _count(self) -> str:
        return "" if self._name == "result" else f"{self._name.replace('_', ' ')}: {len(self) or 'none found'}"

    def _notes(self) -> list[str]:
        parts = [f"{name.replace('_', ' ')}: {_cell(self.record[name])}" for name in _UNKNOWN if self.record.get(name)]
        return [*parts, *([self.hint] if self.hint else [])]

    def __repr__(self) -> str:
        lines = [f"{self._head()}  {self._count()}".rstrip()]
        shown = (_line(row) if self._name != "result" else result_text(row) for row in self[:_SHOWN])
        lines += [f"  {line}" for line in shown]
        lines += [f"  ... {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return visible("\n".join([*lines, *(f"  note: {note}" for note in self._notes())]))

    def _repr_html_(self) -> str:
        from world_api.page.notebook import FOUND, Card, lane

        view, rows = self._session.view, self[:_SHOWN]
        columns = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in _ASIDE]
        columns = [key for key in columns if any(row.get(key) not in (None, "", []) for row in rows)]
        timed = ["time"] if any(map(_when, rows)) else []
        table = [[*(_when(row) for _ in timed), *(_cell(row.get(key)) for key in columns)] for row in rows]
        spans = [(span, _line(row)) for row in self._rows if (span := _span(row)) is not None]
        more = f"{len(self) - _SHOWN} more; to_pandas() has all" if len(self) > _SHOWN else ""
        return Card(
            title=visible(self._head()),
            facts=[self._count()],
            notes=[visible(note) for note in self._notes()],
            pictures=self._pictures(),
            lanes=[lane(view, self._name.replace("_", " "), FOUND, spans)] if spans else [],
            end=clock_text(view.duration),
            columns=[*timed, *(key.replace("_", " ") for key in columns)],
            rows=[[visible(value) for value in row] for row in table],
            foot=[more] if more else [],
        ).html()

    def _pictures(self) -> list[Picture]:
        """Return pictures of the first rows: of detections the very frames, with the boxes of the detections."""
        view, boxed = self._session.view, [row for row in self._rows if "bbox" in row and "timestamp" in row]
        if not boxed:
            rows = self[:_PICTURES]
            return pictures_of(view, [(time, _span(row)) for row in rows if (time := self._moment(row)) is not None])
        boxes: dict[float, list[tuple[Box, str, str]]] = {}
        for row in boxed:
            box = Box(**dict(zip(("x1", "y1", "x2", "y2"), row["bbox"], strict=True)))
            boxes.setdefault(float(row["timestamp"]), []).append((box, row["category"], _line(row)))
        return pictures_of(view, [(time, None) for time in sorted(boxes)[:_PICTURES]], boxes)


@dataclass(frozen=True, kw_only=True, repr=False)
class WorldEpisode(PublicNames, Episode):
    """An episode that ``World.ask`` returns: the answer with its evidence, which it shows in notebooks.

    ``recorded_as`` is its name in the folder that ``record`` named; ``committed`` says what was added to the world.
    """

    recorded_as: str | None
    committed: dict[str, Any] | None
    session: Session = field(compare=False)

    @classmethod
    def of(cls, asked: Asked, session: Session) -> WorldEpisode:
        """Return the episode of an asked question; pictures are those that the session sees."""
        values = {item.name: getattr(asked.episode, item.name) for item in fields(Episode)}
        return cls(**values, recorded_as=asked.recorded_as, committed=asked.committed, session=session)

    @property
    def uncertain(self) -> list[dict[str, Any]]:
        """What the calls behind the answer could not determine: by call, words and spans not judged or examined."""
        return doubts_of(self)

    def frames(self, *, boxes: bool = False) -> list[PilImage]:
        """Return the frame in the middle of each cited interval, as PIL pictures. Raises StoreFault: ``source_missing``."""
        return pil_frames(self.session.view, self._moments(), boxes=boxes)

    def to_pandas(self) -> pd.DataFrame:
        """Return the tool calls as a table. Raises BackendFault: ``extra_missing``."""
        return data_frame(
            [
                {"round": call.round, "tool": call.tool, "arguments": call.arguments, "result": call.result,
                 "operations": len(call.inner_calls), "failed": call.failed}
                for call in self.tool_calls
            ]
        )  # fmt: skip

    def _moments(self) -> list[float]:
        """Return the middle of each cited interval; a model may cite what is not visible, which has none."""
        middles = (_cited(span).center for span in self.spans)
        return [time for time in middles if 0 <= time < self.session.view.duration]

    def __repr__(self) -> str:
        return visible(summary_text(self, recorded_as=self.recorded_as, committed=self.committed))

    def _repr_html_(self) -> str:
        from world_api.page.notebook import FOUND, Card, lane, world_lanes

        view = self.session.view
        spans = [(_cited(span), ", ".join(self.tools_that_gave(span)) or "returned by no tool") for span in self.spans]
        notes = [f"uncertain: {doubt_text(doubt)}" for doubt in self.uncertain]
        notes += [
            f"evidence {span_text(vars(span))} was returned by no tool" for span in self.spans if not span.returned_by
        ]
        notes += [note] if (note := watermark(self)) is not None else []
        calls = self.tool_calls
        evidence = lane(view, "evidence", FOUND, [(span, said) for span, said in spans if span.start < view.duration])
        return Card(
            title=visible(self.task.question.text),
            facts=[f"{self.task.video_id}, {self.task.system}, {self.model}", self.outcome],
            text=[visible(self.answer or "no answer")],
            notes=[visible(note) for note in notes],
            pictures=pictures_of(view, [(span.center, span) for span, _ in spans if span.center < view.duration][:_PICTURES]),
            lanes=[*([evidence] if spans else []), *world_lanes(view)],
            end=clock_text(view.duration),
            columns=["round", "tool", "arguments", "result"],
            rows=[
                [str(call.round), *(visible(text) for text in (call.tool, arguments_text(call.arguments), result_text(call.result)))]
                for call in calls[:_SHOWN]
            ],
            foot=[f"{plural(len(calls), 'call')}, {plural(len(self.rounds), 'round')}, {self.usage.total} tokens"],
        ).html()  # fmt: skip


def pil_frames(view: View, times: Sequence[float], *, boxes: bool) -> list[PilImage]:
    """Return the frames played at visible moments as PIL pictures (RGB), in the order of ``times``.

    Raises StoreFault: ``source_missing``; MediaFault: the video cannot be decoded.
    """
    if not times:
        return []
    from PIL.Image import fromarray

    from world_api.api import frames_played_at

    rising = sorted(set(times))
    images = zip(rising, frames_played_at(view, rising, boxes=boxes), strict=True)
    found = {time: fromarray(image[..., ::-1].copy()) for time, image in images}
    return [found[time] for time in times]


def pictures_of(
    view: View,
    moments: Sequence[tuple[float, TimeSpan | None]],
    boxes: Mapping[float, list[tuple[Box, str, str]]] | None = None,
) -> list[Picture]:
    """Return a picture for each moment: a key frame inside its interval, if there is one, else the very frame.

    ``boxes`` are drawn in the very frames instead of those of tracks. If the video cannot be read, the nearest key frame
    with the boxes of tracks serves, whose caption says its time.
    """
    from world_api.api import frames_played_at
    from world_api.page.notebook import drawn_picture, key_pictures, track_boxes

    stored = view.rows("key_frames").column("time").to_pylist()
    exact = sorted({time for time, span in moments if span is None or not any(map(span.contains, stored))})
    images: dict[float, Image] = {}
    with suppress(StoreFault, MediaFault):
        images = dict(zip(exact, frames_played_at(view, exact), strict=True))
    found: dict[str, Picture] = {}
    for time, _ in moments:
        if time in images:
            drawn = track_boxes(view, time) if boxes is None else boxes[time]
            pictures = [drawn_picture(view, images[time], clock_text(time), drawn)]
        else:
            pictures = key_pictures(view, [time])
        found |= {picture.caption: picture for picture in pictures}
    return list(found.values())


def _table(name: str, values: Any) -> list[dict[str, Any]]:
    return [
        value if isinstance(value, dict) else {name: value}
        for value in (values if isinstance(values, list) else [values])
    ]


def _cited(span: CitedSpan) -> TimeSpan:
    return TimeSpan(start=span.start_time, end=max(span.start_time, span.end_time))


def _span(row: Mapping[str, Any]) -> TimeSpan | None:
    """Return the interval of a row; None if it has none."""
    start, end = row.get("start_time", row.get("first_time")), row.get("end_time", row.get("last_time"))
    return (
        TimeSpan(start=start, end=max(start, end))
        if isinstance(start, int | float) and isinstance(end, int | float)
        else None
    )


def _when(row: Mapping[str, Any]) -> str:
    span = _span(row)
    return "" if span is None else f"{clock_text(span.start)}-{clock_text(span.end)}"


def _line(row: Mapping[str, Any]) -> str:
    """Return a row on one line: when it is, its entity, its words."""
    when = "" if "start_time" in row else _when(row)
    return " ".join(filter(None, [when, str(row.get("entity_id") or ""), item_text(row)]))


def _cell(value: Any) -> str:
    """Return a value of a row as text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    if isinstance(value, dict) and "entity_id" in value:
        return str(value["entity_id"])
    return value_text(value, 80)

"""Checksums of a record's parts, so that a change of any of them is noticed.

They say that a record is as it was written. They are no signature: who can edit a record can compute them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller.records.files import damaged
from world_api.backends.chat.recording import Exchange
from world_api.core.canonical import content_hash

#: What of a record each sum is over.
PARTS = {
    "conditions": "the conditions",
    "episode": "the episode's record",
    "exchanges": "the exchanges with the model",
    "materials": "the materials",
    "timings": "the times",
    "line": "the line",
}


def exchange_sum(exchange: Exchange, request_hash: str | None = None) -> str:
    """Of one exchange; its request is in it by its hash."""
    return content_hash(
        [request_hash or exchange.request_hash, exchange.reply, exchange.fault, float(exchange.seconds)]
    )


def material_sum(name: str, value: Any) -> str:
    """Of one material."""
    return content_hash([name, value])


def sums_of(
    line: Mapping[str, Any], time: Mapping[str, Any], exchanges: Sequence[str], materials: Iterable[str]
) -> dict[str, str]:
    """The sums of an episode: of its line's parts, its times, and what it took, given by the sums of each."""
    return sealed(
        line,
        {
            "conditions": content_hash(line["conditions"]),
            "episode": content_hash(line["episode"]),
            "exchanges": content_hash(list(exchanges)),
            "materials": content_hash(sorted(materials)),
            "timings": timings_sum(time),
        },
    )


def sealed(line: Mapping[str, Any], parts: Mapping[str, str]) -> dict[str, str]:
    """The sums of the parts, and that of the whole line."""
    return {**parts, "line": _line_sum(line, parts)}


def timings_sum(time: Mapping[str, Any]) -> str:
    """Of wall times and clock readings."""
    return content_hash([time.get("timings"), time.get("clock")])


def check_sum(name: str, part: str, sums: Mapping[str, Any], found: str) -> None:
    """Refuse a part that is not what was written.

    Raises:
        EpisodeFault: ``recording_damaged``.
    """
    if sums.get(part) != found:
        raise damaged(f"{PARTS[part]} of {name} are not what was recorded: its checksum ({part}) differs")


def check_line(line: Mapping[str, Any]) -> None:
    """Refuse an episode's line of which anything was changed.

    Raises:
        EpisodeFault: ``recording_damaged``.
    """
    name, sums = line["name"], line["sums"]
    for part in ("conditions", "episode"):
        check_sum(name, part, sums, content_hash(line[part]))
    check_sum(name, "line", sums, _line_sum(line, {key: value for key, value in sums.items() if key != "line"}))


def _line_sum(line: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """Over everything on the line, conditions and episode by their sums."""
    rest = {key: value for key, value in line.items() if key not in ("conditions", "episode", "sums")}
    return content_hash([rest, dict(parts)])

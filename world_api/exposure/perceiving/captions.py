"""Captions for a whole video: told what it takes, agreed to, and made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from world_api.core.cost import ledger
from world_api.core.identifiers import clock_text
from world_api.exposure.cli import note
from world_api.exposure.perceiving.consent import agree, estimate_text

if TYPE_CHECKING:
    from world_api.backends.chat.prices import Prices
    from world_api.session.session import Session
    from world_api.session.vision import VisionConfig

_SHOWN = 3  #: stretches without a caption that are told one by one


@dataclass(frozen=True, kw_only=True)
class CaptionJob:
    """Who captions, what that is known to cost, and whether it was agreed to on the command line."""

    eyes: VisionConfig
    prices: Prices
    yes: bool


def caption_world(store: Path, video_id: str, job: CaptionJob) -> dict[str, Any]:
    """Have every segment of a world captioned, and captions embedded, after telling what that sends; what came of it.

    Raises:
        BackendFault: ``consent_needed``, ``consent_refused``, and what the endpoint names.
        StoreFault: as opening a world names it.
    """
    from world_api.api import open_session
    from world_api.exposure.progress import progress_bars
    from world_api.session.captioning import caption_segments, estimate_captions, name_captions

    eyes = job.eyes
    session = open_session(store, video_id, name=None, seeing=eyes)
    seeing = session.backends.seeing
    assert seeing is not None  # noqa: S101 - eyes were given
    estimate = estimate_captions(session.view, seeing, eyes)
    if estimate.requests == 0:
        name_captions(session.view, seeing)
        session = open_session(store, video_id, name=None, seeing=eyes)  # which searches them
    if estimate.requests == 0 and not _without_vectors(session):
        note(f"{video_id}: all {estimate.kept} captions are there, nothing is sent")
        return {"made": 0, "kept": estimate.kept, "embedded": 0, "failed": [], "tokens": {"prompt": 0, "completion": 0}}
    agree(estimate_text(f"{video_id}: captions", estimate, eyes, job.prices), yes=job.yes)
    with progress_bars() as bars, ledger() as book:
        done = caption_segments(
            session.view, seeing, eyes, progress=lambda done, total: bars.update("captions", done, total)
        )
        embedded = _embed(open_session(store, video_id, name=None, seeing=eyes))
    return {
        "made": done.made,
        "kept": done.kept,
        "embedded": embedded,
        "failed": [
            {
                "start_time": span.start,
                "end_time": span.end,
                **fault.record()["error"],
                "notes": list(getattr(fault, "__notes__", ())),
            }
            for span, fault in done.failed
        ],
        "tokens": {
            "prompt": sum(item.prompt for item in book.items),
            "completion": sum(item.completion for item in book.items),
        },
    }


def _without_vectors(session: Session) -> list[str]:
    """The captions whose meaning has no vector yet; none where nobody makes any."""
    meanings = session.backends.meanings
    return [] if meanings is None else meanings.missing([passage.text for passage in session.captions.passages])


def _embed(session: Session) -> int:
    """Have the captions embedded that are not; how many were."""
    missing = _without_vectors(session)
    if missing and session.backends.meanings is not None:
        session.backends.meanings.of_captions(missing)
    return len(missing)


def told(record: dict[str, Any]) -> list[str]:
    """What came of it, for people."""
    tokens = record["tokens"]
    lines = [
        f"  captions: {record['made']} made, {record['kept']} from before"
        + (f", {record['embedded']} embedded; " if record["embedded"] else "; ")
        + f"{tokens['prompt']:,} tokens sent, {tokens['completion']:,} written"
    ]
    for item in record["failed"][:_SHOWN]:
        stretch = f"{clock_text(item['start_time'])} to {clock_text(item['end_time'])}"
        lines.append(f"  no caption of {stretch}: {item['message']} [{item['code']}]")
        lines += [f"    {said}" for said in item["notes"]]
    if len(record["failed"]) > _SHOWN:
        lines.append(f"  and of {len(record['failed']) - _SHOWN} more; run it again to ask for them again")
    return lines

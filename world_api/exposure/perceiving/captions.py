"""Captions for a whole video: told what it takes, agreed to, and made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from world_api.core.spending import ledger
from world_api.exposure.cli import clock_text, note
from world_api.exposure.perceiving.consent import agree, estimate_text

if TYPE_CHECKING:
    from world_api.backends.chat.prices import Prices
    from world_api.world.sessions.eyes import Eyes

_SHOWN = 3  #: stretches without a caption that are told one by one


@dataclass(frozen=True, kw_only=True)
class CaptionJob:
    """Who captions, what that is known to cost, and whether it was agreed to on the command line."""

    eyes: Eyes
    prices: Prices
    yes: bool


def caption_world(store: Path, video_id: str, job: CaptionJob) -> dict[str, Any]:
    """Have every segment of a world captioned, after telling what that sends; what came of it.

    Raises:
        BackendFault: ``consent_needed``, ``consent_refused``, and what the endpoint names.
        StoreFault: as opening a world names it.
    """
    from world_api.exposure.progress import progress_bars
    from world_api.profiles import open_session
    from world_api.world.sessions.captioning import caption_segments, estimate_captions

    eyes = job.eyes
    session = open_session(store, video_id, name=None, seeing=eyes)
    seeing = session.backends.seeing
    assert seeing is not None  # noqa: S101 - eyes were given
    estimate = estimate_captions(session.view, seeing, eyes)
    if estimate.requests == 0:
        note(f"{video_id}: all {estimate.kept} captions are there, nothing is sent")
        return {"made": 0, "kept": estimate.kept, "failed": [], "tokens": {"prompt": 0, "completion": 0}}
    agree(estimate_text(f"{video_id}: captions", estimate, eyes, job.prices), yes=job.yes)
    with progress_bars() as bars, ledger() as book:
        done = caption_segments(
            session.view, seeing, eyes, progress=lambda done, total: bars.update("captions", done, total)
        )
    failed = [
        {"start_time": span.start, "end_time": span.end, **fault.record()["error"]} for span, fault in done.failed
    ]
    prompt, completion = sum(item.prompt for item in book.items), sum(item.completion for item in book.items)
    return {
        "made": done.made,
        "kept": done.kept,
        "failed": failed,
        "tokens": {"prompt": prompt, "completion": completion},
    }


def told(record: dict[str, Any]) -> list[str]:
    """What came of it, for people."""
    tokens = record["tokens"]
    lines = [
        f"  captions: {record['made']} made, {record['kept']} from before; "
        f"{tokens['prompt']:,} tokens sent, {tokens['completion']:,} written"
    ]
    for item in record["failed"][:_SHOWN]:
        stretch = f"{clock_text(item['start_time'])} to {clock_text(item['end_time'])}"
        lines.append(f"  no caption of {stretch}: {item['message']} [{item['code']}]")
    if len(record["failed"]) > _SHOWN:
        lines.append(f"  and of {len(record['failed']) - _SHOWN} more; run it again to ask for them again")
    return lines

"""Telling what will be sent before anything is, and asking whether it may be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.core.faults import BackendFault
from world_api.exposure.cli import note

if TYPE_CHECKING:
    from world_api.backends.chat.prices import Prices
    from world_api.core.cost import Spent
    from world_api.session.captioning import Estimate
    from world_api.session.vision import VisionConfig

_AGREED = ("y", "yes")


def prices_in(file: Path | None) -> Prices:
    """The prices of a file; of none, none are known.

    Raises:
        BackendFault: ``bad_prices``.
    """
    from world_api.backends.chat.prices import Prices

    return Prices() if file is None else Prices.read(file)


def estimate_text(what: str, estimate: Estimate, eyes: VisionConfig, prices: Prices) -> str:
    """An estimate for people: what goes where, how much it is, and what that rests on."""
    most = "at most " if estimate.is_bound else ""
    model = eyes.vision.name
    price = prices.of(model)
    lines = [
        f"{what}: {most}{_count(estimate.requests, 'request')} to {model} at {eyes.host}",
        f"  frames: {most}{estimate.frames:,}, none larger than {eyes.vision.longest_side} pixels; "
        "they leave this machine",
        f"  tokens: about {estimate.prompt:,} sent and {estimate.completion:,} written"
        + (f" ({estimate.assumed})" if estimate.assumed else ""),
        f"  money:  about {price.money(estimate):.2f} USD"
        if price is not None
        else f"  money:  not known; --prices FILE tells what {model} costs",
    ]
    if estimate.is_bound:
        lines.append("  not counted: what is sent again because no answer came")
    if eyes.embedder is not None:
        lines.append(f"  words:  captions and what is searched for go to {eyes.embedder.name} there, a few tokens each")
    if estimate.kept:
        lines.append(f"  kept:   {_count(estimate.kept, 'caption')} from before, which cost nothing")
    return "\n".join(lines)


def agree(text: str, *, yes: bool, answer: Callable[[], str] | None = None) -> None:
    """Show an estimate, and go on only with ``--yes`` or when a person at a terminal agrees.

    ``answer`` reads what the person types; None reads the terminal, where there is one.

    Raises:
        BackendFault: ``consent_needed``: nobody can be asked; ``consent_refused``.
    """
    note(text)
    if yes:
        return
    if answer is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise BackendFault(
                "consent_needed",
                "nothing was sent: there is no terminal to ask at",
                hint="add --yes to agree to this estimate",
            )
        answer = _typed
    if answer().strip().lower() not in _AGREED:
        raise BackendFault("consent_refused", "nothing was sent", hint="choose fewer --frames or a smaller --side")


def agree_to_looking(
    store: Path, video: str, eyes: VisionConfig | None, prices: Prices, *, yes: bool, during: str = "for this question"
) -> None:
    """Show the most that looking may send, and go on only where that is agreed to.

    ``video`` is the id of a world, or a file that need not have one yet: nothing is built. ``during`` says what the looks
    are for.

    Raises:
        BackendFault: ``consent_needed``, ``consent_refused``.
        StoreFault: as opening a world names it.
        MediaFault: as probing a file names it.
    """
    if eyes is None:
        return
    from world_api.session.captioning import estimate_question

    estimate = estimate_question(eyes, *_frame_size(store, video))
    agree(estimate_text(f"looking, {during}", estimate, eyes, prices), yes=yes)


def _frame_size(store: Path, video: str) -> tuple[int, int]:
    """Width and height, in pixels, of the frames of a world or of a file."""
    from world_api.core.identifiers import is_name
    from world_api.media.decoder import MediaWorker
    from world_api.world.store import open_world

    path = Path(video).expanduser()
    if is_name(video) and not path.is_file():
        known = open_world(store, video).manifest.video
        return known.width, known.height
    with closing(MediaWorker()) as worker:
        found = worker.probe(path)
    return found.width, found.height


def spent_text(spent: Sequence[Spent], eyes: VisionConfig) -> str:
    """What looking has cost, for people."""
    asked = [item for item in spent if item.physical]
    if not asked:
        kept = "; what was asked was kept from before" if spent else ""
        return f"nothing was sent to {eyes.host}{kept}"
    frames, prompt = sum(item.images for item in asked), sum(item.prompt for item in asked)
    written = sum(item.completion for item in asked)
    about = "about " if any(item.estimated for item in asked) else ""
    return (
        f"sent to {eyes.host}: {_count(len(asked), 'request')} with {_count(frames, 'frame')}, "
        f"{about}{prompt:,} tokens; {written:,} written"
    )


def _typed() -> str:
    sys.stderr.write("Send that? Type yes to agree: ")
    sys.stderr.flush()
    return sys.stdin.readline()


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"

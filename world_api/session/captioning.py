"""Captioning of all segments of a video with a vision model: estimates, and runs with several requests at a time.

Cached captions are not requested again, so an interrupted run continues where it stopped. Sessions that are opened
after a run search the captions of all segments.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from world_api.core.faults import VideoWorldError
from world_api.core.spans import TimeSpan
from world_api.session.vision import LONGEST_QUESTION, MAX_SPOTS, Vision, VisionConfig
from world_api.world.view import View

#: Faults of a single segment (a moderated picture is a refused request); after any other all segments would fail.
SINGLE_SEGMENT_FAULTS = frozenset(
    "sight_unreadable sight_refused endpoint_refused_request undecodable decoder_died decoder_stalled "
    "picture_unusable".split()
)
#: Failures before the first caption that end a run, since each is paid for.
_HOPELESS = 5
#: Captions with counted tokens from which the others are estimated.
_ENOUGH = 3


@dataclass(frozen=True, kw_only=True)
class LookEstimate:
    """Numbers of requests, frames and tokens. ``assumed``: basis of the tokens, in words; ``kept``: cached captions.

    With ``is_bound`` requests and frames are upper bounds, not counting requests that a client repeats after no reply;
    otherwise they are expected values. Tokens are estimates in both cases, because only the server counts them.
    """

    requests: int
    frames: int
    prompt: int
    completion: int
    assumed: str
    kept: int = 0
    is_bound: bool = False


def estimate_captions(view: View, seeing: Vision, config: VisionConfig) -> LookEstimate:
    """Estimate captioning every visible segment that has no cached caption.

    Tokens are those of earlier captions of this video if a server counted enough of them; otherwise they are assumed.
    """
    missing = _missing(view, seeing)
    counts = [config.choice.count(span.duration) for span in missing]
    costs = [kept.cost for kept in seeing.kept.all() if kept.task == "caption" and not kept.cost.estimated]
    shown = sum(cost.images for cost in costs)
    if len(costs) >= _ENOUGH and shown:
        prompt = round(sum(cost.prompt for cost in costs) / shown * sum(counts))
        completion = round(sum(cost.completion for cost in costs) / len(costs) * len(missing))
        assumed = f"as {len(costs)} captions of this video have taken"
    else:
        video = view.world.manifest.video
        each = {count: config.vision.expects("caption", count, video.width, video.height) for count in set(counts)}
        prompt = sum(each[count].prompt for count in counts)
        completion = sum(each[count].completion for count in counts)
        assumed = next((expected.assumed for expected in each.values()), "")
    return LookEstimate(
        requests=len(missing),
        frames=sum(counts),
        prompt=prompt,
        completion=completion,
        assumed=assumed,
        kept=len(view.segments) - len(missing),
    )


def estimate_question(config: VisionConfig, width: int, height: int) -> LookEstimate:
    """Return an upper bound for the looks of one question: all looks that it may use, each with the most frames.

    Tokens are those of the kind of look with most of them, with the longest question. ``width`` and ``height`` (pixels)
    are the video's; a crop of a thing counts as a square. Without a limit of looks the numbers are 0.
    """
    looks = config.most_looks or 0
    side = config.vision.longest_side
    segment = config.vision.expects("answer", config.choice.most, width, height)
    thing = config.vision.expects("state", MAX_SPOTS, side, side)
    dearer = max(segment, thing, key=lambda expected: expected.prompt)
    return LookEstimate(
        requests=looks,
        frames=looks * max(config.choice.most, MAX_SPOTS),
        prompt=looks * (dearer.prompt + LONGEST_QUESTION),
        completion=looks * max(segment.most_completion, thing.most_completion),
        assumed=f"{dearer.assumed}; the longest question is taken for {LONGEST_QUESTION:,}",
        is_bound=True,
    )


@dataclass(frozen=True, kw_only=True)
class Captioned:
    """Result of a captioning run: how many captions were made, how many were cached, and the failed segments with their faults."""

    made: int
    kept: int
    failed: tuple[tuple[TimeSpan, VideoWorldError], ...]


def caption_segments(
    view: View, seeing: Vision, config: VisionConfig, *, progress: Callable[[float, float], None]
) -> Captioned:
    """Caption every visible segment without a cached caption; ``progress`` gets the seconds of video done and in total.

    Several threads work until all segments are done or a fault occurs that would affect all of them. Other faults are
    only recorded. Sessions opened afterwards search the captions (``name_captions``).

    Raises VideoWorldError: a fault of every segment: an unreachable endpoint, a refused key, pictures not accepted.
    """
    missing = _missing(view, seeing)
    total, done, made = sum(span.duration for span in missing), 0.0, 0
    failed: list[tuple[TimeSpan, VideoWorldError]] = []
    ending: list[BaseException] = []
    waiting, lock, is_over = deque(missing), threading.Lock(), threading.Event()

    def serve() -> None:
        nonlocal done, made
        while not is_over.is_set():
            try:
                span = waiting.popleft()
            except IndexError:
                return
            fault: BaseException | None = None
            try:
                seeing.caption(span, until=view.duration)
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                fault = error
            with lock:
                done = min(total, done + span.duration)
                made += fault is None
                if isinstance(fault, VideoWorldError):
                    failed.append((span, fault))
                is_single = isinstance(fault, VideoWorldError) and fault.code in SINGLE_SEGMENT_FAULTS
                if fault is not None and (not is_single or (made == 0 and len(failed) >= _HOPELESS)):
                    ending.append(fault)
                    is_over.set()
                try:
                    progress(done, total)
                except BaseException as error:  # noqa: BLE001 - a display that fails ends the run, too
                    ending.append(error)
                    is_over.set()

    # Daemons: a person who interrupts the run need not wait for an endpoint. Each thread has a copy of the context, so that it
    # charges the ledger of the caller.
    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(serve,), daemon=True)
        for _ in range(min(config.at_once, len(missing)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        is_over.set()
    if ending:
        if isinstance(ending[0], VideoWorldError):
            kept = f"{made} of {len(missing)} captions were made and are kept; run it again to go on"
            ending[0].hint = "; ".join(filter(None, [ending[0].hint, kept]))
        raise ending[0]
    name_captions(view, seeing)
    failed.sort(key=lambda item: item[0])
    return Captioned(made=made, kept=len(view.segments) - len(missing), failed=tuple(failed))


def name_captions(view: View, seeing: Vision) -> None:
    """Let sessions that are opened from now on search the cached captions of all segments.

    Does nothing behind a causal cut, where the last segment is not complete.
    """
    if view.complete:
        seeing.search_from_now([span for span in view.segments if span.duration > 0], until=view.duration)


def _missing(view: View, seeing: Vision) -> list[TimeSpan]:
    until = view.duration
    return [span for span in view.segments if span.duration > 0 and seeing.kept_caption(span, until=until) is None]

"""Looks of a vision model at a whole video: at every entity that a detector tracked, and captions of all segments.

Estimates, and runs with several requests at a time. Cached looks are not requested again, so an interrupted run continues
where it stopped. Sessions that are opened after a run search the captions and use the looks at entities.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from world_api.core.attributes import attributes_of
from world_api.core.canonical import canonical_json
from world_api.core.faults import VideoWorldError
from world_api.core.spans import TimeSpan
from world_api.session.entity_views import MAX_VIEWS, best_views
from world_api.session.vision import LONGEST_QUESTION, MAX_SPOTS, Vision, VisionConfig
from world_api.world.tracks import Track
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
    """Numbers of requests, frames and tokens. ``assumed``: basis of the tokens, in words; ``kept``: cached looks.

    ``entities`` of the requests are looks at entities, each with ``MAX_VIEWS`` crops at most; the others are captions.

    With ``is_bound`` requests and frames are upper bounds, not counting requests that a client repeats after no reply;
    otherwise they are expected values. Tokens are estimates in both cases, because only the server counts them.
    """

    requests: int
    frames: int
    prompt: int
    completion: int
    assumed: str
    kept: int = 0
    entities: int = 0
    is_bound: bool = False


def estimate_looks(view: View, seeing: Vision, config: VisionConfig) -> LookEstimate:
    """Estimate looking at every visible entity without a cached look, and captioning every segment without a cached caption.

    Tokens of captions are those of earlier ones of this video if a server counted enough of them; otherwise they are assumed.
    """
    tracks, missing = _unseen_entities(seeing), _missing(view, seeing)
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
        prompt += sum(_tokens(seeing.named_in(span, until=view.duration)) for span in missing)
    side = config.vision.longest_side
    for track in tracks:
        crops = min(MAX_VIEWS, len(best_views(track)))
        expected = config.vision.expects("attributes", crops, side, side)
        prompt += expected.prompt + 2 * _tokens(attributes_of(track.category))  # in the record, in the schema
        completion += expected.completion
        counts.append(crops)
        assumed = assumed or expected.assumed
    return LookEstimate(
        requests=len(missing) + len(tracks),
        frames=sum(counts),
        prompt=prompt,
        completion=completion,
        assumed=assumed,
        kept=len(view.segments) - len(missing) + len(_entities(seeing)) - len(tracks),
        entities=len(tracks),
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
class MadeLooks:
    """Result of a captioning run: numbers of captions ``made`` and ``kept`` (cached), and the same of looks at entities.

    ``failed`` are the segments without a caption and the spans of the entities without a look, with their faults.
    """

    made: int
    kept: int
    failed: tuple[tuple[TimeSpan, VideoWorldError], ...]
    entities_made: int = 0
    entities_kept: int = 0


def make_looks(
    view: View, seeing: Vision, config: VisionConfig, *, progress: Callable[[float, float], None]
) -> MadeLooks:
    """Look at every entity and caption every segment without a cached look.

    ``progress`` gets the seconds of video that are done, and those in total; an entity counts as a second. Several threads
    work until all is done or a fault occurs that would affect everything. Other faults are only recorded. Sessions that are
    opened afterwards use the looks (``publish_looks``).

    Raises VideoWorldError: a fault of every segment: an unreachable endpoint, a refused key, pictures not accepted.
    """
    tracks, missing = _unseen_entities(seeing), _missing(view, seeing)
    jobs: list[Track | TimeSpan] = [*tracks, *missing]
    total, done, made = sum(map(_weight, jobs)), 0.0, {Track: 0, TimeSpan: 0}
    failed: list[tuple[TimeSpan, VideoWorldError]] = []
    ending: list[BaseException] = []
    waiting, lock, is_over = deque(jobs), threading.Lock(), threading.Event()

    def serve() -> None:
        nonlocal done
        while not is_over.is_set():
            try:
                job = waiting.popleft()
            except IndexError:
                return
            fault: BaseException | None = None
            try:
                if isinstance(job, Track):
                    seeing.attributes(job)
                else:
                    seeing.caption(job, until=view.duration)
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                fault = error
            with lock:
                done = min(total, done + _weight(job))
                made[type(job)] += fault is None
                if isinstance(fault, VideoWorldError):
                    failed.append((job.span if isinstance(job, Track) else job, fault))
                is_single = isinstance(fault, VideoWorldError) and fault.code in SINGLE_SEGMENT_FAULTS
                if fault is not None and (not is_single or (not any(made.values()) and len(failed) >= _HOPELESS)):
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
        for _ in range(min(config.at_once, len(jobs)))
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
            kept = f"{made[TimeSpan]} of {len(missing)} captions were made and are kept; run it again to go on"
            ending[0].hint = "; ".join(filter(None, [ending[0].hint, kept]))
        raise ending[0]
    publish_looks(view, seeing)
    failed.sort(key=lambda item: item[0])
    return MadeLooks(
        made=made[TimeSpan],
        kept=len(view.segments) - len(missing),
        failed=tuple(failed),
        entities_made=made[Track],
        entities_kept=len(_entities(seeing)) - len(tracks),
    )


def publish_looks(view: View, seeing: Vision) -> None:
    """Let sessions that are opened from now on search the cached captions of all segments, and use the looks at entities.

    Does nothing behind a causal cut, where the last segment is not complete.
    """
    if view.complete:
        spans = [span for span in view.segments if span.duration > 0]
        seeing.search_from_now(spans, _entities(seeing), until=view.duration)


def _tokens(value: object) -> int:
    """Estimate the tokens of a JSON value in English: one for four characters."""
    return len(canonical_json(value)) // 4


def _weight(job: Track | TimeSpan) -> float:
    return 1.0 if isinstance(job, Track) else job.duration


def _entities(seeing: Vision) -> list[Track]:
    return [] if seeing.entities is None else list(seeing.entities.tracks)


def _unseen_entities(seeing: Vision) -> list[Track]:
    return [track for track in _entities(seeing) if seeing.kept_attributes(track) is None]


def _missing(view: View, seeing: Vision) -> list[TimeSpan]:
    until = view.duration
    return [span for span in view.segments if span.duration > 0 and seeing.kept_caption(span, until=until) is None]

"""Captioning of all segments of a video with a vision model: estimates, and runs with several requests at a time.

Cached captions are not requested again, so an interrupted run continues where it stopped. At the end of a run sessions search
the captions of all segments from then on.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from world_api.core.faults import BackendFault, VideoWorldError
from world_api.core.spans import TimeSpan
from world_api.session.vision import LONGEST_QUESTION, MAX_SPOTS, Vision, VisionConfig
from world_api.world.view import View

#: Faults of a single segment (a moderated picture is a refused request); after any other all segments would fail.
SINGLE_SEGMENT_FAULTS = frozenset(
    {
        "sight_unreadable",
        "sight_refused",
        "endpoint_refused_request",
        "undecodable",
        "decoder_died",
        "decoder_stalled",
        "picture_unusable",
    }
)
#: Failures before the first caption that end a run, since each is paid for.
_HOPELESS = 5
#: Captions with counted tokens from which the others are estimated.
_ENOUGH = 3


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Requests, frames and tokens that will be sent; ``assumed`` says what the tokens rest on.

    With ``is_bound`` requests and frames are upper bounds, except for what a client repeats after no answer; else they are
    expected values. Tokens are estimates in both cases: only the server counts them.
    """

    requests: int
    frames: int
    prompt: int
    completion: int
    assumed: str
    kept: int = 0
    is_bound: bool = False
    cached: int = 0  #: tokens that a server may charge less for; none are counted on


def estimate_captions(view: View, seeing: Vision, config: VisionConfig) -> Estimate:
    """Estimate captioning every visible segment that has no cached caption.

    Tokens come from earlier captions of this video if a server counted enough of them; else they are assumed.
    """
    missing = _missing(view, seeing)
    counts = [config.choice.count(span.duration) for span in missing]
    estimate = Estimate(
        requests=len(missing),
        frames=sum(counts),
        prompt=0,
        completion=0,
        assumed="",
        kept=len(view.segments) - len(missing),
    )
    costs = [kept.cost for kept in seeing.kept.all() if kept.task == "caption" and not kept.cost.estimated]
    shown = sum(cost.images for cost in costs)
    if len(costs) >= _ENOUGH and shown:
        return replace(
            estimate,
            prompt=round(sum(cost.prompt for cost in costs) / shown * sum(counts)),
            completion=round(sum(cost.completion for cost in costs) / len(costs) * len(missing)),
            assumed=f"as {len(costs)} captions of this video have taken",
        )
    video = view.world.manifest.video
    each = {count: config.vision.expects("caption", count, video.width, video.height) for count in set(counts)}
    return replace(
        estimate,
        prompt=sum(each[count].prompt for count in counts),
        completion=sum(each[count].completion for count in counts),
        assumed=next((expected.assumed for expected in each.values()), ""),
    )


def estimate_question(config: VisionConfig, width: int, height: int) -> Estimate:
    """Upper bound of the looks of one question: every look that it may take, each with the most frames.

    Tokens are those of the more expensive kind of look with the longest question; a part of a frame may be square.
    """
    looks = config.most_looks or 0
    side = config.vision.longest_side
    segment = config.vision.expects("answer", config.choice.most, width, height)
    thing = config.vision.expects("state", MAX_SPOTS, side, side)
    dearer = max(segment, thing, key=lambda expected: expected.prompt)
    return Estimate(
        requests=looks,
        frames=looks * max(config.choice.most, MAX_SPOTS),
        prompt=looks * (dearer.prompt + LONGEST_QUESTION),
        completion=looks * max(segment.most_completion, thing.most_completion),
        assumed=f"{dearer.assumed}; the longest question is taken for {LONGEST_QUESTION:,}",
        is_bound=True,
    )


@dataclass(frozen=True, kw_only=True)
class Captioned:
    """Result of a run: numbers of captions made and found in the cache, and the segments that failed, with the fault."""

    made: int
    kept: int
    failed: tuple[tuple[TimeSpan, VideoWorldError], ...]


def caption_segments(
    view: View, seeing: Vision, config: VisionConfig, *, progress: Callable[[float, float], None]
) -> Captioned:
    """Caption every visible segment that has no caption; ``progress`` receives the seconds done and in all.

    At the end of the run its captions are searched from then on (``name_captions``).

    Raises:
        VideoWorldError: what would fail for every segment: an endpoint that is gone, a refused key, pictures not taken.
    """
    missing = _missing(view, seeing)
    run = _Run(missing, lambda span: _caption(seeing, span, view.duration), progress)
    run.go(min(config.at_once, len(missing)))
    if run.fault is not None:
        raise _with_progress(run.fault, run.made, len(missing))
    name_captions(view, seeing)
    return Captioned(made=run.made, kept=len(view.segments) - len(missing), failed=tuple(run.failed))


def name_captions(view: View, seeing: Vision) -> None:
    """Let sessions that are opened from now on search the cached captions of all segments.

    Behind a cut nothing changes: the last segment is not complete there.
    """
    if view.complete:
        seeing.search_from_now([span for span in view.segments if span.duration > 0], until=view.duration)


def _missing(view: View, seeing: Vision) -> list[TimeSpan]:
    until = view.duration
    return [span for span in view.segments if span.duration > 0 and not seeing.knows_caption(span, until=until)]


def _caption(seeing: Vision, span: TimeSpan, until: float) -> None:
    seeing.caption(span, until=until)


class _Run:
    """Work on segments in several threads, which end with the first fault that would affect all segments."""

    def __init__(
        self, spans: list[TimeSpan], work: Callable[[TimeSpan], None], progress: Callable[[float, float], None]
    ) -> None:
        self._waiting = deque(spans)
        self._done, self._total = 0.0, sum(span.duration for span in spans)
        self._work = work
        self._progress = progress
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self.made = 0
        self.failed: list[tuple[TimeSpan, VideoWorldError]] = []
        self.fault: VideoWorldError | None = None
        self.crash: BaseException | None = None

    def go(self, threads: int) -> None:
        """Work until all segments are done or a fault ends the run."""
        # Daemons: a person who interrupts the run need not wait for an endpoint. Each thread has a copy of the context, so that
        # it charges the ledger of the caller.
        workers = [
            threading.Thread(target=contextvars.copy_context().run, args=(self._serve,), daemon=True)
            for _ in range(threads)
        ]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        finally:
            self._is_over.set()
        if self.crash is not None:
            raise self.crash
        self.failed.sort(key=lambda item: item[0])

    def _serve(self) -> None:
        while not self._is_over.is_set():
            try:
                span = self._waiting.popleft()
            except IndexError:
                return
            try:
                self._work(span)
            except VideoWorldError as fault:
                self._note(span, fault)
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                self.crash = error
                self._is_over.set()
            else:
                with self._lock:
                    self.made += 1
                    self._advance(span)

    def _note(self, span: TimeSpan, fault: VideoWorldError) -> None:
        with self._lock:
            self.failed.append((span, fault))
            hopeless = self.made == 0 and len(self.failed) >= _HOPELESS
            if (fault.code not in SINGLE_SEGMENT_FAULTS or hopeless) and self.fault is None:
                self.fault = fault
                self._is_over.set()
            self._advance(span)

    def _advance(self, span: TimeSpan) -> None:
        self._done = min(self._total, self._done + span.duration)
        self._progress(self._done, self._total)


def _with_progress(fault: VideoWorldError, made: int, wanted: int) -> VideoWorldError:
    """The fault, with the number of captions made until then in its hint."""
    kept = f"{made} of {wanted} captions were made and are kept; run it again to go on"
    hint = f"{fault.hint}; {kept}" if fault.hint else kept
    kind = type(fault) if type(fault) is not VideoWorldError else BackendFault
    extended = kind(fault.code, fault.message, hint=hint)
    for said in getattr(fault, "__notes__", ()):  # what the server said, for people
        extended.add_note(said)
    return extended

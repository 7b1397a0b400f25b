"""Having a model caption all segments of a video: what that will cost, and doing it, several at a time.

What is kept already is not asked again, so a run that was broken off goes on where it stopped. When a run comes to its end,
the captions of all segments are what sessions search from then on.
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

#: Faults about one stretch alone (a moderated picture is a refused request); after any other the rest would fail as well.
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
#: So many failures before the first caption end the run: it would go on like that, and each is paid for.
_HOPELESS = 5
#: So many captions that a server counted tell what the others will take.
_ENOUGH = 3


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What is about to be sent: requests, frames and tokens; ``assumed`` says what the tokens rest on.

    ``is_bound``: no more requests and frames than that are sent, beside what a client repeats since no answer came; else it
    is what is likely. Tokens are estimated in both cases: only the server counts them.
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
    """What captioning every segment of the visible part sends, beside what is kept.

    Tokens are those that earlier captions of this video took, where a server counted enough of them; else assumed.
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
    """The most that looking for one question sends: every look it may take, each with as many frames as there may be.

    Tokens are those of the dearer kind of look with the longest question; a part of a frame may be as tall as wide.
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
    """What came of a run: captions made and found, and the stretches of which none could be had, with the reason."""

    made: int
    kept: int
    failed: tuple[tuple[TimeSpan, VideoWorldError], ...]


def caption_segments(
    view: View, seeing: Vision, config: VisionConfig, *, progress: Callable[[float, float], None]
) -> Captioned:
    """Caption every segment of the visible part that has none; ``progress`` is told how many seconds of how many are done.

    What a run that comes to its end has made and found is searched from then on (``name_captions``).

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
    """Have the captions that are kept of all segments searched by sessions that are opened from now on.

    Behind a cut nothing is changed: the last segment is not whole there.
    """
    if view.complete:
        seeing.search_from_now([span for span in view.segments if span.duration > 0], until=view.duration)


def _missing(view: View, seeing: Vision) -> list[TimeSpan]:
    until = view.duration
    return [span for span in view.segments if span.duration > 0 and not seeing.knows_caption(span, until=until)]


def _caption(seeing: Vision, span: TimeSpan, until: float) -> None:
    seeing.caption(span, until=until)


class _Run:
    """Work on stretches by several threads, which end with the first fault that would befall all of them."""

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
        """Work until all is done, or nothing more can be."""
        # Daemons: a person who breaks the run off need not wait for an endpoint. Each has its own copy of the
        # context, so that what it spends goes to the ledger of whoever started this.
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
    """The fault with what was done until then."""
    kept = f"{made} of {wanted} captions were made and are kept; run it again to go on"
    hint = f"{fault.hint}; {kept}" if fault.hint else kept
    kind = type(fault) if type(fault) is not VideoWorldError else BackendFault
    extended = kind(fault.code, fault.message, hint=hint)
    for said in getattr(fault, "__notes__", ()):  # what the server said, for people
        extended.add_note(said)
    return extended

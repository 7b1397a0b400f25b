"""Choosing the pictures of a page: few enough for the file, so that as many episodes as possible have theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eval.report.frames.moments import Moment

#: A frame of a video, by the moment at which it plays.
FrameKey = tuple[str, float]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The frames to show, in the order of videos and times, and how many moments go without."""

    frames: tuple[FrameKey, ...]
    left_out: int
    _by_video: Mapping[str, list[float]] = field(repr=False)

    def frame_of(self, moment: Moment) -> FrameKey | None:
        """The frame that shows a moment; the nearest of several."""
        times = [time for time in self._by_video.get(moment.video_id, ()) if moment.is_shown_by(time)]
        return (moment.video_id, min(times, key=lambda time: (abs(time - moment.time), time))) if times else None


def choose(moments: Mapping[str, Sequence[Moment]], *, most: int) -> Chosen:
    """Frames for the moments of all samples, at most so many.

    First the first moment of every sample is served, then the second, and so on; a moment that a chosen frame shows already
    costs nothing.
    """
    by_video: dict[str, list[float]] = {}
    count = left_out = 0
    deepest = max(map(len, moments.values()), default=0)
    for rank in range(deepest):
        for sample in moments:
            wanted = moments[sample][rank : rank + 1]
            for moment in wanted:
                times = by_video.setdefault(moment.video_id, [])
                if any(moment.is_shown_by(time) for time in times):
                    continue
                if count < most:
                    times.append(moment.time)
                    count += 1
                else:
                    left_out += 1
    frames = tuple((video, time) for video in sorted(by_video) for time in sorted(by_video[video]))
    return Chosen(frames=frames, left_out=left_out, _by_video=by_video)

"""What of a source was lost in decoding it, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from world_api.build.media.timeline import Timeline

#: A video that ends this much (seconds) before its header says is called cut off.
_ENDS_EARLY = 1.0


@dataclass(kw_only=True)
class Damage:
    """What a pass could not decode: packets refused, frames marked corrupt, and between which times.

    ``resized`` counts frames of another size than the first (``size``: width and height of the first such), which were fitted
    into it, and tells between which times (seconds) they lie.
    """

    packets: int = 0
    frames: int = 0
    first: float | None = None
    last: float | None = None
    resized: int = 0
    size: tuple[int, int] = (0, 0)
    first_resized: float | None = None
    last_resized: float | None = None

    def note(self, time: float) -> None:
        """Widen the damaged stretch to hold a time."""
        self.first = time if self.first is None else min(self.first, time)
        self.last = time if self.last is None else max(self.last, time)

    def note_size(self, width: int, height: int, time: float) -> None:
        """Count a frame of another size (pixels as displayed)."""
        if not self.resized:
            self.size, self.first_resized = (width, height), time
        self.resized += 1
        self.last_resized = time


@dataclass(frozen=True, kw_only=True)
class LossNote:
    """Something of the source that was lost, and where (seconds)."""

    code: str
    message: str
    start_time: float | None = None
    end_time: float | None = None


def damage_losses(damage: Damage) -> list[LossNote]:
    """Frames and packets that were damaged."""
    if not (damage.packets or damage.frames):
        return []
    return [
        LossNote(
            code="damaged_frames",
            message=f"{damage.packets} packets could not be decoded and {damage.frames} frames are damaged",
            start_time=milliseconds(damage.first),
            end_time=milliseconds(damage.last),
        )
    ]


def size_losses(damage: Damage, width: int, height: int) -> list[LossNote]:
    """Frames whose size was not that of the first (``width`` x ``height``)."""
    if not damage.resized:
        return []
    return [
        LossNote(
            code="picture_size_changes",
            message=f"the picture changes its size from {width}x{height} to {damage.size[0]}x{damage.size[1]} pixels at"
            f" {damage.first_resized or 0.0:.1f} s; {damage.resized} frames of other sizes were scaled to fit {width}x{height},"
            " with black borders where their proportions differ, and boxes are pixels of that",
            start_time=milliseconds(damage.first_resized),
            end_time=milliseconds(damage.last_resized),
        )
    ]


def clock_losses(timeline: Timeline) -> list[LossNote]:
    """Frames out of order, and leaps of the file's clock."""
    found = []
    if timeline.left_out:
        found.append(
            LossNote(
                code="times_step_back",
                message=f"{timeline.left_out} frames were left out: their times lie before those of earlier frames",
                start_time=milliseconds(timeline.first_left_out),
            )
        )
    if timeline.leaps:
        found.append(
            LossNote(
                code="times_leap",
                message=f"the file's clock leaps {timeline.leaps} times; the time was carried on from the last frame, so"
                " subtitles may be off after the first leap, and so may single frames looked up in the file",
                start_time=milliseconds(timeline.first_leap),
            )
        )
    return found


def ending_losses(duration: float, declared: float | None, *, last_step: float) -> list[LossNote]:
    """Frames that end before the header says the video does."""
    if declared is None or declared - duration <= max(_ENDS_EARLY, 2 * last_step):
        return []
    return [
        LossNote(
            code="ends_early",
            message=f"the file says {declared:.1f} s but its frames end at {duration:.1f} s",
            start_time=milliseconds(duration),
            end_time=milliseconds(declared),
        )
    ]


def milliseconds(time: float | None) -> float | None:
    """A time as it is told."""
    return None if time is None else round(time, 3)

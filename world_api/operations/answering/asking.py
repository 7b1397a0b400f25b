"""Reading the arguments of a call against what the session can see: times, stretches, videos."""

from __future__ import annotations

from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.declaring.arguments import TimeRange
from world_api.world.sessions.session import Session


def moment(session: Session, video_id: str, timestamp: float) -> float:
    """A visible moment. The visible stretch is half-open, so its end is past it.

    Raises:
        OperationFault: ``wrong_video``, ``not_yet``, ``time_out_of_range``.
    """
    session.check_video(video_id)
    if timestamp >= session.view.duration:
        raise beyond(session, timestamp)
    return float(timestamp)


def stretch(session: Session, video_id: str, start_time: float, end_time: float) -> TimeSpan:
    """A visible stretch of positive length; an end past what is visible is clipped to it, which the result's hint says.

    Raises:
        OperationFault: ``wrong_video``, ``bad_time_range``, ``not_yet``, ``time_out_of_range``.
    """
    session.check_video(video_id)
    if end_time <= start_time:
        raise OperationFault(
            "bad_time_range",
            f"end_time ({end_time:g}) must be after start_time ({start_time:g})",
            hint="stretches are half-open, in seconds: start_time < end_time",
        )
    if start_time >= session.view.duration:
        raise beyond(session, start_time)
    start, end = round_time(start_time), round_time(min(end_time, session.view.duration))
    if end <= start:
        raise OperationFault(
            "bad_time_range",
            f"the stretch from {start_time:g} to {end_time:g} s holds less than a millisecond of what is visible",
            hint="give a longer stretch",
        )
    return TimeSpan(start=start, end=end)


def optional_stretch(session: Session, video_id: str, time_range: TimeRange | None) -> TimeSpan | None:
    """The stretch of an optional range, or None."""
    session.check_video(video_id)
    return None if time_range is None else stretch(session, video_id, time_range.start_time, time_range.end_time)


def beyond(session: Session, time: float) -> OperationFault:
    """The fault for a time that cannot be seen: a causal cut never tells how long the video really is."""
    if not session.view.complete:
        return OperationFault(
            "not_yet",
            f"{time:g} s has not been seen yet: this session sees the video up to {session.view.duration:g} s",
            hint=f"ask about times before {session.view.duration:g} s",
        )
    return OperationFault(
        "time_out_of_range",
        f"{time:g} s is not in the video, which ends at {session.view.duration:g} s",
        hint=f"use times from 0 to just before {session.view.duration:g} s; stretches are half-open, so their end may be it",
    )

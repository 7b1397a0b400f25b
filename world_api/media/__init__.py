"""Reading video files: probing, the decode pass, frames and sound by time, subtitles.

Files may be hostile, so a child process decodes them within ``Limits``; this process reads frames from shared memory and
everything else from a pipe. A decoder that dies or stalls is restarted, and what was lost is reported as a ``LossNote``.

Names are imported when they are first used, so that importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from world_api.media.audio import read_audio
    from world_api.media.container import DEFAULT_LIMITS, Limits, Probe, probe
    from world_api.media.decode_pass import DecodePass, LossNote, PassState
    from world_api.media.decoder import MediaWorker, VideoFrames, VideoPass
    from world_api.media.frames import DecodedFrame, Frame, PixelFormat, Scaler, Want
    from world_api.media.subtitles import Cue, Subtitles, SubtitleSource, choose_subtitles, look_into, read_subtitles

#: The module of each name; it is imported when the name is first used.
_HOMES = {
    "audio": "read_audio",
    "container": "DEFAULT_LIMITS Limits Probe probe",
    "decode_pass": "DecodePass LossNote PassState",
    "decoder": "MediaWorker VideoFrames VideoPass",
    "frames": "DecodedFrame Frame PixelFormat Scaler Want",
    "subtitles": "Cue SubtitleSource Subtitles choose_subtitles look_into read_subtitles",
}

__all__ = [
    "DEFAULT_LIMITS", "Cue", "DecodePass", "DecodedFrame", "Frame", "Limits", "LossNote", "MediaWorker", "PassState",
    "PixelFormat", "Probe", "Scaler", "SubtitleSource", "Subtitles", "VideoFrames", "VideoPass", "Want",
    "choose_subtitles", "look_into", "probe", "read_audio", "read_subtitles",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"world_api.media.{module}"), name)
    raise AttributeError(f"module 'world_api.media' has no attribute {name!r}")

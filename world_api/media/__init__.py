"""Reading video files: probing, the decode pass, frames and sound by time, subtitles.

Files may be hostile, so a child process decodes them within ``Limits``; this process reads frames from shared memory and
everything else from a pipe. A decoder that dies or stalls is restarted, and what was lost is reported as a ``LossNote``.

Names are imported when they are first used, so that importing the package is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.media.audio import read_audio
    from world_api.media.container import DEFAULT_LIMITS, Limits, Probe, probe
    from world_api.media.decode_pass import DecodePass, LossNote, PassState
    from world_api.media.decoder import MediaWorker, VideoFrames, VideoPass
    from world_api.media.frames import DecodedFrame, Frame, PixelFormat, Want
    from world_api.media.subtitles import Cue, Subtitles, SubtitleSource, choose_subtitles, look_into, read_subtitles

__getattr__, __dir__, __all__ = lazy_names(__name__)

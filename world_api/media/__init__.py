"""Reading video files: probing, the decode pass, frames and sound by time, subtitles.

Files may be hostile, so a child process decodes them within ``Limits``; this process reads frames from shared memory and
everything else from a pipe. A decoder that dies or stalls is restarted, and what was lost is reported as a ``LossNote``.

Names are imported when they are first used, so that importing the package is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.media.audio import read_audio as read_audio
    from world_api.media.container import DEFAULT_LIMITS as DEFAULT_LIMITS
    from world_api.media.container import Limits as Limits
    from world_api.media.container import Probe as Probe
    from world_api.media.container import probe as probe
    from world_api.media.decode_pass import DecodePass as DecodePass
    from world_api.media.decode_pass import LossNote as LossNote
    from world_api.media.decode_pass import PassState as PassState
    from world_api.media.decoder import MediaWorker as MediaWorker
    from world_api.media.decoder import VideoFrames as VideoFrames
    from world_api.media.decoder import VideoPass as VideoPass
    from world_api.media.frames import DecodedFrame as DecodedFrame
    from world_api.media.frames import Frame as Frame
    from world_api.media.frames import PixelFormat as PixelFormat
    from world_api.media.frames import Want as Want
    from world_api.media.subtitles import Cue as Cue
    from world_api.media.subtitles import Subtitles as Subtitles
    from world_api.media.subtitles import SubtitleSource as SubtitleSource
    from world_api.media.subtitles import choose_subtitles as choose_subtitles
    from world_api.media.subtitles import look_into as look_into
    from world_api.media.subtitles import read_subtitles as read_subtitles

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""Sessions: a world behind a causal cut, with an overlay for what the caller writes and a vision model that it may ask.

A ``Session`` is what operations run on. Its overlay is a log beside the world; ``commit_session`` adds it to the world.
``Vision`` looks at frames through a cache, ``caption_segments`` captions a whole video.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.session.captioning import Captioned as Captioned
    from world_api.session.captioning import LookEstimate as LookEstimate
    from world_api.session.captioning import caption_segments as caption_segments
    from world_api.session.captioning import estimate_captions as estimate_captions
    from world_api.session.captioning import estimate_question as estimate_question
    from world_api.session.overlay import Overlay as Overlay
    from world_api.session.overlay import commit_session as commit_session
    from world_api.session.overlay import drop_session as drop_session
    from world_api.session.overlay import list_sessions as list_sessions
    from world_api.session.overlay import open_overlay as open_overlay
    from world_api.session.session import SEEN as SEEN
    from world_api.session.session import Backends as Backends
    from world_api.session.session import Registration as Registration
    from world_api.session.session import Session as Session
    from world_api.session.vision import LONGEST_QUESTION as LONGEST_QUESTION
    from world_api.session.vision import MAX_SPOTS as MAX_SPOTS
    from world_api.session.vision import FrameChoice as FrameChoice
    from world_api.session.vision import FrameLooker as FrameLooker
    from world_api.session.vision import LookSpot as LookSpot
    from world_api.session.vision import Vision as Vision
    from world_api.session.vision import VisionConfig as VisionConfig

__getattr__, __dir__, __all__ = lazy_names(__name__)

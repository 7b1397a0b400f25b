"""Sessions: a world behind a causal cut, with an overlay for what the caller writes and a vision model that it may ask.

A ``Session`` is what operations run on. Its overlay is a log beside the world; ``commit_session`` adds it to the world.
``Vision`` looks at frames through a cache, ``caption_segments`` captions a whole video.
"""

from __future__ import annotations

from world_api.session.captioning import (
    Captioned,
    Estimate,
    caption_segments,
    estimate_captions,
    estimate_question,
    name_captions,
)
from world_api.session.overlay import (
    MemoryWritten,
    Overlay,
    commit_session,
    drop_session,
    forget_reserved,
    list_sessions,
    open_overlay,
    reserve_session,
)
from world_api.session.session import SEEN, Backends, Registration, Session, StandIn
from world_api.session.vision import (
    LONGEST_QUESTION,
    MAX_SPOTS,
    FrameChoice,
    FrameLooker,
    Spot,
    Vision,
    VisionConfig,
    world_key,
)
from world_api.session.vision_cache import CachedLook

__all__ = [
    "LONGEST_QUESTION",
    "MAX_SPOTS",
    "SEEN",
    "Backends",
    "CachedLook",
    "Captioned",
    "Estimate",
    "FrameChoice",
    "FrameLooker",
    "MemoryWritten",
    "Overlay",
    "Registration",
    "Session",
    "Spot",
    "StandIn",
    "Vision",
    "VisionConfig",
    "caption_segments",
    "commit_session",
    "drop_session",
    "estimate_captions",
    "estimate_question",
    "forget_reserved",
    "list_sessions",
    "name_captions",
    "open_overlay",
    "reserve_session",
    "world_key",
]

"""Sessions: a world behind a causal cut, with an overlay for what the caller writes and, if chosen, a vision model.

Operations run on a ``Session``. Its overlay is a log beside the world; ``commit_session`` adds it to the world.
``Vision`` requests looks at frames through a cache, ``make_looks`` captions a whole video.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.session.entity_views import LookSpot, best_views
    from world_api.session.session import (
        SEEN,
        Backends,
        Overlay,
        Registration,
        Session,
        commit_session,
        drop_session,
        list_sessions,
        open_overlay,
    )
    from world_api.session.vision import (
        LONGEST_QUESTION,
        MAX_SPOTS,
        FrameChoice,
        FrameLooker,
        Vision,
        VisionConfig,
    )
    from world_api.session.whole_video import (
        LookEstimate,
        MadeLooks,
        estimate_looks,
        estimate_question,
        make_looks,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""Facts about the video and its entities."""

from __future__ import annotations

from world_api.core.cost import Cost
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.evidence import evidence
from world_api.operations.matching import listed_entities
from world_api.operations.registry import operation
from world_api.operations.schema import Entities, JudgedWords, Metadata, Resolution, VideoId
from world_api.session.session import Session

#: A list of entities is never longer than this.
MAX_ENTITIES = 60


@operation(category="meta", price=Cost(calls=1, seconds=0.002), depends_on_session=True)
def list_entities(session: Session, *, video_id: VideoId) -> Entities:
    """List the entities: those identified when the world was built and those this session registered."""
    session.check_video(video_id)
    listed, count = listed_entities(session, MAX_ENTITIES)
    return Entities(
        entities=listed,
        evidence=[
            evidence(session, TimeSpan(start=item.first_time, end=item.last_time), "tracker", None, item.first_time)
            for item in listed
        ],
        truncated=count > len(listed),
        hint="only the first are listed; detect_objects finds those at a moment" if count > len(listed) else "",
    )


@operation(category="meta", price=Cost(calls=1, seconds=0.001))
def get_video_metadata(session: Session, *, video_id: VideoId) -> Metadata:
    """Tell the video's duration in seconds, its frame rate, its resolution in pixels, and the categories of things it can tell."""
    session.check_video(video_id)
    view, manifest = session.view, session.view.world.manifest
    return Metadata(
        duration=round_time(view.duration),
        frame_rate=round(manifest.video.frame_rate, 3),
        resolution=Resolution(width=manifest.video.width, height=manifest.video.height),
        title=manifest.title,
        has_audio=manifest.video.has_audio,
        has_speech_text=view.has_rows("speech"),
        profile=manifest.profile,
        vocabulary=JudgedWords(categories=sorted(session.vocabulary.categories)),
        evidence=[evidence(session, view.span, "metadata", 1.0, 0.0)],
    )

"""``direct``: uniform frames of the video, and what is said in it, to a model that sees pictures."""

from __future__ import annotations

import base64
import hashlib
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pydantic import Field

from controller.conversation.gathering import PICTURE
from controller.conversation.opening import FirstCall, Opening
from controller.systems.looping import LoopSystem, Own, OwnCalls, Setup
from controller.systems.options import Options
from controller.systems.transcript import SPOKEN_LINES, transcript, transcript_tokens
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.backends.endpoint.vision import data_url
from world_api.core.faults import EpisodeFault, MediaFault
from world_api.core.ports import Picture
from world_api.core.spans import round_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from controller.questions import Question
    from world_api.core.ports import PictureSource
    from world_api.session.session import Session

SAMPLE_FRAMES = "sample_frames"
#: So many frames are held as pixels at a time.
_TOGETHER = 32


class DirectOptions(Options):
    """``frames``: how many; ``max_side``: of a frame, in pixels; ``transcript``: whether what is said is given too."""

    frames: int = Field(default=32, ge=1, le=1024)
    max_side: int = Field(default=512, ge=16, le=4096)
    transcript: bool = True


class Direct(LoopSystem[DirectOptions]):
    """Frames at the middles of equal parts of the visible video, and the transcript, in one request. No tools."""

    name = "direct"
    options_kind = DirectOptions

    def check(self) -> None:
        """The model has to see.

        Raises:
            EpisodeFault: ``model_takes_no_images``.
        """
        super().check()
        seen = self.context.takes_images
        if seen is False or (seen is None and self.context.model.name == RULE_BASED):
            raise EpisodeFault(
                "model_takes_no_images",
                f"the system 'direct' shows frames to the model, and {self.context.model.name!r} takes no images",
                hint="give a --model that sees, or use --system socratic",
            )

    def setup(self, question: Question, session: Session) -> Setup:
        """No tools; the frames, and the lines of speech, are there from the start."""
        options = self.options
        frames = SampledFrames(session)
        calls = [FirstCall(tool=SAMPLE_FRAMES, arguments={"count": options.frames, "max_side": options.max_side})]
        if options.transcript:
            tokens = transcript_tokens(self.context.budget)
            calls.append(FirstCall(tool=SPOKEN_LINES, arguments={"max_tokens": tokens}))
        own: dict[str, Own] = {
            SAMPLE_FRAMES: frames.sample,
            SPOKEN_LINES: lambda max_tokens: transcript(session, max_tokens=max_tokens),
        }
        return Setup(
            make_tools=lambda: OwnCalls(own),
            opening=Opening(instructions="from_material", first_calls=tuple(calls)),
            pictures=frames.address,
        )


class SampledFrames:
    """Frames of a session's video, taken in one decoding process and kept as JPEG under their hashes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._addresses: dict[str, str] = {}

    def sample(self, count: int, max_side: int) -> dict[str, Any]:
        """Frames at the middles of ``count`` equal parts of the visible video: times, sizes, hashes.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``, ``decoder_died``, ``decoder_stalled``.
            BackendFault: ``picture_unusable``.
        """
        from world_api.api import source_path
        from world_api.media.decoder import VideoFrames

        source = source_path(self._session.view.world)
        if source is None:
            raise MediaFault(
                "source_missing",
                f"the video of {self._session.video_id!r} is not on this machine",
                hint="ask where the video is, or use a system that needs only the world",
            )
        length = self._session.view.duration
        times = [round_time(length * (2 * place + 1) / (2 * count)) for place in range(count if length > 0 else 0)]
        with closing(VideoFrames(source)) as frames:
            return {"frames": list(self._taken(frames, times, max_side))}

    def address(self, name: str) -> str:
        """A picture as a ``data:`` address."""
        return self._addresses[name]

    def _taken(self, source: PictureSource, times: Sequence[float], max_side: int) -> Iterator[dict[str, Any]]:
        """The frames at some times, kept by their hashes."""
        for first in range(0, len(times), _TOGETHER):
            some = times[first : first + _TOGETHER]
            for time, image in zip(some, source.pictures_played_at(some, max_side), strict=True):
                address = data_url(Picture(time=time, image=image), max_side)
                name = PICTURE + hashlib.sha256(base64.b64decode(address.partition(",")[2])).hexdigest()
                self._addresses[name] = address
                yield {"time": time, "picture": name, "width": image.shape[1], "height": image.shape[0]}

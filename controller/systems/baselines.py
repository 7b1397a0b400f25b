"""Baselines without tools: ``blind`` (no video), ``direct`` (sampled frames) and ``socratic`` (captions of clips).

``socratic`` follows Zeng et al., Socratic Models: Composing Zero-Shot Multimodal Reasoning with Language (2022).
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import Counter
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from controller.conversation import PICTURE, FirstCall, Preamble
from controller.episode_tools import AtomicTools
from controller.systems.base import LoopSystem, Options, OwnCall, OwnCalls, Setup
from world_api.chat.messages import estimate_tokens
from world_api.chat.rule_based import RULE_BASED
from world_api.core.faults import INTERNAL_FAULT, EpisodeFault, MediaFault, OperationFault
from world_api.core.ports import Picture
from world_api.core.spans import round_time
from world_api.perception.endpoint import data_url
from world_api.session.whole_video import SINGLE_SEGMENT_FAULTS

if TYPE_CHECKING:
    from controller.answers import Question
    from controller.options import Budget
    from world_api.session.session import Session


#: A system's own call, not the operation ``read_transcript``: it begins at the start and is limited in tokens.
SPOKEN_LINES = "spoken_lines"
#: Tokens of a transcript if the model's window is not known.
USUAL_TOKENS = 20_000


def transcript_tokens(budget: Budget) -> int:
    """Return the most tokens of a transcript: half of the model's window if that is known, else 20,000."""
    return budget.window // 2 if budget.window is not None else USUAL_TOKENS


def transcript(session: Session, *, max_tokens: int) -> dict[str, Any]:
    """Return the visible utterances from the first on, as many as fit into about ``max_tokens``, under ``lines``.

    If some are left out, ``truncated`` is true and the hint contains how many are included.
    """
    spoken = session.view.speech
    lines: list[dict[str, Any]] = []
    spent = 0
    for said in spoken:
        start, end = round_time(said.span.start), round_time(said.span.end)
        line = {"start_time": start, "end_time": end, "text": said.text} | (
            {"speaker": said.said_by} if said.said_by else {}
        )
        spent += estimate_tokens(line)
        if spent > max_tokens:
            break
        lines.append(line)
    if not len(spoken):
        return {"lines": [], "hint": "nothing was heard, or no transcript of what is said exists"}
    if len(lines) == len(spoken):
        return {"lines": lines}
    until = lines[-1]["end_time"] if lines else 0.0
    hint = f"the transcript is longer than fits: the first {len(lines)} of {len(spoken)} lines, up to {until} s"
    return {"lines": lines, "truncated": True, "hint": hint}


class BlindOptions(Options):
    """``variant``: whether the model gets the question alone, or also the transcript."""

    variant: Literal["question", "transcript"] = "question"


class Blind(LoopSystem[BlindOptions]):
    """The question alone, or with all that is spoken in the video. The model gets no tools and no frames."""

    name = "blind"
    options_kind = BlindOptions

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup without tools; in the variant ``transcript`` a first call gives the speech."""
        if self.options.variant == "question":
            return Setup(make_tools=lambda: OwnCalls({}), preamble=Preamble(instructions="blind"))
        arguments = {"max_tokens": transcript_tokens(self.context.budget)}
        own = {SPOKEN_LINES: partial(transcript, session)}
        calls = (FirstCall(tool=SPOKEN_LINES, arguments=arguments),)
        return Setup(
            make_tools=lambda: OwnCalls(own), preamble=Preamble(instructions="from_material", first_calls=calls)
        )


SAMPLE_FRAMES = "sample_frames"
#: Frames that are held as pixels at a time.
_TOGETHER = 32


class DirectOptions(Options):
    """``frames``: how many; ``max_side``: longest side in pixels; ``transcript``: whether speech is given too."""

    frames: int = Field(default=32, ge=1, le=1024)
    max_side: int = Field(default=512, ge=16, le=4096)
    transcript: bool = True


class Direct(LoopSystem[DirectOptions]):
    """Frames at the middles of equal parts of the visible video, and the transcript, in the first request; no tools."""

    name = "direct"
    options_kind = DirectOptions

    def check(self) -> None:
        """Check that the model accepts images. Raises EpisodeFault: ``model_takes_no_images``."""
        super().check()
        seen = self.context.takes_images
        if seen is False or (seen is None and self.context.model.name == RULE_BASED):
            raise EpisodeFault(
                "model_takes_no_images",
                f"the system 'direct' shows frames to the model, and {self.context.model.name!r} takes no images",
                hint="give a --model that sees, or use --system socratic",
            )

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup without tools; first calls give the frames and, as an option, the speech."""
        options = self.options
        frames = SampledFrames(session)
        calls = [FirstCall(tool=SAMPLE_FRAMES, arguments={"count": options.frames, "max_side": options.max_side})]
        if options.transcript:
            tokens = transcript_tokens(self.context.budget)
            calls.append(FirstCall(tool=SPOKEN_LINES, arguments={"max_tokens": tokens}))
        own: dict[str, OwnCall] = {SAMPLE_FRAMES: frames.sample, SPOKEN_LINES: partial(transcript, session)}
        return Setup(
            make_tools=lambda: OwnCalls(own),
            preamble=Preamble(instructions="from_material", first_calls=tuple(calls)),
            pictures=frames.address,
        )


class SampledFrames:
    """Frames of a session's video, decoded by one process and kept as JPEG under their hashes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._addresses: dict[str, str] = {}

    def sample(self, count: int, max_side: int) -> dict[str, Any]:
        """Return frames at the middles of ``count`` equal parts of the visible video: times, sizes, hashes.

        Raises MediaFault: ``source_missing``, ``undecodable``, ``decoder_died``, ``decoder_stalled``; BackendFault:
        ``picture_unusable``.
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
        taken = []
        with closing(VideoFrames(source)) as frames:
            for first in range(0, len(times), _TOGETHER):
                some = times[first : first + _TOGETHER]
                for time, image in zip(some, frames.pictures_played_at(some, max_side), strict=True):
                    address = data_url(Picture(time=time, image=image), max_side)
                    name = PICTURE + hashlib.sha256(base64.b64decode(address.partition(",")[2])).hexdigest()
                    self._addresses[name] = address
                    taken.append({"time": time, "picture": name, "width": image.shape[1], "height": image.shape[0]})
        return {"frames": taken}

    def address(self, name: str) -> str:
        """Return a sampled picture, by the name in the result of ``sample``, as a ``data:`` address."""
        return self._addresses[name]


DESCRIBE = "describe_segment"
SEARCH_CAPTIONS = "search_captions"
#: How many entries of each ranking are fused.
_FUSED = 400
#: Faults that concern one clip only, such as a moderated picture: the captions of the others are still used.
_OF_ONE_CLIP = SINGLE_SEGMENT_FAULTS | {INTERNAL_FAULT}
_BUILD_AGAIN = "build the world again, or ask another system"


class SocraticOptions(Options):
    """``clip_seconds``: the length of a clip; ``top_k``: how many captions the model gets."""

    clip_seconds: float = Field(default=30.0, ge=1.0, le=600.0)
    top_k: int = Field(default=8, ge=1, le=200)


class Socratic(LoopSystem[SocraticOptions]):
    """Captions of all clips of the visible video; the model answers from the ``top_k`` that fit the question best."""

    name = "socratic"
    options_kind = SocraticOptions

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup without tools; first calls describe all clips and search the captions."""
        options = self.options
        length = float(self.material("visible_seconds", lambda: self._visible(session)))
        tiles = clips(session.video_id, length, options.clip_seconds)
        calls = [FirstCall(tool=DESCRIBE, arguments=clip, shown=False, needed=False, reads=True) for clip in tiles]
        query = " ".join([question.text, *question.options])
        calls.append(FirstCall(tool=SEARCH_CAPTIONS, arguments={"query": query, "top_k": options.top_k}))

        def make_tools() -> OwnCalls:
            captions = ClipCaptions(session, clips=len(tiles))
            return OwnCalls({DESCRIBE: captions.describe, SEARCH_CAPTIONS: captions.search})

        preamble = Preamble(instructions="from_material", first_calls=tuple(calls))
        return Setup(make_tools=make_tools, preamble=preamble)

    def _visible(self, session: Session) -> float:
        """Return the length of the visible video in seconds.

        Raises EpisodeFault: ``looks_too_few``, if the vision model may look fewer times than there are clips.
        """
        length, seeing = session.view.duration, session.backends.seeing
        wanted = len(clips(session.video_id, length, self.options.clip_seconds))
        if seeing is not None and seeing.most_looks is not None and seeing.most_looks < wanted:
            raise EpisodeFault(
                "looks_too_few",
                f"the system 'socratic' has a model look at all {wanted} clips, and it may look {seeing.most_looks} times",
                hint=f"allow --looks {wanted}, or take longer clips with --set clip_seconds=SECONDS",
            )
        return length


def clips(video_id: str, length: float, clip_seconds: float) -> list[dict[str, Any]]:
    """Return the arguments of ``describe_segment`` for each clip of a video of ``length`` seconds, in order."""
    count = math.ceil(length / clip_seconds)
    return [
        {
            "video_id": video_id,
            "start_time": round_time(place * clip_seconds),
            "end_time": round_time(min(length, (place + 1) * clip_seconds)),
        }
        for place in range(count)
        if round_time(place * clip_seconds) < round_time(min(length, (place + 1) * clip_seconds))
    ]


class ClipCaptions:
    """Captions of the clips of a video (``clips``: their number), made by an operation, searched by words and meaning."""

    def __init__(self, session: Session, *, clips: int) -> None:
        self._operations = AtomicTools(session)
        self._embedder = session.backends.text_embedder
        self._clips = clips
        self._results: dict[tuple[float, float], dict[str, Any]] = {}

    def describe(self, **arguments: Any) -> dict[str, Any]:
        """Describe a clip; keep and return its caption or the fault."""
        result = self._operations.call_tool(DESCRIBE, arguments)
        self._results[arguments["start_time"], arguments["end_time"]] = result
        return result

    def search(self, query: str, top_k: int) -> dict[str, Any]:
        """Return the captions that fit a query best, in time order; if none fits, captions from all parts of the video.

        In the result ``of`` is the number of clips; ``undescribed`` counts clips without a caption by fault code.

        Raises OperationFault: ``no_captions``; a fault that concerns more than single clips, since the remaining
        captions would be an arbitrary part of the video.
        """
        results = [self._results[key] for key in sorted(self._results)]
        described = [result for result in results if isinstance(result.get("caption"), str)]
        made = [{key: result[key] for key in ("start_time", "end_time", "caption")} for result in described]
        missed = [result.get("error", {}) for result in results if not isinstance(result.get("caption"), str)]
        for error in missed:
            if error.get("code") not in _OF_ONE_CLIP:
                raise OperationFault(
                    str(error.get("code")),
                    f"{self._clips - len(made)} of {self._clips} clips were not described: {error.get('message')}",
                    hint=str(error.get("hint", "")),
                )
        undescribed = dict(sorted(Counter(str(error["code"]) for error in missed).items()))
        if not made:
            reasons = "".join(f"; {code}: {count}" for code, count in undescribed.items())
            raise OperationFault("no_captions", f"no clip of the video could be described{reasons}", hint=_BUILD_AGAIN)
        places = self._ranked([item["caption"] for item in made], query)[:top_k]
        found = [made[place] for place in sorted(places)]
        hints = [f"{len(missed)} of {self._clips} clips could not be described"] if missed else []
        if not places:
            found = made[:: max(1, math.ceil(len(made) / top_k))]
            hints.append("no caption shares a word with the question; these are spread evenly over what was described")
        more = {"undescribed": undescribed, "hint": "; ".join(hints)}
        return {"captions": found, "of": self._clips} | {key: value for key, value in more.items() if value}

    def _ranked(self, texts: list[str], query: str) -> list[int]:
        """Return the indexes of the texts that fit, best first: words and meaning, fused by reciprocal rank."""
        from world_api.search.indexes import LexicalIndex, best_first, fuse

        lexical = best_first(LexicalIndex.of_texts(texts).scores(query), _FUSED)
        alike = (self._embedder.embed(texts) @ self._embedder.embed_query(query)[0]).astype("float64")
        alike[alike <= self._embedder.noise_floor] = 0.0
        fused = fuse([lexical, best_first(alike, _FUSED)], len(texts))
        ranked: list[int] = best_first(fused).tolist()
        return ranked

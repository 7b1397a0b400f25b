"""``socratic``: captions of short clips, those that fit the question, and an answer from them.

Source: Zeng et al., Socratic Models: Composing Zero-Shot Multimodal Reasoning with Language (2022).
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from pydantic import Field

from controller.conversation.opening import FirstCall, Opening
from controller.systems.looping import LoopSystem, OwnCalls, Setup
from controller.systems.options import Options
from controller.toolsets import AtomicTools
from world_api.core.faults import EpisodeFault, OperationFault
from world_api.core.last_resort import INTERNAL_FAULT
from world_api.core.spans import round_time
from world_api.session.captioning import OF_ONE_STRETCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from controller.questions import Question
    from world_api.session.session import Session

DESCRIBE = "describe_segment"
SEARCH_CAPTIONS = "search_captions"
#: How many of each ranking are fused.
_FUSED = 400
#: Faults about one clip alone, such as a moderated picture: the captions of the others stand for the video all the same.
_OF_ONE_CLIP = OF_ONE_STRETCH | {INTERNAL_FAULT}
_BUILD_AGAIN = "build the world again, or ask another system"


class SocraticOptions(Options):
    """``clip_seconds``: how long a clip is; ``top_k``: how many captions the answer is drawn from."""

    clip_seconds: float = Field(default=30.0, ge=1.0, le=600.0)
    top_k: int = Field(default=8, ge=1, le=200)


class Socratic(LoopSystem[SocraticOptions]):
    """Captions of all clips of the visible video, the ``top_k`` of them that fit the question, an answer from these."""

    name = "socratic"
    options_kind = SocraticOptions

    def setup(self, question: Question, session: Session) -> Setup:
        """No tools; the captions are made, searched, and those that were found given."""
        options = self.options
        length = float(self.material("visible_seconds", lambda: self._visible(session)))
        tiles = clips(session.video_id, length, options.clip_seconds)
        calls = [FirstCall(tool=DESCRIBE, arguments=clip, shown=False, needed=False, reads=True) for clip in tiles]
        query = " ".join([question.text, *question.options])
        calls.append(FirstCall(tool=SEARCH_CAPTIONS, arguments={"query": query, "top_k": options.top_k}))

        def make_tools() -> OwnCalls:
            captions = Captions(session, clips=len(tiles))
            return OwnCalls({DESCRIBE: captions.describe, SEARCH_CAPTIONS: captions.search})

        opening = Opening(instructions="from_material", first_calls=tuple(calls))
        return Setup(make_tools=make_tools, opening=opening)

    def _visible(self, session: Session) -> float:
        """How long the visible video is, in seconds.

        Raises:
            EpisodeFault: ``looks_too_few``: a model looks at every clip, and may not look that often.
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
    """The arguments by which the clips of a video are described, in order."""
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


class Captions:
    """The captions of one episode: made by the operation, searched by words and meaning. ``clips``: how many there are to be."""

    def __init__(self, session: Session, *, clips: int) -> None:
        self._operations = AtomicTools(session)
        self._embedder = session.backends.text_embedder
        self._clips = clips
        self._made: dict[tuple[float, float], dict[str, Any]] = {}
        self._missed: dict[tuple[float, float], Mapping[str, Any]] = {}

    def describe(self, **arguments: Any) -> dict[str, Any]:
        """Describe a clip, and keep its caption, or why there is none."""
        result = self._operations.call_tool(DESCRIBE, arguments)
        if isinstance(result.get("caption"), str):
            kept = {key: result[key] for key in ("start_time", "end_time", "caption")}
            self._made[kept["start_time"], kept["end_time"]] = kept
        else:
            self._missed[arguments["start_time"], arguments["end_time"]] = result.get("error", {})
        return result

    def search(self, query: str, top_k: int) -> dict[str, Any]:
        """The captions that fit a query best, in time order; where none shares anything with it, some of all parts.

        ``of`` counts all clips, ``undescribed`` by reason those for which there is no caption.

        Raises:
            OperationFault: ``no_captions``; the fault for which clips are undescribed, where it is not about single clips.
        """
        undescribed = self._undescribed()
        made = [self._made[key] for key in sorted(self._made)]
        if not made:
            told = "".join(f"; {code}: {count}" for code, count in undescribed.items())
            raise OperationFault("no_captions", f"no clip of the video could be described{told}", hint=_BUILD_AGAIN)
        places = self._ranked([str(item["caption"]) for item in made], query)[:top_k]
        hints = []
        if undescribed:
            hints.append(f"{sum(undescribed.values())} of {self._clips} clips could not be described")
        found = [made[place] for place in sorted(places)]
        if not places:
            found = made[:: max(1, math.ceil(len(made) / top_k))]
            hints.append("no caption shares a word with the question; these are spread evenly over what was described")
        told_of = {"captions": found, "of": self._clips}
        more = {"undescribed": undescribed, "hint": "; ".join(hints)}
        return told_of | {key: value for key, value in more.items() if value}

    def _undescribed(self) -> dict[str, int]:
        """How many clips have no caption, by the code of the fault.

        Raises:
            OperationFault: a fault that was not about single clips: what is left would be an arbitrary part of the video.
        """
        missed = [self._missed[key] for key in sorted(self._missed)]
        for error in missed:
            if error.get("code") not in _OF_ONE_CLIP:
                raise OperationFault(
                    str(error.get("code")),
                    f"{self._clips - len(self._made)} of {self._clips} clips were not described: {error.get('message')}",
                    hint=str(error.get("hint", "")),
                )
        counted = Counter(str(error["code"]) for error in missed)
        return dict(sorted(counted.items()))

    def _ranked(self, texts: list[str], query: str) -> list[int]:
        """Words and meaning, fused by reciprocal rank, as the search of segments does it."""
        from world_api.search.lexical import LexicalIndex, best_first, fuse

        lexical = best_first(LexicalIndex.of_texts(texts).scores(query), _FUSED)
        alike = (self._embedder.embed(texts) @ self._embedder.embed([query])[0]).astype("float64")
        alike[alike <= self._embedder.noise_floor] = 0.0
        fused = fuse([lexical, best_first(alike, _FUSED)], len(texts))
        ranked: list[int] = best_first(fused).tolist()
        return ranked

"""``socratic``: captions of short clips, those that fit the question, and an answer from them.

Source: Zeng et al., Socratic Models: Composing Zero-Shot Multimodal Reasoning with Language (2022).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pydantic import Field

from controller.conversation.opening import FirstCall, Opening
from controller.systems.looping import LoopSystem, OwnCalls, Setup
from controller.systems.options import Options
from controller.toolsets import AtomicTools
from world_api.core.faults import OperationFault
from world_api.core.spans import round_time

if TYPE_CHECKING:
    from controller.questions import Question
    from world_api.world.sessions.session import Session

DESCRIBE = "describe_segment"
SEARCH_CAPTIONS = "search_captions"
#: How many of each ranking are fused.
_FUSED = 400


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
        length = float(self.material("visible_seconds", lambda: session.view.duration))
        calls = [
            FirstCall(tool=DESCRIBE, arguments=clip, shown=False, needed=False, reads=True)
            for clip in clips(session.video_id, length, options.clip_seconds)
        ]
        query = " ".join([question.text, *question.options])
        calls.append(FirstCall(tool=SEARCH_CAPTIONS, arguments={"query": query, "top_k": options.top_k}))

        def make_tools() -> OwnCalls:
            captions = Captions(session)
            return OwnCalls({DESCRIBE: captions.describe, SEARCH_CAPTIONS: captions.search})

        opening = Opening(instructions="from_material", first_calls=tuple(calls))
        return Setup(make_tools=make_tools, opening=opening)


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
    """The captions of one episode: made by the operation, searched by words and meaning."""

    def __init__(self, session: Session) -> None:
        self._operations = AtomicTools(session)
        self._embedder = session.backends.text_embedder
        self._made: dict[tuple[float, float], dict[str, Any]] = {}

    def describe(self, **arguments: Any) -> dict[str, Any]:
        """Describe a clip, and keep its caption."""
        result = self._operations.call_tool(DESCRIBE, arguments)
        if isinstance(result.get("caption"), str):
            kept = {key: result[key] for key in ("start_time", "end_time", "caption")}
            self._made[kept["start_time"], kept["end_time"]] = kept
        return result

    def search(self, query: str, top_k: int) -> dict[str, Any]:
        """The captions that fit a query best, in time order; where none shares anything with it, some of all parts.

        Raises:
            OperationFault: ``no_captions``.
        """
        made = [self._made[key] for key in sorted(self._made)]
        if not made:
            raise OperationFault("no_captions", "no clip of the video could be described", hint="build the world again")
        places = self._ranked([str(item["caption"]) for item in made], query)[:top_k]
        if not places:
            step = max(1, math.ceil(len(made) / top_k))
            hint = "no caption shares a word with the question; these are spread evenly over the video"
            return {"captions": made[::step], "of": len(made), "hint": hint}
        return {"captions": [made[place] for place in sorted(places)], "of": len(made)}

    def _ranked(self, texts: list[str], query: str) -> list[int]:
        """Words and meaning, fused by reciprocal rank, as the search of segments does it."""
        from world_api.world.search.lexical import LexicalIndex
        from world_api.world.search.ranking import best_first, fuse

        lexical = best_first(LexicalIndex.of_texts(texts).scores(query), _FUSED)
        alike = (self._embedder.embed(texts) @ self._embedder.embed([query])[0]).astype("float64")
        alike[alike <= self._embedder.noise_floor] = 0.0
        fused = fuse([lexical, best_first(alike, _FUSED)], len(texts))
        ranked: list[int] = best_first(fused).tolist()
        return ranked

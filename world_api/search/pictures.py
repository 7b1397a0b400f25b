"""What key frames and tracked things of a view may show: tags, and vectors that are compared with texts and with each other.

All of it is doubtful: it ranks what a search finds and is quoted as what may be, and no word is judged by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np
import pyarrow.compute as pc

from world_api.core.faults import BackendFault
from world_api.core.ports import ImageTextEncoder, Vectors
from world_api.core.spans import TimeSpan
from world_api.search.indexes import LexicalIndex, best_first, unit
from world_api.search.passages import Passage
from world_api.world.tables import matrix
from world_api.world.timeline import Positions, Times
from world_api.world.view import View

#: Seconds for which a key frame stands for what follows in its shot: as long as later frames are compared with it.
_HOLDS = 12.0
#: Tags of an interval that are listed, at most, and how they are introduced.
_MOST_TAGS = 4
MAY_SHOW = "may show: "


class PictureIndex:
    """The visible vectors and tags of one view. Positions in results are those of segments."""

    def __init__(self, view: View) -> None:
        self._view = view
        rows = view.rows("picture_vectors")
        lengths = pc.list_value_length(rows.column("vector")).to_numpy()
        # A build writes vectors of one model; a world from anywhere may contain others.
        is_usable = len(lengths) > 0 and bool((lengths == lengths[0]).all()) and lengths[0] > 0
        rows = rows if is_usable else rows.slice(0, 0)
        self._times, self._tracks = rows.column("time").to_numpy(), rows.column("track").to_pylist()
        width = int(lengths[0]) if is_usable else 1
        self._vectors: Vectors = unit(np.nan_to_num(matrix(rows.column("vector"), width), posinf=0.0, neginf=0.0))
        self._is_frame = np.array([not track for track in self._tracks], dtype=np.bool_)

    def tags_in(self, span: TimeSpan, kind: str | None = None) -> list[tuple[str, str]]:
        """Return the tags of the key frames of an interval, in English and Chinese, the most frequent and best first."""
        times = self._frames_of(span) if self._tags else self._times[:0]
        found: dict[tuple[str, str], tuple[int, float]] = {}
        for time in times.tolist():
            for kind_, word, chinese, score in self._tags.get(time, ()):
                if kind in (None, kind_):
                    count, best = found.get((word, chinese), (0, 0.0))
                    found[word, chinese] = count + 1, max(best, score)
        return sorted(found, key=lambda pair: (-found[pair][0], -found[pair][1], pair))[:_MOST_TAGS]

    def passage(self, span: TimeSpan) -> Passage | None:
        """Return the tags of an interval as a passage of the source ``look``, without confidence; None if it has none."""
        if not self._tags or not (tags := self.tags_in(span)):
            return None
        return Passage(
            span=span,
            text=MAY_SHOW + ", ".join(word for word, _ in tags),
            source="look",
            confidence=None,
            frame_time=float(self._frames_of(span)[0]),
            terms=" ".join(chinese for _, chinese in tags),
        )

    def by_tags(self, query: str) -> Positions:
        """Return the segments whose tags share words with a query, the best first."""
        return best_first(self._tag_words.scores(query)) if self._tags else np.zeros(0, dtype=np.int64)

    def by_text(self, query: str, encoder: ImageTextEncoder) -> Positions:
        """Return the segments with a picture that a text fits better than neutral texts, by the model's margin, the best first."""
        scores = self.scores(query, encoder)
        each = [float(scores[own].max(initial=-1.0)) for own in self._in_segment]
        above = np.array([score if score >= encoder.margin else 0.0 for score in each])
        return best_first(above)

    def scores(self, text: str, encoder: ImageTextEncoder) -> Vectors:
        """Return for each vector how much better a text fits than the neutral text that fits best, shape (n,)."""
        texts = encoder.encode_texts([text, *encoder.neutral])
        if len(self._vectors) == 0 or texts.shape[1] != self._vectors.shape[1]:
            return np.full(len(self._vectors), -1.0, dtype=np.float32)
        found: Vectors = self._vectors @ texts[0] - (self._vectors @ texts[1:].T).max(axis=1)
        return found

    def of_track(self, track_id: str, span: TimeSpan) -> Positions:
        """Return the vectors of a track in an interval, as positions in ``scores``."""
        inside = np.flatnonzero((self._times >= span.start) & (self._times < span.end))
        return np.array([at for at in inside.tolist() if self._tracks[at] == track_id], dtype=np.int64)

    def by_example(self, example: TimeSpan) -> Positions:
        """Return the segments that do not overlap an interval and have key frames, those most like its key frames first."""
        own = self._frame_vectors(example) if len(self._vectors) else self._vectors
        if len(own) == 0:
            return np.zeros(0, dtype=np.int64)
        segments = self._view.segments
        apart = np.flatnonzero((segments.ends <= example.start) | (segments.starts >= example.end)).tolist()
        others = [(at, vectors) for at in apart if len(vectors := self._frame_vectors(segments[at]))]
        scores = np.array([float((vectors @ own.mean(axis=0)).max()) for _, vectors in others])
        return np.array([at for at, _ in others], dtype=np.int64)[np.argsort(-scores, kind="stable")]

    @cached_property
    def _frames(self) -> Times:
        times: Times = self._view.rows("key_frames").column("time").to_numpy()
        return times

    def _frames_of(self, span: TimeSpan) -> Times:
        """Return the times of the key frames in an interval; without any, of the last one before, while it stands for what follows."""
        first, end = np.searchsorted(self._frames, [span.start, span.end]).tolist()
        if first == end and first > 0:
            before = float(self._frames[first - 1])
            is_same = self._view.shot_at(before).contains(span.start)
            first -= int(is_same and span.start - before <= _HOLDS)
        return self._frames[first:end]

    def _frame_vectors(self, span: TimeSpan) -> Vectors:
        found: Vectors = self._vectors[self._is_frame & np.isin(self._times, self._frames_of(span))]
        return found

    @cached_property
    def _in_segment(self) -> list[Positions]:
        """For each segment the vectors of its key frames and of things that were tracked in it."""
        segments = self._view.segments
        if len(self._vectors) == 0:
            return [np.zeros(0, dtype=np.int64)] * len(segments)
        return [self._within(segments[at]) for at in range(len(segments))]

    def _within(self, span: TimeSpan) -> Positions:
        things = ~self._is_frame & (self._times >= span.start) & (self._times < span.end)
        return np.flatnonzero(things | (self._is_frame & np.isin(self._times, self._frames_of(span))))

    @cached_property
    def _tags(self) -> dict[float, list[tuple[str, str, str, float]]]:
        """The tags (kind, word, Chinese word, score) by the time of their key frame."""
        found: dict[float, list[tuple[str, str, str, float]]] = {}
        for row in self._view.rows("picture_tags").to_pylist():
            found.setdefault(row["time"], []).append((row["kind"], row["word"], row["chinese"], row["score"]))
        return found

    @cached_property
    def _tag_words(self) -> LexicalIndex:
        segments = self._view.segments
        tags = [self.tags_in(segments[at]) for at in range(len(segments))]
        return LexicalIndex.of_texts([" ".join(f"{word} {chinese}" for word, chinese in own) for own in tags])


def pictures_of(view: View) -> PictureIndex:
    """Return the index of a view, computed once; views that see the whole world share theirs."""
    return (view.whole if view.complete else view).once(PictureIndex)


def picture_rankings(view: View, query: str, encoder: ImageTextEncoder | None) -> Sequence[Positions]:
    """Return rankings of the segments of a view by what their pictures may show: by tags, and by a model if there is one."""
    pictures = pictures_of(view)
    found = [pictures.by_tags(query)]
    if encoder is not None and query.strip():
        with suppress(BackendFault):  # its weights are gone or damaged: the rest is searched without them
            found.append(pictures.by_text(query, encoder))
    return [ranking for ranking in found if len(ranking)]

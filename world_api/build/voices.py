"""The stage ``voices``: who speaks when, by the sound alone.

Speech is divided into turns where the voice changes or pauses, and each turn of at least 1.5 s gets one vector. Turns are judged
in the order of time: a turn is of the known voice that it is surely and clearly most like. A turn of at least two seconds
begins a new voice if it is like none; else it waits until another turn like it, or more of a known voice, has been heard. A
judgement is never taken back and depends on nothing later; two voices that may be one are a row of ``voice_links``.
Short and doubtful turns have no voice. Voices that speak at once are not separated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from world_api.build.speech import Sound, Utterance, block_utterances, blocks_of
from world_api.build.stage import Clip, EarlierRows, Record, Records, StageSpec
from world_api.core.ports import SAMPLE_RATE, Vector, Vectors, VoiceDetector, VoiceEmbedder
from world_api.core.spans import TimeSpan, known_time, merge_spans, round_time

#: The window in which a voice is compared with the one after it, the step between windows, and the distance of two changes (seconds).
_WINDOW, _STEP, _APART = 1.6, 0.25, 0.8
#: Seconds on either side of a change, and how much more alike (inner product) the voice is there.
_AROUND, _FALL = 2.5, 0.08
#: Seconds at the start and end of speech that are compared with the speech beside them, since no window shows a change there.
_EDGE = 1.0
#: A pause of at least so many seconds ends a turn. A shorter turn is not judged, and one shorter than the third begins no voice.
_PAUSE, _SHORTEST, _LONG = 1.0, 1.5, 2.0
#: How much more a turn has to be like its voice than like the next one (inner product), and one that is not long.
_MARGIN, _SHORT_MARGIN = 0.03, 0.06
#: Decimals of a stored vector.
_DECIMALS = 5


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Speech of one voice without a pause of a second. ``vector`` is empty if it is too short or mixed; ``known``: as ``known_at``."""

    start: float
    end: float
    vector: Vector
    known: float

    @property
    def is_long(self) -> bool:
        """Whether it is long enough to begin a voice."""
        return self.end - self.start >= _LONG

    @property
    def margin(self) -> float:
        """How much more it has to be like its voice than like the next one."""
        return _MARGIN if self.is_long else _SHORT_MARGIN


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The voice of a turn (by its start), and the inner product with what was known of it."""

    turn: float
    voice: str
    score: float


@dataclass(frozen=True, kw_only=True)
class _Likeness:
    """The voice that a turn is most like (inner product), and how much more than the next one."""

    voice: str
    score: float
    lead: float

    def is_voice(self, turn: Turn, sure: float) -> bool:
        """Whether the turn is surely and clearly of that voice."""
        return self.score >= sure and self.lead >= turn.margin


@dataclass(kw_only=True)
class VoiceRegister:
    """The voices heard so far, by name, and the turns that wait. ``sure`` and ``doubtful``: see ``VoiceEmbedder``."""

    sure: float
    doubtful: float
    voices: dict[str, list[Turn]] = field(default_factory=dict)
    waiting: list[Turn] = field(default_factory=list)
    _typical: dict[str, Vector] = field(default_factory=dict)  #: by voice; made again when it gets a turn

    def judge(self, turn: Turn) -> list[Judgement]:
        """Return the judgements that a turn, the next in time, makes possible: its own, and those of turns that waited."""
        if not len(turn.vector):
            return []
        self.waiting.append(turn)
        found: list[Judgement] = []
        best = self._likeness_of([turn])[0] if self.voices else None
        if turn.is_long and (best is None or best.score < self.doubtful):
            found.append(self._give(turn, self._new_name(), 1.0))
        elif best is not None and best.is_voice(turn, self.sure):
            found.append(self._give(turn, best.voice, best.score))
        elif turn.is_long and (twin := self._twin(turn)) is not None:
            name, score = self._new_name(), float(turn.vector @ twin.vector)
            found += [self._give(one, name, score) for one in (twin, turn)]
        while found and self.waiting:
            likely = zip(self.waiting, self._likeness_of(self.waiting), strict=True)
            named = next(((one, best) for one, best in likely if best.is_voice(one, self.sure)), None)
            if named is None:
                break
            found.append(self._give(named[0], named[1].voice, named[1].score))
        return found

    def likeness(self, one: str, other: str) -> float:
        """Return the inner product of what two voices are known by."""
        return float(self._typical_of(one) @ self._typical_of(other))

    def _likeness_of(self, turns: Sequence[Turn]) -> list[_Likeness]:
        """Return for each turn the voice that it is most like; there has to be one."""
        names = sorted(self.voices)
        scores = np.stack([turn.vector for turn in turns]) @ np.stack([self._typical_of(name) for name in names]).T
        order = np.argsort(-scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order, axis=1)
        leads = ranked[:, 0] - ranked[:, 1] if len(names) > 1 else np.full(len(turns), np.inf)
        best = zip(order[:, 0].tolist(), ranked[:, 0].tolist(), leads.tolist(), strict=True)
        return [_Likeness(voice=names[at], score=score, lead=lead) for at, score, lead in best]

    def _twin(self, turn: Turn) -> Turn | None:
        """Return the waiting turn that surely has the same voice, if that is none of the known ones."""
        others = [other for other in self.waiting if other is not turn and other.is_long]
        twin = max(others, key=lambda other: float(turn.vector @ other.vector), default=None)
        if twin is None:
            return None
        alike = float(turn.vector @ twin.vector)
        known = max(best.score for best in self._likeness_of((turn, twin)))
        return twin if alike >= self.sure and alike - known >= _MARGIN else None

    def _give(self, turn: Turn, name: str, score: float) -> Judgement:
        self.waiting.remove(turn)
        self.voices.setdefault(name, []).append(turn)
        self._typical.pop(name, None)
        return Judgement(turn=turn.start, voice=name, score=round(score, 3))

    def _new_name(self) -> str:
        return f"voice_{len(self.voices) + 1:02}"

    def _typical_of(self, name: str) -> Vector:
        """Return the mean of the vectors of a voice's turns, of unit length."""
        if name not in self._typical:
            mean = np.mean([turn.vector for turn in sorted(self.voices[name], key=lambda turn: turn.start)], axis=0)
            self._typical[name] = (mean / max(float(np.linalg.norm(mean)), 1e-6)).astype(np.float32)
        return self._typical[name]


class Voices:
    """The stage ``voices``: turns, their voices, and which voices may be one."""

    def __init__(self, embedder: VoiceEmbedder, detector: VoiceDetector) -> None:
        self._embedder = embedder
        self._detector = detector
        self._recent: dict[int, list[Turn]] = {}
        self.spec = StageSpec(
            name="voices",
            version=1,
            tables=("voice_turns", "voice_names", "voice_links"),
            parameters={
                "embedder": embedder.producer, "detector": detector.producer,
                "sure": embedder.sure, "doubtful": embedder.doubtful,
            },
            whole_file=True,
            modules=("world_api.media.audio", type(embedder).__module__, type(detector).__module__),
            libraries=("onnxruntime",),
        )  # fmt: skip
        self._earlier = EarlierRows(_read_turns)
        self._named = EarlierRows(_read_names)
        self._linked = EarlierRows(_read_links)

    def make_rows(self, clip: Clip) -> Records:
        """Return the turns that start in the clip, and what was judged with them."""
        turns = self._earlier.before(clip)
        register = self._heard(turns, dict(self._named.before(clip)))
        known = max((turn.known for turn in turns), default=0.0)
        linked = set(self._linked.before(clip))
        rows: dict[str, list[Record]] = {table: [] for table in self.spec.tables}
        for number in blocks_of(clip.span):
            for turn in self._turns(number, clip.audio):
                if not clip.span.contains(turn.start):
                    continue
                known = max(known, turn.known)  # so that a cut always shows all earlier turns, too
                facts = {"time": turn.start, "known_at": known}
                columns = {"start": turn.start, "end": turn.end, "vector": turn.vector.tolist()}
                rows["voice_turns"].append({**columns, "known_at": known})
                judged = register.judge(turn)
                rows["voice_names"] += [
                    {"turn": one.turn, "voice": one.voice, "score": one.score, **facts} for one in judged
                ]
                for one, other, score in _alike(register, {one.voice for one in judged}):
                    if (one, other) not in linked:
                        linked.add((one, other))
                        rows["voice_links"].append({"earlier": one, "later": other, "score": score, **facts})
        return rows

    def _heard(self, turns: Sequence[Turn], voice_of: Mapping[float, str]) -> VoiceRegister:
        """Return the register after earlier clips; ``voice_of``: the voices of the turns that were judged, by start."""
        register = VoiceRegister(sure=self._embedder.sure, doubtful=self._embedder.doubtful)
        for turn in turns:
            if turn.start in voice_of:
                register.voices.setdefault(voice_of[turn.start], []).append(turn)
            elif len(turn.vector):
                register.waiting.append(turn)
        return register

    def _turns(self, number: int, sound: Sound) -> list[Turn]:
        """Return the turns of a block; the last two blocks are kept, since the next clip may need them, too."""
        if number not in self._recent:
            found = [
                turn
                for utterance in block_utterances(number, sound, self._detector)
                for span in merge_spans(utterance.voiced, gap=_PAUSE)
                for turn in self._divided(span, sound(span), utterance)
            ]
            self._recent = {kept: turns for kept, turns in self._recent.items() if kept == number - 1} | {number: found}
        return self._recent[number]

    def _divided(self, span: TimeSpan, samples: NDArray[np.float32], utterance: Utterance) -> Iterator[Turn]:
        """Yield the turns in speech without long pauses."""
        marks = self._marks(samples, span.duration)
        edges = [span.start, *(span.start + time for time in marks), span.end]
        pieces = [TimeSpan(start=start, end=end) for start, end in itertools.pairwise(edges)]

        def embedded(spans: Sequence[TimeSpan]) -> list[Vector]:
            cuts = [_cut(samples, one.start - span.start, one.end - span.start) for one in spans]
            return list(self._embedder.embed(cuts))

        vectors = embedded(pieces)
        while len(pieces) > 1:
            alike = [float(one @ other) for one, other in itertools.pairwise(vectors)]
            at = int(np.argmax(alike))
            if alike[at] < self._embedder.sure:
                break
            pieces[at : at + 2] = [TimeSpan(start=pieces[at].start, end=pieces[at + 1].end)]
            vectors[at : at + 2] = embedded([pieces[at]])
        for piece, vector in zip(pieces, vectors, strict=True):
            judged = piece.duration >= _SHORTEST and bool(vector.any())
            voiced = [part for voice in utterance.voiced if (part := voice.clip(piece)) is not None] or [piece]
            start, end = round_time(voiced[0].start), round_time(voiced[-1].end)
            if end > start:
                yield Turn(
                    start=start,
                    end=end,
                    vector=np.round(vector, _DECIMALS) if judged else vector[:0],
                    known=known_time(utterance.settled),
                )

    def _marks(self, samples: NDArray[np.float32], duration: float) -> list[float]:
        """Return the times (seconds) at which the voice may change in speech without long pauses."""
        found: list[float] = []
        if duration >= 2 * _WINDOW:
            count = math.floor((duration - _WINDOW) / _STEP) + 1
            vectors = self._embedder.embed(
                [_cut(samples, place * _STEP, place * _STEP + _WINDOW) for place in range(count)]
            )
            # Windows are shorter than turns, so less alike.
            found = changes(vectors, (self._embedder.sure + self._embedder.doubtful) / 2)
        if duration >= 2 * _EDGE:
            first, last = _EDGE, duration - _EDGE
            after = min([first + _WINDOW, duration, *found])
            before = max([last - _WINDOW, 0.0, *found])
            spans = ((0.0, first), (first, after), (before, last), (last, duration))
            start, after_it, before_it, end = self._embedder.embed([_cut(samples, *span) for span in spans])
            if start @ after_it < self._embedder.doubtful:
                found.append(first)
            if end @ before_it < self._embedder.doubtful:
                found.append(last)
        return sorted(set(found))


def changes(vectors: Vectors, limit: float) -> list[float]:
    """Return the times (seconds) at which the voice may change, from the vectors of windows a quarter of a second apart.

    They are where the window before is least like the window after: below ``limit``, the least within 0.8 s, and clearly less than
    on either side, since the windows of one voice in an echo or in noise are little alike throughout.
    """
    width, near, wide = round(_WINDOW / _STEP), round(_APART / _STEP), round(_AROUND / _STEP)
    alike = np.sum(vectors[:-width] * vectors[width:], axis=1)
    found: list[float] = []
    for at, value in enumerate(alike.tolist()):
        is_least = value <= alike[max(0, at - near) : at + near + 1].min()
        # Near an end one side is not fully known: a turn that may have two voices is divided there.
        sides = [side for side in (alike[max(0, at - wide) : at], alike[at + 1 : at + 1 + wide]) if len(side) == wide]
        if value < limit and is_least and all(side.max() >= value + _FALL for side in sides):
            found.append(at * _STEP + (width * _STEP + _WINDOW) / 2)
    return found


def _read_turns(clip: Clip, span: TimeSpan) -> list[Turn]:
    rows = clip.rows("voice_turns", span).to_pylist()
    turns = (
        Turn(start=row["start"], end=row["end"], vector=np.array(row["vector"], np.float32), known=row["known_at"])
        for row in rows
    )
    return sorted(turns, key=lambda turn: turn.start)


def _read_names(clip: Clip, span: TimeSpan) -> list[tuple[float, str]]:
    rows = clip.rows("voice_names", span)
    return list(zip(rows.column("turn").to_pylist(), rows.column("voice").to_pylist(), strict=True))


def _read_links(clip: Clip, span: TimeSpan) -> list[tuple[str, str]]:
    rows = clip.rows("voice_links", span)
    return list(zip(rows.column("earlier").to_pylist(), rows.column("later").to_pylist(), strict=True))


def _cut(samples: NDArray[np.float32], start: float, end: float) -> NDArray[np.float32]:
    return samples[round(start * SAMPLE_RATE) : round(end * SAMPLE_RATE)]


def _alike(register: VoiceRegister, changed: set[str]) -> list[tuple[str, str, float]]:
    """Return the pairs of voices, one of them in ``changed``, that may be one, each in the order of their names."""
    names = sorted(register.voices)
    pairs = ((one, other) for at, one in enumerate(names) for other in names[at + 1 :] if {one, other} & changed)
    found = [(one, other, register.likeness(one, other)) for one, other in pairs]
    return [(one, other, round(score, 3)) for one, other, score in found if score >= register.doubtful]

"""Facts of a world: what its rows say is there, how often and when, in words that a tool can be asked with.

They are read from the rows of a session's view, beside all operations. What is absent, and what cannot be judged, is
asked of the operations themselves.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, cast

from world_api.core.faults import VideoWorldError
from world_api.core.spans import TimeSpan, merge_spans

if TYPE_CHECKING:
    from world_api.session.session import Session

#: What a text says of a thing: its looks, what is done, what is said or written (words: either), its kind; or a scene.
FactKind = Literal["looks", "deed", "words", "said", "written", "category", "scene"]
#: present: at the spans; absent: nowhere; unjudged: of a thing that is there, with a word that nothing can judge
Existence = Literal["present", "absent", "unjudged"]
_MOST = 6  #: facts of one kind
_MOST_LINES = 200  #: spoken lines, and texts on screen, that are read
_SHORTEST = 8  #: characters of a text that is distinctive
_SHOWN = 8  #: spans of a fact that are written out
BRIEF = 5.0  #: seconds of a stay that who looks at each segment once may miss
_APART = 3.0  #: seconds between two occurrences that may also count as one
_ABSENT_DEEDS = ("plays a violin", "climbs a ladder", "juggles three balls")
_ABSENT_WORDS = ("the moon is made of green cheese", "forty elephants crossed the bridge")
_ABSENT_COLOURS = ("pink", "purple", "orange", "green", "yellow")
_WAYS: tuple[tuple[Literal["said", "written"], Literal["said", "written"]], ...] = (
    ("said", "written"),
    ("written", "said"),
)
_UNJUDGED = ("with glasses", "with a beard")


@dataclass(frozen=True, kw_only=True)
class Fact:
    """What a world holds of a text.

    ``spans``: when (seconds, in order, none touch); ``things`` and ``times``: the numbers that a count of different
    things, and one of occurrences, may give (empty: unknown); ``seconds``: in all; ``category``: of the thing, or of the
    one who does it; ``who``: the looks of the one who does it; ``doers``: the entity ids of those who do it, span by
    span (empty: unknown); ``instead``: how words are there that are absent as asked for, said or written; ``sides``: from
    which side of the picture one thing comes, and to which it leaves, span by span (empty text: unknown); ``each``: the
    spans of all things one by one, of which some may overlap; ``ids``: the entity ids of what looks so.
    """

    kind: FactKind
    text: str
    existence: Existence = "present"
    spans: tuple[TimeSpan, ...] = ()
    things: frozenset[int] = frozenset({0})
    times: frozenset[int] = frozenset({0})
    category: str = "person"
    who: str = ""
    doers: tuple[str, ...] = ()
    instead: Literal["said", "written", ""] = ""
    sides: tuple[tuple[str, str], ...] = ()
    each: tuple[TimeSpan, ...] = ()
    ids: frozenset[str] = frozenset()

    @property
    def seconds(self) -> float:
        """How long it lasts in all."""
        return sum(span.duration for span in self.spans)

    @property
    def gap(self) -> float:
        """The shortest time between two occurrences, in seconds; infinite for one."""
        return min((later.start - earlier.end for earlier, later in pairwise(self.spans)), default=math.inf)

    def lasting(self, least: float) -> Fact:
        """Return the fact of the occurrences, which do not overlap, that last at least so many seconds."""
        if not self.spans:
            return self
        spans = tuple(span for span in self.spans if span.duration >= least)
        left = replace(self, spans=spans, each=spans, times=frozenset({len(spans)}), sides=(), doers=())
        return left if spans else replace(left, existence="absent", things=frozenset({0}))

    def not_done_by(self, looks: str) -> Fact:
        """Return that a deed, which is there, is never done by what has these looks."""
        none = frozenset({0})
        return replace(self, existence="absent", spans=(), things=none, times=none, who=looks)

    def line(self) -> str:
        """Return the fact in words: its text and when it is there."""
        if not self.spans:
            return f"{self.text}: nowhere" if self.existence == "absent" else f"{self.text}: cannot be told"
        spans = ", ".join(f"{span.start:.1f} to {span.end:.1f} s" for span in self.spans[:_SHOWN])
        more = f" and {len(self.spans) - _SHOWN} times more" if len(self.spans) > _SHOWN else ""
        who = f", by {self.who}" if self.who else ""
        return f"{self.text}{who}: {spans}{more}; {self.seconds:.1f} s in all"

    def within(self, bounds: TimeSpan) -> tuple[TimeSpan, ...]:
        """Return the parts of the spans in an interval."""
        return tuple(cut for span in self.spans if (cut := span.clip(bounds)) is not None)


def _present(kind: FactKind, text: str, spans: Iterable[TimeSpan], *, things: int | None = None, **more: Any) -> Fact:
    each = sorted(spans, key=lambda span: (span.start, span.end))
    merged = merge_spans(each)
    joined = [span for place, span in enumerate(merged) if not place or span.start - merged[place - 1].end > _APART]
    known = frozenset() if things is None else frozenset({things})
    long = [span for span in merged if span.duration >= BRIEF] if kind in ("looks", "category") else []
    times = frozenset({len(each), len(merged), len(joined), len(long) or len(each)})
    return Fact(kind=kind, text=text, spans=tuple(merged), things=known, times=times, each=tuple(each), **more)


def facts_of(session: Session) -> tuple[Fact, ...]:
    """Return the facts of the world of a session: present ones of each kind, absent ones, and ones that cannot be judged.

    A description is a fact only if it is sure of every track whether it fits. Deeds are recorded, and absence and numbers
    are known, only in a world of profile ``oracle``.
    """
    is_true = session.view.world.manifest.profile == "oracle"
    looks = [*_looks(session, is_true=is_true)]
    present = [*looks, *_words(session, is_true=is_true)]
    if is_true:
        several = (fact for fact in _categories(session) if fact.things != frozenset({1}))
        present += [replace(fact, kind="looks") for fact in several]
        present += [_present("scene", f"scene {scene.ordinal + 1}", [scene.span]) for scene in session.view.scenes]
        present += [*_deeds(session, {fact.text for fact in looks}), *_categories(session)]
        present += [*_absent(session, present), *_unjudged(session, looks)]
    return tuple(present)


def _looks(session: Session, *, is_true: bool) -> Iterator[Fact]:
    from world_api.operations.matches import match_description

    tracks, vocabulary = list(session.view.tracks), session.vocabulary
    hints = dict.fromkeys(track.hint for track in tracks if track.colours and track.category in vocabulary.categories)
    for hint in list(hints)[: 2 * _MOST]:
        matches = [(track, match_description(track, vocabulary.read(hint))) for track in tracks]
        if any(match.may_fit and not match.fits for _, match in matches):
            continue
        fitting = [track for track, match in matches if match.fits]
        if len({track.category for track in fitting}) == 1:
            spans = [span for track in fitting for span in track.appearances]
            number = len(fitting) if is_true else None
            sides = [
                (track.enters_from(span) or "", track.leaves_to(span) or "") for track in fitting[:1] for span in spans
            ]
            known = tuple(sides) if len(fitting) == 1 else ()
            ids = frozenset(track.entity_id for track in fitting if track.entity_id)
            yield _present("looks", hint, spans, things=number, category=fitting[0].category, sides=known, ids=ids)


def _deeds(session: Session, looks: set[str]) -> Iterator[Fact]:
    """Yield a fact for each recorded deed, no matter who does it; ``who`` only if all who do it look the same.

    A label that is part of another one (such as of a movement, which is derived from boxes) is left out.
    """
    from world_api.operations.matches import actions_in

    labels = {action.label for action, _ in actions_in(session, session.view.span)}
    done: dict[str, list[Any]] = defaultdict(list)
    for action in session.view.actions:
        done[action.text].append(action)
    clear = {text: actions for text, actions in done.items() if not any(text in one != text for one in labels)}
    for label, actions in list(clear.items())[: 2 * _MOST]:
        doers = {action.subject for action in actions}
        tracks = [session.view.tracks.find(name) for name in doers if name]
        hints = {track.hint for track in tracks if track is not None}
        category = {track.category for track in tracks if track is not None}
        if len(category) == 1 and hints <= looks:
            who = hints.pop() if len(hints) == 1 else ""
            spans = [action.span for action in actions]
            ids = {track.track_id: track.entity_id for track in tracks if track is not None}
            by = tuple(ids.get(action.subject, "") for action in sorted(actions, key=lambda one: one.span.start))
            fact = _present("deed", label, spans, things=len(doers), category=category.pop(), who=who)
            yield replace(fact, doers=by) if len(fact.spans) == len(by) and all(by) else fact


def _words(session: Session, *, is_true: bool) -> Iterator[Fact]:
    """Yield a fact for each distinctive text that is said or written, and one for the way in which it is there.

    Where all is known, it is absent the other way.
    """
    found: dict[str, list[tuple[str, TimeSpan]]] = defaultdict(list)
    for line in session.view.speech[:_MOST_LINES]:
        found[line.text.strip()].append(("said", line.span))
    for shown in session.view.screen_texts[:_MOST_LINES]:
        found[shown.text.strip()].append(("written", shown.span))
    again = [text for text, places in found.items() if len(places) > 1]
    for text in dict.fromkeys((*again, *found)):
        holding = [place for other, places in found.items() if text.casefold() in other.casefold() for place in places]
        if len(text) > _SHORTEST and len(holding) == len(found[text]):
            yield _present("words", text, [span for _, span in holding])
            for way, other in _WAYS:
                spans = [span for one, span in holding if one == way]
                if spans:
                    yield _present(way, text, spans)
                elif is_true:
                    yield Fact(kind=way, text=text, existence="absent", instead=other)


def _categories(session: Session) -> Iterator[Fact]:
    kinds: dict[str, list[Any]] = defaultdict(list)
    for track in session.view.tracks:
        kinds[track.category].append(track)
    for category, tracks in kinds.items():
        spans = [span for track in tracks for span in track.appearances]
        yield _present("category", category, spans, things=len(tracks), category=category)


def _absent(session: Session, present: Sequence[Fact]) -> Iterator[Fact]:
    """Yield facts of what the operations say is nowhere; some of it shares words with what is there."""
    deeds = [("deed", text) for text in (*_mixed(present, "deed"), *_ABSENT_DEEDS)]
    lacking = (*_mixed(present, "words"), *_ABSENT_WORDS)
    words = [(kind, text) for kind in ("words", "said", "written") for text in lacking]
    looks = [("looks", f"person in {colour}") for colour in _ABSENT_COLOURS]
    texts = cast("list[tuple[FactKind, str]]", [*looks, *deeds, *words])
    for kind, text in texts:
        found = _answer(session, "search_segments_by_text", query=text, top_k=3)
        if found.get("not_found") and not found.get("unmatched") and not found.get("not_judged"):
            yield Fact(kind=kind, text=text, existence="absent")


def _mixed(present: Sequence[Fact], kind: FactKind) -> list[str]:
    """Return a text that begins as one fact of a kind does and ends as the next one does; none if there are fewer than two."""
    texts = [fact.text.split() for fact in present if fact.kind == kind and len(fact.text.split()) > 1][:2]
    halves = [(text[: (len(text) + 1) // 2], text[(len(text) + 1) // 2 :]) for text in texts]
    return [" ".join((*halves[0][0], *halves[1][1]))] if len(halves) > 1 else []


def _unjudged(session: Session, looks: list[Fact]) -> Iterator[Fact]:
    for fact, word in zip(looks, _UNJUDGED, strict=False):
        text = f"{fact.text} {word}"
        if _answer(session, "search_segments_by_text", query=text, top_k=3).get("unmatched"):
            yield Fact(kind="looks", text=text, existence="unjudged", category=fact.category)


def _answer(session: Session, operation: str, **arguments: Any) -> dict[str, Any]:
    from world_api.operations import run

    try:
        return dict(run(session, operation, {"video_id": session.video_id, **arguments}))
    except VideoWorldError:
        return {}

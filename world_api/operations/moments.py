"""The exact times of what matched in the hits of a search: an action, a caption, an appearance, a line or a text.

A query is about who (its words before the first deed or thing) and what follows. A caption or an action matches if who does it
has the looks that are asked for, and its text, or the place of its scene, has all other words that can be judged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from world_api.core.lexicon import COLOURS, STOP_WORDS
from world_api.core.spans import TimeSpan
from world_api.core.vocabulary import ParsedDescription, concepts, fold
from world_api.operations.evidence import cite_passage, interval_of, linked_entities, times
from world_api.operations.matches import match_look
from world_api.operations.query_matches import passages_in
from world_api.operations.recorded import has_word
from world_api.operations.schema import Candidates, Hit, Moment
from world_api.search.indexes import holds_words
from world_api.search.passages import Passage
from world_api.search.searcher import terms_of
from world_api.session.session import Session
from world_api.world.timeline import Said
from world_api.world.tracks import Track
from world_api.world.view import View

_QUOTE = re.compile(r"\"([^\"]*)\"|“([^”]*)”|「([^」]*)」")
_TOKEN = re.compile(r"[A-Za-z0-9']+|[㐀-䶿一-鿿]+")
#: How a caption begins that says first where it is.
_PLACE = re.compile(r"(?i)(?:in|at|on|inside|outside) ((?:an? |the )?[^,.;:]{1,40}),")
#: Parts of clothes name no thing of their own where a colour of the outfit is asked for.
_GARMENTS = frozenset("coat jacket clothes outfit dress shirt top suit sweater 外套 衣服 大衣 上衣".split())
_SAYING = frozenset("say says said saying".split())
_SAME_EVENT = 0.5  #: part of the shorter one that the longer one covers if a caption and an action are of one event
_WHOLE_SHOT = 0.95  #: part of a shot from which a caption is about all of it


def with_moments(session: Session, found: Candidates, query: str) -> Candidates:
    """Return the result of a search with the moments of its hits, in time order."""
    seeker = _Seeker(session, query, frozenset(found.unmatched))
    moments: dict[tuple[float, float, str], Moment] = {}
    unplaced: list[Hit] = []
    for hit in found.candidates:
        own = seeker.of_hit(hit)
        if not own and (not hit.lacks or seeker.unjudged.issuperset(hit.lacks)):
            unplaced.append(hit)
        moments |= {(moment.start_time, moment.end_time, moment.text): moment for moment in own}
    is_found = any(not moment.lacks for moment in moments.values())
    for hit in unplaced:  # only what cannot be judged keeps its segment from being one
        if hit.lacks or not is_found:
            moment = seeker.of_segment(hit)
            moments[moment.start_time, moment.end_time, moment.text] = moment
    ordered = sorted(moments.values(), key=lambda one: (one.start_time, one.end_time, one.text))
    # Of a line and a caption that quotes it, the caption says who says it, too.
    quoting = [(interval_of(one), one.text) for one in ordered if one.source == "caption"]
    ordered = [
        one
        for one in ordered
        if one.source != "speech"
        or not any(one.text in text and _is_same(span, interval_of(one)) for span, text in quoting)
    ]
    return found.model_copy(update={"moments": ordered})


@dataclass(frozen=True)
class _Event:
    """What is described by a caption, an action, or one of each that are about the same."""

    passage: Passage
    text: str
    subject: Track | None


class _Seeker:
    """Judges passages one by one; ``unjudged`` are the words of the query that nothing can judge."""

    def __init__(self, session: Session, query: str, unjudged: frozenset[str]) -> None:
        self._session, self._view = session, session.view
        self._query, self.unjudged = query, unjudged
        self._quotes = ["".join(parts) for parts in _QUOTE.findall(query)]
        rest = fold(_QUOTE.sub(" ", query))
        tokens = [match for match in _TOKEN.finditer(rest) if match.group() not in STOP_WORDS]
        whole = session.vocabulary.read(rest)
        beyond = {word for word in whole.unmatched if word not in _GARMENTS and not concepts(word)}
        starts = [match.start() for match in tokens if any(match.group() in word.split() for word in beyond)]
        cut = min(starts, default=len(rest))
        self._who: ParsedDescription = session.vocabulary.read(rest[:cut])
        after = session.vocabulary.read(rest[cut:])
        words = dict.fromkeys((*after.matched, *after.unmatched)) if rest[cut:].strip() else {}
        self._deeds = [word for word in words if not (self._quotes and word in _SAYING) and word not in _GARMENTS]
        self._marks = [word for word in self._deeds if not concepts(word)]
        self._looks = [word for word in dict.fromkeys((*self._who.matched,)) if word not in _GARMENTS]

    def of_hit(self, hit: Hit) -> list[Moment]:
        """Return the moments of a hit."""
        passages = passages_in(self._session, interval_of(hit))
        return [moment for passage in passages if (moment := self._of_passage(passage)) is not None]

    def of_segment(self, hit: Hit) -> Moment:
        """Return a hit's whole segment as a moment that lacks what the hit lacks, or else all words of the query."""
        span = interval_of(hit)
        whole = Passage(span=span, text=hit.snippet, source=hit.source, confidence=None, frame_time=span.center)
        lacks = hit.lacks or [*self._looks, *self._deeds, *self._quotes]
        return self._moment(whole, hit.snippet, None, lacks or [self._query])

    def _of_passage(self, passage: Passage) -> Moment | None:
        if passage.source in ("speech", "screen_text"):
            return self._of_words(passage)
        if passage.source == "tracker":
            track = self._view.tracks.find(passage.subject) if passage.subject else None
            is_unsure = not self._quotes and self.unjudged.issuperset(self._deeds)
            return self._of_looks(passage, track) if track is not None and is_unsure else None
        if not (self._deeds or self._quotes) or (not passage.subject and is_of_shot(self._view, passage.span)):
            return None
        event = self._event(passage)
        lacks = self._lacks(event)
        return None if lacks is None else self._moment(event.passage, event.text, event.subject, lacks)

    def _of_words(self, passage: Passage) -> Moment | None:
        """Return the moment of a line or a text that has the quoted words, or the whole query word for word."""
        quotes = self._quotes or [self._query]
        if not all(holds_words(passage.text, quote) for quote in quotes):
            return None
        speaker = terms_of(passage.speaker, "")
        own = speaker | terms_of(passage.text, "")
        # The words that are said are no look of who says them.
        lacks = [word for word in self._looks if self._quotes and not has_word(speaker, word)]
        lacks += [word for word in self._deeds if self._quotes and not has_word(own, word)]
        return (
            None
            if any(word not in self.unjudged for word in lacks)
            else self._moment(passage, passage.text, None, lacks)
        )

    def _of_looks(self, passage: Passage, track: Track) -> Moment | None:
        """Return the moment of an appearance; it lacks all deeds, of which none could be judged."""
        match = match_look(self._session, track, self._who)
        if not self._who.is_judged or not match.may_fit:
            return None
        return self._moment(passage, passage.text, track, [*match.lacks, *self._deeds])

    def _lacks(self, event: _Event) -> list[str] | None:
        """Return the words that nothing can judge and an event lacks; None if it lacks a judged word."""
        text = event.text if self._quotes else _QUOTE.sub(" ", event.text)
        if not all(holds_words(event.text, quote) for quote in self._quotes):
            return None
        lacks: list[str] = []
        head, terms = self._divided(text)
        if event.subject is not None:
            match = match_look(self._session, event.subject, self._who)
            if self._who.is_judged and not match.may_fit:
                return None
            lacks += match.unjudged if self._who.is_judged else ()
        else:
            own = terms_of(head, "")
            lacks += [word for word in self._looks if not has_word(own, word)]
        place = terms_of(place_of(self._view, event.passage.span) or "", "")
        lacks += [word for word in self._deeds if not (has_word(terms, word) or has_word(place, word))]
        return None if any(word not in self.unjudged for word in lacks) else lacks

    def _divided(self, text: str) -> tuple[str, frozenset[str]]:
        """Return the part of a text before the first deed that is asked for, and the terms of what follows.

        Where only a quote is asked for, the deed is saying it.
        """
        for match in _TOKEN.finditer(text):
            own = terms_of(match.group(), "")
            is_saying = bool(self._quotes) and not self._marks and match.group().casefold() in _SAYING
            if is_saying or any(has_word(own, word) for word in self._marks):
                return text[: match.start()], terms_of(text[match.start() :], "")
        return text, terms_of(text, "")

    def _event(self, passage: Passage) -> _Event:
        """Return the event that a caption or an action is about: the caption's text and times, and who does the action."""
        if passage.subject:
            track = self._view.tracks.find(passage.subject)
            caption = caption_of(self._view, passage.span, passage.text, track)
            return _Event(passage if caption is None else self._as_passage(caption), (caption or passage).text, track)
        acts = self._view.actions.during(passage.span)
        same = [one for one in acts if one.subject and _is_same(passage.span, one.span)]
        tracks = (self._view.tracks.find(one.subject) for one in same if _is_deed_of(passage.text, one.text))
        return _Event(passage, passage.text, next((track for track in tracks if _is_named(passage.text, track)), None))

    def _as_passage(self, said: Said) -> Passage:
        return Passage(
            span=said.span, text=said.text, source="caption", confidence=said.confidence, frame_time=said.span.center
        )

    def _moment(self, passage: Passage, text: str, subject: Track | None, lacks: Sequence[str]) -> Moment:
        return Moment(
            **times(passage.span),
            text=text,
            source=passage.source,
            entity_id=None if subject is None else subject.entity_id,
            entities=linked_entities(self._session, passage.entities),
            lacks=list(dict.fromkeys(lacks)),
            evidence=[cite_passage(self._session, passage)],
        )


def _is_same(one: TimeSpan, other: TimeSpan) -> bool:
    """Whether two intervals may be of one event: what is seen of it may end with a shot before the action does."""
    return one.overlap(other) >= _SAME_EVENT * min(one.duration, other.duration)


def caption_of(view: View, span: TimeSpan, label: str, track: Track | None) -> Said | None:
    """Return the caption of an action of ``track`` with this span and label; None if none does."""
    near = [one for one in view.captions.during(span) if _is_same(span, one.span)]
    near = [one for one in near if not is_of_shot(view, one.span) and _is_deed_of(one.text, label)]
    return max((one for one in near if _is_named(one.text, track)), key=lambda one: span.iou(one.span), default=None)


def _is_named(caption: str, track: Track | None) -> bool:
    """Whether the first colour that a caption names, if any, is one of the track: two people may do the same at once."""
    named = (concepts(word) & COLOURS.keys() for word in _TOKEN.findall(caption))
    first = next(filter(None, named), None)
    return track is None or not track.colours or first is None or not first.isdisjoint(track.colours[:1])


def is_of_shot(view: View, span: TimeSpan) -> bool:
    """Whether a caption's span is a whole shot or more, so that it is no moment of what the caption says."""
    return span.overlap(shot := view.shot_at(span.center)) >= _WHOLE_SHOT * shot.duration


def place_of(view: View, span: TimeSpan) -> str | None:
    """Return the place of an interval as a caption of the whole shot begins with it ("In the kitchen, ..."); else None."""
    for said in view.captions.during(span):
        found = _PLACE.match(said.text)
        if found and is_of_shot(view, said.span) and said.span.overlap(span) >= 0.5 * span.duration:
            return found[1]
    return None


def _is_deed_of(caption: str, label: str) -> bool:
    """Whether a caption says the deed of an action's label: it has its first word, or the action is talking and it quotes."""
    verb = label.split(" ", 1)[0]
    return has_word(terms_of(_QUOTE.sub(" ", caption), ""), verb) or (verb == "talks" and '"' in caption)

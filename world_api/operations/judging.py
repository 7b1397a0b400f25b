"""What a search shows of its query: the words that were judged, those that nothing can judge, and what each hit lacks.

A word is seen if a caption or an action has it, or if a track has the kind and colours that it names. A word in speech or
in a text on screen is only mentioned; that is enough if the query is a quote, or asks for what is said or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain

from world_api.core.spans import TimeSpan, without_spans
from world_api.core.vocabulary import CATEGORIES, concepts, fold
from world_api.operations.evidence import (
    MAX_LINES,
    MAX_RANGES,
    cite_hits,
    holes_in_words,
    nothing_found,
    ranges,
    segment_hit,
)
from world_api.operations.matches import colours_in_words, match_description
from world_api.operations.recorded import has_word, recorded_words
from world_api.operations.schema import Candidates
from world_api.search.indexes import holds_words
from world_api.search.passages import Passage, passages_of
from world_api.search.searcher import SegmentHit, terms_of
from world_api.session.session import Session

#: Words that ask for what is said or written.
_SAYING = re.compile(
    r"\b(?:sa(?:y|ys|id|ying)|mention(?:s|ed|ing)?|talk(?:s|ed|ing)? about|sp(?:eak|eaks|oke|oken|eaking)|t(?:ells?|old)"
    r"|asks?|asked|quot(?:e|es|ed)|words?|lines?|text|sign|title|subtitles?|captions?|written|writes|reads)\b"
    r"|[\"“”「」『』]|说|讲|提到|谈到|问|告诉|台词|字幕|文字|写着|标题"
)
_UNITS = re.compile(r"[a-z0-9']+|[㐀-䶿一-鿿]")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」")
_TEXT_WORDS = frozenset(chain.from_iterable(CATEGORIES["text"]))
#: A query of at least this many English words or Chinese characters that a line has word for word is a quote.
QUOTE_WORDS = 6


class QueryJudge:
    """Tells of each hit of a search which words of the query it lacks, and then of all of them what was judged."""

    def __init__(self, session: Session, query: str) -> None:
        self._session = session
        self._reading = session.vocabulary.read(query)
        # In a world without pictures, such as a dialogue, all that there is is said.
        has_pictures = session.view.world.manifest.video.frames > 0
        self._asks_for_words = not has_pictures or _SAYING.search(fold(query)) is not None
        own = self._reading.unmatched
        if self._asks_for_words:
            own = tuple(word for word in own if not (_SAYING.fullmatch(word) or word in _TEXT_WORDS)) or own
        self._words = own
        self._recorded = recorded_words(session.view, query, session.vocabulary)
        names_things = bool(concepts(query) - {"text"})
        self._may_be_quote = not names_things or len(_UNITS.findall(fold(query))) >= QUOTE_WORDS
        self._query = query
        #: For each hit the judged words that it lacks, the terms of each of its texts, and those of longer captions.
        self._hits: list[tuple[list[str], list[frozenset[str]], frozenset[str]]] = []

    def add(self, span: TimeSpan, passages: Sequence[Passage]) -> None:
        """Add a hit: a segment and its passages."""
        said = [passage for passage in passages if passage.source in ("speech", "screen_text")]
        if (self._may_be_quote or self._asks_for_words) and any(holds_words(p.text, self._query) for p in said):
            self._hits.append(([], [frozenset(chain(*map(_terms, said)))], frozenset()))
            return
        reading, view = self._reading, self._session.view
        seen = [passage for passage in passages if passage.source == "caption"]
        lacking: list[str] = []
        if reading.is_judged:
            asked = [*sorted(reading.kinds or ()), *colours_in_words(reading)]
            matches = [
                match for track in view.tracks_in(span) if not (match := match_description(track, reading)).excluded
            ]
            found = min((match.lacks for match in matches), key=len, default=asked)
            if found and not any(all(has_word(_terms(passage), word) for word in found) for passage in seen):
                lacking = list(found)
            # What somebody else does is not what the one described does.
            acts = {(act.span, act.text): act.subject for act in view.actions.during(span)}
            seen = [
                passage
                for passage in seen
                if self._is_of_described(passage, acts.get((passage.span, passage.text), ""))
            ]
        wide = [passage for passage in seen if passage.span.overlap(span) * 2 < passage.span.duration]
        exact = [passage for passage in seen if passage not in wide] + (said if self._asks_for_words else [])
        # A summary of a scene tells of several people, so it does not show what the one with these looks does.
        more = () if reading.wanted else map(_terms, wide)
        self._hits.append((lacking, [*map(_terms, exact)], frozenset(chain(*more))))

    def add_text(self, text: str) -> None:
        """Add a hit that is a text, such as a memory; its words are its caller's."""
        own = terms_of(text, "")
        self._hits.append(([word for word in self._reading.matched if not has_word(own, word)], [own], frozenset()))

    @cached_property
    def lacks(self) -> list[list[str]]:
        """For each hit that was added the words that it is not shown to have.

        One caption has to have all of them. What some hit has exactly, another does not have because of a caption of a
        much longer interval, such as a scene.
        """
        exact = {word for word in self._words if any(has_word(own, word) for _, each, _ in self._hits for own in each)}
        found = []
        for lacking, each, wide in self._hits:
            rest = [word for word in self._words if word not in exact and not has_word(wide, word)]
            missing = ([word for word in self._words if word in exact and not has_word(own, word)] for own in each)
            own = min(missing, key=len, default=[word for word in self._words if word in exact])
            found.append([*lacking, *(word for word in self._words if word in own or word in rest)])
        return found

    def _is_of_described(self, passage: Passage, subject: str) -> bool:
        """Whether a caption may be of the thing described: an action of its track, or a text with all its colours."""
        if (track := self._session.view.tracks.find(subject) if subject else None) is not None:
            return match_description(track, self._reading).fits
        return all(has_word(_terms(passage), colour) for colour in self._reading.colours)

    @property
    def unmatched(self) -> list[str]:
        """The words that no hit has and that nothing here can judge."""
        return [word for word in self._words if not (self._is_had(word) or self._is_recorded(word))]

    @property
    def matched(self) -> list[str]:
        """The words that were judged or that a hit has."""
        unmatched = self.unmatched
        return list(dict.fromkeys(w for w in (*self._reading.matched, *self._words) if w not in unmatched))

    def _is_had(self, word: str) -> bool:
        return any(word not in lacking for lacking in self.lacks)

    def _is_recorded(self, word: str) -> bool:
        """Whether a word that is not there would be recorded: by the truth of an oracle world, or as something said."""
        view = self._session.view
        if self._asks_for_words and (view.has_rows("speech") or view.has_rows("screen_texts")):
            return True
        return word in self._recorded

    def not_found(self, within: TimeSpan | None) -> list[TimeSpan]:
        """Return what was searched, if every word was judged and no hit, nor any track, has all of them; else nothing."""
        if self.unmatched or not all(self.lacks) or self._any_track_fits(within):
            return []
        view = self._session.view
        return without_spans(within or view.span, view.holes)

    def _any_track_fits(self, within: TimeSpan | None) -> bool:
        view = self._session.view
        if not self._reading.is_judged or self._words:
            return False
        tracks = view.tracks if within is None else view.tracks_in(within)
        return any(match_description(track, self._reading).fits for track in tracks)


def _terms(passage: Passage) -> frozenset[str]:
    """Return the terms of a passage with its speaker's name; what a caption quotes is said and not seen."""
    text = _QUOTED.sub(" ", passage.text) if passage.source == "caption" else f"{passage.text} {passage.speaker}"
    return terms_of(text.strip(), passage.terms)


def candidates(session: Session, found: Sequence[SegmentHit], query: str, within: TimeSpan | None = None) -> Candidates:
    """Return the result of a search for words or meaning: its hits with what they lack, evidence and hint."""
    judge = QueryJudge(session, query)
    for hit in found:
        judge.add(hit.span, hit.inside)
    hits = [
        segment_hit(session, hit.span, hit.passage, score=hit.score, lines=hit.lines[:MAX_LINES], lacks=lacks)
        for hit, lacks in zip(found, judge.lacks, strict=True)
    ]
    more = any(len(hit.lines) > MAX_LINES for hit in found)
    hint = f"of a segment the first {MAX_LINES} matching lines are told" if more else nothing_found(session, found)
    if hits and all(hit.lacks for hit in hits):
        hint = "; ".join(
            filter(
                None,
                [
                    hint,
                    "none of these is shown to have all of it; lacks tells the words",
                    holes_in_words(session.view, within),
                ],
            )
        )
    matched, unmatched, absent = judge.matched, judge.unmatched, judge.not_found(within)
    return Candidates(
        candidates=hits,
        matched=matched,
        unmatched=unmatched,
        not_found=ranges(absent),
        not_judged=[] if matched and hits else unmatched,
        evidence=cite_hits(session, found),
        truncated=more or len(absent) > MAX_RANGES,
        hint=hint,
    )


def passages_in(session: Session, span: TimeSpan) -> list[Passage]:
    """Return the passages of a segment, with the captions that models gave."""
    more: Iterable[Passage] = session.captions.inside(span)
    return [*passages_of(session.view).inside(span), *more]

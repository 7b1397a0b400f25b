"""What a search shows of its query: the words that were judged, those that nothing can judge, and what each hit lacks.

A word is seen if a caption or an action has it, or if a track has the kind and colours that it names. A word in speech or
in a text on screen is only mentioned; that is enough if the query is a quote, or asks for what is said or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from world_api.core.spans import TimeSpan, round_time
from world_api.core.vocabulary import CATEGORIES, CHINESE, STOP_WORDS, concepts, content_words, fold, is_narrower, words
from world_api.operations.evidence import MAX_LINES, cite_hits, nothing_found, segment_hit
from world_api.operations.matches import colours_in_words, match_description
from world_api.operations.schema import Candidates, TimeRange
from world_api.search.passages import Passage, Texts, passages_of
from world_api.search.searcher import SegmentHit, terms_of
from world_api.session.session import Session
from world_api.world.view import View

#: Words that ask for what is said or written.
_SAYING = re.compile(
    r"\b(?:sa(?:y|ys|id|ying)|mention(?:s|ed|ing)?|talk(?:s|ed|ing)? about|sp(?:eak|eaks|oke|oken|eaking)|t(?:ells?|old)"
    r"|asks?|asked|quot(?:e|es|ed)|words?|lines?|text|sign|title|subtitles?|captions?|written|writes|reads)\b"
    r"|[\"“”「」『』]|说|讲|提到|谈到|问|告诉|台词|字幕|文字|写着|标题"
)
_TEXT_WORDS = frozenset(chain.from_iterable(CATEGORIES["text"]))
#: A query of at least this many words with content that a line has word for word is a quote.
QUOTE_WORDS = 4
#: Words for moods and ages, which no truth file records.
_UNRECORDED = frozenset(
    "happy happily sad sadly angry angrily upset glad cheerful gloomy bored boring tired nervous anxious afraid scared calm "
    "excited surprised worried lonely proud ashamed jealous annoyed mood feeling feels emotion smiling smiles young younger old "
    "older elderly aged age teenage middle-aged adult years year".split()
)
_UNRECORDED_CHINESE = re.compile(
    r"[乐愉喜怒悲哀惧怕恐忧愁]|高兴|开心|伤心|难过|生气|紧张|害怕|惊讶|兴奋|无聊|疲惫|微笑|心情|情绪|年轻|年老|中年|岁|老年"
)


class RecordedScripts:
    """Whether the visible captions and actions of a world are in Latin letters, in Chinese, in both or not there."""

    def __init__(self, view: View) -> None:
        texts = view.world.once(Texts)
        numbers: set[int] = set()
        for table, items in (("captions", view.captions), ("actions", view.actions)):
            numbers.update(texts.of_rows(table)[items.rows[items.rows >= 0]].tolist())
        said = [texts.text(number) for number in numbers]
        self.chinese = any(CHINESE.search(text) for text in said)
        self.latin = any(re.search("[A-Za-z]", text) for text in said)


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
        names_things = bool(concepts(query) - {"text"})
        self._may_be_quote = not names_things or len(content_words(query)) >= QUOTE_WORDS
        self._lacking: list[list[str]] = []

    def lacks(self, span: TimeSpan, passages: Sequence[Passage], *, as_given: bool) -> list[str]:
        """Return the words that a segment with these passages is not shown to have.

        ``as_given``: whether a line in it has the query word for word.
        """
        lacking = [] if as_given and (self._may_be_quote or self._asks_for_words) else self._not_shown(span, passages)
        self._lacking.append(lacking)
        return lacking

    def lacks_of_text(self, text: str) -> list[str]:
        """Return the words of the query that a text lacks, such as a memory, whose words are its caller's."""
        own = terms_of(text, "")
        lacking = [word for word in dict.fromkeys((*self._reading.matched, *self._words)) if not _has(own, word)]
        self._lacking.append(lacking)
        return lacking

    def _not_shown(self, span: TimeSpan, passages: Sequence[Passage]) -> list[str]:
        reading, view = self._reading, self._session.view
        seen = [passage for passage in passages if passage.source == "caption"]
        lacking: list[str] = []
        if reading.is_judged:
            asked = [*sorted(reading.kinds or ()), *colours_in_words(reading)]
            matches = [
                match for track in view.tracks_in(span) if not (match := match_description(track, reading)).excluded
            ]
            found = min((match.lacks for match in matches), key=len, default=asked)
            if found and not any(all(_has(_terms(passage), word) for word in found) for passage in seen):
                lacking = list(found)
            # What somebody else does is not what the one described does.
            others = {(act.span, act.text) for act in view.actions.during(span) if self._is_by_another(act.subject)}
            seen = [passage for passage in seen if (passage.span, passage.text) not in others]
        if self._asks_for_words:
            seen += [passage for passage in passages if passage.source in ("speech", "screen_text")]
        terms = frozenset(chain.from_iterable(map(_terms, seen)))
        return [*lacking, *(word for word in self._words if not _has(terms, word))]

    def _is_by_another(self, subject: str) -> bool:
        track = self._session.view.tracks.find(subject) if subject else None
        return track is not None and not match_description(track, self._reading).fits

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
        return any(word not in lacking for lacking in self._lacking)

    def _is_recorded(self, word: str) -> bool:
        """Whether a word that is not there would be recorded: by the truth of an oracle world, or as something said."""
        view = self._session.view
        if self._asks_for_words and (view.has_rows("speech") or view.has_rows("screen_texts")):
            return True
        if view.world.manifest.profile != "oracle" or is_narrower(word) or word in _UNRECORDED:
            return False
        scripts = view.once(RecordedScripts)
        if not CHINESE.search(word):
            return scripts.latin
        return scripts.chinese and not _UNRECORDED_CHINESE.search(word)

    def not_found(self, within: TimeSpan | None) -> list[TimeRange]:
        """Return the interval that was searched if every word was judged and no hit, nor any track, has all of them."""
        if self.unmatched or not all(self._lacking) or self._any_track_fits(within):
            return []
        searched = within or self._session.view.span
        return [TimeRange(start_time=round_time(searched.start), end_time=round_time(searched.end))]

    def _any_track_fits(self, within: TimeSpan | None) -> bool:
        view = self._session.view
        if not self._reading.is_judged or self._words:
            return False
        tracks = view.tracks if within is None else view.tracks_in(within)
        return any(match_description(track, self._reading).fits for track in tracks)


def _terms(passage: Passage) -> frozenset[str]:
    return terms_of(f"{passage.text} {passage.speaker}".strip(), passage.terms)


def _has(terms: frozenset[str], word: str) -> bool:
    """Whether terms of a text contain a word, or, if it is not narrower than what it names, the concept that it names."""
    own = {unit for unit in words(word) if unit not in STOP_WORDS} or set(words(word))
    named = frozenset() if is_narrower(word) else concepts(word)
    return own <= terms or (bool(named) and {f"#{concept}" for concept in named} <= terms)


def candidates(session: Session, found: Sequence[SegmentHit], query: str, within: TimeSpan | None = None) -> Candidates:
    """Return the result of a search for words or meaning: its hits with what they lack, evidence and hint."""
    judge = QueryJudge(session, query)
    hits = [
        segment_hit(
            session,
            hit.span,
            hit.passage,
            score=hit.score,
            lines=hit.lines[:MAX_LINES],
            lacks=judge.lacks(hit.span, hit.inside, as_given=any(line.as_given for line in hit.lines)),
        )
        for hit in found
    ]
    more = any(len(hit.lines) > MAX_LINES for hit in found)
    hint = f"of a segment the first {MAX_LINES} matching lines are told" if more else nothing_found(found)
    if hits and all(hit.lacks for hit in hits):
        hint = "; ".join(filter(None, [hint, "none of these is shown to have all of it; lacks tells the words"]))
    matched, unmatched = judge.matched, judge.unmatched
    return Candidates(
        candidates=hits,
        matched=matched,
        unmatched=unmatched,
        not_found=judge.not_found(within),
        not_judged=[] if matched else unmatched,
        evidence=cite_hits(session, found),
        truncated=more,
        hint=hint,
    )


def passages_in(session: Session, span: TimeSpan) -> list[Passage]:
    """Return the passages of a segment, with the captions that models gave."""
    more: Iterable[Passage] = session.captions.inside(span)
    return [*passages_of(session.view).inside(span), *more]

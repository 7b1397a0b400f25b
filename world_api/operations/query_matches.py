"""How queries match the texts and tracks of segments, what a search shows of its query, and the exact times of what matched.

In a search a word is seen if a caption or an action has it, or if a track has the kind and colours that it names. A word in
speech or in a text on screen is only mentioned; that is enough if the query is a quote, or for words after "says" or in quotes.

For the times (of an action, a caption, an appearance, a line or a text) a query is about who (its words before the first deed
or thing) and what follows. A caption or an action matches if who does it has the looks that are asked for, and its text, or the
place of its scene, has all other words that can be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain

import numpy as np

from world_api.core.attributes import asked_attributes
from world_api.core.lexicon import COLOURS, STOP_WORDS
from world_api.core.spans import TimeSpan, merge_spans, without_spans
from world_api.core.vocabulary import CHINESE, LATIN, ParsedDescription, coloured_nouns, concepts, fold
from world_api.operations.evidence import (
    cite_hits,
    cite_passage,
    interval_of,
    linked_entities,
    nothing_found,
    ranges,
    segment_hit,
    times,
)
from world_api.operations.matches import colours_in_words, match_description, match_look, rests_on
from world_api.operations.recorded import (
    DONE_BY_PEOPLE,
    SpokenTexts,
    asks_for_hearing,
    has_units,
    has_word,
    heard_words,
    recorded_words,
    terms_of_word,
)
from world_api.operations.schema import Candidates, Hit, Moment
from world_api.search.indexes import holds_words
from world_api.search.passages import SOUND, Passage, passages_of
from world_api.search.searcher import SegmentHit, terms_of
from world_api.session.session import Session
from world_api.world.store import World
from world_api.world.timeline import Said
from world_api.world.tracks import Track
from world_api.world.view import View

_UNITS = re.compile(r"[a-z0-9']+|[㐀-䶿一-鿿]")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」")
_BEARER = r"\b(?:lines?|signs?|labels?|titles?|text|captions?|subtitles?|screen)"
_WORD = r"\bwords?\b(?! (?:of|for|on|in)\b)"
#: How someone says something that need not be given word for word.
_UTTERING = r"\b(?:asks?|asked|tells?|told|quotes?|quoted)\b|(?<![小听传])说(?![明服话])|告诉|问(?!题)"
#: What introduces the words of a line. If no line has what is ``written``, ``said`` or ``either``, it is absent; what is asked
#: and quoted, and titles, may be there in other words.
_CUES: dict[str, re.Pattern[str]] = {
    kind: re.compile(
        rf"(?:{cue})(?P<line>.*?)(?=\b(?:in|at|on|near|by|while|when|before|after|during|and|but)\b|[,;.?!，。；？！]|$)"
    )
    for kind, cue in {
        "written": rf"{_BEARER} (?:(?:that|which|with|the) )*(?:words?|says?|saying|said|reads?|reading)\b"
        r"|写着",
        "said": r"\b(?:sa(?:y|ys|id|ying)|mention(?:s|ed|ing)?|(?:talk(?:s|ed|ing)?|sp(?:eaks?|oke|oken|eaking)) (?:about|of))\b"
        r"|提到|谈到|说到|讲到|台词",
        "either": _WORD,
        "": rf"{_BEARER} about\b|\b(?:text|titles?|captions?|subtitles?)\b|字幕|标题|文字|{_UTTERING}",
    }.items()
}
#: After these, what is said is not given word for word: to whom, and reported speech.
_REPORTED = re.compile(r"\b(?:to|with|from|for|of|that|he|she|they|it|if|whether|how|why|where)\b")
#: A query of at least this many English words or Chinese characters that a line has word for word is a quote.
QUOTE_WORDS = 6


def lines_in(folded: str) -> tuple[str, dict[str, list[str]]]:
    """Split a query (folded text) into what is seen, and the words of lines by what introduces them (keys of ``_CUES``).

    What is in quotes, and "the word", is ``said`` or ``written`` if the query says so, else ``either``. The words under these
    are absent if no line has them; those under ``""`` may be there in other words.
    """
    found: dict[str, list[str]] = {kind: [] for kind in _CUES}
    quoted = [word for quote in _QUOTED.findall(folded) for word in _contents(quote)]
    rest = _QUOTED.sub(" ", folded)
    is_written = _CUES["written"].search(rest) is not None
    has_said = not is_written and (_CUES["said"].search(rest) or re.search(_UTTERING, rest)) is not None
    found["either"] += quoted

    def take(cue: re.Match[str], kind: str) -> str:
        line = re.sub(_WORD, " ", cue["line"])
        exact = len(line) if (reported := _REPORTED.search(line)) is None else reported.start()
        found[kind] += _contents(line[:exact])
        found[""] += _contents(line[exact:])
        return " " if quoted or _contents(line) else cue.group()

    for kind, words in _CUES.items():
        rest = words.sub(partial(take, kind=kind), rest)
    if has_said or is_written:
        found["said" if has_said else "written"] += found.pop("either")
    return rest, {"either": [], **found}


def _contents(text: str) -> list[str]:
    """Return the words of a text that have content: English words, and whole runs of Chinese characters."""
    return [word for word in LATIN.findall(text) if word not in STOP_WORDS] + CHINESE.findall(text)


class QueryJudge:
    """Judges which words of a query each hit of its search lacks, and then what was judged of all of them."""

    def __init__(self, session: Session, query: str) -> None:
        self._session = session
        seen, lines = lines_in(fold(query))
        reading = session.vocabulary.read(seen)
        # In a world without pictures, such as a dialogue, all that there is is said.
        self._is_dialogue = session.view.world.manifest.video.frames == 0
        self._lines = lines | {"said": [*lines["said"], *(reading.unmatched if self._is_dialogue else ())]}
        self._spoken = frozenset(chain(*self._lines.values()))
        self._is_quoted = bool(lines["said"] or lines["written"] or lines["either"])
        self._words = tuple(dict.fromkeys((*reading.unmatched, *chain(*lines.values()))))
        if self._spoken and not reading.unmatched and not reading.wanted:
            reading = replace(reading, kinds=None)  # who speaks need not be seen
        self._sounds = _sound_words(session, query)
        if self._sounds is not None:  # what makes a sound need not be seen
            self._words, reading = self._sounds, ParsedDescription()
        self._reading = reading
        self._looks = [*sorted(reading.kinds or ()), *(f"not {kind}" for kind in sorted(reading.negated_kinds))]
        self._looks += colours_in_words(reading)
        # The colour of a thing that no row judges has to be beside that thing in a caption.
        self._coloured = frozenset(pair for pair in coloured_nouns(seen) if pair[0] not in {*chain(*reading.wanted)})
        self._recorded = recorded_words(session.view, query, session.vocabulary)
        names_things = bool(concepts(query) - {"text"})
        self._may_be_quote = bool(self._spoken) or not names_things or len(_UNITS.findall(fold(query))) >= QUOTE_WORDS
        self._query = query
        #: For each hit the judged words that it lacks, the terms of each of its texts, and those of longer captions.
        self._hits: list[tuple[list[str], list[frozenset[str]], frozenset[str]]] = []
        self._spans: set[TimeSpan] = set()

    def add(self, span: TimeSpan, passages: Sequence[Passage]) -> None:
        """Add a hit: a segment and its passages."""
        self._spans.add(span)
        said = [passage for passage in passages if passage.source in ("speech", "screen_text")]
        if self._may_be_quote and any(holds_words(p.text, self._query) for p in said):
            self._hits.append(([], [frozenset(chain(*map(_terms_of_passage, said)))], frozenset()))
            return
        reading, view = self._reading, self._session.view
        seen = [passage for passage in passages if passage.source == "caption"]
        lacking: list[str] = []
        if reading.is_judged:
            matches = (match_description(track, reading) for track in view.tracks_in(span))
            found = min((match.lacks for match in matches if not match.excluded), key=len, default=self._looks)
            if found and not any(self._shows_looks(passage) for passage in seen):
                lacking = list(found)
            # What another person does is not what the one described does.
            seen = [passage for passage in seen if self._is_of_described(passage)]
        wide = [passage for passage in seen if passage.span.overlap(span) * 2 < passage.span.duration]
        exact = [self._seen_in(passage) for passage in seen if passage not in wide]
        if self._spoken:
            heard = [self._heard_in(passage) for passage in said]
            exact = [*exact, *heard, *(one | other for one in exact for other in heard)]
        if self._sounds is not None:
            exact += [_heard_at(passage, passages) for passage in passages if passage.source == SOUND]
        # A summary of a scene is about several people, so it does not show what the one with these looks does.
        more = () if reading.wanted else map(self._seen_in, wide)
        self._hits.append((lacking, exact, frozenset(chain(*more))))

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

    def _heard_in(self, line: Passage) -> frozenset[str]:
        """Return the terms of the words asked for that a line has itself, and of who says it.

        There are none if the one who speaks is described and this line is not known to be theirs.
        """
        if self._reading.wanted and not self._session.vocabulary.shows(line.speaker, self._reading):
            return frozenset()
        terms, own = _terms_of_passage(line), terms_of(line.speaker, "")
        is_heard = has_word if self._is_dialogue else has_units
        return own.union(*(terms_of(word, "") for word in self._spoken if is_heard(terms, word)))

    def _is_of_described(self, passage: Passage) -> bool:
        """Whether a caption may be of the thing described: an action of its track, or a text with all its colours."""
        if passage.subject and (track := self._session.view.tracks.find(passage.subject)) is not None:
            return match_description(track, self._reading).fits
        return not self._reading.wanted or self._shows_looks(passage)

    def _shows_looks(self, passage: Passage) -> bool:
        return self._session.vocabulary.shows(_QUOTED.sub(" ", passage.text), self._reading)

    def _seen_in(self, caption: Passage) -> frozenset[str]:
        """Return the terms of a caption without colours that the query asks for of something else."""
        terms = _terms_of_passage(caption)
        apart = self._coloured - coloured_nouns(_QUOTED.sub(" ", caption.text)) if self._coloured else ()
        return terms.difference(*(chain(*terms_of_word(colour)[0], terms_of_word(colour)[1]) for colour, _ in apart))

    @cached_property
    def unmatched(self) -> list[str]:
        """The words that no hit has and that nothing here can judge."""
        never = [word for word in self._words if all(word in lacking for lacking in self.lacks)]
        return [word for word in never if not self._is_recorded(word)]

    @property
    def matched(self) -> list[str]:
        """The words that were judged or that a hit has."""
        unmatched = self.unmatched
        return list(dict.fromkeys(w for w in (*self._reading.matched, *self._words) if w not in unmatched))

    def _is_recorded(self, word: str) -> bool:
        """Whether a word that is not there would be recorded: by the truth of an oracle world, or as said or written.

        A word is not known not to be said if all that is said is in another script.
        """
        view = self._session.view
        if self._sounds is not None:
            return bool(self._measured) or not view.world.manifest.video.has_audio
        if word in self._recorded or (self._is_dialogue and word in self._spoken):
            return word in self._recorded or view.has_rows("speech")
        if not view.once(SpokenTexts).has_script_of(word):
            return False
        if word in self._lines["said"]:
            return view.has_rows("speech")
        if word in self._lines["either"]:
            return view.reads_screen and view.writes_down_speech
        return word in self._lines["written"] and view.reads_screen

    @cached_property
    def _measured(self) -> dict[str, tuple[int, int]]:
        """The classes of sounds that the query asks for and of which it was measured how often they are missed."""
        rates = self._session.view.world.manifest.missed_sounds or {}
        asked = self._sounds or ()
        return {
            one: rate for one, rate in rates.items() if asked and all(has_word(terms_of(one, ""), w) for w in asked)
        }

    @property
    def is_untagged(self) -> bool:
        """Whether the query is about sounds, and no model tagged those of this video."""
        manifest = self._session.view.world.manifest
        return self._sounds is not None and manifest.missed_sounds is None and manifest.video.has_audio

    @property
    def may_be_in_other_words(self) -> bool:
        """Whether all that there is is said, and the query does not ask for words as they are said."""
        return self._is_dialogue and not self._is_quoted

    @property
    def may_be_missed(self) -> bool:
        """Whether the query names things that may be there unseen."""
        return self._reading.is_judged and self._session.view.may_be_missed(self._reading.kinds)

    def may_be_beyond(self, hits: Sequence[Hit]) -> bool:
        """Whether each hit lacks a word that was judged, and a thing of the kind that has it may be there unseen."""
        is_shown = any(set(hit.lacks) <= set(self.unmatched) for hit in hits)
        return self.may_be_missed and self._reading.kinds is not None and not is_shown

    def not_judged(self, *, is_absent: bool) -> list[str]:
        """Return what nothing is known of in a result without hits; ``is_absent``: it has spans that are ``not_found``."""
        if is_absent and self._sounds is not None:
            has_audio = self._session.view.world.manifest.video.has_audio
            return [f"{label} that was not recognised" for label in self._measured if has_audio]
        unseen = self._session.view.unseen(self._reading.kinds)
        if is_absent:  # of things that may be missed, only words are absent
            return [] if self.may_be_missed else unseen
        return self.unmatched or (unseen if self.may_be_missed else []) or self.matched or [self._query[:60]]

    @property
    def limit(self) -> str:
        """The end of the hint of a result that finds nothing: what may be there unseen or unheard, and how often it is missed."""
        if self._sounds is not None:
            if not self._session.view.world.manifest.video.has_audio:
                return "; the video has no sound"
            rates = (
                f"no {label} was recognised, which was missed in {missed} of {of} samples with it where this was measured"
                for label, (missed, of) in self._measured.items()
            )
            return "; " + "; ".join(rates)
        return rests_on(self._session.view, self._reading.kinds)

    def not_found(self, within: TimeSpan | None) -> list[TimeSpan]:
        """Return what was searched, if every word was judged and no segment has all of them, nor may any track; else nothing.

        A word that only captions of a model may have is not judged: they do not mention everything. Nor is a query
        without any word that has content. Of things that may be there unseen only what is said or written of them is absent.
        """
        if not (self._words or self._reading.is_judged):
            return []
        if not all(self.lacks):
            return []
        # Where nothing has the looks, other words make no difference.
        if not self._reading.is_judged or self.may_be_missed or self._any_track_may_fit(within):
            is_judged = bool(self._words) and all(map(self._is_recorded, self._words))
            if not is_judged or self._any_segment_fits(within):
                return []
        view = self._session.view
        searched = within or view.span
        if self._sounds is None:
            return without_spans(searched, view.holes)
        if not view.complete:  # a sound that begins before the cut may not be known yet
            known = TimeSpan(start=0.0, end=max(0.0, view.duration - view.world.manifest.sound_window))
            if (clipped := searched.clip(known)) is None:
                return []
            searched = clipped
        # How often a sound is missed was measured where nothing else is heard.
        unclear = merge_spans([*view.holes, *(sound.span for sound in view.sounds)])
        return without_spans(searched, unclear)

    def _any_segment_fits(self, within: TimeSpan | None) -> bool:
        """Whether a segment has all words, though it is none of the hits, which are as many as were asked for.

        Of things that may be there unseen it need not have the looks.
        """
        if not self._words:
            return False
        view, lexical = self._session.view, self._session.searcher.lexical
        named_in_speech = view.world.once(_terms_of_speakers)
        having = np.ones(len(view.segments), dtype=np.bool_)
        for word in self._words:
            if not has_word(named_in_speech, word):  # the index has no speakers
                units, concepts_ = terms_of_word(word)
                each = np.logical_and.reduce([lexical.holding(own) for own in units])
                having &= each | (bool(concepts_) & np.logical_and.reduce([lexical.holding([c]) for c in concepts_]))
        spans = [view.segments[place] for place in np.flatnonzero(having).tolist()]
        spans = [span for span in spans if within is None or span.overlaps(within)]
        if self.may_be_missed:  # then all words are said or written
            return any(map(self._is_worded, spans))
        every = QueryJudge(self._session, self._query)
        every._hits = [*self._hits]
        for span in spans:
            if span not in self._spans:
                every.add(span, passages_in(self._session, span))
        return not all(every.lacks)

    def _is_worded(self, span: TimeSpan) -> bool:
        """Whether what is said or written in a segment has all words."""
        said = (one for one in passages_in(self._session, span) if one.source in ("speech", "screen_text"))
        terms = frozenset(chain(*map(_terms_of_passage, said)))
        return all(has_word(terms, word) for word in self._words)

    def _any_track_may_fit(self, within: TimeSpan | None) -> bool:
        view = self._session.view
        tracks = view.tracks.of_each_look if within is None else view.tracks_in(within)
        return any(match_description(track, self._reading).may_fit for track in tracks)


def _sound_words(session: Session, query: str) -> tuple[str, ...] | None:
    """Return the words that a sound has to have; None if the query is not about sounds, or asks for looks or for lines.

    The truth of an oracle world has deeds and no sounds, and of a dialogue without pictures all is said.
    """
    manifest = session.view.world.manifest
    seen, lines = lines_in(fold(query))
    if manifest.profile == "oracle" or manifest.video.frames == 0 or any(lines.values()):
        return None
    reading = session.vocabulary.read(seen)
    words = None if reading.wanted or reading.looks else heard_words(seen)
    if words is None or asks_for_hearing(seen):
        return words
    # Who speaks or laughs is seen, too, where captions or actions say what is done; without sound nothing is heard.
    is_described = any(map(session.view.has_rows, ("captions", "actions")))
    is_seen = not manifest.video.has_audio or (is_described and not DONE_BY_PEOPLE.isdisjoint(words))
    return None if is_seen else words


def searched_words(session: Session, query: str) -> str:
    """Return the words to search for: of a query that asks for a sound those of the classes, whose names are English."""
    words = _sound_words(session, query)
    return query if words is None else " ".join(words)


def _heard_at(sound: Passage, passages: Iterable[Passage]) -> frozenset[str]:
    """Return the terms of all sounds that are heard at the same time as one of them: a barking dog is ``Dog`` and ``Bark``."""
    beside = (one for one in passages if one.source == SOUND and one.span.overlaps(sound.span))
    return frozenset(chain(*map(_terms_of_passage, beside)))


def _terms_of_speakers(world: World) -> frozenset[str]:
    """Return the terms of the names of all speakers."""
    speakers = filter(None, world.rows("speech").column("speaker").unique().to_pylist())
    return terms_of(" ".join(speakers), "")


def _terms_of_passage(passage: Passage) -> frozenset[str]:
    """Return the terms of a passage with its speaker's name; what a caption quotes is said and not seen."""
    text = _QUOTED.sub(" ", passage.text) if passage.source == "caption" else f"{passage.text} {passage.speaker}"
    return terms_of(text.strip(), passage.terms)


_OF_LOOKS = re.compile(
    r"\b(?:wear(?:s|ing)?|dressed|hair(?:ed)?|beard(?:ed)?|glasses|clothes|clothing)\b|[穿戴]|头发|[长短金黑卷]发|胡[子须]|眼镜|衣服"
)


def asks_for_looks(session: Session, query: str) -> bool:
    """Whether a query is about how someone or something looks, so that no spoken line can answer it."""
    seen, lines = lines_in(fold(query))
    if any(lines.values()):
        return False
    reading = session.vocabulary.read(seen)
    is_described = bool(reading.wanted or reading.looks or asked_attributes(query))
    return bool(reading.kinds) and (is_described or _OF_LOOKS.search(seen) is not None)


#: What a search for a sound says of a world whose sounds no model tagged.
UNTAGGED = (
    "sounds were not tagged; with the extra sounds and `videoworld models pull yamnet audioset-names` a new build does"
)


def judged_hits(top_k: int) -> int:
    """Return how many hits a search judges to return ``top_k``: scores do not know which words have to be of one thing."""
    return max(top_k, 4 * min(top_k, 10))


def candidates(
    session: Session, found: Sequence[SegmentHit], query: str, top_k: int, within: TimeSpan | None = None
) -> Candidates:
    """Return the result of a search for words or meaning: the best hits with what they lack, evidence and hint.

    ``found`` are ``judged_hits(top_k)`` hits by score. Of these the ``top_k`` that lack the fewest words are returned, in
    this order, and those that lack as many by score. With a sentence encoder, and unless looks are asked for, those that
    lack none come first and the others by score.
    """
    judge = QueryJudge(session, query)
    for hit in found:
        judge.add(hit.span, hit.inside)
    # A line that means the same may lack every word, so that the number says little where meaning ranks.
    counts = asks_for_looks(session, query) or not session.searcher.ranks_by_meaning
    pairs = zip(found, judge.lacks, strict=True)
    ranked = sorted(pairs, key=lambda pair: len(pair[1]) if counts else bool(pair[1]))[:top_k]
    found = [hit for hit, _ in ranked]
    hits = [
        segment_hit(session, hit.span, hit.passage, score=hit.score, lines=hit.lines, lacks=lacks)
        for hit, lacks in ranked
    ]
    hint = nothing_found(found)
    if not hits and judge.may_be_missed:
        hint = f"nothing of the kind was detected{judge.limit}"
    if hits and all(hit.lacks for hit in hits):
        hint = "none of these is shown to have all of it; lacks names the words"
    about = session.searcher.lines_about(query)
    if session.searcher.is_unprepared:
        hint = "; ".join(
            filter(None, [hint, "only words were searched: `videoworld reindex` prepares a search by meaning"])
        )
    matched, unmatched, absent = judge.matched, judge.unmatched, judge.not_found(within)
    if about is not None:
        hint = "; ".join(filter(None, [hint, about.in_words]))
    if judge.is_untagged:
        hint = "; ".join(filter(None, [hint, UNTAGGED]))
    if judge.may_be_in_other_words and (about is None or about.verdict != "unmatched"):
        absent = []
    if absent and not judge.may_be_missed:
        hint += judge.limit
    return Candidates(
        candidates=hits,
        matched=matched,
        unmatched=unmatched,
        not_found=ranges(absent),
        # Without hits that are shown, a thing of which the words were not measured may have them.
        not_judged=[]
        if hits and not absent and (matched or not unmatched) and not judge.may_be_beyond(hits)
        else judge.not_judged(is_absent=bool(absent)),
        evidence=cite_hits(session, found),
        hint=hint,
    )


def passages_in(session: Session, span: TimeSpan) -> list[Passage]:
    """Return the passages of a segment, with the captions that models gave."""
    more: Iterable[Passage] = session.captions.inside(span)
    return [*passages_of(session.view).inside(span), *more]


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
        self._sounds = _sound_words(session, query)
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
        return [moment for passage in passages if (moment := self._of_passage(passage, passages)) is not None]

    def of_segment(self, hit: Hit) -> Moment:
        """Return a hit's whole segment as a moment that lacks what the hit lacks, or else all words of the query."""
        span = interval_of(hit)
        whole = Passage(span=span, text=hit.snippet, source=hit.source, confidence=None, frame_time=span.center)
        lacks = hit.lacks or [*self._looks, *self._deeds, *self._quotes]
        return self._moment(whole, hit.snippet, None, lacks or [self._query])

    def _of_passage(self, passage: Passage, beside: Sequence[Passage]) -> Moment | None:
        if passage.source in ("speech", "screen_text"):
            return self._of_words(passage)
        if passage.source == SOUND:
            own = _heard_at(passage, beside)
            is_asked = self._sounds is not None and all(has_word(own, word) for word in self._sounds)
            return self._moment(passage, passage.text, None, []) if is_asked else None
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

"""Findings: what the answers of a tool say, compared with the known facts of the films that it was asked about.

An answer is compared only as far as the tool's names and its description say what it means (``intents``), and only if it
ended as ``ok``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from tool_induction.admission.arguments import is_interval, is_moment
from tool_induction.admission.facts import BRIEF, Fact
from tool_induction.admission.intents import (
    ABSENCE,
    AFTER,
    AROUND,
    ARRIVES,
    BEFORE,
    COUNT,
    DISTINCT,
    EDGES,
    FIRST,
    LAST,
    LEAVES,
    PLACES,
    PRESENCE,
    REPEATED,
    ROLES,
    SECONDS,
    WAYS,
    Edge,
    Intent,
    edge_of,
    words_in,
)
from tool_induction.admission.probes import EXACT, ROUGH, Probe
from tool_induction.admission.weaknesses import UNITS, Flaw
from tool_induction.language import model, types
from tool_induction.language.evaluation import Json
from tool_induction.language.expressions import names
from world_api.core.canonical import canonical_json
from world_api.core.spans import TimeSpan

if TYPE_CHECKING:
    from tool_induction.admission.trials import TrialRun

_SHARE_NAMED = 0.2  #: of the answers of one kind, which must show a flaw before it is named
_IN_GENERAL = ("decided", "finds")  #: findings about all answers of a tool, which count only if most differ
#: Which occurrence is meant by one after, or before, a moment.
_BESIDE: Mapping[str, Literal["first", "last", ""]] = {"after": "first", "before": "last", "": ""}
#: What the one who does something is called.
_DOER = re.compile(
    r"(?:\b|_)(?:doer|actor|who (?:does|did|do|performs?|is doing)|one who|person who|whom)\b|[做干].{0,12}的人|谁",
)
_WHO = frozenset("who doer actor".split())
MORE = frozenset("longer longest more most oftener greater 更长 更久 更多".split())
LESS = frozenset("shorter shortest less least fewer 更短 更少".split())
MORE_OR_LESS = MORE | LESS
_UNITS: Mapping[str, frozenset[str]] = {
    "percent": frozenset("percent percentage pct 百分比".split()),
    "a share of 1": frozenset("share fraction proportion 比例 占比".split()),
    "seconds": frozenset("second seconds 秒".split()),
    **UNITS,
}
SCALES = {"seconds": 1.0, "minutes": 1 / 60, "hours": 1 / 3600, "milliseconds": 1000.0}  #: of one second
SHARES = {"percent": 100.0, "a share of 1": 1.0}  #: of the whole film
_CLOSE = 0.05  #: of a duration that is the same in another unit
_TIMES = frozenset({"time", "moment"})
TOTAL = frozenset("total altogether sum all together 总共".split())
_STATISTIC_WORDS: Mapping[str, frozenset[str]] = {
    "average": frozenset("average mean avg 平均".split()),
    "longest": frozenset("longest max maximum 最长".split()),
    "shortest": frozenset("shortest min minimum 最短".split()),
}
#: Words of a number that is one of several, or their mean.
STATISTICS = frozenset[str]().union(*_STATISTIC_WORDS.values())
UNTIL = frozenset("until wait waits waiting later".split())  #: of seconds from a moment to what comes next
_REST = frozenset(
    "remaining remain remains left rest 剩余".split()
)  #: of seconds from the end of something to that of the film
_OFTEN = 8  #: occurrences that a short list has no room for
#: of a boolean: that something comes more than once
_AGAIN = frozenset("repeated repeats again returns reappears recurs recurring returned twice repeatedly".split())
_LISTS = frozenset("times appearances occurrences spans intervals visits sightings stays moments mentions".split())
NEGATIONS = frozenset("not never no missing absent without".split())
ORDER = FIRST | {"before", "order", "ordered", "earlier", "precedes", "sequence", "sorted", "after", "later"}
_LACKING = frozenset("absent missing unseen 缺席".split())  #: of a boolean: that something is not there
_SOME = frozenset("long longer short shorter brief some several few top".split())  #: of a list that need not be of all
_LONG = 4.0  #: a span must be this long for its ends to be distinguished
OFF = 0.1  #: of a duration
_AT_LEAST = 2  #: wrong answers that refuse a tool
_NONE_OF = 4  #: questions about what is there, all of which find nothing
_SIDES = ("left", "right", "top", "bottom")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one answer says about an output: right, or how it differs from the world.

    ``about``: output and kind of claim, by which findings are put together; ``certain``: whether the difference is one
    of facts and not of precision; ``flaw``: what it is a sign of, if that has a name.
    """

    about: str
    difference: str = ""
    certain: bool = True
    flaw: Flaw | None = None

    @property
    def output(self) -> str:
        """The output that was compared; another text if the finding is about the whole answer."""
        return self.about.split(" ", 1)[0]


def findings_of(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield what the run of a probe says of the facts, output by output."""
    facts = probe.each
    if run.status == "ok":
        yield from outside(intent, probe, run)
        yield from _wrong_side(intent, probe, run)
    if not facts or probe.is_of_sides:
        return
    if run.status == "ok":
        yield Finding(about="decided")
    existence = probe.existence
    yield from _undecided(intent, run, facts, probe, existence)
    if run.status != "ok" or (len(facts) > 1 and len({fact.kind for fact in facts}) == 1):
        return
    deed = next((fact for fact in facts if fact.kind == "deed"), facts[0])
    if deed.kind == "deed" and len(deed.spans) == 1:
        yield from _sides(intent, deed, probe, run)
    judged = _Answer(intent=intent, probe=probe, fact=deed, existence=existence)
    for item, value in own_outputs(intent.tool, run):
        yield from judged.findings(item, value)


def own_outputs(tool: model.Tool, run: TrialRun) -> list[tuple[model.Output, Json]]:
    """Return the outputs that are not computed from inputs alone, and their values; null, empty texts and records are left out."""
    inputs = {item.name for item in tool.inputs}
    outputs = [
        (item, run.outputs.get(item.name)) for item in tool.outputs if item.source and names(item.source) - inputs
    ]
    return [(item, value) for item, value in outputs if value not in (None, "", {})]


def is_evidence(item: model.Output) -> bool:
    """Whether an output is pieces of evidence."""
    inner = types.plain(item.type)
    return isinstance(inner, types.ListType) and getattr(types.plain(inner.item), "name", "") == "Evidence"


def claim_of(intent: Intent, item: model.Output) -> str:
    """Return what an output claims by its name and type: a time, a duration ...; empty if that could not be compared."""
    own, kind = words_in(item.name), types.plain(item.type)
    if is_moment(item.name, item.type) or is_interval(item.type):
        return "time"
    if kind == types.BOOL:
        return "order" if own & (ORDER | MORE_OR_LESS) else "presence" if own & PRESENCE else ""
    if kind == types.INT:
        return "count" if own & COUNT and intent.counts else ""
    if types.is_numeric(kind):
        return "amount" if own & SECONDS or unit_of(item, by_name=True) else ""
    return "person" if kind == types.STRING and item.name.endswith("entity_id") else ""


def _undecided(intent: Intent, run: TrialRun, facts: Sequence[Fact], probe: Probe, existence: str) -> Iterator[Finding]:
    texts = ", ".join(repr(fact.text) for fact in facts)
    is_there = existence == "present" and all(fact.within(probe.bounds) for fact in facts)
    if is_there and run.status in ("ok", "empty"):
        says = f"asked for {texts} it finds nothing: {film_has(facts[0], probe)}" if run.status == "empty" else ""
        yield Finding(about="finds", difference=says, certain=False, flaw="finds_nothing")
        ways = [fact.instead for fact in probe.film if fact.instead and fact.text == facts[0].text]
        for way in ways if facts[0].kind == "words" else ():
            if not intent.promised & WAYS[way]:
                continue
            yield Finding(about=f"finds {way}", difference=says, certain=False, flaw="finds_nothing")
    if run.status == "partial" and existence != "unjudged" and not run.failed_calls:
        says = f"asked for {texts} it cannot tell, although the world decides it"
        yield Finding(about="decided", difference=says, certain=False)


def film_has(fact: Fact, probe: Probe) -> str:
    """Return what the world holds of a fact, in words."""
    if fact.existence == "absent":
        if fact.instead:
            return f"in the film it is only {fact.instead}"
        return f"in the film {fact.who!r} never does it" if fact.who else "it is nowhere in the film"
    spans = [f"{span.start:.1f} to {span.end:.1f} s" for span in fact.within(probe.bounds)[:4]]
    return f"the film has it at {', '.join(spans)}" if spans else "the film does not have it there"


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """Compares the outputs of one run with one fact."""

    intent: Intent
    probe: Probe
    fact: Fact
    existence: str

    def findings(self, item: model.Output, value: Json) -> Iterator[Finding]:
        """Yield what one output says."""
        yield from self._doer(item, value)
        claim = self._claim(item, value)
        if claim is None or not self._is_known(claim, item):
            return
        about = self._kind_of_question(claim, item)
        if self.existence == "present":
            yield replace(self._present(claim, item, value), about=about)
        elif claim == "lack":
            is_wrong = value is False and self.existence == "absent"
            yield Finding(about=about, difference=self._says(item, value) if is_wrong else "")
        elif (claim == "list" and value) or _claims(value):
            why = "nothing can judge all of these words" if self.existence == "unjudged" else ""
            flaw: Flaw | None = "other_channel" if self.fact.instead else None
            yield Finding(about=about, difference=self._says(item, value, why), certain=not flaw, flaw=flaw)
        else:
            yield Finding(about=about)

    def _is_known(self, claim: str, item: model.Output) -> bool:
        """Whether the film decides what is claimed; of a moment, and of a part that cuts an occurrence, little is said."""
        probe, fact = self.probe, self.fact
        if (probe.at is not None and claim not in ("presence", "lack")) or (probe.cuts and claim != "seconds"):
            return False
        decided = ("presence", "lack") if self._is_brief(max) else ("presence", "lack", "count", "list")
        if self._is_brief(min) and (claim not in decided or probe.is_bounded):
            return False  # a tool that looks at each segment once may miss it, and its times and counts lack it
        if claim in ("time", "seconds") and len(fact.spans) == 1:
            # One is the longest, the shortest and the average of itself.
            return not _statistic(words_in(item.name) | self.intent.said)
        if claim == "count" and probe.is_bounded and fact.within(probe.bounds) and not self._numbers():
            return False
        return not (claim in ("list", "count", "again") and probe.limits) and not (
            claim == "again" and len(fact.times) > 1
        )

    def _is_brief(self, which: Callable[..., float]) -> bool:
        """Whether all (``max``) or some (``min``) of what is seen is there for a few seconds alone."""
        return self.fact.kind == "looks" and which((span.duration for span in self.fact.spans), default=BRIEF) < BRIEF

    def _kind_of_question(self, claim: str, item: model.Output) -> str:
        """Return the output and what sets the question apart, by which answers are put together."""
        probe, fact, is_present = self.probe, self.fact, self.existence == "present"
        is_elsewhere = is_present and not fact.within(probe.bounds)
        statistic = _statistic(words_in(item.name) | self.intent.said)
        is_choice = probe.ordinal or statistic or self.intent.which(item.name, probe.arguments)
        apart = {
            " once": claim in ("count", "again") and fact.times == frozenset({1}),
            " of several": claim in ("time", "seconds") and is_choice and len(fact.spans) > 1,
            " alike": claim == "seconds" and is_present and fact.things != frozenset({1}),
            " briefly": is_present and self._is_brief(max),
            " cut": probe.cuts,
            " often": claim in ("count", "list") and min(fact.times, default=0) >= _OFTEN,
        }
        kinds = "".join(kind for kind, is_meant in apart.items() if is_meant)
        return f"{item.name} {'elsewhere' if is_elsewhere else self.existence}{kinds}"

    def _says(self, item: model.Output, value: Json, world: str = "") -> str:
        shown = canonical_json(value)[:60]
        return f"asked for {self.fact.text!r} it says {item.name} = {shown}; {world or film_has(self.fact, self.probe)}"

    def _claim(self, item: model.Output, value: Json) -> str | None:
        """Return what an output says of the fact: time, seconds, count, presence or list; None if that is not clear."""
        own, kind = words_in(item.name), types.plain(item.type)
        asked = next((name for name, fact in self.probe.facts.items() if fact is self.fact), "")
        is_named = bool(own & words_in(asked)) or bool(
            (self.probe.is_bounded or self.probe.moment is not None) and own & (_TIMES | PRESENCE | {"start", "end"})
        )
        is_time = is_moment(item.name, item.type)
        is_amount = types.is_numeric(kind) and kind != types.INT and not is_time
        if self._seconds_from(own) and is_amount:
            return "distance"
        if (own | self.intent.said) & ABSENCE and is_amount and own & SECONDS and self.existence == "present":
            return None if self.probe.is_bounded or own & PRESENCE else "absence"
        is_in_part = self.probe.is_bounded and self.intent.said & AROUND <= {"between"}
        is_named = is_named or bool(is_in_part and own & (COUNT | SECONDS))
        around = own & (AROUND - EDGES - (BEFORE | AFTER if self.probe.is_bounded else frozenset()))
        if around or (self.existence == "present" and self.intent.is_about_surroundings and not is_named):
            return None
        if value in _SIDES:
            ends = [bool(own & words) for words in (ARRIVES | {"from"}, LEAVES | {"to"})]
            return "side" if self.fact.sides and ends[0] is not ends[1] else None
        if is_time or is_interval(item.type):
            return "time" if span_of(value) else None
        if kind == types.BOOL and own & _AGAIN and not self.probe.is_bounded:
            return "again" if not own & NEGATIONS else None
        if kind == types.BOOL and own & _LACKING and not own & (PRESENCE - {"ever"}):
            return "lack"
        if kind == types.BOOL:
            return "presence" if own & PRESENCE and not own & NEGATIONS else None
        is_number = own & (COUNT | DISTINCT) or sum(one.type == item.type for one in self.intent.tool.outputs) == 1
        if kind == types.INT and is_number:
            return "count" if self.intent.counts else None
        if types.is_numeric(kind) and not own & COUNT and unit_of(item) in SHARES:
            return None if self.probe.is_bounded or _statistic(own | self.intent.said) else "seconds"
        if types.is_numeric(kind) and own & SECONDS and kind != types.INT:
            return "seconds" if not (self.probe.is_bounded and _statistic(own | self.intent.said)) else None
        return "list" if isinstance(kind, types.ListType) and own & _LISTS else None

    def _present(self, claim: str, item: model.Output, value: Json) -> Finding:
        spans = self.fact.within(self.probe.bounds)
        if claim in ("presence", "again", "lack"):
            known = {"presence": bool(spans), "lack": not spans, "again": len(self.fact.spans) > 1}
            is_right = bool(value) == known[claim]
            return Finding(about="", difference="" if is_right else self._says(item, value))
        if not spans:
            found = Finding(about="", difference=self._says(item, value) if _claims(value) else "")
            return found if claim != "list" else Finding(about="")
        if claim == "time":
            return self._time(item, value, spans)
        if claim == "seconds" and isinstance(value, int | float):
            return self._seconds(item, value, spans)
        if claim == "absence" and isinstance(value, int | float):
            return self._absence(item, value)
        if claim == "count":
            return self._count(item, value)
        if claim == "distance" and isinstance(value, int | float):
            return self._distance(item, value, spans)
        if claim == "side":
            return self._side(item, value)
        if claim == "list" and isinstance(value, list) and not self.probe.is_bounded:
            return self._list(item, value, spans)
        return Finding(about="")

    def _list(self, item: model.Output, value: list[Json], spans: Sequence[TimeSpan]) -> Finding:
        """Return what a list of occurrences says: whether each is one, and whether none is left out."""
        listed = [span for one in value if (span := span_of(one)) is not None]
        wrong = [span for span in listed if not near(span, spans, ROUGH)]
        if wrong:
            return Finding(about="", difference=self._says(item, [wrong[0].start, wrong[0].end]))
        least = min(self.fact.times, default=1)
        is_of_some = bool((self.intent.said | words_in(item.name)) & _SOME) and len(value) > 0
        is_short = not is_of_some and (
            len(value) < least or any(listed and not near(span, listed, 0) for span in spans)
        )
        says = self._says(item, value, f"the film has it {least} times, and {len(value)} are listed")
        return Finding(
            about="",
            difference=says if is_short else "",
            certain=False,
            flaw="short_lists" if value else "finds_nothing",
        )

    def _absence(self, item: model.Output, value: float) -> Finding:
        """Return what seconds say in which a thing is not there: one pause, all of them, or all of the film's other time."""
        pauses = [later.start - earlier.end for earlier, later in pairwise(self.fact.spans)]
        if not pauses or self.fact.things != frozenset({1}):
            return Finding(about="", certain=False)
        ends = [self.fact.spans[0].start, self.probe.duration - self.fact.spans[-1].end]
        values = {"average": sum(pauses) / len(pauses), "longest": max(pauses), "shortest": min(pauses)}
        statistic = _statistic(words_in(item.name) | self.intent.said)
        known = [values[statistic]] if statistic else [*pauses, sum(pauses), self.probe.duration - self.fact.seconds]
        known += [max(*pauses, *ends)] if statistic == "longest" else []
        is_right = any(abs(value / SCALES.get(unit_of(item), 1.0) - one) <= 2 * EXACT for one in known)
        right = " or ".join(f"{one:.1f}" for one in known[:4])
        return Finding(about="", difference="" if is_right else self._says(item, value, f"away it is {right} s"))

    def _side(self, item: model.Output, value: Json) -> Finding:
        """Return what an output says of the side of the picture where a thing comes in or goes out."""
        place = 0 if words_in(item.name) & (ARRIVES | {"from"}) else 1
        which = self.intent.which(item.name, self.probe.arguments)
        sides = {"first": self.fact.sides[:1], "last": self.fact.sides[-1:]}.get(which, self.fact.sides)
        known = {one[place] for one in sides}
        says = self._says(item, value, f"in the film that is {' or '.join(sorted(known))}")
        return Finding(about="", difference="" if value in known or "" in known else says)

    def _seconds_from(self, own: frozenset[str]) -> Literal["next", "rest", ""]:
        """Return whether an output is the seconds from a moment to what comes next, or from a thing's end to that of the film."""
        if own & _REST and not self.probe.is_bounded and self.probe.moment is None:
            return "rest"
        bounds = self.probe.bounds
        is_open = bounds.start > 0 and bounds.end > self.probe.duration
        return "next" if own & UNTIL and own & SECONDS and is_open else ""

    def _distance(self, item: model.Output, value: float, spans: Sequence[TimeSpan]) -> Finding:
        """Return what seconds say that are measured from a moment, or to the end of the film."""
        scale = SCALES.get(unit_of(item), 1.0)
        if self._seconds_from(words_in(item.name)) == "next":
            known = [spans[0].start - self.probe.bounds.start]
        else:
            which = self.intent.which(item.name, self.probe.arguments)
            chosen = {"first": spans[:1], "last": spans[-1:]}.get(which, spans)
            known = [self.probe.duration - edge for span in chosen for edge in (span.start, span.end)]
        is_right = any(abs(value / scale - one) <= ROUGH for one in known)
        right = " or ".join(f"{one:.1f}" for one in known[:4])
        return Finding(about="", difference="" if is_right else self._says(item, value, f"it is {right} s"))

    def _numbers(self) -> frozenset[int]:
        """Return how often a thing may be said to be in the part of the film that is asked about; empty if that is not known."""
        bounds, spans = self.probe.bounds, self.fact.spans
        inside = [span for span in spans if bounds.start <= span.start and span.end <= bounds.end]
        is_cut = len(inside) != len(self.fact.within(bounds))
        is_known = self.fact.times == frozenset({len(spans)}) and not is_cut and bool(inside)
        return frozenset({len(inside)}) if is_known else frozenset()

    def _time(self, item: model.Output, value: Json, spans: Sequence[TimeSpan]) -> Finding:
        given = span_of(value) or TimeSpan(start=0.0, end=0.0)
        which = self.intent.which(item.name, self.probe.arguments)
        if self.probe.is_bounded and not which:
            which = _BESIDE[self.intent.side(self.probe.arguments)]
        around = near(given, spans, ROUGH)
        if not around:
            return Finding(about="", difference=self._says(item, value))
        close = near(given, spans, min(ROUGH, self.fact.gap / 2)) or around
        extreme, place = ("", 0) if which else self._extreme(item, spans)
        if extreme and place is None:
            return Finding(about="", certain=False)
        wanted = {"first": 0, "last": len(spans) - 1}.get(which, place if extreme and place is not None else close[0])
        moment = self.probe.moment
        if self.probe.ordinal:
            wanted, which, extreme = self.probe.ordinal - 1, "", f"number {self.probe.ordinal}"
        if moment is not None:
            wanted = min(range(len(spans)), key=lambda place: abs(spans[place].start - moment))
        if wanted not in close:
            order = f"this is occurrence {close[0] + 1} of {len(spans)}, and it says {which or extreme or 'nearest'}"
            found = Finding(about="", difference=self._says(item, value, f"{film_has(self.fact, self.probe)}: {order}"))
            return replace(found, certain=wanted not in around or close != around)
        span, edge = spans[wanted], self._edge(item)
        # A line has times of its own beside those of the hit.
        has_own_times = self.fact.kind in ("words", "said", "written")
        if given.duration == 0 and edge:
            # Of several things that look alike either one's stay may be meant.
            mine = [span, *(one for one in self.fact.each if one.overlaps(span))]
            start, end = (min(abs(given.start - getattr(one, side)) for one in mine) for side in ("start", "end"))
            own, other = (start, end) if edge == "start" else (end, start)
            if other <= EXACT < own and span.duration > _LONG:
                return Finding(
                    about="",
                    difference=self._says(item, value, f"{film_has(self.fact, self.probe)}: that is the other end"),
                )
            if own > 2 * EXACT:
                flaw: Flaw | None = "rough_times"
                return Finding(about="", difference=self._says(item, value), certain=False, flaw=flaw)
        elif given.duration == 0 and has_own_times and not near(given, [span], 2 * EXACT):
            return Finding(about="", difference=self._says(item, value), certain=False, flaw="rough_times")
        if not which and not extreme and moment is None and len(spans) > 1 and not self._tells_all():
            why = f"it happens {len(spans)} times, and which one this is, is not said"
            return Finding(about="", difference=self._says(item, value, why), certain=False)
        return Finding(about="")

    def _extreme(self, item: model.Output, spans: Sequence[TimeSpan]) -> tuple[str, int | None]:
        """Return "longest" or "shortest", if an output is of that occurrence, and its place; None if that is not clear."""
        kind = _statistic(words_in(item.name)) or _statistic(self.intent.said)
        lengths = sorted(span.duration for span in spans)
        if self.probe.is_bounded or kind not in ("longest", "shortest") or self.fact.times != frozenset({len(spans)}):
            return kind if kind in ("longest", "shortest") else "", None
        pair = lengths[-2:] if kind == "longest" else lengths[:2]
        is_clear = len(pair) == 1 or pair[0] + EXACT < pair[1]
        place = [span.duration for span in spans].index(lengths[-1] if kind == "longest" else lengths[0])
        return kind, place if is_clear else None

    def _edge(self, item: model.Output) -> Edge:
        """Return which end of a span an output is; of what is seen, its name or the tool's may say that it comes or goes."""
        own, said = words_in(item.name), words_in(self.intent.tool.name)
        if self.fact.kind == "looks":
            is_in_view = own & {"seen", "visible"}
            for words in (own, said):
                comes = words & ARRIVES or (words is own and is_in_view and own & FIRST)
                goes = words & LEAVES or (words is own and is_in_view and own & LAST)
                if bool(comes) is not bool(goes):
                    return edge_of(item.name) or ("start" if comes else "end")
        return edge_of(item.name)

    def _tells_all(self) -> bool:
        """Whether another output lists or counts the occurrences."""
        return any(
            (isinstance(types.plain(item.type), types.ListType) and item.name != "evidence")
            or words_in(item.name) & (COUNT | AROUND)
            for item in self.intent.tool.outputs
        )

    def _seconds(self, item: model.Output, value: float, spans: Sequence[TimeSpan]) -> Finding:
        unit, total = unit_of(item), sum(span.duration for span in spans)
        shares = {name: whole / self.probe.duration for name, whole in SHARES.items()}
        scales = shares if unit in shares else SCALES
        is_total = bool((self.intent.said | words_in(item.name)) & TOTAL) or unit in shares
        each, lengths = [span.duration for span in spans], [span.duration for span in self.fact.each]
        values = {"average": total / len(each), "longest": max(each), "shortest": min(each)}
        statistic = _statistic(words_in(item.name)) or ("" if is_total else _statistic(self.intent.said))
        right = [total] if is_total else [total, *each]
        if statistic:  # of several things that overlap, either one's stay or the time without a break may be meant
            alone = {"average": sum(lengths) / len(lengths), "longest": max(lengths), "shortest": min(lengths)}
            right = [values[statistic], alone[statistic]]
        seconds = value / scales[unit]
        doubled = sum(span.duration for span in self.fact.each)
        is_double = abs(seconds - doubled) <= EXACT < doubled - total and abs(seconds - total) > EXACT
        if any(abs(seconds - one) <= max(2 * EXACT, OFF * one) for one in right) and not is_double:
            return Finding(about="")
        meant = [name for name, scale in scales.items() if abs(value / scale - total) <= _CLOSE * total]
        # Of several things that look alike one may be meant.
        is_one = self.fact.things == frozenset({1})
        more = f": that is {meant[0]}, and not {unit}" if meant else "" if is_one else ", of several that look so"
        more = ": the time in which several of them are there at once counts twice" if is_double else more
        says = self._says(
            item, value, f"{values[statistic]:.1f} s {statistic}" if statistic else f"{total:.1f} s in all{more}"
        )
        flaw: Flaw = "one_of_several" if not is_one and is_total and seconds < total else "other_amount"
        is_certain = (
            is_double
            or bool(meant)
            or (is_one and unit not in shares and (is_total or self.probe.cuts or bool(statistic) or seconds < EXACT))
        )
        return Finding(
            about="",
            difference=says,
            certain=is_certain,
            flaw=None if meant or (not is_one and flaw == "other_amount") else flaw,
        )

    def _doer(self, item: model.Output, value: Json) -> Iterator[Finding]:
        """Yield whether an output of the looks of the one who does something names this one, and not only others."""
        is_meant = self._names_doer(item)
        is_meant = is_meant and bool(words_in(item.name) & ROLES["looks"]) and not words_in(item.name) & AROUND
        if (
            item.name.endswith("entity_id")
            and self.fact.doers
            and self.existence == "present"
            and isinstance(value, str)
        ):
            yield self._doer_id(item, value)
        looks = [one for one in self.probe.looks if isinstance(value, str) and one in value]
        if is_meant and looks and self.existence == "present" and self.fact.kind == "deed" and self.fact.who:
            says = self._says(item, value, f"it is done by {self.fact.who!r}")
            is_right = self.fact.who in looks
            yield Finding(
                about=f"{item.name} doer", difference="" if is_right else says, certain=False, flaw="other_person"
            )

    def _names_doer(self, item: model.Output) -> bool:
        """Whether an output, as far as the tool says, may be the one who does what is asked for."""
        return bool(_DOER.search(f"{self.intent.promise} {item.description}") or self.intent.said & _WHO)

    def _doer_id(self, item: model.Output, value: str) -> Finding:
        """Return whether an entity is one of those who do it: of the occurrence that is meant, if that is said."""
        which = self.intent.which(item.name, self.probe.arguments)
        within = [self.fact.doers[place] for place in near(self.probe.bounds, self.fact.spans, 0)]
        known = {"first": within[:1], "last": within[-1:]}.get(which, within)
        others = bool(words_in(item.name) & AROUND)
        says = (
            ""
            if value in known or not known or others
            else self._says(item, value, f"it is done by {', '.join(known)}")
        )
        return Finding(about=f"{item.name} doer", difference=says, certain=self._names_doer(item), flaw="other_person")

    def _count(self, item: model.Output, value: Json) -> Finding:
        said = self.intent.said | words_in(item.name)
        known = (
            self._numbers()
            if self.probe.is_bounded
            else self.fact.things
            if said & DISTINCT
            else self.fact.times
            if said & REPEATED
            else self.fact.things | self.fact.times
        )
        if not known or value in known:
            return Finding(about="")
        right = " or ".join(map(str, sorted(known)))
        is_cut = min(known) >= _OFTEN and isinstance(value, int) and value < min(known)
        says = self._says(item, value, f"{film_has(self.fact, self.probe)}: {right}")
        return Finding(about="", difference=says, certain=not is_cut, flaw="short_lists" if is_cut else None)


def _sides(intent: Intent, fact: Fact, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether what is cited, and the span that is given, are on the side of an event that the tool says it is about."""
    side, event = intent.side(probe.arguments), fact.spans[0]
    before = [piece for piece in run.cited if piece.end <= event.start + EXACT]
    after = [piece for piece in run.cited if piece.start >= event.end - EXACT]
    right, wrong = (after, before) if side == "after" else (before, after)
    # The hit itself may be a segment that is next to the event.
    wrong = [piece for piece in wrong if not near(piece, [event], EXACT) or piece.duration > ROUGH]
    if side and (right or wrong):
        cited = ", ".join(f"{piece.start:.1f} to {piece.end:.1f} s" for piece in wrong[:3])
        says = f"asked what comes {side} {fact.text!r} it cites only {cited}; {film_has(fact, probe)}"
        yield Finding(about=f"side {side}", difference="" if right else says)
    far = {"before": "end", "after": "start"}.get(side)
    for item in intent.tool.outputs if far else ():
        value = run.outputs.get(item.name)
        is_far_end = is_moment(item.name, item.type) and words_in(item.name) & PLACES and edge_of(item.name) == far
        if is_far_end and isinstance(value, int | float):
            is_right = value <= event.end + EXACT if side == "before" else value >= event.start - EXACT
            says = f"asked what comes {side} {fact.text!r} it says {item.name} = {value:g}; {film_has(fact, probe)}"
            yield Finding(about=f"{item.name} {side}", difference="" if is_right else says)


def _wrong_side(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether times are on the side of a bound, and the lines of texts on that of an event, that a tool is about."""
    side, event = intent.side(probe.arguments), next(iter(probe.each), None)
    for item, value in own_outputs(intent.tool, run) if side else ():
        own, says = words_in(item.name), ""
        if bool(own & BEFORE) is not bool(own & AFTER):  # the output's own side is the one that is meant
            side = "before" if own & BEFORE else "after"
        edge = {"before": probe.bounds.end, "after": probe.bounds.start}[side]
        if is_moment(item.name, item.type) and isinstance(value, int | float):
            if not probe.cuts or edge_of(item.name) == "end":
                continue
            is_wrong = value > edge + EXACT if side == "before" else value < edge - EXACT
            says = f"asked what comes {side} {edge:g} s it says {item.name} = {value:g}" if is_wrong else ""
        elif isinstance(value, str) and event is not None and event.kind == "deed" and len(event.spans) == 1:
            lines = [fact for fact in probe.film if fact.kind == "words" and fact.text in value]
            (span,) = event.spans
            beyond = [
                fact.text
                for fact in lines
                if all(one.start >= span.end if side == "before" else one.end <= span.start for one in fact.spans)
            ]
            if not lines or not own & (BEFORE | AFTER | PLACES):
                continue
            other = "after" if side == "before" else "before"
            says = (
                f"asked what comes {side} {event.text!r}, {item.name} has {beyond[0]!r}, which is {other} it"
                if beyond
                else ""
            )
        else:
            continue
        yield Finding(about=f"{item.name} side", difference=says, certain=False, flaw="wrong_side")


def outside(intent: Intent, probe: Probe, run: TrialRun, *, is_between: bool = False) -> Iterator[Finding]:
    """Yield whether all items of a list are in the part of the film that is asked about, as far as both ends are given."""
    bounds = probe.bounds
    around = AROUND - BEFORE - AFTER if intent.side(probe.arguments) else AROUND
    is_open = bounds.end > probe.duration or probe.at is not None
    if is_open or (intent.said & around and not is_between):
        return
    for item in intent.tool.outputs:
        value, is_of_elsewhere = run.outputs.get(item.name), bool(intent.said & NEGATIONS)
        listed = value if isinstance(value, list) and not (is_of_elsewhere and is_evidence(item)) else []
        spans = [span for one in listed if (span := span_of(one)) is not None]
        out = [one for one in spans if not near(one, [bounds], EXACT if one.duration < EXACT else ROUGH)]
        if is_evidence(item) and len(out) < len(spans):  # some may show who is meant
            out = []
        if spans:
            says = (
                (
                    f"asked about {bounds.start:.1f} to {bounds.end:.1f} s it lists {len(out)} of {len(spans)} {item.name} outside of "
                    f"it, such as {out[0].start:.1f} to {out[0].end:.1f} s"
                )
                if out
                else ""
            )
            yield Finding(about=f"{item.name} outside", difference=says)


def _statistic(words: frozenset[str]) -> str:
    """Return which number of several a name means: average, longest or shortest; empty for the whole, or if it says several."""
    found = [name for name, known in _STATISTIC_WORDS.items() if words & known]
    return found[0] if len(found) == 1 else ""


def unit_of(item: model.Output, *, by_name: bool = False) -> str:
    """Return the unit of a number, by its name, else its description: a share, percent, or a unit of time.

    ``by_name``: empty if the name does not say it.
    """
    for text in (item.name,) if by_name else (item.name, item.description):
        own = words_in(text.replace("%", " percent "))
        for unit, words in _UNITS.items():
            if own & words:
                return unit
    return "" if by_name else "seconds"


def span_of(value: Json) -> TimeSpan | None:
    """Return a time, or a record with times, as an interval (seconds)."""
    if isinstance(value, dict):
        start, end = value.get("start_time"), value.get("end_time")
        if isinstance(start, int | float) and isinstance(end, int | float) and 0 <= start <= end:
            return TimeSpan(start=float(start), end=float(end))
        return None
    return TimeSpan(start=float(value), end=float(value)) if isinstance(value, int | float) and value >= 0 else None


def _claims(value: Json) -> bool:
    """Whether a value says that something is there: a time, a number above 0, yes."""
    return isinstance(value, dict) or (isinstance(value, int | float) and value is not False and value != 0)


def near(given: TimeSpan, spans: Sequence[TimeSpan], rough: float) -> list[int]:
    """Return the places of the spans that are at most ``rough`` seconds from a time or an interval."""
    return [
        place for place, span in enumerate(spans) if span.start - rough <= given.end and given.start <= span.end + rough
    ]


def judged(findings: Sequence[Finding]) -> tuple[list[str], list[tuple[Flaw | None, str]]]:
    """Return what an answer contradicts for certain, and what is only to be noted, each with one example.

    Certain is what more than half of the answers of one kind that can be certain say wrongly, and at least two of them.
    What is to be noted has the name of its flaw, if it has one.
    """
    groups: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.about].append(finding)
    certain, noted = list[str](), list[tuple[Flaw | None, str]]()
    for about, found in groups.items():
        differing = [finding for finding in found if finding.difference]
        wrong = [finding for finding in differing if finding.certain]
        named = [finding for finding in differing if finding.flaw]
        if len(wrong) >= _AT_LEAST and 2 * len(wrong) > sum(finding.certain for finding in found):
            certain.append(f"{wrong[0].difference} ({len(wrong)} of {len(found)} answers)")
        elif len(named) >= (
            max(_NONE_OF, len(found)) if about.startswith("finds") else max(_AT_LEAST, _SHARE_NAMED * len(found))
        ):
            noted.append((named[0].flaw, f"{named[0].difference} ({len(named)} of {len(found)} answers)"))
        elif not about.endswith("outside") and len(wrong) >= max(
            _AT_LEAST, _SHARE_NAMED * sum(finding.certain for finding in found)
        ):  # evidence from outside of the part may show who is meant
            noted.append(("partly_wrong", f"{wrong[0].difference} ({len(wrong)} of {len(found)} answers)"))
        elif wrong or (
            len(differing) >= _AT_LEAST
            and (about.split(" ", 1)[0] not in _IN_GENERAL or 2 * len(differing) > len(found))
        ):
            noted.append((None, f"{differing[0].difference} ({len(differing)} of {len(found)} answers)"))
    return certain, noted

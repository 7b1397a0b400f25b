"""Probes: runs of a tool on worlds of which facts are known, and what its answers contradict of these facts.

A tool is asked about what is there, what is absent, and what cannot be judged. What it answers is compared with the
world only as far as its names and its description say what it means (``intents``), and only if it ended as ``ok``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from typing import TYPE_CHECKING, Any

from tool_induction.admission.arguments import bound_of, is_moment
from tool_induction.admission.facts import Existence, Fact
from tool_induction.admission.intents import (
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
    SECONDS,
    Edge,
    Intent,
    Role,
    edge_of,
    words_in,
)
from tool_induction.admission.schema_world import VIDEO
from tool_induction.admission.weaknesses import Flaw
from tool_induction.language import model, types
from tool_induction.language.evaluation import Json
from world_api.core.canonical import canonical_json
from world_api.core.spans import TimeSpan

if TYPE_CHECKING:
    from tool_induction.admission.trials import TrialRun

#: Facts that a tool with one input is asked about, by existence.
_ASKED: Mapping[Existence, int] = {"present": 5, "absent": 2, "unjudged": 2}
_AT_LEAST = 2  #: wrong answers that refuse a tool
_APART = 3  #: things that two inputs are asked about in turn
_AMOUNTS: Mapping[types.Type, Any] = {types.INT: 10, types.FLOAT: 20.0, types.NUMBER: 20.0, types.BOOL: True}
_SHARE_NAMED = 0.2  #: of the answers of one kind, which must show a flaw before it is named
_IN_GENERAL = ("decided", "finds")  #: findings about all answers of a tool, which count only if most differ
_THINGS = frozenset("thing things object objects item items something 东西 物体".split())
_PEOPLE = frozenset("people persons person 人".split())
_TIMES = frozenset({"time", "moment"})
_TOTAL = frozenset("total altogether sum all together 总共".split())
_WHICH = FIRST | LAST | BEFORE | AFTER
_LISTS = frozenset("times appearances occurrences spans intervals visits".split())
_NEGATIONS = frozenset("not never no missing absent without".split())
_ORDER_WORDS = FIRST | {"before", "order", "ordered", "earlier", "precedes", "sequence", "sorted", "after", "later"}
_WHOLE = TimeSpan(start=0.0, end=1e7)
_EXACT = 1.0  #: seconds by which a time may be off
_ROUGH = 10.0  #: as long as a segment may be: a time that is farther off is not the thing's
_LONG = 4.0  #: a span must be this long for its ends to be distinguished
_SHARE_OFF = 0.25  #: of a duration


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What a tool is asked on a world with known facts.

    ``facts``: the fact of each input that has one, or a list of facts; ``bounds``: the interval that it is asked about.
    """

    arguments: Mapping[str, Any]
    facts: Mapping[str, Fact | tuple[Fact, ...]] = field(default_factory=dict)
    bounds: TimeSpan = _WHOLE

    @property
    def is_bounded(self) -> bool:
        """Whether it is about a part of the film."""
        return self.bounds != _WHOLE

    @property
    def each(self) -> list[Fact]:
        """All facts that it is about, apart from kinds of things."""
        given = (fact if isinstance(fact, tuple) else (fact,) for fact in self.facts.values())
        found = [fact for facts in given for fact in facts]
        return [fact for fact in found if fact.kind != "category"] or found


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


def probes_for(
    tool: model.Tool, roles: Mapping[str, Role], facts: Sequence[Fact], *, video_id: str, duration: float
) -> Iterator[Probe]:
    """Yield the probes of a tool on a world with these facts; none if the role of a required text is not known.

    Inputs that are not required keep their defaults, but for kinds of things, enumerated words and bounds of time.
    """
    usual: dict[str, Any] = {VIDEO: video_id}
    texts: list[str] = []
    for item in tool.inputs:
        kind, bound = types.plain(item.type), bound_of(item.name, item.type)
        if not item.required or item.name == VIDEO:
            continue
        if isinstance(kind, types.EnumType):
            usual[item.name] = kind.values[0]
        elif bound:
            usual[item.name] = 0.0 if bound == "lower" else duration
        elif is_moment(item.name, item.type) or (kind not in _AMOUNTS and item.name not in roles):
            return
        elif kind in _AMOUNTS:
            usual[item.name] = _AMOUNTS[kind]
        else:
            texts.append(item.name)
    # A kind of thing is that of the fact that another text is about.
    texts = [name for name in texts if roles[name] != "category"] or texts
    for chosen in _chosen(tool, texts, roles, facts):
        given = usual | {
            name: [one.text for one in fact] if isinstance(fact, tuple) else fact.text
            for name, fact in chosen.items()
            if name
        }
        about = next((fact for fact in chosen.values() if isinstance(fact, Fact)), None)
        if about is not None:
            kinds = (
                item.name for item in tool.inputs if roles.get(item.name) == "category" and item.name not in chosen
            )
            given |= dict.fromkeys(kinds, about.category)
        probe = Probe(arguments=given, facts=chosen)
        yield from _with_each_word(tool, probe)
        if about is not None and len(chosen) == 1 and about.spans:
            yield from _bounded(tool, probe, about, duration)


def _with_each_word(tool: model.Tool, probe: Probe) -> Iterator[Probe]:
    """Yield the probe as it is, and with every other value of each input whose values say which occurrence or side is meant."""
    yield probe
    for item in tool.inputs:
        kind = types.plain(item.type)
        values = kind.values if isinstance(kind, types.EnumType) else ()
        for value in values if words_in(" ".join(values)) & _WHICH else ():
            default = None if item.default is None else item.default.value
            if value != probe.arguments.get(item.name, default):
                yield replace(probe, arguments={**probe.arguments, item.name: value})


def _bounded(tool: model.Tool, probe: Probe, about: Fact, duration: float) -> Iterator[Probe]:
    """Yield the probe for parts of the film, if the tool has inputs for bounds of time.

    They are the time after the first occurrence, or before the last, and a part that has none.
    """
    ends = [0.0, *(edge for span in about.spans for edge in (span.start, span.end)), duration]
    for item in tool.inputs:
        bound = bound_of(item.name, item.type)
        places = {"lower": (1, len(about.spans)), "upper": (len(about.spans) - 1, 0)}.get(bound, ())
        for place in dict.fromkeys(places):
            start, end = ends[2 * place], ends[2 * place + 1]
            if start + 2 * _EXACT < end:
                gap = round((start + end) / 2, 1)
                bounds = replace(probe.bounds, **{"start" if bound == "lower" else "end": gap})
                yield replace(probe, arguments={**probe.arguments, item.name: gap}, bounds=bounds)


def _chosen(
    tool: model.Tool, texts: Sequence[str], roles: Mapping[str, Role], facts: Sequence[Fact]
) -> Iterator[dict[str, Fact | tuple[Fact, ...]]]:
    """Yield facts for the inputs ``texts``: of one, of two of the same role, of a list, or of looks and a deed."""
    kinds, said = [roles[name] for name in texts], Intent(tool=tool).said
    if said & _PEOPLE and not said & _THINGS and "category" not in roles.values():
        facts = [fact for fact in facts if fact.category == "person"]
    lists = {item.name for item in tool.inputs if isinstance(types.plain(item.type), types.ListType)} & {*texts}
    if not texts:
        people = next((fact for fact in facts if fact.kind == "category" and fact.category == "person"), None)
        if people is not None and said & _PEOPLE:
            yield {"": people}
    elif len(texts) == 1 and not lists:
        for existence, most in _ASKED.items():
            for fact in _some(facts, kinds[0], existence, most):
                yield {texts[0]: fact}
    elif len(texts) == 2 and {*kinds} == {"looks"} and not lists:
        apart = _never_together(_some(facts, "looks", "present", len(facts)))
        for pair in permutations([*apart, *_some(facts, "looks", "absent", 1)], 2):
            yield dict(zip(texts, pair, strict=True))
    elif len(texts) == 1 or (len(texts) == 2 and kinds[0] == kinds[1] and not lists):
        once = _once(_some(facts, kinds[0], "present", len(facts)))
        # The first shares its words with what is there, the last shares none.
        absent = _some(facts, kinds[0], "absent", len(facts))
        absent = list(dict.fromkeys((*absent[:1], *absent[-1:])))
        number = 3 if lists else 2
        groups = [once[:number][::-1], once[:number]]
        groups += [group for one in absent for group in ([*once[: number - 1], one], [one, *once[: number - 1]])]
        for group in (tuple(group) for group in groups if len(group) == number):
            yield {texts[0]: group} if lists else dict(zip(texts, group, strict=True))
    elif len(texts) == 2 and {*kinds} == {"looks", "deed"} and not lists:
        looks, deed = sorted(texts, key=lambda name: roles[name] != "looks")
        for done, who in _doings(facts, is_done=not Intent(tool=tool).is_about_surroundings):
            yield {deed: done, looks: who}


def _doings(facts: Sequence[Fact], *, is_done: bool) -> Iterator[tuple[Fact, Fact]]:
    """Yield deeds with looks: of the one who does it; of another one, where the deed is absent or ``is_done`` by others."""
    who = {fact.text: fact for fact in facts if fact.kind == "looks"}
    done = [fact for fact in _some(facts, "deed", "present", len(facts)) if fact.who in who][: _ASKED["present"]]
    for fact in done:
        yield fact, who[fact.who]
    for fact in _some(facts, "deed", "absent", _ASKED["absent"]) if done else ():
        yield fact, who[done[0].who]
    for fact in done if is_done else ():
        others = (one for one in who.values() if all(_are_apart(a, b) for a in one.spans for b in fact.spans))
        for other in islice(others, 1):
            yield fact.not_done_by(other.text), other


def _never_together(facts: Sequence[Fact]) -> list[Fact]:
    """Return at most three facts of which no two are near each other in time."""
    found: list[Fact] = []
    for start in range(len(facts)):
        apart: list[Fact] = []
        for fact in facts[start:]:
            if len(apart) < _APART and all(_are_apart(a, b) for one in apart for a in one.spans for b in fact.spans):
                apart.append(fact)
        found = max(found, apart, key=len)
    return found


def _once(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts that happen once, each so far from the others that none is taken for another."""
    found: list[Fact] = []
    for fact in facts:
        if len(fact.spans) == 1 and all(_are_apart(fact.spans[0], other.spans[0]) for other in found):
            found.append(fact)
    return found


def _are_apart(one: TimeSpan, other: TimeSpan) -> bool:
    return one.start >= other.end + 2 * _ROUGH or other.start >= one.end + 2 * _ROUGH


def _some(facts: Sequence[Fact], kind: Role, existence: str, most: int) -> list[Fact]:
    """Return facts of a kind and existence: first those with several occurrences that can be distinguished, then others."""
    found = [fact for fact in facts if (fact.kind, fact.existence) == (kind, existence)]
    return sorted(found, key=lambda fact: (len(fact.spans) < 2 or fact.gap < 2 * _ROUGH, -len(fact.spans)))[:most]


# --- what an answer says --------------------------------------------------------------------------------------------


def findings_of(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield what the run of a probe says of the facts, output by output."""
    facts = probe.each
    if run.status == "ok":
        yield Finding(about="decided")
    standings = {fact.existence for fact in facts}
    existence = "unjudged" if "unjudged" in standings else "absent" if "absent" in standings else "present"
    is_of_several_looks = len(facts) > 1 and {fact.kind for fact in facts} == {"looks"}
    if is_of_several_looks and run.status in ("ok", "partial") and not run.failed_calls:
        yield from _cites_each(probe, run)
    if run.status != "ok" or is_of_several_looks:
        yield from _undecided(run, facts, probe, existence)
        return
    outputs = [(item, run.outputs.get(item.name)) for item in intent.tool.outputs if item.source is not None]
    outputs = [(item, value) for item, value in outputs if value not in (None, "", [], {})]
    deed = next((fact for fact in facts if fact.kind == "deed"), facts[0])
    if len(facts) > 1 and len({fact.kind for fact in facts}) == 1:
        yield from _related(probe, outputs, existence)
    else:
        if deed.kind == "deed" and len(deed.spans) == 1:
            yield from _sides(intent, deed, probe, run)
        judged = _Answer(intent=intent, probe=probe, fact=deed, existence=existence)
        for item, value in outputs:
            yield from judged.findings(item, value)


def _undecided(run: TrialRun, facts: Sequence[Fact], probe: Probe, existence: str) -> Iterator[Finding]:
    texts = ", ".join(repr(fact.text) for fact in facts)
    if run.status == "partial" and existence != "unjudged" and not run.failed_calls:
        yield Finding(
            about="decided",
            difference=f"asked for {texts} it cannot tell, although the world decides it",
            certain=False,
        )
    elif run.status == "empty" and existence == "present" and all(fact.within(probe.bounds) for fact in facts):
        yield Finding(
            about="finds", difference=f"asked for {texts} it finds nothing: {_world(facts[0], probe)}", certain=False
        )
    elif run.status == "empty":
        yield Finding(about="finds")


def _world(fact: Fact, probe: Probe) -> str:
    """Return what the world holds of a fact, in words."""
    if fact.existence == "absent":
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
        claim = self._claim(item, value)
        if claim is None:
            return
        is_elsewhere = self.existence == "present" and not self.fact.within(self.probe.bounds)
        about = f"{item.name} {'elsewhere' if is_elsewhere else self.existence}"
        if claim == "count" and self.probe.is_bounded and self.fact.within(self.probe.bounds):
            return  # how often it is there in a part of the film is not known
        if self.existence == "present":
            yield replace(self._present(claim, item, value), about=about)
        elif claim == "list" or _claims(value):
            why = "nothing can judge all of these words" if self.existence == "unjudged" else ""
            yield Finding(about=about, difference=self._says(item, value, why))
        else:
            yield Finding(about=about)

    def _says(self, item: model.Output, value: Json, world: str = "") -> str:
        shown = canonical_json(value)[:60]
        return f"asked for {self.fact.text!r} it says {item.name} = {shown}; {world or _world(self.fact, self.probe)}"

    def _claim(self, item: model.Output, value: Json) -> str | None:
        """Return what an output says of the fact: time, seconds, count, presence or list; None if that is not clear."""
        own, kind = words_in(item.name), types.plain(item.type)
        asked = next((name for name, fact in self.probe.facts.items() if fact is self.fact), "")
        is_named = bool(own & words_in(asked)) or bool(
            self.probe.is_bounded and own & (_TIMES | PRESENCE | {"start", "end"})
        )
        around = own & (AROUND - EDGES - (BEFORE | AFTER if self.probe.is_bounded else frozenset()))
        if around or (self.existence == "present" and self.intent.is_about_surroundings and not is_named):
            return None
        if is_moment(item.name, item.type) or (isinstance(kind, types.RecordType) and kind.name == types.INTERVAL.name):
            return "time" if _span_of(value) else None
        if kind == types.BOOL:
            return "presence" if own & PRESENCE and not own & _NEGATIONS else None
        if kind == types.INT and own & (COUNT | DISTINCT):
            return "count" if self.intent.counts else None
        if types.is_numeric(kind) and own & SECONDS and kind != types.INT:
            return "seconds"
        return "list" if isinstance(kind, types.ListType) and own & _LISTS else None

    def _present(self, claim: str, item: model.Output, value: Json) -> Finding:
        spans = self.fact.within(self.probe.bounds)
        if claim == "presence":
            is_right = bool(value) == bool(spans)
            return Finding(about="", difference="" if is_right else self._says(item, value))
        if not spans:
            found = Finding(about="", difference=self._says(item, value) if _claims(value) else "")
            return found if claim != "list" else Finding(about="")
        if claim == "time":
            return self._time(item, value, spans)
        if claim == "seconds" and isinstance(value, int | float):
            return self._seconds(item, value, spans)
        if claim == "count":
            return self._count(item, value)
        return Finding(about="")

    def _time(self, item: model.Output, value: Json, spans: Sequence[TimeSpan]) -> Finding:
        given = _span_of(value) or TimeSpan(start=0.0, end=0.0)
        which = self.intent.which(item.name, self.probe.arguments)
        if self.probe.is_bounded and not which:
            which = (
                "first"
                if self.intent.said & {"next", "after"}
                else "last"
                if self.intent.said & {"previous", "before"}
                else ""
            )
        near = _near(given, spans, _ROUGH)
        if not near:
            return Finding(about="", difference=self._says(item, value))
        close = _near(given, spans, min(_ROUGH, self.fact.gap / 2)) or near
        wanted = {"first": 0, "last": len(spans) - 1}.get(which, close[0])
        if wanted not in close:
            order = f"this is occurrence {close[0] + 1} of {len(spans)}, and it says {which}"
            found = Finding(about="", difference=self._says(item, value, f"{_world(self.fact, self.probe)}: {order}"))
            return replace(found, certain=wanted not in near or close != near)
        span, edge = spans[wanted], self._edge(item)
        has_own_times = self.fact.kind == "words"  # a line has times of its own beside those of the hit
        if given.duration == 0 and edge:
            start, end = abs(given.start - span.start), abs(given.end - span.end)
            own, other = (start, end) if edge == "start" else (end, start)
            if other <= _EXACT < own and span.duration > _LONG:
                return Finding(
                    about="",
                    difference=self._says(item, value, f"{_world(self.fact, self.probe)}: that is the other end"),
                )
            if own > 2 * _EXACT:
                flaw: Flaw | None = "rough_times" if has_own_times else None
                return Finding(about="", difference=self._says(item, value), certain=False, flaw=flaw)
        elif given.duration == 0 and has_own_times and not _near(given, [span], 2 * _EXACT):
            return Finding(about="", difference=self._says(item, value), certain=False, flaw="rough_times")
        if not which and len(spans) > 1 and not self._tells_all():
            why = f"it happens {len(spans)} times, and which one this is, is not said"
            return Finding(about="", difference=self._says(item, value, why), certain=False)
        return Finding(about="")

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
        total = sum(span.duration for span in spans)
        is_total = bool((self.intent.said | words_in(item.name)) & _TOTAL)
        right = [total] if is_total else [total, *(span.duration for span in spans)]
        if any(abs(value - one) <= max(2 * _EXACT, _SHARE_OFF * one) for one in right):
            return Finding(about="")
        # Of several things that look alike one may be meant.
        is_one = self.fact.things == frozenset({1})
        says = self._says(item, value, f"{total:.1f} s in all" + ("" if is_one else ", of several that look so"))
        flaw: Flaw | None = "one_of_several" if not is_one and is_total and value < total else None
        return Finding(about="", difference=says, certain=is_one and (is_total or value < _EXACT), flaw=flaw)

    def _count(self, item: model.Output, value: Json) -> Finding:
        said = self.intent.said | words_in(item.name)
        known = (
            self.fact.things
            if said & DISTINCT
            else self.fact.times
            if said & REPEATED
            else self.fact.things | self.fact.times
        )
        if not known or value in known:
            return Finding(about="")
        right = " or ".join(map(str, sorted(known)))
        return Finding(about="", difference=self._says(item, value, f"{_world(self.fact, self.probe)}: {right}"))


def _sides(intent: Intent, fact: Fact, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether what is cited, and the span that is given, are on the side of an event that the tool says it is about."""
    side, event = intent.side(probe.arguments), fact.spans[0]
    before = [piece for piece in run.cited if piece.end <= event.start + _EXACT]
    after = [piece for piece in run.cited if piece.start >= event.end - _EXACT]
    right, wrong = (after, before) if side == "after" else (before, after)
    # The hit itself may be a segment that is next to the event.
    wrong = [piece for piece in wrong if not _near(piece, [event], _EXACT) or piece.duration > _ROUGH]
    if side and (right or wrong):
        cited = ", ".join(f"{piece.start:.1f} to {piece.end:.1f} s" for piece in wrong[:3])
        says = f"asked what comes {side} {fact.text!r} it cites only {cited}; {_world(fact, probe)}"
        yield Finding(about=f"side {side}", difference="" if right else says)
    far = {"before": "end", "after": "start"}.get(side)
    for item in intent.tool.outputs if far else ():
        value = run.outputs.get(item.name)
        is_far_end = is_moment(item.name, item.type) and words_in(item.name) & PLACES and edge_of(item.name) == far
        if is_far_end and isinstance(value, int | float):
            is_right = value <= event.end + _EXACT if side == "before" else value >= event.start - _EXACT
            says = f"asked what comes {side} {fact.text!r} it says {item.name} = {value:g}; {_world(fact, probe)}"
            yield Finding(about=f"{item.name} {side}", difference="" if is_right else says)


def _cites_each(probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether something is cited of each of several things that are there, never together."""
    for place, fact in enumerate(probe.each):
        if fact.spans and run.cited:
            is_cited = any(_near(piece, fact.spans, 0) for piece in run.cited)
            asked = " and ".join(repr(one.text) for one in probe.each)
            says = f"asked for {asked} it cites nothing of {fact.text!r}; {_world(fact, probe)}"
            yield Finding(
                about=f"thing {place}", difference="" if is_cited else says, certain=False, flaw="one_left_out"
            )


def _related(probe: Probe, outputs: Sequence[tuple[model.Output, Json]], existence: str) -> Iterator[Finding]:
    """Yield what the outputs say of the order of several facts, each of which happens once."""
    facts = probe.each
    present = sorted((fact for fact in facts if fact.spans), key=lambda fact: fact.spans[0].start)
    absent = [fact for fact in facts if not fact.spans]
    shown = ", ".join(f"{fact.text!r} {_world(fact, probe)}" for fact in (*present, *absent))
    of_inputs = frozenset[str]().union(*map(words_in, probe.facts))
    for item, value in outputs:
        own, kind = words_in(item.name), types.plain(item.type)
        right: bool | None = None
        if kind == types.BOOL and own & _ORDER_WORDS and len(facts) == 2:
            in_order = not absent and present[0] is facts[0]
            right = not absent and value is (
                in_order if not own & {"after", "later", "other", "second"} else not in_order
            )
        elif own & ((_ORDER_WORDS | LAST) - of_inputs) and (text := _text_of(value)):
            places = sorted((text.find(fact.text), fact.text) for fact in facts if fact.text in text)
            if len(places) == 1 and len(facts) == 2:
                wanted = present[-1] if own & (LAST | {"later", "second"}) else present[0]
                right = not absent and places[0][1] == wanted.text
            elif len(places) == len(present) and not absent:
                right = [name for _, name in places] == [fact.text for fact in present]
        if right is not None:
            says = f"asked for {len(facts)} events it says {item.name} = {canonical_json(value)[:60]}; {shown}"
            yield Finding(about=f"{item.name} {existence}", difference="" if right else says)


def _text_of(value: Json) -> str:
    """Return a text, or the texts of a list one after the other; empty for anything else."""
    if isinstance(value, list):
        return "; ".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""


def _span_of(value: Json) -> TimeSpan | None:
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


def _near(given: TimeSpan, spans: Sequence[TimeSpan], rough: float) -> list[int]:
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
        elif len(named) >= max(_AT_LEAST, _SHARE_NAMED * len(found)):
            noted.append((named[0].flaw, f"{named[0].difference} ({len(named)} of {len(found)} answers)"))
        elif wrong or (len(differing) >= _AT_LEAST and (about not in _IN_GENERAL or 2 * len(differing) > len(found))):
            noted.append((None, f"{differing[0].difference} ({len(differing)} of {len(found)} answers)"))
    return certain, noted

"""Probes: what a tool is asked on worlds of which facts are known: what is there, what is absent, what cannot be judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from typing import Any, Literal

from tool_induction.admission.arguments import bound_of, is_interval, is_moment
from tool_induction.admission.facts import Existence, Fact
from tool_induction.admission.intents import (
    AFTER,
    BEFORE,
    FIRST,
    LAST,
    LEAST,
    NEAREST,
    SECONDS,
    TOGETHER,
    Intent,
    Role,
    words_in,
)
from tool_induction.admission.schema_world import VIDEO
from tool_induction.language import model, types
from world_api.core.spans import TimeSpan

#: Facts that a tool with one input is asked about, by existence.
_ASKED: Mapping[Existence, int] = {"present": 7, "absent": 2, "unjudged": 2}
_APART = 3  #: things that two inputs are asked about in turn
_AMOUNTS: Mapping[types.Type, Any] = {types.INT: 10, types.FLOAT: 20.0, types.NUMBER: 20.0, types.BOOL: True}
_EACH_WAY = 3  #: words that are only said, or only written
_THINGS = frozenset("thing things object objects item items something 东西 物体".split())
_PEOPLE = frozenset("people persons person 人".split())
_WHICH = FIRST | LAST | BEFORE | AFTER
_MOMENTS = 4  #: of a film, about which is asked
_PARTS = ((0.1, 0.3), (0.55, 0.9), (0.3, 0.55))  #: of a film
_Choice = dict[str, Fact | tuple[Fact, ...]]  #: the facts of inputs
_WHOLE = TimeSpan(start=0.0, end=1e7)
EXACT = 1.0  #: seconds by which a time may be off
ROUGH = 10.0  #: as long as a segment may be: a time that is farther off is not the thing's


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What a tool is asked on a world with known facts.

    ``facts``: the fact of each input that has one, or a list of facts; ``bounds``: the interval that it is asked about;
    ``moment``: the time whose nearest occurrence is asked for; ``at``: the time about which it is asked, around which the
    bounds are; ``ordinal``: which occurrence is asked for, from 1; ``least``: seconds
    that one lasts which counts; ``duration``: of the film (times in seconds); ``film``: all
    that is known of it; ``cuts``: whether a bound is within an occurrence, so that only the side of the answer is known.
    """

    arguments: Mapping[str, Any]
    facts: Mapping[str, Fact | tuple[Fact, ...]] = field(default_factory=dict)
    bounds: TimeSpan = _WHOLE
    moment: float | None = None
    at: float | None = None
    ordinal: int | None = None
    least: float | None = None
    duration: float = 0.0
    film: tuple[Fact, ...] = ()
    cuts: bool = False

    @property
    def limits(self) -> bool:
        """Whether an amount is among the arguments, such as a least duration, so that not all that is there may be meant."""
        given = (value for value in self.arguments.values() if isinstance(value, int | float))
        times = (self.bounds.start, self.bounds.end, self.moment, self.at, self.ordinal, self.least)
        return any(value not in times and not isinstance(value, bool) for value in given)

    @property
    def looks(self) -> tuple[str, ...]:
        """How all who are there look."""
        known = (fact.text for fact in self.film if (fact.kind, fact.existence) == ("looks", "present"))
        return tuple(text for text in known if " " in text)

    @property
    def existence(self) -> Existence:
        """Whether all facts that it is about are there; one that is absent, or cannot be judged, decides."""
        standings: tuple[Existence, ...] = ("unjudged", "absent")
        return next((one for one in standings if any(fact.existence == one for fact in self.each)), "present")

    @property
    def is_of_sides(self) -> bool:
        """Whether one bound is within an occurrence and the other one is open, so that only sides are compared."""
        return self.cuts and (self.bounds.end > self.duration or not self.bounds.start)

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


def probes_for(
    tool: model.Tool, roles: Mapping[str, Role], facts: Sequence[Fact], *, video_id: str, duration: float
) -> Iterator[Probe]:
    """Yield the probes of a tool on a world with these facts; none if the role of a required text is not known.

    Inputs that are not required keep their defaults, but for kinds of things, enumerated words and bounds of time.
    """
    usual = _usual(tool, roles, duration)
    if usual is None:
        return
    usual[VIDEO] = video_id
    texts = [item.name for item in tool.inputs if item.required and item.name in roles and item.name not in usual]
    nearest, at, ordinal = _nearest(tool), _at(tool), Intent(tool=tool).ordinal
    # A kind of thing is that of the fact that another text is about.
    texts = [name for name in texts if roles[name] != "category"] or texts
    least = _least(tool, usual)
    for chosen in _lasting(_chosen(tool, texts, roles, facts), least):
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
        probe = Probe(arguments=given, facts=chosen, duration=duration, film=tuple(facts), least=least)
        if about is not None and nearest:
            yield from _near_moments(nearest, probe, about, duration)
        elif at:
            is_of_one = about is not None and about.spans and about.kind != "category"
            yield from _at_moments(at, probe, [about] if about is not None and is_of_one else facts)
        elif ordinal and about is not None:
            numbers = range(1, len(about.spans) + 1) if about.times == frozenset({len(about.spans)}) else ()
            numbered = (replace(probe, arguments={**given, ordinal: one}, ordinal=one) for one in numbers)
            yield from numbered if numbers else [probe] * (about.existence != "present")
        else:
            yield from _with_each_word(tool, probe)
        if about is not None and len(chosen) == 1 and about.spans:
            yield from _bounded(tool, probe, about, duration)
    if not texts and at and not _chosen_people(tool, facts):
        yield from _at_moments(at, Probe(arguments=usual, duration=duration, film=tuple(facts)), facts)
    elif not texts:
        yield from _parts(tool, Probe(arguments=usual, duration=duration, film=tuple(facts)))


def _usual(tool: model.Tool, roles: Mapping[str, Role], duration: float) -> dict[str, Any] | None:
    """Return arguments for the required inputs without a role; None if it is not known what one of them is."""
    usual: dict[str, Any] = {}
    for item in tool.inputs:
        kind, bound = types.plain(item.type), _bound(tool, item)
        if not item.required or item.name == VIDEO:
            continue
        if isinstance(kind, types.EnumType):
            usual[item.name] = kind.values[0]
        elif is_interval(kind):
            usual[item.name] = {"start_time": 0.0, "end_time": duration}
        elif item.name == Intent(tool=tool).ordinal:
            usual[item.name] = 1
        elif bound or item.name in (_nearest(tool), _at(tool)):
            usual[item.name] = 0.0 if bound == "lower" else duration
        elif is_moment(item.name, item.type) or (kind not in _AMOUNTS and item.name not in roles):
            return None
        elif kind in _AMOUNTS:
            usual[item.name] = _AMOUNTS[kind]
    return usual


def _least(tool: model.Tool, usual: Mapping[str, Any]) -> float | None:
    """Return the seconds that an occurrence must last to count, if an input says so."""
    for item in tool.inputs:
        own = words_in(item.name)
        if own & LEAST and own & SECONDS and types.is_numeric(types.plain(item.type)):
            value = usual.get(item.name, None if item.default is None else item.default.value)
            return float(value) if isinstance(value, int | float) else None
    return None


def _lasting(choices: Iterator[_Choice], least: float | None) -> Iterator[_Choice]:
    """Yield the facts of the inputs, of stays that last at least so many seconds; not those of which some may overlap."""
    for chosen in choices:
        stays = {key: fact for key, fact in chosen.items() if isinstance(fact, Fact) and fact.kind == "looks"}
        if least is None:
            yield chosen
        elif all(not fact.spans or fact.times == frozenset({len(fact.spans)}) for fact in stays.values()):
            yield {**chosen, **{key: fact.lasting(least) for key, fact in stays.items()}}


def _bound(tool: model.Tool, item: model.Input) -> Literal["lower", "upper", ""]:
    """Return which bound of time an input is: by its name, or by what the tool says that it finds beside the moment."""
    bound = bound_of(item.name, item.type)
    if bound or [one for one in tool.inputs if is_moment(one.name, one.type)] != [item]:
        return bound
    side = Intent(tool=tool).side({})
    return "lower" if side == "after" else "upper" if side == "before" else ""


def _nearest(tool: model.Tool) -> str:
    """Return the input, a time, to which a tool says that it finds what is nearest; empty if there is none."""
    times = [item.name for item in tool.inputs if is_moment(item.name, item.type)]
    intent = Intent(tool=tool)
    return times[0] if len(times) == 1 and intent.said & NEAREST and not intent.side({}) else ""


def _at(tool: model.Tool) -> str:
    """Return the input, a time, about which a tool says what is there at this moment; empty if there is none."""
    times = [item.name for item in tool.inputs if is_moment(item.name, item.type)]
    is_other = len(times) != 1 or bool(_nearest(tool)) or bool(Intent(tool=tool).said & _WHICH)
    return "" if is_other or any(_bound(tool, item) for item in tool.inputs if item.name == times[0]) else times[0]


def _at_moments(name: str, probe: Probe, facts: Sequence[Fact]) -> Iterator[Probe]:
    """Yield the probe for moments in the middle of what is there, and for one at which nothing of it is."""
    asked = [fact for fact in facts if fact.existence == "present" and " " in fact.text and fact.kind != "scene"]
    spans = [span for fact in asked for span in fact.spans[:2] if span.duration > 2 * EXACT]
    moments = [round(span.center, 1) for span in spans[:: max(1, len(spans) // _MOMENTS)]]
    all_spans = [span for fact in asked for span in fact.spans]
    free = [one for one in range(int(probe.duration)) if not any(near_moment(one, span) for span in all_spans)]
    for moment in (*moments, *(float(free[place * (len(free) - 1) // 2]) for place in range(3) if free)):
        bounds = TimeSpan(start=max(0.0, moment - EXACT / 2), end=moment + EXACT / 2)
        yield replace(probe, arguments={**probe.arguments, name: moment}, at=moment, bounds=bounds)


def near_moment(moment: float, span: TimeSpan) -> bool:
    """Whether a moment is in a span, or so close to it that it may count as such."""
    return span.start - 2 * EXACT <= moment <= span.end + 2 * EXACT


def _near_moments(name: str, probe: Probe, about: Fact, duration: float) -> Iterator[Probe]:
    """Yield the probe for moments to which one occurrence is nearest, no matter where in it is measured."""
    if not about.spans:
        yield probe
    ends = [0.0, *(edge for span in about.spans for edge in (span.start, span.end)), duration]
    for place, span in enumerate(about.spans if len(about.spans) > 1 else ()):
        before, after = span.start - ends[2 * place], ends[2 * place + 3] - span.end
        room = min([*([before] if place else []), *([after] if place + 1 < len(about.spans) else [])])
        if room > 2 * span.duration + 2 * ROUGH:
            moment = round(span.start - EXACT if place else span.end + EXACT, 1)
            yield replace(probe, arguments={**probe.arguments, name: moment}, moment=moment)


def _parts(tool: model.Tool, probe: Probe) -> Iterator[Probe]:
    """Yield a probe without facts for parts of the film, if the tool has inputs for both bounds of time."""
    for share in _PARTS:
        bounds = TimeSpan(start=round(share[0] * probe.duration, 1), end=round(share[1] * probe.duration, 1))
        given = _within(tool, probe.arguments, bounds)
        if given is not None:
            yield replace(probe, arguments=given, bounds=bounds)


def _within(tool: model.Tool, arguments: Mapping[str, Any], bounds: TimeSpan) -> dict[str, Any] | None:
    """Return the arguments with an interval in the inputs that are bounds of time; None if they do not bound both sides."""
    ends = {"lower": bounds.start, "upper": bounds.end}
    given = {item.name: ends[bound] for item in tool.inputs if (bound := bound_of(item.name, item.type))}
    whole = [item.name for item in tool.inputs if is_interval(item.type)]
    if sorted(given.values()) != sorted(ends.values()) and not (len(whole) == 1 and not given):
        return None
    return {**arguments, **given, **{name: {"start_time": bounds.start, "end_time": bounds.end} for name in whole}}


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
    for span in about.spans[:1] + about.spans[2:3]:
        around = TimeSpan(start=max(0.0, span.start - 2 * ROUGH), end=span.end + 2 * ROUGH)
        bounds = around.clip(TimeSpan(start=0.0, end=duration))
        given = None if bounds is None else _within(tool, probe.arguments, bounds)
        if given is not None and bounds is not None:
            yield replace(probe, arguments=given, bounds=bounds)
    for span in about.spans[-1:]:
        cut = TimeSpan(start=round(span.center, 1), end=round(span.end + ROUGH, 1)).clip(
            TimeSpan(start=0.0, end=duration)
        )
        given = None if cut is None else _within(tool, probe.arguments, cut)
        if given is not None and cut is not None:
            yield replace(probe, arguments=given, bounds=cut, cuts=True)
    for item in tool.inputs:
        bound = _bound(tool, item)
        places = {"lower": (1, len(about.spans)), "upper": (len(about.spans) - 1, 0)}.get(bound, ())
        for place in dict.fromkeys(places):
            start, end = ends[2 * place], ends[2 * place + 1]
            if start + 2 * EXACT < end:
                gap = round((start + end) / 2, 1)
                bounds = replace(probe.bounds, **{"start" if bound == "lower" else "end": gap})
                yield replace(probe, arguments={**probe.arguments, item.name: gap}, bounds=bounds)
        moments = [one.name for one in tool.inputs if is_moment(one.name, one.type)]
        for span in about.spans[:2] if places and moments == [item.name] else ():
            inside = {item.name: round(span.center, 1)}
            bounds = replace(probe.bounds, **{"start" if bound == "lower" else "end": inside[item.name]})
            yield replace(probe, arguments={**probe.arguments, **inside}, bounds=bounds, cuts=True)


def _chosen(
    tool: model.Tool, texts: Sequence[str], roles: Mapping[str, Role], facts: Sequence[Fact]
) -> Iterator[_Choice]:
    """Yield facts for the inputs ``texts``: of one, of two of the same role, of a list, or of looks and a deed."""
    kinds, said = [roles[name] for name in texts], Intent(tool=tool).said
    are_of_one_kind = "category" in roles.values() and len(texts) > 1
    if are_of_one_kind or (said & _PEOPLE and not said & _THINGS and "category" not in roles.values()):
        facts = [fact for fact in facts if fact.category == "person"]
    lists = {item.name for item in tool.inputs if isinstance(types.plain(item.type), types.ListType)} & {*texts}
    if not texts:
        people = _chosen_people(tool, facts)
        if people is not None:
            yield {"": people}
    elif len(texts) == 1 and not lists:
        for existence, most in _ASKED.items():
            for fact in _of_one(facts, kinds[0], existence, most):
                yield {texts[0]: fact}
    elif len(texts) == 2 and {*kinds} == {"looks"} and not lists:
        apart = _never_together(_some(facts, "looks", "present", len(facts)))
        pairs = [*permutations([*apart, *_some(facts, "looks", "absent", 1)], 2)]
        for pair in pairs + (_together(_some(facts, "looks", "present", len(facts))) if said & TOGETHER else []):
            yield dict(zip(texts, pair, strict=True))
    elif len(texts) == 1 or (len(texts) == 2 and kinds[0] == kinds[1] and not lists):
        once = _once(_some(facts, kinds[0], "present", len(facts)))
        # The first shares its words with what is there, the last shares none.
        absent = _some(facts, kinds[0], "absent", len(facts))
        absent = list(dict.fromkeys((*absent[:1], *absent[-1:])))
        number = 3 if lists else 2
        groups = [once[:number][::-1], once[:number], *([[*once[1:number], once[0]]] if number > 2 and once else [])]
        groups += [group for one in absent for group in ([*once[: number - 1], one], [one, *once[: number - 1]])]
        for group in (tuple(group) for group in groups if len(group) == number):
            yield {texts[0]: group} if lists else dict(zip(texts, group, strict=True))
    elif len(texts) == 2 and {*kinds} == {"looks", "deed"} and not lists:
        looks, deed = sorted(texts, key=lambda name: roles[name] != "looks")
        for done, who in _doings(facts, is_done=not Intent(tool=tool).is_about_surroundings):
            yield {deed: done, looks: who}


def _chosen_people(tool: model.Tool, facts: Sequence[Fact]) -> Fact | None:
    """Return the fact of all people, if a tool says that it is about people."""
    people = (fact for fact in facts if fact.kind == "category" and fact.category == "person")
    return next(people, None) if Intent(tool=tool).said & _PEOPLE else None


def _doings(facts: Sequence[Fact], *, is_done: bool) -> Iterator[tuple[Fact, Fact]]:
    """Yield deeds with looks: of the one who does it; of another one, where the deed is absent or ``is_done`` by others."""
    who = {fact.text: fact for fact in facts if fact.kind == "looks"}
    done = [fact for fact in _some(facts, "deed", "present", len(facts)) if fact.who in who][: _ASKED["present"]]
    for fact in done:
        yield fact, who[fact.who]
    for fact in _some(facts, "deed", "absent", _ASKED["absent"]) if done else ():
        yield fact, who[done[0].who]
    for fact in done:
        others = (one for one in who.values() if all(_are_apart(a, b) for a in one.spans for b in fact.spans))
        for other in islice(others, 1):
            yield (fact.not_done_by(other.text) if is_done else fact), other


def _of_one(facts: Sequence[Fact], kind: Role, existence: Existence, most: int) -> Collection[Fact]:
    """Return facts of a kind and existence, those of words that are there the other way, and words of each way."""
    found = [*_some(facts, kind, existence, most)]
    found += _some([fact for fact in facts if fact.instead], kind, existence, most)
    if kind == "words" and existence == "present":
        found += [fact for way in ("said", "written") for fact in _only(facts, way)[:_EACH_WAY]]
    return dict.fromkeys(found)


def _only(facts: Sequence[Fact], way: str) -> list[Fact]:
    """Return the words that are there in one way alone: said, or written."""
    other = {fact.text for fact in facts if fact.instead == way}
    return [fact for fact in facts if (fact.kind, fact.existence) == ("words", "present") and fact.text in other]


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


def _together(facts: Sequence[Fact]) -> list[tuple[Fact, Fact]]:
    """Return two things that are there at the same time, some of the time, in both orders."""
    pairs = [(a, b) for a, b in permutations(facts, 2) if len(a.things | b.things) == 1 and _share(a, b)]
    return [*pairs[:1], *((b, a) for a, b in pairs[:1])]


def _share(one: Fact, other: Fact) -> bool:
    common = sum(cut.duration for a in one.spans for b in other.spans if (cut := a.clip(b)) is not None)
    return 2 * EXACT < common < 0.75 * min(one.seconds, other.seconds)


def _once(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts that happen once, each so far from the others that none is taken for another."""
    found: list[Fact] = []
    for fact in facts:
        if len(fact.spans) == 1 and all(_are_apart(fact.spans[0], other.spans[0]) for other in found):
            found.append(fact)
    return found


def _are_apart(one: TimeSpan, other: TimeSpan) -> bool:
    return one.start >= other.end + 2 * ROUGH or other.start >= one.end + 2 * ROUGH


def _some(facts: Sequence[Fact], kind: Role, existence: str, most: int) -> list[Fact]:
    """Return facts of a kind and existence: first those with several occurrences that can be distinguished, then others.

    Of the rest, if there is any, the one that lasts longest and happens once is the last.
    """
    found = [fact for fact in facts if (fact.kind, fact.existence) == (kind, existence)]
    found.sort(key=lambda fact: (bool(fact.instead), len(fact.spans) < 2 or fact.gap < 2 * ROUGH, -len(fact.spans)))
    single = [fact for fact in found[most:] if len(fact.spans) == 1]
    return [*found[: most - 1], max(single, key=lambda fact: fact.seconds)] if single else found[:most]

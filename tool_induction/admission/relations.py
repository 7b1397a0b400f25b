"""Relations: what must hold between the answers of a tool if it is asked the same again with one thing different.

An answer must change where the film changes, and must not where it does not: a wider interval holds no less, two things that
change places change the answer, more at the end of a film changes nothing of what came before, and a limit or a filter that
changes an answer, or none, is not what the tool promises. Of a tool only the words of its inputs and outputs are read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

from tool_induction import limits
from tool_induction.admission.arguments import bound_of, is_interval, is_moment
from tool_induction.admission.findings import (
    MORE_OR_LESS,
    NEGATIONS,
    ORDER,
    SCALES,
    STATISTICS,
    TOTAL,
    is_evidence,
    span_of,
    unit_of,
)
from tool_induction.admission.intents import (
    AROUND,
    COUNT,
    EDGES,
    EVERYTHING,
    FIRST,
    LAST,
    PRESENCE,
    SECONDS,
    TOGETHER,
    Intent,
    words_in,
)
from tool_induction.admission.probes import EXACT, Probe
from tool_induction.admission.trials import (
    ExampleWorld,
    Runner,
    Trial,
    TrialRun,
    example_trials,
    longer_worlds,
    staged_worlds,
)
from tool_induction.admission.weaknesses import Flaw, Weakness, warning
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language import model, types
from tool_induction.language.evaluation import Json
from tool_induction.language.expressions import Choice, Compare, Const, Expr, Field, names, to_text, walk
from world_api.core.canonical import canonical_json

_TWO = 2  #: things that are compared
_AT_LEAST = 2  #: pairs of answers that must break a relation before it is named
_SHARE = 0.05  #: of all pairs, which must break it, too
_ASKED_AGAIN = 6  #: questions that are asked again in another way
_QUESTIONS = 4  #: different questions, whose answers cite different spans
_TURNS = (0, 1, 2, 3, 4)  #: sets of arguments on each film
_MOST_HITS = 100  #: of a search
_NUMBERS = "one 一|two 两 二|three 三|four 四|five 五|six 六|seven 七|eight 八|nine 九|ten 十".split("|")
#: Words by which a tool promises to choose by time among all hits.
_PICKS = FIRST | LAST | frozenset("next previous nearest closest".split())
_WHOLE = frozenset("all every each list".split())
#: Words of outputs, or of a tool, whose numbers need not grow with what is looked at.
_NOT_GROWING = (
    NEGATIONS
    | STATISTICS
    | frozenset("share ratio rate per percent percentage fraction density until wait remaining".split())
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A tool that is examined: its runs, and what is needed to run it again.

    ``run_of`` makes a runner of the tool of this name in other tools; ``known``: the worlds whose facts are known.
    """

    name: str
    tools: Mapping[str, CompiledTool]
    runs: Sequence[TrialRun]
    run_of: Callable[[Mapping[str, CompiledTool]], Runner]
    known: Sequence[ExampleWorld]

    @cached_property
    def tool(self) -> model.Tool:
        """The tool."""
        return self.tools[self.name].tool

    @cached_property
    def intent(self) -> Intent:
        """What it says that it does."""
        return Intent(tool=self.tool)

    @cached_property
    def probed(self) -> list[tuple[TrialRun, Probe]]:
        """The runs about known facts, that nothing outside the tool disturbed."""
        return [(run, run.probe) for run in self.runs if run.probe is not None and not run.disturbed]

    def sample(self, *statuses: str, world: str = "") -> list[tuple[TrialRun, Probe]]:
        """Return a few of the runs that ended so, spread over all of them; of staged films alone, or of one world."""
        worlds = [world] if world else [one.name for one in staged_worlds()]
        found = [pair for pair in self.probed if pair[0].status in statuses and pair[0].world in worlds]
        return found[:: max(1, len(found) // _ASKED_AGAIN)][:_ASKED_AGAIN]

    def again(
        self,
        run: TrialRun,
        *,
        steps: Sequence[model.Step] = (),
        world: ExampleWorld | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> TrialRun:
        """Return a run that asks the same with other steps, in another world, or with other arguments."""
        tools, compiled = self.tools, self.tools[self.name]
        if steps:
            tools = {**tools, self.name: replace(compiled, tool=replace(self.tool, steps=tuple(steps)))}
        world = world or next(one for one in self.known if one.name == run.world)
        given = {**run.arguments, **(arguments or {}), "video_id": world.video_id}
        call, state = world.open()
        trial = Trial(world=world.name, call=call, state=state, arguments=given, example=True, probe=run.probe)
        return self.run_of(tools)(trial)


def relations(subject: Subject) -> Iterator[Weakness]:
    """Yield the relations that the answers of a tool break."""
    for flaw, broken in _BROKEN:
        found = list(broken(subject))
        wrong = [one for one in found if one]
        if len(wrong) >= max(_AT_LEAST, _SHARE * len(found)):
            yield warning(flaw, f"{wrong[0]} (in {len(wrong)} of {len(found)} pairs of runs on films that are known)")
    for flaw, unchanged in _UNCHANGED:
        yield from (warning(flaw, text) for text in unchanged(subject))


# Relations of two answers, of which one pair in two breaks none: how each pair does, or an empty text.


def _wider(subject: Subject) -> Iterator[str]:
    """Yield what a tool says less of an interval than of a part of it."""
    bounds = [item.name for item in subject.tool.inputs if bound_of(item.name, item.type) or is_interval(item.type)]
    groups: dict[str, list[tuple[TrialRun, Probe]]] = defaultdict(list)
    for run, probe in subject.probed if bounds else ():
        if run.status in ("ok", "empty"):
            rest = {key: value for key, value in run.arguments.items() if key not in bounds}
            groups[canonical_json([run.world, rest])].append((run, probe))
    for group in groups.values():
        for (narrow, one), (wide, other) in permutations(group, 2):
            if (
                one.bounds != other.bounds
                and other.bounds.start <= one.bounds.start
                and one.bounds.end <= other.bounds.end
            ):
                yield _less(subject.intent, narrow, wide, what="in a wider interval")


def _with_more_after(subject: Subject) -> Iterator[str]:
    """Yield what a tool says otherwise of a film that is the same and has more at its end."""
    for run, probe in subject.sample("ok", world=staged_worlds()[0].name):
        is_whole = not probe.is_bounded and probe.moment is None
        if is_whole and all(fact.existence == "present" for fact in probe.each):
            more = subject.again(run, world=longer_worlds()[0])
            if more.status in ("ok", "empty"):
                pair = replace(more, arguments=run.arguments)
                yield _less(subject.intent, run, pair, what="in a film with more at its end", is_exact=True)


def _less(intent: Intent, one: TrialRun, other: TrialRun, *, what: str, is_exact: bool = False) -> str:
    """Return what the answer ``other``, about all that ``one`` is about and more, has less than ``one``; empty if nothing.

    ``is_exact``: the first time stays the same.
    """
    if one.status != "ok":
        return ""
    asked = {key: value for key, value in one.arguments.items() if other.arguments.get(key) != value}
    shown = f"{canonical_json(asked)[:90]} and {canonical_json({key: other.arguments.get(key) for key in asked})[:90]}"
    about = f"asked {shown}" if asked else f"asked {canonical_json(dict(one.arguments))[:90]}"
    outputs = [item for item in intent.tool.outputs if item.source is not None and not is_evidence(item)]
    if other.status == "empty":
        found = any(_is_growing(item) and one.outputs.get(item.name) for item in outputs)
        return f"{about}, it finds something and {what} nothing" if found else ""
    for item in outputs:
        values = one.outputs.get(item.name), other.outputs.get(item.name)
        is_less = _is_other_time if is_moment(item.name, item.type) else _is_smaller
        if is_less(intent, item, *values, which=intent.which(item.name, one.arguments), is_exact=is_exact):
            return (
                f"{about}, it says {item.name} = {' and '.join(canonical_json(value)[:40] for value in values)} {what}"
            )
    return ""


def _is_growing(item: model.Output) -> bool:
    """Whether an output is a number or a list that is of everything that fits."""
    own, kind = words_in(item.name), types.plain(item.type)
    is_seconds = own & SECONDS and unit_of(item) in SCALES and types.is_numeric(kind)
    is_amount = bool(own & COUNT if kind == types.INT else is_seconds) or isinstance(kind, types.ListType)
    return is_amount and not is_moment(item.name, item.type) and not own & (_NOT_GROWING | AROUND - EDGES)


def _is_other_time(intent: Intent, item: model.Output, one: Json, other: Json, *, which: str, is_exact: bool) -> bool:
    """Whether a first time comes later, or a last one earlier, where there is more; ``is_exact``: or a first one earlier."""
    span, later = span_of(one), span_of(other)
    is_beside = words_in(item.name) & (AROUND - EDGES) or intent.side({}) or intent.said & _NOT_GROWING
    if span is None or later is None or is_beside:
        return False
    early, late = later.start < span.start - EXACT, later.start > span.start + EXACT
    return late or (is_exact and early) if which == "first" else which == "last" and early


def _is_smaller(intent: Intent, item: model.Output, one: Json, other: Json, *, which: str, is_exact: bool) -> bool:
    """Whether a list is shorter, a number smaller, or a presence denied where there is more."""
    own, kind = words_in(item.name), types.plain(item.type)
    if intent.said & _NOT_GROWING:
        return False
    if kind == types.BOOL:
        return own <= PRESENCE | {"is", "was"} and one is True and other is False
    if not _is_growing(item):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return bool((intent.said | own) & _WHOLE) and len(other) < len(one)
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    is_whole = kind == types.INT or bool((own | intent.said) & (TOTAL | TOGETHER | {"long", "much", "many"}))
    return is_whole and other < one - (0 if kind == types.INT else EXACT)


def _swapped(subject: Subject) -> Iterator[str]:
    """Yield what a tool that orders or compares two things says both ways round, or of one thing and itself."""
    pairs = [
        (run, probe) for run, probe in subject.probed
        if len(probe.facts) == _TWO and not probe.is_bounded and run.status == "ok"
        and len({getattr(fact, "kind", fact) for fact in probe.facts.values()}) == 1
    ]  # fmt: skip
    for (one, probe), (other, _) in combinations(pairs, 2):
        given = [[run.arguments[name] for name in probe.facts] for run in (one, other)]
        if one.world == other.world and given[0] == given[1][::-1]:
            yield _same_both_ways(subject.intent, one, other, given[0])
    booleans = [item for item in subject.tool.outputs if _relates(item)]
    for run, probe in pairs[:: max(1, len(pairs) // _TWO)][:_TWO] if booleans else ():
        if all(fact.existence == "present" for fact in probe.each):
            first, second = probe.facts
            same = subject.again(run, arguments={second: run.arguments[first]})
            said = [item.name for item in booleans if same.status == "ok" and same.outputs.get(item.name) is True]
            yield f"asked for {run.arguments[first]!r} twice it says {said[0]} = true" if said else ""


def _relates(item: model.Output) -> bool:
    """Whether an output is a boolean that one of two things is before, or more than, the other."""
    own = words_in(item.name)
    is_order = own & (ORDER | MORE_OR_LESS) and not own & (TOGETHER | NEGATIONS)
    return types.plain(item.type) == types.BOOL and bool(is_order)


def _same_both_ways(intent: Intent, one: TrialRun, other: TrialRun, given: Sequence[str]) -> str:
    of_inputs = frozenset[str]().union(*(words_in(item.name) for item in intent.tool.inputs))
    for item in intent.tool.outputs:
        own, kind = words_in(item.name), types.plain(item.type)
        values = one.outputs.get(item.name), other.outputs.get(item.name)
        shown = f"asked for {' and '.join(map(repr, given))}, and the other way round, it says {item.name} = "
        if _relates(item) and values[0] is values[1] is True:
            return f"{shown}true both times"
        if own & TOGETHER and kind != types.BOOL and types.is_numeric(kind):
            first, second = (value if isinstance(value, int | float) else 0.0 for value in values)
            if abs(first - second) > EXACT:
                return f"{shown}{first:g} and {second:g}"
        is_choice = own & ((ORDER | MORE_OR_LESS) - of_inputs) and kind == types.STRING
        named = [[text for text in given if isinstance(value, str) and text in value] for value in values]
        if is_choice and [len(texts) for texts in named] == [1, 1] and named[0] != named[1]:
            return f"{shown}{values[0]!r} and {values[1]!r}"
    return ""


def _looks_further(subject: Subject) -> Iterator[str]:
    """Yield which answers are others if searches and loops may look at more, although the tool promises all."""
    said = subject.intent.promised
    moments = [item.name for item in subject.tool.outputs if is_moment(item.name, item.type)]
    everything = [item.name for item in subject.tool.outputs]
    # A length that the tool says it has, and one of one item, which is a choice, stay.
    kept = {1, *(number for number, words in enumerate(_NUMBERS, start=1) if said & {str(number), *words.split()})}
    for promise, outputs, hits in ((_PICKS, moments, True), (EVERYTHING, everything, False)):
        steps = tuple(_wider_step(step, hits, kept) for step in subject.tool.steps)
        for run in _plain_runs(subject) if said & promise and steps != subject.tool.steps else ():
            more = subject.again(run, steps=steps)
            changed = [key for key in outputs if more.status == "ok" and run.outputs[key] != more.outputs[key]]
            asked = canonical_json({key: value for key, value in run.arguments.items() if key != "video_id"})[:80]
            limit = "top_k" if hits else "max_items or top_k"
            says = f"{limit} leaves out what the tool promises: on {run.world}, asked {asked}, "
            yield f"{says}{changed[0]} is another if more is looked at" if changed else ""


def _plain_runs(subject: Subject) -> Iterator[TrialRun]:
    """Yield runs on the staged films with arguments chosen by the names and types of the inputs alone, that end as ok or empty."""
    run = subject.run_of(subject.tools)
    for world in staged_worlds():
        made = map(run, example_trials(subject.name, subject.tools, world, turns=_TURNS))
        yield from (one for one in made if one.status in ("ok", "empty"))


def _wider_step(step: model.Step, hits: bool, kept: Collection[int]) -> model.Step:
    """Return a step with the largest max_items and lengths of lists, but for those ``kept``; with ``hits`` also the largest top_k."""

    def inside(steps: tuple[model.Step, ...]) -> tuple[model.Step, ...]:
        return tuple(_wider_step(one, hits, kept) for one in steps)

    if isinstance(step, model.Call | model.Block) and step.loop is not None:
        most = limits.MAX_LOOP_ITEMS
        step = replace(step, loop=replace(step.loop, max_items=most, bound=most))
    match step:
        case model.Block():
            return replace(step, body=inside(step.body))
        case model.If():
            return replace(step, then=inside(step.then), otherwise=inside(step.otherwise))
        case model.Call() if hits:
            return replace(step, params=_raised(step.params, "top_k", frozenset()))
        case model.Aggregate() if step.operation == "top_k":
            return replace(step, params=_raised(step.params, "k", kept))
    return step


def _raised(params: tuple[tuple[str, Expr], ...], key: str, kept: Collection[int]) -> tuple[tuple[str, Expr], ...]:
    return tuple(
        (name, Const(_MOST_HITS) if name == key and isinstance(value, Const) and value.value not in kept else value)
        for name, value in params
    )


# Relations of all answers: what changes none of them, although it should, or what they never are.


def _dead_inputs(subject: Subject) -> Iterator[str]:
    """Yield inputs whose change changes no answer, although the film holds something else of what is then asked for.

    They are bounds of time and texts of which facts are known. Evidence, and whether the tool answers, may be all that such a
    text changes.
    """
    runs = [run for run, _ in subject.probed]
    bearing = [item.name for item in subject.tool.outputs if is_moment(item.name, item.type) or _is_listed(item)]
    everything = [item.name for item in subject.tool.outputs]
    for item in subject.tool.inputs:
        pairs = [pair for pair in permutations(runs, 2) if _differ_in(item, *pair)]
        both = [pair for pair in pairs if _are_different_things(item, *pair)]
        telling = [pair for pair in both if any(pair[0].outputs.get(name) not in (None, []) for name in bearing)]
        is_unread = len(both) >= _AT_LEAST and all(
            _same(item.name, everything, *pair) and pair[0].cited == pair[1].cited for pair in both
        )
        is_unread = is_unread or (
            len(telling) >= _AT_LEAST and all(_same(item.name, bearing, *pair) for pair in telling)
        )
        if is_unread or (len(pairs) >= _AT_LEAST and all(_same(item.name, everything, *pair) for pair in pairs)):
            one, other = (canonical_json(run.arguments.get(item.name)) for run in (both if is_unread else pairs)[0])
            yield (
                f"{item.name} changes nothing but what repeats it, in {len(pairs)} pairs of runs on films that are known: with "
                f"{one} the answer is the same as with {other}, although the film holds something else there"
            )


def _is_listed(item: model.Output) -> bool:
    return isinstance(types.plain(item.type), types.ListType) and not is_evidence(item)


def _differ_in(item: model.Input, one: TrialRun, other: TrialRun) -> bool:
    """Whether two runs on one film have one argument different, and the film holds something of what the first asks."""
    default = None if item.default is None else item.default.value
    given = [run.arguments.get(item.name, default) for run in (one, other)]
    if one.probe is None or one.world != other.world or given[0] == given[1]:
        return False
    if one.status == other.status == "empty":  # neither of them answers
        return False
    asked = one.probe.is_bounded if bound_of(item.name, item.type) else one.probe.facts.get(item.name)
    rest = [{**run.arguments, item.name: None} for run in (one, other)]
    is_there = any(fact.existence == "present" for fact in one.probe.each) or not one.probe.each
    return bool(asked) and rest[0] == rest[1] and is_there


def _are_different_things(item: model.Input, *pair: TrialRun) -> bool:
    """Whether two runs answered about things that are there at different times, and cite something."""
    facts = [run.probe.facts.get(item.name) if run.probe is not None else None for run in pair]
    spans = [getattr(fact, "spans", ()) for fact in facts]
    return all(spans) and spans[0] != spans[1] and all(run.status == "ok" and run.cited for run in pair)


def _same(name: str, outputs: Collection[str], one: TrialRun, other: TrialRun) -> bool:
    """Whether two runs gave the same answer, apart from texts that repeat the argument ``name``, in which they differ."""
    given = [run.arguments.get(name, 0) for run in (one, other)]
    shown = "|".join(re.escape(f"{value:g}" if isinstance(value, int | float) else str(value)) for value in given)
    repeated = re.compile(rf"(?<![\w.])(?:{shown})(?:\.0)?(?![\w.])")

    def answer(run: TrialRun) -> str:
        values = {key: value for key, value in run.outputs.items() if key in outputs}
        texts = {key: repeated.sub("", value) for key, value in values.items() if isinstance(value, str)}
        return canonical_json([run.status, values | texts])

    return answer(one) == answer(other)


def _one_valued(subject: Subject) -> Iterator[str]:
    """Yield a boolean that is the answer and has one value, whether all that was asked for is there or some of it is not.

    Where an amount is among the inputs, it may decide the answer.
    """
    without_limits = [(run, probe) for run, probe in subject.probed if not probe.limits]
    there = [run for run, probe in without_limits if all(fact.existence == "present" for fact in probe.each)]
    lacking = [(run, probe) for run, probe in without_limits if any(fact.existence == "absent" for fact in probe.each)]
    with_all = [run for run in there if run.status == "ok"]
    with_less = [run for run, _ in lacking if run.status == "ok"]
    ended = [run for run, probe in lacking if run.status == "empty" and len(probe.each) == 1]
    missed = [run for run in there if run.status == "empty"]
    ended += missed if len(missed) >= _AT_LEAST else []
    for place, item in enumerate(subject.tool.outputs):
        is_answer = types.plain(item.type) == types.BOOL and (place == 0 or words_in(item.name) & PRESENCE)
        said = {canonical_json(run.outputs.get(item.name)) for run in (*with_all, *with_less)}
        if item.source and is_answer and len(said) == 1 and len(with_all) >= _AT_LEAST and (with_less or ended):
            (value,) = said
            what = f"it is {value} too" if with_less else f"the tool ends as 'empty' ({ended[0].summary[:80]})"
            where = "all of it is there" if not with_less and ended[0] in missed else "some of it is not there"
            number = len(with_all) + len(with_less)
            yield f"{item.name} is {value} in all {number} answers about films that are known; where {where} {what}"


def _one_worded(subject: Subject) -> Iterator[str]:
    """Yield a text that is the answer, was one of several that are written in the tool, and was never another."""
    answered = [run for run, _ in subject.probed if run.status == "ok"]
    asked = {canonical_json([run.world, run.arguments]) for run in answered if run.cited}
    places, written = {run.cited for run in answered}, _alternatives(subject.tool)
    for place, item in enumerate(subject.tool.outputs):
        kind, is_answer = types.plain(item.type), place == 0 or words_in(item.name) & words_in(subject.name)
        is_text = kind == types.STRING or isinstance(kind, types.EnumType)
        said = {run.outputs.get(item.name) for run in answered} if is_answer and is_text else set()
        if len(said) == 1 and said <= written and min(len(asked), len(places)) >= _QUESTIONS:
            yield (
                f"{item.name} is {next(iter(said))!r} in all {len(answered)} answers about films that are known, of "
                f"{len(written)} texts that the tool may choose"
            )


def _alternatives(tool: model.Tool) -> set[str]:
    """Return the texts among which conditions of a tool choose."""
    found: list[Expr] = []
    sources = [item.source for item in tool.outputs if item.source is not None]
    for step in model.walk_steps(tool.steps):
        sources += [value for _, value in model.values(step)]
        if isinstance(step, model.If):
            found += [value for one in (*step.then, *step.otherwise) for _, value in model.values(one)]
    choices = [node for value in sources for node in walk(value) if isinstance(node, Choice)]
    found += [part for node in choices for part in (node.then, node.otherwise)]
    return {one.value for one in found if isinstance(one, Const) and isinstance(one.value, str)}


def _without_filter(subject: Subject) -> Iterator[str]:
    """Yield filters that compare times or numbers with constants and without which no answer is another.

    Filters by a kind, a source or a text, or by what another step found, may rarely matter and are not examined;
    inputs are (``_dead_inputs``).
    """
    asked = subject.sample("ok")
    for place, step in enumerate(subject.tool.steps):
        if not isinstance(step, model.Filter) or not _compares_numbers(step.where) or names(step.where) - {"item"}:
            continue
        steps = [*subject.tool.steps]
        steps[place] = replace(step, where=Const(True))
        others = ((run, subject.again(run, steps=steps)) for run, _ in asked)
        are_same = all(
            (one.status, one.outputs, one.cited) == (two.status, two.outputs, two.cited) for one, two in others
        )
        if are_same and len(asked) >= _QUESTIONS:
            yield (
                f"the filter {step.save_as} ({to_text(step.where)}) changes no answer: without it all {len(asked)} are the same, on "
                "films that are known"
            )


def _compares_numbers(where: Expr) -> bool:
    """Whether a condition orders numbers, such as times. Confidences vary little in these films, so that they do not count."""
    ordered = any(isinstance(node, Compare) and node.op in ("<", "<=", ">", ">=") for node in walk(where))
    return ordered and not any(isinstance(node, Field) and node.key == "confidence" for node in walk(where))


_Found = Callable[[Subject], Iterator[str]]
_BROKEN: tuple[tuple[Flaw, _Found], ...] = (
    ("short_lists", _looks_further),
    ("fewer_if_wider", _wider),
    ("not_symmetric", _swapped),
    ("changed_by_later", _with_more_after),
)
_UNCHANGED: tuple[tuple[Flaw, _Found], ...] = (
    ("dead_input", _dead_inputs),
    ("one_valued", _one_valued),
    ("one_valued", _one_worded),
    ("no_effect", _without_filter),
)

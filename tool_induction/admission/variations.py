"""Variations: what changes, and what does not, if a tool is asked the same again with one thing different.

An answer must differ where the film differs. These checks need no idea of what a tool means, apart from which of its
inputs are bounds of time, and whether it promises to look at everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from tool_induction import limits
from tool_induction.admission import trials
from tool_induction.admission.arguments import bound_of, is_moment
from tool_induction.admission.intents import COUNT, FIRST, LAST, PRESENCE, Intent, words_in
from tool_induction.admission.schema_world import VIDEO
from tool_induction.admission.weaknesses import Weakness
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language import model, types
from tool_induction.language.expressions import Choice, Compare, Const, Expr, Field, names, to_text, walk
from world_api.core.canonical import canonical_json

_AT_LEAST = 2  #: pairs of runs that must be the same
_TURNS = (0, 1, 2, 3, 4)  #: sets of arguments on each film
_NUMBERS = (
    "one 一",
    "two 两 二",
    "three 三",
    "four 四",
    "five 五",
    "six 六",
    "seven 七",
    "eight 八",
    "nine 九",
    "ten 十",
)
_QUESTIONS = 4  #: different questions, whose answers cite different spans
_ASKED = 4  #: questions that are asked once more without a filter
_MOST_HITS = 100  #: of a search
#: Words by which a tool promises to choose by time among all hits, and to look at everything.
_PICKS = FIRST | LAST | frozenset("next previous nearest closest".split())
_EVERYTHING = COUNT | frozenset("every all each whole entire everything 所有 全部".split())

Runs = Sequence[trials.TrialRun]


def dead_inputs(tool: model.Tool, runs: Runs) -> Iterator[Weakness]:
    """Yield inputs whose change changes no answer, although the film holds something else of what is then asked for.

    They are bounds of time and texts of which facts are known.
    """
    probed = [run for run in runs if run.probe is not None and not run.disturbed]
    for item in tool.inputs:
        pairs = [pair for pair in permutations(probed, 2) if _differ_in(item, *pair)]
        both = [pair for pair in pairs if _are_different_things(item, *pair)]
        # Whether it answers may be all that an input decides.
        if len(both) >= _AT_LEAST and all(_same(item.name, *pair) and pair[0].cited == pair[1].cited for pair in both):
            pairs = both
        if len(pairs) >= _AT_LEAST and all(_same(item.name, *pair) for pair in pairs):
            one, other = (canonical_json(run.arguments.get(item.name)) for run in pairs[0])
            yield Weakness(
                code="dead_input",
                message=f"{item.name} changes nothing but what repeats it, in {len(pairs)} pairs of runs on films that are "
                f"known: with {one} the answer is the same as with {other}, although the film holds something else there",
                suggestion=f"give {item.name} to the call or the filter that finds the answer",
            )


def _differ_in(item: model.Input, one: trials.TrialRun, other: trials.TrialRun) -> bool:
    """Whether two runs on one film have one argument different, and the film holds something of what the first asks."""
    default = None if item.default is None else item.default.value
    given = [run.arguments.get(item.name, default) for run in (one, other)]
    if one.probe is None or one.world != other.world or given[0] == given[1]:
        return False
    asked = one.probe.is_bounded if bound_of(item.name, item.type) else one.probe.facts.get(item.name)
    rest = [{**run.arguments, item.name: None} for run in (one, other)]
    is_there = any(fact.existence == "present" for fact in one.probe.each) or not one.probe.each
    return bool(asked) and rest[0] == rest[1] and is_there


def _are_different_things(item: model.Input, *pair: trials.TrialRun) -> bool:
    """Whether two runs answered about things that are there at different times, and cite something."""
    facts = [run.probe.facts.get(item.name) if run.probe is not None else None for run in pair]
    spans = [getattr(fact, "spans", ()) for fact in facts]
    return all(spans) and spans[0] != spans[1] and all(run.status == "ok" and run.cited for run in pair)


def _same(name: str, one: trials.TrialRun, other: trials.TrialRun) -> bool:
    """Whether two runs gave the same answer, apart from texts that repeat the argument in which they differ."""
    given = [run.arguments.get(name, 0) for run in (one, other)]
    shown = "|".join(re.escape(f"{value:g}" if isinstance(value, int | float) else str(value)) for value in given)
    repeated = re.compile(rf"(?<![\w.])(?:{shown})(?:\.0)?(?![\w.])")

    def answer(run: trials.TrialRun) -> str:
        outputs = {
            key: repeated.sub("", value) if isinstance(value, str) else value for key, value in run.outputs.items()
        }
        return canonical_json([run.status, outputs])

    return answer(one) == answer(other)


def one_valued(tool: model.Tool, runs: Runs) -> Iterator[Weakness]:
    """Yield a boolean that is the answer and has one value, whether all that was asked for is there or some of it is not."""
    probed = [(run, run.probe.each) for run in runs if run.probe is not None and not run.disturbed]
    there = [run for run, facts in probed if all(fact.existence == "present" for fact in facts)]
    lacking = [run for run, facts in probed if any(fact.existence == "absent" for fact in facts)]
    for place, item in enumerate(tool.outputs):
        if types.plain(item.type) != types.BOOL or item.source is None:
            continue
        is_answer = place == 0 or words_in(item.name) & PRESENCE
        said = {canonical_json(run.outputs.get(item.name)) for run in (*there, *lacking) if run.status == "ok"}
        with_all, with_less = ([run for run in some if run.status == "ok"] for some in (there, lacking))
        ended = [run for run in lacking if run.status == "empty" and run.probe is not None and len(run.probe.each) == 1]
        missed = [run for run in there if run.status == "empty"]
        ended += missed if len(missed) >= _AT_LEAST else []
        if is_answer and len(said) == 1 and len(with_all) >= _AT_LEAST and (with_less or ended):
            (value,) = said
            what = f"it is {value} too" if with_less else f"the tool ends as 'empty' ({ended[0].summary[:80]})"
            where = "all of it is there" if not with_less and ended[0] in missed else "some of it is not there"
            yield Weakness(
                code="one_valued",
                message=f"{item.name} is {value} in all {len(with_all) + len(with_less)} answers about films that are known; where "
                f"{where} {what}",
                suggestion=f"compute {item.name} before any 'require' that ends the tool without it, from what can be missing",
            )


def one_worded(tool: model.Tool, runs: Runs) -> Iterator[Weakness]:
    """Yield a text that is the answer, was one of several that are written in the tool, and was never another."""
    answered = [run for run in runs if run.probe is not None and run.status == "ok" and not run.disturbed]
    asked = {canonical_json([run.world, run.arguments]) for run in answered if run.cited}
    places = {run.cited for run in answered}
    written = _alternatives(tool)
    for place, item in enumerate(tool.outputs):
        kind, is_answer = types.plain(item.type), place == 0 or words_in(item.name) & words_in(tool.name)
        is_text = kind == types.STRING or isinstance(kind, types.EnumType)
        said = {run.outputs.get(item.name) for run in answered} if is_answer and is_text else set()
        if len(said) == 1 and said <= written and min(len(asked), len(places)) >= _QUESTIONS:
            yield Weakness(
                code="one_valued",
                message=f"{item.name} is {next(iter(said))!r} in all {len(answered)} answers about films that are known, of "
                f"{len(written)} texts that the tool may choose",
                suggestion=f"look at the conditions that decide {item.name}: one of them is always, or never, true",
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


def short_lists(
    name: str, tools: Mapping[str, CompiledTool], run_of: Callable[[Mapping[str, CompiledTool]], trials.Runner]
) -> Iterator[Weakness]:
    """Yield that a tool gives another answer if its searches and loops may look at more, although it promises all.

    ``run_of`` makes a runner of a tool of this name in other tools.
    """
    tool = tools[name].tool
    said = Intent(tool=tool).promised
    moments = [item.name for item in tool.outputs if is_moment(item.name, item.type)]
    for promise, outputs, hits in ((_PICKS, moments, True), (_EVERYTHING, [item.name for item in tool.outputs], False)):
        wider = replace(tools[name], tool=_widened(tool, hits=hits))
        if not said & promise or wider.tool == tool:
            continue
        differing: list[tuple[trials.TrialRun, str]] = []
        for world in trials.staged_worlds():
            for trial in trials.example_trials(name, tools, world, turns=_TURNS):
                usual, more = run_of(tools)(trial), run_of({**tools, name: wider})(trial)
                if usual.status in ("ok", "empty") and more.status == "ok":
                    changed = [key for key in outputs if usual.outputs[key] != more.outputs[key]]
                    differing += [(usual, changed[0])] if changed else []
        if len(differing) >= _AT_LEAST:
            usual, output = differing[0]
            asked = {key: value for key, value in usual.arguments.items() if key != VIDEO}
            limit = "top_k" if hits else "max_items or top_k"
            yield Weakness(
                code="short_lists",
                message=f"{limit} leaves out what the tool promises: on {usual.world}, asked {canonical_json(asked)[:80]}, "
                f"{output} is another if more is looked at",
                suggestion=f"raise {limit}, or promise no more than what is looked at",
            )
            return


def _widened(tool: model.Tool, *, hits: bool) -> model.Tool:
    """Return a tool with the largest max_items and lengths of lists everywhere; with ``hits`` also the largest top_k.

    A length that the tool says it has, and one of one item, which is a choice, stay.
    """
    said = Intent(tool=tool).promised
    kept = {1, *(number for number, words in enumerate(_NUMBERS, start=1) if said & {str(number), *words.split()})}
    return replace(tool, steps=tuple(_wider(step, hits, kept) for step in tool.steps))


def _wider(step: model.Step, hits: bool, kept: Collection[int]) -> model.Step:
    def inside(steps: tuple[model.Step, ...]) -> tuple[model.Step, ...]:
        return tuple(_wider(one, hits, kept) for one in steps)

    if isinstance(step, model.Call | model.Block) and step.loop is not None:
        most = limits.MAX_LOOP_ITEMS
        step = replace(step, loop=replace(step.loop, max_items=most, bound=most))
    match step:
        case model.Block():
            return replace(step, body=inside(step.body))
        case model.If():
            return replace(step, then=inside(step.then), otherwise=inside(step.otherwise))
        case model.Call() if hits:
            few = [key for key, value in step.params if key == "top_k" and isinstance(value, Const)]
            return replace(
                step, params=tuple((key, Const(_MOST_HITS) if key in few else value) for key, value in step.params)
            )
        case model.Aggregate() if step.operation == "top_k":
            few = [key for key, value in step.params if isinstance(value, Const) and value.value not in kept]
            raised = tuple(
                (key, Const(_MOST_HITS) if key == "k" and key in few else value) for key, value in step.params
            )
            return replace(step, params=raised)
    return step


def no_effect(
    name: str,
    tools: Mapping[str, CompiledTool],
    runs: Runs,
    run_of: Callable[[Mapping[str, CompiledTool]], trials.Runner],
) -> Iterator[Weakness]:
    """Yield filters that compare times or numbers with constants and without which no answer is another.

    Filters by a kind, a source or a text, or by what another step found, may rarely matter and are not examined;
    inputs are (``dead_inputs``).
    """
    tool = tools[name].tool
    asked = [run for run in runs if run.probe is not None and not run.disturbed and run.status == "ok"]
    asked = asked[:: max(1, len(asked) // (2 * _ASKED))][: 2 * _ASKED]
    worlds = {world.name: world for world in trials.staged_worlds()}
    for place, step in enumerate(tool.steps):
        if not isinstance(step, model.Filter) or not _compares_numbers(step.where) or names(step.where) - {"item"}:
            continue
        steps = (*tool.steps[:place], replace(step, where=Const(True)), *tool.steps[place + 1 :])
        run = run_of({**tools, name: replace(tools[name], tool=replace(tool, steps=steps))})
        differs, same = False, 0
        for one in asked:
            if one.world in worlds and not differs:
                call, state = worlds[one.world].open()
                again = run(
                    trials.Trial(world=one.world, call=call, state=state, arguments=one.arguments, probe=one.probe)
                )
                differs = [again.status, again.outputs, again.cited] != [one.status, one.outputs, one.cited]
                same += again.status == "ok"
        if not differs and same >= _ASKED:
            yield Weakness(
                code="no_effect",
                message=f"the filter {step.save_as} ({to_text(step.where)}) changes no answer: without it all {same} are the same, on "
                "films that are known",
                suggestion="compare with what is asked for, or leave the filter out",
            )


def _compares_numbers(where: Expr) -> bool:
    """Whether a condition orders numbers, such as times. Confidences vary little in these films, so that they do not count."""
    ordered = any(isinstance(node, Compare) and node.op in ("<", "<=", ">", ">=") for node in walk(where))
    return ordered and not any(isinstance(node, Field) and node.key == "confidence" for node in walk(where))

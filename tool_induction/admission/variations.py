"""Variations: what changes, and what does not, if a tool is asked the same again with one thing different.

An answer must differ where the film differs. These checks need no idea of what a tool means, apart from which of its
inputs are bounds of time, and whether it promises to look at everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from tool_induction.language.expressions import Const
from world_api.core.canonical import canonical_json

_AT_LEAST = 2  #: pairs of runs that must be the same
_TURNS = (0, 1, 2, 3, 4)  #: sets of arguments on each film
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
    return bool(asked) and rest[0] == rest[1] and any(fact.existence == "present" for fact in one.probe.each)


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
        if is_answer and len(said) == 1 and len(with_all) >= _AT_LEAST and (with_less or ended):
            (value,) = said
            what = f"it is {value} too" if with_less else f"the tool ends as 'empty' ({ended[0].summary[:80]})"
            yield Weakness(
                code="one_valued",
                message=f"{item.name} is {value} in all {len(with_all) + len(with_less)} answers about films that are known; where "
                f"what is asked for is not there {what}",
                suggestion=f"compute {item.name} before any 'require' that ends the tool without it, from what can be missing",
            )


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
            limit = "top_k" if hits else "max_items"
            yield Weakness(
                code="short_lists",
                message=f"{limit} leaves out what the tool promises: on {usual.world}, asked {canonical_json(asked)[:80]}, "
                f"{output} is another if more is looked at",
                suggestion=f"raise {limit}, or promise no more than what is looked at",
            )
            return


def _widened(tool: model.Tool, *, hits: bool) -> model.Tool:
    """Return a tool with the largest max_items everywhere; with ``hits`` also the largest top_k."""
    return replace(tool, steps=tuple(_wider(step, hits) for step in tool.steps))


def _wider(step: model.Step, hits: bool) -> model.Step:
    def inside(steps: tuple[model.Step, ...]) -> tuple[model.Step, ...]:
        return tuple(_wider(one, hits) for one in steps)

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
    return step

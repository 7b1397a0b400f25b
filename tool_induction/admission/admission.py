"""Admission of compiled tools: each tool is run on trial worlds, judged by the rules and compared with the others."""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tool_induction.admission import trials
from tool_induction.admission.findings import MORE_OR_LESS
from tool_induction.admission.intents import EVERYTHING, LEAST, Intent, words_in
from tool_induction.admission.relations import Subject, relations
from tool_induction.admission.rules import (
    Admission,
    Case,
    Verdict,
    contradictions,
    entity_written_in,
    ignoring,
    notes_of,
    refusal_of,
)
from tool_induction.admission.schema_world import WORDS
from tool_induction.admission.weaknesses import Weakness, unverified, warning, weaknesses
from tool_induction.compiler.compilation import CompiledTool, calls_of
from tool_induction.language.model import Tool
from tool_induction.language.types import FLOAT, INT, NUMBER, SCORE, plain, show
from tool_induction.runtime.calls import Memo
from world_api.core.canonical import canonical_json, content_hash

#: Turns (sets of arguments): first, more if a tool found nothing or always the same, and to compare two tools.
_FIRST, _MORE, _TO_COMPARE = (0, 1), (2, 3, 4, 5), (0, 1, 2, 3)
_FULL = ("many", "crowded")
_FILMS = 3  #: crowded films in each turn, for a tool that found nothing and to compare two tools
_MIN_ANSWERS = 3  #: different answers that two tools must have in common before they count as the same
_KEPT_VERDICTS = 200  #: of the tools that were examined last

Tools = Mapping[str, CompiledTool]
#: Makes runs of the named tool, in these tools or in others.
RunOf = Callable[..., trials.Runner]

#: Results of calls on made worlds and on staged films, and verdicts by all that decides them. Rounds of an induction, and both
#: libraries of one, examine many tools that did not change.
_MEMO = Memo()
_VERDICTS: OrderedDict[str, Verdict] = OrderedDict()


def admit(
    tools: Tools,
    *,
    examples: Sequence[trials.ExampleWorld] = (),
    entities: Sequence[str] = (),
    others: Sequence[str] = (),
    monotonic: Callable[[], float] = time.monotonic,
    reuse: bool = True,
) -> Admission:
    """Run every tool on trial worlds and decide which of them enter a library.

    Args:
        tools: The compiled tools of one document, by name.
        examples: Real worlds on which the tools are tried, too.
        entities: Entities of the induction's examples; a tool that works only with these is refused.
        others: Other entities of the same kinds, used as arguments; by default built-in texts.
        monotonic: A clock in seconds. It only stops a run of more than an hour, which then counts as disturbed.
        reuse: Whether the verdict on a tool that this process examined before, with the same texts and on the same examples,
            may be the one of then; else every tool is tried now.

    Returns:
        A verdict for each tool, in the order of ``tools``. A tool that fails is refused; nothing is raised.
    """
    memo = _MEMO if reuse else Memo()

    def run_of(name: str, among: Tools = tools) -> trials.Runner:
        return partial(trials.tried, among, name, monotonic=monotonic, memo=memo)

    texts = tuple(others) or WORDS
    verdicts: dict[str, Verdict] = {}
    for name in tools:
        key = _key_of(name, tools, examples, entities, texts) if reuse else ""
        verdict = _VERDICTS.pop(key, None) or _verdict(name, tools, run_of, examples, tuple(entities), texts)
        if key and not any(run.disturbed for run in verdict.runs):
            _VERDICTS[key] = verdict
        verdicts[name] = verdict
    while len(_VERDICTS) > _KEPT_VERDICTS:
        _VERDICTS.popitem(last=False)
    _refuse_callers(tools, verdicts)
    for name, (kept, why) in _duplicates(tools, verdicts, run_of).items():
        verdicts[name] = replace(
            verdicts[name],
            admitted=False,
            reason="duplicate",
            explanation=f"it does what {kept!r} does: {why}",
            suggestion=f"drop it, or make it answer what {kept!r} does not",
            kept=kept,
        )
    return Admission(verdicts=tuple(verdicts.values()))


def _key_of(
    name: str, tools: Tools, examples: Sequence[trials.ExampleWorld], entities: Sequence[str], texts: Sequence[str]
) -> str:
    """Return a key of all that decides the verdict on a tool in this process; empty if that of an example is unknown."""
    if not all(example.key for example in examples):
        return ""
    worlds = [(example.name, example.key, example.texts) for example in examples]
    needed = [[tools[one].frozen, repr(tools[one].price)] for one in _with_callees(name, tools)]
    return content_hash([name, needed, worlds, list(entities), list(texts)])


def _with_callees(name: str, tools: Tools) -> list[str]:
    """Return the names of a tool and of all tools that it calls, directly or through others."""
    found = [name]
    for one in found:  # grows meanwhile
        found += [target for target in calls_of(tools[one].tool) if target not in found]
    return found


def _verdict(
    name: str,
    tools: Tools,
    run_of: RunOf,
    examples: Sequence[trials.ExampleWorld],
    entities: tuple[str, ...],
    texts: Sequence[str],
) -> Verdict:
    compiled, tool, run = tools[name], tools[name].tool, run_of(name)

    def made(texts: Sequence[str], turns: Sequence[int], films: int = 1) -> tuple[trials.TrialRun, ...]:
        return tuple(map(run, trials.schema_trials(tool, texts=texts, turns=turns, films=films)))

    runs = made(texts, _FIRST)
    case = Case(compiled=compiled, runs=runs)
    found = any(map(case.found, case.filled))
    if len(case.varying()) < len(case.own_outputs()) or not found:
        runs += tuple(one for one in made(texts, _MORE, 1 if found else _FILMS) if one.world in _FULL)
    runs += tuple(run(trial) for example in examples for trial in trials.example_trials(name, tools, example))
    known = (*trials.staged_worlds(), *(example for example in examples if example.facts))
    # Only there the one who is seen most often is not the one who is seen longest, and something comes very often.
    said = Intent(tool=tool).said
    known += trials.longer_worlds() if said & MORE_OR_LESS else trials.busy_worlds() if said & EVERYTHING else ()
    runs += tuple(run(trial) for world in known for trial in trials.probe_trials(name, tools, world))
    known_films = contradictions(name, tools, runs)
    # With one entity alone every input would be the same.
    with_entities = made(entities, _FIRST) if len(set(entities)) > 1 else ()
    case = Case(
        compiled=compiled,
        runs=runs,
        entity_runs=tuple(one for one in with_entities if one.world == "many"),
        entity=entity_written_in(tool, entities),
        contradicts=known_films.certain,
    )
    refusal, unread = refusal_of(case), list[str]()
    if refusal is None:
        unread = trials.unread_inputs(run, tool, texts)
        unread = [item for item in unread if not trials.reads_on_examples(runs, item)]
        refusal = ignoring(tool, unread)
    found_weak = (
        *known_films.weaknesses,
        *weaknesses(name, tools),
        *(_unread(tool, unread) if refusal is None else ()),
        *relations(Subject(name=name, tools=tools, runs=runs, run_of=partial(run_of, name), known=known)),
    )
    notes = (
        *known_films.notes,
        *unverified(name, tools),
        *notes_of(case),
        *(f"the input {item} changed nothing in the trials" for item in unread if item in _amounts(tool)),
    )
    explanation = f"it did what it declares in {len(runs)} runs"
    verdict = Verdict(
        tool=tool.name,
        admitted=True,
        reason="admitted",
        explanation=explanation,
        weaknesses=found_weak,
        notes=notes,
        compared=known_films.compared,
        runs=runs,
    )
    return verdict if refusal is None else replace(verdict, admitted=False, **vars(refusal))


def _amounts(tool: Tool) -> set[str]:
    """Return the names of the inputs that are amounts, or the least number of something."""
    kinds = {item.name: plain(item.type) for item in tool.inputs}
    return {
        name
        for name, kind in kinds.items()
        if kind in (FLOAT, NUMBER, SCORE) or (kind == INT and words_in(name) & LEAST)
    }


def _unread(tool: Tool, unread: Sequence[str]) -> Iterator[Weakness]:
    """Yield that inputs changed nothing in any trial. Amounts are left out: made films need not have what a threshold parts."""
    for item in (one for one in unread if one not in _amounts(tool)):
        yield warning("dead_input", f"{item} changed nothing in the trials, on {trials.FILMS_FOR_INPUTS + 1} films")


def _refuse_callers(tools: Tools, verdicts: dict[str, Verdict]) -> None:
    """Change ``verdicts``: refuse every tool that calls a refused one, directly or through others."""
    changed = True
    while changed:
        changed = False
        for name, verdict in verdicts.items():
            lost = [target for target in calls_of(tools[name].tool) if not verdicts[target].admitted]
            if verdict.admitted and lost:
                changed = True
                verdicts[name] = replace(
                    verdict,
                    admitted=False,
                    reason="broken_callee",
                    explanation=f"it calls {lost[0]!r}, which is refused ({verdicts[lost[0]].reason})",
                    suggestion=f"mend {lost[0]!r}, or call the operations themselves",
                )


def _duplicates(tools: Tools, verdicts: Mapping[str, Verdict], run_of: RunOf) -> dict[str, tuple[str, str]]:
    """Return the admitted tools to drop as duplicates: for each, the name of the tool that is kept, and the reason.

    Duplicates have equal plans, or gave the same answers in all trials. A tool that another one calls is never dropped;
    of others the one with the fewest calls (expected, then at most) is kept, of equals the first.
    """
    names = [name for name in tools if verdicts[name].admitted]
    called = {target for name in names for target in calls_of(tools[name].tool)}
    by_plan = _grouped(names, lambda name: _plan_hash(tools[name].tool))
    groups = [("its plan is the same", group) for group in by_plan]
    groups += [("it gave the same answers in all trials", group) for group in _alike(tools, names, verdicts, run_of)]
    dropped: dict[str, tuple[str, str]] = {}
    for why, group in groups:
        rest = [name for name in group if name not in dropped]
        if len(rest) < 2:
            continue
        prices = {name: tools[name].price for name in rest}
        kept = min(rest, key=lambda name: (name not in called, prices[name].expected.calls, prices[name].most.calls))
        dropped |= {name: (kept, why) for name in rest if name != kept and name not in called}
    return dropped


def _grouped(names: Sequence[str], key: Callable[[str], str]) -> list[list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[key(name)].append(name)
    return list(groups.values())


def _plan_hash(tool: Tool) -> str:
    """Return a hash of a tool's inputs, steps and outputs, without its name and descriptions."""
    plan = replace(tool, name="tool", description="").document()
    plan["outputs"] = {
        name: output.get("from") if isinstance(output, dict) else output for name, output in plan["outputs"].items()
    }
    for name, given in plan["inputs"].items():
        whole = given if isinstance(given, dict) else {"type": given}
        plan["inputs"][name] = {key: value for key, value in whole.items() if key != "description"}
    return content_hash(plan)


def _alike(tools: Tools, names: Sequence[str], verdicts: Mapping[str, Verdict], run_of: RunOf) -> Iterator[list[str]]:
    """Yield groups (names) of tools with equal types of inputs and outputs and the same answers in all trials.

    Runs on real worlds count, too. A group may be one tool; a tool whose types no other has is in no group.
    """
    for candidates in _grouped(names, lambda name: _signature(tools[name].tool)):
        words = tuple(dict.fromkeys(word for name in candidates for word in trials.words_of(tools[name].tool)))
        groups: list[list[str]] = []
        answers: dict[str, list[trials.TrialRun]] = {}
        for name in candidates if len(candidates) > 1 else ():
            runs = trials.schema_trials(tools[name].tool, texts=WORDS, words=words, turns=_TO_COMPARE, films=_FILMS)
            answers[name] = [*map(run_of(name), runs), *(run for run in verdicts[name].runs if run.example)]
            same = next((group for group in groups if _are_same(answers[group[0]], answers[name])), None)
            if same is None:
                groups.append([name])
            else:
                same.append(name)
        yield from groups


def _signature(tool: Tool) -> str:
    inputs = [[show(item.type), item.required] for item in tool.inputs]
    return canonical_json([inputs, sorted(show(item.type) for item in tool.outputs)])


def _are_same(one: Sequence[trials.TrialRun], other: Sequence[trials.TrialRun]) -> bool:
    """Whether two tools gave the same answers (status and outputs) in all runs; at least three answers must be different.

    Runs with different arguments (as on real worlds) and disturbed runs are not compared.
    """
    by_name = {*one[0].outputs} == {*other[0].outputs} if one and other else False
    pairs = [
        (_answer_of(first, by_name), _answer_of(second, by_name), first.status)
        for first, second in zip(one, other, strict=False)
        if (first.world, list(first.arguments.values())) == (second.world, list(second.arguments.values()))
        and not (first.disturbed or second.disturbed)
    ]
    is_same = all(first == second for first, second, _ in pairs)
    return is_same and len({answer for answer, _, status in pairs if status == "ok"}) >= _MIN_ANSWERS


def _answer_of(run: trials.TrialRun, by_name: bool) -> str:
    """Return status and outputs of a run as JSON text. ``by_name``: outputs are sorted by name, else kept in order."""
    outputs = sorted(run.outputs.items()) if by_name else list(run.outputs.values())
    return canonical_json([run.status, outputs])

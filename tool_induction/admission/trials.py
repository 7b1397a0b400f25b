"""Trial runs of a tool: their worlds and arguments, and the record of each run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import combinations
from typing import Any

from tool_induction.admission.arguments import Offer, arguments_for, found_words, length_of, made_up_ids
from tool_induction.admission.facts import Fact, facts_of
from tool_induction.admission.intents import roles_of
from tool_induction.admission.probes import Probe, probes_for
from tool_induction.admission.schema_world import DURATION, VIDEO, SchemaWorld, draw, schema_worlds
from tool_induction.admission.staged_films import staged_sessions
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.compiler.declarations import result_schema
from tool_induction.language.expressions import Compare, Const, walk
from tool_induction.language.model import Call, Tool, values, walk_steps
from tool_induction.language.types import AnyType, OptionalType
from tool_induction.library_tools import limits_for_models
from tool_induction.runtime.calls import Caller, Memo, WorldState
from tool_induction.runtime.limits import validator_of
from tool_induction.runtime.runner import run_tool
from world_api.core.canonical import canonical_json
from world_api.core.cost import Cost
from world_api.core.faults import OperationFault, ToolFault, VideoWorldError
from world_api.core.spans import TimeSpan

_CHARACTERS_PER_TOKEN = 4
_LONGEST_WORD = 60
#: Limits of steps and items end a run; the clock is only for a stuck machine, and what it ends counts as disturbed.
LIMITS = replace(limits_for_models(), seconds=3600.0)
_OFTEN = 8  #: occurrences
_OTHER_FILM = 100  #: difference between the seeds of films that get the same arguments


@dataclass(frozen=True, kw_only=True)
class ExampleWorld:
    """A world to try tools on, texts taken from it that a tool may search for, and facts that are known of it.

    ``open`` starts a session and returns its call function and state. Each run gets a new session, which is not saved,
    so that no tool reads what another one wrote. ``key``: all that results depend on besides the call; empty: it is unknown.
    """

    name: str
    video_id: str
    texts: tuple[str, ...]
    open: Callable[[], tuple[Caller, WorldState | None]]
    facts: tuple[Fact, ...] = ()
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A run that is to be made: the world, given by its call function and state, and the arguments.

    ``probe``: the facts that the arguments are about, if any are known; ``is_known``: some are known of the world.
    """

    world: str
    call: Caller
    state: WorldState | None
    arguments: Mapping[str, Any]
    example: bool = False
    is_known: bool = False
    probe: Probe | None = None


@dataclass(frozen=True, kw_only=True)
class TrialRun:
    """The record of one run of a tool on one world; ``example``: the world is a real or a staged one."""

    world: str
    arguments: Mapping[str, Any]
    status: str
    summary: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    evidence: int = 0  #: number of pieces
    cited: tuple[TimeSpan, ...] = ()  #: the spans of the evidence, in seconds
    calls: int = 0
    error: str = ""
    warnings: tuple[str, ...] = ()
    misfit: str = ""  #: the part of the result that contradicts the tool's schema
    overspent: str = ""  #: the part of the static price that it exceeded
    tokens: int = 0  #: of summary and outputs, estimated
    failed_calls: int = 0
    disturbed: bool = False  #: something else than the tool failed, such as a missing backend
    broken_off: bool = False  #: the clock ended it, which says nothing about the tool
    example: bool = False
    probe: Probe | None = None

    def record(self) -> dict[str, Any]:
        """Return the run as JSON, without its outputs."""
        record: dict[str, Any] = {"world": self.world, "arguments": dict(self.arguments)}
        record |= {key: getattr(self, key) for key in ("status", "summary", "evidence", "calls", "tokens")}
        faults = ("error", "misfit", "overspent", "broken_off")
        record |= {key: getattr(self, key) for key in faults if getattr(self, key)}
        return record | ({"warnings": list(self.warnings)} if self.warnings else {})


#: Makes a run of one tool.
Runner = Callable[[Trial], TrialRun]
FILMS_FOR_INPUTS = 3
_SURE = 2  #: pairs of runs that must have found the same before an input counts as unused


def words_of(tool: Tool) -> tuple[str, ...]:
    """Return the constant texts that a tool compares with and searches for; the films of its trials contain them."""
    found: list[str] = []
    for step in walk_steps(tool.steps):
        for _, value in values(step):
            compared = [node for node in walk(value) if isinstance(node, Compare)]
            searched = [value] if isinstance(step, Call) else []
            constants = (
                node.value for part in (*compared, *searched) for node in walk(part) if isinstance(node, Const)
            )
            found += [text[:_LONGEST_WORD] for text in constants if isinstance(text, str) and text.strip()]
    return tuple(dict.fromkeys(found))


def schema_trials(
    tool: Tool,
    *,
    texts: Sequence[str],
    words: Sequence[str] | None = None,
    turns: Sequence[int] = (0, 1),
    films: int = 1,
) -> Iterator[Trial]:
    """Yield the trials of a tool on schema worlds.

    Each turn has its own arguments. The first runs on every world, later ones only on ``many``, ``crowded`` and
    ``empty``; ``crowded`` is repeated with ``films`` different films. ``texts`` are used as arguments and occur in the
    films; so do ``words``, by default the constant texts of the tool.
    """
    worlds = schema_worlds((*(words_of(tool) if words is None else words), *texts))
    offer = _offer(tool, worlds["many"], texts)
    for turn in turns:
        for name, world in worlds.items():
            given = arguments_for(tool, offer, turn=turn, whole=turn > turns[0])
            if given is not None and (turn == turns[0] or name in ("many", "crowded", "empty")):
                seeds = [turn + _OTHER_FILM * step for step in range(films)] if name == "crowded" else [0]
                for one in map(world.of_seed, seeds):
                    yield Trial(world=name, call=one, state=one, arguments=given)


def _offer(tool: Tool, world: SchemaWorld, texts: Sequence[str]) -> Offer:
    return Offer(
        video_id=world.video_id, texts=tuple(texts) or world.film.words, duration=DURATION, named=made_up_ids(tool)
    )


def unread_inputs(run: Runner, tool: Tool, texts: Sequence[str]) -> list[str]:
    """Return the names of inputs whose change alone left status, outputs and numbers of calls and evidence the same.

    ``run`` makes a trial. The above must hold on every film, and two of an input's pairs of runs must have ended as ``ok``.
    """
    worlds = schema_worlds((*words_of(tool), *texts))
    films = [worlds["many"], *(worlds["crowded"].of_seed(seed) for seed in range(FILMS_FOR_INPUTS))]
    offer = _offer(tool, films[0], texts)
    sets = [arguments_for(tool, offer, turn=turn, whole=True) for turn in (0, 1, 2)]
    if any(given is None for given in sets):
        return []
    first, *others = [given for given in sets if given is not None]
    same_found = {key: 0 for key in first if key != VIDEO}
    for world in films:
        usual = run(Trial(world=world.name, call=world, state=world, arguments=first))
        for key in list(same_found):
            for given in ({**first, key: other[key]} for other in others if other[key] != first[key]):
                changed = run(Trial(world=world.name, call=world, state=world, arguments=given))
                if _seen_of(changed) != _seen_of(usual):
                    del same_found[key]
                    break
                same_found[key] += usual.status == "ok"
    return [key for key, times in same_found.items() if times >= _SURE]


def reads_on_examples(runs: Sequence[TrialRun], name: str) -> bool:
    """Whether two runs on one example world in which an input differs found different things."""
    real = [run for run in runs if run.example]
    return any(
        one.world == other.world
        and one.arguments.get(name) != other.arguments.get(name)
        and _seen_of(one) != _seen_of(other)
        for one, other in combinations(real, 2)
    )


def _seen_of(run: TrialRun) -> str:
    return canonical_json([run.status, dict(run.outputs), run.calls, run.evidence])


def example_trials(
    name: str, tools: Mapping[str, CompiledTool], example: ExampleWorld, *, turns: Sequence[int] = (0, 1, 2, 3)
) -> Iterator[Trial]:
    """Yield one trial per ``turn`` (set of arguments) on an example world; skip a turn if the world lacks an id.

    An input of looks, deeds, words or kinds is given those of the world, if any are known.
    """
    listings, _ = example.open()
    tool = tools[name].tool
    present = [fact for fact in example.facts if fact.existence == "present"]
    known = {
        item: list(dict.fromkeys(fact.text for fact in present if fact.kind == role))
        for item, role in roles_of(name, tools).items()
    }
    offer = Offer(
        video_id=example.video_id,
        texts=tuple(dict.fromkeys(example.texts)),
        duration=length_of(listings, example.video_id),
        named={
            **found_words(tool, listings, example.video_id),
            **{item: texts for item, texts in known.items() if texts},
        },
    )
    for turn in turns:
        given = arguments_for(tool, offer, turn=turn)
        if given is not None:
            call, state = example.open()
            is_known = bool(example.facts)
            yield Trial(world=example.name, call=call, state=state, arguments=given, example=True, is_known=is_known)


def probe_trials(name: str, tools: Mapping[str, CompiledTool], world: ExampleWorld) -> Iterator[Trial]:
    """Yield a trial for each probe of a tool on a world of which facts are known."""
    listings, _ = world.open()
    tool, roles, duration = tools[name].tool, roles_of(name, tools), length_of(listings, world.video_id)
    for probe in probes_for(tool, roles, world.facts, video_id=world.video_id, duration=duration):
        call, state = world.open()
        given = probe.arguments
        yield Trial(world=world.name, call=call, state=state, arguments=given, example=True, is_known=True, probe=probe)


def staged_worlds() -> tuple[ExampleWorld, ...]:
    """Return the staged films as worlds whose facts are known; each run gets a new session."""
    return tuple(map(_staged, range(len(staged_sessions()))))


def longer_worlds() -> tuple[ExampleWorld, ...]:
    """Return the staged films with more at their end."""
    return tuple(_staged(place, longer=True) for place in range(len(staged_sessions())))


def busy_worlds() -> tuple[ExampleWorld, ...]:
    """Return the longer films with the facts of deeds and words that come very often alone; stays may be sampled."""
    worlds = longer_worlds()
    often = [tuple(fact for fact in world.facts if len(fact.spans) >= _OFTEN) for world in worlds]
    often = [tuple(fact for fact in facts if fact.kind not in ("looks", "category")) for facts in often]
    return tuple(replace(world, facts=facts) for world, facts in zip(worlds, often, strict=True))


@cache
def _staged(place: int, *, longer: bool = False) -> ExampleWorld:
    from world_api.operations import run

    session = staged_sessions(longer=longer)[place]

    def fresh() -> tuple[Caller, WorldState]:
        opened = staged_sessions(longer=longer)[place]
        return partial(run, opened), opened

    return ExampleWorld(name=session.video_id, video_id=session.video_id, texts=(), open=fresh, facts=facts_of(session))


class _Watched:
    """Wraps a world's call function: counts failed calls and notes if one failed for a reason outside of the tool."""

    def __init__(self, call: Caller) -> None:
        self._call = call
        self.failed = 0
        self.disturbed = False

    def __call__(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._call(name, arguments)
        except VideoWorldError as fault:
            self.failed += 1
            self.disturbed = self.disturbed or not isinstance(fault, OperationFault | ToolFault)
            raise


def tried(
    tools: Mapping[str, CompiledTool],
    name: str,
    trial: Trial,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    memo: Memo | None = None,
) -> TrialRun:
    """Run a tool once and return the record; a fault is recorded, not raised. ``MadeUpJudge`` answers judge steps.

    ``memo``: results of calls, shared by the runs on made worlds and on those whose facts are known.
    """
    compiled = tools[name]
    facts: dict[str, Any] = {"world": trial.world, "arguments": dict(trial.arguments), "example": trial.example}
    facts["probe"] = trial.probe
    watched, start = _Watched(trial.call), monotonic()
    is_shared = trial.state is not None and (trial.is_known or not trial.example)
    try:
        result = run_tool(
            tools,
            name,
            trial.arguments,
            call=watched,
            world=trial.state,
            memo=memo if memo is not None and is_shared else Memo(),
            limits=LIMITS,
            monotonic=monotonic,
            judge=MadeUpJudge(),
        )
    except VideoWorldError as fault:
        return TrialRun(status="error", error=f"{fault.code}: {fault.message}", **facts)
    broken_off = monotonic() - start > LIMITS.seconds
    error = result.get("error")
    return TrialRun(
        status=result["status"],
        summary=result["summary"],
        outputs=result["outputs"],
        evidence=len(result["evidence"]),
        cited=tuple(TimeSpan(start=piece["start_time"], end=piece["end_time"]) for piece in result["evidence"]),
        calls=result["calls"]["logical"],
        error=f"{error['code']}: {error['message']}" if isinstance(error, dict) else "",
        warnings=tuple(result["warnings"]),
        misfit=_misfit(compiled, result),
        overspent=_overspent(compiled, result),
        disturbed=watched.disturbed or broken_off,
        broken_off=broken_off,
        failed_calls=watched.failed,
        tokens=len(json.dumps([result["summary"], result["outputs"]], ensure_ascii=False)) // _CHARACTERS_PER_TOKEN,
        **facts,
    )


def _misfit(compiled: CompiledTool, result: Mapping[str, Any]) -> str:
    """Return a message about what in the result contradicts the tool's schema or types, or an empty text."""
    error = next(iter(validator_of(canonical_json(result_schema(compiled.tool))).iter_errors(result)), None)
    if error is not None:
        return f"{'.'.join(map(str, error.absolute_path))}: {str(error.message)[:160]}"
    if result["status"] == "ok":
        for item in compiled.tool.outputs:
            if result["outputs"].get(item.name) is None and not isinstance(item.type, OptionalType | AnyType):
                return f"outputs.{item.name}: null although the tool ran to its end"
    return ""


def _overspent(compiled: CompiledTool, result: Mapping[str, Any]) -> str:
    """Return a message about the first part of the cost (calls, tokens ...) above the compiler's maximum, or an empty text."""
    most = compiled.price.most.record()
    for part, spent in result["cost"].items():
        if part in Cost().record() and spent > most[part] + 1e-6:
            return f"{spent:g} {part}, at most {most[part]:g} were announced"
    return ""


class MadeUpJudge:
    """A judge without a model: its answers are chosen by a hash of question and item."""

    name = "made-up"

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """Return one of the answers for each item, in order."""
        return [answers[draw(question, item) % len(answers)] for item in items]

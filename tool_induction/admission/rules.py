"""The verdicts of admission and its rules: each rule examines the runs and the plan of one tool and may refuse it.

A rule must be certain: it compares runs with each other, and what a tool says with what a film is known to hold as far as
its names and its description say what it means. What is not certain is a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tool_induction.admission.arguments import is_interval
from tool_induction.admission.census import census
from tool_induction.admission.comparisons import of_several
from tool_induction.admission.consistency import inconsistencies
from tool_induction.admission.findings import claim_of, findings_of, is_evidence, judged
from tool_induction.admission.intents import Intent
from tool_induction.admission.schema_world import VIDEO
from tool_induction.admission.trials import TrialRun
from tool_induction.admission.weaknesses import Weakness, behind, origins_of, warning
from tool_induction.compiler.advice import entities_in
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language import model
from tool_induction.language.evaluation import Json
from tool_induction.language.expressions import Const, names, walk
from tool_induction.language.types import BOOL, TIME, EnumType, ListType, RecordType, is_numeric, plain
from world_api.core.canonical import canonical_json

MANY_TOKENS = 150
_WRONG_CALL = "bad_"  #: prefix of the codes of faults in a call or in a computed value
_FAILING = ("failing", "failing_some")
_NOTHING: tuple[Json, ...] = (None, "", [], {})


#: Why a tool is admitted or not; the list is closed and in the order of the rules.
Reason = Literal[
    "admitted", "disturbed", "fails", "over_price", "over_budget", "wrong_type", "invents", "swallows_errors",
    "only_examples", "always_empty", "constant", "ignores_inputs", "no_evidence", "contradicts", "broken_callee", "duplicate",
]  # fmt: skip
REASONS: frozenset[str] = frozenset(get_args(Reason))


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The reason why a tool is not admitted, and a suggestion how to correct it."""

    reason: Reason
    explanation: str
    suggestion: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one tool.

    ``weaknesses`` are warnings, each of which names a fault; ``notes`` are remarks. Neither refuses a tool. ``compared``: for each
    output how many of its answers were compared with facts of films that are known. ``kept`` is the tool that it duplicates.
    """

    tool: str
    admitted: bool
    reason: Reason
    explanation: str
    suggestion: str = ""
    weaknesses: tuple[Weakness, ...] = ()
    notes: tuple[str, ...] = ()
    compared: Mapping[str, int] = field(default_factory=dict)
    kept: str = ""
    runs: tuple[TrialRun, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the verdict as JSON."""
        keys = ("tool", "admitted", "reason", "explanation", "suggestion")
        record = {key: getattr(self, key) for key in keys}
        record |= {"weaknesses": [item.record() for item in self.weaknesses], "notes": list(self.notes)}
        record["compared"] = dict(self.compared)
        kept = {"kept": self.kept} if self.kept else {}
        return {**record, **kept, "runs": [run.record() for run in self.runs]}


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The verdicts on a library's tools, in the order of the tools."""

    verdicts: tuple[Verdict, ...]

    @property
    def admitted(self) -> tuple[str, ...]:
        """Names of the admitted tools."""
        return tuple(item.tool for item in self.verdicts if item.admitted)

    @property
    def unpruned(self) -> tuple[str, ...]:
        """Names of the admitted tools and of those refused as duplicates, which an unpruned library keeps."""
        return tuple(item.tool for item in self.verdicts if item.admitted or item.reason == "duplicate")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A tool and its runs.

    ``entity_runs`` have entities of the induction's examples as arguments, ``runs`` have others; ``entity`` is a text
    of the tool that contains one of these entities (empty: there is none); ``contradicts`` are its certain contradictions.
    """

    compiled: CompiledTool
    runs: tuple[TrialRun, ...]
    entity_runs: tuple[TrialRun, ...] = ()
    entity: str = ""
    contradicts: tuple[str, ...] = ()

    @property
    def clean(self) -> list[TrialRun]:
        """Runs on worlds without planted failures, in which nothing outside the tool failed."""
        return [run for run in self.runs if run.world not in _FAILING and not run.disturbed]

    @property
    def filled(self) -> list[TrialRun]:
        """Clean runs on worlds that are not empty."""
        return [run for run in self.clean if run.world != "empty"]

    def on(self, world: str) -> list[TrialRun]:
        """Return the runs on the world of this name."""
        return [run for run in self.runs if run.world == world]

    def own_outputs(self) -> list[model.Output]:
        """Return the outputs that are computed from anything besides the inputs."""
        inputs = {item.name for item in self.compiled.tool.inputs}
        outputs = self.compiled.tool.outputs
        return [item for item in outputs if item.source is not None and names(item.source) - inputs]

    def varying(self) -> list[model.Output]:
        """Return the outputs of ``own_outputs`` that had different values in the clean runs."""
        return [
            item
            for item in self.own_outputs()
            if len({canonical_json(run.outputs.get(item.name)) for run in self.clean}) > 1
        ]

    def found(self, run: TrialRun) -> bool:
        """Whether a run ended as ``ok`` and one of ``own_outputs`` is neither null nor empty in it.

        On example worlds, where words may not be judged, an honest ``partial`` counts, too.
        """
        is_honest = run.example and run.status == "partial" and not run.failed_calls
        return (run.status == "ok" or is_honest) and any(
            run.outputs.get(item.name) not in _NOTHING for item in self.own_outputs()
        )


def refusal_of(case: Case) -> Refusal | None:
    """Return the refusal by the first of the rules of admission (``_RULES``) that a tool breaks; None if it breaks none."""
    for reason, rule, suggestion in _RULES:
        explanation = next(rule(case), None)
        if explanation is not None:
            return Refusal(reason=reason, explanation=explanation, suggestion=suggestion)
    return None


def _disturbed(case: Case) -> Iterator[str]:
    if any(run.broken_off and not run.example for run in case.runs):
        yield "a trial on a made world was stopped by the clock: the machine was too slow, nothing is known about the tool"


def _fails(case: Case) -> Iterator[str]:
    ended = [run for run in case.clean if run.status == "error" and not run.example]
    real = [run for run in case.clean if run.example]
    # A real world may lack what a trial happened to ask for; a wrong call is a fault of the tool.
    if not ended and all(run.error.startswith(_WRONG_CALL) for run in real):
        ended = real
    for run in ended:
        yield f"on the world {run.world!r}, where nothing is wrong, it ends in {run.error}"
    if case.filled and all(run.status == "partial" and run.failed_calls for run in case.filled):
        said = [*case.filled[0].warnings, case.filled[0].summary][0]
        yield f"in every run some of its calls fail although nothing is wrong with the world: {said}"


def _over_price(case: Case) -> Iterator[str]:
    return (f"on the world {run.world!r} it used {run.overspent}" for run in case.runs if run.overspent)


def _over_budget(case: Case) -> Iterator[str]:
    for run in case.runs:
        if run.status == "budget_exhausted" and not run.disturbed and run.world != "crowded":
            yield f"on the world {run.world!r} it {run.summary.removeprefix('budget_exhausted: ')}"


def _misfits(case: Case) -> Iterator[str]:
    for run in case.runs:
        if run.misfit:
            yield f"on the world {run.world!r} its result is not what it declares: {run.misfit}"


def _invents(case: Case) -> Iterator[str]:
    """Yield an explanation for each of ``varying`` that has one value, not empty, in all ``ok`` runs on the empty world.

    The output must be a time, an interval, a confidence, or a number with a fraction that is written in the tool.
    """
    empty = [run for run in case.on("empty") if run.status == "ok"]
    for item in case.varying() if len(empty) > 1 else ():
        value: Json = empty[0].outputs.get(item.name)
        given = {canonical_json(run.outputs.get(item.name)) for run in empty}
        is_claim = _is_a_finding(item) or has_fraction_written_in(case.compiled.tool, value)
        if len(given) == 1 and value not in _NOTHING and is_claim:
            yield f"on a world where nothing is to be found it ends as 'ok' with {item.name} = {canonical_json(value)[:60]}"


def _is_a_finding(item: model.Output) -> bool:
    """Whether an output is a time, an interval or a confidence (or a list of these), which have no neutral value."""
    type_ = plain(item.type)
    inner = plain(type_.item) if isinstance(type_, ListType) else type_
    if isinstance(inner, RecordType):
        return is_interval(inner)
    named = item.name.endswith(("_time", "timestamp", "confidence"))
    return inner == TIME or (named and is_numeric(inner))


def _swallows(case: Case) -> Iterator[str]:
    for run in (run for world in _FAILING for run in case.on(world)):
        if run.failed_calls and run.status in ("ok", "empty") and not run.warnings:
            yield f"{run.failed_calls} of its calls failed, and it ends as {run.status!r} without a warning"
    for run in case.on("failing"):
        if run.status != "error" and run.failed_calls >= max(1, run.calls):
            for item in case.varying():
                value = run.outputs.get(item.name)
                if isinstance(value, int | float | str) and value != "":
                    shown = canonical_json(value)[:60]
                    yield f"every one of its calls failed, and it still answers {item.name} = {shown}"


def _always_empty(case: Case) -> Iterator[str]:
    if case.filled and not any(map(case.found, case.filled)):
        last = next((run for run in case.filled if run.world == "many"), case.filled[0]).summary
        yield f"it found nothing on any of {len(case.filled)} worlds that hold plenty; the last it said is {last!r}"


def _is_constant(case: Case) -> Iterator[str]:
    if not case.filled:
        return
    fixed = fixed_answer(case.compiled)
    if fixed is not None:
        yield f"nothing its calls found has a part in its first output, {fixed.name}"
    answers = {
        canonical_json([run.status, {item.name: run.outputs.get(item.name) for item in case.own_outputs()}])
        for run in case.clean
    }
    if len(answers) == 1:
        yield f"it gave the same answer in all of {len(case.clean)} runs, on empty and full worlds, for every question"


def _without_evidence(case: Case) -> Iterator[str]:
    found = [run for run in case.filled if case.found(run)]
    if found and not any(run.evidence for run in found):
        yield "it finds something and shows nothing that it could be checked by"


def _contradicts(case: Case) -> Iterator[str]:
    return (f"what it says is not so: {found}" for found in case.contradicts)


def _only_examples(case: Case) -> Iterator[str]:
    if case.entity:
        yield f"it contains {case.entity[:80]!r}, which only the examples are about"
    others = [run for run in case.filled if run.world in ("many", "crowded")]
    if others and any(map(case.found, case.entity_runs)) and not any(map(case.found, others)):
        yield "it finds something only when it is asked about the entities of the examples it was made from"


#: In their order: the reason, the rule, which yields explanations, and the suggestion.
_RULES: tuple[tuple[Reason, Callable[[Case], Iterator[str]], str], ...] = (
    ("disturbed", _disturbed, "try again; the tool need not change"),
    (
        "fails",
        _fails,
        "say with 'require' what the step needs before it, or take the value from a result that always has it",
    ),
    ("over_price", _over_price, "give its loops max_items"),
    ("over_budget", _over_budget, "give its loops smaller max_items, or its searches a smaller top_k"),
    (
        "wrong_type",
        _misfits,
        "declare the output as what it is; one that may be missing is 'optional', such as \"number?\"",
    ),
    ("only_examples", _only_examples, "take what is looked for from the inputs, not from the examples"),
    (
        "always_empty",
        _always_empty,
        "look at its conditions: is one of them never true, or does a step read a list that is always empty?",
    ),
    ("constant", _is_constant, "bind the outputs to what the steps find, or leave them out"),
    (
        "invents",
        _invents,
        "leave out the default, declare the output as optional, or end with 'require' and status 'empty'",
    ),
    (
        "swallows_errors",
        _swallows,
        "leave 'on_error' out of the calls that the answer rests on, or declare the output as optional and let it be none "
        "where a part of it is",
    ),
    (
        "no_evidence",
        _without_evidence,
        "bind the outputs to items that carry evidence, or add an output from collect_evidence",
    ),
    (
        "contradicts",
        _contradicts,
        "look at which item the output is bound to, whether each hit is verified, and what is given where nothing is found",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Contradictions:
    """What the answers of a tool contradict: for certain, as a weakness that has a name, and as a note."""

    certain: tuple[str, ...] = ()
    weaknesses: tuple[Weakness, ...] = ()
    notes: tuple[str, ...] = ()
    compared: Mapping[str, int] = field(default_factory=dict)


def contradictions(name: str, tools: Mapping[str, CompiledTool], runs: Sequence[TrialRun]) -> Contradictions:
    """Return what the probes among the runs of a tool contradict."""
    intent = Intent(tool=tools[name].tool)
    probed = [(run.probe, run) for run in runs if run.probe is not None and not run.disturbed]
    found = [
        one for probe, run in probed for one in (*findings_of(intent, probe, run), *of_several(intent, probe, run))
    ]
    alone = [one for probe, run in probed if run.status == "ok" for one in inconsistencies(intent, run, probe.duration)]
    found += [one for probe, run in probed if run.status == "ok" for one in census(intent, probe, run)]
    certain, noted = judged([*found, *alone])
    number = Counter(one.output for one in found)
    compared = {item.name: number[item.name] for item in intent.tool.outputs if not is_evidence(item)}
    said = [(flaw, f"in {len(probed)} runs on films that are known: {text}") for flaw, text in noted]
    return Contradictions(
        certain=tuple(certain),
        weaknesses=(
            *(warning(flaw, text) for flaw, text in said if flaw),
            *_uncompared(intent, compared, [run for _, run in probed]),
        ),
        notes=tuple(text for flaw, text in said if not flaw),
        compared=compared,
    )


def _uncompared(intent: Intent, compared: Mapping[str, int], probed: Sequence[TrialRun]) -> Iterator[Weakness]:
    """Yield that the answer of a tool claims what could be compared, and that no output ever was."""
    first = next((item for item in intent.tool.outputs if item.name in compared), None)
    if first is not None and not any(compared.values()) and claim_of(intent, first):
        why = f"names and descriptions do not say what {claim_of(intent, first)} it is, or of what"
        if not any(run.status == "ok" for run in probed):
            why = (
                f"none of {len(probed)} runs on them ended as 'ok'"
                if probed
                else "no question about them fits its inputs"
            )
        said = f"admission could not compare {first.name}, or any other output, with films that are known: {why}"
        yield warning("not_compared", said)


def notes_of(case: Case) -> Iterator[str]:
    """Yield sentences about a tool that are no reason to refuse it: large results, constant outputs, failed calls ..."""
    longest = max((run.tokens for run in case.runs), default=0)
    if longest > MANY_TOKENS:
        yield f"a result has up to {longest} tokens; about {MANY_TOKENS} are read with ease"
    varying = {item.name for item in case.varying()}
    for item in case.own_outputs():
        values = [run.outputs.get(item.name) for run in case.clean]
        if item.name not in varying and values and values[0] not in _NOTHING:
            yield f"the output {item.name} was {canonical_json(values[0])[:60]} in all {len(values)} runs"
        elif item.name not in varying and values:
            yield f"the output {item.name} was empty in all {len(values)} runs"
    cut = [run for run in case.clean if run.world == "crowded" and run.status == "budget_exhausted"]
    if cut:
        yield f"where much happens it {cut[0].summary.removeprefix('budget_exhausted: ')}"
    if any(run.broken_off for run in case.runs):
        yield "a trial took so long that it was stopped, and does not count"
    lost = [run for run in case.clean if run.status == "partial" and run.failed_calls]
    if lost:
        yield f"some calls failed on the world {lost[0].world!r} although nothing is wrong with it"
    real = [run for run in case.runs if run.example]
    failed = [run for run in real if run.status == "error"]
    if failed:
        yield f"on the world {failed[0].world!r} it ended in {failed[0].error}"
    if real and not any(case.found(run) for run in real):
        yield f"it found nothing on {', '.join(sorted({run.world for run in real}))}"


def fixed_answer(compiled: CompiledTool) -> model.Output | None:
    """Return the first of a tool's outputs; None if it depends on a call, judgement or input. Others are not examined.

    Such an output is the same on every video. A boolean or an enumerated value after a ``require`` counts as dependent
    on that condition.
    """
    tool, moving = compiled.tool, origins_of(compiled.tool.name, {compiled.tool.name: compiled})
    first = next(iter(tool.outputs), None)
    if first is None or first.source is None or behind(first.source, moving):
        return None
    is_word = plain(first.type) == BOOL or isinstance(plain(first.type), EnumType)
    conditions = [step.condition for step in model.walk_steps(tool.steps) if isinstance(step, model.Require)]
    return None if is_word and any(behind(condition, moving) for condition in conditions) else first


def entity_written_in(tool: model.Tool, entities: Sequence[str]) -> str:
    """Return a constant text of a step or an output that contains an entity of the examples, or an empty text.

    Names, descriptions, reasons and defaults of inputs do not count.
    """
    for path, text, _ in entities_in(tool, entities):
        place = path[len(tool.path) :]
        if place[-1:] != ("reason",) and (place[:1] == ("steps",) or (place[:1] == ("outputs",) and "from" in place)):
            return text
    return ""


def has_fraction_written_in(tool: model.Tool, value: object) -> bool:
    """Whether the value is a number with a fraction that is written in the tool."""
    if not isinstance(value, float) or value.is_integer():
        return False
    held = [inner for step in model.walk_steps(tool.steps) for _, inner in model.values(step)]
    held += [item.source for item in tool.outputs if item.source is not None]
    return any(isinstance(node, Const) and node.value == value for whole in held for node in walk(whole))


def ignoring(tool: model.Tool, unread: Sequence[str]) -> Refusal | None:
    """Return a refusal if all required inputs (the video aside) are among ``unread``; None otherwise, or if none is required."""
    wanted = [item.name for item in tool.inputs if item.required and item.name != VIDEO]
    if not wanted or not set(wanted) <= set(unread):
        return None
    return Refusal(
        reason="ignores_inputs",
        explanation=f"nothing it did depended on {', '.join(wanted)}, although each was varied on several films",
        suggestion="use what is asked for in the steps, or leave out inputs that nothing reads",
    )

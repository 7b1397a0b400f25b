"""Pass 4c: types of steps, loops and judge steps; defaults and conversions are made explicit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tool_induction import limits
from tool_induction.checker import ranges
from tool_induction.checker.aggregates import check_aggregate
from tool_induction.checker.environment import Environment, Fact, facts_of, is_path, joined_field, list_field
from tool_induction.checker.expressions import Inference
from tool_induction.checker.operands import base_name, implicit_require, refuse_score_argument
from tool_induction.checker.values import check_constant, want, want_list
from tool_induction.language import expressions as ex, model, types as ty
from tool_induction.language.diagnostics import Findings
from world_api.operations import EVERY_OPERATION


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The types of a tool's inputs and outputs, by name, for the tools that call it."""

    inputs: Mapping[str, ty.Type]
    outputs: Mapping[str, ty.Type]


class StepChecker:
    """Infers and checks the types of the steps of one tool."""

    def __init__(self, signatures: Mapping[str, Signature], findings: Findings) -> None:
        self._signatures = signatures
        self._findings = findings
        self._inputs: frozenset[str] = frozenset()
        #: inputs that are texts to search for or to describe by -> the parameter that they are given to
        self._texts: dict[str, str] = {}
        #: those of them that are given to memories, which may mention ids
        self._kept: set[str] = set()
        #: the steps at which the tool may end as ``ok``, and what is known there
        self.answers: list[tuple[model.Require, Environment]] = []

    def tool(self, tool: model.Tool) -> tuple[tuple[model.Step, ...], Environment]:
        """Check a tool's steps. Return them with defaults and conversions explicit, and the environment after them."""
        inputs = {item.name: item.type for item in tool.inputs}
        self._inputs = frozenset(inputs)
        calls = (step for step in model.walk_steps(tool.steps) if isinstance(step, model.Call) and step.kind == "api")
        given_to = ((step, name, value) for step in calls for name, value in step.params if isinstance(value, ex.Name))
        texts = [(step.target, name, value.name) for step, name, value in given_to if is_text(step.target, name)]
        self._texts = {given: name for _, name, given in texts}
        self._kept = {given for target, _, given in texts if EVERY_OPERATION[target].category == "memory"}
        given = {item.name: item.default.value for item in tool.inputs if item.default is not None}
        blank: list[Fact] = [
            ("joined", name) for name, value in given.items() if isinstance(value, str) and not value.strip()
        ]
        refused = {item.path for item in self._findings.items}
        wrong = {item.name for item in tool.inputs if (*item.path, "default") in refused}
        usual = {name: value for name, value in given.items() if value is not None and name not in wrong}
        environment = Environment(types=inputs, defaults=usual)
        environment = environment.assume(blank)  # a blank default is like a text joined from nothing
        return self.block(tool.steps, environment, outermost=True)

    def block(
        self, steps: tuple[model.Step, ...], environment: Environment, *, loops: int = 0, outermost: bool = False
    ) -> tuple[tuple[model.Step, ...], Environment]:
        """Check a block. Return its steps with defaults and conversions made explicit, and the environment after it.

        ``loops``: how many loops are around it; ``outermost``: ``require`` steps may be added.
        """
        done: list[model.Step] = []
        for step in steps:
            if outermost:
                required, environment = self._demanded(step, environment)
                done.extend(required)
            written, after = self._step(step, environment, loops)
            environment = self._saved(step, environment, after).vary(model.binds(step), _decided_by(step))
            done.append(written)
        return tuple(done), environment

    def _saved(self, step: model.Step, before: Environment, after: Environment) -> Environment:
        """Return the environment after a step; what a faulty one saves is unknown, so that its fault is reported once.

        A name that was bound before keeps its first value.
        """
        if isinstance(step, model.If | model.Require) or not self._findings.faulty(step.path):
            return after
        return before if step.save_as in before.types else before.bind(step.save_as, ty.ANY)

    def _demanded(self, step: model.Step, environment: Environment) -> tuple[list[model.Step], Environment]:
        """Return ``require`` steps for the values that an unconditional step needs, and the environment after them.

        Without such a value the tool ends as ``empty``. In a branch, in a loop or with ``on_error`` nothing is added:
        there the author of the tool must decide.
        """
        required: list[model.Step] = []
        if not isinstance(step, model.Aggregate) and not (
            isinstance(step, model.Call) and not step.loop and step.on_error == "fail"
        ):
            return required, environment
        while len(required) < limits.MAX_STEPS:
            at = Inference(environment, Findings(), step.path)
            at.demands = []
            if isinstance(step, model.Aggregate):
                check_aggregate(step, environment, at)
            else:
                self._params(step, at)
            first = next((demand for demand in at.demands if base_name(demand.of) not in self._inputs), None)
            if first is None:
                break
            require = implicit_require(first, self._findings)
            required.append(require)
            environment = environment.assume(facts_of(require.condition, environment))
        return required, environment

    def _step(self, step: model.Step, environment: Environment, loops: int) -> tuple[model.Step, Environment]:
        match step:
            case model.Call():
                return self._call(step, environment, loops)
            case model.Block():
                return self._loop_block(step, environment, loops)
            case model.Filter():
                return self._filter(step, environment)
            case model.Project():
                return self._project(step, environment)
            case model.Aggregate():
                return check_aggregate(step, environment, Inference(environment, self._findings, step.path))
            case model.Set():
                return self._set(step, environment)
            case model.JudgeStep():
                return check_judge(step, environment, Inference(environment, self._findings, step.path))
            case model.If():
                return self._if(step, environment, loops)
            case model.Require():
                return self._require(step, environment)

    def _call(self, step: model.Call, environment: Environment, loops: int) -> tuple[model.Step, Environment]:
        at = Inference(environment, self._findings, step.path)
        inside, loop, rows = environment, None, None
        if step.loop is not None:
            loop, rows = self._loop(step.loop, at, loops)
            inside = environment.walk(loop.variable, rows.item, loop.over, loop=True)
        params = self._params(step, Inference(inside, self._findings, step.path))
        step = replace(step, params=params)
        result = self._result(step)
        if loop is None or rows is None:
            return step, environment.bind(step.save_as, result if step.on_error == "fail" else ty.optional(result))
        return self._collected(step, loop, rows, result, inside, environment)

    def _collected(
        self,
        step: model.Call | model.Block,
        loop: model.Loop,
        rows: ty.ListType,
        result: ty.Type,
        inside: Environment,
        environment: Environment,
    ) -> tuple[model.Step, Environment]:
        """Return a loop step, and the environment in which its name is bound to the list of its results.

        ``result`` is the type of one item's result, ``inside`` the environment at the end of an iteration.
        """
        collected, flattens = loop_items(rows.item, ty.plain(result), loop)
        if flattens is None and (step.on_error == "null" or isinstance(result, ty.OptionalType)):
            collected = replace(collected, item=ty.optional(collected.item))
        keeps = isinstance(step, model.Call) and rows.filled and flattens is None and step.on_error != "skip"
        collected = replace(collected, filled=keeps)
        if loop.until is not None:
            at = Inference(inside.bind(step.save_as, collected), self._findings, (*step.path, "until"))
            loop = replace(loop, until=ranges.whole_condition(at, loop.until))
        return replace(step, loop=loop, flattens=flattens), environment.bind(step.save_as, collected)

    def _loop(self, loop: model.Loop, at: Inference, loops: int) -> tuple[model.Loop, ty.ListType]:
        if loops >= limits.MAX_LOOP_DEPTH:
            at.note("E_DEPTH", f"loops nest more than {limits.MAX_LOOP_DEPTH} deep", suggestion="loop over a flat list")
        with at.at("loop_over"):
            over = want_list(at, loop.over, "a loop")
        return bounded(replace(loop, over=over.expr), over.type, at), over.type

    def _params(self, step: model.Call, at: Inference) -> tuple[tuple[str, ex.Expr], ...]:
        wanted: Mapping[str, ty.Type] = {}
        if step.kind == "tool":
            wanted = self._signatures[step.target].inputs if step.target in self._signatures else {}
        elif step.target in EVERY_OPERATION:
            wanted = ty.operation_types(step.target).parameters
        done: list[tuple[str, ex.Expr]] = []
        at.in_call = True
        for name, value in step.params:
            with at.at("params", name):
                if name in wanted:
                    before = at.findings.errors
                    written = want(at, value, wanted[name], name)
                    refuse_score_argument(at, written, wanted[name], name)
                    if (
                        step.kind == "api"
                        and name.endswith("_id")
                        and isinstance(value, ex.Name)
                        and value.name in self._texts
                        and (name == "video_id" or value.name not in self._kept)
                    ):
                        message = f"{value.name} is given as {self._texts[value.name]}, a text, so it is no {name}"
                        at.note("E_TYPE", message, suggestion="take the id as an input of its own")
                    if step.kind == "api":
                        written = ranges.within_video(at, step.target, name, written)
                    if step.kind == "api" and at.findings.errors == before:
                        check_constant(at, step.target, name, written)
                else:
                    written = at.infer(value).expr
            done.append((name, written))
        if step.kind == "api":
            with at.at("params"):
                ranges.check_span(at, dict(done))
        return tuple(done)

    def _result(self, step: model.Call) -> ty.Type:
        if step.kind == "tool":
            known = self._signatures.get(step.target)
            return ty.ANY if known is None else tool_result(known.outputs)
        return operation_result(step.target, dict(step.params)) if step.target in EVERY_OPERATION else ty.ANY

    def _loop_block(self, step: model.Block, environment: Environment, loops: int) -> tuple[model.Step, Environment]:
        at = Inference(environment, self._findings, step.path)
        loop, rows = self._loop(step.loop, at, loops)
        inside = environment.walk(loop.variable, rows.item, loop.over, loop=True)
        body, after_body = self.block(step.body, inside, loops=loops + 1)
        last = next((model.binds(inner)[-1] for inner in reversed(body) if model.binds(inner)), None)
        result = after_body.type_of(last) if last is not None else ty.ANY
        if last is None and not self._findings.faulty(step.path):
            at.note("E_SHAPE", "the block of a loop binds nothing; its last binding step gives each item's value")
        return self._collected(replace(step, body=body), loop, rows, result, after_body, environment)

    def _rows(
        self, step: model.Filter | model.Project, environment: Environment, what: str
    ) -> tuple[ex.Expr, ty.ListType, Inference]:
        """Return the list that a step works on, its type, and the inference for an item of it. ``what``: for messages."""
        at = Inference(environment, self._findings, step.path)
        with at.at("inputs"):
            rows = want_list(at, step.inputs, what)
        inside = environment.walk("item", rows.type.item, rows.expr)
        return rows.expr, rows.type, Inference(inside, self._findings, step.path)

    def _filter(self, step: model.Filter, environment: Environment) -> tuple[model.Step, Environment]:
        rows, type_, inside = self._rows(step, environment, "a filter")
        with inside.at("where"):
            where = ranges.whole_condition(inside, step.where)
        facts = facts_of(where, inside.environment)
        typical = None if type_.typical is None else max(1, (type_.typical + 1) // 2)
        kept = replace(type_, item=known_item(type_.item, facts), filled=False, typical=typical, name="")
        return replace(step, inputs=rows, where=where), environment.bind(step.save_as, kept)

    def _project(self, step: model.Project, environment: Environment) -> tuple[model.Step, Environment]:
        rows, type_, inside = self._rows(step, environment, "a projection")
        item = ty.plain(type_.item)
        item = ty.RecordType(fields=(), is_open=True) if isinstance(item, ty.AnyType) else item
        kept = {key: item.get(key) for key in (*TIMES, "evidence")} if isinstance(item, ty.RecordType) else {}
        made = {key: have for key, have in kept.items() if have is not None}
        fields: list[tuple[str, ex.Expr]] = []
        for key, value in step.fields:
            with inside.at("fields", key):
                typed = inside.infer(value)
                ranges.check_value(inside, typed)
                if key in TIMES and not ty.is_numeric(ty.plain(typed.type)) and typed.type != ty.NULL:
                    message = f"{key} is a time in seconds, and this is {ty.show(typed.type)}"
                    inside.note("E_TYPE", message, suggestion="give the field another name, such as 'when'")
                is_time = key in (*TIMES, "timestamp")
                written = ranges.from_the_start(inside, typed.expr) if is_time else typed.expr
            fields.append((key, written))
            made.pop(key, None)
            made[key] = ranges.named_type(inside, written, typed.type)
        with inside.at("fields"):
            ranges.check_span(
                inside, {key: ex.Field(ex.Name("item"), key) for key in made} | dict(fields), moments=True
            )
        record = ty.RecordType(fields=tuple(made.items()))
        after = environment.bind(step.save_as, replace(type_, item=record, name="")).measure(step.save_as, rows)
        return replace(step, inputs=rows, fields=tuple(fields)), after

    def _set(self, step: model.Set, environment: Environment) -> tuple[model.Step, Environment]:
        at = Inference(environment, self._findings, step.path)
        with at.at("value"):
            typed = at.infer(step.value)
            ranges.check_value(at, typed)
        counts = isinstance(typed.expr, ex.Filtered) and typed.expr.name == "length"
        meaning = typed.expr if typed.type == ty.BOOL or counts or ranges.is_shifted(at, typed.expr) else None
        after = environment.bind(step.save_as, ranges.named_type(at, typed.expr, typed.type), meaning=meaning)
        if isinstance(typed.expr, ex.JsonList | ex.ListExpression):
            after = after.assume(after.length_facts(ex.Name(step.save_as), len(typed.expr.items)))
        elif isinstance(typed.type, ty.ListType) and is_path(typed.expr):
            after = after.measure(step.save_as, typed.expr)
        if ranges.may_be_empty(at.knowing(()), typed.expr):
            after = after.assume([("joined", step.save_as)])
        if ranges.may_be_negative(at, typed.expr):
            after = after.assume([("signed", step.save_as)])
        usual = environment.by_default(typed.expr)
        if isinstance(usual, int | float):  # names may be added up, so no texts, which could double each time
            after = replace(after, defaults={**after.defaults, step.save_as: usual})
        return replace(step, value=typed.expr), after

    def _if(self, step: model.If, environment: Environment, loops: int) -> tuple[model.Step, Environment]:
        at = Inference(environment, self._findings, step.path)
        with at.at("condition"):
            condition = ranges.whole_condition(at, step.condition)
        environment = self._decided(condition, at)
        sides = [environment.under(condition, holds=holds, always=False) for holds in (True, False)]
        then, after_then = self.block(step.then, sides[0], loops=loops)
        otherwise, after_else = self.block(step.otherwise, sides[1], loops=loops)
        written = replace(step, condition=condition, then=then, otherwise=otherwise)
        for name in model.binds(step):
            first, second = after_then.type_of(name), after_else.type_of(name)
            both = ty.join(first, second)
            # with nothing in common, what follows could not use it
            both_fields = both.fields if isinstance(both, ty.RecordType) else None
            if name in environment.types:
                continue  # bound before the step, which has been noted
            if both is None or (isinstance(first, ty.RecordType) and first.fields and both_fields == ()):
                message = f"{name!r} is {ty.show(first)} after 'then' and {ty.show(second)} after 'else'"
                suggestion = "give both branches the same shape, for instance by taking the list out of a record"
                at.note("E_BRANCH_MISMATCH", message, suggestion=suggestion)
                both = None
            environment = environment.bind(name, ty.ANY if both is None else both)
        for name in (set(after_then.types) | set(after_else.types)) - set(environment.types):
            environment = environment.bind(name, ty.ANY)
        return written, environment

    def _decided(self, condition: ex.Expr, at: Inference) -> Environment:
        """Return the environment, ``is_unsure`` if the condition is faulty or (in a tool with errors) reads a name of unknown type."""
        environment, findings = at.environment, self._findings
        reads_unknown = any(isinstance(environment.type_of(name), ty.AnyType) for name in ex.names(condition))
        is_unsure = findings.faulty((*at.path, "condition")) or (findings.errors > 0 and reads_unknown)
        return replace(environment, is_unsure=environment.is_unsure or is_unsure)

    def _require(self, step: model.Require, environment: Environment) -> tuple[model.Step, Environment]:
        at = Inference(environment, self._findings, step.path)
        with at.at("condition"):
            condition = ranges.whole_condition(at, step.condition)
        environment = self._decided(condition, at)
        with at.at("reason"):
            reason = want(at, step.reason, ty.STRING, "reason")
        if environment.outside is not None and not ex.names(condition) <= environment.outside:
            at.note(
                "W_REQUIRE_IN_LOOP",
                f"the whole tool ends at the first item for which {ex.to_text(condition)} does not hold, not only that item",
                suggestion="to leave out such items, filter the list before the loop, or put an 'if' around the steps",
            )
        if step.status == "ok":
            self.answers.append((step, environment.assume(facts_of(condition, environment, holds=False))))
        after = environment.under(condition, holds=True, always=True)
        return replace(step, condition=condition, reason=reason), after


TIMES = ("start_time", "end_time", "center_time")
STATUSES = ("ok", "empty", "ambiguous", "partial", "budget_exhausted", "error")


def evidence_list() -> ty.ListType:
    """Return the type of a list of evidence."""
    return ty.ListType(
        item=ty.world_types()["Evidence"], bound=limits.DEFAULT_LIST_ITEMS, typical=limits.TYPICAL_LIST_ITEMS
    )


def _decided_by(step: model.Step) -> set[str]:
    """Return the names that a step and the steps inside it read, except in ``params``."""
    inside = [item for inner in model.walk_steps((step,)) for item in model.values(inner)]
    return {name for key, value in inside if not key.startswith("params.") for name in ex.names(value)}


def is_text(operation: str, parameter: str) -> bool:
    """Whether a parameter of an operation is a text, not an id."""
    return not parameter.endswith("_id") and ty.parameter_type(operation, parameter) == ty.STRING


def operation_result(name: str, params: Mapping[str, ex.Expr]) -> ty.Type:
    """Return the type of an operation's result. A constant ``top_k``, or else the declared size, bounds its list.

    The items of the list have their evidence as a field.
    """
    result = ty.operation_types(name).result
    if not isinstance(result, ty.RecordType):
        return result
    # SegmentInfo is itself called a Segment; a result record is never an item, so it loses the name.
    result = replace(result, name="")
    one = list_field(result)
    if one is None:
        return result
    key, rows = one
    top_k = params.get("top_k")
    stated = isinstance(top_k, ex.Const) and isinstance(top_k.value, int)
    declared = limits.DEFAULT_LIST_ITEMS if rows.bound is None else rows.bound
    bound = top_k.value if isinstance(top_k, ex.Const) and isinstance(top_k.value, int) else declared
    item = ty.with_field(rows.item, "evidence", evidence_list()) if isinstance(rows.item, ty.RecordType) else rows.item
    typical = bound if stated else min(bound, limits.TYPICAL_LIST_ITEMS)
    return ty.with_field(result, key, ty.ListType(item=item, bound=bound, typical=typical, stated=stated))


def tool_result(outputs: Mapping[str, ty.Type]) -> ty.RecordType:
    """Return the type of a tool's result for its caller: its outputs, and the fields that the runtime adds."""
    record = ty.RecordType(fields=tuple(outputs.items()))
    ends = [outputs[key] for key in TIMES[:2] if key in outputs and ty.is_numeric(ty.plain(outputs[key]))]
    if "center_time" not in outputs and len(ends) == 2:
        sure = not any(isinstance(end, ty.OptionalType | ty.AnyType) for end in ends)
        record = ty.with_field(record, "center_time", ty.TIME if sure else ty.optional(ty.TIME))
    for key, type_ in (("status", ty.EnumType(STATUSES)), ("summary", ty.STRING), ("evidence", evidence_list())):
        record = ty.with_field(record, key, type_)
    return record


def loop_items(item: ty.Type, result: ty.Type, loop: model.Loop) -> tuple[ty.ListType, str | None]:
    """Return the type of the list that a loop collects, and the list field of its results that is joined.

    The field is None if results are kept whole, and empty if they are lists.
    """
    field, rows = ("", result) if isinstance(result, ty.ListType) else joined_field(result) or (None, None)
    if rows is None:
        return ty.ListType(item=inherit(result, item), bound=loop.bound, typical=loop.typical, stated=True), None
    each = limits.DEFAULT_LIST_ITEMS if rows.bound is None else rows.bound
    usual = limits.TYPICAL_LIST_ITEMS if rows.typical is None else rows.typical
    bound, typical = loop.bound * each, loop.typical * usual
    return ty.ListType(item=inherit(rows.item, item), bound=bound, typical=typical, stated=True), field


def inherit(inner: ty.Type, item: ty.Type) -> ty.Type:
    """Return the type of a loop's result with the times, evidence and ``parent`` of the item it was made from.

    Times of its own are kept.
    """
    if isinstance(ty.plain(inner), ty.AnyType):
        return ty.ANY
    made = ty.plain(inner)
    if not isinstance(made, ty.RecordType):
        return inner
    source = ty.plain(item)
    sure = item == source
    start = made.get("start_time")
    for key in TIMES:
        have = source if ty.is_numeric(source) else source.get(key) if isinstance(source, ty.RecordType) else None
        # The times of an item are taken over together, and only where the product has no start of its own.
        if made.get(key) is None and have is not None and (start is None or start != ty.plain(start)):
            made = ty.with_field(made, key, have if sure and start is None else ty.optional(have))
    if made.get("evidence") is None:
        made = ty.with_field(made, "evidence", evidence_list())
    parent = ty.STRING if isinstance(source, ty.EnumType) else source
    made = ty.with_field(made, "parent", parent if sure else ty.optional(parent))
    return ty.optional(made) if inner != ty.plain(inner) else made


def bounded(loop: model.Loop, rows: ty.ListType, at: Inference) -> model.Loop:
    """Return the loop with its bounds; note if nothing bounds it. ``max_items`` is set if only a default bounds it."""
    if loop.max_items is None and rows.bound is None:
        if not isinstance(rows.item, ty.AnyType) or not at.findings.errors:  # else its own fault has been reported
            suggestion = f'add "max_items": 20 to this step, or another number up to {limits.MAX_LOOP_ITEMS}'
            with at.at("loop_over"):
                at.note("E_UNBOUNDED", "nothing says how long this list can be", suggestion=suggestion)
        return replace(loop, bound=1, typical=1)
    # How long a list is usually taken to be is no bound where max_items says more.
    is_open = rows.bound is None or (not rows.stated and loop.max_items is not None)
    most = limits.MAX_LOOP_ITEMS if is_open or rows.bound is None else min(rows.bound, limits.MAX_LOOP_ITEMS)
    if loop.max_items is None and not rows.stated:
        most = min(most, limits.DEFAULT_LOOP_ITEMS)
        loop = replace(loop, max_items=most)
        at.note("W_IMPLICIT_BINDING", f"the list has no bound of its own; the loop takes its first {most} items")
    if loop.max_items is not None:
        most = min(most, loop.max_items)
    typical = limits.TYPICAL_LIST_ITEMS if rows.typical is None else rows.typical
    return replace(loop, bound=most, typical=min(typical, most), least=1 if rows.filled and loop.until is None else 0)


def known_item(item: ty.Type, facts: frozenset[Fact], path: str = "item") -> ty.Type:
    """Return the item type of a filtered list, narrowed by the facts that the filter's condition implies."""
    if ("absent", path) in facts:
        return ty.NULL
    if ("present", path) in facts:
        item = ty.plain(item)
    if ("filled", path) in facts and isinstance(item, ty.ListType):
        return replace(item, filled=True)
    if isinstance(item, ty.RecordType) and any(text.startswith(f"{path}.") for _, text in facts):
        for key, type_ in item.fields:
            item = ty.with_field(item, key, known_item(type_, facts, f"{path}.{key}"))
    return item


#: the field with an item's answer
ANSWER = "answer"


def check_judge(step: model.JudgeStep, environment: Environment, at: Inference) -> tuple[model.JudgeStep, Environment]:
    """Check a judge step. Return it with defaults and conversions made explicit, and the environment after it."""
    with at.at("inputs"):
        rows = want_list(at, step.inputs, "a judge step")
    with at.at("question"):
        question = want(at, step.question, ty.STRING, "question")
    type_ = rows.type
    most = limits.MAX_JUDGED_ITEMS if type_.bound is None else min(type_.bound, limits.MAX_JUDGED_ITEMS)
    if step.max_items is None and (not type_.stated or most > limits.DEFAULT_JUDGED_ITEMS):
        step = replace(step, max_items=limits.DEFAULT_JUDGED_ITEMS)
        at.note("W_IMPLICIT_BINDING", f"the first {step.max_items} items are judged, since nothing says how many")
    bound = most if step.max_items is None else min(most, step.max_items)
    typical = min(limits.TYPICAL_LIST_ITEMS if type_.typical is None else type_.typical, bound)
    certain = type_.filled and not isinstance(type_.item, ty.OptionalType)
    item = _judged(type_.item, step.answers)
    judged = ty.ListType(item=item, bound=bound, typical=typical, stated=True, filled=certain)
    step = replace(step, inputs=rows.expr, question=question, bound=bound, typical=typical, least=int(certain))
    return step, environment.bind(step.save_as, judged)


def _judged(item: ty.Type, answers: tuple[str, ...]) -> ty.Type:
    """Return the type of a judged item: a record gets the answer as a field.

    An item of type ``any`` gives an open record with the answer; any other, a record of the answer and ``parent``.
    """
    inner = ty.plain(item)
    answer = ty.EnumType(answers)
    if isinstance(inner, ty.RecordType):
        return ty.with_field(inner, ANSWER, answer)
    if isinstance(inner, ty.AnyType):
        return ty.RecordType(fields=((ANSWER, answer),), is_open=True)
    return ty.RecordType(fields=((ANSWER, answer), ("parent", inner)))

"""Passes 4b and 4e: values compared with the types of their places, and the binding of outputs; with suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tool_induction.checker.environment import Environment, Typed, TypedList, facts_of, list_field, value_field
from tool_induction.checker.expressions import Inference
from tool_induction.checker.operands import (
    Demand,
    base_name,
    implicit_require,
    null_not_handled,
    optional_root,
    with_scores,
)
from tool_induction.checker.ranges import OTHER_DEFAULT, check_span, check_value, from_the_start
from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.diagnostics import Edit, Findings, Suggestion, shorten, write_value
from tool_induction.language.model import Output, Require, Step, Tool, binds
from world_api.core.identifiers import did_you_mean


def want(at: Inference, expr: ex.Expr, wanted: ty.Type, name: str) -> ex.Expr:
    """Return a value with conversions made explicit; note why it does not fit ``wanted``. ``name``: for messages."""
    inner = ty.plain(wanted)
    if isinstance(expr, ex.JsonRecord) and isinstance(inner, ty.RecordType) and not inner.is_open:
        return _record(at, expr, inner, name)
    if isinstance(expr, ex.JsonList) and isinstance(inner, ty.ListType):
        return _list(at, expr, inner, name)
    if isinstance(expr, ex.JsonList) and isinstance(inner, ty.RecordType) and not inner.is_open:
        if inner.name == ty.INTERVAL.name and len(expr.items) == len(ty.INTERVAL.keys):
            return _interval(at, expr, name)
        example = ", ".join(f'"{key}": ...' for key in inner.keys)
        at.note("E_TYPE", f"{name}: expected {ty.show(inner)}, found a list", suggestion=f"write {{{example}}}")
        return expr
    return _single(at, unwrapped(at, at.infer(expr), wanted), wanted, name)


def unwrapped(at: Inference, typed: Typed, wanted: ty.Type) -> Typed:
    """Return a record's one list or one value, if such a type is wanted, and note it; any other value unchanged."""
    inner = ty.plain(typed.type)
    one = list_field(inner) if isinstance(ty.plain(wanted), ty.ListType) else value_field(inner, ty.plain(wanted))
    if one is None or isinstance(inner, ty.AnyType):
        return typed
    written = ex.Field(typed.expr, one[0])
    at.note("W_IMPLICIT_BINDING", f"{ex.to_text(typed.expr)} is read as {ex.to_text(written)}")
    return at.infer(written)


def _single(at: Inference, typed: Typed, wanted: ty.Type, name: str) -> ex.Expr:
    found, text = ty.fit(typed.type, wanted), ex.to_text(typed.expr)
    inner, have = ty.plain(wanted), ty.plain(typed.type)
    if found.how == "no":
        word = typed.expr.value if isinstance(typed.expr, ex.Const) else None
        shown = f"the text {shorten(repr(word), 60)}" if isinstance(word, str) else ty.show(typed.type)
        message = f"expected {'Time (seconds)' if inner == ty.TIME else ty.show(wanted)}, found {shown}"
        at.note("E_TYPE", message, suggestion=suggestion(at, typed, wanted, name))
    elif found.how == "optional":
        null_not_handled(at, typed, name)
    elif isinstance(inner, ty.RecordType) and isinstance(have, ty.RecordType) and _is_richer(have, inner):
        at.note("W_COERCED", f"of {text} only {', '.join(inner.keys)} are passed on")  # operations take no other keys
        return ex.JsonRecord(tuple((key, ex.Field(typed.expr, key)) for key in inner.keys))
    elif found.how == "coerced" and inner == ty.INT and have == ty.FLOAT and _is_computed(typed.expr):
        rounded = f"{{{{ {text if isinstance(typed.expr, ex.Filtered) else f'({text})'} | round }}}}"
        message = f"a whole number is wanted, and {text} need not be one"
        at.note("E_TYPE", message, suggestion=write_value(at.path, rounded))
    elif found.how == "coerced" and isinstance(have, ty.EnumType):
        allowed = inner.values if isinstance(inner, ty.EnumType) else ()
        at.note("E_TYPE", f"{text} may also be {', '.join(word for word in have.values if word not in allowed)}")
    elif found.how == "coerced":
        at.note("W_COERCED", f"{ty.show(typed.type)} where {ty.show(wanted)} is wanted: {found.note}")
    return typed.expr


def _is_computed(expr: ex.Expr) -> bool:
    """Whether a number is computed in the tool and may have a fraction; a constant such as 3.0 has none."""
    if isinstance(expr, ex.Const):
        return isinstance(expr.value, float) and not expr.value.is_integer()
    return not isinstance(expr, ex.Name | ex.Field | ex.Index)


def _is_richer(found: ty.RecordType, wanted: ty.RecordType) -> bool:
    return bool(wanted.fields) and not wanted.is_open and bool(set(found.keys) - set(wanted.keys))


def _record(at: Inference, expr: ex.JsonRecord, inner: ty.RecordType, name: str) -> ex.Expr:
    done: list[tuple[str, ex.Expr]] = []
    for key, value in expr.entries:
        type_ = inner.get(key)
        with at.at(key):
            if type_ is None:
                at.note(
                    "E_UNKNOWN_PARAM", f"{name} has no key {key!r}", found=key, suggestion=did_you_mean(key, inner.keys)
                )
                done.append((key, value))
            else:
                written = want(at, value, type_, f"{name}.{key}")
                done.append((key, from_the_start(at, written) if type_ == ty.TIME else written))
    if inner.name == ty.INTERVAL.name:
        check_span(at, dict(done))
    given = [key for key, _ in expr.entries]
    for key, type_ in inner.fields:
        if key not in given and not isinstance(type_, ty.OptionalType):
            at.note("E_MISSING_PARAM", f"{name} needs the key {key!r}")
    return ex.JsonRecord(tuple(done))


def _list(at: Inference, expr: ex.JsonList, inner: ty.ListType, name: str) -> ex.Expr:
    done: list[ex.Expr] = []
    for place, item in enumerate(expr.items):
        with at.at(place):
            done.append(want(at, item, inner.item, f"{name}[{place}]"))
    return ex.JsonList(tuple(done))


def _interval(at: Inference, expr: ex.JsonList, name: str) -> ex.Expr:
    """Return ``[start, end]`` as a record with ``start_time`` and ``end_time``; note the conversion."""
    at.note("W_ALIAS", f"{name}: [start, end] is read as an interval")
    done: list[tuple[str, ex.Expr]] = []
    for place, (key, item) in enumerate(zip(ty.INTERVAL.keys, expr.items, strict=True)):
        with at.at(place):
            written = want(at, item, ty.TIME, f"{name}.{key}")
            done.append((key, from_the_start(at, written)))
    check_span(at, dict(done), places=(0, 1))
    return ex.JsonRecord(tuple(done))


def want_list(at: Inference, expr: ex.Expr, what: str) -> TypedList:
    """Return an expression as a list to iterate over, with the empty list as default of null. ``what``: its user, for messages."""
    rows = at.as_list(expr)
    if isinstance(rows.type, ty.OptionalType):
        at.note("W_COERCED", f"{ex.to_text(rows.expr)} may be null; {what} reads null as the empty list")
        rows = at.infer(ex.Filtered(rows.expr, "default", (ex.JsonList(()),)))
    return TypedList(rows.expr, rows.type if isinstance(rows.type, ty.ListType) else ty.ListType(item=ty.ANY))


def suggestion(at: Inference, typed: Typed, wanted: ty.Type, name: str) -> str | Suggestion:
    """Return a suggestion what to write instead of a value that does not fit, or an empty text."""
    inner, goal = ty.plain(typed.type), ty.plain(wanted)
    text = ex.to_text(typed.expr)
    if isinstance(goal, ty.ListType | ty.AnyType):
        nested = isinstance(inner, ty.ListType) and isinstance(ty.plain(inner.item), ty.ListType)
        return "join lists first with the aggregate concat_lists" if nested and goal != ty.ANY else ""
    inside = list_field(inner)
    rows = inner if isinstance(inner, ty.ListType) else inside[1] if inside else None
    if rows is not None:
        key = _likely_field(ty.plain(rows.item), wanted, name)
        field = f".{key}" if key else ""
        if at.in_call and base_name(typed.expr) not in at.environment.walked:
            return f'did you mean loop_over: "{text}" with "{{{{ item{field} }}}}"?'
        is_whole = not key and isinstance(ty.plain(rows.item), ty.RecordType)
        return "" if is_whole else f'did you mean "{{{{ {text}[0]{field} }}}}", of the first?'
    if isinstance(inner, ty.RecordType):
        key = _likely_field(inner, wanted, name)
        return f'did you mean "{{{{ {text}.{key} }}}}"?' if key else ""
    if isinstance(goal, ty.EnumType) and isinstance(inner, ty.EnumType):
        return did_you_mean(inner.values[0], goal.values)
    if ty.is_numeric(goal) and isinstance(inner, ty.EnumType) and isinstance(typed.expr, ex.Const):
        word = inner.values[0]
        if word in at.environment.types:
            return f'did you mean "{{{{ {word} }}}}"?'
        return write_value(at.path, int(word)) if word.isdigit() else "write a number, without quotes"
    if goal == ty.BOOL and isinstance(typed.expr, ex.Const) and typed.expr.value in ("true", "false"):
        return write_value(at.path, typed.expr.value == "true")
    if goal == ty.STRING and ty.is_numeric(inner):
        return f'a text is wanted, such as "about {{{{ {text} }}}}"'
    return ""


def _likely_field(item: ty.Type, wanted: ty.Type, name: str) -> str | None:
    """Return the key of a record's field of type ``wanted`` that was most likely meant by ``name``; None if unclear."""
    if not isinstance(item, ty.RecordType):
        return None
    name = name.rsplit(".", 1)[-1]
    fitting = [key for key, type_ in item.fields if ty.fit(type_, wanted).how == "yes"]
    if name in fitting:
        return name
    for key in ("timestamp", "center_time", "start_time"):
        if ty.plain(wanted) == ty.TIME and key in fitting:
            return key
    close = [key for key in fitting if key in name or name in key]
    return close[0] if close else fitting[0] if len(fitting) == 1 else None


@lru_cache(maxsize=512)
def _parameter_validator(operation: str, name: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = ty.operation_types(operation).parameters_schema
    return Draft202012Validator({"$defs": schema.get("$defs", {}), **schema["properties"][name]})


def check_constant(at: Inference, operation: str, name: str, value: ex.Expr) -> None:
    """Note a constant, or a value from defaults of inputs, that contradicts the parameter's JSON Schema (range, length)."""
    constant = value.value if isinstance(value, ex.Const) else at.environment.by_default(value)
    if constant is None and not isinstance(value, ex.Const):
        return
    error = next(iter(_parameter_validator(operation, name).iter_errors(constant)), None)
    if error is not None:
        by_default = " by default" if ex.names(value) else ""
        at.note("E_TYPE", f"{name}{by_default}: {error.message}", suggestion=OTHER_DEFAULT if by_default else "")


def bind_outputs(tool: Tool, environment: Environment, findings: Findings) -> Tool:
    """Return the tool with a ``source`` for each output: the expression for its value. Diagnostics go to ``findings``.

    The ``require`` steps that are appended end the tool if a value is null whose output must not be null.
    """
    binder = _Binder(tool, environment, findings)
    outputs = tuple(binder.bind(output) for output in tool.outputs)
    entries = {output.name: output.source for output in outputs if output.source is not None}
    check_span(Inference(environment, findings, (*tool.path, "outputs")), entries, moments=True)
    return replace(tool, outputs=outputs, steps=(*tool.steps, *binder.requires))


def check_answers(tool: Tool, answers: Sequence[tuple[Require, Environment]], findings: Findings) -> None:
    """Note each ``require`` that may end a tool as ``ok`` before an output that is not optional has a value."""
    for step, environment in answers:
        at = Inference(environment, findings, (*step.path, "status"))
        for output in tool.outputs:
            source, wanted, name = output.source, output.type, output.type_name
            if source is None or isinstance(source, ex.Broken) or isinstance(wanted, ty.OptionalType | ty.AnyType):
                continue
            bound = ex.names(source) <= set(environment.types)
            if not bound or ty.fit(at.knowing(()).infer(source).type, wanted).how == "optional":
                message = (
                    f"the tool may end here as 'ok', and the output {output.name!r} is then null: it is declared {name}"
                )
                hint = (
                    f'declare the output "{name}?" if null is the answer, or bind {ex.to_text(source)} before this step'
                )
                at.note("E_OPTIONAL", message, suggestion=f'{hint}; if there is no answer, write "status": "empty"')


@dataclass
class _Binder:
    tool: Tool
    environment: Environment
    findings: Findings
    requires: list[Step] = field(default_factory=list)

    def bind(self, output: Output) -> Output:
        source = self._implicit(output) if output.source is None else output.source
        if source is None or isinstance(source, ex.Broken):
            return output
        path = output.path if output.source is None else (*output.path, "from")
        at = Inference(self.environment, self.findings, path)
        if isinstance(source, ex.JsonRecord | ex.JsonList | ex.Text):
            written = want(at, source, output.type, output.name)
            return replace(output, source=written, type=_refined(at.infer(written).type, output.type))
        typed = unwrapped(at, at.infer(source), output.type)
        typed = self._present(at, typed, output)
        output = _with_unknown_confidence(at, typed, output)
        self._check(at, typed, output)
        check_value(at, typed)
        return replace(output, source=typed.expr, type=_refined(typed.type, output.type))

    def _implicit(self, output: Output) -> ex.Expr | None:
        """Return the source of an output that names none, or None if there is none.

        It is the saved name equal to the output's, else the field of that name in the last step's record.
        """
        saved = [name for step in self.tool.steps for name in binds(step)]
        source: ex.Expr | None = None
        if output.name in saved:
            source = ex.Name(output.name)
        elif saved:
            last = ty.plain(self.environment.type_of(saved[-1]))
            if isinstance(last, ty.AnyType) and self.findings.errors:
                return None  # what the last step gives is unknown because of its own fault
            if isinstance(last, ty.AnyType) or (isinstance(last, ty.RecordType) and last.get(output.name) is not None):
                source = ex.Field(ex.Name(saved[-1]), output.name)
        if source is None and output.name in self.environment.types and self.findings.errors:
            return None  # one branch binds it, and that the other does not has been said
        if source is None and self.findings.has("E_REDEFINED"):
            return None  # what is bound twice may be meant to give it
        if source is None:
            self._unbound(output, saved)
            return None
        text = ex.to_text(source)
        message, expected = f"the output {output.name!r} is bound to {text}", f'"from": "{{{{ {text} }}}}"'
        self.findings.add("W_IMPLICIT_BINDING", output.path, message, expected=expected)
        return source

    def _unbound(self, output: Output, saved: list[str]) -> None:
        types = {name: ty.plain(self.environment.type_of(name)) for name in saved}
        holders = [
            f"{{{{ {name}.{output.name} }}}}"
            for name, type_ in types.items()
            if isinstance(type_, ty.RecordType) and output.name in type_.keys
        ]
        near: str | Suggestion = did_you_mean(output.name, saved)
        if len(holders) == 1:
            near = Suggestion(f'write "from": "{holders[0]}"', (_redeclared(output, output.type_name, holders[0]),))
        elif holders:
            near = f'"from" is one of {", ".join(holders)}'
        elif output.name in {item.name for item in self.tool.inputs}:
            near = f'to return the input, "from": "{{{{ {output.name} }}}}"'
        message = f"nothing gives the output {output.name!r}: no step saves that name, the last step's result has no such field"
        known = ", ".join(saved)
        near = near or 'add "from": "{{ ... }}"'
        self.findings.add("E_OUTPUT_UNBOUND", output.path, message, found=output.name, expected=known, suggestion=near)

    def _present(self, at: Inference, typed: Typed, output: Output) -> Typed:
        """Return an output's source, as a value that is not null if the output needs one.

        If the source may be null, a ``require`` is added that ends the tool as ``empty`` without it.
        """
        if not isinstance(typed.type, ty.OptionalType) or isinstance(output.type, ty.OptionalType):
            return typed
        if ty.fit(typed.type.item, output.type).how == "no" and not _becomes_text(typed.type.item, output.type):
            return typed
        root = optional_root(at, typed.expr)
        if root is None or (isinstance(root, ex.Field) and root.key == "confidence"):
            return typed
        text = ex.to_text(root)
        step = implicit_require(
            Demand(path=output.path, of=root, condition=ex.IsNone(root, negated=True)),
            self.findings,
            message=f"{output.name!r} is always there, {text} may not be: the tool ends with status 'empty' without it",
            suggestion=f'if a missing value is an answer, declare it "{output.type_name}?"',
        )
        self.requires.append(step)
        self.environment = self.environment.assume(facts_of(step.condition, self.environment))
        at.environment = self.environment
        return at.infer(typed.expr)

    def _check(self, at: Inference, typed: Typed, output: Output) -> None:
        found, shown = ty.fit(typed.type, output.type), ty.show(typed.type)
        if found.how == "optional":
            null_not_handled(at, typed, f"the output {output.name!r}", _declared(output, f"{output.type_name}?"))
        elif found.how == "coerced" and ty.plain(output.type) == ty.INT and ty.plain(typed.type) == ty.FLOAT:
            message = f"the output {output.name!r} is int, and {ex.to_text(typed.expr)} need not be a whole number"
            at.note("E_TYPE", message, suggestion='declare it "float", or bind it to "{{ ... | round }}"')
        elif found.how == "coerced" or (found.how == "no" and _becomes_text(typed.type, output.type)):
            note = found.note or "it is written out as text"
            message = f"the output {output.name!r} is {output.type_name}, its value {shown}: {note}"
            keeping = f'to keep the values, declare it "{_type_name(typed.type)}"'
            at.note("W_COERCED", message, suggestion=keeping if not found.note else "")
        elif found.how == "no":
            message = f"the output {output.name!r} is declared {ty.show(output.type)}, its value is {shown}"
            meant = suggestion(at, typed, output.type, output.name)
            at.note("E_TYPE", message, suggestion=meant or _declared(output, _type_name(typed.type)))


def _declared(output: Output, type_name: str) -> Suggestion:
    """Return the suggestion to declare an output with another type."""
    source = None if output.source is None else ex.to_json(output.source)
    return Suggestion(f'to keep this value, declare it "{type_name}"', (_redeclared(output, type_name, source),))


def _redeclared(output: Output, type_name: str, source: object) -> Edit:
    made = {"type": type_name, "description": output.description, "from": source}
    value = {key: value for key, value in made.items() if value not in ("", None)}
    return Edit(op="add", path=output.path, value=value)


def _type_name(type_: ty.Type) -> str:
    """Return the name of the nearest type that a document can declare; the fields of a record cannot be declared."""
    match type_:
        case ty.OptionalType(item):
            return f"{_type_name(item)}?"
        case ty.ListType(item=item):
            return type_.name or f"list<{_type_name(item)}>"
        case ty.RecordType():
            return type_.name or "record"
        case ty.EnumType():
            return "string"
    return ty.show(type_)


def _with_unknown_confidence(at: Inference, typed: Typed, output: Output) -> Output:
    """Return an output as optional if its value is a confidence that may be uncalibrated (null).

    Such a null does not mean that nothing was found.
    """
    unknown = isinstance(typed.expr, ex.Field) and typed.expr.key == "confidence"
    if not unknown or not isinstance(typed.type, ty.OptionalType) or isinstance(output.type, ty.OptionalType):
        return output
    at.note("W_COERCED", f"the output {output.name!r} is null if the confidence was not calibrated")
    return replace(output, type=ty.OptionalType(output.type), type_name=f"optional<{output.type_name}>")


def _becomes_text(found: ty.Type, wanted: ty.Type) -> bool:
    """Whether a value is converted to text because the output is a string."""
    return ty.plain(wanted) == ty.STRING and isinstance(ty.plain(found), ty.ListType | ty.RecordType | ty.ScalarType)


def _refined(found: ty.Type, declared: ty.Type) -> ty.Type:
    """Return the declared type, with the inferred details of a bare ``list`` or ``record``."""
    if ty.fit(found, declared).how not in ("yes", "optional"):
        return declared
    declared = with_scores(found, declared)
    inner = ty.plain(declared)
    vague = (isinstance(inner, ty.ListType) and ty.show(inner) in ("list<any>", "list<record>")) or (
        isinstance(inner, ty.RecordType) and inner.is_open
    )
    if not vague or type(ty.plain(found)) is not type(inner):
        return declared
    return found if isinstance(declared, ty.OptionalType) else ty.plain(found)

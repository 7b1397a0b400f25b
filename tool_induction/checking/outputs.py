"""Pass 4e: every output is bound to a value. What the document leaves open is decided, written out, and said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tool_induction.checking.environment import Environment, facts_of
from tool_induction.checking.expressions import Inference
from tool_induction.checking.nulls import Demand, implicit_require, null_not_handled, optional_root
from tool_induction.checking.ranges import check_span, check_value
from tool_induction.checking.scores import with_scores
from tool_induction.checking.typed import Typed
from tool_induction.checking.values import Wanted, suggestion, unwrapped, want
from tool_induction.language.diagnostics import Edit, Findings, Suggestion, did_you_mean
from tool_induction.language.model import Output, Require, Step, Tool, binds
from tool_induction.language.syntax import (
    Broken,
    Expr,
    Field,
    IsNone,
    JsonList,
    JsonRecord,
    Name,
    Text,
    names,
    to_json,
    to_text,
)
from tool_induction.language.types import (
    FLOAT,
    INT,
    STRING,
    AnyType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    Type,
    fit,
    plain,
    show,
)


def bind_outputs(tool: Tool, environment: Environment, findings: Findings) -> Tool:
    """The tool with a source for each output, and the implicit ``require`` steps appended."""
    binder = _Binder(tool, environment, findings)
    outputs = tuple(binder.bind(output) for output in tool.outputs)
    entries = {output.name: output.source for output in outputs if output.source is not None}
    check_span(Inference(environment, findings, (*tool.path, "outputs")), entries, moments=True)
    return replace(tool, outputs=outputs, steps=(*tool.steps, *binder.requires))


def check_answers(tool: Tool, answers: Sequence[tuple[Require, Environment]], findings: Findings) -> None:
    """Note a step at which a tool may end as ``ok`` while an output that is always there has no value yet."""
    for step, environment in answers:
        at = Inference(environment, findings, (*step.path, "status"))
        for output in tool.outputs:
            source, wanted = output.source, output.type
            if source is None or isinstance(source, Broken) or isinstance(wanted, OptionalType | AnyType):
                continue
            bound = names(source) <= set(environment.types)
            if bound and fit(at.knowing(()).infer(source).type, wanted).how != "optional":
                continue
            at.note(
                "E_OPTIONAL",
                f"the tool may end here as 'ok', and the output {output.name!r} is then null: it is declared {output.type_name}",
                found=f"{output.name}: null",
                expected=output.type_name,
                suggestion=f'declare the output "{output.type_name}?" if null is the answer, '
                f'or bind {to_text(source)} before this step; if there is no answer, write "status": "empty"',
            )


class _Binder:
    def __init__(self, tool: Tool, environment: Environment, findings: Findings) -> None:
        self._tool = tool
        self._environment = environment
        self._findings = findings
        self.requires: list[Step] = []

    def bind(self, output: Output) -> Output:
        source = self._implicit(output) if output.source is None else output.source
        if source is None or isinstance(source, Broken):
            return output
        path = output.path if output.source is None else (*output.path, "from")
        at = Inference(self._environment, self._findings, path)
        if isinstance(source, JsonRecord | JsonList | Text):
            written = want(at, source, Wanted(type=output.type, name=output.name))
            return replace(output, source=written, type=_refined(at.infer(written).type, output.type))
        typed = unwrapped(at, at.infer(source), output.type)
        typed = self._present(at, typed, output)
        output = _with_unknown_confidence(at, typed, output)
        self._check(at, typed, output)
        check_value(at, typed)
        return replace(output, source=typed.expr, type=_refined(typed.type, output.type))

    def _implicit(self, output: Output) -> Expr | None:
        """In this order: the saved name of that name, then the field of that name in the last step's record."""
        saved = [name for step in self._tool.steps for name in binds(step)]
        source: Expr | None = None
        if output.name in saved:
            source = Name(output.name)
        elif saved:
            last = plain(self._environment.type_of(saved[-1]))
            if isinstance(last, AnyType) and self._findings.errors:
                return None  # what the last step gives is unknown because of its own fault
            if isinstance(last, AnyType) or (isinstance(last, RecordType) and last.get(output.name) is not None):
                source = Field(Name(saved[-1]), output.name)
        if source is None and output.name in self._environment.types and self._findings.errors:
            return None  # one branch binds it, and that the other does not has been said
        if source is None:
            self._unbound(output, saved)
            return None
        self._findings.add(
            "W_IMPLICIT_BINDING",
            output.path,
            f"the output {output.name!r} is bound to {to_text(source)}",
            found=output.name,
            expected=f'"from": "{{{{ {to_text(source)} }}}}"',
        )
        return source

    def _unbound(self, output: Output, saved: list[str]) -> None:
        holders = [
            f"{name}.{output.name}"
            for name in saved
            if isinstance(record := plain(self._environment.type_of(name)), RecordType) and output.name in record.keys
        ]
        near: str | Suggestion = did_you_mean(output.name, saved)
        if len(holders) == 1:
            near = _bound(output, f"{{{{ {holders[0]} }}}}")
        elif holders:
            near = f'"from" is one of {", ".join(f"{{{{ {holder} }}}}" for holder in holders)}'
        elif output.name in {item.name for item in self._tool.inputs}:
            near = f'to hand the input back, "from": "{{{{ {output.name} }}}}"'
        self._findings.add(
            "E_OUTPUT_UNBOUND",
            output.path,
            f"nothing gives the output {output.name!r}: no step saves that name, the last step's result has no such field",
            found=output.name,
            expected=", ".join(saved),
            suggestion=near or 'add "from": "{{ ... }}"',
        )

    def _present(self, at: Inference, typed: Typed, output: Output) -> Typed:
        """A plain output bound to an optional: the tool ends as ``empty`` where there is nothing to say."""
        if not isinstance(typed.type, OptionalType) or isinstance(output.type, OptionalType):
            return typed
        if fit(typed.type.item, output.type).how == "no" and not _becomes_text(typed.type.item, output.type):
            return typed
        root = optional_root(at, typed.expr)
        if root is None or (isinstance(root, Field) and root.key == "confidence"):
            return typed
        text = to_text(root)
        step = implicit_require(
            Demand(path=output.path, of=root, condition=IsNone(root, negated=True)),
            self._findings,
            message=f"{output.name!r} is always there, {text} may not be: the tool ends with status 'empty' without it",
            suggestion=f'if a missing value is an answer, declare it "{output.type_name}?"',
        )
        self.requires.append(step)
        self._environment = self._environment.assume(facts_of(step.condition, self._environment))
        at.environment = self._environment
        return at.infer(typed.expr)

    def _check(self, at: Inference, typed: Typed, output: Output) -> None:
        found = fit(typed.type, output.type)
        if found.how == "yes":
            return
        if found.how == "optional":
            null_not_handled(at, typed, f"the output {output.name!r}", _declared(output, f"{output.type_name}?"))
        elif found.how == "coerced" and plain(output.type) == INT and plain(typed.type) == FLOAT:
            at.note(
                "E_TYPE",
                f"the output {output.name!r} is int, and {to_text(typed.expr)} need not be a whole number",
                found=show(typed.type),
                expected="int",
                suggestion='declare it "float", or bind it to "{{ ... | round }}"',
            )
        elif found.how == "coerced" or _becomes_text(typed.type, output.type):
            note = found.note or "it is written out as text"
            at.note(
                "W_COERCED",
                f"the output {output.name!r} is {output.type_name}, its value {show(typed.type)}: {note}",
                found=show(typed.type),
                expected=output.type_name,
                suggestion=f'to keep the values, declare it "{_type_name(typed.type)}"' if not found.note else "",
            )
        else:
            at.note(
                "E_TYPE",
                f"the output {output.name!r} is declared {show(output.type)}, its value is {show(typed.type)}",
                found=show(typed.type),
                expected=show(output.type),
                suggestion=suggestion(at, typed, Wanted(type=output.type, name=output.name))
                or _declared(output, _type_name(typed.type)),
            )


def _bound(output: Output, source: str) -> Suggestion:
    """Where the output comes from, in its declaration."""
    return Suggestion(f'write "from": "{source}"', (_redeclared(output, output.type_name, source),))


def _declared(output: Output, type_name: str) -> Suggestion:
    """Another type of the output, in its declaration."""
    source = None if output.source is None else to_json(output.source)
    return Suggestion(f'to keep this value, declare it "{type_name}"', (_redeclared(output, type_name, source),))


def _redeclared(output: Output, type_name: str, source: object) -> Edit:
    made = {"type": type_name, "description": output.description, "from": source}
    return Edit(
        op="add", path=output.path, value={key: value for key, value in made.items() if value not in ("", None)}
    )


def _type_name(type_: Type) -> str:
    """The nearest type that a declaration can name: the fields of a record are not declared."""
    match type_:
        case OptionalType(item):
            return f"{_type_name(item)}?"
        case ListType(item=item):
            return type_.name or f"list<{_type_name(item)}>"
        case RecordType():
            return type_.name or "record"
        case EnumType():
            return "string"
    return show(type_)


def _with_unknown_confidence(at: Inference, typed: Typed, output: Output) -> Output:
    """A confidence that nobody calibrated is null, which does not mean that nothing was found."""
    unknown = isinstance(typed.expr, Field) and typed.expr.key == "confidence"
    if not unknown or not isinstance(typed.type, OptionalType) or isinstance(output.type, OptionalType):
        return output
    at.note(
        "W_COERCED",
        f"the output {output.name!r} is null where nobody calibrated the confidence",
        found=output.type_name,
        expected=f"optional<{output.type_name}>",
    )
    return replace(output, type=OptionalType(output.type), type_name=f"optional<{output.type_name}>")


def _becomes_text(found: Type, wanted: Type) -> bool:
    """A string output takes any value, as text."""
    return plain(wanted) == STRING and isinstance(plain(found), ListType | RecordType | ScalarType)


def _refined(found: Type, declared: Type) -> Type:
    """The declared type, with what was found out about a bare ``list`` or ``record``."""
    if fit(found, declared).how not in ("yes", "optional"):
        return declared
    declared = with_scores(found, declared)
    inner = plain(declared)
    vague = (isinstance(inner, ListType) and show(inner) in ("list<any>", "list<record>")) or (
        isinstance(inner, RecordType) and inner.is_open
    )
    if not vague or type(plain(found)) is not type(inner):
        return declared
    return found if isinstance(declared, OptionalType) else plain(found)

"""Pass 3: checks that every name of a tool is bound before it is read, bound only once, and read at all."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tool_induction.aggregates import AGGREGATES
from tool_induction.language import expressions as ex, model
from tool_induction.language.diagnostics import Findings, Path
from tool_induction.language.types import EnumType, parameter_type
from world_api.operations import EVERY_OPERATION

ITEM = "item"
#: a name, or a path from one
_PATH = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(\.[A-Za-z][A-Za-z0-9_]*|\[-?[0-9]+\])*")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_OWN_NAME = 'give the loop variable its own name with "as"'


@dataclass(kw_only=True)
class ScopeChecker:
    """Notes every name of a tool that is undefined, used too early, bound twice, shadowed or never used.

    In its methods, ``defined`` are the names bound so far in a block, ``loops`` the variables of the loops around it.
    """

    tool: model.Tool
    findings: Findings
    later: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    #: names bound inside of loops -> a suggestion which name to use outside
    local: dict[str, str] = field(default_factory=dict)
    calling: bool = False  #: whether parameters of a call are being checked
    bound_at: dict[str, Path] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    #: names of the loops around a step: a loop's own name, and that of its item
    taken: list[set[str]] = field(default_factory=list)
    variables: frozenset[str] = frozenset()  #: of the loops around the value being checked

    def run(self) -> None:
        """Check the whole tool."""
        self.later = {
            step.save_as for step in model.walk_steps(self.tool.steps) if not isinstance(step, model.If | model.Require)
        }
        defined = {item.name for item in self.tool.inputs}
        self._block(self.tool.steps, defined, frozenset())
        self.variables = frozenset()
        self._outputs(defined)
        for item in self.tool.inputs:
            self._hides(item.name, item.path)
            if item.name not in self.used:
                self.findings.add("W_UNUSED", item.path, f"the input {item.name!r} is never used")
        for name, path in self.bound_at.items():
            if name not in self.used | self.silent:
                self.findings.add("W_UNUSED", path, f"{name!r} is saved and never used")

    def _outputs(self, defined: set[str]) -> None:
        last = next((model.binds(step)[0] for step in reversed(self.tool.steps) if model.binds(step)), None)
        for output in self.tool.outputs:
            if output.source is not None:
                self._value(output.source, (*output.path, "from"), defined)
            elif output.name in defined:
                self.used.add(output.name)
            elif last is not None:
                self.used.add(last)

    def _block(self, steps: tuple[model.Step, ...], defined: set[str], loops: frozenset[str]) -> None:
        for step in steps:
            self.variables = loops
            match step:
                case model.If():
                    self._value(step.condition, (*step.path, "condition"), defined | loops)
                    self._branches(step, defined, loops)
                    continue
                case model.Block():
                    self._loop_block(step, defined, loops)
                case model.Call():
                    self._call(step, defined, loops)
                case _:
                    self._plain(step, defined, loops)
            if not isinstance(step, model.Require):
                self._bind(step.save_as, step.path, defined)

    def _loop_block(self, step: model.Block, defined: set[str], loops: frozenset[str]) -> None:
        self._loop(step, defined, loops)
        body = set(defined)
        self.taken.append({step.save_as, step.loop.variable})
        self._block(step.body, body, loops | {step.loop.variable})
        self.taken.pop()
        bound = [name for inner in step.body for name in model.binds(inner)]
        last = bound[-1] if bound else ""
        self.used.add(last)  # it is the value of an iteration
        for name in body - defined:
            what = "the list of them" if name == last else f"the list of {last!r}; this one is not its last"
            self.local[name] = f"outside the loop there is {step.save_as!r}, {what}"
        self._until(step, body, loops)

    def _call(self, step: model.Call, defined: set[str], loops: frozenset[str]) -> None:
        self._loop(step, defined, loops)
        self.variables = loops | ({step.loop.variable} if step.loop is not None else set())
        known = defined | self.variables
        self.calling = True
        for key, value in step.params:
            self._value(value, (*step.path, "params", key), known)
            if step.kind != "api" or not isinstance(parameter_type(step.target, key), EnumType):
                self._literals(value, (*step.path, "params", key), known)
        self.calling = False
        self._until(step, defined, loops)
        operation = EVERY_OPERATION.get(step.target) if step.kind == "api" else None
        if operation is not None and operation.state == "writes":
            self.silent.add(step.save_as)

    def _loop(self, step: model.Call | model.Block, defined: set[str], loops: frozenset[str]) -> None:
        loop = step.loop
        if loop is None:
            return
        self._value(loop.over, (*step.path, "loop_over"), defined | loops)
        if loop.variable == step.save_as:
            message = f"{step.save_as!r} is the loop's item and its result"
            self.findings.add("E_REDEFINED", (*step.path, "as"), message, suggestion="use two names")
        if loop.variable in defined | loops:
            where: Path = (*step.path, "as") if loop.variable != ITEM else step.path
            message = f"inside this loop {loop.variable!r} is the loop's item and hides the outer one"
            self.findings.add("W_SHADOW", where, message, suggestion=_OWN_NAME)

    def _until(self, step: model.Call | model.Block, defined: set[str], loops: frozenset[str]) -> None:
        if step.loop is not None and step.loop.until is not None:
            self.used |= {step.save_as} & ex.names(step.loop.until)
            self.variables = loops | {step.loop.variable}
            self._value(step.loop.until, (*step.path, "until"), defined | self.variables | {step.save_as})

    def _branches(self, step: model.If, defined: set[str], loops: frozenset[str]) -> None:
        names: list[set[str]] = []
        for block in (step.then, step.otherwise):
            inside = set(defined)
            self._block(block, inside, loops)
            names.append(inside - defined)
        then, otherwise = names
        for name in (*sorted(then - otherwise), *sorted(otherwise - then)):
            have, lack = ("then", "else") if name in then else ("else", "then")
            path = (*step.path, lack) if lack == "then" or step.otherwise else step.path
            bound = f'{{"type": "set", "value": null, "save_as": "{name}"}}'
            suggestion = f"bind {name!r} in {lack!r} too, for instance with {bound}"
            message = f"{name!r} is bound in {have!r} but not in {lack!r}"
            follows = self.findings.has("E_REDEFINED")
            self.findings.add("E_BRANCH_MISMATCH", path, message, suggestion=suggestion, follows=follows)
        defined |= then | otherwise

    def _plain(self, step: model.Step, defined: set[str], loops: frozenset[str]) -> None:
        for key, value in model.values(step):
            if isinstance(step, model.Aggregate) and step.operation not in AGGREGATES:
                self.used |= ex.names(value)  # the meaning of its inputs is unknown; names in them count as used
                continue
            path: Path = (*step.path, *key.split(".", 1))
            known = defined | loops
            if (isinstance(step, model.Filter | model.Project) and key != "inputs") or (
                isinstance(step, model.Aggregate) and key == "params.where"
            ):
                if ITEM in loops and ITEM in ex.names(value):
                    message = "here 'item' is an item of the list, not of the loop around it"
                    self.findings.add("W_SHADOW", path, message, found=ITEM, suggestion=_OWN_NAME)
                known = known | {ITEM}
            self._value(value, path, known)
            if isinstance(step, model.Set) or (isinstance(step, model.Project) and key != "inputs"):
                self._literals(value, path, known)

    def _literals(self, value: ex.Expr, path: Path, known: set[str]) -> None:
        """Note constant texts that are exactly a name or path in scope, for which braces were probably meant."""
        for where, leaf in ex.located(value, path):
            text = leaf.value if isinstance(leaf, ex.Const) else None
            found = _PATH.fullmatch(text) if isinstance(text, str) else None
            if found is not None and found[1] in known:
                suggestion = f'write "{{{{ {text} }}}}" for the value; for the text, call the name something else'
                message = f"this is the text {text!r}, not the value of that name"
                self.findings.add("W_LITERAL", where, message, suggestion=suggestion)

    def _bind(self, name: str, path: Path, defined: set[str]) -> None:
        path = (*path, "save_as")
        if name in defined.union(*self.taken):
            self.findings.add("E_REDEFINED", path, f"{name!r} is bound already", suggestion="use a new name")
        self._hides(name, path)
        defined.add(name)
        self.later.discard(name)
        self.bound_at.setdefault(name, path)

    def _hides(self, name: str, path: Path) -> None:
        if name in EVERY_OPERATION:
            message = f"{name!r} is also the name of an operation; here it is a value"
            self.findings.add("W_SHADOW", path, message, found=name, suggestion="call the value by what it holds")

    def _value(self, value: ex.Expr, path: Path, known: set[str]) -> None:
        for where, leaf in ex.located(value, path):
            for node in ex.walk(leaf):
                if isinstance(node, ex.Name):
                    self._name(node.name, where, known)
                elif isinstance(node, ex.Broken):  # it could not be parsed: every word in it counts as used
                    self.used |= set(_WORD.findall(node.source))

    def _name(self, name: str, path: Path, known: set[str]) -> None:
        if name in known:
            self.used.add(name)
            return
        follows = self.findings.has("E_REDEFINED")  # it may be what the second one was to be called
        if name == ITEM:
            message = "'item' exists only in a loop, in 'where' and in 'fields'"
            self.findings.add("E_ITEM_OUTSIDE_LOOP", path, message, found=ITEM, suggestion=self._instead_of_item())
        elif name in self.later:
            self.used.add(name)
            message = f"{name!r} is bound only by a later step"
            self.findings.add("E_FORWARD", path, message, found=name, suggestion="move that step up", follows=follows)
        elif name in self.local:
            message = f"{name!r} exists only inside the loop that binds it"
            self.findings.add("E_UNDEFINED", path, message, found=name, suggestion=self.local[name])
        else:
            hint = "did you mean 'none'?" if name in ("null", "None") else self.findings.near(name, known)
            words = ", ".join(sorted(known))
            self.findings.add(
                "E_UNDEFINED",
                path,
                f"{name!r} is not bound",
                found=name,
                expected=words,
                suggestion=hint,
                follows=follows,
            )

    def _instead_of_item(self) -> str:
        if self.variables:
            return (
                f"did you mean {' or '.join(map(repr, sorted(self.variables)))}? the loop variable is named with 'as'"
            )
        if self.calling:
            return "add loop_over to this step: which list is it to be done for?"
        return "put the step into one of type 'loop' over a list, or take one item of the list first"

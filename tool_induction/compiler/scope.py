"""Pass 3: is every name of a tool bound before it is read, bound once, and read at all?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tool_induction.aggregates import AGGREGATES
from tool_induction.language import expressions as ex
from tool_induction.language.diagnostics import (
    Findings,
    Path,
)
from tool_induction.language.model import (
    Aggregate,
    Block,
    Call,
    Filter,
    If,
    Project,
    Require,
    Set,
    Step,
    Tool,
    binds,
    values,
    walk_steps,
)
from tool_induction.language.types import takes_words
from world_api.operations import EVERY_OPERATION

ITEM = "item"
#: a name, or a path from one
_PATH = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(\.[A-Za-z][A-Za-z0-9_]*|\[-?[0-9]+\])*")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def check_scope(tool: Tool, findings: Findings) -> None:
    """Note every name that is undefined, used too early, bound twice, shadowed or never used."""
    checker = _Checker(tool=tool, findings=findings)
    checker.run()


@dataclass(kw_only=True)
class _Checker:
    tool: Tool
    findings: Findings
    later: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    #: names bound inside of loops -> what the loop gives of them, in words
    local: dict[str, str] = field(default_factory=dict)
    calling: bool = False  #: whether the values being looked at are parameters of a call
    bound_at: dict[str, Path] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    #: names of the loops around a step: a loop's own name, and that of its item
    taken: list[set[str]] = field(default_factory=list)

    def run(self) -> None:
        self.later = {step.save_as for step in walk_steps(self.tool.steps) if not isinstance(step, If | Require)}
        defined = {item.name for item in self.tool.inputs}
        self._block(self.tool.steps, defined, frozenset())
        self._outputs(defined)
        for place, output in enumerate(self.tool.outputs):
            self._looks_like(output.name, [one.name for one in self.tool.outputs[:place]], output.path)
        for place, item in enumerate(self.tool.inputs):
            self._hides(item.name, item.path)
            self._looks_like(item.name, [one.name for one in self.tool.inputs[:place]], item.path)
            if item.name not in self.used:
                self.findings.add("W_UNUSED", item.path, f"the input {item.name!r} is never used")
        for name, path in self.bound_at.items():
            if name not in self.used | self.silent:
                self.findings.add("W_UNUSED", path, f"{name!r} is saved and never used", found=name)

    def _outputs(self, defined: set[str]) -> None:
        last = next((binds(step)[0] for step in reversed(self.tool.steps) if binds(step)), None)
        for output in self.tool.outputs:
            if output.source is not None:
                self._value(output.source, (*output.path, "from"), defined, frozenset())
            elif output.name in defined:
                self.used.add(output.name)
            elif last is not None:
                self.used.add(last)

    def _block(self, steps: tuple[Step, ...], defined: set[str], loop_names: frozenset[str]) -> None:
        for step in steps:
            match step:
                case If():
                    self._value(step.condition, (*step.path, "condition"), defined, loop_names)
                    self._branches(step, defined, loop_names)
                case Block():
                    self._loop(step, defined, loop_names)
                    body = set(defined)
                    self.taken.append({step.save_as, step.loop.variable})
                    self._block(step.body, body, loop_names | {step.loop.variable})
                    last = next((binds(inner)[-1] for inner in reversed(step.body) if binds(inner)), "")
                    self.used.add(last)  # it is the value of an iteration
                    self.taken.pop()
                    # what is bound last is an iteration's value
                    self.silent.update([name for inner in step.body for name in binds(inner)][-1:])
                    for name in body - defined:
                        what = "the list of them" if name == last else f"the list of {last!r}; this one is not its last"
                        self.local[name] = f"outside the loop there is {step.save_as!r}, {what}"
                    self._until(step, body, loop_names)
                    self._bind(step.save_as, step.path, defined)
                case Call():
                    self._call(step, defined, loop_names)
                    self._bind(step.save_as, step.path, defined)
                    if (
                        step.kind == "api"
                        and step.target in EVERY_OPERATION
                        and EVERY_OPERATION[step.target].state == "writes"
                    ):
                        self.silent.add(step.save_as)
                case Require():
                    self._plain(step, defined, loop_names)
                case _:
                    self._plain(step, defined, loop_names)
                    self._bind(step.save_as, step.path, defined)

    def _call(self, step: Call, defined: set[str], loop_names: frozenset[str]) -> None:
        inside = loop_names
        if step.loop is not None:
            self._loop(step, defined, loop_names)
            inside = loop_names | {step.loop.variable}
        self.calling = True
        for key, value in step.params:
            self._value(value, (*step.path, "params", key), defined, inside)
            if step.kind != "api" or not takes_words(step.target, key):
                self._literals(value, (*step.path, "params", key), defined | inside)
        self.calling = False
        self._until(step, defined, loop_names)

    def _loop(self, step: Call | Block, defined: set[str], loop_names: frozenset[str]) -> None:
        loop = step.loop
        if loop is None:
            return
        self._value(loop.over, (*step.path, "loop_over"), defined, loop_names)
        if loop.variable == step.save_as:
            self.findings.add(
                "E_REDEFINED",
                (*step.path, "as"),
                f"{step.save_as!r} is the loop's item and its result",
                suggestion="use two names",
            )
        if loop.variable in defined | loop_names:
            where: Path = (*step.path, "as") if loop.variable != ITEM else step.path
            self.findings.add(
                "W_SHADOW",
                where,
                f"inside this loop {loop.variable!r} is the loop's item and hides the outer one",
                suggestion='give the loop variable its own name with "as"',
            )

    def _until(self, step: Call | Block, defined: set[str], loop_names: frozenset[str]) -> None:
        if step.loop is not None and step.loop.until is not None:
            inside = defined | {step.save_as}
            self.used |= {step.save_as} & {node.name for node in ex.walk(step.loop.until) if isinstance(node, ex.Name)}
            self._value(step.loop.until, (*step.path, "until"), inside, loop_names | {step.loop.variable})

    def _branches(self, step: If, defined: set[str], loop_names: frozenset[str]) -> None:
        names: list[set[str]] = []
        for block in (step.then, step.otherwise):
            inside = set(defined)
            self._block(block, inside, loop_names)
            names.append(inside - defined)
        then, otherwise = names
        for name in (*sorted(then - otherwise), *sorted(otherwise - then)):
            have, lack = ("then", "else") if name in then else ("else", "then")
            self.findings.add(
                "E_BRANCH_MISMATCH",
                (*step.path, lack) if lack == "then" or step.otherwise else step.path,
                f"{name!r} is bound in {have!r} but not in {lack!r}",
                found=name,
                suggestion=f'bind {name!r} in {lack!r} too, for instance with {{"type": "set", "value": null, '
                f'"save_as": "{name}"}}',
            )
        defined |= then | otherwise

    def _plain(self, step: Step, defined: set[str], loop_names: frozenset[str]) -> None:
        over_items = isinstance(step, Filter | Project | Aggregate)
        unknown = isinstance(step, Aggregate) and step.operation not in AGGREGATES
        for key, value in values(step):
            if unknown:  # the meaning of its inputs is unknown; names in them count as used
                self.used |= {node.name for node in ex.walk(value) if isinstance(node, ex.Name)}
                continue
            with_item = over_items and key != "inputs" and (not isinstance(step, Aggregate) or key == "params.where")
            if with_item and ITEM in loop_names and _reads_item(value):
                self.findings.add(
                    "W_SHADOW",
                    (*step.path, *key.split(".", 1)),
                    "here 'item' is an item of the list, not of the loop around it",
                    found=ITEM,
                    suggestion='give the loop variable its own name with "as"',
                )
            path: Path = (*step.path, *key.split(".", 1))
            inside = loop_names | {ITEM} if with_item else loop_names
            self._value(value, path, defined, inside)
            if isinstance(step, Set) or (isinstance(step, Project) and key != "inputs"):
                self._literals(value, path, defined | inside)

    def _literals(self, value: ex.Expr, path: Path, names: set[str] | frozenset[str]) -> None:
        """Note literal texts that are exactly a name: braces were probably meant."""
        for where, leaf in ex.located(value, path):
            if not isinstance(leaf, ex.Const) or not isinstance(leaf.value, str):
                continue
            found = _PATH.fullmatch(leaf.value)
            if found is not None and found[1] in names:
                self.findings.add(
                    "W_LITERAL",
                    where,
                    f"this is the text {leaf.value!r}, not the value of that name",
                    suggestion=f'write "{{{{ {leaf.value} }}}}" for the value; for the text, call the name something else',
                )

    def _bind(self, name: str, path: Path, defined: set[str]) -> None:
        if name in defined.union(*self.taken):
            self.findings.add(
                "E_REDEFINED", (*path, "save_as"), f"{name!r} is bound already", found=name, suggestion="use a new name"
            )
        self._hides(name, (*path, "save_as"))
        self._looks_like(name, defined, (*path, "save_as"))
        defined.add(name)
        self.later.discard(name)
        self.bound_at.setdefault(name, (*path, "save_as"))

    def _looks_like(self, name: str, others: Iterable[str], path: Path) -> None:
        """Warn of names that differ by capitals only."""
        other = next((one for one in sorted(others) if one != name and one.lower() == name.lower()), None)
        if other is not None:
            self.findings.add(
                "W_SHADOW",
                path,
                f"{name!r} and {other!r} differ by capitals only",
                found=name,
                suggestion="call each by what it holds",
            )

    def _hides(self, name: str, path: Path) -> None:
        if name in EVERY_OPERATION:
            self.findings.add(
                "W_SHADOW",
                path,
                f"{name!r} is also the name of an operation; here it is a value",
                found=name,
                suggestion="call the value by what it holds",
            )

    def _value(self, value: ex.Expr, path: Path, defined: set[str], loop_names: frozenset[str]) -> None:
        for where, leaf in ex.located(value, path):
            for node in ex.walk(leaf):
                if isinstance(node, ex.Name):
                    self._name(node.name, where, leaf, defined, loop_names)
                elif isinstance(node, ex.Broken):  # it could not be parsed: every word in it counts as used
                    self.used |= set(_WORD.findall(node.source))

    def _name(self, name: str, path: Path, leaf: ex.Expr, defined: set[str], loop_names: frozenset[str]) -> None:
        if name in defined or name in loop_names:
            self.used.add(name)
        elif name == ITEM:
            self._item_outside(path, leaf, loop_names)
        elif name in self.later:
            self.used.add(name)
            self.findings.add(
                "E_FORWARD", path, f"{name!r} is bound only by a later step", found=name, suggestion="move that step up"
            )
        elif name in self.local:
            self.findings.add(
                "E_UNDEFINED",
                path,
                f"{name!r} exists only inside the loop that binds it",
                found=name,
                suggestion=self.local[name],
            )
        else:
            known = defined | loop_names
            hint = {"null": "did you mean 'none'?", "None": "did you mean 'none'?"}.get(name)
            self.findings.add(
                "E_UNDEFINED",
                path,
                f"{name!r} is not bound",
                found=name,
                expected=", ".join(sorted(known)),
                suggestion=hint or self.findings.near(name, known),
            )

    def _item_outside(self, path: Path, leaf: ex.Expr, loop_names: frozenset[str]) -> None:
        suggestion = "put the step into one of type 'loop' over a list, or take one item of the list first"
        if loop_names:
            meant = " or ".join(map(repr, sorted(loop_names)))
            suggestion = f"did you mean {meant}? the loop variable is named with 'as'"
        elif self.calling:
            suggestion = "add loop_over to this step: which list is it to be done for?"
        self.findings.add(
            "E_ITEM_OUTSIDE_LOOP",
            path,
            "'item' exists only in a loop, in 'where' and in 'fields'",
            suggestion=suggestion,
        )


def _reads_item(value: ex.Expr) -> bool:
    return any(isinstance(node, ex.Name) and node.name == ITEM for node in ex.walk(value))

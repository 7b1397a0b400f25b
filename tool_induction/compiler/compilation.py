"""The compiler: turns a document into checked tools and findings.

Seven passes, each of which reports all its faults: 1 sizes and shape, 2 resolving, 3 scope, 4 types, 5 termination and
price, 6 advice, 7 declarations (``declarations.py``, on request). A pass does not repeat what follows from the fault of
an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tool_induction import limits
from tool_induction.aggregates import AGGREGATES, ALIASES
from tool_induction.checker.steps import Signature, StepChecker
from tool_induction.checker.values import bind_outputs, check_answers
from tool_induction.compiler.advice import ToolPrice, lint, lint_entities, lint_library, price_of
from tool_induction.compiler.names import resolve
from tool_induction.compiler.scope import ScopeChecker
from tool_induction.compiler.shape import canonical_spelling, check_shape, name_of, split_document
from tool_induction.compiler.source import check_visible, decode
from tool_induction.language.diagnostics import Diagnostic, Findings, Path, by_relevance
from tool_induction.language.expressions import located, within_bounds
from tool_induction.language.model import Aggregate, Call, Tool, read_tool, values, walk_steps
from tool_induction.language.types import ANY
from world_api.core.faults import ToolFault


@dataclass(frozen=True, kw_only=True)
class CompiledTool:
    """A tool that can run. ``tool`` and ``frozen`` contain all defaults and inferred types explicitly."""

    tool: Tool
    price: ToolPrice

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    @cached_property
    def frozen(self) -> dict[str, Any]:
        """The tool as a JSON document, with all defaults and inferred types explicit."""
        return self.tool.document()


@dataclass(frozen=True, kw_only=True)
class Compilation:
    """The result of compiling a document. ``tools`` has those without errors; ``names`` has all, in document order."""

    tools: Mapping[str, CompiledTool]
    names: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether neither the file nor any of its tools has an error."""
        return not any(item.severity == "error" for item in self.diagnostics)

    def require(self) -> Mapping[str, CompiledTool]:
        """Return all tools, by name, if there is no error.

        Raises:
            ToolFault: ``bad_tools``, whose message contains the first three errors.
        """
        if self.ok:
            return self.tools
        errors = [item for item in self.diagnostics if item.severity == "error"]
        shown = "; ".join(f"{item.code} {item.json_path}: {item.message}" for item in errors[:3])
        raise ToolFault(
            "bad_tools",
            f"{len(errors)} fault{'s' * (len(errors) != 1)}: {shown}",
            hint="`videoworld tools check FILE` shows all of them",
        )

    def record(self) -> dict[str, Any]:
        """Return the JSON form that ``tools check --json`` prints."""
        return {
            "ok": self.ok,
            "tools": [
                {
                    "name": name,
                    "ok": name in self.tools,
                    "price": self.tools[name].price.record() if name in self.tools else None,
                }
                for name in self.names
            ],
            "diagnostics": [item.record() for item in self.diagnostics],
        }


def compile_document(
    source: str | bytes | object,
    *,
    entities: Sequence[str] = (),
    allow_judge: bool = False,
    groups: Collection[str] = (),
) -> Compilation:
    """Check a document and compile its tools. Every fault of the document is a diagnostic; none is raised.

    Args:
        source: The document: JSON text or value (one tool, a list, or ``{"tools": [...]}``), or a ``Tool``.
        entities: Entities of an induction's examples; a tool that contains one as a constant gets advice.
        allow_judge: Whether tools may contain steps of type ``judge``.
        groups: Optional groups of operations that tools may call, besides the sixteen that are always there.
    """
    about_file = Findings()
    document = decode(source.document() if isinstance(source, Tool) else source, about_file)
    if about_file.errors:
        return Compilation(tools={}, names=(), diagnostics=tuple(about_file.items))
    return _Compiler(about_file, entities, allow_judge, groups).compile(document)


@dataclass
class _Compiler:
    about_file: Findings
    entities: Sequence[str]
    allow_judge: bool
    groups: Collection[str]
    _order: list[Findings] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _models: dict[str, Tool] = field(default_factory=dict)
    _findings: dict[str, Findings] = field(default_factory=dict)
    _compiled: dict[str, CompiledTool] = field(default_factory=dict)
    _signatures: dict[str, Signature] = field(default_factory=dict)

    def compile(self, document: Any) -> Compilation:
        for path, raw in split_document(document, self.about_file):
            self._shape(raw, path)
        for name in compile_order(self._models, self._findings):
            self._compile(self._models[name], self._findings[name])
        if self._compiled:
            lint_library({name: item.tool for name, item in self._compiled.items()}, self._findings)
        items = [item.in_document(document) for findings in (self.about_file, *self._order) for item in findings.items]
        tools = {name: self._compiled[name] for name in self._names if name in self._compiled}
        if self.about_file.errors:
            tools = {}
        return Compilation(tools=tools, names=tuple(self._names), diagnostics=by_relevance(items))

    def _shape(self, raw: Any, path: Path) -> None:
        """Run pass 1 on one tool: check its shape, then read and keep it (parse expressions, look up the names of types)."""
        name = name_of(raw, path)
        findings = Findings(tool=name)
        self._order.append(findings)
        self._names.append(name)
        raw = canonical_spelling(raw, findings, path)
        if not check_shape(raw, path, findings, allow_judge=self.allow_judge):
            return
        check_visible(raw, path, findings)
        if name in self._models:  # neither can be meant
            first = (*self._models[name].path, "tool_name")
            for one, where in ((self._findings[name], first), (findings, (*path, "tool_name"))):
                one.add("E_NAME", where, f"two tools are called {name!r}", found=name)
            return
        self._models[name] = tool = read_tool(raw, path, findings)
        for step in walk_steps(tool.steps):
            if isinstance(step, Aggregate) and ALIASES.get(step.operation, step.operation) not in AGGREGATES:
                findings.drop((*step.path, "inputs"))  # what they mean is unknown; the aggregate is the fault
        self._findings[name] = findings

    def _compile(self, as_read: Tool, findings: Findings) -> None:
        """Run passes 2 to 6 on one tool and keep it if it has no errors; the tools that it calls were compiled before."""
        # pass 2: do operations, tools, aggregates, parameters exist?
        tools = dict.fromkeys(self._names) | self._models
        tool = resolve(as_read, tools, findings, groups=self.groups)
        ScopeChecker(tool=tool, findings=findings).run()  # pass 3: is every name bound before it is read, once?
        tool = self._types(tool, findings)  # pass 4
        if findings.errors:
            return
        _check_written_sizes(tool, findings)
        prices = {name: item.price for name, item in self._compiled.items()}
        price = price_of(tool, prices, findings)  # pass 5: is every loop bounded, and what does it cost?
        lint(tool, findings)  # pass 6: advice
        lint_entities(as_read, self.entities, findings)
        if not findings.errors:
            self._compiled[tool.name] = CompiledTool(tool=tool, price=price)

    def _types(self, tool: Tool, findings: Findings) -> Tool:
        """Run pass 4: check the types; return the tool with defaults and inferred types made explicit."""
        declared = [(item.name, item.type, item.path) for item in tool.outputs]
        checker = StepChecker(self._signatures, findings)
        steps, after = checker.tool(tool)
        tool = bind_outputs(replace(tool, steps=steps), after, findings)
        check_answers(tool, checker.answers, findings)
        if findings.errors:  # callers rely on what is declared, except where that or the value may be wrong
            outputs = {name: ANY if findings.faulty(path) else type_ for name, type_, path in declared}
        else:
            outputs = {item.name: item.type for item in tool.outputs}
        inputs = {item.name: item.type for item in tool.inputs}
        self._signatures[tool.name] = Signature(inputs=inputs, outputs=outputs)
        for target, path in calls_of(tool).items():
            if target in self._models and target not in self._compiled and not findings.errors:
                message = f"{target!r} cannot be called before its own faults are mended"
                findings.add("E_UNKNOWN_TOOL", path, message, follows=True)
        return tool


def _check_written_sizes(tool: Tool, findings: Findings) -> None:
    """Note expressions that are too large to be parsed again, now that defaults and conversions are explicit."""
    for step in walk_steps(tool.steps):
        for key, value in values(step):
            for path, leaf in located(value, (*step.path, *key.split(".", 1))):
                if not within_bounds(leaf):
                    message = "with everything implicit written out the expression is too large"
                    findings.add("E_EXPR_SIZE", path, message, suggestion="split it over several 'set' steps")


def calls_of(tool: Tool) -> dict[str, Path]:
    """Return the names of the tools that a tool calls, each with the path of the first call."""
    found: dict[str, Path] = {}
    for step in walk_steps(tool.steps):
        if isinstance(step, Call) and step.kind == "tool":
            found.setdefault(step.target, (*step.path, "tool"))
    return found


def compile_order(tools: Mapping[str, Tool], findings: Mapping[str, Findings]) -> list[str]:
    """Return the names of the tools, called ones first. Tools on a cycle or nested too deep are noted but included."""
    edges = {name: [target for target in calls_of(tool) if target in tools] for name, tool in tools.items()}
    order: list[str] = []

    def visit(name: str, above: list[str]) -> None:
        if name in order:
            return
        above = [*above, name]
        for target in edges[name]:
            if target not in above:
                visit(target, above)
                continue
            circle = above[above.index(target) :]
            for place, member in enumerate(circle):  # each of them may be the one to change
                findings[member].add(
                    "E_CYCLE",
                    calls_of(tools[member])[circle[(place + 1) % len(circle)]],
                    "tools call each other in a circle: " + " -> ".join([*circle[place:], *circle[:place], member]),
                    suggestion="a tool may not call itself, directly or through others",
                )
        order.append(name)

    for name in tools:
        visit(name, [])
    depths: dict[str, int] = {}
    for name in order:
        deepest = max(edges[name], key=lambda target: depths.get(target, 0), default="")
        depths[name] = 1 + depths.get(deepest, 0)
        if depths[name] > limits.MAX_TOOL_DEPTH:
            path = calls_of(tools[name])[deepest]
            message = f"tools call tools {depths[name]} deep, more than {limits.MAX_TOOL_DEPTH}"
            findings[name].add("E_DEPTH", path, message, suggestion="call the operations directly")
    return order

"""The tools of one draw, each with the versions it went through, and which version is the best so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from tool_induction.admission import Admission, ExampleWorld, Verdict, admit
from tool_induction.admission.verdicts import Reason
from tool_induction.compiler.compiling import Compilation, CompiledTool, compile_document
from tool_induction.documents.credentials import without_secrets
from tool_induction.inducer.emissions import WrittenTool
from tool_induction.language import limits
from tool_induction.language.diagnostics import Code, Diagnostic, format_path

#: unreadable: no JSON; faulty: does not compile; refused: not admitted; duplicate: admitted but for another that does the same
Standing = Literal["unreadable", "faulty", "refused", "duplicate", "admitted"]
_RANK: dict[Standing, int] = {"unreadable": 0, "faulty": 1, "refused": 2, "duplicate": 3, "admitted": 3}
#: the compiler's checks in the order in which one needs the other, after that of the shape (all codes not listed): whether what is
#: called exists, its parameters and the expressions in them, names, types, bounds. A fault in an earlier one hides others.
_CHECKS: tuple[tuple[Code, ...], ...] = (
    ("E_UNKNOWN_API", "E_OPERATION_OFF", "E_UNKNOWN_TOOL", "E_UNKNOWN_AGGREGATE"),
    ("E_UNKNOWN_PARAM", "E_MISSING_PARAM", "E_EXPR_SYNTAX", "E_EXPR_FORBIDDEN", "E_EXPR_SIZE"),
    ("E_UNDEFINED", "E_FORWARD", "E_REDEFINED", "E_ITEM_OUTSIDE_LOOP"),
    ("E_TYPE", "E_OPTIONAL", "E_OUTPUT_UNBOUND", "E_BRANCH_MISMATCH"),
    ("E_CYCLE", "E_UNBOUNDED", "E_BUDGET"),
)
_CHECKED = {code: place for place, codes in enumerate(_CHECKS, start=1) for code in codes}
#: the reasons of admission: a tool that is refused for a later one passed, by and large, the rules before it
_RULES: dict[Reason, int] = {
    reason: place for place, reason in enumerate(get_args(Reason)) if reason not in ("admitted", "duplicate")
}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something wrong with a tool: the compiler's code or admission's reason, where (from the tool's root), what to do."""

    code: str
    path: str
    message: str
    suggestion: str = ""

    def line(self) -> str:
        """As it is handed back."""
        told = f"{self.code} at {self.path}: {self.message.rstrip('.')}."
        return f"{told} Suggestion: {self.suggestion}" if self.suggestion else told


@dataclass(frozen=True, kw_only=True)
class Version:
    """A tool as it was written in one round (0: the first emission), and what was found out about it."""

    round: int
    written: WrittenTool
    standing: Standing = "unreadable"
    diagnostics: tuple[Diagnostic, ...] = ()
    depth: int = 0  #: how many parts of a diagnostic's path lead to the tool
    verdict: Verdict | None = None

    @property
    def name(self) -> str:
        """The tool's name as it was written."""
        return self.written.name

    @property
    def fails(self) -> bool:
        """Whether it is handed back. A duplicate is not: it works, and belongs into the unpruned library."""
        return self.standing in ("unreadable", "faulty", "refused")

    def is_better_than(self, other: Version) -> bool:
        """Whether it came further: by standing, then with fewer faults in the first check in which they differ."""
        return self._progress() > other._progress()

    def _progress(self) -> tuple[int, ...]:
        """How far it came; what only follows from the faults of another tool is not held against it."""
        if self.standing == "faulty":
            found = Counter(
                _CHECKED.get(item.code, 0) for item in self.diagnostics if item.severity == "error" and not item.follows
            )
            return _RANK["faulty"], *(-found[place] for place in range(len(_CHECKS) + 1))
        if self.standing == "refused" and self.verdict is not None:
            failed = sum(run.status == "error" for run in self.verdict.runs)
            return _RANK["refused"], _RULES.get(self.verdict.reason, 0), -failed
        return (_RANK[self.standing],)

    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with it."""
        if self.standing == "unreadable":
            return (Fault(code="E_JSON", path="$", message=self.written.fault),)
        if self.standing == "faulty":
            told = tuple(self._fault(item) for item in self.diagnostics if item.severity == "error")
            return told or (Fault(code="E_SHAPE", path="$", message="the compiler cannot take this tool"),)
        verdict = self.verdict
        if verdict is None or verdict.admitted:
            return ()
        message = f"refused when it was tried: {verdict.explanation}"
        return (Fault(code=verdict.reason, path="$", message=message, suggestion=verdict.suggestion),)

    def reason(self) -> str:
        """Why it is not in the library, as codes; empty where it is."""
        return ", ".join(dict.fromkeys(item.code for item in self.faults()))

    def _fault(self, item: Diagnostic) -> Fault:
        path = format_path(item.path[self.depth :])
        return Fault(code=item.code, path=path, message=item.message, suggestion=item.suggestion)


@dataclass(kw_only=True)
class Slot:
    """One tool of the draw, whatever it is called from round to round."""

    number: int
    versions: list[Version] = field(default_factory=list)
    best: int = 0

    @property
    def current(self) -> Version:
        """The version that counts."""
        return self.versions[self.best]

    @property
    def name(self) -> str:
        """The name of the version that counts, as it is shown."""
        return without_secrets(self.current.name) or f"(tool {self.number + 1})"


@dataclass(frozen=True, kw_only=True)
class Trying:
    """What tools are tried on and linted by. ``worlds`` opens the example worlds afresh for every examination."""

    worlds: Callable[[], tuple[ExampleWorld, ...]] = tuple
    entities: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()  #: optional groups of operations that they may call
    allow_judge: bool = False  #: whether they may have judge steps


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What came of examining all tools together."""

    versions: tuple[Version, ...]
    tools: Mapping[str, CompiledTool]
    admission: Admission


class Draft:
    """The slots of a draw and what is known of them; every change is examined as a whole, because tools may call tools."""

    def __init__(self, written: Sequence[WrittenTool], trying: Trying) -> None:
        self._trying = trying
        self.slots = [
            Slot(number=number, versions=[Version(round=0, written=item)])
            for number, item in enumerate(written[: limits.MAX_TOOLS])
        ]
        self.retired: list[Slot] = []  #: second copies of a tool, given up when the tool came back once
        self.examined = self._examine([slot.current for slot in self.slots])
        self._take(self.examined)

    def retire(self, slots: Sequence[Slot]) -> None:
        """Give up slots; the next examination is without them."""
        self.retired.extend(slots)
        self.slots = [slot for slot in self.slots if slot not in self.retired]

    def failing(self) -> list[Slot]:
        """The slots that are handed back."""
        return [slot for slot in self.slots if slot.current.fails]

    def state(self) -> frozenset[tuple[int, Fault]]:
        """What is wrong with what: by it a round that changed nothing is known."""
        return frozenset((slot.number, fault) for slot in self.failing() for fault in slot.current.faults())

    def replace(self, rewritten: Mapping[int, WrittenTool], *, round_number: int) -> list[Slot]:
        """Put new versions in their slots, keep each only if it is better; the slots where the one before is kept."""
        wanted = [
            Version(round=round_number, written=rewritten[slot.number]) if slot.number in rewritten else slot.current
            for slot in self.slots
        ]
        tried = self._examine(wanted)
        kept = []
        for slot, version in zip(self.slots, tried.versions, strict=True):
            if slot.number not in rewritten:
                continue
            slot.versions.append(version)
            if version.is_better_than(slot.current):
                slot.best = len(slot.versions) - 1
            else:
                kept.append(slot)
        self.examined = self._examine([slot.current for slot in self.slots]) if kept else tried
        self._take(self.examined)
        return kept

    def _take(self, examined: Examined) -> None:
        for slot, version in zip(self.slots, examined.versions, strict=True):
            slot.versions[slot.best] = version

    def _examine(self, versions: Sequence[Version]) -> Examined:
        readable = [place for place, item in enumerate(versions) if item.written.value is not None]
        values: list[Any] = [versions[place].written.value for place in readable]
        compilation = compile_document(
            {"tools": values},
            entities=self._trying.entities,
            groups=self._trying.groups,
            allow_judge=self._trying.allow_judge,
        )
        admission = admit(
            compilation.tools,
            examples=self._trying.worlds(),
            entities=self._trying.entities,
            others=self._trying.others,
        )
        verdicts = {item.tool: item for item in admission.verdicts}
        found = [replace(item, standing="unreadable", diagnostics=(), verdict=None) for item in versions]
        for index, place in enumerate(readable):
            found[place] = _judged(versions[place], index, compilation, verdicts)
        return Examined(versions=tuple(found), tools=compilation.tools, admission=admission)


def _judged(version: Version, index: int, compilation: Compilation, verdicts: Mapping[str, Verdict]) -> Version:
    """A version with what the compiler and admission say of it; ``index`` is its place in the compiled document."""
    own = tuple(item for item in compilation.diagnostics if item.path[:2] == ("tools", index))
    whole = tuple(item for item in compilation.diagnostics if item.severity == "error" and len(item.path) < 2)
    if whole or any(item.severity == "error" for item in own):
        return replace(version, standing="faulty", diagnostics=(*whole, *own), depth=2, verdict=None)
    verdict = verdicts.get(compilation.names[index])
    if verdict is None:
        return replace(version, standing="faulty", diagnostics=own, depth=2, verdict=None)
    standing: Standing = "admitted" if verdict.admitted else "duplicate" if verdict.reason == "duplicate" else "refused"
    return replace(version, standing=standing, diagnostics=own, depth=2, verdict=verdict)

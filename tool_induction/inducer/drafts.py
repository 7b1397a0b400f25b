"""The tools of one draw, each with its versions and the best of them so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from tool_induction import limits
from tool_induction.admission import Admission, ExampleWorld, Reason, Verdict, admit
from tool_induction.compiler.compilation import Compilation, CompiledTool, compile_document
from tool_induction.compiler.source import without_secrets
from tool_induction.domains import Domain
from tool_induction.inducer.emissions import WrittenTool
from tool_induction.inducer.requests import Settings
from tool_induction.language.diagnostics import Code, Diagnostic, format_path

#: unreadable: no JSON; faulty: does not compile; refused: not admitted; duplicate: admissible, but another tool does the same
Status = Literal["unreadable", "faulty", "refused", "duplicate", "admitted"]
_RANK: dict[Status, int] = {"unreadable": 0, "faulty": 1, "refused": 2, "duplicate": 3, "admitted": 3}
#: The compiler's checks after that of the shape (all codes that are not listed), in the order in which they depend on each other:
#: called names, parameters and expressions, bound names, types, bounds. A fault in an earlier one hides others.
_CHECKS: tuple[tuple[Code, ...], ...] = (
    ("E_UNKNOWN_API", "E_OPERATION_OFF", "E_UNKNOWN_TOOL", "E_UNKNOWN_AGGREGATE"),
    ("E_UNKNOWN_PARAM", "E_MISSING_PARAM", "E_EXPR_SYNTAX", "E_EXPR_FORBIDDEN", "E_EXPR_SIZE"),
    ("E_UNDEFINED", "E_FORWARD", "E_REDEFINED", "E_ITEM_OUTSIDE_LOOP"),
    ("E_TYPE", "E_OPTIONAL", "E_OUTPUT_UNBOUND", "E_BRANCH_MISMATCH"),
    ("E_CYCLE", "E_UNBOUNDED", "E_BUDGET"),
)
_CHECK_OF = {code: place for place, codes in enumerate(_CHECKS, start=1) for code in codes}
#: Reasons of admission in the order of its rules: a tool that is refused for a later one passed the rules before it.
_RULES: dict[Reason, int] = {
    reason: place for place, reason in enumerate(get_args(Reason)) if reason not in ("admitted", "duplicate")
}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of a tool: the compiler's code or admission's reason, the path from the tool's root, and a suggestion."""

    code: str
    path: str
    message: str
    suggestion: str = ""

    def line(self) -> str:
        """Return the fault as the model reads it."""
        text = f"{self.code} at {self.path}: {self.message.rstrip('.')}."
        return f"{text} Suggestion: {self.suggestion}" if self.suggestion else text


@dataclass(frozen=True, kw_only=True)
class Version:
    """A tool as written in one round (0: the first emission), with the findings of compiler and admission."""

    round: int
    written: WrittenTool
    status: Status = "unreadable"
    diagnostics: tuple[Diagnostic, ...] = ()
    verdict: Verdict | None = None

    @property
    def name(self) -> str:
        """The tool's name as written."""
        return self.written.name

    @property
    def fails(self) -> bool:
        """Whether the tool goes back to the model. A duplicate does not: it works, and is in the unpruned library."""
        return self.status in ("unreadable", "faulty", "refused")

    def is_better_than(self, other: Version) -> bool:
        """Whether it passed more: by status, then by fewer faults in the first check in which the two differ."""
        return self._progress() > other._progress()

    def _progress(self) -> tuple[int, ...]:
        if self.status == "faulty":  # faults that follow from another tool's do not count
            errors = (item for item in self.diagnostics if item.severity == "error" and not item.follows)
            found = Counter(_CHECK_OF.get(item.code, 0) for item in errors)
            return _RANK["faulty"], *(-found[place] for place in range(len(_CHECKS) + 1))
        if self.status == "refused" and self.verdict is not None:
            failed = sum(run.status == "error" for run in self.verdict.runs)
            return _RANK["refused"], _RULES.get(self.verdict.reason, 0), -failed
        return (_RANK[self.status],)

    def faults(self) -> tuple[Fault, ...]:
        """Return the faults that go back to the model."""
        if self.status == "unreadable":
            return (Fault(code="E_JSON", path="$", message=self.written.fault),)
        if self.status == "faulty":
            found = tuple(
                Fault(code=item.code, path=format_path(item.path[2:]), message=item.message, suggestion=item.suggestion)
                for item in self.diagnostics
                if item.severity == "error"
            )
            return found or (Fault(code="E_SHAPE", path="$", message="the compiler cannot take this tool"),)
        if self.verdict is None or self.verdict.admitted:
            return ()
        message = f"refused when it was tried: {self.verdict.explanation}"
        return (Fault(code=self.verdict.reason, path="$", message=message, suggestion=self.verdict.suggestion),)

    def reason(self) -> str:
        """Return the codes of the faults; empty for a tool of the library."""
        return ", ".join(dict.fromkeys(item.code for item in self.faults()))


@dataclass(kw_only=True)
class Slot:
    """One tool of the draw; its name may change from round to round."""

    number: int
    versions: list[Version] = field(default_factory=list)
    best: int = 0

    @property
    def current(self) -> Version:
        """The version that counts."""
        return self.versions[self.best]

    @property
    def name(self) -> str:
        """The name of the current version for people; secrets are redacted."""
        return without_secrets(self.current.name) or f"(tool {self.number + 1})"


class Draft:
    """The slots of a draw. Every change is compiled and tried as a whole, because tools may call tools.

    ``worlds`` opens the example worlds, once for every trial of all tools. ``tools`` and ``admission`` belong to the current versions;
    ``retired`` are second copies of a tool, given up when the model returned only one.
    """

    def __init__(
        self,
        written: Sequence[WrittenTool],
        domain: Domain,
        settings: Settings,
        worlds: Callable[[], tuple[ExampleWorld, ...]] = tuple,
    ) -> None:
        self._domain = domain
        self._settings = settings
        self._worlds = worlds
        self.slots = [
            Slot(number=number, versions=[Version(round=0, written=item)])
            for number, item in enumerate(written[: limits.MAX_TOOLS])
        ]
        self.retired: list[Slot] = []
        self.tools: Mapping[str, CompiledTool] = {}
        self.admission = Admission(verdicts=())
        self._examine_current()

    def retire(self, slots: Sequence[Slot]) -> None:
        """Give up slots; the next examination is without them."""
        self.retired.extend(slots)
        self.slots = [slot for slot in self.slots if slot not in self.retired]

    def failing(self) -> list[Slot]:
        """Return the slots that go back to the model."""
        return [slot for slot in self.slots if slot.current.fails]

    def state(self) -> frozenset[tuple[int, Fault]]:
        """Return all faults by slot; a round that leaves them as they were changed nothing."""
        return frozenset((slot.number, fault) for slot in self.failing() for fault in slot.current.faults())

    def replace(self, rewritten: Mapping[int, WrittenTool], *, round_number: int) -> list[Slot]:
        """Add new versions by slot number and keep each only if it is better; return the slots where it is not."""
        versions = self._examine(
            [
                Version(round=round_number, written=rewritten[slot.number])
                if slot.number in rewritten
                else slot.current
                for slot in self.slots
            ]
        )
        unchanged = []
        for slot, version in zip(self.slots, versions, strict=True):
            if slot.number not in rewritten:
                slot.versions[slot.best] = version
                continue
            slot.versions.append(version)
            if version.is_better_than(slot.current):
                slot.best = len(slot.versions) - 1
            else:
                unchanged.append(slot)
        if unchanged:
            self._examine_current()
        return unchanged

    def _examine_current(self) -> None:
        for slot, version in zip(self.slots, self._examine([slot.current for slot in self.slots]), strict=True):
            slot.versions[slot.best] = version

    def _examine(self, versions: Sequence[Version]) -> list[Version]:
        """Compile and try all tools together; sets ``tools`` and ``admission``."""
        readable = [place for place, item in enumerate(versions) if item.written.value is not None]
        values: list[Any] = [versions[place].written.value for place in readable]
        entities, settings = self._domain.entities, self._settings
        compilation = compile_document(
            {"tools": values}, entities=entities.examples, groups=settings.groups, allow_judge=settings.allow_judge
        )
        self.tools = compilation.tools
        self.admission = admit(self.tools, examples=self._worlds(), entities=entities.examples, others=entities.others)
        verdicts = {item.tool: item for item in self.admission.verdicts}
        found = [replace(item, status="unreadable", diagnostics=(), verdict=None) for item in versions]
        for index, place in enumerate(readable):
            found[place] = _examined(versions[place], index, compilation, verdicts)
        return found


def _examined(version: Version, index: int, compilation: Compilation, verdicts: Mapping[str, Verdict]) -> Version:
    """Return a version with its findings; ``index`` is its place in the compiled document."""
    own = tuple(item for item in compilation.diagnostics if item.path[:2] == ("tools", index))
    whole = tuple(item for item in compilation.diagnostics if item.severity == "error" and len(item.path) < 2)
    verdict = verdicts.get(compilation.names[index])
    if whole or verdict is None or any(item.severity == "error" for item in own):
        return replace(version, status="faulty", diagnostics=(*whole, *own), verdict=None)
    status: Status = "admitted" if verdict.admitted else "duplicate" if verdict.reason == "duplicate" else "refused"
    return replace(version, status=status, diagnostics=own, verdict=verdict)

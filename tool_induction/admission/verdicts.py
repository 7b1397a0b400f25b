"""The verdicts of admission: for each tool whether it enters a library, the reason if not, and a suggestion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

#: Why a tool is admitted or not; the list is closed and in the order of the rules.
Reason = Literal[
    "admitted",
    "disturbed",
    "fails",
    "over_price",
    "over_budget",
    "wrong_type",
    "invents",
    "swallows_errors",
    "only_examples",
    "always_empty",
    "constant",
    "ignores_inputs",
    "no_evidence",
    "broken_callee",
    "duplicate",
]
REASONS: frozenset[str] = frozenset(get_args(Reason))


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The reason why a tool is not admitted, and what would mend it."""

    reason: Reason
    explanation: str
    suggestion: str


@dataclass(frozen=True, kw_only=True)
class TrialRun:
    """One run of a tool on one world; ``example``: the world is a real one."""

    world: str
    arguments: Mapping[str, Any]
    status: str
    summary: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    evidence: int = 0  #: pieces
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

    def record(self) -> dict[str, Any]:
        """Return the wire form."""
        record: dict[str, Any] = {"world": self.world, "arguments": dict(self.arguments)}
        record |= {key: getattr(self, key) for key in ("status", "summary", "evidence", "calls", "tokens")}
        faults = ("error", "misfit", "overspent", "broken_off")
        record |= {key: getattr(self, key) for key in faults if getattr(self, key)}
        return record | ({"warnings": list(self.warnings)} if self.warnings else {})


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one tool. ``notes`` refuse nothing; ``kept`` names the tool that it duplicates."""

    tool: str
    admitted: bool
    reason: Reason
    explanation: str
    suggestion: str = ""
    notes: tuple[str, ...] = ()
    kept: str = ""
    runs: tuple[TrialRun, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the wire form."""
        keys = ("tool", "admitted", "reason", "explanation", "suggestion")
        record = {key: getattr(self, key) for key in keys} | {"notes": list(self.notes)}
        kept = {"kept": self.kept} if self.kept else {}
        return {**record, **kept, "runs": [run.record() for run in self.runs]}


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The verdicts on a library, in its order."""

    verdicts: tuple[Verdict, ...]

    @property
    def admitted(self) -> tuple[str, ...]:
        """The tools of the library."""
        return tuple(item.tool for item in self.verdicts if item.admitted)

    @property
    def unpruned(self) -> tuple[str, ...]:
        """The tools of the unpruned library, which keeps duplicates."""
        return tuple(item.tool for item in self.verdicts if item.admitted or item.reason == "duplicate")

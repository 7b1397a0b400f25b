"""What admission says: of each tool whether it is taken into a library, and if not why, and what would mend it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

#: why a tool is admitted or not; the list is closed
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
class TrialRun:
    """One run of a tool on one world. ``example`` says that the world is a real one."""

    world: str
    arguments: Mapping[str, Any]
    status: str
    summary: str
    outputs: Mapping[str, Any]
    evidence: int
    calls: int
    error: str = ""
    warnings: tuple[str, ...] = ()
    misfit: str = ""  #: where the result is not what the tool's schema says
    overspent: str = ""  #: which part of the static price it exceeded
    tokens: int = 0  #: about how many tokens a model reads
    failed_calls: int = 0
    disturbed: bool = False  #: something failed that the tool has no part in, such as a backend that is missing
    broken_off: bool = False  #: it took so long that the clock ended it: a matter of the machine
    example: bool = False

    def record(self) -> dict[str, Any]:
        """The wire form."""
        record: dict[str, Any] = {
            "world": self.world,
            "arguments": dict(self.arguments),
            "status": self.status,
            "summary": self.summary,
            "evidence": self.evidence,
            "calls": self.calls,
            "tokens": self.tokens,
        }
        for key in ("error", "misfit", "overspent"):
            if getattr(self, key):
                record[key] = getattr(self, key)
        if self.broken_off:
            record["broken_off"] = True
        return record | ({"warnings": list(self.warnings)} if self.warnings else {})

    def line(self) -> str:
        """The run on one line."""
        given = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{self.world}({given}) -> {self.status}, {self.calls} calls, {self.evidence} evidence: {self.summary}"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether one tool is admitted. ``notes`` are remarks that refuse nothing; ``kept`` names the tool it duplicates."""

    tool: str
    admitted: bool
    reason: Reason
    explanation: str
    suggestion: str = ""
    notes: tuple[str, ...] = ()
    kept: str = ""
    runs: tuple[TrialRun, ...] = ()

    def record(self) -> dict[str, Any]:
        """The wire form."""
        record: dict[str, Any] = {
            "tool": self.tool,
            "admitted": self.admitted,
            "reason": self.reason,
            "explanation": self.explanation,
            "suggestion": self.suggestion,
            "notes": list(self.notes),
        }
        if self.kept:
            record["kept"] = self.kept
        return record | {"runs": [run.record() for run in self.runs]}

    def text(self) -> str:
        """The verdict as a person, or the model that wrote the tool, reads it."""
        lines = [f"{self.tool}: {'admitted' if self.admitted else f'refused ({self.reason})'}"]
        if not self.admitted:
            lines.append(f"  {self.explanation}")
        if self.suggestion:
            lines.append(f"  -> {self.suggestion}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The verdicts on a library, in its order."""

    verdicts: tuple[Verdict, ...]

    @property
    def admitted(self) -> tuple[str, ...]:
        """The tools that are taken in."""
        return tuple(item.tool for item in self.verdicts if item.admitted)

    @property
    def unpruned(self) -> tuple[str, ...]:
        """The tools that are taken in where duplicates are not dropped."""
        return tuple(item.tool for item in self.verdicts if item.admitted or item.reason == "duplicate")

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "admitted": list(self.admitted),
            "unpruned": list(self.unpruned),
            "verdicts": [item.record() for item in self.verdicts],
        }

    def text(self) -> str:
        """All verdicts, and how many are admitted."""
        lines = [item.text() for item in self.verdicts]
        return "\n".join([*lines, f"{len(self.admitted)} of {len(self.verdicts)} tools are admitted"])

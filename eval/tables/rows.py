"""One row a sample: everything that tables, tests and charts are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Spend:
    """Tokens and money of one episode, counted one way (logical or physical); ``money`` in USD, None where no price is known.

    ``is_least``: the money leaves models out whose price is not known.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    money: float | None = None
    estimated: bool = False
    is_least: bool = False

    @property
    def tokens(self) -> int:
        """Sent and written."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One tool called in an episode: a library's tool by name and hash, or an operation (``hash`` None)."""

    name: str
    hash: str | None
    calls: int
    failed: int
    empty: int
    inner_calls: int

    @property
    def found(self) -> int:
        """Calls that neither failed nor came back empty."""
        return self.calls - self.failed - self.empty


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """A sample: its place in the design, what came out, what it cost.

    ``library_domain`` and ``library_arm`` come from the library's manifest (no arm: the library as it was frozen),
    ``score`` and ``details`` from the scorer. A sample
    without an episode has its fault's code as ``reason``, counts as wrong, and has no cost. ``spend`` holds ``logical`` and
    ``physical``, each with ``controller``, ``perception``, ``judge`` and ``total``. ``plumbing``: the rule-based model answered.
    ``settings`` are those of the episode's task (without an episode those of the arm), ``world_hash`` the world it saw,
    ``offered`` the tools of a library that it was offered, ``value`` what it answered in the type of the question. Rows of one
    cell share such values.
    ``gone``: there was an episode, and it is deleted or damaged.
    """

    sample: str
    cell: str
    arm: str  #: with its library, where it has one: ``hier@hand_A``
    arm_name: str  #: as the configuration has it
    system: str
    library: str | None
    library_hash: str | None
    library_domain: str | None
    library_arm: str | None
    dataset: str
    world: str
    budget: str
    seed: int
    model: str
    item: str
    video: str
    kind: str
    domain: str | None
    content: str | None
    template: str | None
    episode: str | None  #: its name in the journal of the cell
    correct: bool
    score: float
    outcome: str
    reason: str | None
    details: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 0
    calls: int = 0  #: made by the controller
    inner_calls: int = 0  #: atomic calls inside tools
    malformed: int = 0
    empty: int = 0  #: results in which nothing was found
    evidence_iou: float | None = None
    seconds: float | None = None
    spend: Mapping[str, Mapping[str, Spend]] = field(default_factory=dict)
    tools: tuple[ToolUse, ...] = ()
    plumbing: bool = False
    scorer: str = ""
    value: Any = None
    offered: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    world_hash: str | None = None
    gone: bool = False

    @property
    def exposure(self) -> str:
        """What of a library and the operations the system was shown."""
        return str(self.settings.get("exposure", "all"))

    def spent(self, way: str = "logical", part: str = "total") -> Spend | None:
        """What was spent, one way; None where there is no episode."""
        return self.spend.get(way, {}).get(part)

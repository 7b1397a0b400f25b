"""What is known of a model on an endpoint: one outcome for each thing that was looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from world_api.backends.chat.usage import Usage, is_count
from world_api.backends.chat.wires.named import WireName

Outcome = Literal["ok", "wrong", "not_offered", "not_tried"]
CheckName = Literal[
    "chat",
    "responses",
    "tools",
    "arguments",
    "call_ids",
    "tool_choice",
    "parallel_calls",
    "one_call_on_request",
    "history",
    "strict",
    "structured_output",
    "images",
    "usage",
    "embeddings",
]
CHECKS: tuple[CheckName, ...] = get_args(CheckName)  #: in the order in which they are told


@dataclass(frozen=True, kw_only=True)
class Check:
    """What came of looking at one thing. ``seen`` is what the server did, in one line."""

    name: CheckName
    outcome: Outcome
    seen: str = ""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What one model on one endpoint does. None: it was not looked at, or nothing could be concluded.

    ``wire`` is the one to speak; None where the model can be asked on neither. ``spent`` are the tokens that finding
    out took, ``thorough`` whether everything was looked at or only what chooses the wire. ``window`` is the context window in
    tokens, where the server tells it.
    """

    wire: WireName | None
    checks: tuple[Check, ...] = ()
    thorough: bool = False
    requests: int = 0
    spent: Usage = field(default_factory=Usage)
    asked_at: str = ""
    window: int | None = None

    @property
    def tools(self) -> bool | None:
        """Whether tools that are offered reach the model, which calls them."""
        return self.can("tools")

    @property
    def parallel_calls(self) -> bool | None:
        """Whether a reply makes several calls at once where that is the task."""
        return self.can("parallel_calls")

    @property
    def structured_output(self) -> bool | None:
        """Whether an answer keeps to a JSON Schema that it is asked in."""
        return self.can("structured_output")

    @property
    def strict(self) -> bool | None:
        """Whether tools may be marked strict."""
        return self.can("strict")

    @property
    def images(self) -> bool | None:
        """Whether the model sees pictures."""
        return self.can("images")

    @property
    def usage(self) -> bool | None:
        """Whether replies come with a count of their tokens."""
        return self.can("usage")

    @property
    def embeddings(self) -> bool | None:
        """Whether the endpoint has embeddings."""
        return self.can("embeddings")

    @property
    def usable(self) -> bool:
        """Whether the model can be a controller: it calls tools, in a form that can be read, and reads what they found."""
        spoilt = any(self.can(name) is False for name in ("arguments", "history"))
        return self.wire is not None and self.can("tools") is True and not spoilt

    def check(self, name: CheckName) -> Check:
        """What came of looking at this."""
        return next((check for check in self.checks if check.name == name), Check(name=name, outcome="not_tried"))

    def can(self, name: CheckName) -> bool | None:
        """Yes, no, or not known."""
        outcome = self.check(name).outcome
        return None if outcome == "not_tried" else outcome == "ok"

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "wire": self.wire,
            "thorough": self.thorough,
            "requests": self.requests,
            "spent": self.spent.record(),
            "asked_at": self.asked_at,
            "window": self.window,
            "checks": [asdict(check) for check in self.checks],
        }

    @classmethod
    def of(cls, record: Any) -> Capabilities | None:
        """What a record says; None where it is not one."""
        try:
            checks = tuple(Check(**check) for check in record["checks"])
            known = all(check.name in CHECKS and check.outcome in get_args(Outcome) for check in checks)
            if not known or record["wire"] not in (*get_args(WireName), None):
                return None
            return cls(
                wire=record["wire"],
                checks=checks,
                thorough=record["thorough"] is True,
                requests=int(record["requests"]),
                spent=Usage(**record["spent"]),
                asked_at=str(record["asked_at"]),
                window=window if is_count(window := record["window"]) else None,
            )
        except (KeyError, TypeError, ValueError):
            return None

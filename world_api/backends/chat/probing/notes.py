"""What a probe learns, as it learns it."""

from __future__ import annotations

from world_api.backends.chat.probing.capabilities import CHECKS, Check, CheckName, Outcome
from world_api.backends.chat.probing.speech import HeardCall, Json, Spoken
from world_api.backends.chat.usage import Usage, estimate_tokens
from world_api.backends.chat.wires.transport import Heard
from world_api.core.canonical import parse_json

_MOST = 160  #: characters of what was seen


class Notes:
    """One check a name; a later one takes the place of an earlier, and a bad one is not made good again."""

    def __init__(self) -> None:
        self.spent = Usage()
        self._checks: dict[CheckName, Check] = {}

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks, in the order in which they are told."""
        return tuple(self._checks[name] for name in CHECKS if name in self._checks)

    def outcome(self, name: CheckName) -> Outcome:
        """What came of it so far."""
        return self._checks[name].outcome if name in self._checks else "not_tried"

    def note(self, name: CheckName, outcome: Outcome, seen: str) -> None:
        """Keep what came of looking at something."""
        before = self._checks.get(name)
        if before is None or before.outcome in ("ok", "not_tried"):
            line = " ".join(seen.split())
            short = line if len(line) <= _MOST else line[: _MOST - 3] + "..."
            self._checks[name] = Check(name=name, outcome=outcome, seen=short)

    def spend(self, request: Json, heard: Heard, spoken: Spoken | None) -> None:
        """Count what an answered request took, and whether the server counted it."""
        if spoken is None:
            return
        if spoken.usage is None:
            self.note("usage", "wrong", "a reply came without its tokens")
            guess = Usage(prompt=estimate_tokens(request), completion=estimate_tokens(heard.body), estimated=True)
            self.spent = self.spent + guess
        else:
            self.note("usage", "ok", f"{spoken.usage.prompt} and {spoken.usage.completion} tokens")
            self.spent = self.spent + spoken.usage

    def calls(self, calls: tuple[HeardCall, ...]) -> None:
        """Look at the form of calls: arguments as text that is a JSON object, ids that are there and distinct."""
        for call in calls:
            fault = fault_of_arguments(call.arguments)
            self.note("arguments", "wrong" if fault else "ok", fault or f"{call.arguments}")
        ids = [call.id for call in calls]
        if not all(isinstance(item, str) and item for item in ids):
            self.note("call_ids", "wrong", "a call came without an id")
        elif len(set(ids)) < len(ids):
            self.note("call_ids", "wrong", "two calls of one reply have the same id")
        elif ids:
            self.note("call_ids", "ok", "each call has its own")


def fault_of_arguments(arguments: object) -> str:
    """What is wrong with the form of a call's arguments; empty where nothing is."""
    if not isinstance(arguments, str):
        kind = "null" if arguments is None else "an object" if isinstance(arguments, dict) else "a value"
        return f"{kind} instead of JSON in a string"
    try:
        value = parse_json(arguments)
    except ValueError:
        return f"text that is not JSON: {arguments!r}"
    if not isinstance(value, dict):
        return f"JSON that is no object: {arguments}"
    return "" if value else "an empty object, though the tool needs an argument"


def refusal(heard: Heard) -> str:
    """What a server said instead of replying."""
    return f"status {heard.status}: {heard.told}" if heard.status != 200 else heard.told or "no reply in its answer"

"""What steps share: the names they see, and how one of them ends the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tool_induction.language.evaluation import Json, evaluate
from tool_induction.language.model import StopStatus
from tool_induction.language.syntax import Expr
from tool_induction.runtime.origins.origin import Origins
from world_api.core.faults import ToolFault


@dataclass(slots=True, eq=False)
class Scope:
    """Names and their values. ``origins`` is None where nobody asked where they came from."""

    values: dict[str, Json]
    origins: Origins | None = None

    def inside(self, name: str, value: Json) -> Scope:
        """A scope inside this one: what is bound in it is not seen outside."""
        return Scope({**self.values, name: value}, None if self.origins is None else self.origins.inside())


class Stopped(Exception):
    """A ``require`` did not hold, here or in a tool that was called."""

    def __init__(self, status: StopStatus | str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def listed(expr: Expr, values: Mapping[str, Json]) -> list[Json]:
    """The list an expression stands for; null is an empty one.

    Raises:
        ToolFault: ``bad_list``.
    """
    value = evaluate(expr, values)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ToolFault("bad_list", "a list is wanted where there is none", hint="the tool's types do not hold")
    return value

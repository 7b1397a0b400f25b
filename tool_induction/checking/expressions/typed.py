"""An expression together with its type."""

from __future__ import annotations

from typing import NamedTuple

from tool_induction.language.syntax import Expr
from tool_induction.language.types import Type


class Typed(NamedTuple):
    """An expression with everything implicit written out, and its type."""

    expr: Expr
    type: Type

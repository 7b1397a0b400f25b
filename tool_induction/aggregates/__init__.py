"""The closed set of aggregates: pure, deterministic functions over lists of items."""

from tool_induction.aggregates.rules import field_type, surely_timed
from tool_induction.aggregates.spellings import ALIASES
from tool_induction.aggregates.table import AGGREGATES, AggregateSpec, Parameter

__all__ = ["AGGREGATES", "ALIASES", "AggregateSpec", "Parameter", "field_type", "surely_timed"]

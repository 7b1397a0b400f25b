"""The closed set of aggregates: pure, deterministic functions over lists of items."""

from tool_induction.aggregates.spellings import ALIASES
from tool_induction.aggregates.table import AGGREGATES, AggregateSpec, Parameter, field_type, surely_timed

__all__ = ["AGGREGATES", "ALIASES", "AggregateSpec", "Parameter", "field_type", "surely_timed"]

"""The aggregates: a closed table of pure, deterministic functions over lists of items.

``functions`` computes them, ``table`` has the inputs, parameters and result types, ``spellings`` other names for them.
"""

from tool_induction.aggregates.functions import evidence_of, span_of
from tool_induction.aggregates.spellings import ALIASES
from tool_induction.aggregates.table import AGGREGATES, UNSURE, AggregateSpec, Parameter, field_type, surely_timed

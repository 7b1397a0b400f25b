"""The runtime: runs a compiled tool on a world and returns one result record.

``runner`` checks the arguments and builds the record; ``interpreter`` executes the steps in the order of the plan;
``calls`` calls operations, ``parallel`` several at a time; ``budget`` limits a run; ``trace`` records its steps and
where outputs came from.
"""

from tool_induction.runtime.calls import Memo
from tool_induction.runtime.limits import RunLimits, Unfit, check_json, fitted
from tool_induction.runtime.runner import check_arguments, run_tool
from tool_induction.runtime.trace import Trace, TraceNode, tree_lines

"""Inducing libraries and running experiments from Python, with their async variants."""

from eval.runs.scoring import run_and_score
from tool_induction.inducer import induce_library
from world_api.core.execution import async_variant

induce, run_experiment = induce_library, run_and_score
ainduce, arun_experiment = async_variant(induce), async_variant(run_experiment)

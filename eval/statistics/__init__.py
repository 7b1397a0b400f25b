"""Statistics of paired comparisons: cluster bootstrap, exact tests, families of tests, power, agreement of raters.

Distributions and standard tests are those of SciPy and statsmodels (extra ``eval``), imported at first use. Every
random draw uses a seed that the caller gives.
"""

from eval.statistics.bootstrap import Floats, Indices, Method, cohen_kappa, correlation, kendall_tau, mean_interval
from eval.statistics.significance import ContrastPlan, Power, holm, mcnemar, power, sign_flip

__all__ = [
    "ContrastPlan", "Floats", "Indices", "Method", "Power", "cohen_kappa", "correlation", "holm", "kendall_tau", "mcnemar",
    "mean_interval", "power", "sign_flip",
]  # fmt: skip

"""Statistics of paired comparisons: cluster bootstrap, exact tests, families of tests, power, agreement of raters.

Distributions and standard tests are those of SciPy and statsmodels (extra ``eval``), imported when first used. Every draw comes
from a seed that is given.
"""

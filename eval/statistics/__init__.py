"""Statistics of paired comparisons: intervals by bootstrap over clusters, exact tests, families of them, power, agreement.

numpy only; every draw comes from a seed that is given.
"""

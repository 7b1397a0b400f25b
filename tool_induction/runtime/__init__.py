"""Running compiled tools: steps, loops, budgets, remembered results, outcomes, traces."""

"""Stories for long films: everyday plots woven together over a small simulated world, which keeps script and facts at one."""

"""Function-calling cases of the Berkeley leaderboard, through our emission of tool schemas and our checking of arguments.

No model is asked. Each case brings function declarations and reference answers: what we emit for a function must take every
reference answer and refuse wrong-typed variants of it.
"""

"""What expressions may hold, what to write instead of what they may not, and which names of tools are taken."""

from __future__ import annotations

from tool_induction.language.syntax import Comparator, Operator

#: What controllers call functions of their own, which they offer beside the tools; no tool may be called so.
RESERVED_TOOL_NAMES = frozenset({"judge", "judge_items", "submit_answer"})

#: filter -> how many arguments it takes (at least, at most)
FILTERS: dict[str, tuple[int, int]] = {
    "length": (0, 0),
    "default": (1, 1),
    "round": (0, 1),
    "abs": (0, 0),
    "min": (0, 0),
    "max": (0, 0),
    "lower": (0, 0),
    "upper": (0, 0),
}

COMPARATORS: dict[str, Comparator] = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "lteq": "<=",
    "gt": ">",
    "gteq": ">=",
    "in": "in",
    "notin": "not in",
}
OPERATORS: dict[str, Operator] = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}

#: what Jinja has and the language has not -> what to write instead
FORBIDDEN = {
    "Call": ("a call", "use an aggregate step, or one of the filters " + " ".join(FILTERS)),
    "Pow": ("'**'", "multiply"),
    "FloorDiv": ("'//'", "divide with '/' and use '| round'"),
    "Concat": ("'~'", 'write text around expressions: "{{ a }} and {{ b }}"'),
    "Slice": ("a slice", "use the aggregate top_k, or x[0] for one item"),
    "Dict": ("a {...} record", "write a JSON object as the value of a 'set' step"),
    "Tuple": ("a tuple", "write a list: [a, b]"),
    "Test": ("this test", "only 'is none' and 'is not none' exist"),
}

_SPELLINGS = (("&&", "'and'"), ("||", "'or'"), ("===", "'=='"), (" matches ", "'in'"), (" for ", "a 'filter' step"))


def syntax_hint(text: str) -> str:
    """What a spelling of another language is called here."""
    for wrong, right in _SPELLINGS:
        if wrong in text:
            return f"instead of '{wrong.strip()}' use {right}"
    return ""

"""What expressions may hold, what to write instead of what they may not, and which names of tools are taken."""

from __future__ import annotations

import re

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
    "FloorDiv": ("'//'", "divide with '/'; '| round' gives the nearest whole number, not the one below"),
    "Concat": ("'~'", 'write text around expressions: "{{ a }} and {{ b }}"'),
    "Slice": ("a slice", "for the first k use the aggregate top_k, for one item x[0] or x[-1]"),
    "Dict": ("a {...} record", "write a JSON object as the value of a 'set' step"),
    "Tuple": ("a tuple", "write a list: [a, b]"),
    "Test": ("this test", "only 'is none' and 'is not none' exist"),
}

_SPELLINGS = (
    ("&&", "'and'"),
    ("||", "'or'"),
    ("===", "'=='"),
    (" matches ", "'in', the part first: part in text"),
    ("=>", "'>='"),
    ("=<", "'<='"),
    (" for ", "a 'filter' step"),
)


#: filters of Jinja, or functions of other languages -> the filter that does that here
OTHER_FILTERS = {"count": "length", "len": "length", "size": "length", "d": "default", "lowercase": "lower"}
#: filters of Jinja -> what does that here
FILTER_STEPS = {
    "first": "write x[0] for the first item",
    "last": "write x[-1] for the last item",
    "sum": 'use the aggregate "sum" with a key',
    "sort": 'use the aggregate "sort_by" with a key',
    "unique": 'use the aggregate "dedupe_by" with a key',
    "join": 'use the aggregate "concat_text"',
    "select": 'use a step of type "filter"',
    "selectattr": 'use a step of type "filter"',
    "map": 'use a step of type "project"',
    "int": "did you mean 'round'?",
}

_TEXTS = re.compile(r"'[^']*'|\"[^\"]*\"")
_ONE_EQUALS = re.compile(r"(?<![=!<>])=(?![=<>])")


def syntax_hint(text: str) -> str:
    """What a spelling of another language is called here."""
    if _ONE_EQUALS.search(_TEXTS.sub("", text)):
        return "instead of '=' use '=='"
    for wrong, right in _SPELLINGS:
        if wrong in text:
            return f"instead of '{wrong.strip()}' use {right}"
    return ""

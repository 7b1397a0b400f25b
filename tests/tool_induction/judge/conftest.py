"""A tool with a judge step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tool_induction import CompiledTool, compile_document

Document = dict[str, Any]


@pytest.fixture
def judging(document: Callable[..., Document]) -> Callable[..., Document]:
    """Makes a small document that judges its hits and counts those with the first answer."""

    def make(**changes: Any) -> Document:
        step = {
            "type": "judge",
            "inputs": "hits",
            "question": "Is this about {{query}}?",
            "answers": ["yes", "no"],
            "max_items": 4,
            "save_as": "judged",
        } | changes
        kept = {"type": "filter", "inputs": "judged", "where": "{{ item.answer == 'yes' }}", "save_as": "kept"}
        outputs = {
            "found": {"type": "int", "from": "{{ kept | length }}"},
            "rows": {"type": "list<record>", "from": "{{ kept }}"},
        }
        return document(
            {key: value for key, value in step.items() if value is not None}, kept, outputs=outputs, name="judge_hits"
        )

    return make


@pytest.fixture
def judged_tools(judging: Any) -> Callable[..., dict[str, CompiledTool]]:
    """The same, compiled."""

    def make(**changes: Any) -> dict[str, CompiledTool]:
        compilation = compile_document(judging(**changes), allow_judge=True)
        assert compilation.ok, [item.record() for item in compilation.diagnostics]
        return dict(compilation.tools)

    return make

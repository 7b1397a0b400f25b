"""Small tools, each with one thing wrong that only shows when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tool_induction.admission import Verdict, admit

Document = dict[str, Any]


@pytest.fixture
def tool() -> Callable[..., Document]:
    def make(*steps: Document, outputs: Any, name: str = "some_tool", inputs: Any = None) -> Document:
        return {
            "tool_name": name,
            "description": "A tool that a test made to see what admission says about it.",
            "inputs": {"video_id": "string", "query": "string"} if inputs is None else inputs,
            "outputs": outputs,
            "steps": list(steps),
        }

    return make


@pytest.fixture
def verdicts(compiled: Any) -> Callable[..., dict[str, Verdict]]:
    """The verdicts on documents that compile, by tool."""

    def of(*documents: Document, **facts: Any) -> dict[str, Verdict]:
        return {item.tool: item for item in admit(compiled(*documents), **facts).verdicts}

    return of

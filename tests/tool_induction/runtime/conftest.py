"""Runs documents on the scripted world."""

from typing import Any

import pytest

from tool_induction.runtime.running import run_tool

ARGUMENTS = {"video_id": "film", "query": "somebody"}


@pytest.fixture
def run(compiled: Any, world: Any) -> Any:
    """Runs the last of some documents on the scripted world."""

    def go(*documents: Any, arguments: Any = ARGUMENTS, **options: Any) -> Any:
        tools = compiled(*documents)
        return run_tool(tools, documents[-1]["tool_name"], arguments, call=world, **options)

    return go

"""Broken calls beside good ones, and a tool whose name is taken."""

from __future__ import annotations

from typing import Any

import pytest

from tool_induction import ToolDeclaration
from world_api.chat import Call
from world_api.core import ToolFault


def test_broken_calls_beside_good_ones_are_taken_twice_in_a_row(hold: Any, replies: Any) -> None:
    def both(number: int) -> Any:
        good = Call(tool="find", arguments={"query": str(number)}, id=f"g{number}")
        return replies.calls(good, Call(tool="find", arguments="oops", id=f"b{number}"))

    held = hold(*[both(number) for number in range(3)], replies.says("So."))
    assert (held.episode.outcome, held.episode.reason, len(held.tools.called)) == ("forced", "malformed_replies", 3)


def test_a_tool_that_is_named_like_the_answer_is_refused(hold: Any, fake_tools: Any) -> None:
    tools = fake_tools()
    declared = [ToolDeclaration(name="submit_answer", description="x", parameters={"type": "object"})]
    tools.get_tools = lambda: declared
    with pytest.raises(ToolFault, match="duplicate_tool"):
        hold(tools=tools)

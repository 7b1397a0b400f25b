"""What the model is sent takes turns, as the templates of servers want it."""

from __future__ import annotations

import json
from typing import Any

from controller.episode import Budget


def test_empty_replies_leave_a_conversation_that_strict_templates_take(hold: Any, replies: Any) -> None:
    held = hold({}, {}, {}, replies.says("So."))
    sent = held.model.requests[-1]["messages"]
    assert [item["role"] for item in sent[1:]] == ["user", *["assistant", "user"] * 3]
    assert {item["content"] for item in sent if item["role"] == "assistant"} == {"(no answer yet)"}
    assert json.loads(sent[-1]["content"].splitlines()[0])["error"]["code"] == "no_choices"
    assert "Give your best answer now" in sent[-1]["content"]


def test_a_limit_after_a_result_leaves_a_conversation_that_strict_templates_take(hold: Any, replies: Any) -> None:
    sent = hold(replies.finds(), replies.says("So."), budget=Budget(rounds=1)).model.requests[-1]["messages"]
    assert [item["role"] for item in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_whoever_repeats_what_stands_for_silence_gave_no_answer(hold: Any, replies: Any) -> None:
    episode = hold({}, *[replies.says("(no answer yet)")] * 3).episode
    assert (episode.outcome, episode.reason) == ("failed", "no_answer")

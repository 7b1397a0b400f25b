"""Calls that a server left in the text of a reply, and words that only look like one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from world_api.chat import messages


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "find", "arguments": {"query": "rain"}}\n</tool_call>',
        '{"name": "find", "arguments": {"query": "rain"}}',
        '```json\n{"name": "submit_answer", "arguments": {}}\n```',
        "[TOOL_CALLS] [...]",
        'I will look for rain.\n\n```json\n{"name": "find", "arguments": {"query": "rain"}}\n```\nThen I will answer.',
        '让我查一下：\n```\n{"arguments": {"query": "rain"}, "name": "find"}\n```',
        'So I call {"name": "find", "parameters": {"query": "rain"}}.',
        '```json\n[{"type": "function", "function": {"name": "find", "arguments": "{}"}}]\n```',
        'Let me see.\n<tool_call>\n{"name": "find", "arguments": {"query": "rain"}}\n</tool_call>',
        "Let me see. <function=find><parameter=query>rain</parameter></function>",
        "Let me see.[TOOL_CALLS]find[ARGS]{}",
    ],
)
def test_a_call_that_the_server_left_in_the_text_is_no_answer(hold: Any, replies: Any, text: str) -> None:
    held = hold(replies.says(text), replies.submits("At 12 s."))
    assert held.episode.slips == {"call_in_text": 1}
    assert held.episode.answer == "At 12 s."


@pytest.mark.parametrize(
    "text",
    [
        "I would use find <tool_call>.",
        '{"name": "Ada"}',
        '{"answer": 3}',
        "{",
        'The tag says {"name": "find"}.',
        'The tag says {"name": "Ada", "arguments": {}}.',
        '{"name": "find", "arguments":' * 500,
        'It says {"a": NaN} and {"b": 1e999}.',
    ],
)
def test_prose_that_only_looks_like_a_call_is_an_answer(hold: Any, replies: Any, text: str) -> None:
    assert hold(replies.says(text)).episode.answer == text


@pytest.mark.parametrize("text", ['{"a":1 ' * 5000, '{"a":' * 5000], ids=["broken", "nested"])
def test_text_that_often_begins_like_an_object_is_read_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    decoder, starts = json.JSONDecoder(), []

    class Counting:
        def raw_decode(self, text: str, start: int) -> Any:
            starts.append(start)
            return decoder.raw_decode(text, start)

    monkeypatch.setattr(messages, "_DECODER", Counting())
    assert list(messages.json_objects(text)) == []
    assert 0 < len(starts) <= messages.MOST_FAILURES


def test_any_number_of_whole_objects_is_read() -> None:
    assert len(list(messages.json_objects('{"a": 1} ' * 5000))) == 5000

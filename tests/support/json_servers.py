"""Chat servers without tool calling: one that only knows ``response_format``, one that writes calls after prose."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator

from tests.support.chat_server import Answer, ChatServer, Received
from world_api.chat import Call, completion

CACHED = 40  #: tokens of each prompt that the server had cached, as it says


class WithoutTools:
    """Plays rounds of calls as text; ``knows_format``: by the schema of ``response_format``, else fenced after prose.

    It refuses everything about tools, and ``response_format`` if it does not know it. It looks up the city that a probe asks
    for, and says the code word that it was given.
    """

    def __init__(self, rounds: Sequence[Sequence[Call]] = (), *, knows_format: bool, words: str = "At 32 s.") -> None:
        self._rounds = [[{"name": call.tool, "arguments": call.arguments} for call in calls] for calls in rounds]
        self._knows_format, self._words = knows_format, words

    def __call__(self, received: Received) -> Answer | dict[str, Any]:
        """The answer to a request."""
        if not received.path.endswith("/chat/completions"):
            return ChatServer.refusal(404, "Not Found")
        body = received.body
        if "tools" in body or any(turn["role"] == "tool" or "tool_calls" in turn for turn in body["messages"]):
            return ChatServer.refusal(400, "this server does not support tools")
        if "response_format" in body and not self._knows_format:
            return ChatServer.refusal(400, "response_format is not supported")
        text = self._text(body)
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": CACHED}}
        return {**completion(model="m", content=text), "id": "same", "usage": usage}

    def _text(self, body: Mapping[str, Any]) -> str:
        turns = [turn for turn in body["messages"] if turn["role"] == "user"]
        results = [turn["content"] for turn in turns if str(turn["content"]).startswith("Result of ")]
        if "code word of the city Paris" in str(turns[0]["content"]):
            if results:
                return f"It is {json.loads(results[0].splitlines()[1])['code_word']}."
            calls = [{"name": "look_up_city", "arguments": {"city": "Paris"}}]
        elif len(results) >= len(self._rounds) or "How to call tools" not in str(body["messages"][0]["content"]):
            return self._words
        else:
            calls = self._rounds[len(results)]
        if not self._knows_format:
            return f"I think that this helps.\n\n```json\n{json.dumps({'calls': calls}, indent=1)}\n```"
        schema = body["response_format"]["json_schema"]["schema"]
        Draft202012Validator(schema).validate({"calls": calls})
        return json.dumps({"calls": calls})

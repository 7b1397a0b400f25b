"""A model behind the loopback server that does what it is told, with single faults that real servers have."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from tests.support.chat_server import Answer, ChatServer, Received
from tests.support.histories import Rule, names_unknown_fields, repeats_signatures, repeats_thoughts, takes_turns
from world_api.chat import Call, completion

CITIES = ("Paris", "Oslo")
_YELLOW = (255, 220, 0)


class Manners:
    """Answers the small questions of a probe as a good model on a good server does; each fault spoils one thing.

    ``chat`` and ``responses`` say which wires are there. Faults: ``drops_tools``, ``refuses_tools``, ``points_elsewhere``,
    ``text_calls``, ``prose_calls``, ``empty_arguments``, ``object_arguments``, ``no_ids``, ``same_ids``,
    ``one_call``, ``refuses_null``, ``forgets_results``, ``refuses_strict``, ``ignores_schema``, ``blind``,
    ``refuses_images``, ``image_failure``, ``no_usage``. ``thinks`` and ``signs`` send thoughts, or calls
    with signatures of them, and want them back; ``thinks_aloud`` sends thoughts and refuses them.
    """

    def __init__(self, *faults: str, chat: bool = True, responses: bool = False) -> None:
        self.faults = frozenset(faults)
        self.chat, self.responses = chat, responses

    def __call__(self, received: Received) -> Answer | dict[str, Any]:
        """The answer to a request."""
        route = received.path.rsplit("/v1/", 1)[-1]
        if route == "chat/completions" and self.chat:
            return self._chat(received.body)
        if route == "responses" and self.responses:
            return self._responses(received.body)
        return ChatServer.refusal(404, "Not Found")

    def _chat(self, body: Mapping[str, Any]) -> Answer | dict[str, Any]:
        broken = next(filter(None, (rule(dict(body)) for rule in self._rules())), None)
        if broken is not None:
            return ChatServer.refusal(400, broken)
        tools = [tool["function"] for tool in body.get("tools", ())]
        if tools and "points_elsewhere" in self.faults:
            return ChatServer.refusal(400, "Function tools are not supported here; please use /v1/responses instead.")
        form = body.get("response_format", {}).get("json_schema", {}).get("schema")
        said = self._say(_Heard(body["messages"], tools, form))
        if isinstance(said, Answer):
            return said
        text, calls = said
        usage = None if "no_usage" in self.faults else (self._prompt_tokens(tools), 5)
        reply = completion(model="m", content=text, calls=calls, usage=usage)
        message = reply["choices"][0]["message"]
        if self.faults & {"thinks", "thinks_aloud"}:
            message["reasoning_content"] = "The user wants to know it."
        for made in message.get("tool_calls", ()):
            self._spoil(made)
        return reply

    def _prompt_tokens(self, tools: list[dict[str, Any]]) -> int:
        return 20 + (0 if "drops_tools" in self.faults else 30 * len(tools))

    def _rules(self) -> list[Rule]:
        rules = {"thinks": repeats_thoughts, "signs": repeats_signatures, "thinks_aloud": names_unknown_fields}
        return [takes_turns, *(rule for fault, rule in rules.items() if fault in self.faults)]

    def _spoil(self, made: dict[str, Any]) -> None:
        if "no_ids" in self.faults:
            made["id"] = ""
        if "same_ids" in self.faults:
            made["id"] = "call"
        if "object_arguments" in self.faults:
            made["function"]["arguments"] = json.loads(made["function"]["arguments"])
        if "signs" in self.faults:
            made["extra_content"] = {"google": {"thought_signature": "c2lnbmVk"}}

    def _responses(self, body: Mapping[str, Any]) -> Answer | dict[str, Any]:
        form = body.get("text", {}).get("format", {}).get("schema")
        heard = _Heard(body["input"], body.get("tools", []), form)
        said = self._say(heard)
        if isinstance(said, Answer):
            return said
        text, calls = said
        items: list[dict[str, Any]] = [
            {
                "type": "function_call",
                "call_id": f"call_{at}",
                "name": call.tool,
                "arguments": json.dumps(call.arguments),
            }
            for at, call in enumerate(calls)
        ]
        if text:
            items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
        return {"object": "response", "output": items, "usage": {"input_tokens": 20, "output_tokens": 5}}

    def _say(self, heard: _Heard) -> tuple[str | None, list[Call]] | Answer:
        if heard.tools and "refuses_tools" in self.faults:
            return ChatServer.refusal(400, "m does not support tools")
        if heard.is_strict and "refuses_strict" in self.faults:
            return ChatServer.refusal(400, "Unknown parameter: tools[0].function.strict")
        if heard.has_null_content and "refuses_null" in self.faults:
            return ChatServer.refusal(422, "messages[1].content: none is not an allowed value")
        if heard.image is not None:
            return self._look(heard.image)
        if heard.result is not None:
            return ("I do not know." if "forgets_results" in self.faults else f"It is {heard.result}."), []
        if heard.form is not None:
            return ("Yes, it is." if "ignores_schema" in self.faults else '{"verdict": "agreed", "letters": 5}'), []
        return self._act(heard)

    def _act(self, heard: _Heard) -> tuple[str | None, list[Call]]:
        wanted = [city for city in CITIES if city in heard.words]
        if not heard.tools or "drops_tools" in self.faults or not wanted:
            return "ready.", []
        if "one_call" in self.faults:
            wanted = wanted[:1]
        if "text_calls" in self.faults:
            return '<tool_call>{"name": "look_up_city", "arguments": {"city": "Paris"}}</tool_call>', []
        if "prose_calls" in self.faults:
            call = '{"arguments": {"city": "Paris"}, "name": "look_up_city"}'
            return f"I will look it up.\n```json\n{call}\n```", []
        empty = "empty_arguments" in self.faults
        name = heard.tools[0]["name"]
        return None, [
            Call(tool=name, arguments={} if empty else {"city": city}, id=f"call_{at}")
            for at, city in enumerate(wanted)
        ]

    def _look(self, image: str) -> tuple[str | None, list[Call]] | Answer:
        if "refuses_images" in self.faults:
            return ChatServer.refusal(400, "m does not support image input")
        if "image_failure" in self.faults:
            return ChatServer.refusal(500, "image input needs the mmproj file")
        left, right = ("Red", "green") if "blind" in self.faults else _halves(image)
        return f"{left}, {right}.", []


class _Heard:
    """What a request on either wire says."""

    def __init__(self, turns: list[dict[str, Any]], tools: list[dict[str, Any]], form: Any) -> None:
        content = turns[0]["content"]
        parts = content if isinstance(content, list) else [{"text": content}]
        urls = [part["image_url"] for part in parts if "image_url" in part]
        self.words = " ".join(part.get("text", "") for part in parts)
        self.image = next((url["url"] if isinstance(url, dict) else url for url in urls), None)
        self.tools, self.form = tools, form
        self.is_strict = any(tool.get("strict") for tool in tools)
        self.has_null_content = any("content" in turn and turn["content"] is None for turn in turns)
        results = [turn.get("content") if turn.get("role") == "tool" else turn.get("output") for turn in turns[1:]]
        self.result = next((json.loads(found)["code_word"] for found in results if found), None)


def _halves(url: str) -> tuple[str, str]:
    """The colours of the picture's halves, from its pixels."""
    image = cv2.imdecode(np.frombuffer(base64.b64decode(url.split(",", 1)[1]), np.uint8), cv2.IMREAD_COLOR_RGB)
    return _named(image[0, 0]), _named(image[0, -1])


def _named(pixel: Any) -> str:
    return "Yellow" if tuple(map(int, pixel)) == _YELLOW else "blue"

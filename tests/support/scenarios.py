"""Scenario files: what a server answers, one step a request, and what must come of an episode against it.

A file holds ``about`` (one sentence), ``steps``, ``expect``, and where wanted ``wires`` (both by default), ``question``,
``budget``, ``client`` (settings of the endpoint) and ``history`` (names of ``histories.RULES`` that the server keeps to beside taking
turns, which each does). A step is a mapping with one of

- ``says: TEXT`` (or null): a reply in words;
- ``calls: [{tool, arguments, id}, ...]``: a reply that calls. ``arguments`` as an object are spelt as JSON, any text is sent as it
  is, ``raw: VALUE`` instead sends that very value; ``id: null`` leaves the id out, without ``id`` the call gets one of its own;
  ``added: {...}`` are further fields of the call;
- ``many_calls: N``: a reply with so many calls;
- ``message: {...}``: the message of a Chat Completions reply as it is;
- ``json: VALUE`` or ``body: TEXT``: status 200 with any JSON, or anything at all;
- ``status: N``: a refusal, with ``text`` (or so many ``text_megabytes``), ``code`` and ``headers``;
- ``megabytes: N``: a reply whose text is so long; with ``packed: true`` under gzip;
- ``redirect: N``: a redirect of that status to another server;
- ``hangs: true``, ``drops: true``: no answer; the connection closed.

- ``looks: true``: a reply that calls ``list_scenes``; ``answers: TEXT``: one that submits this;

and with any reply ``added: {...}`` (further fields of its message), ``usage: false``, ``finish: REASON``, ``type: CONTENT_TYPE``,
``how: cut | chunked | chunked_and_cut | drips |
packed``. The last step is played for ever.

``expect`` holds ``outcome``, ``reason``, ``slips`` (none by default), and where wanted

- ``ran`` (the tools that ran, in order), ``calls`` (how many ran), ``answer``, ``value``, ``requests`` (how many were sent);
- ``told`` (what the model reads in the end), ``fault`` (words of the fault), ``waited`` (seconds), ``estimated`` (tokens);
- ``memory`` (MiB that reading took at most).

``KEY`` stands for the key.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from tests.support.chat_server import Answer, ChatServer

Json = dict[str, Any]
FOLDER = Path(__file__).parents[1] / "scenarios"
WIRES = ("chat", "responses")
_LOOK: Json = {"tool": "list_scenes", "arguments": {"video_id": "made"}}
_STEP_KEYS = frozenset(
    "says looks answers calls many_calls message json body status megabytes redirect hangs drops "
    "code headers packed usage finish type how text text_megabytes added".split()
)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One file."""

    name: str
    about: str
    steps: tuple[Json, ...]
    expect: Json
    wires: tuple[str, ...] = WIRES
    question: Json = field(default_factory=dict)
    budget: Json = field(default_factory=dict)
    client: Json = field(default_factory=dict)
    history: tuple[str, ...] = ()

    def answers(self, wire: str, *, elsewhere: str) -> list[Answer]:
        """What the server plays on this wire; ``elsewhere`` is the address of another server."""
        return [_answer(step, number, wire, elsewhere) for number, step in enumerate(self.steps, start=1)]


def read_scenarios() -> list[Scenario]:
    """All files of the folder, by name."""
    return [_scenario(path) for path in sorted(FOLDER.glob("*.yaml"))]


def _scenario(path: Path) -> Scenario:
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    wires = given.pop("wires", WIRES)
    scenario = Scenario(name=path.stem, **{**given, "steps": tuple(given["steps"]), "wires": tuple(wires)})
    for step in scenario.steps:
        assert set(step) <= _STEP_KEYS, f"{path.name}: {set(step) - _STEP_KEYS}"
    return scenario


def _answer(step: Json, number: int, wire: str, elsewhere: str) -> Answer:
    if "hangs" in step or "drops" in step:
        return Answer(hangs="hangs" in step, drops="drops" in step)
    if "redirect" in step:
        path = "/chat/completions" if wire == "chat" else "/responses"
        return Answer(status=step["redirect"], headers={"Location": elsewhere + path}, body=b"{}")
    if "status" in step:
        text = "a" * (step.get("text_megabytes", 0) * 1024 * 1024) or step.get("text", "refused")
        refusal = ChatServer.refusal(step["status"], text, code=step.get("code"))
        if "body" in step:
            refusal = replace(refusal, body=step["body"].encode())
        refusal = replace(refusal, headers={name: str(value) for name, value in step.get("headers", {}).items()})
        return _conveyed(refusal, step)
    if "body" in step:
        return _conveyed(Answer(body=step["body"].encode()), step)
    reply = step["json"] if "json" in step else _reply(step, number, wire)
    return _conveyed(Answer(body=json.dumps(reply).encode()), step)


def _conveyed(answer: Answer, step: Json) -> Answer:
    """The answer, the way it comes over the network."""
    answer = replace(answer, content_type=step.get("type", answer.content_type))
    how = step.get("how")
    if how == "packed" or step.get("packed"):
        headers = {**answer.headers, "Content-Encoding": "gzip"}
        return replace(answer, body=gzip.compress(answer.body), headers=headers)
    if how == "cut":
        return replace(answer, body=answer.body[: len(answer.body) // 2], announced=len(answer.body))
    chunked = how in ("chunked", "chunked_and_cut")
    return replace(answer, chunked=chunked, cut=how == "chunked_and_cut", drips=how == "drips")


def _reply(step: Json, number: int, wire: str) -> Json:
    """A whole reply in the form of the wire."""
    message = step.get("message") or _message(step, number)
    reply: Json = (
        {"object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message}]}
        if wire == "chat"
        else {"object": "response", "model": "m", "status": "completed", "output": _items(message)}
    )
    if step.get("usage", True):
        counts = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        other = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        reply["usage"] = counts if wire == "chat" else other
    finish = step.get("finish", "tool_calls" if message.get("tool_calls") else "stop")
    if wire == "chat":
        reply["choices"][0]["finish_reason"] = finish
    elif finish == "length":
        reply |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    return reply


def _message(step: Json, number: int) -> Json:
    if "megabytes" in step:
        return {"role": "assistant", "content": "a" * (step["megabytes"] * 1024 * 1024)}
    calls = step.get("calls", [])
    if "looks" in step or "many_calls" in step:
        calls = [_LOOK] * step.get("many_calls", 1)
    if "answers" in step:
        calls = [{"tool": "submit_answer", "arguments": {"answer": step["answers"], "spans": []}}]
    message: Json = {"role": "assistant", "content": step.get("says")}
    if calls:
        message["tool_calls"] = [_call(call, f"c{number}_{place}") for place, call in enumerate(calls, start=1)]
    return {**message, **step.get("added", {})}


def _call(given: Json, spare_id: str) -> Json:
    written = given.get("arguments")
    arguments = given["raw"] if "raw" in given else written if isinstance(written, str) else json.dumps(written)
    function = {"name": given["tool"], "arguments": arguments}
    call: Json = {"type": "function", "function": function, **given.get("added", {})}
    call_id = given.get("id", spare_id)
    return call if call_id is None else {"id": call_id, **call}


def _items(message: Json) -> list[Json]:
    items: list[Json] = []
    if message.get("content") is not None:
        items.append(
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": message["content"]}]}
        )
    for call in message.get("tool_calls", ()):
        given = {"call_id": call["id"]} if "id" in call else {}
        items.append({"type": "function_call", **given, **call["function"]})
    return items

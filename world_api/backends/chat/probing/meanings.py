"""What a finding means for a controller, in one sentence each."""

from __future__ import annotations

from world_api.backends.chat.probing.capabilities import Check, CheckName, Outcome

TITLES: dict[CheckName, str] = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "tools": "tools",
    "arguments": "arguments of calls",
    "call_ids": "ids of calls",
    "tool_choice": "tool_choice",
    "parallel_calls": "several calls at once",
    "one_call_on_request": "one call on request",
    "history": "calls in the history",
    "strict": "strict tools",
    "structured_output": "structured output",
    "images": "images",
    "usage": "token counts",
    "embeddings": "embeddings",
}
OUTCOMES: dict[Outcome, str] = {
    "ok": "ok",
    "wrong": "wrong",
    "not_offered": "not offered",
    "not_tried": "not tried",
}

_MEANINGS: dict[CheckName, dict[Outcome, str]] = {
    "chat": {
        "ok": "this wire is spoken where both are there",
        "wrong": "it takes no tools here; the other wire is spoken",
        "not_offered": "the other wire is spoken",
    },
    "responses": {
        "ok": "can be spoken with --wire responses",
        "not_offered": "not needed where Chat Completions takes tools",
    },
    "tools": {
        "ok": "the model can act",
        "wrong": "an episode would end at once in prose; a server of open models may need its tool-call parser switched on",
        "not_offered": "it cannot be a controller",
    },
    "arguments": {
        "ok": "calls run as they are written",
        "wrong": "such calls go back to the model, at most twice in a row; arguments are never mended",
    },
    "call_ids": {
        "ok": "results find their calls",
        "wrong": "calls run under ids given here, and are counted as slips",
    },
    "tool_choice": {
        "ok": "not needed: the loop leaves the choice to the model and takes the tools away at the end",
        "wrong": "does not matter: the loop never relies on it",
        "not_offered": "does not matter: the loop never sends it",
    },
    "parallel_calls": {
        "ok": "fewer rounds: reading calls of one reply run side by side",
        "not_offered": "one call a round: allow more rounds",
    },
    "one_call_on_request": {
        "ok": "not needed: the loop takes any number of calls",
        "wrong": "does not matter: the loop takes any number of calls",
        "not_offered": "does not matter: the loop does not ask for it",
    },
    "history": {
        "ok": "results of calls reach the model",
        "wrong": "the model does not work from what its calls found: answers would not rest on the video",
    },
    "strict": {
        "ok": "tools may be sent with strict schemas",
        "wrong": "send tools without strict (the default)",
        "not_offered": "send tools without strict (the default)",
    },
    "structured_output": {
        "ok": "answers outside tool calls can be held to a schema",
        "wrong": "a schema is taken and not kept: replies are checked here in any case",
        "not_offered": "replies are checked here in any case",
    },
    "images": {
        "ok": "it can look at frames: --system direct and --profile endpoint work",
        "wrong": "pictures are taken and not seen: --system direct and --profile endpoint would guess",
        "not_offered": "no frames: --system direct and --profile endpoint are refused",
    },
    "usage": {
        "ok": "tokens and money are counted by the server",
        "wrong": "tokens are estimated, and flagged so",
    },
    "embeddings": {
        "ok": "this model can embed",
        "not_offered": "name another model for embeddings, if the endpoint has one",
    },
}


def meaning(check: Check) -> str:
    """What the check means for us; empty where it was not looked at."""
    return _MEANINGS[check.name].get(check.outcome, "")

"""The context window of a model, where its server tells it in the list of its models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from world_api.backends.chat.usage import is_count

#: vLLM and SGLang; OpenRouter and others; Mistral; Groq; LM Studio; llama.cpp, under ``meta``.
_NAMES = (
    *("max_model_len", "context_length", "max_context_length", "context_window", "loaded_context_length"),
    *("n_ctx", "n_ctx_train"),
)
_PLACES = ("meta", "top_provider")


def window_in(listed: Any, model: str) -> int | None:
    """The window in tokens, the smallest that is told; None where none is told of this model."""
    models = listed.get("data") if isinstance(listed, dict) else None
    entries = [entry for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []
    named = [entry for entry in entries if entry.get("id") == model]
    # A server of one model answers under any name.
    found = [count for entry in named or (entries if len(entries) == 1 else []) for count in _told(entry)]
    return min(found, default=None)


def _told(entry: Mapping[str, Any]) -> Iterator[int]:
    for place in (entry, *(entry.get(name) for name in _PLACES)):
        told = place if isinstance(place, dict) else {}
        yield from (told[name] for name in _NAMES if is_count(told.get(name)) and told[name] > 0)

"""What is written down of a model's words, with what looks like a credential blotted out."""

from __future__ import annotations

from typing import Any

from tool_induction.compiler.source import without_secrets


def blotted(value: Any) -> Any:
    """A JSON value with every text in it blotted."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {blotted(key): blotted(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [blotted(item) for item in value]
    return value

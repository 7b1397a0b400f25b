"""Perception adapters behind the ports of ``world_api.core.ports``.

``classical`` needs no download: people and faces, text on screen, text vectors. ``speech`` recognises speech and finds voices.
``endpoint`` uses a vision model and an embedding model on an endpoint. Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = {
    "classical": "ClassicalDetector HashedTextEmbedder RapidOcrReader",
    "speech": "EnergyVoiceDetector SileroVoiceDetector SphinxRecogniser WhisperRecogniser whisper_is_installed",
    "endpoint": (
        "MAY_BE_REFUSED EmbeddingsWire EndpointEmbedder EndpointVision VisionReply assumed_tokens data_url read_reply"
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "MAY_BE_REFUSED", "ClassicalDetector", "EmbeddingsWire", "EndpointEmbedder", "EndpointVision",
    "EnergyVoiceDetector", "HashedTextEmbedder", "RapidOcrReader", "SileroVoiceDetector", "SphinxRecogniser",
    "VisionReply", "WhisperRecogniser", "assumed_tokens", "data_url", "read_reply", "whisper_is_installed",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

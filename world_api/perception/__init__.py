"""Perception adapters behind the ports of ``world_api.core.ports``, and which of them each profile uses.

``classical`` (people and faces, text on screen, text vectors) and ``appearance`` (vectors of how things look) need no download.
``speech`` recognises speech and finds voices. ``endpoint`` uses a vision model and an embedding model on an endpoint. Each name is
imported when it is first used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

#: The adapter of each port by profile, as ``module:class``. Those of an endpoint and of speech are made with the caller's options.
PROFILES = {
    "classical": {
        "people": "classical:ClassicalDetector",
        "appearance": "appearance:ColourAppearance",
        "detector": "classical:ClassicalDetector",
        "text_reader": "classical:RapidOcrReader",
        "text_embedder": "classical:HashedTextEmbedder",
        "faster-whisper": "speech:WhisperRecogniser",
        "pocketsphinx": "speech:SphinxRecogniser",
        "voices": "speech:EnergyVoiceDetector",
        "voices_with_whisper": "speech:SileroVoiceDetector",
    },
    "endpoint": {"vision": "endpoint:EndpointVision", "embeddings": "endpoint:EndpointEmbedder"},
}

_NAMES = {
    "appearance": "ColourAppearance",
    "classical": "ClassicalDetector RapidOcrReader",
    "speech": "EnergyVoiceDetector WhisperRecogniser",
    "endpoint": "EmbeddingsWire EndpointEmbedder EndpointVision assumed_tokens data_url read_reply",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "PROFILES", "ClassicalDetector", "ColourAppearance", "EmbeddingsWire", "EndpointEmbedder", "EndpointVision",
    "EnergyVoiceDetector", "RapidOcrReader", "WhisperRecogniser", "adapter", "adapter_class", "assumed_tokens",
    "data_url", "read_reply",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def adapter_class(port: str, *, profile: str = "classical") -> Any:
    """The class that a profile uses for a port; both as :data:`PROFILES` names them."""
    module, _, name = PROFILES[profile][port].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)


@cache
def adapter(port: str) -> Any:
    """The adapter of the classical profile for a port, shared by all its users."""
    return adapter_class(port)()

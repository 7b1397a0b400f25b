"""Perception adapters behind the ports of ``world_api.core.ports``, and which of them each profile uses.

``classical`` (people and faces, text on screen, text vectors) and ``appearance`` (vectors of the look of things; a
re-identification model belongs beside it) need no download. ``detector`` recognises objects with a model of the
catalogue (``models``), ``image_text`` says what pictures may show. ``speech`` recognises speech and detects voices,
``voices`` compares them, ``sounds`` tags sounds.
``endpoint`` uses a vision model and an embedding model on an endpoint. Each name is imported when it is first used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.perception.appearance import ColourAppearance
    from world_api.perception.classical import ClassicalDetector, RapidOcrReader
    from world_api.perception.detector import LAYOUTS, DetectorModel, OnnxDetector
    from world_api.perception.endpoint import (
        EmbeddingsWire,
        EndpointEmbedder,
        EndpointVision,
        assumed_tokens,
        data_url,
        read_reply,
    )
    from world_api.perception.identification import (
        ArcFaceEmbedder,
        IdentityModel,
        OsnetEmbedder,
        PeopleModels,
        ScrfdDetector,
        SFaceEmbedder,
        YunetDetector,
    )
    from world_api.perception.image_text import (
        BpeTokenizer,
        ClassifierOptions,
        ImageTextOptions,
        ModelPart,
        OnnxClassifier,
        OnnxImageTextEncoder,
        OpenClipEncoder,
        PictureModel,
        TagList,
        ZeroShotTagger,
    )
    from world_api.perception.models import Model, ModelFolder
    from world_api.perception.sounds import SoundModel, SoundOptions, YamnetTagger, log_mel_spectrum, patches_of
    from world_api.perception.speech import EnergyVoiceDetector, WhisperRecogniser
    from world_api.perception.voices import OnnxVoiceEncoder, ResemblyzerEncoder, VoiceOptions

#: profile -> port -> adapter, as ``module:class``. Those of an endpoint, of Whisper and of models need options of the caller.
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
    "neural": {"detector": "detector:OnnxDetector"},
    "endpoint": {"vision": "endpoint:EndpointVision", "embeddings": "endpoint:EndpointEmbedder"},
}

__getattr__, __dir__, _adapters = lazy_names(__name__)
__all__ = ["PROFILES", "adapter", "adapter_class", *_adapters]  # noqa: PLE0604


def adapter_class(port: str, *, profile: str = "classical") -> Any:
    """Return the adapter class of a port in a profile; names as in :data:`PROFILES`, profile -> port."""
    module, _, name = PROFILES[profile][port].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)


@cache
def adapter(port: str) -> Any:
    """Return the classical profile's adapter of a port; all callers share one instance."""
    return adapter_class(port)()

"""Finding out what a chat endpoint really does with what it is sent.

``capabilities_of`` asks a server a few small questions and keeps what it learnt in a cache folder; ``Capabilities`` is
what is known of one model on one endpoint.
"""

from world_api.backends.chat.probing.capabilities import CHECKS, Capabilities, Check, Outcome
from world_api.backends.chat.probing.findings import cache_folder, read_finding
from world_api.backends.chat.probing.meanings import OUTCOMES, TITLES, meaning
from world_api.backends.chat.probing.probe import capabilities_of

__all__ = [
    "CHECKS",
    "OUTCOMES",
    "TITLES",
    "Capabilities",
    "Check",
    "Outcome",
    "cache_folder",
    "capabilities_of",
    "meaning",
    "read_finding",
]

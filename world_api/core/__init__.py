"""The vocabulary of the project: time spans, boxes, identifiers, faults, costs, words and ports, and how files are written.

Every other package builds on these names. Nothing here imports another package of the project, and importing them loads no heavy
library. Ports are the protocols that adapters implement (a text reader, a vision model, a chat model, ...); the faults are
one tree; ``canonical`` and ``parse_json`` are the only JSON writer and reader; files are written whole or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.core.canonical import MAX_LEVELS as MAX_LEVELS
    from world_api.core.canonical import canonical_json as canonical_json
    from world_api.core.canonical import content_hash as content_hash
    from world_api.core.canonical import is_deep as is_deep
    from world_api.core.canonical import json_line as json_line
    from world_api.core.canonical import parse_json as parse_json
    from world_api.core.cost import Cost as Cost
    from world_api.core.cost import Ledger as Ledger
    from world_api.core.cost import Spent as Spent
    from world_api.core.cost import charge as charge
    from world_api.core.cost import deadline as deadline
    from world_api.core.cost import ledger as ledger
    from world_api.core.cost import remaining as remaining
    from world_api.core.execution import OnceEach as OnceEach
    from world_api.core.faults import INTERNAL_FAULT as INTERNAL_FAULT
    from world_api.core.faults import BackendFault as BackendFault
    from world_api.core.faults import EpisodeFault as EpisodeFault
    from world_api.core.faults import EvalFault as EvalFault
    from world_api.core.faults import MediaFault as MediaFault
    from world_api.core.faults import OperationFault as OperationFault
    from world_api.core.faults import StoreFault as StoreFault
    from world_api.core.faults import ToolFault as ToolFault
    from world_api.core.faults import VideoWorldError as VideoWorldError
    from world_api.core.faults import as_stored as as_stored
    from world_api.core.faults import internal_fault as internal_fault
    from world_api.core.files import append_line as append_line
    from world_api.core.files import hash_bytes as hash_bytes
    from world_api.core.files import hash_file as hash_file
    from world_api.core.files import world_lock as world_lock
    from world_api.core.files import write_atomically as write_atomically
    from world_api.core.identifiers import check_video_id as check_video_id
    from world_api.core.identifiers import columns as columns
    from world_api.core.identifiers import is_name as is_name
    from world_api.core.identifiers import segment_id as segment_id
    from world_api.core.identifiers import video_id_from_file_name as video_id_from_file_name
    from world_api.core.identifiers import visible as visible
    from world_api.core.lexicon import concepts as concepts
    from world_api.core.lexicon import content_words as content_words
    from world_api.core.lexicon import required_terms as required_terms
    from world_api.core.lexicon import unrequired_words as unrequired_words
    from world_api.core.lexicon import words as words
    from world_api.core.ports import SAMPLE_RATE as SAMPLE_RATE
    from world_api.core.ports import ChatModel as ChatModel
    from world_api.core.ports import DetectedObject as DetectedObject
    from world_api.core.ports import Expected as Expected
    from world_api.core.ports import Image as Image
    from world_api.core.ports import LookReply as LookReply
    from world_api.core.ports import LookRequest as LookRequest
    from world_api.core.ports import LookTask as LookTask
    from world_api.core.ports import Picture as Picture
    from world_api.core.ports import Samples as Samples
    from world_api.core.ports import SeenAction as SeenAction
    from world_api.core.ports import SpokenLine as SpokenLine
    from world_api.core.ports import SpokenWord as SpokenWord
    from world_api.core.ports import TextLine as TextLine
    from world_api.core.spans import Box as Box
    from world_api.core.spans import TimeSpan as TimeSpan
    from world_api.core.spans import known_time as known_time
    from world_api.core.spans import merge_spans as merge_spans
    from world_api.core.vocabulary import Vocabulary as Vocabulary
    from world_api.core.vocabulary import judged_at_build as judged_at_build

__getattr__, __dir__, __all__ = lazy_names(__name__)

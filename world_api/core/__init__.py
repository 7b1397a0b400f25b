"""The basic types of the project: time spans, boxes, identifiers, faults, costs, words and ports; and files and JSON.

Every other package uses these names. Nothing here imports another package of the project or a heavy library. Ports are
the protocols that adapters implement (a text reader, a vision model, a chat model, ...). All faults have one base
class. ``canonical`` writes and reads JSON strictly; ``files`` writes files atomically.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.core.canonical import MAX_LEVELS, canonical_json, content_hash, is_deep, json_line, parse_json
    from world_api.core.cost import Cost, Ledger, Spent, charge, deadline, ledger, remaining
    from world_api.core.execution import OnceEach
    from world_api.core.faults import (
        INTERNAL_FAULT,
        BackendFault,
        EpisodeFault,
        EvalFault,
        MediaFault,
        OperationFault,
        StoreFault,
        ToolFault,
        VideoWorldError,
        as_stored,
        internal_fault,
    )
    from world_api.core.files import append_line, hash_bytes, hash_file, world_lock, write_atomically
    from world_api.core.identifiers import (
        check_video_id,
        closest,
        columns,
        is_name,
        segment_id,
        video_id_from_file_name,
        visible,
    )
    from world_api.core.lexicon import COLOURS, NEIGHBOURS
    from world_api.core.outfits import PartLook, in_chinese, in_words
    from world_api.core.ports import (
        SAMPLE_RATE,
        BodyEmbedder,
        ChatModel,
        DetectedObject,
        Expected,
        Face,
        FaceDetector,
        FaceEmbedder,
        Image,
        ImageTextEncoder,
        LookReply,
        LookRequest,
        LookTask,
        Picture,
        PictureTag,
        PictureTagger,
        RgbImage,
        Samples,
        SceneDetector,
        SeenAction,
        SpokenLine,
        SpokenWord,
        TaggedPicture,
        TaggedSound,
        TextLine,
        Vectors,
    )
    from world_api.core.spans import Box, TimeSpan, known_time, merge_spans
    from world_api.core.vocabulary import (
        Vocabulary,
        concepts,
        content_words,
        judged_at_build,
        required_terms,
        unrequired_words,
        words,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)

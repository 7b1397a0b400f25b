"""The stored world: tables of rows, the manifest that pins them, and views of them behind a causal cut.

``open_world`` opens a world of a store, ``open_view`` shows it as of a moment; operations read rows only through a
``View``. A build writes rows (``write_rows``), images and, last, the manifest. Rows are facts about moments; shots,
tracks, screen texts and segments are derived from the rows that are visible behind a cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.world.storage import (
        BuildCost,
        FileEntry,
        Manifest,
        SourceFacts,
        StageFacts,
        VideoFacts,
        find_rows,
        has_image,
        hash_rows,
        read_arrow,
        read_image,
        read_manifest,
        rows_from_records,
        write_image,
        write_manifest,
        write_rows,
    )
    from world_api.world.store import (
        World,
        derived_folder,
        derived_key,
        list_worlds,
        open_world,
        world_folder,
        world_hash,
    )
    from world_api.world.tables import SCHEMA_VERSION, SESSION_TABLES, TABLES, TRACK_LOOK_DIMENSION
    from world_api.world.timeline import ScreenText, join_readings, same_line, segment, shared_prefix, spans
    from world_api.world.tracks import Track, join_tracks
    from world_api.world.verification import check_apart, check_world
    from world_api.world.view import View

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""The stored world: tables of rows, the manifest that pins them, and views of them behind a causal cut.

``open_world`` opens a world of a store, ``open_view`` shows it as of a moment; operations read rows only through a ``View``.
A build writes rows (``write_rows``), images and at last the manifest. Rows are facts about moments; shots, tracks, screen texts
and segments are derived from the rows that a cut lets through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.world.derived import derived_folder as derived_folder
    from world_api.world.derived import derived_key as derived_key
    from world_api.world.joined_tracks import join_tracks as join_tracks
    from world_api.world.manifest import FileEntry as FileEntry
    from world_api.world.manifest import Manifest as Manifest
    from world_api.world.manifest import SourceFacts as SourceFacts
    from world_api.world.manifest import VideoFacts as VideoFacts
    from world_api.world.manifest import read_manifest as read_manifest
    from world_api.world.manifest import write_manifest as write_manifest
    from world_api.world.screen_texts import ScreenText as ScreenText
    from world_api.world.screen_texts import join_readings as join_readings
    from world_api.world.screen_texts import same_line as same_line
    from world_api.world.storage import find_rows as find_rows
    from world_api.world.storage import has_image as has_image
    from world_api.world.storage import hash_rows as hash_rows
    from world_api.world.storage import read_arrow as read_arrow
    from world_api.world.storage import read_image as read_image
    from world_api.world.storage import rows_from_records as rows_from_records
    from world_api.world.storage import write_image as write_image
    from world_api.world.storage import write_rows as write_rows
    from world_api.world.store import World as World
    from world_api.world.store import list_worlds as list_worlds
    from world_api.world.store import open_world as open_world
    from world_api.world.store import world_folder as world_folder
    from world_api.world.store import world_hash as world_hash
    from world_api.world.tables import SCHEMA_VERSION as SCHEMA_VERSION
    from world_api.world.tables import SESSION_TABLES as SESSION_TABLES
    from world_api.world.tables import TABLES as TABLES
    from world_api.world.tables import TRACK_LOOK_DIMENSION as TRACK_LOOK_DIMENSION
    from world_api.world.timeline import segment as segment
    from world_api.world.timeline import shared_prefix as shared_prefix
    from world_api.world.timeline import spans as spans
    from world_api.world.tracks import Track as Track
    from world_api.world.verification import check_apart as check_apart
    from world_api.world.verification import check_world as check_world
    from world_api.world.view import View as View

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""``videoworld worlds`` and ``videoworld inspect``: what a store and a world hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from world_api.core.faults import StoreFault
from world_api.exposure.cli import DEFAULT_STORE, AsOfOption, JsonOption, StoreOption, clock_text, command_app, show

app = command_app()
inspect_app = command_app()

SEARCH_HITS = 20
LONGEST_TITLE = 60


@app.command()
def worlds(
    store: StoreOption = DEFAULT_STORE,
    search: Annotated[
        str, typer.Option("--search", help="List the segments of all videos that match these words.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List the worlds of a store."""
    from world_api.world.disk.stored import list_worlds

    if search:
        _search(store, search, as_json)
        return
    entries = [_entry(store, video_id) for video_id in list_worlds(store)]
    show({"store": str(store), "worlds": entries}, as_json=as_json, text=lambda: _listing(store, entries))


def _search(store: Path, query: str, as_json: bool) -> None:
    from world_api.world.search.catalogue import search

    hits = [vars(hit) for hit in search(store, query, SEARCH_HITS)]
    record = {"store": str(store), "query": query, "segments": hits}
    show(record, as_json=as_json, text=lambda: "\n".join(map(_hit_line, hits)) or "nothing matches")


def _hit_line(hit: dict[str, Any]) -> str:
    words = " / ".join(hit["text"].splitlines())[:80]
    return f"{hit['video_id']:32} {clock_text(hit['start_time']):>9} - {clock_text(hit['end_time']):>9}  {words}"


def _entry(store: Path, video_id: str) -> dict[str, Any]:
    from world_api.world.disk.stored import open_world

    try:
        manifest = open_world(store, video_id).manifest
    except StoreFault as fault:
        return {"video_id": video_id, **fault.record()}
    return {
        "video_id": video_id,
        "title": manifest.title,
        "duration": manifest.video.duration,
        "profile": manifest.profile,
        "built_at": manifest.built_at,
        "complete": manifest.complete,
        "world_hash": manifest.world_hash,
    }


def _listing(store: Path, entries: list[dict[str, Any]]) -> str:
    if not entries:
        return f"no worlds in {store}; `videoworld build VIDEO` makes one"
    lines = []
    for entry in entries:
        if "error" in entry:
            lines.append(f"{entry['video_id']:32} {entry['error']['message']}")
        else:
            lines.append(_entry_line(entry))
    return "\n".join(lines)


def _entry_line(entry: dict[str, Any]) -> str:
    length = clock_text(entry["duration"])
    title = (
        "" if entry["title"].lower() == entry["video_id"] else f"  {' '.join(entry['title'].split())[:LONGEST_TITLE]}"
    )
    growing = "" if entry["complete"] else "  (still growing)"
    return f"{entry['video_id']:32} {length:>9}  {entry['profile']:10} {entry['world_hash'][:12]}{title}{growing}"


@inspect_app.command()
def inspect(
    video_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the video's world.")],
    store: StoreOption = DEFAULT_STORE,
    as_of: AsOfOption = None,
    check: Annotated[bool, typer.Option("--check", help="Compare every file with its hash first.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a world holds: shots, scenes, tracks, texts, sizes, hashes, profile."""
    from world_api.exposure.inspection import inspection, inspection_text
    from world_api.world.disk.derived import FOLDER as DERIVED
    from world_api.world.disk.stored import check_world, open_world

    world = open_world(store, video_id)
    if check and (wrong := check_world(world)):
        beside = all(line.startswith(DERIVED) for line in wrong)
        raise StoreFault(
            "world_damaged",
            f"{len(wrong)} of the files of {video_id} are not what they were: " + "; ".join(wrong[:5]),
            hint="the world itself is sound; `videoworld reindex` makes again what is kept beside it"
            if beside
            else "build the world again with --force, or copy it again",
        )
    record = inspection(world, as_of)
    show(record, as_json=as_json, text=lambda: inspection_text(record))

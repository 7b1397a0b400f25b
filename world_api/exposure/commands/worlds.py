"""``videoworld worlds`` and ``videoworld inspect``: what a store and a world hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from world_api.core.faults import StoreFault
from world_api.core.identifiers import clock_text
from world_api.exposure.cli import DEFAULT_STORE, AsOfOption, JsonOption, StoreOption, command_app, show

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
    clean: Annotated[
        bool,
        typer.Option(
            "--clean",
            help="Remove what is kept beside the worlds and not needed: answers made on demand, which are made again when "
            "asked for, and recordings of streams that have no world. Nothing that is being built or recorded.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the worlds of a store, and how much is kept beside them."""
    if clean and search:
        raise typer.BadParameter("goes without --search", param_hint="--clean")
    if clean:
        _clean(store, as_json)
    elif search:
        _search(store, search, as_json)
    else:
        _list(store, as_json)


def _list(store: Path, as_json: bool) -> None:
    from world_api.build.source import bytes_of, find_beside
    from world_api.world.store import list_worlds

    entries = [_entry(store, video_id) for video_id in list_worlds(store)]
    found = find_beside(store)
    beside = {
        "answers_bytes": bytes_of(found.answers),
        "recordings_bytes": bytes_of(found.recordings),
        "spare_recordings_bytes": bytes_of(found.spare),
    }
    record = {"store": str(store), "worlds": entries, "beside": beside}
    show(record, as_json=as_json, text=lambda: "\n".join([_listing(store, entries), *_beside_lines(beside)]))


def _beside_lines(beside: dict[str, int]) -> list[str]:
    """What is kept beside the worlds, where it is anything."""
    answers, recordings, spare = beside.values()
    if not answers and not recordings:
        return []
    kept = f"beside the worlds: answers made on demand {_megabytes(answers)}, recordings {_megabytes(recordings)}"
    if spare:
        kept += f" ({_megabytes(spare)} of no world)"
    return [kept + ("; `videoworld worlds --clean` removes what is not needed" if answers or spare else "")]


def _clean(store: Path, as_json: bool) -> None:
    from world_api.build.source import clear_beside

    removed = clear_beside(store)
    names = [path.name for path in removed.recordings]
    record = {"store": str(store), "answers": removed.answers, "recordings": names, "bytes": removed.size}
    what = f"{removed.answers} answers made on demand and {len(names)} recordings"
    show(record, as_json=as_json, text=lambda: f"removed {what} ({_megabytes(removed.size)})")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.2f} MB"


def _search(store: Path, query: str, as_json: bool) -> None:
    from world_api.search.catalogue import search

    hits = [vars(hit) for hit in search(store, query, SEARCH_HITS)]
    record = {"store": str(store), "query": query, "segments": hits}
    show(record, as_json=as_json, text=lambda: "\n".join(map(_hit_line, hits)) or "nothing matches")


def _hit_line(hit: dict[str, Any]) -> str:
    words = " / ".join(hit["text"].splitlines())[:80]
    return f"{hit['video_id']:32} {clock_text(hit['start_time']):>9} - {clock_text(hit['end_time']):>9}  {words}"


def _entry(store: Path, video_id: str) -> dict[str, Any]:
    from world_api.world.store import open_world

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
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Compare every file with its hash, and read all rows, in a process of its own first."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a world holds: shots, scenes, tracks, texts, sizes, hashes, profile."""
    from world_api.exposure.inspection import inspection, inspection_text
    from world_api.world.derived import FOLDER as DERIVED
    from world_api.world.store import open_world
    from world_api.world.verification import check_apart

    if check and (wrong := check_apart(store, video_id)):
        beside = all(line.startswith(DERIVED) for line in wrong)
        raise StoreFault(
            "world_damaged",
            f"{len(wrong)} of the files of {video_id} are not what they were: " + "; ".join(wrong[:5]),
            hint="the world itself is sound; `videoworld reindex` makes again what is kept beside it"
            if beside
            else "build the world again with --force, or copy it again",
        )
    record = inspection(open_world(store, video_id), as_of)
    show(record, as_json=as_json, text=lambda: inspection_text(record))

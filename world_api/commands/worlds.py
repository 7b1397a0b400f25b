"""``videoworld worlds``, ``inspect`` and ``session``: show the contents of a store, of a world and of its sessions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from world_api.build.source import clear_beside, find_beside
from world_api.commands.cli import AsOfOption, JsonOption, StoreOption, group_app
from world_api.core.faults import StoreFault
from world_api.core.files import write_atomically
from world_api.core.identifiers import clock_text, plural
from world_api.core.ports import Image
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.evidence import brief
from world_api.options import DEFAULT_SESSION, DEFAULT_STORE
from world_api.page.world_page import refuse_other_file, write_world_page
from world_api.search import catalogue
from world_api.session.session import commit_session, drop_session, list_sessions
from world_api.terminal import loss_lines, show
from world_api.world.storage import Loss
from world_api.world.store import DERIVED_FOLDER, World, list_unfinished, list_worlds, open_world
from world_api.world.tables import TABLES
from world_api.world.timeline import SOUND_PREFIX
from world_api.world.verification import check_apart
from world_api.world.view import View

session_app = group_app("List, commit or drop what sessions wrote.")

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the video's world.")]
NameArgument = Annotated[str, typer.Argument(metavar="SESSION", help="Which session.")]

_SEARCH_HITS = 20
_TITLE_CHARACTERS = 60
_SHOWN = 12  #: entries of a table that `inspect` prints


def worlds(
    store: StoreOption = DEFAULT_STORE,
    search: Annotated[
        str, typer.Option("--search", metavar="WORDS", help="List the segments of all videos that match these words.")
    ] = "",
    clean: Annotated[
        bool,
        typer.Option(
            "--clean",
            help="Remove what is kept beside the worlds and not needed: answers made on demand, which are made again when "
            "needed, and recordings of streams that have no world. Nothing that is being built or recorded.",
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
    entries = [_entry(store, video_id) for video_id in sorted({*list_worlds(store), *list_unfinished(store)})]
    found = find_beside(store)
    answers, recordings, spare = (sum(sizes.values()) for sizes in (found.answers, found.recordings, found.spare))
    lines = [_entry_line(entry) for entry in entries] or [f"no worlds in {store}; `videoworld build VIDEO` makes one"]
    if answers or recordings:
        kept = f"beside the worlds: answers made on demand {_megabytes(answers)}, recordings {_megabytes(recordings)}"
        unneeded = f" ({_megabytes(spare)} of no world)" if spare else ""
        hint = "; `videoworld worlds --clean` removes what is not needed" if answers or spare else ""
        lines.append(kept + unneeded + hint)
    beside = {"answers_bytes": answers, "recordings_bytes": recordings, "spare_recordings_bytes": spare}
    record = {"store": str(store), "worlds": entries, "beside": beside}
    show(record, as_json=as_json, text=lambda: "\n".join(lines))


def _entry(store: Path, video_id: str) -> dict[str, Any]:
    try:
        manifest = open_world(store, video_id).manifest
    except StoreFault as fault:
        return {"video_id": video_id, **fault.record()}
    facts = _fields(manifest, "profile", "built_at", "complete", "world_hash")
    return {"video_id": video_id, "title": manifest.title, "duration": manifest.video.duration, **facts}


def _entry_line(entry: dict[str, Any]) -> str:
    if "error" in entry:
        return f"{entry['video_id']:32} {entry['error']['message']}"
    title = " ".join(entry["title"].split())[:_TITLE_CHARACTERS]
    shown = "" if entry["title"].lower() == entry["video_id"] else f"  {title}"
    growing = "" if entry["complete"] else "  (still growing)"
    length, world = clock_text(entry["duration"]), entry["world_hash"][:12]
    return f"{entry['video_id']:32} {length:>9}  {entry['profile']:10} {world}{shown}{growing}"


def _clean(store: Path, as_json: bool) -> None:
    removed = clear_beside(store)
    answers, names = len(removed.answers), [path.name for path in removed.recordings]
    size = sum((removed.answers | removed.recordings).values())
    record = {"store": str(store), "answers": answers, "recordings": names, "bytes": size}
    what = f"{answers} answers made on demand and {len(names)} recordings"
    show(record, as_json=as_json, text=lambda: f"removed {what} ({_megabytes(size)})")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.2f} MB"


def _search(store: Path, query: str, as_json: bool) -> None:
    hits = [vars(hit) for hit in catalogue.search(store, query, _SEARCH_HITS)]
    record = {"store": str(store), "query": query, "segments": hits}
    lines = [
        f"{hit['video_id']:32} {clock_text(hit['start_time']):>9} - {clock_text(hit['end_time']):>9}  "
        + " / ".join(hit["text"].splitlines())[:80]
        for hit in hits
    ]
    show(record, as_json=as_json, text=lambda: "\n".join(lines) or "nothing matches")


def inspect(
    video_id: IdArgument,
    store: StoreOption = DEFAULT_STORE,
    as_of: AsOfOption = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="First compare every file with its hash and check all rows, in a process of its own."
        ),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write the world as one page: key frames, boxes, and a timeline to search and click. It plays the video if "
            "that is beside the page.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a world holds: shots, scenes, tracks, texts, sizes, hashes, profile."""
    if check and (damaged := check_apart(store, video_id)):
        only_derived = all(line.startswith(DERIVED_FOLDER) for line in damaged)
        raise StoreFault(
            "world_damaged",
            f"{video_id} is damaged in {plural(len(damaged), 'place')}: " + "; ".join(damaged[:5]),
            hint="the world itself is sound; `videoworld reindex` makes again what is kept beside it"
            if only_derived
            else "build the world again with --force, or copy it again",
        )
    world = open_world(store, video_id)
    if check:
        typer.echo("checked: every file is as the manifest lists it, and no row breaks a rule of its table", err=True)
    if html is not None:
        refuse_other_file(html)
        size = write_world_page(View(world, as_of), html)
        show({"page": str(html), "bytes": size}, as_json=as_json, text=lambda: f"wrote {html} ({_megabytes(size)})")
        return
    record = inspection(world, as_of)
    show(record, as_json=as_json, text=lambda: inspection_text(record))


def _stored_bytes(world: World, path: str) -> int:
    """Return the size in bytes of a file of a world. Raises StoreFault: ``world_damaged`` if the file is missing."""
    try:
        return (world.folder / path).stat().st_size
    except OSError as error:
        hint = "build the world again with --force, or copy it again"
        raise StoreFault(
            "world_damaged", f"world {world.manifest.video_id!r}: {path}: {error.strerror}", hint=hint
        ) from error


def inspection(world: World, as_of: float | None) -> dict[str, Any]:
    """Return the contents of a world up to the causal cut ``as_of`` (None: all) as JSON values; times in seconds."""
    view, manifest = View(world, as_of), world.manifest
    until = math.inf if view.complete else view.duration
    source, video = manifest.source.model_dump(mode="json"), manifest.video.model_dump(mode="json")
    tables = {name: view.rows(name).num_rows for name in TABLES}
    sizes: dict[str, int] | None = {
        "rows": sum(_stored_bytes(world, entry.path) for entry in manifest.files),
        "images": sum(image.bytes for image in manifest.images),
    }
    if as_of is not None:
        source = {"file_name": manifest.source.file_name}
        video |= {"duration": round_time(view.duration), "frames": None}
        sizes = None
    return {
        **_fields(manifest, "video_id", "title", "profile", "schema_version", "world_hash", "built_at", "complete"),
        "as_of": as_of,
        "source": source,
        "video": video,
        "losses": [record for loss in manifest.losses if (record := _loss_until(until, loss)) is not None],
        "words_from": _words_from(world),
        "stages": [stage.model_dump(mode="json") for stage in manifest.stages],
        "tables": tables,
        "bytes": sizes,
        "shots": [_times(shot) for shot in view.shots],
        "scenes": [
            {"scene_id": scene.scene_id, **_times(scene.span), "brief_caption": brief(view, scene.span)}
            for scene in view.scenes
        ],
        "tracks": [
            {
                **_fields(track, "track_id", "entity_id", "hint", "category"),
                "colours": list(track.colours),
                "confidence": track.confidence,
                "sightings": len(track.times),
                **_times(track.span),
                "appearances": [_times(span) for span in track.appearances],
            }
            for track in view.tracks
        ],
        "screen_texts": [{**_fields(text, "text", "confidence"), **_times(text.span)} for text in view.screen_texts],
        "speech": [
            {
                **_fields(line, "text", "source", "language", "confidence"),
                "speaker": line.said_by,
                "words": [{"word": word.text, **_times(word.span)} for word in line.words],
                **_times(line.span),
            }
            for line in view.speech
        ],
        "sounds": [{**_fields(sound, "text", "confidence"), **_times(sound.span)} for sound in view.sounds],
        "key_frames": view.rows("key_frames").select(["time", "image", "sharpness"]).to_pylist(),
    }


def _loss_until(until: float, loss: Loss) -> dict[str, Any] | None:
    """Return a loss as JSON values, its interval cut at the time ``until`` (seconds); None if all of it is later."""
    record = loss.model_dump(mode="json")
    start, end = loss.start_time, loss.end_time
    if start is not None and start >= until:
        return None
    if end is None or end <= until:
        return record
    if start is not None and f"{start:.1f}" == f"{until:.1f}":
        return None  # its message has one decimal, and would name an empty interval
    said = loss.message.replace(f"{end:.1f} s", f"{until:.1f} s")
    return record | {"message": said, "end_time": round_time(until)}


def _words_from(world: World) -> str:
    """Return in words the source of the speech: subtitles or a recogniser. Empty if there is no speech in the video."""
    manifest = world.manifest
    starts = world.rows("speech").column("start").to_pylist()
    if not any(start < manifest.video.duration for start in starts):
        return ""
    facts = {stage.name: stage.parameters for stage in manifest.stages}
    if taken := facts.get("subtitles", {}).get("taken"):
        return f"subtitles {taken}: {facts['subtitles'].get('why', '')}"
    recogniser = facts.get("recognised_speech", {}).get("recogniser")
    return f"recognised by {recogniser}" if recogniser else ""


def inspection_text(record: dict[str, Any]) -> str:
    """Return the record of ``inspection`` as text of about one screen; long tables are shortened."""
    video = record["video"]
    rate = f"{video['frame_rate']:g} frames/s" if video["frame_rate"] else "frame rate unknown"
    lines = [
        f"{record['video_id']}  ({record['title']})",
        f"  {clock_text(video['duration'])} long, {video['width']}x{video['height']}, {rate}, "
        f"{video['codec']}, {'with' if video['has_audio'] else 'no'} audio",
    ]
    if record["as_of"] is not None:
        lines.append(f"  up to the causal cut at {record['as_of']:g} s")
    if not record["complete"]:
        lines.append("  still growing: this is what has been seen of the video so far")
    lines.append(f"  profile {record['profile']}, built {record['built_at']}, world {record['world_hash'][:16]}")
    if record["words_from"]:
        lines.append(f"  words from {record['words_from']}")
    if sizes := record["bytes"]:
        lines.append(f"  rows {_megabytes(sizes['rows'])}, images {_megabytes(sizes['images'])}")
    lines += loss_lines(record["losses"])
    counts = [f"{count} {name.replace('_', ' ')}" for name, count in record["tables"].items() if count]
    lines += ["", "  " + ", ".join(counts)]
    for title, entries in {
        "shots": ["" for _ in record["shots"]],
        "scenes": [f"{scene['scene_id']}  {scene['brief_caption']}" for scene in record["scenes"]],
        "tracks": [f"{track['entity_id']}  {track['hint']}" for track in record["tracks"]],
        "screen texts": [text["text"] for text in record["screen_texts"]],
        "speech": [
            # Subtitles have no confidence, since a person wrote them.
            line["text"] + (f"  (recognised, {line['confidence']:.0%} sure)" if line["source"] == "recognised" else "")
            for line in record["speech"]
        ],
        "sounds": [
            f"{sound['text'].removeprefix(SOUND_PREFIX)}  ({sound['confidence']:.0%})" for sound in record["sounds"]
        ],
    }.items():
        rows = record[title.replace(" ", "_")]
        if rows:
            lines += ["", f"  {title} ({len(rows)})"]
        for row, entry in list(zip(rows, entries, strict=True))[:_SHOWN]:
            interval = f"{clock_text(row['start_time']):>8} - {clock_text(row['end_time']):>8}"
            lines.append(f"    {interval}  {entry}".rstrip())
        if len(rows) > _SHOWN:
            lines.append(f"    ... {len(rows) - _SHOWN} more (--json shows all)")
    return "\n".join(lines)


def frames(
    video_id: IdArgument,
    at: Annotated[list[float], typer.Option("--at", metavar="SECONDS", help="A moment; repeatable.")],
    boxes: Annotated[
        bool, typer.Option("--boxes", help="Draw the boxes of what is tracked then, with id and looks.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the pictures go.")] = Path("frames"),
    store: StoreOption = DEFAULT_STORE,
    as_of: AsOfOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write frames of a video as pictures, with the boxes of what is tracked in them."""
    from world_api.api import frames_played_at

    world = open_world(store, video_id)
    view = View(world, as_of)
    times = sorted({round_time(time) for time in at if math.isfinite(time)})
    if wrong := [time for time in at if not 0 <= time < view.duration]:
        ends = "the video ends" if as_of is None else "what is seen under --as-of ends"
        raise typer.BadParameter(f"{wrong[0]} is no moment: {ends} at {view.duration:g} s", param_hint="--at")
    written: list[dict[str, Any]] = []
    for time, picture in zip(times, frames_played_at(view, times, boxes=boxes), strict=True):
        path = out / f"{video_id}-{time}.jpg"
        write_atomically(path, _jpeg(picture))
        seen = [{"entity_id": track.entity_id, "hint": track.hint} for track in view.tracks_at(time)]
        written.append({"time": time, "picture": str(path), "tracks": seen})
    lines = [
        "\n  ".join([f"{frame['picture']}", *(f"{seen['entity_id']}  {seen['hint']}" for seen in frame["tracks"])])
        for frame in written
    ]
    show({"video_id": video_id, "frames": written}, as_json=as_json, text=lambda: "\n".join(lines))


def _jpeg(picture: Image) -> bytes:
    import cv2

    _, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 92])
    return bytes(encoded.tobytes())


def _fields(item: object, *names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def _times(span: TimeSpan) -> dict[str, float]:
    return {"start_time": round_time(span.start), "end_time": round_time(span.end)}


@session_app.command("list")
def list_command(video_id: IdArgument, store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """List the sessions of a world and how much each wrote."""
    found = [{"name": name, "events": events} for name, events in list_sessions(store, video_id)]
    lines = [f"{item['name']:24} {item['events']} events" for item in found] or ["no session wrote anything"]
    show({"video_id": video_id, "sessions": found}, as_json=as_json, text=lambda: "\n".join(lines))


@session_app.command()
def commit(
    video_id: IdArgument,
    name: NameArgument = DEFAULT_SESSION,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Replay a session's writes onto the world, for every later session to see."""
    record: dict[str, Any] = commit_session(store, video_id, name).record()
    show(
        record,
        as_json=as_json,
        text=lambda: (
            f"committed memories: {record['memories']}, entities: {record['entities']}, of session {name} "
            f"to {video_id}; the world is now {record['world_hash'][:16]}"
        ),
    )


@session_app.command()
def drop(
    video_id: IdArgument,
    name: NameArgument = DEFAULT_SESSION,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Forget what a session wrote. The world itself is not touched."""
    events = drop_session(store, video_id, name)
    show(
        {"video_id": video_id, "session": name, "events": events},
        as_json=as_json,
        text=lambda: f"dropped {events} events of session {name}",
    )

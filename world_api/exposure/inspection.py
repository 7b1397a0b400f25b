"""A world laid open for people and scripts: everything it holds, in one record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from world_api.core.identifiers import clock_text
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.descriptions import brief
from world_api.world.manifest import StageFacts
from world_api.world.store import World
from world_api.world.tables import TABLES
from world_api.world.view import View

SHOWN = 12


def inspection(world: World, as_of: float | None) -> dict[str, Any]:
    """What a world holds behind a causal cut (or all of it), as JSON values; times in seconds."""
    view, manifest = View(world, as_of), world.manifest
    facts = manifest.video.model_dump(mode="json")
    return {
        "video_id": manifest.video_id,
        "title": manifest.title,
        "profile": manifest.profile,
        "schema_version": manifest.schema_version,
        "world_hash": manifest.world_hash,
        "built_at": manifest.built_at,
        "complete": manifest.complete,
        "as_of": as_of,
        "source": manifest.source.model_dump(mode="json")
        if as_of is None
        else {"file_name": manifest.source.file_name},
        "video": facts if as_of is None else {**facts, "duration": round_time(view.duration), "frames": None},
        "losses": [
            loss.model_dump(mode="json") for loss in manifest.losses if (loss.start_time or 0.0) <= view.duration
        ],
        "words_from": _words_from(manifest.stages) if _has_words(world) else "",
        "stages": [stage.model_dump(mode="json") for stage in manifest.stages],
        "tables": {name: view.rows(name).num_rows for name in TABLES},
        "bytes": _sizes(world) if as_of is None else None,
        "shots": [_times(shot) for shot in view.shots],
        "scenes": [
            {"scene_id": scene.scene_id, **_times(scene.span), "brief_caption": brief(view, scene.span)}
            for scene in view.scenes
        ],
        "tracks": [
            {
                "track_id": track.track_id,
                "entity_id": track.entity_id,
                "hint": track.hint,
                "category": track.category,
                "colours": list(track.colours),
                "confidence": track.confidence,
                "sightings": len(track.times),
                **_times(track.span),
                "appearances": [_times(span) for span in track.appearances],
            }
            for track in view.tracks
        ],
        "screen_texts": [
            {"text": text.text, "confidence": text.confidence, **_times(text.span)} for text in view.screen_texts
        ],
        "speech": [
            {
                "text": line.text,
                "speaker": line.speaker,
                "source": line.source,
                "language": line.language,
                "confidence": line.confidence,
                "words": [{"word": word.text, **_times(word.span)} for word in line.words],
                **_times(line.span),
            }
            for line in view.speech
        ],
        "key_frames": view.rows("key_frames").select(["time", "image", "sharpness"]).to_pylist(),
    }


def _words_from(stages: Sequence[StageFacts]) -> str:
    """Which subtitles or which recogniser gave the words that are said; empty where neither did."""
    facts = {stage.name: stage.parameters for stage in stages}
    if taken := facts.get("subtitles", {}).get("taken"):
        return f"subtitles {taken}: {facts['subtitles'].get('why', '')}"
    recogniser = facts.get("recognised_speech", {}).get("recogniser")
    return f"recognised by {recogniser}" if recogniser else ""


def _has_words(world: World) -> bool:
    """Whether anything is said before the video's end."""
    starts = world.rows("speech").column("start").to_pylist()
    return any(start < world.manifest.video.duration for start in starts)


def _sizes(world: World) -> dict[str, int]:
    return {
        "rows": sum((world.folder / entry.path).stat().st_size for entry in world.manifest.files),
        "images": sum(image.bytes for image in world.manifest.images),
    }


def inspection_text(record: dict[str, Any]) -> str:
    """The same for a person, on about one screen."""
    video = record["video"]
    growing = [] if record["complete"] else ["  still growing: this is what has been seen of the video so far"]
    lines = [
        f"{record['video_id']}  ({record['title']})",
        f"  {clock_text(video['duration'])} long, {video['width']}x{video['height']}, {video['frame_rate']:g} frames/s, "
        f"{video['codec']}, {'with' if video['has_audio'] else 'no'} audio",
        *growing,
        f"  profile {record['profile']}, built {record['built_at']}, world {record['world_hash'][:16]}",
    ]
    if record["words_from"]:
        lines.append(f"  words from {record['words_from']}")
    if sizes := record["bytes"]:
        lines.append(f"  rows {sizes['rows'] / 1e6:.2f} MB, images {sizes['images'] / 1e6:.2f} MB")
    lines += [f"  lost: {loss['message']}" for loss in record["losses"]]
    lines.append("")
    lines.append(
        "  " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in record["tables"].items() if count)
    )
    lines += _part("shots", [f"{_stretch(s)}" for s in record["shots"]])
    lines += _part("scenes", [f"{_stretch(s)}  {s['scene_id']}  {s['brief_caption']}" for s in record["scenes"]])
    lines += _part("tracks", [f"{_stretch(t)}  {t['entity_id']}  {t['hint']}" for t in record["tracks"]])
    lines += _part("screen texts", [f"{_stretch(t)}  {t['text']}" for t in record["screen_texts"]])
    lines += _part("speech", [f"{_stretch(t)}  {t['text']}{_how_sure(t)}" for t in record["speech"]])
    return "\n".join(lines)


def _times(span: TimeSpan) -> dict[str, float]:
    return {"start_time": round_time(span.start), "end_time": round_time(span.end)}


def _stretch(record: dict[str, Any]) -> str:
    return f"{clock_text(record['start_time']):>8} - {clock_text(record['end_time']):>8}"


def _how_sure(line: dict[str, Any]) -> str:
    """A recogniser may be wrong; subtitles were written by somebody."""
    return f"  (recognised, {line['confidence']:.0%} sure)" if line["source"] == "recognised" else ""


def _part(title: str, entries: list[str]) -> list[str]:
    if not entries:
        return []
    more = [f"    ... {len(entries) - SHOWN} more (--json shows all)"] if len(entries) > SHOWN else []
    return ["", f"  {title} ({len(entries)})", *(f"    {entry}" for entry in entries[:SHOWN]), *more]

"""Describing a world that was built: its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from world_api.build.media.decoding import DecodePass
from world_api.build.media.losses import LossNote
from world_api.build.stage import CLIP_SECONDS, Stage, losses_told_at_end
from world_api.core.printable import printable
from world_api.version import project_version
from world_api.world.files import hash_file
from world_api.world.manifest import FileEntry, ImageEntry, Loss, Manifest, SourceFacts, StageFacts, VideoFacts
from world_api.world.storage import read_table
from world_api.world.store import world_hash
from world_api.world.tables import SCHEMA_VERSION


def describe(
    folder: Path,
    video_id: str,
    profile: str,
    decode: DecodePass,
    *,
    files: list[FileEntry],
    lost: Sequence[LossNote],
    stages: Sequence[Stage],
    keys: Mapping[str, str],
    source_hash: str,
    source_bytes: int,
    built_at: str,
    complete: bool = True,
) -> Manifest:
    """The manifest of a world whose rows are stored, by a decode pass that stands at its end."""
    source = decode.source
    facts = _video_facts(decode)
    # What lies beyond the end of a video that is still being written may yet come.
    outside = losses_told_at_end(stages, start=source.start, duration=decode.duration) if complete else []
    return Manifest(
        schema_version=SCHEMA_VERSION,
        video_id=video_id,
        profile=profile,
        title=printable(source.path.stem),
        built_at=built_at,
        project_version=project_version(),
        source=SourceFacts(
            file_name=printable(source.path.name),
            sha256=source_hash,
            bytes=source_bytes,
            container=source.container,
        ),
        video=facts,
        clip_seconds=CLIP_SECONDS,
        stages=[_stage_facts(stage, keys) for stage in stages],
        losses=[
            Loss(
                code=loss.code,
                message=printable(loss.message),
                start_time=loss.start_time,
                end_time=loss.end_time,
            )
            for loss in [*decode.losses(), *lost, *outside]
        ],
        files=files,
        images=_images(folder, files),
        world_hash=world_hash(folder, facts, files),
        complete=complete,
    )


def _video_facts(decode: DecodePass) -> VideoFacts:
    source = decode.source
    counted = (decode.frames - 1) / decode.last_time if decode.last_time > 0 else 0.0
    return VideoFacts(
        duration=decode.duration,
        frame_rate=source.frame_rate or round(counted, 3),
        width=source.width,
        height=source.height,
        rotation=source.rotation,
        frames=decode.frames,
        codec=source.codec,
        has_audio=source.has_audio,
    )


def _stage_facts(stage: Stage, keys: Mapping[str, str]) -> StageFacts:
    spec = stage.spec
    return StageFacts(
        name=spec.name,
        version=str(spec.version),
        key=keys[spec.name],
        parameters=dict(spec.parameters),
        tables=list(spec.tables),
    )


def _images(folder: Path, files: list[FileEntry]) -> list[ImageEntry]:
    rows = read_table(folder, "key_frames", [entry for entry in files if entry.table == "key_frames"])
    paths = sorted(set(rows.column("image").to_pylist()))
    return [
        ImageEntry(path=path, sha256=hash_file(folder / path), bytes=(folder / path).stat().st_size) for path in paths
    ]

"""Building a world: probe, decide, run the stages, and put the manifest in place last.

Files of rows are named by everything they depend on, so a build that was broken off goes on where it stopped, and a new
world grows beside the old one until its manifest takes the old one's place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from world_api.build.media.frames import DecodePass, LossNote
from world_api.build.media.probe import Probe, probe
from world_api.build.recipe import Recipe, keys_of
from world_api.build.replacing import find_predecessor
from world_api.build.schedule import Progress, run_on_rows, run_pass
from world_api.build.shelf import Shelf
from world_api.build.stage import CLIP_SECONDS, Stage, clip_count, losses_told_by
from world_api.core.identifiers import video_id_from_file_name
from world_api.core.ports import Clock
from world_api.world.disk.files import write_atomically
from world_api.world.disk.hashing import hash_file
from world_api.world.disk.locking import world_lock
from world_api.world.disk.manifest import (
    FileEntry,
    ImageEntry,
    Loss,
    Manifest,
    SourceFacts,
    StageFacts,
    VideoFacts,
    write_manifest,
)
from world_api.world.disk.storage import read_table
from world_api.world.disk.stored import world_folder, world_hash
from world_api.world.disk.tables import SCHEMA_VERSION

__all__ = ["BuildReport", "Progress", "build_world"]

DISTRIBUTION = "video-world-api"


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """What a build did. ``changed`` is False where the world was there already; ``seconds`` is how long it took.

    ``losses`` are those of the source, and what of the replaced world was put aside.
    """

    video_id: str
    changed: bool
    profile: str
    duration: float
    world_hash: str
    losses: tuple[Loss, ...]
    clips_made: int
    clips_reused: int
    seconds: float

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "video_id": self.video_id,
            "changed": self.changed,
            "profile": self.profile,
            "duration": self.duration,
            "world_hash": self.world_hash,
            "losses": [loss.model_dump() for loss in self.losses],
            "clips_made": self.clips_made,
            "clips_reused": self.clips_reused,
            "seconds": round(self.seconds, 1),
        }


def build_world(
    video: Path,
    store: Path,
    *,
    video_id: str | None,
    recipe: Recipe,
    force: bool,
    progress: Progress,
    clock: Clock,
) -> BuildReport:
    """Build the world of one video, or find that it is there.

    A world of the same id made from another file, or by another profile, stays unless ``force`` is given; then it is
    replaced once the new one is complete.

    Raises:
        MediaFault: ``no_such_file``, ``is_a_folder``, ``not_readable``, ``empty_file``, ``not_a_video``,
            ``no_video_stream``.
        StoreFault: ``bad_video_id``, ``world_exists``, ``world_damaged``, ``other_schema_version``,
            ``world_locked``, ``store_not_writable``, ``disk_full``.
        BackendFault: whatever the recipe's stages lack.
    """
    started = clock.monotonic()
    video = video.expanduser()
    source = probe(video)
    name = video_id if video_id is not None else video_id_from_file_name(video.stem)
    folder = world_folder(store, name)
    stages = list(recipe.stages(video))
    source_hash = hash_file(video)
    keys = keys_of(stages, source_hash)
    with world_lock(store, name):
        old = find_predecessor(folder, force=force)
        existing = old.manifest
        if existing is not None and not force:
            old.refuse_other(profile=recipe.profile, source_hash=source_hash)
            if {stage.name: stage.key for stage in existing.stages} == keys:
                _remember_source(folder, video)
                return _report(existing, changed=False, shelf=None, seconds=clock.monotonic() - started)
        shelf = Shelf(folder, source, keys, reuse=not force)
        decode = DecodePass(source=source)
        run_pass(stages, decode, shelf, progress)
        run_on_rows(stages, decode.duration, shelf, progress)
        manifest = _manifest(
            folder, name, recipe.profile, decode, shelf.files(clip_count(decode.duration)) + old.committed(stages, source_hash),
            stages=_stage_facts(stages, keys), told=losses_told_by(stages), source_hash=source_hash, built_at=clock.now(),
        )  # fmt: skip
        # Sessions first: a build broken off here leaves the old world without them, never the new one with them.
        notes = old.set_sessions_aside(source_hash)
        write_manifest(folder, manifest)
        _remember_source(folder, video)
        old.sweep(manifest)
    return _report(manifest, changed=True, shelf=shelf, seconds=clock.monotonic() - started, notes=notes)


def _manifest(
    folder: Path,
    video_id: str,
    profile: str,
    decode: DecodePass,
    files: list[FileEntry],
    *,
    stages: list[StageFacts],
    told: list[LossNote],
    source_hash: str,
    built_at: str,
) -> Manifest:
    source = decode.source
    facts = _video_facts(source, decode)
    return Manifest(
        schema_version=SCHEMA_VERSION,
        video_id=video_id,
        profile=profile,
        title=source.path.stem,
        built_at=built_at,
        project_version=_project_version(),
        source=SourceFacts(
            file_name=source.path.name,
            sha256=source_hash,
            bytes=source.path.stat().st_size,
            container=source.container,
        ),
        video=facts,
        clip_seconds=CLIP_SECONDS,
        stages=stages,
        losses=[
            Loss(code=loss.code, message=loss.message, start_time=loss.start_time, end_time=loss.end_time)
            for loss in [*decode.losses(), *told]
        ],
        files=files,
        images=_images(folder, files),
        world_hash=world_hash(folder, facts, files),
    )


def _video_facts(source: Probe, decode: DecodePass) -> VideoFacts:
    duration = decode.duration
    counted = (decode.frames - 1) / decode.last_time if decode.last_time > 0 else 0.0
    return VideoFacts(
        duration=duration,
        frame_rate=source.frame_rate or round(counted, 3),
        width=source.width,
        height=source.height,
        rotation=source.rotation,
        frames=decode.frames,
        codec=source.codec,
        has_audio=source.has_audio,
    )


def _stage_facts(stages: list[Stage], keys: dict[str, str]) -> list[StageFacts]:
    return [
        StageFacts(
            name=stage.spec.name,
            version=str(stage.spec.version),
            key=keys[stage.spec.name],
            parameters=dict(stage.spec.parameters),
            tables=list(stage.spec.tables),
        )
        for stage in stages
    ]


def _images(folder: Path, files: list[FileEntry]) -> list[ImageEntry]:
    rows = read_table(folder, "key_frames", [entry for entry in files if entry.table == "key_frames"])
    paths = sorted(set(rows.column("image").to_pylist()))
    return [
        ImageEntry(path=path, sha256=hash_file(folder / path), bytes=(folder / path).stat().st_size) for path in paths
    ]


def _remember_source(folder: Path, video: Path) -> None:
    """Note where this machine keeps the video; no part of the world."""
    write_atomically(folder / "local.json", json.dumps({"source_path": str(video.resolve())}).encode())


def _project_version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def _report(
    manifest: Manifest, *, changed: bool, shelf: Shelf | None, seconds: float, notes: Sequence[Loss] = ()
) -> BuildReport:
    return BuildReport(
        video_id=manifest.video_id,
        changed=changed,
        profile=manifest.profile,
        duration=manifest.video.duration,
        world_hash=manifest.world_hash,
        losses=(*manifest.losses, *notes),
        clips_made=shelf.written if shelf is not None else 0,
        clips_reused=shelf.reused if shelf is not None else 0,
        seconds=seconds,
    )

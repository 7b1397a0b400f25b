"""Building a world: probe, decide, run the stages, and put the manifest in place last.

Files of rows are named by everything they depend on, so a build that was broken off goes on where it stopped, and a new
world grows beside the old one until its manifest takes the old one's place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from world_api.build.media.frames import DecodePass
from world_api.build.media.probe import Probe, probe
from world_api.build.recipe import Recipe, keys_of
from world_api.build.schedule import Progress, run_on_rows, run_pass
from world_api.build.shelf import Shelf
from world_api.build.stage import CLIP_SECONDS, Stage, clip_count
from world_api.core.faults import StoreFault
from world_api.core.identifiers import video_id_from_file_name
from world_api.core.ports import Clock
from world_api.world.disk.files import write_atomically
from world_api.world.disk.hashing import hash_file
from world_api.world.disk.locking import world_lock
from world_api.world.disk.manifest import (
    MANIFEST,
    FileEntry,
    ImageEntry,
    Loss,
    Manifest,
    SourceFacts,
    StageFacts,
    VideoFacts,
    read_manifest,
    write_manifest,
)
from world_api.world.disk.storage import IMAGES, ROWS, read_table
from world_api.world.disk.stored import world_folder, world_hash
from world_api.world.disk.tables import SCHEMA_VERSION

__all__ = ["BuildReport", "Progress", "build_world"]

DISTRIBUTION = "video-world-api"


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """What a build did. ``changed`` is False where the world was there already; ``seconds`` is how long it took."""

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
        existing = _existing(folder, force=force)
        if existing is not None and not force:
            _refuse_other(existing, recipe.profile, source_hash)
            if {stage.name: stage.key for stage in existing.stages} == keys:
                _remember_source(folder, video)
                return _report(existing, changed=False, shelf=None, seconds=clock.monotonic() - started)
        shelf = Shelf(folder, source, keys, stages, reuse=not force)
        decode = DecodePass(source=source)
        run_pass(stages, decode, shelf, progress)
        run_on_rows(stages, decode.duration, shelf, progress)
        manifest = _manifest(
            folder, name, recipe.profile, decode, shelf.files(clip_count(decode.duration)) + _committed(existing, stages, source_hash),
            stages=_stage_facts(stages, keys), source_hash=source_hash, built_at=clock.now(),
        )  # fmt: skip
        write_manifest(folder, manifest)
        _remember_source(folder, video)
        _sweep(folder, manifest)
    return _report(manifest, changed=True, shelf=shelf, seconds=clock.monotonic() - started)


def _existing(folder: Path, *, force: bool) -> Manifest | None:
    """The world that is there. One that cannot be read is left alone unless it may be replaced."""
    try:
        return read_manifest(folder)
    except StoreFault as fault:
        if fault.code == "no_such_world" or force:
            return None
        raise


def _refuse_other(existing: Manifest, profile: str, source_hash: str) -> None:
    if existing.source.sha256 != source_hash:
        other = f"made from another file ({existing.source.file_name})"
    elif existing.profile != profile:
        other = f"made with the profile {existing.profile!r}"
    else:
        return
    raise StoreFault(
        "world_exists",
        f"there is already a world {existing.video_id!r}, {other}",
        hint="replace it with --force, or build under another --id",
    )


def _manifest(
    folder: Path,
    video_id: str,
    profile: str,
    decode: DecodePass,
    files: list[FileEntry],
    *,
    stages: list[StageFacts],
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
            for loss in decode.losses()
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


def _committed(existing: Manifest | None, stages: list[Stage], source_hash: str) -> list[FileEntry]:
    """What sessions committed to the old world of the same video goes over into the new one."""
    if existing is None or existing.source.sha256 != source_hash:
        return []
    built = {table for stage in stages for table in stage.spec.tables}
    built |= {table for stage in existing.stages for table in stage.tables}
    return [entry for entry in existing.files if entry.table not in built]


def _images(folder: Path, files: list[FileEntry]) -> list[ImageEntry]:
    rows = read_table(folder, "key_frames", [entry for entry in files if entry.table == "key_frames"])
    paths = sorted(set(rows.column("image").to_pylist()))
    return [
        ImageEntry(path=path, sha256=hash_file(folder / path), bytes=(folder / path).stat().st_size) for path in paths
    ]


def _remember_source(folder: Path, video: Path) -> None:
    """Note where this machine keeps the video; no part of the world."""
    write_atomically(folder / "local.json", json.dumps({"source_path": str(video.resolve())}).encode())


def _sweep(folder: Path, manifest: Manifest) -> None:
    """Take away rows and images of the world that was replaced."""
    wanted = {entry.path for entry in manifest.files} | {entry.path for entry in manifest.images} | {MANIFEST}
    for part in (folder / ROWS, folder / IMAGES):
        for path in sorted(part.rglob("*")) if part.is_dir() else []:
            if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
                path.unlink(missing_ok=True)


def _project_version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def _report(manifest: Manifest, *, changed: bool, shelf: Shelf | None, seconds: float) -> BuildReport:
    return BuildReport(
        video_id=manifest.video_id,
        changed=changed,
        profile=manifest.profile,
        duration=manifest.video.duration,
        world_hash=manifest.world_hash,
        losses=tuple(manifest.losses),
        clips_made=shelf.written if shelf is not None else 0,
        clips_reused=shelf.reused if shelf is not None else 0,
        seconds=seconds,
    )

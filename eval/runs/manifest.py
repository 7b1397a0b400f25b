"""The manifest of a run: its cells, datasets, libraries and worlds, and which code and endpoint produced its samples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from eval.runs.cells import Cell
from eval.runs.configuration import Configuration, ConfigurationDocument, read_configuration
from eval.runs.files import SCHEMA_VERSION, RunFolder, cannot_read, check_version, damaged
from world_api.chat.rule_based import RULE_BASED
from world_api.chat.transport import Endpoint
from world_api.chat.usage import Price
from world_api.core.canonical import content_hash, parse_json
from world_api.core.faults import EvalFault
from world_api.world.files import open_regular, write_atomically

#: Cells name folders, also those of a run from elsewhere.
_CELL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,400}")
_MAX_BYTES = 256 * 2**20
#: In what two stretches may differ, and the words for it.
_CHANGES = {
    "loop": "the code that runs episodes",
    "git": "the commit",
    "versions": "a version",
    "endpoint": "the endpoint",
    "wire": "the wire",
    "cache": "the request cache",
    "prices": "the price",
}


@dataclass(frozen=True, kw_only=True)
class DatasetRecord:
    """What a dataset was: its hash, the protocol it fixes, how many questions of it are asked, and which videos were not there.

    ``picked`` is a hash over the questions that are asked; ``split``, ``limit`` and ``domains`` say how they were picked.
    ``missing_questions`` were picked and are not asked, since their videos are missing; ``left_out`` are entries of the dataset's
    own file that cannot be asked at all, by reason.
    """

    hash: str
    picked: str = ""
    split: str | None = None
    limit: int | None = None
    domains: tuple[str, ...] | None = None
    protocol: Mapping[str, Any] = field(default_factory=dict)
    items: int = 0
    missing: tuple[str, ...] = ()
    missing_hash: str = ""
    missing_questions: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LibraryRecord:
    """A tool library of the run. ``of`` names the library of which it is an arm; ``made`` says that the run made it."""

    hash: str
    domain: str = ""
    arm: str | None = None
    of: str | None = None
    seed: int | None = None
    made: bool = False


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Samples that were asked by one code on one endpoint: those of ``samples.jsonl`` after the ``first`` so many, until the next.

    Lines that only tell a cost are not counted. ``planned`` is how many samples the run was to have then; ``endpoint`` has no
    credentials, and ``prices`` is a hash.
    """

    first: int
    planned: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    git: str | None = None
    loop: str = ""
    endpoint: str | None = None
    wire: str | None = None
    cache: bool = False
    prices: str | None = None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A whole manifest. ``worlds`` are hashes by video and by how the world was made.

    ``versions``, ``git`` and ``loop`` are those that the run was begun with; ``stretches`` tell those of all its samples.
    """

    versions: Mapping[str, str]
    model: str
    rule_based: bool
    name: str = ""
    git: str | None = None
    seeds: tuple[int, ...] = ()
    budgets: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    primary: Mapping[str, str | None] | None = None
    datasets: Mapping[str, DatasetRecord] = field(default_factory=dict)
    libraries: Mapping[str, LibraryRecord] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    worlds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    prompts: str = ""  #: hash over the controller's prompts
    loop: str = ""  #: hash of the code that ran the episodes; noted, and no part of what names a sample
    stretches: tuple[Stretch, ...] = ()
    overrides: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  #: what else of the configuration decides an episode

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "schema_version": SCHEMA_VERSION,
            **asdict(self),
            "cells": [cell.record() for cell in self.cells],
        }


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write it whole, or not at all.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    text = json.dumps(manifest.record(), indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode())


def read_manifest(path: Path) -> Manifest:
    """Read it.

    Raises:
        EvalFault: ``no_such_run``, ``run_not_readable``, ``run_damaged``, ``other_schema_version``.
    """
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_BYTES + 1)
    except PermissionError as error:
        raise cannot_read(path, error) from None
    except OSError as error:
        raise EvalFault(
            "no_such_run",
            f"there is no run in {str(path.parent)[:200]}: {path.name} cannot be read ({error.strerror})",
            hint="give the folder that `videoworld eval run` made; where only this file is gone, "
            "`videoworld eval run CONFIG.yaml --out RUN` writes it again and asks nothing twice",
        ) from None
    if len(content) > _MAX_BYTES:
        raise damaged(f"{path.name} has more than {_MAX_BYTES:,} bytes")
    try:
        record = parse_json(content.decode())
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise damaged(f"{path.name} is not a JSON object")
    check_version(record, path.name)
    record.pop("schema_version")
    try:
        cells = tuple(_cell(item) for item in record.pop("cells", ()))
        manifest = _ADAPTER.validate_python({**record, "cells": ()})
    except (ValidationError, TypeError, AttributeError) as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) if isinstance(error, ValidationError) else "cells"
        raise damaged(f"{path.name} is not whole: {where}") from None
    return replace(manifest, cells=cells)


def _cell(record: Any) -> Cell:
    given = dict(record)
    name = given.pop("id", None)
    cell = _CELL.validate_python(given)
    if name != cell.id or not _CELL_ID.fullmatch(cell.id):
        raise damaged(f"the cell {str(name)[:80]!r} is not the one it says it is")
    return cell


_ADAPTER = TypeAdapter(Manifest)
_CELL = TypeAdapter(Cell)


def configuration_of(folder: RunFolder) -> Configuration:
    """The configuration that a run was begun with, and the overrides that were given beside it.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``; what reading a configuration raises.
    """
    manifest = read_manifest(folder.manifest)
    try:
        base = Path(parse_json(folder.local.read_bytes().decode())["configuration_folder"])
    except (OSError, ValueError, KeyError, TypeError):
        raise EvalFault(
            "run_damaged",
            f"{folder.local.name} does not say where the configuration was",
            hint="give the configuration in place of the folder: `videoworld eval run CONFIG.yaml --out RUN` goes on with the run",
        ) from None
    return read_configuration(folder.config, overrides=manifest.overrides, folder=base)


def stretch_of(
    now: Manifest, document: ConfigurationDocument, *, price: Price | None, environment: Mapping[str, str]
) -> Stretch:
    """The code and endpoint of this process. ``now`` is the manifest as it would be written for a new run."""
    rules = document.model == RULE_BASED
    return Stretch(
        first=0,
        planned=sum(now.datasets[cell.dataset].items for cell in now.cells),
        versions=now.versions,
        git=now.git,
        loop=now.loop,
        endpoint=None if rules else Endpoint.from_environment(environment).address,
        wire=None if rules else document.wire,
        cache=document.cache is not None,
        prices=None if price is None else content_hash(asdict(price)),
    )


def note_stretch(
    folder: RunFolder, manifest: Manifest, now: Stretch, *, noted: int, say: Callable[[str], object]
) -> None:
    """Add a stretch to the manifest if code or endpoint changed, and say so. ``noted`` samples were run before.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    before = manifest.stretches[-1] if manifest.stretches else None
    now = replace(now, first=noted)
    if before is not None and replace(before, first=now.first) == now:
        return
    changed = [
        name for key, name in _CHANGES.items() if before is not None and getattr(before, key) != getattr(now, key)
    ]
    if changed and noted:
        say(
            f"{', '.join(changed)} changed since the run was begun; manifest.json tells which samples were asked by which"
        )
    kept = [one for one in manifest.stretches if one.first < now.first]  # a stretch without samples is dropped
    write_manifest(folder.manifest, replace(manifest, stretches=(*kept, now)))

"""The files of a run's folder and their contents: cells, samples, scores, questions and the manifest.

::

    RUN/config.yaml             the configuration as it was given
    RUN/manifest.json           versions, hashes, cells, datasets, libraries, seeds, model: what the run is
    RUN/items.jsonl             the questions with their answers, one a line
    RUN/samples.jsonl           append-only, one line for each finished sample (a question in a cell)
    RUN/scores.jsonl            one line a sample; rewritten by ``eval score``
    RUN/verdicts.jsonl          verdicts of the judge of open answers; they are not requested again
    RUN/episodes/CELL/          the episodes of a cell: a journal of the controller
    RUN/libraries/NAME/         the libraries: control arms that the run made, and copies of the others
    RUN/report/                 what ``eval report`` wrote
    RUN/local.json              the folder that the configuration's relative paths start from; in no bundle
    RUN/.lock                   held by the processes that run samples
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from eval.datasets.items import Item
from eval.runs.configuration import Configuration, ConfigurationDocument, read_configuration
from eval.scoring.kinds import Score
from world_api.chat.messages import Price
from world_api.chat.rule_based import RULE_BASED
from world_api.chat.transport import Endpoint
from world_api.core.canonical import content_hash, json_line, json_object, parse_json
from world_api.core.faults import EvalFault
from world_api.core.files import append_line, not_writable, open_regular, write_atomically
from world_api.world.storage import BuildCost

SCHEMA_VERSION = 1
MAX_LINE_BYTES = 32 * 2**20  #: more than any line of a run; a file from elsewhere may be one endless line
_MAX_MANIFEST_BYTES = 256 * 2**20
#: Ids of cells are names of folders; a run from elsewhere must not contain others.
_CELL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,400}")

Kind = TypeVar("Kind")


class RunFolder:
    """The paths of a run's files, which the docstring of this module lists."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config.yaml"
        self.manifest = root / "manifest.json"
        self.items = root / "items.jsonl"
        self.samples = root / "samples.jsonl"
        self.scores = root / "scores.jsonl"
        self.verdicts = root / "verdicts.jsonl"
        self.episodes = root / "episodes"
        self.libraries = root / "libraries"
        self.report = root / "report"
        self.local = root / "local.json"
        self.lock = root / ".lock"

    def journal(self, cell_id: str) -> Path:
        """Return the folder of a cell's journal."""
        return self.episodes / cell_id


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A system with its settings, under a name of its own; ``library`` is the name of its tool library in the run."""

    name: str
    system: str
    library: str | None = None
    library_hash: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of arm, dataset, world, budget and seed.

    ``dataset`` and ``model`` are names, ``budget`` is its name in the configuration. ``world`` is how worlds are made:
    ``oracle``, ``classical``, or ``oracle:OPERATION`` for classical worlds with that operation answered from the truth.
    ``configuration`` is the hash of all that determines an episode of this cell, except the question and the world.
    """

    arm: Arm
    dataset: str
    world: str
    budget: str
    seed: int
    model: str
    configuration: str

    @property
    def id(self) -> str:
        """A readable name for folders, made unique by a hash, as the names may contain the separating dots."""
        library = (self.arm.library,) if self.arm.library is not None else ()
        parts = (self.arm.name, *library, self.dataset, self.world.replace(":", "-"), self.budget, f"s{self.seed}")
        return ".".join(parts) + "-" + content_hash(self._identity())[:8]

    @property
    def label(self) -> str:
        """The arm, with its library if it has one: ``hier@hand_A``."""
        return self.arm.name if self.arm.library is None else f"{self.arm.name}@{self.arm.library}"

    def sample_key(self, item_id: str) -> str:
        """Return the key of one question in this cell; a finished sample is never run again.

        The names of the arm and its library are part of it: two arms with equal settings are separate samples, so that
        an arm can be compared with itself.
        """
        return content_hash([*self._identity(), item_id])[:24]

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "id": self.id}

    def _identity(self) -> list[Any]:
        """Return all that distinguishes this cell from any other."""
        arm = self.arm
        return [arm.name, arm.library, self.configuration, self.dataset, self.world, self.budget, self.seed]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A question in one ``cell`` (arm with library, configuration, dataset, world, budget, seed): the unit of running and scoring."""

    cell: Cell
    item: Item

    @property
    def key(self) -> str:
        """The key of this sample in ``samples.jsonl``."""
        return self.cell.sample_key(self.item.id)


@dataclass(frozen=True, kw_only=True)
class SampleCost:
    """The physical cost of a sample: tokens, and USD if the price is known."""

    tokens: int = 0
    money: float | None = None


@dataclass(frozen=True, kw_only=True)
class _RunLine:
    """One line of a file of the run."""

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class SampleLine(_RunLine):
    """A finished sample. ``episode`` is the name in the journal of the cell; if it is None, ``fault`` is the reason.

    ``checksum`` is that of the episode's record; a score with another checksum belongs to another episode. ``failed``:
    the episode has no answer. ``held``: the endpoint, machine or configuration failed; the sample is not finished, and
    the line only records its cost.
    """

    sample: str
    cell: str
    item: str
    episode: str | None
    fault: Mapping[str, str] | None = None
    cost: SampleCost = field(default_factory=SampleCost)
    checksum: str = ""
    failed: bool = False
    held: bool = False


@dataclass(frozen=True, kw_only=True)
class ScoreLine(_RunLine):
    """The score of a sample, and the ``checksum`` of the episode that was scored."""

    sample: str
    correct: bool
    score: Annotated[float, Field(ge=0, le=1)]
    scorer: str
    details: Mapping[str, Any] = field(default_factory=dict)
    checksum: str = ""

    @classmethod
    def of(cls, sample: SampleLine, score: Score) -> ScoreLine:
        """Return the line with the score of a sample."""
        return cls(sample=sample.sample, checksum=sample.checksum, **asdict(score))

    def is_of(self, sample: SampleLine | None) -> bool:
        """Whether it is the score of this sample's present episode."""
        return sample is not None and (self.sample, self.checksum) == (sample.sample, sample.checksum)


@dataclass(frozen=True, kw_only=True)
class ItemLine(_RunLine):
    """A question of a run with the name of its dataset; ``item`` is the question's JSON form in ``eval.datasets``."""

    dataset: str
    item: dict[str, Any]


def read_lines(path: Path, kind: type[Kind]) -> Iterator[Kind]:
    """Yield the validated lines of a file; none if it does not exist. An incomplete last line is ignored.

    Raises EvalFault: ``run_damaged``, with the line; ``run_not_readable``; ``other_schema_version``.
    """
    adapter = TypeAdapter(kind)
    try:
        if not path.exists():
            return
        with open_regular(path) as file:
            for number, data in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), start=1):
                where = f"line {number} of {path.name}"
                if len(data) > MAX_LINE_BYTES:
                    raise damaged(f"{where} has more than {MAX_LINE_BYTES:,} bytes")
                if not data.endswith(b"\n"):
                    return
                _read_object(data, where)
                try:
                    yield adapter.validate_json(data, strict=True)  # strict mode accepts a JSON list as a tuple
                except ValidationError as error:
                    raise damaged(f"{where} is not whole: {_place(error)}") from None
    except OSError as error:
        raise cannot_read(path, error) from None


def _read_object(data: bytes, where: str) -> dict[str, Any]:
    """Parse a JSON object of this schema version. Raises EvalFault: ``run_damaged``, ``other_schema_version``."""
    record = json_object(data)
    if record is None:
        raise damaged(f"{where} is not a JSON object")
    version = record.pop("schema_version", None)
    if version != SCHEMA_VERSION:
        what = f"{where} has schema version {str(version)[:20]!r}; this version reads {SCHEMA_VERSION}"
        raise EvalFault("other_schema_version", what, hint="read it with the version of video-world-api that wrote it")
    return record


def _place(error: ValidationError) -> str:
    return ".".join(map(str, error.errors()[0]["loc"]))


def append_samples(folder: RunFolder, lines: Sequence[SampleLine]) -> None:
    """Append finished samples in one write, synchronised to the disk.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    try:
        if lines:
            append_line(folder.samples, b"\n".join(json_line(line.record()).encode() for line in lines), sync=True)
    except OSError as error:
        raise not_writable(folder.samples, error) from error


def cannot_read(path: Path, error: OSError) -> EvalFault:
    """Return the fault of an unreadable file; a missing permission has its own code, as the content may be intact."""
    what = f"cannot read {path}: {error.strerror}"
    if isinstance(error, PermissionError):
        return EvalFault("run_not_readable", what, hint="see that this user may read it")
    return damaged(what)


def damaged(what: str) -> EvalFault:
    """Return the fault of a file whose content is not valid."""
    return EvalFault("run_damaged", what, hint="restore the file from a copy, or take the line away and run it again")


@dataclass(frozen=True, kw_only=True)
class DatasetRecord:
    """A dataset of the run: its hash, protocol, number of questions that are asked (``items``) and missing videos.

    ``picked`` is a hash over the questions that are asked; ``split``, ``limit`` and ``domains`` are how they were
    picked. ``missing_questions`` were picked and are not asked, since their videos are missing; ``left_out`` are
    entries of the dataset's own file that cannot be asked at all, by reason.
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
    """A tool library of the run. ``of`` names the library of which it is a control arm; ``made``: the run made it."""

    hash: str
    domain: str = ""
    arm: str | None = None
    of: str | None = None
    seed: int | None = None
    made: bool = False


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The code and endpoint that ran the samples in ``samples.jsonl`` from index ``first`` up to that of the next record.

    Lines that only record a cost are not counted. ``planned`` is the number of samples that the run had then;
    ``endpoint`` has no credentials, and ``prices`` is a hash.
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


#: The fields of provenance in messages about differences.
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
class RunManifest:
    """A whole manifest. ``worlds`` maps each video to its hashes by profile (the way the world was made).

    ``building`` maps each video to what building its worlds took, by profile; worlds that do not say it are left out.

    ``versions``, ``git`` and ``loop`` are those at the start of the run; ``provenance`` has those of all its samples.
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
    building: Mapping[str, Mapping[str, BuildCost]] = field(default_factory=dict)
    prompts: str = ""  #: hash over the controller's prompts
    loop: str = ""  #: hash of the code that ran the episodes; not part of what identifies a sample
    provenance: tuple[Provenance, ...] = ()  #: stored as ``stretches``
    overrides: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  #: other settings that determine an episode

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        fields = asdict(self)
        fields["stretches"] = fields.pop("provenance")
        fields["building"] = {
            video: {profile: cost.model_dump() for profile, cost in costs.items()}
            for video, costs in self.building.items()
        }
        return {"schema_version": SCHEMA_VERSION, **fields, "cells": [cell.record() for cell in self.cells]}


_MANIFEST = TypeAdapter(RunManifest)


def write_manifest(path: Path, manifest: RunManifest) -> None:
    """Write a manifest atomically. Raises StoreFault: ``store_not_writable``, ``disk_full``."""
    text = json.dumps(manifest.record(), indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode())


def read_manifest(path: Path) -> RunManifest:
    """Read a manifest.

    Raises EvalFault: ``no_such_run``, ``run_not_readable``, ``run_damaged``, ``other_schema_version``.
    """
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_MANIFEST_BYTES + 1)
    except PermissionError as error:
        raise cannot_read(path, error) from None
    except OSError as error:
        what = f"there is no run in {str(path.parent)[:200]}: {path.name} cannot be read ({error.strerror})"
        hint = (
            "give the folder that `videoworld eval run` made; where only this file is gone, "
            "`videoworld eval run CONFIG.yaml --out RUN` writes it again and asks nothing twice"
        )
        raise EvalFault("no_such_run", what, hint=hint) from None
    if len(content) > _MAX_MANIFEST_BYTES:
        raise damaged(f"{path.name} has more than {_MAX_MANIFEST_BYTES:,} bytes")
    record = _read_object(content, path.name)
    try:
        names = [item.pop("id", None) for item in record.get("cells", ())]
        record["provenance"] = record.pop("stretches", ())
        manifest = _MANIFEST.validate_python(record)
    except (ValidationError, TypeError, AttributeError) as error:
        where = _place(error) if isinstance(error, ValidationError) else "cells"
        raise damaged(f"{path.name} is not whole: {where}") from None
    for name, cell in zip(names, manifest.cells, strict=True):
        if name != cell.id or not _CELL_ID.fullmatch(cell.id):
            raise damaged(f"the cell {str(name)[:80]!r} is not the one it says it is")
    return manifest


def configuration_of(folder: RunFolder) -> Configuration:
    """Return the configuration of a run, with the overrides that were given with it.

    Raises EvalFault: ``no_such_run``, ``run_damaged``; the faults of reading a configuration.
    """
    manifest = read_manifest(folder.manifest)
    try:
        base = Path(parse_json(folder.local.read_bytes().decode())["configuration_folder"])
    except (OSError, ValueError, KeyError, TypeError):
        what = f"{folder.local.name} does not say where the configuration was"
        hint = "give the configuration in place of the folder: `videoworld eval run CONFIG.yaml --out RUN` continues the run"
        raise EvalFault("run_damaged", what, hint=hint) from None
    return read_configuration(folder.config, overrides=manifest.overrides, folder=base)


def provenance_of(
    now: RunManifest, document: ConfigurationDocument, *, price: Price | None, environment: Mapping[str, str]
) -> Provenance:
    """Return the code and endpoint of this process; ``now`` is the manifest that a new run would get."""
    rules = document.model == RULE_BASED
    return Provenance(
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


def note_provenance(
    folder: RunFolder, manifest: RunManifest, now: Provenance, *, finished: int, say: Callable[[str], object]
) -> None:
    """Add provenance to the manifest if it changed since the last record; ``finished`` counts the samples run so far.

    A message through ``say`` names what changed, if there are finished samples.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    before = manifest.provenance[-1] if manifest.provenance else None
    now = replace(now, first=finished)
    if before is not None and replace(before, first=finished) == now:
        return
    changed = [name for key, name in _CHANGES.items() if before and getattr(before, key) != getattr(now, key)]
    if changed and finished:
        names = ", ".join(changed)
        say(f"{names} changed since the run was begun; manifest.json lists which samples were asked by which")
    kept = [one for one in manifest.provenance if one.first < finished]  # one without samples is dropped
    write_manifest(folder.manifest, replace(manifest, provenance=(*kept, now)))

"""The files of a run's folder: where each is, and the lines of those that hold one JSON object a line.

::

    RUN/config.yaml             the configuration as it was given
    RUN/manifest.json           versions, hashes, cells, datasets, libraries, seeds, model: what the run is
    RUN/items.jsonl             the questions with their answers, one a line
    RUN/samples.jsonl           append-only, one line for each finished sample (a question in a cell)
    RUN/scores.jsonl            one line a sample; rewritten by ``eval score``
    RUN/verdicts.jsonl          verdicts of the judge of open answers; what it holds is not asked again
    RUN/episodes/CELL/          the episodes of a cell: a journal of the controller
    RUN/libraries/NAME/         the libraries: control arms that the run made, and copies of the others
    RUN/report/                 what ``eval report`` wrote
    RUN/local.json              the folder that the configuration's relative paths start from; in no bundle
    RUN/.lock                   held by the processes that run samples
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from eval.scoring.score import Score
from world_api.core.canonical import json_line, parse_json
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.core.files import append_line, not_writable, open_regular

SCHEMA_VERSION = 1


class RunFolder:
    """The paths of a run's files, as the docstring of this module lists them."""

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
        """The journal of a cell."""
        return self.episodes / cell_id


Kind = TypeVar("Kind")
MAX_LINE_BYTES = 32 * 2**20  #: more than any question, score or sample; a file of others may be one endless line


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a sample really cost, so that a run that goes on knows what was spent: tokens, and USD where a price is known."""

    tokens: int = 0
    money: float | None = None


@dataclass(frozen=True, kw_only=True)
class SampleLine:
    """A finished sample. ``episode`` is its name in the journal of the cell; without one, ``fault`` says why there is none.

    ``checksum`` is that of the episode's record, so that a score is told from one of another episode. ``failed``: it came to
    no answer. ``held``: the set-up failed, so that the sample is not finished and only its cost is told.
    """

    sample: str
    cell: str
    item: str
    episode: str | None
    fault: Mapping[str, str] | None = None
    cost: Cost = field(default_factory=Cost)
    checksum: str = ""
    failed: bool = False
    held: bool = False

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class ScoreLine:
    """The score of a sample, and the ``checksum`` of the episode that was scored: one that is asked again has none yet."""

    sample: str
    correct: bool
    score: Annotated[float, Field(ge=0, le=1)]
    scorer: str
    details: Mapping[str, Any] = field(default_factory=dict)
    checksum: str = ""

    @classmethod
    def of(cls, sample: SampleLine, score: Score) -> ScoreLine:
        """The line of a score."""
        return cls(
            sample=sample.sample,
            correct=score.correct,
            score=score.score,
            scorer=score.scorer,
            details=dict(score.details),
            checksum=sample.checksum,
        )

    def is_of(self, sample: SampleLine | None) -> bool:
        """Whether it is the score of this sample's episode, and of no other that the sample had once."""
        return sample is not None and (self.sample, self.checksum) == (sample.sample, sample.checksum)

    def as_score(self) -> Score:
        """What a scorer said."""
        return Score(correct=self.correct, score=self.score, scorer=self.scorer, details=self.details)

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class ItemLine:
    """A question of a run, with the dataset it is of; ``item`` as ``eval.datasets`` writes one."""

    dataset: str
    item: dict[str, Any]

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


class LineFile(Generic[Kind]):
    """A file of lines of one kind, strictly read. A last line without its end was never one."""

    def __init__(self, path: Path, kind: type[Kind]) -> None:
        self._path = path
        self._adapter: TypeAdapter[Kind] = TypeAdapter(kind)

    def __iter__(self) -> Iterator[Kind]:
        """The lines; of a file that is not there, none.

        Raises:
            EvalFault: ``run_damaged``, with the line; ``run_not_readable``; ``other_schema_version``.
        """
        try:
            if not self._path.exists():
                return
            with open_regular(self._path) as file:
                number = 0
                while data := file.readline(MAX_LINE_BYTES + 1):
                    number += 1
                    if len(data) > MAX_LINE_BYTES:
                        raise damaged(f"line {number} of {self._path.name} has more than {MAX_LINE_BYTES:,} bytes")
                    if data.endswith(b"\n"):
                        yield self._read(data, number)
        except OSError as error:
            raise cannot_read(self._path, error) from None

    def _read(self, data: bytes, number: int) -> Kind:
        try:
            record = parse_json(data.decode())
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise damaged(f"line {number} of {self._path.name} is not a JSON object")
        check_version(record, f"line {number} of {self._path.name}")
        try:
            return self._adapter.validate_json(data, strict=True)  # only of JSON is a list strictly a tuple
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise damaged(f"line {number} of {self._path.name} is not whole: {where}") from None


def append_samples(folder: RunFolder, lines: Sequence[SampleLine]) -> None:
    """Append finished samples, in one write that survives a power cut.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    if not lines:
        return
    try:
        append_line(folder.samples, b"\n".join(json_line(line.record()).encode() for line in lines), sync=True)
    except OSError as error:
        raise not_writable(folder.samples, error) from error


def check_version(record: Mapping[str, Any], where: str) -> None:
    """Refuse what another version wrote.

    Raises:
        EvalFault: ``other_schema_version``.
    """
    version = record.get("schema_version")
    if version != SCHEMA_VERSION:
        raise EvalFault(
            "other_schema_version",
            f"{where} has schema version {str(version)[:20]!r}; this version reads {SCHEMA_VERSION}",
            hint="read it with the version of video-world-api that wrote it",
        )


def fault_record(fault: VideoWorldError) -> dict[str, str]:
    """What a line keeps of a fault."""
    return {"code": fault.code, "message": fault.message, "hint": fault.hint}


def cannot_read(path: Path, error: OSError) -> EvalFault:
    """Why a file of a run cannot be read; one that may not be is a matter of the set-up, and says nothing of what is in it."""
    what = f"cannot read {path}: {error.strerror}"
    if isinstance(error, PermissionError):
        return EvalFault("run_not_readable", what, hint="see that this user may read it")
    return damaged(what)


def damaged(what: str) -> EvalFault:
    """Something of a run that is not what was written."""
    return EvalFault("run_damaged", what, hint="restore the file from a copy, or take the line away and run it again")

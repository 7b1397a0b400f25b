"""One row per sample, from which tables, tests and charts are made; and the facts on the libraries of a run.

Each journal is read once; only figures of its episodes are kept. *Calls* are those that the model made and that ran;
calls that a system makes itself before the first round, and the submission of the answer, do not count. *Malformed*
counts unusable replies and calls, except calls that were well formed and only repeated. *Empty* counts calls that ran
and found nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from controller.answers import SUBMIT_ANSWER
from controller.episode import PARTS, Account, CallRecord, Episode, accounts_of, total
from controller.episode_tools import CALL_OPERATION, DESCRIBE_OPERATION, JudgedItems, exposure_named
from controller.records.journal import Journal, JournalEntry
from controller.systems.tool_systems import COMPOSE
from eval.datasets.items import Item
from eval.runs.records import Cell, LibraryRecord, SampleLine
from eval.runs.stored_run import Run, refuse_unreadable
from eval.scoring.kinds import Score, evidence_iou
from eval.scoring.scorers import Stance, stance_of
from tool_induction.library import MANIFEST_FILE, TOOLS_FILE, find_library, read_json
from tool_induction.runtime.calls import listed_under
from world_api.chat.messages import READ_MORE
from world_api.chat.rule_based import RULE_BASED
from world_api.core.canonical import content_hash, is_finite_number
from world_api.core.faults import EpisodeFault, EvalFault, VideoWorldError
from world_api.operations import EVERY_OPERATION, WITHOUT
from world_api.world.storage import BuildCost


@dataclass(frozen=True, kw_only=True)
class LibraryFacts:
    """A library as its manifest describes it.

    ``tools`` maps the names of its tools, in the library's order, to the hashes of their documents. ``of`` is the hash
    of the library that it is derived from (as a control arm or by editing), ``dropped`` the tools that the edit
    removed; ``lineage`` are the hashes of all libraries that it was edited from, oldest first. ``why`` is the reason if
    nothing more is known.
    """

    name: str
    hash: str | None
    domain: str | None = None
    arm: str | None = None
    of: str | None = None
    lineage: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    induction: Mapping[str, Any] = field(default_factory=dict)
    origin: str | None = None
    why: str = ""

    @property
    def left_out(self) -> str | None:
        """The one tool that was removed from the library ``of``, if this is the only difference; else None."""
        return self.dropped[0] if len(self.dropped) == 1 and not self.changed and self.of is not None else None

    @property
    def is_induced(self) -> bool:
        """Whether its tools come from an induction or a selection from one; false for placebo and random libraries."""
        return bool(self.induction) and self.arm not in ("placebo", "random")

    def figure(self, part: str, name: str) -> float | None:
        """Return the number ``name`` from ``part`` (``cost`` or ``yields``) of its induction's record; None without one."""
        value = _object(self.induction.get(part)).get(name) if self.is_induced else None
        return float(value) if is_finite_number(value) else None

    @property
    def tokens(self) -> float | None:
        """Tokens that its induction used; None if unknown."""
        parts = [self.figure("cost", name) for name in ("prompt_tokens", "completion_tokens")]
        known = [part for part in parts if part is not None]
        return sum(known) if known else None


def library_facts(name: str, hash_: str | None, *, made_by_run: Path, record: LibraryRecord | None) -> LibraryFacts:
    """Return the facts on the library of this name and hash (None: any) in the folder ``made_by_run``, or installed.

    ``record`` is the entry in the run's manifest, the only source if the library itself no longer exists.
    """
    folders: list[Traversable] = [made_by_run / Path(name).name]
    with contextlib.suppress(VideoWorldError):  # not installed: only the run's manifest is left
        folders.append(find_library(name))
    for folder in folders:
        with contextlib.suppress(VideoWorldError):
            manifest, document = (read_json(folder, file) for file in (MANIFEST_FILE, TOOLS_FILE))
            known = isinstance(manifest, dict) and isinstance(document, dict)
            if known and hash_ in (None, content_hash(document)):
                return _facts(name, manifest, document)
    domain, arm = (_text(record.domain), record.arm) if record is not None else (None, None)
    return LibraryFacts(name=name, hash=hash_, domain=domain, arm=arm, why="the library is not there any more")


def _facts(name: str, manifest: Mapping[str, Any], document: Mapping[str, Any]) -> LibraryFacts:
    changes, lineage = _object(manifest.get("changes")), _list(manifest.get("lineage"))
    edited = manifest.get("origin") == "edited" and lineage
    return LibraryFacts(
        name=name,
        hash=content_hash(document),
        domain=_text(manifest.get("domain")),
        arm=_text(manifest.get("arm")),
        of=_hash_of(lineage[-1] if edited else manifest.get("of")),
        lineage=tuple(found for item in lineage if (found := _hash_of(item)) is not None),
        tools={
            str(tool.get("tool_name")): content_hash(tool)
            for tool in _list(document.get("tools"))
            if isinstance(tool, dict)
        },
        dropped=tuple(map(str, _list(changes.get("dropped")))),
        changed=tuple(map(str, _list(changes.get("changed")) + _list(changes.get("added")))),
        induction=_object(manifest.get("induction")),
        origin=_text(manifest.get("origin")),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _hash_of(value: Any) -> str | None:
    """Return the content hash from a manifest's reference to another library; None if it has none."""
    named = _object(value)
    return _text(named.get("content_hash")) or _text(named.get("hash")) or _text(value)


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """The calls of one tool in an episode: a library's tool by name and hash, or an operation (``hash`` None)."""

    name: str
    hash: str | None
    calls: int
    failed: int
    empty: int
    inner_calls: int

    @property
    def found(self) -> int:
        """Number of calls that neither failed nor returned an empty result."""
        return self.calls - self.failed - self.empty


@dataclass(frozen=True, kw_only=True, order=True)
class Setting:
    """The dataset, kind of world and budget; arms are compared within one setting."""

    dataset: str
    world: str
    budget: str


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """A sample: its place in the design, its outcome and its cost.

    ``library_domain`` and ``library_arm`` come from the library's manifest (``library_arm`` None: the library as it was
    frozen), ``score`` and ``details`` from the scorer. A sample without an episode has its fault's code as ``reason``,
    counts as wrong, and has no cost. ``spend`` holds ``logical`` and ``physical``, each with ``controller``,
    ``perception``, ``judge`` and ``total``. ``plumbing``: the rule-based model answered, so the figures only test the
    program. ``settings`` are those of the episode's task (without an episode those of the arm), ``world_hash`` is of
    the world used, ``offered`` are the library's tools that the model could call, ``value`` is the answer in the type
    of the question. ``gold`` and ``said`` are what question and answer say of what is asked about (``STANCES``), if the
    question may abstain. ``gone``: the episode is deleted or damaged.
    """

    sample: str
    cell: str
    arm: str  #: with its library, if it has one: ``hier@hand_A``
    arm_name: str  #: as in the configuration
    system: str
    library: str | None
    library_hash: str | None
    library_domain: str | None
    library_arm: str | None
    dataset: str
    world: str
    budget: str
    seed: int
    model: str
    item: str
    video: str
    kind: str
    domain: str | None
    content: str | None
    template: str | None
    episode: str | None  #: its name in the journal of the cell
    correct: bool
    score: float
    outcome: str
    reason: str | None
    details: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 0
    calls: int = 0  #: made by the controller
    inner_calls: int = 0  #: atomic calls inside tools
    first_request: int | None = None  #: tokens of the first request, declarations included; None without an episode
    malformed: int = 0
    empty: int = 0  #: results in which nothing was found
    evidence_iou: float | None = None
    seconds: float | None = None
    spend: Mapping[str, Mapping[str, Account]] = field(default_factory=dict)
    tools: tuple[ToolUse, ...] = ()
    plumbing: bool = False
    scorer: str = ""
    value: Any = None
    gold: Stance | None = None
    said: Stance | None = None
    offered: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    world_hash: str | None = None
    gone: bool = False

    @property
    def setting(self) -> Setting:
        """The dataset, kind of world and budget of the sample; arms are compared over samples that share these."""
        return Setting(dataset=self.dataset, world=self.world, budget=self.budget)

    @property
    def has_real_library(self) -> bool:
        """Whether the arm has a library that is meant to help: no placebo and no random tools."""
        return self.library is not None and self.library_arm not in ("placebo", "random")

    @property
    def exposure(self) -> str:
        """What the sample's system could call: ``all`` (operations and tools), ``tools``, ``tools-first`` or ``on-demand``.

        With ``tools`` it could call only the library's tools. With ``tools-first`` operations could not be called until a tool
        found nothing or failed, or a number of tools had run. A system without this option has ``all``.
        """
        return str(exposure_named(self.settings.get("exposure", "all")))

    @property
    def without(self) -> tuple[str, ...]:
        """The categories of operations that were left out, for all arms alike."""
        groups = self.settings.get("groups", ())
        return tuple(name.removeprefix(WITHOUT) for name in groups if str(name).startswith(WITHOUT))

    def spent(self, way: str = "logical", part: str = "total") -> Account | None:
        """Return the amounts spent, ``logical`` or ``physical``, by one part or in total; None without an episode."""
        return self.spend.get(way, {}).get(part)


_WELL_FORMED = frozenset({"asked_before"})
#: Tools of a system that are neither operations nor tools of a library.
_OWN = frozenset({SUBMIT_ANSWER, READ_MORE, JudgedItems.name, COMPOSE, DESCRIBE_OPERATION, CALL_OPERATION})
#: The key of the text, for operations that return no list.
_TEXT_RESULTS = {"describe_segment": "caption", "query_entity_state": "answer"}


def found_nothing(call: CallRecord) -> bool:
    """Whether a call ran without a fault and its result is empty."""
    if call.failed:
        return False
    status = call.result.get("status")
    if isinstance(status, str):  # only results of tools have a status
        return status == "empty"
    if call.tool not in EVERY_OPERATION:
        return False
    # An operation without such a key always returns something.
    return call.result.get(_TEXT_RESULTS.get(call.tool) or listed_under(call.tool) or "") in ([], "")


def _uses(made: Sequence[CallRecord], hashes: Mapping[str, str]) -> tuple[ToolUse, ...]:
    calls: dict[str, list[CallRecord]] = {}
    for call in made:
        calls.setdefault(call.tool, []).append(call)
    return tuple(
        ToolUse(
            name=name,
            hash=hashes.get(name),
            calls=len(own),
            failed=sum(call.failed for call in own),
            empty=sum(found_nothing(call) for call in own),
            inner_calls=sum(len(call.inner_calls) for call in own),
        )
        for name, own in sorted(calls.items())
    )


def _offered(episode: Episode) -> tuple[str, ...]:
    """Return the names of the library's tools that the model could call."""
    names = (_object(tool.get("function")).get("name") for tool in episode.tools)
    return tuple(name for name in names if isinstance(name, str) and name not in _OWN and name not in EVERY_OPERATION)


NOT_FINISHED, NOT_SCORED, NO_ANSWER = "not run yet", "not scored", "no reference answer"
MISSING, UNUSABLE = "questions of missing videos", "entries of datasets that cannot be asked"

_NO_SCORE = Score(correct=False, score=0.0, scorer="none/1", details={"reason": NO_ANSWER})


@dataclass(frozen=True, kw_only=True)
class RunRows:
    """The rows of a run, the number of samples left out by reason, and the facts on its libraries by name.

    ``unknown`` are the samples of questions without a known answer: they are listed, but count in no figure. ``building``
    is what building the worlds took, by video and profile.
    """

    rows: tuple[SampleRow, ...]
    unknown: tuple[SampleRow, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    libraries: Mapping[str, LibraryFacts] = field(default_factory=dict)
    building: Mapping[str, Mapping[str, BuildCost]] = field(default_factory=dict)


def read_rows(run: Run) -> RunRows:
    """Return the rows of a run: those of scored samples, and apart from them those without a known answer.

    Also the numbers of samples that are left out, by reason, and the facts on the libraries.

    Raises:
        EvalFault: ``not_scored``: there are samples with a known answer, and none has a score.
    """
    answered = [line for line in run.samples if run.has_answer(line)]
    scored = {line.sample for line in answered if line.sample in run.scores}
    if answered and not scored:
        raise EvalFault("not_scored", "no sample of the run is scored", hint="run `videoworld eval score RUN` first")
    libraries = libraries_of(run)
    found: list[SampleRow] = []
    for name, lines in run.of_cell.items():
        wanted = [line for line in lines if line.sample in run.scores or not run.has_answer(line)]
        found += _rows_of_cell(run, run.cells[name], wanted, libraries)
    records = run.manifest.datasets.values()
    left_out = {
        NOT_FINISHED: max(0, run.planned - len(run.samples)),
        NOT_SCORED: len(answered) - len(scored),
        NO_ANSWER: len(run.samples) - len(answered),
        MISSING: sum(record.missing_questions for record in records),
        UNUSABLE: sum(sum(record.left_out.values()) for record in records),
    }
    return RunRows(
        rows=tuple(row for row in found if row.sample in scored),
        unknown=tuple(row for row in found if row.sample not in scored),
        left_out=left_out,
        libraries=libraries,
        building=run.manifest.building,
    )


def libraries_of(run: Run) -> dict[str, LibraryFacts]:
    """Return the facts on the libraries of the run's arms, by the names that the arms use."""
    hashes: dict[str, str | None] = {}
    for cell in run.cells.values():
        if cell.arm.library is not None:
            hashes.setdefault(cell.arm.library, cell.arm.library_hash)
    records, folder = run.manifest.libraries, run.folder.libraries
    return {
        name: library_facts(name, hash_, made_by_run=folder, record=records.get(name)) for name, hash_ in hashes.items()
    }


def _rows_of_cell(
    run: Run, cell: Cell, lines: Sequence[SampleLine], libraries: Mapping[str, LibraryFacts]
) -> Iterator[SampleRow]:
    library = libraries.get(cell.arm.library or "")
    wanted = {line.episode: run.item(line) for line in lines if line.episode is not None}
    seen, lost = _episodes(run.journal(cell.id), wanted, library) if wanted else ({}, {})
    for line in lines:
        fields = seen.get(line.episode or "")
        if fields is None:
            reason = line.fault["code"] if line.fault is not None else "no_episode"
            fields = {
                "outcome": "failed",
                "reason": reason if line.episode is None else lost.get(line.episode, "unknown_episode"),
                "gone": line.episode is not None,
                "model": cell.model,
                "settings": cell.arm.settings,
            }
        yield _row(run, cell, line, fields, library)


def _episodes(
    journal: Journal, wanted: Mapping[str, Item], library: LibraryFacts | None
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return row fields by episode name, and fault codes of unreadable episodes; ``wanted``: items by episode name."""
    hashes = library.tools if library is not None else {}
    seen: dict[str, dict[str, Any]] = {}
    lost: dict[str, str] = {}
    try:
        for found in journal.scan():
            if found.name in wanted:
                if isinstance(found, JournalEntry):
                    seen[found.name] = _fields_of(found.episode, wanted[found.name], hashes)
                else:
                    lost[found.name] = found.fault.code
    except EpisodeFault as fault:
        refuse_unreadable(fault)
        lost = dict.fromkeys(wanted.keys() - seen.keys(), fault.code) | lost
    return seen, lost


def _fields_of(episode: Episode, item: Item, hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return the figures of an episode as fields of a row; ``hashes`` are its library's document hashes, by tool."""
    made = [call for call in episode.tool_calls if call.round > 0]
    accounts = accounts_of(episode)
    ways = {"logical": accounts.logical, "physical": accounts.physical}
    return {
        "rounds": len(episode.rounds),
        "calls": len(made),
        "inner_calls": sum(len(call.inner_calls) for call in made),
        "malformed": sum(number for slip, number in episode.slips.items() if slip not in _WELL_FORMED),
        "empty": sum(found_nothing(call) for call in made),
        "first_request": episode.rounds[0].usage.prompt if episode.rounds else None,
        "seconds": episode.timings.seconds if episode.timings is not None else None,
        "spend": {
            way: {**{str(part): held[part] for part in PARTS}, "total": total(held)} for way, held in ways.items()
        },
        "tools": _uses(made, hashes),
        "offered": _offered(episode),
        "outcome": episode.outcome,
        "reason": episode.reason,
        "value": episode.value,
        "model": episode.model,
        "settings": episode.task.settings,
        "world_hash": episode.task.world_hash,
        "evidence_iou": evidence_iou(episode.spans, item.spans),
    }


def _row(run: Run, cell: Cell, line: SampleLine, fields: Mapping[str, Any], library: LibraryFacts | None) -> SampleRow:
    item, score = run.item(line), run.scores[line.sample] if run.has_answer(line) else _NO_SCORE
    # Only an episode that can be read and gave an answer may be right, even if the file of scores says otherwise.
    counts = fields["outcome"] != "failed"
    return SampleRow(
        sample=line.sample,
        cell=cell.id,
        arm=cell.label,
        arm_name=cell.arm.name,
        system=cell.arm.system,
        library=library.name if library is not None else None,
        library_hash=cell.arm.library_hash,
        library_domain=library.domain if library is not None else None,
        library_arm=library.arm if library is not None else None,
        dataset=cell.dataset,
        world=cell.world,
        budget=cell.budget,
        seed=cell.seed,
        item=item.id,
        video=item.video_id,
        kind=item.question.kind,
        domain=item.domain,
        content=item.content,
        template=item.template,
        episode=line.episode,
        correct=score.correct and counts,
        score=score.score if counts else 0.0,
        scorer=score.scorer,
        details=score.details,
        gold=stance_of(item, item.answer),
        said=stance_of(item, fields.get("value")) if counts else None,
        plumbing=run.manifest.rule_based or fields["model"] == RULE_BASED,
        **fields,
    )

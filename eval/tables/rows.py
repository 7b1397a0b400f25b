"""One row a sample: everything that tables, tests and charts are made of.

Each journal is read once, and of its episodes only the figures are kept. *Calls* are those that the model made and that ran; what a
system does by itself before the first round, and the submission of the answer, are none. *Malformed* counts the slips of replies and
calls, but for calls that were well formed and only made before. *Empty* counts calls that ran and found nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from controller.accounts import PARTS, Account, accounts_of, total
from controller.answers import SUBMIT_ANSWER
from controller.episode import CallRecord, Episode
from controller.records.journal import Journal, JournalEntry
from controller.toolsets import JudgedItems
from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.files import SampleLine
from eval.runs.reading import Run, refuse_unreadable
from eval.scoring.evidence import evidence_score
from eval.scoring.score import Score
from eval.tables.libraries import LibraryFacts, library_facts
from tool_induction.runtime.calls import listed_under
from world_api.chat.rule_based import RULE_BASED
from world_api.core.canonical import canonical
from world_api.core.faults import EpisodeFault, EvalFault
from world_api.operations import EVERY_OPERATION


@dataclass(frozen=True, kw_only=True)
class Spend:
    """Tokens and money of one episode, counted one way (logical or physical); ``money`` in USD, None where no price is known.

    ``is_least``: the money leaves models out whose price is not known.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    money: float | None = None
    estimated: bool = False
    is_least: bool = False

    @property
    def tokens(self) -> int:
        """Sent and written."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One tool called in an episode: a library's tool by name and hash, or an operation (``hash`` None)."""

    name: str
    hash: str | None
    calls: int
    failed: int
    empty: int
    inner_calls: int

    @property
    def found(self) -> int:
        """Calls that neither failed nor came back empty."""
        return self.calls - self.failed - self.empty


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """A sample: its place in the design, what came out, what it cost.

    ``library_domain`` and ``library_arm`` come from the library's manifest (no arm: the library as it was frozen),
    ``score`` and ``details`` from the scorer. A sample
    without an episode has its fault's code as ``reason``, counts as wrong, and has no cost. ``spend`` holds ``logical`` and
    ``physical``, each with ``controller``, ``perception``, ``judge`` and ``total``. ``plumbing``: the rule-based model answered.
    ``settings`` are those of the episode's task (without an episode those of the arm), ``world_hash`` the world it saw,
    ``offered`` the tools of a library that it was offered, ``value`` what it answered in the type of the question. Rows of one
    cell share such values.
    ``gone``: there was an episode, and it is deleted or damaged.
    """

    sample: str
    cell: str
    arm: str  #: with its library, where it has one: ``hier@hand_A``
    arm_name: str  #: as the configuration has it
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
    malformed: int = 0
    empty: int = 0  #: results in which nothing was found
    evidence_iou: float | None = None
    seconds: float | None = None
    spend: Mapping[str, Mapping[str, Spend]] = field(default_factory=dict)
    tools: tuple[ToolUse, ...] = ()
    plumbing: bool = False
    scorer: str = ""
    value: Any = None
    offered: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    world_hash: str | None = None
    gone: bool = False

    @property
    def exposure(self) -> str:
        """What of a library and the operations the system was shown."""
        return str(self.settings.get("exposure", "all"))

    def spent(self, way: str = "logical", part: str = "total") -> Spend | None:
        """What was spent, one way; None where there is no episode."""
        return self.spend.get(way, {}).get(part)


_WELL_FORMED = frozenset({"asked_before"})
#: what a system may offer that is neither an operation nor a tool of a library
_OWN = frozenset({SUBMIT_ANSWER, JudgedItems.name, "compose_tool"})
#: the one text that an operation without a list is called for
_TOLD = {"describe_segment": "caption", "query_entity_state": "answer"}


def figures_of(episode: Episode, hashes: Mapping[str, str]) -> dict[str, Any]:
    """The figures of an episode as fields of a row; ``hashes`` are those of the documents of its library's tools, by name."""
    made = [call for call in episode.tool_calls if call.round > 0]
    return {
        "rounds": len(episode.rounds),
        "calls": len(made),
        "inner_calls": sum(len(call.inner_calls) for call in made),
        "malformed": sum(number for slip, number in episode.slips.items() if slip not in _WELL_FORMED),
        "empty": sum(found_nothing(call) for call in made),
        "seconds": episode.timings.seconds if episode.timings is not None else None,
        "spend": spend_of(episode),
        "tools": _uses(made, hashes),
        "offered": _offered(episode),
    }


def spend_of(episode: Episode) -> dict[str, dict[str, Spend]]:
    """Tokens and money, logical and physical, by what they went to and in all."""
    accounts = accounts_of(episode)
    return {
        way: {**{part: _spend(held[part]) for part in PARTS}, "total": _spend(total(held))}
        for way, held in (("logical", accounts.logical), ("physical", accounts.physical))
    }


_NOTHING_SPENT = Spend()


def _spend(account: Account) -> Spend:
    if account == Account():
        return _NOTHING_SPENT  # most parts of most episodes: one object for all
    return Spend(
        tokens_in=account.prompt,
        tokens_out=account.completion,
        cached=account.cached,
        money=account.money,
        estimated=account.estimated,
        is_least=account.is_least,
    )


def found_nothing(call: CallRecord) -> bool:
    """Whether a call ran without a fault and came back with nothing."""
    if call.failed:
        return False
    result = call.result
    if isinstance(result.get("status"), str):  # a tool says so itself
        return bool(result["status"] == "empty")
    if call.tool not in EVERY_OPERATION:
        return False
    held = result.get(_holder(call.tool))
    return held in ([], "")


@lru_cache(maxsize=64)
def _holder(operation: str) -> str:
    """Under which key an operation gives what it is called for; ``""`` for one that always gives something."""
    return _TOLD.get(operation) or listed_under(operation) or ""


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
    """The tools of a library that the model was offered."""
    names = (_name_of(tool) for tool in episode.tools)
    return tuple(name for name in names if name is not None and name not in _OWN and name not in EVERY_OPERATION)


def _name_of(tool: Mapping[str, Any]) -> str | None:
    function = tool.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


NOT_FINISHED, NOT_SCORED, NO_ANSWER = "not run yet", "not scored", "no reference answer"
MISSING, UNUSABLE = "questions of missing videos", "entries of datasets that cannot be asked"

_NO_SCORE = Score(correct=False, score=0.0, scorer="none/1", details={"reason": NO_ANSWER})


@dataclass(frozen=True, kw_only=True)
class RunRows:
    """The rows of a run, what is not among them by reason, and what is known of its libraries by name.

    ``unknown`` are the samples of questions whose answer nobody knows: to be looked at, and in no figure.
    """

    rows: tuple[SampleRow, ...]
    unknown: tuple[SampleRow, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    libraries: Mapping[str, LibraryFacts] = field(default_factory=dict)


def rows_of(run: Run) -> list[SampleRow]:
    """One row for each scored sample, in the order of the run's samples.

    Raises:
        EvalFault: ``not_scored``.
    """
    return list(read_rows(run).rows)


def read_rows(run: Run) -> RunRows:
    """The rows of a run, with what is left out of them.

    Raises:
        EvalFault: ``not_scored``: there are samples, and no score of any.
    """
    asked = [line for line in run.samples if run.has_answer(line)]
    scored = [line for line in asked if line.sample in run.scores]
    if asked and not scored:
        raise EvalFault("not_scored", "no sample of the run is scored", hint="run `videoworld eval score RUN` first")
    libraries = libraries_of(run)
    by_cell: dict[str, list[SampleLine]] = {}
    for line in run.samples:
        if line.sample in run.scores or not run.has_answer(line):
            by_cell.setdefault(line.cell, []).append(line)
    found = [row for name, lines in by_cell.items() for row in _rows_of_cell(run, run.cells[name], lines, libraries)]
    scorable = {line.sample for line in scored}
    rows = [row for row in found if row.sample in scorable]
    unknown = [row for row in found if row.sample not in scorable]
    left_out = {
        NOT_FINISHED: max(0, run.planned - len(run.samples)),
        NOT_SCORED: len(asked) - len(scored),
        NO_ANSWER: len(run.samples) - len(asked),
    }
    left_out |= _not_asked(run)
    return RunRows(rows=tuple(rows), unknown=tuple(unknown), left_out=left_out, libraries=libraries)


def _not_asked(run: Run) -> dict[str, int]:
    """What never became a sample: questions, not samples, are counted."""
    records = run.manifest.datasets.values()
    missing = sum(record.missing_questions for record in records)
    return {MISSING: missing, UNUSABLE: sum(sum(record.left_out.values()) for record in records)}


def libraries_of(run: Run) -> dict[str, LibraryFacts]:
    """The libraries that the run's arms were given, by the names their arms have for them."""
    told = run.manifest.libraries
    found: dict[str, LibraryFacts] = {}
    for cell in run.cells.values():
        name = cell.arm.library
        if name is not None and name not in found:
            record = told.get(name)
            found[name] = library_facts(name, cell.arm.library_hash, made_by_run=run.folder.libraries, told=record)
    return found


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
    """Fields of rows from the episodes of a journal, by their names; and the faults of those that cannot be read."""
    hashes = library.tools if library is not None else {}
    seen: dict[str, dict[str, Any]] = {}
    lost: dict[str, str] = {}
    kept: dict[str, Any] = {}
    try:
        for found in journal.scan():
            if found.name in wanted:
                if isinstance(found, JournalEntry):
                    seen[found.name] = _fields_of(found.episode, wanted[found.name], hashes, kept)
                else:
                    lost[found.name] = found.fault.code
    except EpisodeFault as fault:
        refuse_unreadable(fault)
        lost = dict.fromkeys(wanted.keys() - seen.keys(), fault.code) | lost
    return seen, lost


def _fields_of(episode: Episode, item: Item, hashes: Mapping[str, str], kept: dict[str, Any]) -> dict[str, Any]:
    """Settings and hashes of worlds are one object for all episodes that have the same."""
    evidence = evidence_score(episode.spans, item.spans)
    return {
        **figures_of(episode, hashes),
        "outcome": episode.outcome,
        "reason": episode.reason,
        "value": episode.value,
        "model": episode.model,
        "settings": kept.setdefault("settings " + canonical(episode.task.settings), episode.task.settings),
        "world_hash": kept.setdefault(episode.task.world_hash, episode.task.world_hash),
        "evidence_iou": evidence.iou if evidence is not None else None,
    }


def _row(run: Run, cell: Cell, line: SampleLine, fields: Mapping[str, Any], library: LibraryFacts | None) -> SampleRow:
    item, score = run.item(line), run.scores[line.sample] if run.has_answer(line) else _NO_SCORE
    # Only an episode that can be read and gave an answer may be right, whatever the file of scores says.
    counts = fields["outcome"] != "failed"
    return SampleRow(
        sample=line.sample,
        cell=cell.id,
        arm=cell.arm.name if cell.arm.library is None else f"{cell.arm.name}@{cell.arm.library}",
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
        plumbing=run.manifest.rule_based or fields["model"] == RULE_BASED,
        **fields,
    )

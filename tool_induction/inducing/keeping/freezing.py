"""Writing an induction down: the library, the unpruned library beside it, the log, the recording and the report.

All of it is made in the work folder and put in its place by one renaming, so that a library is whole or not there.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tool_induction.compiler.compiling import CompiledTool, compile_document
from tool_induction.documents.schema import tool_schema
from tool_induction.domains import Domain
from tool_induction.inducing.asking.prompting import examples_of
from tool_induction.inducing.asking.requests import Settings
from tool_induction.inducing.keeping.checkpoint import RECORDING, Checkpoint
from tool_induction.inducing.keeping.costing import Spent
from tool_induction.inducing.keeping.emission_log import log_lines
from tool_induction.inducing.keeping.report import report_page
from tool_induction.inducing.rounds import Induction
from tool_induction.libraries.beside import file_hashes
from tool_induction.library import Origin, ToolLibrary, freeze_library, load_library
from world_api.core.canonical import content_hash, json_line
from world_api.core.faults import ToolFault
from world_api.installation import project_version

UNPRUNED, LOG, REPORT = "unpruned", "log.jsonl", "report.md"
_FROZEN = "frozen"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an induction was asked for; a resumed one must be asked the same."""

    domain: Domain
    model: str
    endpoint: str  #: host and port; empty where nobody is asked or a recording answers
    prompt_hash: str
    settings: Settings
    count: int
    repairs: int
    worlds: Mapping[str, str]  #: example worlds: id -> world hash
    document_hash: str  #: of the document that was brought as the first emission; empty where the model wrote it

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "domain": self.domain.name,
            "domain_hash": self.domain.hash,
            "model": self.model,
            "endpoint": self.endpoint,
            "prompt_hash": self.prompt_hash,
            "count": self.count,
            "repairs": self.repairs,
            **self.settings.record(),
            "example_worlds": dict(self.worlds),
            "document_hash": self.document_hash,
        }

    def sent(self, induction: Induction) -> dict[str, Any]:
        """What of it the tools come from: what nobody was asked is left out."""
        record = self.record()
        if not induction.mode_used:  # no request was made
            asked_for = ("endpoint", "prompt_hash", "count", "repairs", *self.settings.record())
            return {key: value for key, value in record.items() if key not in asked_for} | {"model": ""}
        return {key: value for key, value in record.items() if key != "count" or induction.asked}

    def how(self, induction: Induction) -> str:
        """The origin of the library."""
        if induction.asked:
            return "induced"
        return f"brought, mended by {self.model}" if induction.mode_used else "brought"


def freeze_induction(
    induction: Induction, asked: Asked, cost: Spent, *, checkpoint: Checkpoint, date: str
) -> ToolLibrary:
    """Write everything and put it in its place.

    Raises:
        ToolFault: ``nothing_admitted``: log and report are then in the work folder, and no library is frozen;
            ``library_exists``, ``out_not_writable``.
    """
    work, settings = checkpoint.folder, asked.settings
    try:
        log = "".join(json_line(line) + "\n" for line in log_lines(induction)).encode()
        (work / LOG).write_bytes(log)
        (work / REPORT).write_text(_report(induction, asked, cost), encoding="utf-8")
        if not induction.admitted:
            raise ToolFault(
                "nothing_admitted",
                f"none of the {len(induction.draft.slots)} tools is admitted, so no library is frozen",
                hint=f"{work / REPORT} says why; another --seed is another draw",
            )
        made = work / _FROZEN
        if made.exists():
            shutil.rmtree(made)
        name = checkpoint.out.name
        details = _details(induction, asked, cost, log)
        unpruned = _tools(induction, induction.unpruned, settings)
        arm = {"arm": "unpruned", "of": name, "duplicates": _duplicates(induction)}
        origin = Origin(
            how=asked.how(induction), date=date, domain=asked.domain.name, details={"induction": details | arm}
        )
        made.mkdir()
        spare = freeze_library(unpruned, made / UNPRUNED, name=f"{name[:55]}.unpruned", origin=origin)
        beside = {"files": file_hashes(work, (LOG, REPORT, RECORDING))}
        details = details | {"arm": "pruned", "unpruned_hash": spare.hash} | beside
        origin = Origin(how=asked.how(induction), date=date, domain=asked.domain.name, details={"induction": details})
        freeze_library(_tools(induction, induction.admitted, settings), made / "library", name=name, origin=origin)
        for file in (made / "library").iterdir():
            file.replace(made / file.name)
        (made / "library").rmdir()
        for kept in (LOG, REPORT, RECORDING):
            if (work / kept).exists():
                shutil.copyfile(work / kept, made / kept)
        load_library(
            made, groups=settings.groups, allow_judge=settings.allow_judge
        )  # what cannot be loaded is not put in its place
        load_library(made / UNPRUNED, groups=settings.groups, allow_judge=settings.allow_judge)
        if checkpoint.out.exists():
            raise ToolFault("library_exists", f"{checkpoint.out} is there already", hint="choose another --out")
        made.rename(checkpoint.out)
    except OSError as error:
        raise ToolFault(
            "out_not_writable", f"{checkpoint.out} cannot be written: {error.strerror or error}", hint="free some space"
        ) from None
    shutil.rmtree(work, ignore_errors=True)
    return load_library(checkpoint.out, groups=settings.groups, allow_judge=settings.allow_judge)


def _report(induction: Induction, asked: Asked, cost: Spent) -> str:
    # A replay does not know where the recording's model was; its report is the same all the same.
    sent = {key: value for key, value in asked.sent(induction).items() if key != "endpoint"}
    return report_page(induction, sent, cost, asked.domain)


def _details(induction: Induction, asked: Asked, cost: Spent, log: bytes) -> dict[str, Any]:
    domain = asked.domain
    return {
        **asked.sent(induction),
        "examples_used": [item.question for item in examples_of(domain, asked.settings.seed)]
        if induction.asked
        else [],
        "templates_used": [item.id for item in domain.templates("induction")] if induction.asked else [],
        "split": {split.name: list(split.videos) for split in domain.splits},
        "mode_used": induction.mode_used,
        "rounds": [
            {"kind": item.kind, "mode": None if item.answer is None else item.answer.mode, "standings": item.standings}
            for item in induction.rounds
        ],
        "ending": induction.ending,
        "yields": induction.yields(),
        "cost": cost.record(),
        "notes": [note.record() for item in induction.rounds for note in item.notes],
        "log_sha256": hashlib.sha256(log).hexdigest(),
        "compiler": {"version": project_version(), "document_schema": content_hash(tool_schema())},
    }


def _duplicates(induction: Induction) -> dict[str, str]:
    """Which tool is left out of the pruned library for which other one."""
    verdicts = induction.draft.examined.admission.verdicts
    return {item.tool: item.kept for item in verdicts if item.reason == "duplicate"}


def _tools(induction: Induction, names: Sequence[str], settings: Settings) -> Mapping[str, CompiledTool]:
    """The named tools, compiled by themselves: what they call is among them."""
    wanted = set(names)
    values = [
        slot.current.written.value
        for slot in induction.draft.slots
        if slot.current.standing in ("admitted", "duplicate") and slot.current.name in wanted
    ]
    return compile_document({"tools": values}, groups=settings.groups, allow_judge=settings.allow_judge).require()

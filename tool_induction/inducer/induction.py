"""An induction from what was ordered to the frozen library: the model, the worlds, the checkpoint, the rounds, the writing down."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tool_induction.compiler.compiling import CompiledTool, compile_document
from tool_induction.documents.schema import tool_schema
from tool_induction.domains import Domain
from tool_induction.inducer.checkpoint import RECORDING, Checkpoint, check_out
from tool_induction.inducer.drafts import Trying
from tool_induction.inducer.prompt_builder import InducerPrompts, examples_of
from tool_induction.inducer.report import Spent, log_lines, price_of, report_page, spent
from tool_induction.inducer.requests import Asker, Exchanges, ReplayOnly, Settings
from tool_induction.inducer.rounds import MAX_REPAIRS, Induction, Plan, induce
from tool_induction.inducer.trial_worlds import NO_WORLDS, trial_worlds
from tool_induction.language import limits
from tool_induction.library import Origin, ToolLibrary, file_hashes, freeze_library, load_library
from world_api.backends.chat.recording import Exchange, read_exchanges
from world_api.core.canonical import content_hash, json_line
from world_api.core.faults import EpisodeFault, ToolFault
from world_api.core.ports import ChatModel, Clock
from world_api.version import project_version
from world_api.world.files import open_regular


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is wanted. ``document`` stands for the first emission, ``replay`` for the model.

    ``worlds`` are the example worlds of ``store``: by default that of the sample film, and none at all where it is None.
    """

    domain: Domain
    out: Path
    settings: Settings
    model: str | None = None
    count: int = 9
    repairs: int = MAX_REPAIRS
    document: Path | None = None
    replay: Path | None = None
    worlds: tuple[str, ...] | None = ()
    store: Path
    prices: Path | None = None
    timeout: float = 900.0  #: seconds to wait for one reply


@dataclass(frozen=True, kw_only=True)
class Done:
    """The library, how it came about, and what that cost."""

    library: ToolLibrary
    induction: Induction
    cost: Spent


def carry_out(
    order: Order, *, clock: Clock, environment: Mapping[str, str], tell: Callable[[str], None] = lambda _: None
) -> Done:
    """Induce a library and freeze it; what is wrong with the order is said before anybody is asked.

    Raises:
        ToolFault: ``bad_library_name``, ``library_exists``, ``no_model``, ``unreadable_document``,
            ``no_example_world``, ``split_leak``, ``out_not_writable``, ``induction_running``, ``other_induction``,
            ``no_tools``, ``nothing_admitted``.
        StoreFault: an example world cannot be opened.
        BackendFault: ``bad_prices``; the endpoint's.
        EpisodeFault: ``replay_mismatch``; a recording cannot be read.
    """
    check_out(order.out)
    replayed = None if order.replay is None else _exchanges(order.replay)
    chat = _model(order, replayed, clock=clock, environment=environment)
    price = price_of(chat.name, order.prices) if chat is not None else None
    document = None if order.document is None else _read(order.document)
    domain, prompts = order.domain, InducerPrompts(groups=order.settings.groups, allow_judge=order.settings.allow_judge)
    tried_on = (
        NO_WORLDS
        if order.worlds is None
        else trial_worlds(domain, order.worlds, store=order.store, groups=order.settings.groups)
    )
    asked = Asked(
        domain=domain,
        model=chat.name if chat is not None else "",
        endpoint="" if chat is None or replayed is not None else _host(environment),
        prompt_hash=prompts.hash,
        settings=order.settings,
        count=order.count,
        repairs=order.repairs,
        worlds=tried_on.hashes,
        document_hash="" if document is None else hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest(),
    )
    checkpoint = Checkpoint(order.out)
    with checkpoint.held(asked.record()) as recorded:
        if recorded:
            tell(f"going on from {len(recorded)} recorded exchanges in {checkpoint.folder}")
        exchanges = None
        if chat is not None:
            known, keep = (recorded, checkpoint.keep) if replayed is None else (replayed, _nothing)
            exchanges = Exchanges(chat, clock=clock, recorded=known, keep=keep)
        induction = induce(
            Plan(domain=domain, count=order.count, seed=order.settings.seed, repairs=order.repairs),
            prompts=prompts,
            asker=None if exchanges is None else Asker(exchanges, order.settings),
            trying=Trying(
                worlds=tried_on.open,
                entities=domain.entities.examples,
                others=domain.entities.others,
                groups=order.settings.groups,
                allow_judge=order.settings.allow_judge,
            ),
            document=document,
            tell=tell,
        )
        for exchange in (replayed or [])[len(recorded) :]:
            checkpoint.keep(exchange)
        if exchanges is not None and (unused := exchanges.unused()):
            tell(f"{len(unused)} recorded replies fit no request any more; they count in the cost")
        cost = spent([] if exchanges is None else exchanges.paid, price)
        library = freeze_induction(induction, asked, cost, checkpoint=checkpoint, date=clock.now())
    return Done(library=library, induction=induction, cost=cost)


def _nothing(_: Exchange) -> None:
    """Keeps nothing: the exchanges of a replay are put into the work folder once it has come through."""


def _model(
    order: Order, replayed: list[Exchange] | None, *, clock: Clock, environment: Mapping[str, str]
) -> ChatModel | None:
    """The recording, or the model on the configured endpoint; none where a document is brought and nobody is to mend it.

    Raises:
        ToolFault: ``no_model``.
        BackendFault: the endpoint's.
    """
    from world_api.backends.chat.rule_based import RULE_BASED
    from world_api.exposure.models import endpoint_model

    name = order.model
    if replayed is not None:
        return ReplayOnly(name or str(replayed[0].request.get("model")))
    if name is None and order.document is not None:
        return None
    if name is None or name == RULE_BASED:
        raise ToolFault(
            "no_model",
            "no model was named" if name is None else "the rule-based model cannot write tools",
            hint="give --model NAME and set OPENAI_BASE_URL; or bring a document with --document FILE; or see the prompt "
            "with --dry-run",
        )
    return endpoint_model(name, clock=clock, environment=environment, timeout=order.timeout)


def _host(environment: Mapping[str, str]) -> str:
    """Where the model is: host and port."""
    from world_api.backends.chat.endpoint import Endpoint

    configured = environment.get("OPENAI_BASE_URL") or environment.get("OPENAI_API_KEY")
    return Endpoint.from_environment(environment).host if configured else ""


def _exchanges(recording: Path) -> list[Exchange]:
    """The exchanges of a recording, of which there is at least one.

    Raises:
        EpisodeFault: ``recording_missing``, ``recording_damaged``, ``recording_schema``.
    """
    hint = "give the recording.jsonl of a library that was induced"
    found = read_exchanges(recording, hint=hint)
    if not found:
        raise EpisodeFault("recording_damaged", f"{recording.name} holds no exchange", hint=hint)
    return found


def _read(document: Path) -> str:
    """The document that is brought; it may be a whole reply of a chat, prose and all.

    Raises:
        ToolFault: ``unreadable_document``.
    """
    try:
        with open_regular(document) as stream:
            content = stream.read(limits.MAX_DOCUMENT_BYTES + 1)
        if len(content) <= limits.MAX_DOCUMENT_BYTES:
            return content.decode("utf-8-sig")
        reason = f"it has more than {limits.MAX_DOCUMENT_BYTES} bytes"
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8: byte {error.start} cannot be read"
    raise ToolFault("unreadable_document", f"{document.name} cannot be read: {reason}", hint="give a UTF-8 text file")


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

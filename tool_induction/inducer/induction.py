"""An induction from its options to the frozen library: model, example worlds, checkpoint, rounds, and output files.

Everything is written in the checkpoint's folder and moved to its place by one rename, so a library is either complete
or absent.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from tool_induction import limits
from tool_induction.admission import ExampleWorld, facts_of
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.documents import tool_schema
from tool_induction.domains import Domain, load_domain
from tool_induction.inducer.checkpoint import RECORDING, Checkpoint, check_out
from tool_induction.inducer.induction_report import InductionCost, log_lines, price_of, report_page, spent
from tool_induction.inducer.prompt_builder import InducerPrompts, examples_of
from tool_induction.inducer.requests import Requester, Settings
from tool_induction.inducer.rounds import MAX_REPAIRS, Induction, induce
from tool_induction.library import LOG, UNPRUNED, UNREVIEWED, Origin, ToolLibrary, freeze_library, load_library
from tool_induction.runtime.calls import Caller, WorldState
from world_api.chat.recording import Exchange, ReplayChatModel, read_exchanges
from world_api.core.canonical import canonical_json, content_hash, json_line
from world_api.core.execution import SystemClock
from world_api.core.faults import EpisodeFault, StoreFault, ToolFault, VideoWorldError
from world_api.core.files import hash_bytes, open_regular
from world_api.core.ports import ChatModel, Clock
from world_api.installation import project_version
from world_api.session.session import Session

REPORT = "report.md"
_FROZEN = "frozen"
_MOST_TOOLS = 40


@dataclass(frozen=True, kw_only=True)
class InductionOptions:
    """Options of an induction.

    ``document``: a file that replaces the model's first reply; ``replay``: a recording that replaces the model.
    ``worlds``: ids of example worlds in ``store``; empty for that of the sample film, None for no example worlds.
    """

    domain: Domain
    out: Path
    settings: Settings
    model: str | None = None
    count: int = 9
    repairs: int = MAX_REPAIRS
    review: bool = False  #: whether the model is shown, once, a run of each admitted tool with the truth
    document: Path | None = None
    replay: Path | None = None
    worlds: tuple[str, ...] | None = ()
    store: Path
    prices: Path | None = None
    timeout: float = 900.0  #: seconds to wait for one reply


@dataclass(frozen=True, kw_only=True)
class InductionResult:
    """The library, the rounds it comes from, and their cost."""

    library: ToolLibrary
    induction: Induction
    cost: InductionCost


def induce_library(
    domain: str | PathLike[str],
    *,
    out: str | PathLike[str],
    model: str | None = None,
    count: int = 9,
    seed: int = 1,
    mode: Literal["plain", "structured"] = "plain",
    temperature: float | None = None,
    max_tokens: int | None = None,
    repairs: int = MAX_REPAIRS,
    review: bool = False,
    document: str | PathLike[str] | None = None,
    replay: str | PathLike[str] | None = None,
    example_worlds: Collection[str] | None = (),
    store: str | PathLike[str] | None = None,
    prices: str | PathLike[str] | None = None,
    timeout: float = 900.0,
    groups: Collection[str] = (),
    allow_judge: bool = False,
    progress: Callable[[str], None] | None = None,
) -> InductionResult:
    """Have a model write a tool library for a domain, and freeze it in the folder ``out``, as ``videoworld induce`` does.

    If it is interrupted, the same call continues: requests that the model has answered are not sent again. ``domain`` is a
    packaged domain or a YAML file; ``example_worlds`` are ids of worlds in ``store``, empty for that of the sample film and
    None for made worlds alone. ``progress`` gets messages, by default on stderr.

    Raises ToolFault: ``no_such_domain``, ``bad_induction``, and those of ``run_induction``; BackendFault: the endpoint's.
    """
    from world_api.operations import check_groups
    from world_api.options import default_store
    from world_api.terminal import note

    switched_on = check_groups(groups)
    if not (1 <= count <= _MOST_TOOLS and 0 <= repairs <= MAX_REPAIRS):
        what = f"{count} tools in {repairs} repair rounds cannot be asked for"
        raise ToolFault("bad_induction", what, hint=f"1 to {_MOST_TOOLS} tools, 0 to {MAX_REPAIRS} rounds")
    options = InductionOptions(
        domain=load_domain(Path(domain) if isinstance(domain, PathLike) else domain),
        settings=Settings(
            mode=mode, seed=seed, temperature=temperature, max_tokens=max_tokens, groups=switched_on, allow_judge=allow_judge,
        ),
        out=Path(out),
        model=model,
        count=count,
        repairs=repairs,
        review=review,
        document=None if document is None else Path(document),
        replay=None if replay is None else Path(replay),
        worlds=None if example_worlds is None else tuple(example_worlds),
        store=default_store(store),
        prices=None if prices is None else Path(prices),
        timeout=timeout,
    )  # fmt: skip
    return run_induction(options, clock=SystemClock(), environment=os.environ, progress=progress or note)


def run_induction(
    options: InductionOptions,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    progress: Callable[[str], None] = lambda _: None,
) -> InductionResult:
    """Induce a library and freeze it; faults of the options are raised before the first request.

    Raises:
        ToolFault: ``bad_library_name``, ``library_exists``, ``no_model``, ``unreadable_document``,
            ``no_example_world``, ``split_leak``, ``out_not_writable``, ``induction_running``, ``other_induction``,
            ``no_tools``, ``nothing_admitted``.
        StoreFault: an example world cannot be opened.
        BackendFault: ``bad_prices``; the faults of the endpoint.
        EpisodeFault: ``replay_mismatch``; a recording cannot be read.
    """
    check_out(options.out)
    domain, settings = options.domain, options.settings
    replayed = None
    if options.replay is not None:
        hint = "give the recording.jsonl of a library that was induced"
        replayed = read_exchanges(options.replay, hint=hint)
        if not replayed:
            raise EpisodeFault("recording_damaged", f"{options.replay.name} holds no exchange", hint=hint)
    chat = _model(options, replayed, clock=clock, environment=environment)
    if chat is None and options.review:
        raise ToolFault(
            "no_model", "no model was named that could review tools", hint="add --model, or leave --review out"
        )
    price = None if chat is None else price_of(chat.name, options.prices)
    document = None if options.document is None else _read(options.document)
    prompts = InducerPrompts(groups=settings.groups, allow_judge=settings.allow_judge)
    worlds = trial_worlds(domain, options.worlds, store=options.store, groups=settings.groups)
    written = b"" if document is None else document.encode("utf-8", "surrogatepass")
    request = {
        "domain": domain.name,
        "domain_hash": domain.hash,
        "model": "" if chat is None else chat.name,
        "endpoint": "" if chat is None or replayed is not None else _host(environment),
        "prompt_hash": prompts.hash,
        "count": options.count,
        "repairs": options.repairs,
        **settings.record(),
        **({"review": True} if options.review else {}),
        "example_worlds": worlds.hashes,
        "document_hash": "" if document is None else hash_bytes(written),
    }
    checkpoint = Checkpoint(options.out)
    with checkpoint.held(request) as recorded:
        if recorded:
            progress(f"continuing with {len(recorded)} recorded exchanges in {checkpoint.folder}")
        requester = None
        if chat is not None:  # a replay is copied to the checkpoint when it has succeeded
            kept = {"keep": checkpoint.keep} if replayed is None else {}
            requester = Requester(chat, settings, clock=clock, recorded=replayed or recorded, **kept)
        induction = induce(
            domain,
            settings,
            requester=requester,
            count=options.count,
            repairs=options.repairs,
            worlds=worlds.open,
            document=document,
            review=options.review,
            prompts=prompts,
            progress=progress,
        )
        for exchange in (replayed or [])[len(recorded) :]:
            checkpoint.keep(exchange)
        if requester is not None and (unused := requester.unused()):
            progress(f"{unused} recorded replies fit no request any more; they count in the cost")
        cost = spent([] if requester is None else requester.exchanges, price)
        library = _freeze(induction, request, options, cost, checkpoint=checkpoint, date=clock.now())
    return InductionResult(library=library, induction=induction, cost=cost)


def _model(
    options: InductionOptions, replayed: list[Exchange] | None, *, clock: Clock, environment: Mapping[str, str]
) -> ChatModel | None:
    """Return a model that replays the recording, or the model on the endpoint; None if only a document is given."""
    from world_api.chat.models import endpoint_model
    from world_api.chat.rule_based import RULE_BASED

    name = options.model
    if replayed is not None:
        return ReplayChatModel(replayed, name=name or str(replayed[0].request.get("model")))
    if name is None and options.document is not None:
        return None
    if name is None or name == RULE_BASED:
        raise ToolFault(
            "no_model",
            "no model was named" if name is None else "the rule-based model cannot write tools",
            hint="give --model NAME and set OPENAI_BASE_URL; or bring a document with --document FILE; or see the prompt "
            "with --dry-run",
        )
    return endpoint_model(name, clock=clock, environment=environment, timeout=options.timeout)


def _host(environment: Mapping[str, str]) -> str:
    """Return host and port of the endpoint; empty if none is configured."""
    from world_api.chat.transport import Endpoint

    configured = environment.get("OPENAI_BASE_URL") or environment.get("OPENAI_API_KEY")
    return Endpoint.from_environment(environment).host if configured else ""


def _read(document: Path) -> str:
    """Read the given document, which may be a whole chat reply with prose."""
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


def _freeze(
    induction: Induction,
    request: Mapping[str, Any],
    options: InductionOptions,
    cost: InductionCost,
    *,
    checkpoint: Checkpoint,
    date: str,
) -> ToolLibrary:
    """Freeze the library at ``checkpoint.out``; inside: the unpruned one (with duplicates), log, report, recording.

    After a review the library as it was before is inside, too.

    If nothing is admitted, raises ToolFault ``nothing_admitted``; log and report remain in the checkpoint's folder.
    """
    out, work, made = checkpoint.out, checkpoint.folder, checkpoint.folder / _FROZEN
    settings, domain, admission = options.settings, options.domain, induction.draft.admission
    sent = _sent(request, induction, settings)
    how = "induced" if induction.requested else "brought"
    if how == "brought" and induction.mode_used:
        how += f", mended by {request['model']}"

    def freeze(
        names: Sequence[str], folder: Path, name: str, details: Mapping[str, Any], known: Mapping[str, CompiledTool]
    ) -> ToolLibrary:
        origin = Origin(how=how, date=date, domain=domain.name, details={"induction": details})
        tools = {tool: known[tool] for tool in names}  # those that they call are among them
        return freeze_library(tools, folder, name=name, origin=origin)

    try:
        log = "".join(json_line(line) + "\n" for line in log_lines(induction)).encode()
        (work / LOG).write_bytes(log)
        # A replay does not know the endpoint of the recording, and its report is the same.
        reported = {key: value for key, value in sent.items() if key != "endpoint"}
        (work / REPORT).write_text(report_page(induction, reported, cost, domain), encoding="utf-8")
        if not admission.admitted:
            raise ToolFault(
                "nothing_admitted",
                f"none of the {len(induction.draft.slots)} tools is admitted, so no library is frozen",
                hint=f"{work / REPORT} says why; another --seed is another draw",
            )
        for folder in (made, work / UNPRUNED, work / UNREVIEWED):
            shutil.rmtree(folder, ignore_errors=True)
        details = sent | _details(induction, domain, settings.seed) | {"cost": cost.record()}
        details |= {
            "notes": [note.record() for item in induction.rounds for note in item.notes],
            "log_sha256": hash_bytes(log),
            "compiler": {"version": project_version(), "document_schema": content_hash(tool_schema())},
        }
        duplicates = {item.tool: item.kept for item in admission.verdicts if item.reason == "duplicate"}
        arm = {"arm": "unpruned", "of": out.name, "duplicates": duplicates}
        tools, review = induction.draft.tools, induction.review
        if review is not None:
            details |= {"review": review.text}
        unpruned = freeze(admission.unpruned, work / UNPRUNED, f"{out.name[:55]}.unpruned", details | arm, tools)
        inside = [UNPRUNED]
        if review is not None and review.admission.admitted:
            arm = {"arm": "unreviewed", "of": out.name}
            before = review.admission.admitted
            other = freeze(before, work / UNREVIEWED, f"{out.name[:53]}.unreviewed", details | arm, review.tools)
            details |= {"unreviewed_hash": other.hash}
            inside.append(UNREVIEWED)
        beside = [name for name in (LOG, REPORT, RECORDING) if (work / name).is_file()]
        files = {name: hash_bytes((work / name).read_bytes()) for name in beside}
        details |= {"arm": "pruned", "unpruned_hash": unpruned.hash, "files": files}
        freeze(admission.admitted, made, out.name, details, tools)
        for name in inside:
            (work / name).rename(made / name)
        for kept in files:
            shutil.copyfile(work / kept, made / kept)
        for folder in (
            made,
            *(made / name for name in inside),
        ):  # a library that cannot be loaded is not moved to its place
            load_library(folder, groups=settings.groups, allow_judge=settings.allow_judge)
        if out.exists():
            raise ToolFault("library_exists", f"{out} is there already", hint="choose another --out")
        made.rename(out)
    except OSError as error:
        raise ToolFault(
            "out_not_writable", f"{out} cannot be written: {error.strerror or error}", hint="free some space"
        ) from None
    shutil.rmtree(work, ignore_errors=True)
    return load_library(out, groups=settings.groups, allow_judge=settings.allow_judge)


def _sent(request: Mapping[str, Any], induction: Induction, settings: Settings) -> dict[str, Any]:
    """Return the request without settings that had no effect, because the requests they belong to were not sent."""
    if not induction.mode_used:
        unused = ("endpoint", "prompt_hash", "count", "repairs", *settings.record())
        return {key: value for key, value in request.items() if key not in unused} | {"model": ""}
    return {key: value for key, value in request.items() if key != "count" or induction.requested}


def _details(induction: Induction, domain: Domain, seed: int) -> dict[str, Any]:
    shown = bool(induction.requested)
    return {
        "examples_used": [item.question for item in examples_of(domain, seed)] if shown else [],
        "templates_used": [item.id for item in domain.templates("induction")] if shown else [],
        "split": {split.name: list(split.videos) for split in domain.splits},
        "mode_used": induction.mode_used,
        "rounds": [
            {"kind": item.kind, "mode": None if item.answer is None else item.answer.mode, "standings": item.counts}
            for item in induction.rounds
        ],
        "ending": induction.ending,
        "yields": induction.yields(),
    }


#: The default world: the film that the project generates itself.
SAMPLE = "sample"
_TEXTS, _LONGEST = 4, 200  #: texts of each kind, and characters of one


@dataclass(frozen=True, kw_only=True)
class TrialWorlds:
    """Example worlds: content hashes by id; ``open`` returns the worlds with new sessions that are not saved."""

    hashes: dict[str, str]
    open: Callable[[], tuple[ExampleWorld, ...]]


def trial_worlds(
    domain: Domain, names: Sequence[str] | None, *, store: Path, groups: frozenset[str] = frozenset()
) -> TrialWorlds:
    """Return the named worlds of a store; that of the sample film if ``names`` is empty, none if it is None.

    ``groups``: optional groups of operations to switch on.

    Raises:
        ToolFault: ``no_example_world``: none is named and the sample film's does not exist;
            ``split_leak``: a world's video belongs to another split than admission.
        StoreFault: a named world cannot be opened.
    """
    from world_api.api import open_session

    opened = partial(open_session, store, name=None, groups=groups)
    wanted = () if names is None else tuple(names) or (SAMPLE,)
    for name in wanted:
        owner = domain.split_of_video(name)
        if owner not in (None, "admission"):
            raise ToolFault(
                "split_leak",
                f"the video {name!r} belongs to the {owner} split of {domain.name}",
                hint="tools are tried on videos of the admission split, or on ones that no split names",
            )
    try:
        sessions = [opened(name) for name in wanted]
    except StoreFault as fault:
        if names:
            raise
        raise ToolFault(
            "no_example_world",
            f"{store} holds no world of the sample film, and no other world was named ({fault.message})",
            hint="name one with --example-world ID; or make it: `videoworld sample FOLDER`, then `videoworld build "
            "DIR/sample.mp4`; or try tools on made worlds alone with --schema-worlds-only",
        ) from None
    return TrialWorlds(
        hashes={name: session.world_hash for name, session in zip(wanted, sessions, strict=True)},
        open=lambda: tuple(_example(name, partial(opened, name)) for name in wanted),
    )


def _example(name: str, opened: Callable[[], Session]) -> ExampleWorld:
    """Return a world that opens a new session for every run, with its facts and with texts to search for.

    The texts are hints of entities, spoken lines, captions of scenes and texts on screen, in turns.
    """
    from world_api.operations import run

    def fresh() -> tuple[Caller, WorldState]:
        session = opened()
        return partial(run, session), session

    session = opened()
    call = partial(run, session)
    kinds: list[list[str]] = [
        [str(row["hint"]) for row in _rows(call, name, "list_entities", "entities")],
        [line.text for line in session.view.speech[:_TEXTS]],
        [str(row["brief_caption"]) for row in _rows(call, name, "list_scenes", "scenes")],
        [text.text for text in session.view.screen_texts[:_TEXTS]],
    ]
    filled = [list(dict.fromkeys(text[:_LONGEST] for text in texts if text.strip()))[:_TEXTS] for texts in kinds]
    mixed = [text for turn in zip_longest(*filled) for text in turn if text]
    key = canonical_json([session.memo_key, sorted(session.groups)])
    return ExampleWorld(name=name, video_id=name, texts=tuple(mixed), open=fresh, facts=facts_of(session), key=key)


def _rows(call: Caller, name: str, operation: str, key: str) -> list[dict[str, Any]]:
    try:
        return list(call(operation, {"video_id": name})[key])
    except VideoWorldError:  # the world has no such rows
        return []

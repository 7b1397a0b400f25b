"""An induction from what was ordered to the frozen library: the model, the worlds, the checkpoint, the rounds, the writing down."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tool_induction.domains import Domain
from tool_induction.inducing.asking.exchanging import Exchanges, ReplayOnly
from tool_induction.inducing.asking.prompting import InducerPrompts
from tool_induction.inducing.asking.requests import Asker, Settings
from tool_induction.inducing.drafts import Trying
from tool_induction.inducing.keeping.checkpoint import Checkpoint, check_out
from tool_induction.inducing.keeping.costing import Spent, price_of, spent
from tool_induction.inducing.keeping.freezing import Asked, freeze_induction
from tool_induction.inducing.rounds import MAX_REPAIRS, Induction, Plan, induce
from tool_induction.inducing.trial_worlds import NO_WORLDS, trial_worlds
from tool_induction.language import limits
from tool_induction.library import ToolLibrary
from world_api.chat.recording import Exchange, read_exchanges
from world_api.core.faults import EpisodeFault, ToolFault
from world_api.core.ports import ChatModel, Clock
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
    from world_api.chat.models import endpoint_model
    from world_api.chat.rule_based import RULE_BASED

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
    from world_api.chat.transport import Endpoint

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

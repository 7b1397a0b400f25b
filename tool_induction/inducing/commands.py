"""``videoworld induce``."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from world_api.core.faults import ToolFault
from world_api.exposure.cli import DEFAULT_STORE, JsonOption, StoreOption, note, show

if TYPE_CHECKING:
    from tool_induction.domains import Domain
    from tool_induction.inducing.asking.prompting import InducerPrompts
    from tool_induction.inducing.asking.requests import Settings
    from tool_induction.inducing.keeping.costing import Spent
    from tool_induction.inducing.rounds import Induction
    from tool_induction.library import ToolLibrary
    from world_api.core.ports import ChatModel

app = typer.Typer()


@app.command()
def induce(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="A packaged domain or a YAML file.")],
    model: Annotated[str | None, typer.Option("--model", help="A model on the endpoint of OPENAI_BASE_URL.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder that the library is to become.")] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=40, help="How many tools to ask for.")] = 9,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which draw: sent to the server; orders the prompt.")] = 1,
    mode: Annotated[
        Literal["plain", "structured", "strict"],
        typer.Option(
            "--mode", help="plain: JSON in the reply's text; structured, strict: by the server's schema output."
        ),
    ] = "plain",
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0, max=2, help="Left to the server where not given.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=1, help="Of one reply; left to the server where not given.")
    ] = None,
    repairs: Annotated[int, typer.Option("--repairs", min=0, max=3, help="Repair rounds at most.")] = 3,
    document: Annotated[
        Path | None,
        typer.Option("--document", metavar="FILE", help="Take this as the first emission, such as a chat's reply."),
    ] = None,
    example_world: Annotated[
        list[str] | None,
        typer.Option("--example-world", metavar="ID", help="A world of --store to try tools on. [default: sample]"),
    ] = None,
    schema_worlds_only: Annotated[
        bool, typer.Option("--schema-worlds-only", help="Try tools on made worlds alone.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    prices: Annotated[
        Path | None, typer.Option("--prices", metavar="FILE", help="Prices of models per million tokens, as JSON.")
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="Seconds to wait for one reply; nine tools take a model minutes.")
    ] = 900,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the prompt and about how long it is.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Have a model write a tool library for a domain: drafted, repaired, tried, and frozen with a report.

    Broken off at any moment, the same command goes on where it was: what the model has answered is not asked again.
    """
    from tool_induction.domains import load_domain
    from tool_induction.inducing.asking.prompting import InducerPrompts
    from tool_induction.inducing.asking.requests import Settings

    loaded = load_domain(domain)
    prompts = InducerPrompts()
    settings = Settings(mode=mode, seed=seed, temperature=temperature, max_tokens=max_tokens)
    if dry_run:
        record = _dry(prompts, loaded, settings, count)
        show(record, as_json=as_json, text=lambda: _dry_text(record))
        return
    if out is None:
        raise typer.BadParameter("is missing: which folder is the library to become?", param_hint="--out")
    if schema_worlds_only and example_world:
        raise typer.BadParameter("goes with no --example-world", param_hint="--schema-worlds-only")
    library, induction, cost = _induced(
        loaded,
        prompts,
        settings,
        model=model,
        out=out,
        count=count,
        repairs=repairs,
        document=document,
        worlds=None if schema_worlds_only else example_world or [],
        store=store,
        prices=prices,
        timeout=timeout,
    )
    record = _summary(library, induction, cost, out)
    show(record, as_json=as_json, text=lambda: _text(record))


def _induced(
    domain: Domain,
    prompts: InducerPrompts,
    settings: Settings,
    *,
    model: str | None,
    out: Path,
    count: int,
    repairs: int,
    document: Path | None,
    worlds: list[str] | None,
    store: Path,
    prices: Path | None,
    timeout: float,
) -> tuple[ToolLibrary, Induction, Spent]:
    from tool_induction.inducing.asking.exchanging import Exchanges
    from tool_induction.inducing.asking.requests import Asker
    from tool_induction.inducing.drafts import Trying
    from tool_induction.inducing.keeping.checkpoint import Checkpoint, check_out
    from tool_induction.inducing.keeping.costing import price_of, spent
    from tool_induction.inducing.keeping.freezing import Asked, freeze_induction
    from tool_induction.inducing.rounds import Plan, induce
    from tool_induction.inducing.trial_worlds import NO_WORLDS, trial_worlds
    from world_api.backends.clocks import SystemClock

    check_out(out)
    clock = SystemClock()
    chat = _model(model, brought=document is not None, timeout=timeout)
    price = price_of(chat.name, prices) if chat is not None else None
    text = None if document is None else _read(document)
    tried_on = NO_WORLDS if worlds is None else trial_worlds(domain, worlds, store=store)
    asked = Asked(
        domain=domain,
        model=chat.name if chat is not None else "",
        prompt_hash=prompts.hash,
        settings=settings,
        count=count,
        repairs=repairs,
        worlds=tried_on.hashes,
        document_hash="" if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    )
    checkpoint = Checkpoint(out)
    with checkpoint.held(asked.record()) as recorded:
        exchanges = None if chat is None else Exchanges(chat, clock=clock, recorded=recorded, keep=checkpoint.keep)
        if recorded:
            note(f"going on from {len(recorded)} recorded exchanges in {checkpoint.folder}")
        induction = induce(
            Plan(domain=domain, count=count, seed=settings.seed, repairs=repairs),
            prompts=prompts,
            asker=None if exchanges is None else Asker(exchanges, settings),
            trying=Trying(worlds=tried_on.open, entities=domain.entities.examples, others=domain.entities.others),
            document=text,
            tell=note,
        )
        unused = exchanges.unused() if exchanges is not None else []
        if unused:
            note(f"{len(unused)} recorded replies fit no request any more; they count in the cost")
        cost = spent([*exchanges.done, *unused] if exchanges is not None else (), price)
        library = freeze_induction(induction, asked, cost, checkpoint=checkpoint, date=clock.now())
    return library, induction, cost


def _model(name: str | None, *, brought: bool, timeout: float) -> ChatModel | None:
    """The model on the configured endpoint; none where a document is brought and nobody is to mend it.

    Raises:
        ToolFault: ``no_model``.
        BackendFault: the endpoint's.
    """
    from world_api.backends.chat.rule_based import RULE_BASED
    from world_api.backends.clocks import SystemClock
    from world_api.exposure.models import endpoint_model

    if name is None and brought:
        return None
    if name is None or name == RULE_BASED:
        raise ToolFault(
            "no_model",
            "no model was named" if name is None else "the rule-based model cannot write tools",
            hint="give --model NAME and set OPENAI_BASE_URL; or bring a document with --document FILE; or see the prompt "
            "with --dry-run",
        )
    return endpoint_model(name, clock=SystemClock(), environment=os.environ, timeout=timeout)


def _read(document: Path) -> str:
    """The document that is brought; it may be a whole reply of a chat, prose and all.

    Raises:
        ToolFault: ``unreadable_document``.
    """
    from tool_induction.language import limits

    try:
        with document.open("rb") as stream:
            content = stream.read(4 * limits.MAX_DOCUMENT_BYTES)
        return content.decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8: byte {error.start} cannot be read"
    raise ToolFault("unreadable_document", f"{document.name} cannot be read: {reason}", hint="give a UTF-8 text file")


def _dry(prompts: InducerPrompts, domain: Domain, settings: Settings, count: int) -> dict[str, Any]:
    from world_api.backends.chat.usage import estimate_tokens

    system = prompts.system(settings.mode)
    request = prompts.request(domain, count=count, seed=settings.seed)
    return {
        "domain": domain.name,
        "prompt_hash": prompts.hash,
        "tokens": {"system": estimate_tokens(system), "request": estimate_tokens(request), "estimated": True},
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": request}],
    }


def _dry_text(record: dict[str, Any]) -> str:
    tokens = record["tokens"]
    parts = [f"==== {item['role']} ====\n{item['content']}" for item in record["messages"]]
    told = f"about {tokens['system']} tokens of language and {tokens['request']} of domain; nothing was sent"
    return "\n\n".join([*parts, f"==== {told} ====", f"prompt hash {record['prompt_hash']}"])


def _summary(library: ToolLibrary, induction: Induction, cost: Spent, out: Path) -> dict[str, Any]:
    from tool_induction.inducing.keeping.freezing import REPORT

    return {
        "library": str(out),
        "content_hash": library.hash,
        "tools": list(library.tools),
        "refused": {
            slot.name: slot.current.reason() for slot in induction.draft.slots if slot.current.standing != "admitted"
        },
        "ending": induction.ending,
        "rounds": len(induction.rounds),
        "yields": induction.yields(),
        "cost": cost.record(),
        "report": str(out / REPORT),
    }


def _text(record: dict[str, Any]) -> str:
    yields, cost = record["yields"], record["cost"]
    lines = [
        f"{yields['admitted']} of {yields['written']} tools are admitted ({yields['admitted_first']} at the first pass)",
        *(f"  {name}" for name in record["tools"]),
        *(f"  not {name}: {reason}" for name, reason in record["refused"].items()),
        f"{cost['calls']} calls, {cost['prompt_tokens']} prompt and {cost['completion_tokens']} reply tokens",
        f"{record['library']}: the library, frozen as {record['content_hash'][:16]}",
        f"{record['report']}: what was asked, written, refused, mended and admitted",
    ]
    return "\n".join(lines)

"""``videoworld induce``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tool_induction.judge.options import AllowJudgeOption
from world_api.commands.cli import DEFAULT_STORE, JsonOption, StoreOption, WithOption, command_app, note, show

if TYPE_CHECKING:
    from tool_induction.domains import Domain
    from tool_induction.inducer.induction import InductionResult
    from tool_induction.inducer.prompt_builder import InducerPrompts
    from tool_induction.inducer.requests import Settings


app = command_app()


@app.command()
def induce(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="A packaged domain or a YAML file.")],
    model: Annotated[str | None, typer.Option("--model", help="A model on the endpoint of OPENAI_BASE_URL.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder that the library is to become.")] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=40, help="Number of tools to ask for.")] = 9,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of the draw: sent to the server; orders the prompt.")
    ] = 1,
    mode: Annotated[
        Literal["plain", "structured", "strict"],
        typer.Option(
            "--mode", help="plain: JSON in the reply's text; structured, strict: by the server's schema output."
        ),
    ] = "plain",
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0, max=2, help="Left to the server if not given.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=1, help="Of one reply; left to the server if not given.")
    ] = None,
    repairs: Annotated[int, typer.Option("--repairs", min=0, max=3, help="Repair rounds at most.")] = 3,
    document: Annotated[
        Path | None,
        typer.Option("--document", metavar="FILE", help="Take this as the first emission, such as a chat's reply."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay", metavar="FILE", help="Take all replies from a library's recording.jsonl; send no request."
        ),
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
        Path | None,
        typer.Option("--prices", metavar="FILE", help="Prices of models in USD per million tokens, as JSON or YAML."),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="Seconds to wait for one reply; nine tools take a model minutes.")
    ] = 900,
    groups: WithOption = None,
    allow_judge: AllowJudgeOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the prompt and about how long it is.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Have a model write a tool library for a domain.

    It is drafted, repaired, tried, and frozen with a log and a report. If it is interrupted at any moment, the same command continues:
    requests that the model has answered are not sent again.
    """
    from tool_induction.domains import load_domain
    from tool_induction.inducer.checkpoint import Checkpoint
    from tool_induction.inducer.induction import InductionOptions, run_induction
    from tool_induction.inducer.prompt_builder import InducerPrompts
    from tool_induction.inducer.requests import Settings
    from world_api.core.ports import SystemClock
    from world_api.operations import check_groups

    loaded = load_domain(domain)
    switched_on = check_groups(groups or ())
    prompts = InducerPrompts(groups=switched_on, allow_judge=allow_judge)
    settings = Settings(
        mode=mode,
        seed=seed,
        temperature=temperature,
        max_tokens=max_tokens,
        groups=switched_on,
        allow_judge=allow_judge,
    )
    if dry_run:
        record = _dry(prompts, loaded, settings, count)
        show(record, as_json=as_json, text=lambda: _dry_text(record))
        return
    if out is None:
        raise typer.BadParameter("is missing: name the folder of the library", param_hint="--out")
    if schema_worlds_only and example_world:
        raise typer.BadParameter("goes with no --example-world", param_hint="--schema-worlds-only")
    options = InductionOptions(
        domain=loaded,
        settings=settings,
        out=out,
        model=model,
        count=count,
        repairs=repairs,
        document=document,
        replay=replay,
        worlds=None if schema_worlds_only else tuple(example_world or ()),
        store=store,
        prices=prices,
        timeout=timeout,
    )
    try:
        done = run_induction(options, clock=SystemClock(), environment=os.environ, progress=note)
    except KeyboardInterrupt:
        if Checkpoint(out).folder.exists():
            note(f"interrupted; the same command continues from {Checkpoint(out).folder}")
        raise
    record = _summary(done, out)
    show(record, as_json=as_json, text=lambda: _text(record))


def _dry(prompts: InducerPrompts, domain: Domain, settings: Settings, count: int) -> dict[str, Any]:
    from world_api.chat.usage import estimate_tokens

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
    counts = f"about {tokens['system']} tokens of language and {tokens['request']} of domain; nothing was sent"
    return "\n\n".join([*parts, f"==== {counts} ====", f"prompt hash {record['prompt_hash']}"])


def _summary(done: InductionResult, out: Path) -> dict[str, Any]:
    from tool_induction.inducer.induction import REPORT

    induction = done.induction
    return {
        "library": str(out),
        "content_hash": done.library.hash,
        "tools": list(done.library.tools),
        "refused": {
            slot.name: slot.current.reason() for slot in induction.draft.slots if slot.current.status != "admitted"
        },
        "ending": induction.ending,
        "rounds": len(induction.rounds),
        "yields": induction.yields(),
        "cost": done.cost.record(),
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

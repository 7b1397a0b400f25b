"""The commands of this package: ``videoworld tools`` and its sub-commands, ``domains``, ``induce`` and ``serve``.

``serve`` is here, not in ``world_api.commands``, because that package does not depend on libraries.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tool_induction.limits import AT_A_TIME
from world_api.commands import cli
from world_api.commands.cli import AllowJudgeOption, JudgeModelOption, JudgeRecordOption, with_vision_options
from world_api.options import DEFAULT_SESSION, DEFAULT_STORE, DEFAULT_VISION, VisionOptions
from world_api.terminal import first_part, note, show, to_json

if TYPE_CHECKING:
    from tool_induction.compiler.compilation import Compilation
    from tool_induction.domains import Domain
    from tool_induction.inducer import InductionResult
    from tool_induction.judge.judges import Judge
    from tool_induction.library import ToolLibrary
    from world_api.session.vision import VisionConfig

app = cli.group_app("Check, run, review, edit and export high-level tools.")

Source = Annotated[
    str, typer.Argument(metavar="FILE|LIBRARY", help="A tool document, a library folder, or a packaged library.")
]
Sources = Annotated[
    list[str],
    typer.Argument(metavar="FILE|LIBRARY", help="Tool documents, library folders, or packaged libraries; - is stdin."),
]


@app.command()
def check(
    sources: Sources,
    as_json: cli.JsonOption = False,
    summary: Annotated[bool, typer.Option("--summary", help="Only count codes: a table of all files.")] = False,
    notes: Annotated[bool, typer.Option("--notes", help="Show the notes on tools with faults too.")] = False,
    entity: Annotated[
        list[str] | None,
        typer.Option("--entity", metavar="NAME", help="An entity of the examples; noted where a tool holds it."),
    ] = None,
    allow_judge: AllowJudgeOption = False,
    groups: cli.WithOption = None,
) -> None:
    """Check tool documents or libraries: faults with their line and a suggestion. Exit status 1 with faults.

    Everything that the manifest of a folder lists is compared with its hash, also log, report and recording.
    """
    from tool_induction.check_report import codes_table, count_codes, report
    from tool_induction.library import find_library

    checked = {}
    for source in dict.fromkeys(sources):
        if source != "-" and find_library(source).is_dir():
            # Hashes first: a changed library is refused even if its tools are faulty.
            _verified(source, allow_judge=allow_judge, groups=groups or ())
        checked[source] = _compiled(source, entity or (), allow_judge=allow_judge, groups=groups or ())
    compilations = {source: compilation for source, (compilation, _) in checked.items()}
    if summary:
        counts = count_codes(compilations)
        record: Any = {source: dict(sorted(one.items())) for source, one in counts.items()}
        show(record, as_json=as_json, text=lambda: codes_table(counts))
    else:
        records = {source: one.record() for source, one in compilations.items()}
        record = next(iter(records.values())) if len(records) == 1 else {"files": records}
        texts = [
            (f"{source}\n" if len(checked) > 1 else "") + report(one, text, notes=notes)
            for source, (one, text) in checked.items()
        ]
        show(record, as_json=as_json, text=lambda: "\n\n".join(texts))
    if not all(one.ok for one in compilations.values()):
        raise typer.Exit(1)


def _compiled(
    source: str, entities: Sequence[str], *, allow_judge: bool, groups: Sequence[str]
) -> tuple[Compilation, str]:
    """Compile a document, a library's tools or stdin; return the findings and the text."""
    from tool_induction.compiler.compilation import compile_document
    from tool_induction.library import TOOLS_FILE, find_library, read_bytes
    from tool_induction.limits import MAX_DOCUMENT_BYTES

    if source == "-":
        content = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
    else:
        found = find_library(source)
        content = read_bytes(found / TOOLS_FILE if found.is_dir() else found)
    compilation = compile_document(content, entities=entities, allow_judge=allow_judge, groups=groups)
    return compilation, content.decode("utf-8-sig", errors="replace")


@app.command()
def language(as_json: cli.JsonOption = False) -> None:
    """Print the tool language: its reference, or with --json its JSON Schema."""
    from tool_induction.documents import language_schema
    from tool_induction.reference import language_page

    show(language_schema(), as_json=as_json, text=lambda: language_page().rstrip())


@app.command()
@cli.help_sections("video store as_of session args trace groups profile as_json")
@with_vision_options()
def run(
    source: Source,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Which tool of it.")],
    pairs: cli.PairsArgument = None,
    video: cli.VideoOption = "",
    store: cli.StoreOption = DEFAULT_STORE,
    as_of: cli.AsOfOption = None,
    session: cli.SessionOption = DEFAULT_SESSION,
    args: cli.ArgsOption = None,
    as_json: cli.JsonOption = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show the steps as a tree, and the calls that each output came from.")
    ] = False,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=64, help="Calls in flight at a time; the result is the same.")
    ] = AT_A_TIME,
    allow_judge: AllowJudgeOption = False,
    judge_model: JudgeModelOption = None,
    judge_record: JudgeRecordOption = None,
    groups: cli.WithOption = None,
    vision: VisionOptions = DEFAULT_VISION,
) -> None:
    """Run one tool on a world, as a model would, and print its result. Exit status 1 when a fault stopped it."""
    from tool_induction.compiler.declarations import inputs_schema
    from tool_induction.runtime.limits import RunLimits
    from tool_induction.runtime.runner import run_tool
    from tool_induction.runtime.trace import Trace, tree_lines
    from world_api.api import open_session
    from world_api.core.cost import ledger
    from world_api.operations import run as run_operation
    from world_api.options import spent_text

    if not video:
        raise typer.BadParameter("is missing: which video?", param_hint="--video")
    library = _loaded(source, wanted=tool, allow_judge=allow_judge, groups=groups)
    judge, config = _models(allow_judge, judge_model, judge_record, vision)
    compiled = library.tools.get(tool)
    properties: dict[str, Any] = inputs_schema(compiled.tool)["properties"] if compiled else {}
    filled = {"video_id": video} if "video_id" in properties else {}
    arguments = filled | cli.read_arguments(pairs, args, properties)
    vision.confirm(store, video, config, during="for this run of the tool")
    opened = open_session(store, video, as_of=as_of, name=session, groups=groups or (), seeing=config)
    recorded = Trace()
    call = partial(run_operation, opened)
    with ledger() as book:
        result = run_tool(
            library.tools,
            tool,
            arguments,
            call=call,
            world=opened,
            limits=RunLimits(concurrency=concurrency),
            trace=recorded if trace else None,
            judge=judge,
        )
    if config is not None:
        note(spent_text(book.items, config))
    shown = result | ({"trace": [node.record() for node in recorded.root.children]} if trace else {})
    show(
        shown,
        as_json=as_json,
        text=lambda: "\n".join([first_part(result), *(tree_lines(recorded.root) if trace else ())]),
    )
    if result["status"] == "error":
        raise typer.Exit(1)


def _models(
    allow_judge: bool, judge_model: str | None, judge_record: Path | None, vision: VisionOptions
) -> tuple[Judge | None, VisionConfig | None]:
    """Return the judge and the vision model that the options describe."""
    from tool_induction.judge.judges import judge_from_options
    from world_api.api import vision_config
    from world_api.core.execution import SystemClock

    clock = SystemClock()
    judge = None
    if judge_model is not None or judge_record is not None:
        judge = judge_from_options(allow_judge, judge_model, judge_record, clock=clock, environment=os.environ)
    vision.refuse_unused()
    return judge, vision_config(vision.choices(), clock=clock, environment=os.environ)


Format = Literal["openai", "openai-strict", "mcp", "cards"]
OutOption = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="The new library's folder; must not exist.")]
NameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Its name; by default the folder's.")]


@app.command()
def review(
    source: Source,
    video: cli.VideoOption = "",
    store: cli.StoreOption = DEFAULT_STORE,
    args: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON", help='Arguments of the examples, {"TOOL": {...}}; others are made up.'),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write one page there instead.")] = None,
    allow_judge: AllowJudgeOption = False,
    groups: cli.WithOption = None,
    as_json: cli.JsonOption = False,
) -> None:
    """Show a library to a person: each tool with its plan, its price, notes and an example run.

    The examples run on the world of --video, in a session that is not kept; without it on a made-up world.
    """
    from tool_induction.curation.examples import ExampleRuns
    from tool_induction.curation.review import is_review, review_html, review_library, review_text
    from world_api.core.faults import ToolFault

    if html is not None and html.exists() and not is_review(html):
        raise ToolFault(
            "file_exists", f"{html} exists and is no former review", hint="choose another file, or remove this one"
        )
    library = _verified(source, allow_judge=allow_judge, groups=groups or ())
    compilation, _ = _compiled(source, (), allow_judge=allow_judge, groups=groups or ())
    given = cli.read_arguments(None, args, {})
    wrong = [name for name, value in given.items() if name not in library.tools or not isinstance(value, dict)]
    if wrong:
        raise ToolFault(
            "bad_arguments",
            f"--args has {wrong[0][:64]!r}, which is no tool with an object of arguments",
            hint='for example --args \'{"locate_event": {"event": "the door is closed"}}\'',
        )
    examples = ExampleRuns(given=given)
    if video:
        examples = ExampleRuns.on_video(store, video, given=given, groups=groups or ())
    record = review_library(library, compilation.diagnostics, examples)
    if html is not None:
        html.write_text(review_html(record), encoding="utf-8")
        note(f"written to {html}")
        if not as_json:
            return
    show(record, as_json=as_json, text=lambda: review_text(record))


def _loaded(source: str, *, allow_judge: bool, groups: Sequence[str] | None, wanted: str | None = None) -> ToolLibrary:
    from tool_induction.library import load_library

    return load_library(source, wanted=wanted, allow_judge=allow_judge, groups=groups or ())


def _verified(source: str, *, allow_judge: bool, groups: Sequence[str]) -> ToolLibrary:
    """Load a library and compare the files beside it too; missing ones are reported on stderr."""
    from tool_induction.library import check_companions, find_library

    library = _loaded(source, allow_judge=allow_judge, groups=groups)
    found = find_library(source)
    if found.is_dir():
        missing = check_companions(found, library.manifest, allow_judge=allow_judge, groups=groups)
        if missing:
            note(f"{library.name}: missing now, so not compared: {', '.join(missing)}")
    return library


@app.command()
def fork(
    source: Source,
    out: OutOption,
    edit: Annotated[
        Path | None, typer.Option("--edit", metavar="FILE", help="Tools that replace those of the same name.")
    ] = None,
    add: Annotated[Path | None, typer.Option("--add", metavar="FILE", help="Tools that are new.")] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", metavar="TOOL", help="Leave a tool out; repeatable.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="TOOL", help="Keep only these; repeatable.")
    ] = None,
    name: NameOption = None,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who edits it, for its manifest.")] = "",
    why: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, for its manifest.")] = "",
    allow_judge: AllowJudgeOption = False,
    groups: cli.WithOption = None,
    as_json: cli.JsonOption = False,
) -> None:
    """Edit a library: the result is a new one with its own hash, which records its parent. Faults stop it."""
    from tool_induction.curation.fork import Edits, compared, comparison_text, fork_library
    from tool_induction.library import read_bytes

    made = fork_library(
        _loaded(source, allow_judge=allow_judge, groups=groups),
        Edits(
            edit=None if edit is None else read_bytes(edit),
            add=None if add is None else read_bytes(add),
            keep=keep or (),
            drop=drop or (),
        ),
        out,
        name=name or out.resolve().name,
        date=datetime.now(UTC).date().isoformat(),
        by=by,
        note=why,
        allow_judge=allow_judge,
        groups=groups or (),
    )
    show(
        made.record(),
        as_json=as_json,
        text=lambda: comparison_text(compared(made.parent, made.library)) + f"\nfrozen in {out}",
    )


@app.command()
def diff(
    before: Source,
    after: Annotated[str, typer.Argument(metavar="OTHER", help="The library or document to compare it with.")],
    allow_judge: AllowJudgeOption = False,
    groups: cli.WithOption = None,
    as_json: cli.JsonOption = False,
) -> None:
    """Compare two libraries: tools that were dropped, added and changed, and at which places."""
    from tool_induction.curation.fork import compared, comparison_text

    libraries = (_loaded(source, allow_judge=allow_judge, groups=groups) for source in (before, after))
    record = compared(*libraries)
    show(record, as_json=as_json, text=lambda: comparison_text(record))


@app.command()
def schemas(
    source: Source,
    wanted: Annotated[
        Format, typer.Option("--format", help="OpenAI function tools, loose or strict; MCP tools; signature cards.")
    ] = "openai",
    allow_judge: AllowJudgeOption = False,
    groups: cli.WithOption = None,
    as_json: cli.JsonOption = False,
) -> None:
    """Print a library's tools as other programs want them, or as cards for people."""
    from tool_induction.curation.examples import formatted_tools

    made = formatted_tools(_loaded(source, allow_judge=allow_judge, groups=groups).tools, wanted)
    if wanted == "openai-strict":
        for tool in made:
            if isinstance(tool, dict) and not tool["function"]["strict"]:
                note(f"{tool['function']['name']}: strict mode cannot express its inputs; offered without it")
    show(made, as_json=as_json, text=lambda: "\n\n".join(map(str, made)) if wanted == "cards" else to_json(made))


@app.command()
def arm(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="random, placebo; or a label: selected, unselected, hand_written, own, other (domain)."
        ),
    ],
    source: Annotated[str, typer.Argument(metavar="FILE|LIBRARY", help="The library to imitate or to label.")],
    out: OutOption,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of random.")] = 1,
    name: NameOption = None,
    allow_judge: AllowJudgeOption = False,
    groups: cli.WithOption = None,
    as_json: cli.JsonOption = False,
) -> None:
    """Make the library of an experiment's arm. Its manifest names the arm and the library.

    random: as many tools, drawn from the operations, as long and as expensive. placebo: tools declared to the model word for
    word like those of the library, which find nothing. The labels leave the tools as they are.
    """
    from tool_induction.check_report import priced
    from tool_induction.curation.arms import make_arm

    parent = _loaded(source, allow_judge=allow_judge, groups=groups)
    made = make_arm(
        kind,
        parent,
        out,
        name=name or out.resolve().name,
        date=datetime.now(UTC).date().isoformat(),
        seed=seed,
        allow_judge=allow_judge,
        groups=groups or (),
    )
    record = {"name": made.name, "hash": made.hash, "arm": kind, "of": {"name": parent.name, "hash": parent.hash}}
    lines = [f"{item.name}: {priced(item.price.record())}" for item in made.tools.values()]
    show(
        {**record, "tools": list(made.tools)},
        as_json=as_json,
        text=lambda: "\n".join([*lines, "", f"{kind} arm of {parent.name}, frozen in {out}"]),
    )


def domains(
    domain: Annotated[
        str | None, typer.Argument(metavar="DOMAIN", help="A packaged domain or a YAML file to check and show.")
    ] = None,
    as_json: cli.JsonOption = False,
) -> None:
    """List the domains tools are induced for, or check a file of your own.

    A given name or file is checked and shown; a domain with a fault or overlapping splits is refused.
    """
    from tool_induction.domains import load_domain, packaged_domains

    if domain is None:
        found = [load_domain(name) for name in packaged_domains()]
        show(
            [_domain_in_short(item) for item in found],
            as_json=as_json,
            text=lambda: "\n".join(map(_domain_line, found)),
        )
        return
    one = load_domain(domain)
    show(_domain_record(one), as_json=as_json, text=lambda: _domain_page(one))


def _domain_record(domain: Domain) -> dict[str, Any]:
    whole = asdict(domain)
    parts = ("description", "question_types", "examples", "entities", "tool_kinds")
    videos = {split.name: list(split.videos) for split in domain.splits}
    return _domain_in_short(domain) | {key: whole[key] for key in parts} | {"videos": videos}


def _domain_in_short(domain: Domain) -> dict[str, Any]:
    return {
        "name": domain.name,
        "title": domain.title,
        "hash": domain.hash,
        "counts": {
            "question_types": len(domain.question_types),
            "templates": {split.name: len(domain.templates(split.name)) for split in domain.splits},
            "examples": len(domain.examples),
            "tool_kinds": len(domain.tool_kinds),
        },
    }


def _domain_line(domain: Domain) -> str:
    templates = ", ".join(f"{split.name} {len(domain.templates(split.name))}" for split in domain.splits)
    return (
        f"{domain.name}: {domain.title}; {len(domain.question_types)} question types, {len(domain.examples)} worked "
        f"examples, {len(domain.tool_kinds)} kinds of tools; templates: {templates}"
    )


def _domain_page(domain: Domain) -> str:
    lines = [_domain_line(domain), f"sha256 {domain.hash}", "", domain.description, ""]
    for kind in domain.question_types:
        lines.append(f"{kind.id} ({kind.answer}): {kind.about}")
        lines.extend(f"  {item.split:12} {' / '.join(item.wordings)}" for item in kind.templates)
    lines.append("\nvideos")
    lines.extend(f"  {split.name:12} {', '.join(split.videos) or 'none'}" for split in domain.splits)
    lines.append("\nno video and no question template belongs to two splits")
    return "\n".join(lines)


@cli.help_sections("out model count seed dry_run document review prices replay as_json")
def induce(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="A packaged domain or a YAML file.")],
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="A model on the endpoint of OPENAI_BASE_URL.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Folder that the library is to become.")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=40, help="Number of tools to ask for.")] = 9,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of the draw: sent to the server; orders the prompt.")
    ] = 1,
    mode: Annotated[
        Literal["plain", "structured", "strict"],
        typer.Option(
            "--mode",
            help="plain: JSON in the reply's text; structured: by the server's schema output; strict: the same.",
        ),
    ] = "plain",
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0, max=2, help="Left to the server if not given.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=1, help="Of one reply; left to the server if not given.")
    ] = None,
    repairs: Annotated[int, typer.Option("--repairs", min=0, max=3, help="Repair rounds at most.")] = 3,
    review: Annotated[
        bool, typer.Option("--review", help="At the end show the model, once, a run of each tool with the truth.")
    ] = False,
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
    store: cli.StoreOption = DEFAULT_STORE,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="Prices of models in USD per million tokens, as JSON or YAML."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            min=1,
            metavar="SECONDS",
            help="Seconds to wait for one reply; nine tools take a model minutes.",
        ),
    ] = 900,
    groups: cli.WithOption = None,
    allow_judge: AllowJudgeOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the prompt and about how long it is.")] = False,
    as_json: cli.JsonOption = False,
) -> None:
    """Have a model write a tool library for a domain.

    It is drafted, repaired, tried, and frozen with a log and a report. If it is interrupted at any moment, the same command continues:
    requests that the model has answered are not sent again.
    """
    from tool_induction.domains import load_domain
    from tool_induction.inducer import Checkpoint, InducerPrompts, induce_library
    from world_api.operations import check_groups

    if mode == "strict":  # another name, for scripts that have it
        mode = "structured"
    if dry_run:
        loaded, switched_on = load_domain(domain), check_groups(groups or ())
        prompts = InducerPrompts(groups=switched_on, allow_judge=allow_judge)
        request = prompts.request(loaded, count=count, seed=seed)
        _show_prompt(loaded.name, prompts.hash, prompts.system(mode), request, as_json=as_json)
        return
    if out is None:
        raise typer.BadParameter("is missing: name the folder of the library", param_hint="--out")
    if schema_worlds_only and example_world:
        raise typer.BadParameter("goes with no --example-world", param_hint="--schema-worlds-only")
    try:
        done = induce_library(
            domain, out=out, model=model, count=count, seed=seed, mode=mode, temperature=temperature, max_tokens=max_tokens,
            repairs=repairs, review=review, document=document, replay=replay,
            example_worlds=None if schema_worlds_only else example_world or (), store=store, prices=prices,
            timeout=timeout, groups=groups or (), allow_judge=allow_judge,
        )  # fmt: skip
    except KeyboardInterrupt:
        if Checkpoint(out).folder.exists():
            note(f"interrupted; the same command continues from {Checkpoint(out).folder}")
        raise
    record = _induced(done, out)
    show(record, as_json=as_json, text=lambda: _induced_text(record))


def _show_prompt(domain: str, prompt_hash: str, system: str, request: str, *, as_json: bool) -> None:
    from world_api.chat.messages import estimate_tokens

    tokens = {"system": estimate_tokens(system), "request": estimate_tokens(request), "estimated": True}
    messages = [{"role": "system", "content": system}, {"role": "user", "content": request}]
    record = {"domain": domain, "prompt_hash": prompt_hash, "tokens": tokens, "messages": messages}
    parts = [f"==== {item['role']} ====\n{item['content']}" for item in messages]
    parts.append(
        f"==== about {tokens['system']} tokens of language and {tokens['request']} of domain; nothing was sent ===="
    )
    show(record, as_json=as_json, text=lambda: "\n\n".join([*parts, f"prompt hash {prompt_hash}"]))


def _induced(done: InductionResult, out: Path) -> dict[str, Any]:
    from tool_induction.inducer import REPORT

    induction = done.induction
    return {
        "library": str(out),
        "content_hash": done.library.hash,
        "tools": list(done.library.tools),
        "refused": {
            slot.name: slot.current.reason() for slot in induction.draft.slots if slot.current.status != "admitted"
        },
        "warned": {
            slot.name: [fault.line() for fault in slot.current.faults()]
            for slot in induction.draft.slots
            if slot.current.status == "admitted" and slot.current.returns
        },
        "ending": induction.ending,
        "rounds": len(induction.rounds),
        "yields": induction.yields(),
        "cost": done.cost.record(),
        "report": str(out / REPORT),
    }


def _induced_text(record: dict[str, Any]) -> str:
    yields, cost = record["yields"], record["cost"]
    lines = [
        f"{yields['admitted']} of {yields['written']} tools are admitted ({yields['admitted_first']} at the first pass)",
        *(f"  {name}" for name in record["tools"]),
        *(f"  not {name}: {reason}" for name, reason in record["refused"].items()),
        *(f"  warning of {name}: {line}" for name, lines in record["warned"].items() for line in lines),
        f"{cost['calls']} calls, {cost['prompt_tokens']} prompt and {cost['completion_tokens']} reply tokens",
        f"{record['library']}: the library, frozen as {record['content_hash'][:16]}",
        f"{record['report']}: what was asked, written, refused, mended and admitted",
    ]
    return "\n".join(lines)


@cli.help_sections("store tools as_of session groups profile as_json")
@with_vision_options()
def serve(
    video_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the video's world.")],
    store: cli.StoreOption = DEFAULT_STORE,
    tools: Annotated[
        str | None, typer.Option("--tools", metavar="LIBRARY", help="Offer a tool library too, by name or folder.")
    ] = None,
    as_of: cli.AsOfOption = None,
    session: cli.SessionOption = DEFAULT_SESSION,
    groups: cli.WithOption = None,
    allow_judge: AllowJudgeOption = False,
    judge_model: JudgeModelOption = None,
    judge_record: JudgeRecordOption = None,
    vision: VisionOptions = DEFAULT_VISION,
    as_json: cli.JsonOption = False,  # of faults alone
) -> None:
    """Serve a world's operations, and a tool library, over the Model Context Protocol (MCP).

    It speaks on stdin and stdout until the client closes them.
    """
    from tool_induction.library_tools import LibraryTools, mcp_declarations
    from world_api.api import open_session
    from world_api.operations import operations_for, run
    from world_api.schemas.mcp import mcp_server, serve_stdio

    library = None if tools is None else _loaded(tools, allow_judge=allow_judge, groups=groups)
    judge, config = _models(allow_judge, judge_model, judge_record, vision)
    vision.confirm(store, video_id, config, during="as long as this serves")
    opened = open_session(store, video_id, as_of=as_of, name=session, groups=groups or (), seeing=config)
    resources = {"worlds": partial(_worlds_record, store, video_id), "libraries": partial(_libraries_record, library)}
    call: Callable[[str, Mapping[str, Any]], dict[str, Any]] = partial(run, opened)
    declared: list[dict[str, Any]] = []
    if library is not None:
        call = LibraryTools.on_session(library, opened, judge=judge).with_operations(opened)
        declared = mcp_declarations(library.tools)
    server = mcp_server(call, more_tools=declared, groups=opened.groups, video_id=video_id, resources=resources)
    offered = f"{len(operations_for(opened.groups))} operations"
    offered += "" if library is None else f", {len(library.tools)} tools of {library.name}"
    cut = "" if as_of is None else f" up to {as_of:g} s"
    note(
        f"serving {video_id}{cut} of {store} over MCP on stdin and stdout, until the client closes them\n"
        f"  offered: {offered}; session {session}; resources {', '.join(resources)}"
    )
    serve_stdio(server)


def _worlds_record(store: Path, served: str) -> list[dict[str, Any]]:
    from world_api.core.faults import StoreFault
    from world_api.world.store import list_worlds, open_world

    found: list[dict[str, Any]] = []
    for video_id in list_worlds(store):
        try:
            manifest = open_world(store, video_id).manifest
            facts: dict[str, Any] = {"title": manifest.title, "profile": manifest.profile}
        except StoreFault as fault:
            facts = dict(fault.record())
        found.append({"video_id": video_id, "served": video_id == served, **facts})
    return found


def _libraries_record(served: ToolLibrary | None) -> list[dict[str, Any]]:
    from tool_induction.library import load_library, packaged_libraries

    own = [] if served is None else [served]
    others = [load_library(name) for name in packaged_libraries() if served is None or name != served.name]
    return [{"name": one.name, "served": one is served, "tools": list(one.tools)} for one in (*own, *others)]

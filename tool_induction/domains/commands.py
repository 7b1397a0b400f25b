"""``videoworld domains``: list the packaged domains, or check and show one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.commands.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from tool_induction.domains.domain import Domain

app = command_app()


@app.command()
def domains(
    domain: Annotated[
        str | None, typer.Argument(metavar="[DOMAIN]", help="A packaged domain or a YAML file to check and show.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the domains tools are induced for, or check a file of your own.

    A given name or file is checked and shown; a domain with a fault or overlapping splits is refused.
    """
    from tool_induction.domains import load_domain, packaged_domains

    if domain is None:
        found = [load_domain(name) for name in packaged_domains()]
        show([_in_short(item) for item in found], as_json=as_json, text=lambda: "\n".join(map(_line, found)))
        return
    one = load_domain(domain)
    show(_record(one), as_json=as_json, text=lambda: _page(one))


def _record(domain: Domain) -> dict[str, Any]:
    return {
        **_in_short(domain),
        "description": domain.description,
        "question_types": [asdict(item) for item in domain.question_types],
        "examples": [asdict(item) for item in domain.examples],
        "entities": asdict(domain.entities),
        "tool_kinds": [asdict(item) for item in domain.tool_kinds],
        "videos": {split.name: list(split.videos) for split in domain.splits},
    }


def _in_short(domain: Domain) -> dict[str, Any]:
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


def _line(domain: Domain) -> str:
    templates = ", ".join(f"{split.name} {len(domain.templates(split.name))}" for split in domain.splits)
    return (
        f"{domain.name}: {domain.title}; {len(domain.question_types)} question types, {len(domain.examples)} worked "
        f"examples, {len(domain.tool_kinds)} kinds of tools; templates: {templates}"
    )


def _page(domain: Domain) -> str:
    lines = [_line(domain), f"sha256 {domain.hash}", "", domain.description, ""]
    for kind in domain.question_types:
        lines.append(f"{kind.id} ({kind.answer}): {kind.about}")
        lines.extend(f"  {item.split:12} {' / '.join(item.wordings)}" for item in kind.templates)
    lines.append("\nvideos")
    lines.extend(f"  {split.name:12} {', '.join(split.videos) or 'none'}" for split in domain.splits)
    lines.append("\nno video and no question template belongs to two splits")
    return "\n".join(lines)

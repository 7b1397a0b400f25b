"""``videoworld tools arm``: the libraries that an induced one is compared with."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tool_induction.judging.options import AllowJudgeOption
from world_api.commands.cli import JsonOption, WithOption, show


def arm(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="random, placebo; or a label: selected, unselected, hand_written, own, other (domain).",
        ),
    ],
    source: Annotated[str, typer.Argument(metavar="FILE_OR_LIBRARY", help="The library it is made like, or made of.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The new library's folder; must not be there.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which draw, of random.")] = 1,
    name: Annotated[str | None, typer.Option("--name", help="Its name; by default the folder's.")] = None,
    allow_judge: AllowJudgeOption = False,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the library of an experiment's arm. Its manifest says which arm it is, and of which library.

    random: as many tools put together from operations by chance, as long and as dear. placebo: tools that are told to the model
    word for word like those of the library, and find nothing. The labels leave the tools as they are.
    """
    from tool_induction.libraries.arms.making import make_arm
    from tool_induction.library import load_library
    from tool_induction.report import priced

    parent = load_library(source, allow_judge=allow_judge, groups=groups or ())
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
    lines = [f"{item.name}: {priced(item.price)}" for item in made.tools.values()]
    show(
        {**record, "tools": list(made.tools)},
        as_json=as_json,
        text=lambda: "\n".join([*lines, "", f"{kind} arm of {parent.name}, frozen in {out}"]),
    )

"""The cells of a run: arms, and libraries for those that take one, across datasets, worlds, budgets and seeds."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from controller.prompts import LANGUAGES, Prompts
from controller.systems.registry import own_system, system_names
from eval.runs.cells import Arm, Cell
from eval.runs.configuration.document import ArmPart
from eval.runs.configuration.reading import Configuration
from eval.runs.planning.questions import Picked
from eval.runs.running.workshop import Workshop, domain_named
from eval.runs.running.worlds import profiles_of
from tool_induction.groups import groups_needed
from tool_induction.language.diagnostics import closest
from tool_induction.library import ToolLibrary
from world_api.core.canonical import content_hash
from world_api.core.faults import EvalFault


@functools.cache
def prompts_hash() -> str:
    """Over all prompts that an episode may use, in every language."""
    from tool_induction.inducing.asking.prompting import InducerPrompts

    return content_hash([*(Prompts(language).hash for language in LANGUAGES), InducerPrompts().hash])


def cells_of(
    configuration: Configuration,
    picked: Sequence[Picked],
    libraries: Mapping[str, ToolLibrary],
    workshop: Workshop,
) -> list[Cell]:
    """All cells, in the order of the configuration.

    Raises:
        EvalFault: ``bad_configuration``: an unknown system, library or world, or a name that stands twice.
    """
    document = configuration.document
    _check_names(configuration)
    arms = [arm for place, part in enumerate(document.arms) for arm in _arms(configuration, place, part, libraries)]
    cells = []
    for arm, one, world, budget, seed in product(arms, picked, document.worlds, document.budgets, document.seeds):
        limits = workshop.budget(budget)
        decides: dict[str, Any] = {
            "system": arm.system,
            "settings": dict(arm.settings),
            "groups": sorted(arm.groups),
            "library": arm.library_hash,
            "model": document.model,
            "request": document.request.model_dump(exclude_none=True),
            "budget": limits.record(),
            "language": document.language,
            "prompts": prompts_hash(),
            "tool_judge": document.tool_judge.model if document.tool_judge is not None else None,
            "perception": document.perception.model_dump() if document.perception is not None else None,
        }
        kind = own_system(arm.system)
        if kind is not None and kind.shows_domain:
            domains = {item.domain: domain.hash for item in one.items if (domain := domain_named(item.domain))}
            decides["domains"] = dict(sorted(domains.items(), key=lambda pair: str(pair[0])))
        cells.append(
            Cell(
                arm=arm,
                dataset=one.name,
                world=world,
                budget=budget,
                seed=seed,
                model=document.model,
                configuration=content_hash(decides),
            )
        )
    _refuse_alike(configuration, cells)
    return cells


def _refuse_alike(configuration: Configuration, cells: Sequence[Cell]) -> None:
    """Refuse cells that share an id: their episodes would lie in one folder, and nobody could read the run."""
    seen: set[str] = set()
    for cell in cells:
        if cell.id.casefold() in seen:
            names = [arm.name for arm in configuration.document.arms]
            raise configuration.bad(
                ("arms", names.index(cell.arm.name)),
                f"two cells of the run would be called {cell.id}",
                hint="give the arm another name",
            )
        seen.add(cell.id.casefold())


def _arms(
    configuration: Configuration, place: int, part: ArmPart, libraries: Mapping[str, ToolLibrary]
) -> Iterator[Arm]:
    """An arm with each library it takes; once where it takes none."""
    known = system_names()
    if part.system not in known:
        near = closest(part.system, known)
        raise configuration.bad(
            ("arms", place),
            f"there is no system {part.system[:64]!r}",
            hint=f"did you mean {near!r}?" if near else "one of: " + ", ".join(known),
        )
    kind = own_system(part.system)
    takes = kind.uses_library if kind is not None else part.libraries is not None
    if part.libraries is not None and not takes:
        raise configuration.bad(("arms", place, "libraries"), f"the system {part.system!r} takes no library")
    settings = part.settings | ({} if part.exposure is None else {"exposure": part.exposure})
    if "split" in settings:
        raise configuration.bad(
            ("arms", place, "settings", "split"), "the split is the question's", hint="give the dataset a `split`"
        )
    given: dict[str, Any] = {
        "name": part.name,
        "system": part.system,
        "settings": settings,
        "groups": tuple(part.groups),
    }
    if not takes:
        yield Arm(**given)
        return
    names = part.libraries or list(libraries)
    if not names:
        raise configuration.bad(
            ("arms", place), f"the system {part.system!r} needs a tool library", hint="add `libraries: [hand_A]`"
        )
    for number, name in enumerate(names):
        if name not in libraries:
            near = closest(name, list(libraries))
            raise configuration.bad(
                ("arms", place, "libraries", number),
                f"no library of this configuration is named {name!r}",
                hint=f"did you mean {near!r}?" if near else "they are: " + (", ".join(libraries) or "none"),
            )
        off = sorted(set(groups_needed(_operations(libraries[name]))) - set(part.groups))
        if off:
            raise configuration.bad(
                ("arms", place), f"the library {name!r} needs the group {off[0]!r}", hint=f"add groups: [{off[0]}]"
            )
        yield Arm(**given, library=name, library_hash=libraries[name].hash)


def _operations(library: ToolLibrary) -> list[str]:
    from tool_induction.library import operations_used

    return operations_used(library.tools)


def _check_names(configuration: Configuration) -> None:
    document = configuration.document
    for key, values in (
        ("arms", [arm.name for arm in document.arms]),
        ("worlds", document.worlds),
        ("seeds", document.seeds),
    ):
        for place, value in enumerate(values):
            if value in values[:place]:
                raise configuration.bad((key, place), f"{value!r} stands twice", hint="give each once, or another name")
    for place, world in enumerate(document.worlds):
        try:
            profiles_of(world)
        except EvalFault as fault:
            raise configuration.bad(("worlds", place), fault.message, hint=fault.hint) from None

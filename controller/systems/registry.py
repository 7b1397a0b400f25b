"""Systems by name: those that come with the product, and those that others add by entry point.

A third party adds one in its own package::

    [project.entry-points."video_world_api.systems"]
    mine = "their_package.their_module:build"

``build`` takes a ``SystemContext`` and returns a ``System``. The product's own names cannot be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.systems.base import LoopSystem, System, SystemBuilder, SystemContext
from controller.systems.baselines import Blind, Direct, Socratic
from controller.systems.tool_systems import Flat, FlatCompose, FlatWithDomain, FlatWithReview, Hier, Hints, Pipeline
from world_api.core.faults import EpisodeFault
from world_api.core.identifiers import suggestion
from world_api.installation import added, load_added

ENTRY_POINT_GROUP = "video_world_api.systems"

_KINDS: tuple[type[LoopSystem[Any]], ...] = (
    Flat, FlatWithDomain, FlatWithReview, Hints, FlatCompose, Hier, Pipeline, Direct, Socratic, Blind,
)  # fmt: skip
_OWN: Mapping[str, SystemBuilder] = {kind.name: kind for kind in _KINDS}


def system_names() -> tuple[str, ...]:
    """Return the names of all systems: the product's own, then those of other packages, sorted."""
    return (*_OWN, *sorted(added(ENTRY_POINT_GROUP, own=_OWN)))


def own_system(name: str) -> type[LoopSystem[Any]] | None:
    """Return the class of one of the product's own systems; None for any other name."""
    return next((kind for kind in _KINDS if kind.name == name), None)


def build_system(name: str, context: SystemContext) -> System:
    """Build a system by name.

    Raises EpisodeFault: ``unknown_system``; ``system_not_loadable``; the faults of the system itself.
    """
    if name in _OWN:
        return _OWN[name](context)
    found = added(ENTRY_POINT_GROUP, own=_OWN).get(name)
    if found is None:
        raise EpisodeFault(
            "unknown_system",
            f"there is no system {name[:64]!r}",
            hint=suggestion(name, system_names()),
        )
    builder: SystemBuilder = load_added(
        found,
        lambda point, why: EpisodeFault(
            "system_not_loadable",
            f"the system {point.name!r} ({point.value}) cannot be loaded: {why[:200]}",
            hint="mend or uninstall the package that adds it",
        ),
    )
    return builder(context)

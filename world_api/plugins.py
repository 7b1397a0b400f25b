"""What other packages add by entry point: found by group, loaded with a named fault."""

from __future__ import annotations

from collections.abc import Callable, Container
from importlib import metadata
from typing import Any

from world_api.core.faults import VideoWorldError

#: Makes the fault of an entry point that cannot be used, of why.
Refusal = Callable[[metadata.EntryPoint, str], VideoWorldError]


def added(group: str, *, own: Container[str]) -> dict[str, metadata.EntryPoint]:
    """The entry points of a group by name; names in ``own`` are the product's and cannot be taken."""
    return {item.name: item for item in metadata.entry_points(group=group) if item.name not in own}


def load_added(point: metadata.EntryPoint, refusal: Refusal) -> Callable[..., Any]:
    """The object that an entry point names.

    Raises:
        VideoWorldError: that of ``refusal``, where it cannot be imported or called.
    """
    try:
        loaded: object = point.load()
    except Exception as error:  # another package may raise anything when it is imported
        raise refusal(point, f"{type(error).__name__}: {error}") from error
    if not callable(loaded):
        raise refusal(point, "it is not callable")
    return loaded

"""Imports of optional libraries, with a fault that names the extra if one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from world_api.core.faults import BackendFault
from world_api.installation import install_command


@contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Turn a failed import inside the block into a fault that names the extra to install.

    Raises BackendFault: ``extra_missing``.
    """
    try:
        yield
    except ImportError as error:
        raise BackendFault(
            "extra_missing",
            f"this needs the extra `{extra}`, which is not installed ({error})",
            hint=install_command(extra),
        ) from None

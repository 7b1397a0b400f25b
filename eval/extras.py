"""Imports of optional libraries, with a fault that names the extra if one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from world_api.core.faults import BackendFault


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
            hint=f"pip install 'video-world-api[{extra}]'",
        ) from None

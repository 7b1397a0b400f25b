"""What tests of running ahead share: a search that finds much, threads that end, an interrupt that comes through."""

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.gated import PATIENCE


@pytest.fixture
def document(document: Any, search: Any) -> Any:
    search["params"]["top_k"] = 20
    return document


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    ahead = [thread for thread in threading.enumerate() if thread.name.startswith("tool-ahead")]
    for thread in ahead:
        thread.join(PATIENCE)  # one that was started amid an interrupt ends by itself
    assert [thread.name for thread in ahead if thread.is_alive()] == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupt is raised, whatever the test runner or an earlier test made of the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

"""Runs documents on the scripted world."""

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.gated import PATIENCE
from tool_induction import run_tool

ARGUMENTS = {"video_id": "film", "query": "somebody"}


@pytest.fixture
def run(compiled: Any, world: Any) -> Any:
    """Runs the last of some documents on the scripted world."""

    def go(*documents: Any, arguments: Any = ARGUMENTS, **options: Any) -> Any:
        tools = compiled(*documents)
        return run_tool(tools, documents[-1]["tool_name"], arguments, call=world, **options)

    return go


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    """Whatever a run ended with, its worker threads end."""
    yield
    workers = [thread for thread in threading.enumerate() if thread.name.startswith("ordered-map")]
    for thread in workers:
        thread.join(PATIENCE)  # one that was started amid an interrupt ends by itself
    assert [thread.name for thread in workers if thread.is_alive()] == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupt is raised, whatever the test runner or an earlier test made of the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

"""Whoever has less time is not kept waiting for longer."""

from __future__ import annotations

import contextvars
import math
import threading

import pytest

from world_api.core import BackendFault, deadline, remaining


def test_without_a_bound_what_is_usual_stays() -> None:
    assert remaining(300.0) == 300.0
    assert remaining(math.inf) == math.inf


def test_the_smaller_bound_counts_and_ends_with_its_block() -> None:
    with deadline(20.0):
        assert remaining(300.0) == 20.0
        assert remaining(5.0) == 5.0
        with deadline(60.0):
            assert remaining(300.0) == 20.0
        with deadline(3.0):
            assert remaining(300.0) == 3.0
        assert remaining(300.0) == 20.0
    assert remaining(300.0) == 300.0


def test_it_reaches_threads_that_run_in_a_copy_of_the_context() -> None:
    found: list[float] = []
    with deadline(20.0):
        copied = threading.Thread(target=contextvars.copy_context().run, args=(lambda: found.append(remaining(300.0)),))
        copied.start()
        copied.join()
    assert found == [20.0]


def test_with_a_clock_all_requests_share_the_time_and_none_comes_after_it() -> None:
    now = [100.0]
    with deadline(20.0, clock=lambda: now[0]):
        assert remaining(300.0) == 20.0
        now[0] = 115.0
        assert remaining(300.0) == 5.0
        with deadline(60.0):
            assert remaining(300.0) == 5.0
            now[0] = 120.0
            with pytest.raises(BackendFault, match="no_time_left"):
                remaining(300.0)
    assert remaining(300.0) == 300.0

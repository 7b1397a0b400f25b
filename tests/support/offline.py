"""A machine without a network: any socket that a test opens is a failure."""

from __future__ import annotations

import socket
from typing import Any

import pytest


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, no socket opens and no name resolves."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo", "create_server", "socketpair"):
        monkeypatch.setattr(socket, name, refuse)

"""``videoworld doctor --endpoint URL --model M``: what a chat endpoint does, and what that means for a controller."""

from __future__ import annotations

import os
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from world_api.core.faults import BackendFault
from world_api.exposure.cli import note, show

if TYPE_CHECKING:
    from world_api.backends.chat.endpoint import Endpoint
    from world_api.backends.chat.probing import Capabilities

_SECONDS = 60.0  #: for one small request
_RETRIES = 2
_WIDTH = 118
_MARGIN = 39


def examine_endpoint(url: str | None, model: str | None, *, again: bool, as_json: bool) -> None:
    """Look at an endpoint and print a table.

    Raises:
        BackendFault: ``endpoint_not_configured``, or why nothing could be found out.
        typer.Exit: 1 where the model cannot be a controller.
    """
    from world_api.backends.chat.endpoint import Endpoint
    from world_api.backends.chat.probing import cache_folder, capabilities_of
    from world_api.backends.clocks import SystemClock

    if not url or not model:
        raise BackendFault(
            "endpoint_not_configured",
            "no endpoint was named" if not url else "no model was named",
            hint="videoworld doctor --endpoint http://127.0.0.1:8000/v1 --model NAME",
        )
    configured = Endpoint.from_environment({**os.environ, "OPENAI_BASE_URL": url})
    endpoint = replace(configured, timeout=_SECONDS, patience=2 * _SECONDS, retries=_RETRIES)
    note(f"asking {endpoint.host} about {model}: about ten small requests")
    found = capabilities_of(
        endpoint,
        model,
        cache=cache_folder(os.environ, home=Path.home()),
        clock=SystemClock(),
        sleep=time.sleep,
        thorough=True,
        again=again,
    )
    record = _record(endpoint, model, found)
    show(record, as_json=as_json, text=lambda: _text(record))
    if not found.usable:
        raise typer.Exit(1)


def _record(endpoint: Endpoint, model: str, found: Capabilities) -> dict[str, Any]:
    from world_api.backends.chat.probing import CHECKS

    checks = [found.check(name) for name in CHECKS]
    return {
        "endpoint": endpoint.host,
        "model": model,
        "usable": found.usable,
        "wire": found.wire,
        "checks": [
            {"check": check.name, "outcome": check.outcome, "seen": check.seen, "means": check.meaning}
            for check in checks
        ],
        "window": found.window,
        "requests": found.requests,
        "tokens": found.spent.record(),
        "asked_at": found.asked_at,
        "complete": found.thorough,
    }


def _text(record: dict[str, Any]) -> str:
    from world_api.backends.chat.probing import OUTCOMES, TITLES

    lines = [f"{record['model']} on {record['endpoint']}, looked at {record['asked_at']}", ""]
    lines.append(f"  {'check':24}{'outcome':13}what was seen -> what it means")
    for row in record["checks"]:
        said = textwrap.wrap(row["seen"] or "-", _WIDTH - _MARGIN)
        if row["means"]:
            said += textwrap.wrap(f"-> {row['means']}", _WIDTH - _MARGIN, subsequent_indent="   ")
        lines.append(f"  {TITLES[row['check']]:24}{OUTCOMES[row['outcome']]:13}{said[0]}")
        lines += [f"{'':{_MARGIN}}{line}" for line in said[1:]]
    if record["window"] is not None:
        lines.append(
            f"  {'context window':24}{'':13}{record['window']:,} tokens, as the server tells -> used where --window is not given"
        )
    tokens = record["tokens"]
    about = "about " if tokens["estimated"] else ""
    lines += [
        "",
        f"  {record['requests']} requests, {about}{tokens['prompt']} + {tokens['completion']} tokens"
        + ("" if record["complete"] else "; not everything could be looked at, ask again later"),
        f"it can be a controller, over {TITLES[record['wire']]}" if record["usable"] else "it cannot be a controller",
    ]
    return "\n".join(lines)

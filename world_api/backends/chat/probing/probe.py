"""Looking at an endpoint: what chooses the wire at first use, everything when asked to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from world_api.backends.chat.endpoint import Endpoint
from world_api.backends.chat.probing.asking import Asker
from world_api.backends.chat.probing.capabilities import Capabilities
from world_api.backends.chat.probing.findings import keep_finding, read_finding
from world_api.backends.chat.probing.looks import Looks
from world_api.backends.chat.probing.notes import Notes, refusal
from world_api.backends.chat.probing.speech import spoken_on
from world_api.backends.chat.probing.windows import window_in
from world_api.backends.chat.wires.chat_completions import points_to_responses
from world_api.backends.chat.wires.named import WireName, wire_named
from world_api.backends.chat.wires.transport import Heard
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock


def capabilities_of(
    endpoint: Endpoint,
    model: str,
    *,
    cache: Path | str | None,
    clock: Clock,
    sleep: Callable[[float], None],
    thorough: bool = False,
    again: bool = False,
) -> Capabilities:
    """What is known of the model, asked for where it is not known yet.

    One or two requests choose the wire and try a tool; ``thorough`` looks at everything. ``cache`` is the folder in which
    findings are kept (None: nowhere); ``again`` asks although there is one.

    Raises:
        BackendFault: ``endpoint_unreachable``, ``endpoint_bad_url``, ``endpoint_refused_key``, ``endpoint_unknown_model``,
            ``endpoint_rate_limited``, ``endpoint_error``: nothing was learnt, and nothing is kept.
    """
    known = None if cache is None or again else read_finding(cache, endpoint, model)
    if known is not None and (known.thorough or not thorough):
        return known
    asker, notes = Asker(endpoint, clock=clock, sleep=sleep), Notes()
    wire = _wire(asker, model, notes)
    whole = thorough and _look_at_all(asker, model, wire, notes)
    window = _window(asker, model) if thorough else None
    found = Capabilities(
        wire=wire,
        checks=notes.checks,
        thorough=whole,
        requests=asker.requests,
        spent=notes.spent,
        asked_at=clock.now(),
        window=window,
    )
    if cache is not None:
        keep_finding(cache, endpoint, model, found)
    return found


def _wire(asker: Asker, model: str, notes: Notes) -> WireName:
    """The wire on which the model takes tools; Chat Completions where both do.

    Raises:
        BackendFault: neither is there, or the model is not.
    """
    chat = Looks(asker, model, "chat", notes)
    heard = chat.first()
    if not _points_elsewhere(heard):
        if heard.status != 200:
            fault = asker.fault(heard, model)
            if fault.code != "endpoint_refused_request":
                raise fault
        notes.note("chat", "ok", "it answers" if heard.status == 200 else refusal(heard))
        return "chat"
    tells_of_tools = "responses" in heard.told.lower()
    notes.note("chat", "wrong" if tells_of_tools else "not_offered", refusal(heard))
    answer = Looks(asker, model, "responses", notes).first()
    if spoken_on(wire_named("responses"), answer) is None:
        raise asker.fault(heard, model)
    notes.note("responses", "ok", "it answers")
    return "responses"


def _look_at_all(asker: Asker, model: str, wire: WireName, notes: Notes) -> bool:
    """Look at everything; whether nothing kept it from being found out."""
    looks = Looks(asker, model, wire, notes)
    if wire == "responses":
        return looks.all()
    other = Looks(asker, model, "responses", notes)
    return all([other.looked("responses", other.there), looks.all()])


def _window(asker: Asker, model: str) -> int | None:
    try:
        return window_in(asker.models().body, model)
    except BackendFault:  # it is good to know, and nothing depends on it
        return None


def _points_elsewhere(heard: Heard) -> bool:
    """Whether Responses is worth a try: there is no Chat Completions here, or it says to go there."""
    if heard.status == 200:
        return spoken_on(wire_named("chat"), heard) is None
    return points_to_responses(heard)

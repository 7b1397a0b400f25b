"""How a model is named, and faults in our own words. What a model or a server wrote stands beside them, as a note for people.

A fault of an operation is shown to the controller's model as it is, outside the fields that are marked as data. So none may
repeat what was read off a picture.
"""

from __future__ import annotations

from world_api.core.canonical import content_hash
from world_api.core.faults import BackendFault
from world_api.core.ports import ChatModel
from world_api.core.printable import printable

_QUOTED = 300  #: characters of a note

#: What is told of an endpoint's fault, by its code.
_OURS = {
    "endpoint_refused_request": "the endpoint did not take the request",
    "endpoint_refused_key": "the endpoint refused the key",
    "endpoint_unknown_model": "the endpoint has no model of that name",
    "endpoint_rate_limited": "the endpoint takes no more requests for now",
    "endpoint_unreachable": "the endpoint did not answer",
}
_ELSE = "the endpoint answered with an error, or with what is no reply"


def producer_of(model: ChatModel, at: str) -> str:
    """Who says something: the model, and where it is, as a hash: an address may tell more than others need to know."""
    return f"endpoint:{model.name}/{content_hash(at)[:12]}"


def one_line(text: str, limit: int) -> str:
    """A text on one line, cut at a limit; U+FFFD stands for what no encoding can write."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def noting(fault: BackendFault, said: str, *, by: str) -> BackendFault:
    """The fault, with the beginning of what was said as a note. Notes are printed for people, and are in no record."""
    if said.strip():
        fault.add_note(f"{by} said: {one_line(said, _QUOTED)}")
    return fault


def in_our_words(fault: BackendFault, model: str) -> BackendFault:
    """A fault of the chat client, which quotes the server, without that quotation."""
    ours = BackendFault(fault.code, f"{model}: {_OURS.get(fault.code, _ELSE)}", hint=fault.hint)
    return noting(ours, fault.message, by="the endpoint's client")

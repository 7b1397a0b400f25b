"""Settings that requests to a model shall have where its server takes them."""

from __future__ import annotations

from typing import Any

from world_api.core.faults import BackendFault
from world_api.core.ports import ChatModel

_REFUSALS = ("endpoint_refused_request", "endpoint_error")
#: What takes the place of a setting that is refused by name: the same under another name, or nothing.
_INSTEAD: dict[str, str | None] = {"max_tokens": "max_completion_tokens", "temperature": None, "response_format": None}


class Wishes:
    """Asks with settings, and without those that the server refuses by name; from then on they are left out.

    Threads may share it.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings: dict[str, Any] = settings

    def complete(self, model: ChatModel, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The request as it was answered, and the reply.

        Raises:
            BackendFault: what the model names, once there is no setting left to do without.
        """
        while True:
            settings = self.settings
            whole = {**request, **settings}
            try:
                return whole, model.complete(whole)
            except BackendFault as fault:
                if not self._yields(fault, settings):
                    raise

    def _yields(self, fault: BackendFault, asked: dict[str, Any]) -> bool:
        """Do without what is refused; whether the request can be sent once more."""
        if fault.code not in _REFUSALS:
            return False
        named = next((name for name in _INSTEAD if name in fault.message and name in asked), None)
        if named is None:
            return False
        if named in self.settings:  # no other thread was faster
            kept = {name: value for name, value in self.settings.items() if name != named}
            instead = _INSTEAD[named]
            self.settings = kept if instead is None else {**kept, instead: asked[named]}
        return True

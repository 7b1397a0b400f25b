"""What a server would not take, read from its own words: pictures, or a setting that can be left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from world_api.core.faults import BackendFault

#: Faults that say a request was understood and not taken; a server that is down or busy says nothing about pictures.
_NOT_TAKEN = frozenset({"endpoint_refused_request", "endpoint_error", "endpoint_unknown_model"})
_PICTURES = re.compile(r"image|vision|visual|multi-?modal|modalit", re.IGNORECASE)
_NOT_ABLE = re.compile(
    r"not support|n't support|unsupported content|only supported by|not a multi-?modal|not multi-?modal|unknown variant"
    r"|not allowed|not accept|n't accept|cannot (?:take|read|process|see)|no (?:vision|image)|text[- ]only"
    r"|required for image|invalid content type|must be a? ?string|not enabled",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"response_format|json_schema|structured|schema|grammar|guided", re.IGNORECASE)


def takes_no_images(fault: BackendFault) -> bool:
    """Whether a server refused a request because there are pictures in it."""
    return (
        fault.code in _NOT_TAKEN
        and _PICTURES.search(fault.message) is not None
        and _NOT_ABLE.search(fault.message) is not None
        and _FORMAT.search(fault.message) is None
    )


#: How often a request may be sent once more at most, since a server refuses a setting: the limit's two names, the others once.
MAY_BE_REFUSED = 4


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a request that a server may refuse. ``structured``: replies are asked for by a JSON Schema."""

    reply_tokens: int
    structured: bool = True
    temperature: bool = True
    limit: str | None = "max_tokens"

    def record(self) -> dict[str, Any]:
        """As a request carries them."""
        limit = {self.limit: self.reply_tokens} if self.limit else {}
        return {**({"temperature": 0} if self.temperature else {}), **limit}

    def without_refused(self, fault: BackendFault) -> Settings | None:
        """The settings without the one that a server named, or else without the schema; None where nothing is left to try."""
        if fault.code not in _NOT_TAKEN or fault.code == "endpoint_unknown_model":
            return None
        if self.limit == "max_tokens" and "max_completion_tokens" in fault.message:
            return replace(self, limit="max_completion_tokens")
        if self.limit is not None and self.limit in fault.message:
            return replace(self, limit="max_completion_tokens" if self.limit == "max_tokens" else None)
        if self.temperature and "temperature" in fault.message:
            return replace(self, temperature=False)
        if self.structured and (fault.code == "endpoint_refused_request" or _FORMAT.search(fault.message)):
            return replace(self, structured=False)
        return None

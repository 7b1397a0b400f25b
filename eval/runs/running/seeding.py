"""The seed of a cell, put into every request to the answering model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world_api.core.ports import ChatModel


class SeededModel:
    """Passes requests on with a ``seed`` and what else each of them is to have.

    It stands above a cache of requests, so that another seed is another draw, and below the recording, so that a replay
    builds the requests as the loop does.
    """

    def __init__(self, model: ChatModel, *, seed: int, request: Mapping[str, Any]) -> None:
        self.name = model.name
        self._model = model
        self._more = {**request, "seed": seed}

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The other model's reply.

        Raises:
            BackendFault: the other model's.
        """
        return self._model.complete({**request, **self._more})

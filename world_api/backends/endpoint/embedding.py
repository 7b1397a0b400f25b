"""Text vectors from an endpoint's ``/embeddings``, with the tries and the patience of the chat models."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from world_api.backends.chat.completions import estimate_tokens, is_count
from world_api.backends.chat.transport import Answering, NotAReply, said_error
from world_api.backends.endpoint.vision import in_our_words, producer_of
from world_api.core.cost import Spent, charge
from world_api.core.faults import BackendFault
from world_api.core.identifiers import printable
from world_api.core.ports import ChatModel, Embedded, Vectors

if TYPE_CHECKING:
    from openai import OpenAI

MAX_CHARACTERS = 2_000  #: of a text; what is longer is cut
_LARGEST = 1e30  #: of the numbers of a reply


class EmbeddingsWire:
    """``POST /embeddings``, as a wire: a request holds ``model`` and ``input``, the reply is the server's answer."""

    name = "embeddings"

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> AbstractContextManager[Answering]:
        """Send the texts. Plain numbers are asked for: the client would else take them packed."""
        return client.embeddings.with_streaming_response.create(
            model=request["model"], input=request["input"], encoding_format="float", timeout=seconds
        )

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer itself.

        Raises:
            NotAReply: it reports an error, or has no list of vectors.
        """
        if isinstance(answer.get("data"), list):
            return answer
        raise said_error(answer) or NotAReply("it has no list of vectors")

    def adapt(self, refusal: str) -> bool:
        """Never: there is nothing to leave out."""
        return False


class EndpointEmbedder:
    """Embeds texts with a model on an endpoint, all in one request. ``model`` speaks over an ``EmbeddingsWire``.

    ``at`` says where the model is: two servers may have different models under one name.
    """

    def __init__(self, model: ChatModel, *, at: str = "") -> None:
        self._model = model
        self.name = model.name
        self.producer = producer_of(model, at)

    def embed_texts(self, texts: Sequence[str], request: str) -> Embedded:
        """One unit vector a text. The cost is charged under the name ``request``.

        Raises:
            BackendFault: ``embedding_unreadable``, and what the endpoint names.
        """
        sent = [printable(text[:MAX_CHARACTERS]) for text in texts]
        try:
            answer = self._model.complete({"model": self._model.name, "input": sent})
        except BackendFault as fault:
            raise in_our_words(fault, self.name) from fault
        usage = answer.get("usage")
        told = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        counted = told if is_count(told) and told < _LARGEST else None
        spent = Spent(
            purpose="perception",
            model=self._model.name,
            request=request,
            prompt=estimate_tokens(sent) if counted is None else counted,
            completion=0,
            estimated=counted is None,
        )
        charge(spent)
        return Embedded(vectors=_unit(self._vectors(answer, len(sent))), spent=spent)

    def _vectors(self, answer: dict[str, Any], count: int) -> Vectors:
        items = answer["data"]
        if len(items) != count:
            raise self._unreadable(f"{len(items)} vectors for {count} texts")
        found: dict[int, list[float]] = {}
        for place, item in enumerate(items):
            index = item.get("index", place) if isinstance(item, dict) else None
            vector = item.get("embedding") if isinstance(item, dict) else None
            if not is_count(index) or index >= count or index in found or not _is_vector(vector):
                raise self._unreadable("one of its vectors is none")
            found[index] = vector
        if len({len(vector) for vector in found.values()}) != 1:
            raise self._unreadable("its vectors differ in length")
        return np.array([found[place] for place in range(count)], dtype=np.float32)

    def _unreadable(self, why: str) -> BackendFault:
        return BackendFault(
            "embedding_unreadable",
            f"what {self.name} sent for texts cannot be read: {why}",
            hint="name a model that makes text vectors with --embedding-model, or none",
        )


def _is_vector(value: Any) -> TypeGuard[list[float]]:
    # The comparison holds for whole numbers beyond any float too, and never for NaN.
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < _LARGEST for one in value)
    )


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    unit: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit

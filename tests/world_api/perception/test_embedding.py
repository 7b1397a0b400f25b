"""Text vectors from an endpoint, through the real client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.chat_server import Answer, ChatServer, SteppingClock
from tests.support.vision_server import VisionServer
from world_api.chat import Endpoint, OpenAIChatModel
from world_api.core import BackendFault, ledger
from world_api.perception import EmbeddingsWire, EndpointEmbedder


@pytest.fixture
def embedder(chat_to: Callable[..., OpenAIChatModel]) -> EndpointEmbedder:
    return EndpointEmbedder(chat_to(wire=EmbeddingsWire()))


def test_texts_become_unit_vectors_in_their_order(embedder: EndpointEmbedder, vision_server: VisionServer) -> None:
    with ledger() as book:
        found = embedder.embed_texts(["a red door", "a blue sea", "a crimson door"], "name")
    assert np.allclose(np.linalg.norm(found.vectors, axis=1), 1.0)
    near = found.vectors @ found.vectors.T
    assert near[0, 2] > near[0, 1]
    assert vision_server.embedded[0]["input"] == ["a red door", "a blue sea", "a crimson door"]
    assert [(item.request, item.prompt, item.purpose) for item in book.items] == [("name", 9, "perception")]


def test_texts_that_no_encoding_can_write_are_embedded(embedder: EndpointEmbedder, vision_server: VisionServer) -> None:
    embedder.embed_texts(["a \ud800 b"], "name")
    assert vision_server.embedded[0]["input"] == ["a \ufffd b"]


def test_vectors_of_two_servers_are_told_apart(embedder: EndpointEmbedder) -> None:
    other = EndpointEmbedder(embedder._model, at="https://elsewhere.example/v1")
    assert other.producer != embedder.producer


def test_large_numbers_become_a_unit_vector(chat_server: ChatServer) -> None:
    clock = SteppingClock()
    endpoint = Endpoint(base_url=chat_server.url, api_key="k")
    model = OpenAIChatModel(endpoint, "emb", clock=clock, sleep=clock.sleep, wire=EmbeddingsWire())
    data, usage = [item(0, [3e29, 4e29])], {"prompt_tokens": 10**400}
    chat_server.play({"object": "list", "data": data, "usage": usage})
    found = EndpointEmbedder(model).embed_texts(["a"], "name")
    assert np.allclose(found.vectors, [[0.6, 0.8]])
    assert found.spent.estimated


def item(index: Any, vector: Any) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": vector}


@pytest.mark.parametrize(
    "data",
    [
        [],
        [item(0, [1.0])],
        [item(0, [1.0]), item(0, [1.0])],
        [item(0, [1.0]), item(7, [1.0])],
        [item(0, [1.0]), item(1, [1.0, 2.0])],
        [item(0, [1.0]), item(1, "AAAA")],
        [item(0, [1.0]), item(1, [])],
        [item(0, [1.0]), item(1, [None])],
        [item(0, [1.0]), item(1, [1e300])],
        [item(0, [1.0]), item(1, [10**400])],
        [item(0, [1.0]), "x"],
    ],
)
def test_what_is_no_vector_of_each_text_is_a_named_fault(chat_server: ChatServer, data: Any) -> None:
    clock = SteppingClock()
    endpoint = Endpoint(base_url=chat_server.url, api_key="k")
    model = OpenAIChatModel(endpoint, "emb", clock=clock, sleep=clock.sleep, wire=EmbeddingsWire())
    chat_server.play({"object": "list", "data": data})
    with pytest.raises(BackendFault) as caught:
        EndpointEmbedder(model).embed_texts(["a", "b"], "name")
    assert caught.value.code == "embedding_unreadable"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (ChatServer.refusal(404, "the model `emb` does not exist", code="model_not_found"), "endpoint_unknown_model"),
        (ChatServer.refusal(401, "no"), "endpoint_refused_key"),
        (ChatServer.raw(b"<html>"), "endpoint_error"),
        (ChatServer.ok({"choices": []}), "endpoint_error"),
    ],
)
def test_an_endpoint_without_vectors_is_named_as_the_others_are(
    chat_server: ChatServer, answer: Answer, code: str
) -> None:
    clock = SteppingClock()
    endpoint = Endpoint(base_url=chat_server.url, api_key="k", retries=0)
    model = OpenAIChatModel(endpoint, "emb", clock=clock, sleep=clock.sleep, wire=EmbeddingsWire())
    chat_server.play(answer)
    with pytest.raises(BackendFault) as caught:
        EndpointEmbedder(model).embed_texts(["a"], "name")
    assert caught.value.code == code

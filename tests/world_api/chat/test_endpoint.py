"""Where an endpoint is, and what of that is told."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.support.chat_server import KEY
from world_api.chat import Endpoint, completion


def at(url: str, key: str = "not-needed") -> Endpoint:
    return Endpoint(base_url=url, api_key=key)


def test_neither_the_key_nor_the_address_is_in_a_representation() -> None:
    shown = repr(at("https://someone:hidden-word@h.example/v1?sig=another-word", KEY))
    assert shown == "Endpoint(h.example)"


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("https://someone:hidden-word@h.example/v1", "hidden-word"),
        ("https://someone:hidden%2Fword@h.example/v1", "hidden/word"),
        ("https://someone:hidden%2Fword@h.example/v1", "hidden%2Fword"),
        ("https://hidden-word@h.example/v1", "hidden-word"),
        ("https://a:hidden-word@h.example/v1", base64.b64encode(b"a:hidden-word").decode()),
        ("https://h.example/v1?api_key=hidden-word", "hidden-word"),
        ("https://h.example/v1?v=1&Sig=hidden%2Fword", "hidden/word"),
        ("https://h.example/v1?access_token=pin7", "pin7"),
    ],
)
def test_what_of_an_address_is_secret_is_blotted_out(url: str, secret: str) -> None:
    assert at(url).without_key(f"it was {secret}.") == "it was [key]."


def test_what_of_an_address_is_no_secret_stays() -> None:
    endpoint = at("https://someone:hidden-word@h.example/v1?api-version=2024-10-21")
    assert endpoint.without_key("someone asked on 2024-10-21") == "someone asked on 2024-10-21"


def test_a_short_key_is_blotted_out_where_it_stands_alone() -> None:
    endpoint = at("https://h.example/v1", "car7")
    assert endpoint.without_key("car7, 'CAR7': scar7 car77 x_car7_") == "[key], '[key]': scar7 car77 x_[key]_"


@pytest.mark.parametrize("key", ["k", "abc", "EMPTY", "none", "not-needed"])
def test_what_is_too_short_or_a_word_for_no_key_stays(key: str) -> None:
    assert at("https://h.example/v1", key).without_key(f"the {key} box") == f"the {key} box"


def test_a_server_that_repeats_the_password_of_its_address_is_blotted_out(chat_server: Any, connect: Any) -> None:
    chat_server.play(completion(model="m", content="you are hidden-word"))
    url = chat_server.url.replace("//", "//someone:hidden-word@")
    reply = connect(base_url=url).complete({"model": "m", "messages": [{"role": "user", "content": "Hm?"}]})
    assert reply["choices"][0]["message"]["content"] == "you are [key]"


def test_addresses_that_differ_in_their_query_are_two_and_tell_nothing_of_it() -> None:
    one, two = (at(f"https://h.example/v1?deployment={name}").address for name in ("first-one", "second"))
    assert one != two
    assert "first-one" not in one
    assert at("https://h.example/v1/").address == "https://h.example/v1"

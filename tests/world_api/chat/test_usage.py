"""Tokens, as the server counted them or by estimate."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from world_api.chat import IMAGE_TOKENS, LOW_DETAIL_IMAGE_TOKENS, Usage, completion, estimate_tokens, usage_of

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "What is seen?"}]}


def counted(**usage: Any) -> Usage:
    return usage_of(REQUEST, completion(model="m", content="yes") | {"usage": usage})


def image(characters: int, **settings: str) -> dict[str, Any]:
    url = "data:image/jpeg;base64," + base64.b64encode(b"x" * characters).decode()
    return {"type": "image_url", "image_url": {"url": url, **settings}}


def asking(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": list(parts)}]}


def test_cached_and_reasoning_tokens_are_parts_of_the_others() -> None:
    found = counted(
        prompt_tokens=100,
        completion_tokens=50,
        prompt_tokens_details={"cached_tokens": 80},
        completion_tokens_details={"reasoning_tokens": 40},
    )
    assert found == Usage(prompt=100, completion=50, cached=80, reasoning=40)
    assert found.total == 150
    assert (found + found).reasoning == 80


@pytest.mark.parametrize(
    "details", [None, 3, [], {}, {"cached_tokens": None}, {"cached_tokens": -1}, {"cached_tokens": True}]
)
def test_details_that_are_no_counts_are_none(details: Any) -> None:
    assert counted(prompt_tokens=100, completion_tokens=5, prompt_tokens_details=details).cached == 0


@pytest.mark.parametrize(
    "told",
    [
        {"prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 20},
        {"cached_tokens": 80},
        {"cached_tokens": 80, "prompt_tokens_details": {"cached_tokens": 80}},
        {"cached_tokens": 80, "prompt_tokens_details": None},
    ],
)
def test_cached_tokens_are_found_wherever_servers_tell_them(told: dict[str, Any]) -> None:
    assert counted(prompt_tokens=100, completion_tokens=5, **told).cached == 80


def test_no_part_is_more_than_the_whole() -> None:
    found = counted(
        prompt_tokens=10,
        completion_tokens=5,
        prompt_tokens_details={"cached_tokens": 99},
        completion_tokens_details={"reasoning_tokens": 99},
    )
    assert (found.cached, found.reasoning) == (10, 5)


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": 3}, {"prompt_tokens": 1.5, "completion_tokens": 2}])
def test_without_a_count_there_is_an_estimate_that_says_so(usage: Any) -> None:
    found = usage_of(REQUEST, completion(model="m", content="yes") | {"usage": usage})
    assert found.estimated
    assert found.prompt > 0


def test_an_image_counts_the_same_however_many_bytes_it_has() -> None:
    reply = completion(model="m", content="yes")
    small, large = (usage_of(asking(image(size)), reply).prompt for size in (300, 3_000_000))
    assert small == large
    without = usage_of(asking(), reply).prompt
    assert small - without == pytest.approx(IMAGE_TOKENS, abs=5)
    low = usage_of(asking(image(300, detail="low")), reply).prompt
    assert low - without == pytest.approx(LOW_DETAIL_IMAGE_TOKENS, abs=5)


def test_several_images_count_each() -> None:
    several = estimate_tokens(asking(*[image(900)] * 10)["messages"])
    assert several == pytest.approx(10 * IMAGE_TOKENS, rel=0.02)


def test_words_about_images_are_words() -> None:
    text = {"type": "text", "text": "image_url " * 100}
    assert estimate_tokens(text) > 200
    assert estimate_tokens({"type": "image_url"}) < 20


def test_four_plain_characters_make_a_token_and_so_does_any_other() -> None:
    assert estimate_tokens("a" * 398) == 100
    assert estimate_tokens("看" * 100) == 100

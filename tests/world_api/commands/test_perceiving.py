"""What the options say about a model that looks becomes that model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chat_server import SteppingClock
from world_api.api import vision_config
from world_api.options import VisionChoices
from world_api.session import VisionConfig


def eyes(url: str = "http://127.0.0.1:9/v1", **more: Any) -> VisionConfig:
    chosen = VisionChoices(profile="endpoint", model="eye-1", embedding_model="emb", **more)
    found = vision_config(
        chosen, clock=SteppingClock(), environment={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k" * 20}
    )
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def no_findings(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("VIDEOWORLD_CACHE", str(tmp_path))


@pytest.mark.parametrize("other", ["http://127.0.0.1:10/v1", "http://127.0.0.1:9/v2", "http://elsewhere.example:9/v1"])
def test_the_same_name_on_another_server_is_another_model(other: str) -> None:
    here, there = eyes(), eyes(other)
    assert here.producer != there.producer
    assert here.embedder is not None
    assert there.embedder is not None
    assert here.embedder.producer != there.embedder.producer


def test_credentials_are_no_part_of_who_looks() -> None:
    plain, with_password = eyes(), eyes("http://me:secret@127.0.0.1:9/v1")
    assert plain.producer == with_password.producer
    assert "127.0.0.1" not in plain.producer


def test_the_language_of_looks_is_that_which_was_chosen() -> None:
    english, chinese = eyes(), eyes(language="zh")
    assert english.producer != chinese.producer
    assert "/zh" in chinese.vision.producer

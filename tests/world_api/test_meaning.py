"""Search by meaning: paraphrases and translations find their line, and a line is no answer to how something looks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import WorldMaker
from world_api import api, open_session, run
from world_api.core import BackendFault
from world_api.core.ports import Calibration
from world_api.perception import ModelFolder
from world_api.search import prepare

Cli = Callable[..., Any]
LINES = [
    "The fuel was used up.",
    "A wedding in the autumn.",
    "The hotel is a more amiable woman's house.",
    "Hello there.",
]
#: Words -> what they mean: dimensions of the vectors of ``Concepts``.
MEANINGS = {"fuel": 0, "petrol": 0, "没油": 0, "wedding": 1, "marry": 1, "结婚": 1, "woman": 2, "hello": 3, "person": 4}


class Concepts:
    """A text encoder that knows a few words in two languages."""

    noise_floor = 0.1
    understands = True
    dimension = 8
    calibration = Calibration(sure=0.7, doubtful=0.3, lines=4, growth=0.0, absent=(1, 50), present=(2, 40))

    def __init__(self, name: str = "concepts/1") -> None:
        self.producer = name
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.embedded += texts
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word, place in MEANINGS.items():
                vectors[row, place] += word in text.casefold()
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)

    def embed_query(self, text: str) -> Any:
        return self.embed([text])


def speech(lines: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "start": 10.0 * place + 2, "end": 10.0 * place + 6, "text": text, "speaker": "", "language": "en",
            "source": "sidecar", "confidence": 1.0, "known_at": 10.0 * place + 6,
            "producer": "made/1",
        }
        for place, text in enumerate(lines)
    ]  # fmt: skip


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Concepts:
    """The encoder that every session here has."""
    found = Concepts()
    monkeypatch.setattr(api, "text_embedder", lambda models=None: found)
    return found


def search(store: Path, query: str, *, as_of: float | None = None, operation: str = "text") -> dict[str, Any]:
    session = open_session(store, "made", name=None, as_of=as_of)
    return run(session, f"search_segments_by_{operation}", {"video_id": "made", "query": query, "top_k": 3})


def snippets(found: dict[str, Any]) -> list[str]:
    return [hit["snippet"] for hit in found["candidates"]]


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize("operation", ["text", "semantics"])
@pytest.mark.parametrize(("query", "line"), [("no petrol", 0), ("车没油了", 0), ("两个人结婚", 1)])
def test_a_paraphrase_and_a_translation_find_the_line_first(
    make_world: WorldMaker, operation: str, query: str, line: int
) -> None:
    make_world({"speech": speech(LINES)}, duration=40.0)
    found = search(make_world.store, query, operation=operation)
    assert snippets(found)[0] == LINES[line]
    assert found["candidates"][0]["matching_lines"][0]["start_time"] == 10.0 * line + 2
    assert "a line is about that" in found["hint"]


@pytest.mark.usefixtures("encoder")
def test_what_no_line_is_about_is_said_with_how_often_that_is_wrong(make_world: WorldMaker) -> None:
    make_world({"speech": speech(LINES)}, duration=40.0)
    found = search(make_world.store, "astronomers and planets")
    assert "no line is about that" in found["hint"]
    assert "2 of 40" in found["hint"]
    assert found["not_found"] == []


@pytest.mark.usefixtures("encoder")
def test_nothing_behind_the_cut_is_found_or_counted(make_world: WorldMaker) -> None:
    make_world({"speech": speech(LINES)}, duration=40.0)
    assert snippets(search(make_world.store, "结婚", as_of=20.0))[:1] == [LINES[1]]
    early = search(make_world.store, "结婚", as_of=9.0)
    assert LINES[1] not in snippets(early)
    assert "no line is about that" in early["hint"]


def test_what_is_said_after_the_cut_does_not_decide_how_what_is_before_it_is_found(
    make_world: WorldMaker, encoder: Concepts
) -> None:
    """More texts than are embedded without preparation, of which the cut sees four."""
    later = [f"Line {number} is about the wedding." for number in range(5_000)]
    make_world({"speech": speech([*LINES, *later])}, duration=10.0 * (len(LINES) + len(later)))
    assert "reindex" in search(make_world.store, "结婚")["hint"]
    encoder.embedded.clear()
    early = search(make_world.store, "结婚", as_of=40.0)
    assert snippets(early)[0] == LINES[1]
    assert "reindex" not in early["hint"]
    assert set(encoder.embedded).isdisjoint(later)


@pytest.mark.parametrize("has_encoder", [False, True])
def test_no_spoken_line_comes_first_where_looks_are_asked_for(
    make_world: WorldMaker, monkeypatch: pytest.MonkeyPatch, has_encoder: bool
) -> None:
    if has_encoder:
        monkeypatch.setattr(api, "text_embedder", lambda models=None: Concepts())
    from tests.conftest import made_rows

    make_world({**made_rows(), "speech": speech(LINES)})
    for query in ("a woman with long blonde hair", "一个金发的女人"):
        for operation in ("text", "semantics"):
            found = search(make_world.store, query, operation=operation)["candidates"]
            assert found[0]["source"] != "speech", (query, found)
            assert found[0]["lacks"], "what is seen has no blonde hair"


def test_vectors_of_two_encoders_are_never_mixed(make_world: WorldMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    make_world({"speech": speech(LINES)}, duration=40.0)
    first, second = Concepts(), Concepts("concepts/2")
    prepare(make_world.store, "made", first)
    assert set(LINES) <= set(first.embedded)
    first.embedded.clear()
    monkeypatch.setattr(api, "text_embedder", lambda models=None: first)
    assert snippets(search(make_world.store, "petrol"))[0] == LINES[0]
    assert first.embedded == ["petrol"], "stored vectors serve"
    keys = {open_session(make_world.store, "made", name=None).memo_key}
    monkeypatch.setattr(api, "text_embedder", lambda models=None: second)
    assert snippets(search(make_world.store, "petrol"))[0] == LINES[0]
    assert set(LINES) <= set(second.embedded), "another model makes its own"
    keys.add(open_session(make_world.store, "made", name=None).memo_key)
    assert len(keys) == 2


@pytest.mark.usefixtures("encoder")
def test_memories_are_found_by_meaning(make_world: WorldMaker) -> None:
    make_world({"speech": speech(LINES)}, duration=40.0)
    session = open_session(make_world.store, "made", name=None)
    about = {"start_time": 0, "end_time": 10}
    for content in ("They marry in May.", "Two cups on a table."):
        run(session, "write_memory", {"video_id": "made", "level": "event", "time_range": about, "content": content})
    found = run(session, "read_memory", {"video_id": "made", "level": "event", "query": "结婚", "top_k": 2})
    assert [memory["content"] for memory in found["memories"]] == ["They marry in May."]


def test_a_folder_that_is_no_text_encoder_is_refused(tmp_path: Path) -> None:
    models = ModelFolder(tmp_path / "models")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BackendFault, match="tokenizer") as refused:
        models.add(tmp_path / "empty", name="t", options={}, licence="", task="text_encoder")
    assert refused.value.code == "model_missing"
    assert models.text_encoder() is None


# --- with the weights: `make test-neural` -----------------------------------------------------------------------------

NAME = "use-multilingual-v3"


@pytest.fixture
def models() -> ModelFolder:
    folder = ModelFolder(Path(os.environ.get("VIDEOWORLD_TEST_MODELS", "no-models")).resolve())
    if not folder.is_present(folder.find(NAME)):
        pytest.skip(f"the weights of {NAME} are not here: `videoworld models pull {NAME} --folder FOLDER`")
    return folder


def test_the_multilingual_encoder_knows_translations_from_other_sentences(models: ModelFolder) -> None:
    encoder = models.text_encoder()
    assert encoder is not None
    assert encoder.dimension == 512
    english = ["The bank refused the loan.", "The dog hid its bone.", "Our flight was late because of fog."]
    chinese = ["银行拒绝了贷款。", "狗把骨头藏起来了。", "航班因为大雾晚点了。"]
    scores = encoder.embed(english) @ encoder.embed(chinese).T
    assert (np.diag(scores) > 0.5).all()
    assert (scores - np.diag(np.diag(scores)) < 0.3).all()
    assert not encoder.embed(["...", ""]).any()
    again = encoder.embed([english[1], "x " * 500, english[0]])[[2, 0]]
    assert np.allclose(again, encoder.embed(english[:2]), atol=1e-5), "a vector does not depend on its neighbours"


def test_doctor_names_the_encoder_and_a_damaged_one_is_refused(
    models: ModelFolder, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = ModelFolder(tmp_path / "models")
    copy.pull(copy.find(NAME), offered=models.folder)
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(copy.folder))
    texts = json.loads(cli("doctor", "--json").out)["models"]["texts"]
    assert texts["producer"].startswith(NAME)
    assert texts["calibrated"]
    path = copy.path(copy.find(NAME).files[1])
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    encoder = copy.text_encoder()
    assert encoder is not None
    with pytest.raises(BackendFault, match="its hash differs"):
        encoder.embed(["a"])


def test_a_paraphrased_and_a_chinese_query_find_english_lines_with_the_weights(
    models: ModelFolder, make_world: WorldMaker
) -> None:
    lines = ["I forgot my umbrella on the bus.", "The judge asked the witness to speak louder.", "We planted tomatoes."]
    make_world({"speech": speech(lines)}, duration=30.0)
    session = open_session(make_world.store, "made", name=None, models=models.folder)
    for query, line in (("我把雨伞忘在公交车上了", 0), ("法官让证人说大声点", 1), ("growing vegetables", 2)):
        found = run(session, "search_segments_by_text", {"video_id": "made", "query": query, "top_k": 3})
        assert snippets(found)[0] == lines[line], query
    found = run(session, "search_segments_by_text", {"video_id": "made", "query": "股票价格下跌了", "top_k": 3})
    assert "a line is about that, by" not in found["hint"]

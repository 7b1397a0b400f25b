"""Pairs of encoders, tags by them and image classifiers: the contract, with files made here and, where they are, real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import Cli
from tests.support.tiny_pairs import OPTIONS, WORDS, write_classifier, write_pair
from world_api.core import BackendFault, ImageTextEncoder, RgbImage
from world_api.perception import ImageTextOptions, ModelFolder, TagList, ZeroShotTagger

RED, GREEN, BLUE, GREY = (200, 0, 0), (0, 200, 0), (0, 0, 200), (128, 128, 128)


def plain(colour: tuple[int, int, int], size: tuple[int, int] = (60, 100)) -> RgbImage:
    return np.full((*size, 3), colour, dtype=np.uint8)


def added(tmp_path: Path, **options: Any) -> ModelFolder:
    models = ModelFolder(tmp_path / "models")
    models.add(
        write_pair(tmp_path / "pair"), name="tiny", options={**OPTIONS, **options}, licence="", task="image_text"
    )
    return models


@pytest.fixture
def encoder(tmp_path: Path) -> ImageTextEncoder:
    models = added(tmp_path)
    return models.encoder(models.find("tiny"))


def test_vectors_of_pictures_and_texts_have_unit_length_and_are_comparable(encoder: ImageTextEncoder) -> None:
    pictures = encoder.encode_images([plain(RED), plain(GREEN), plain(BLUE, (80, 50))])
    texts = encoder.encode_texts(["something red", "Green!", "the blue one"])
    assert pictures.dtype == texts.dtype == np.float32
    assert pictures.shape == texts.shape == (3, 3)
    assert np.allclose(np.linalg.norm(pictures, axis=1), 1, atol=1e-5)
    assert (pictures @ texts.T).argmax(axis=1).tolist() == [0, 1, 2]
    assert encoder.encode_images([]).shape[0] == encoder.encode_texts([]).shape[0] == 0


@pytest.mark.parametrize("batch", ["batch", 1, 4])
def test_vectors_do_not_depend_on_the_batch(tmp_path: Path, batch: int | str) -> None:
    models = ModelFolder(tmp_path / "models")
    models.add(write_pair(tmp_path / "pair", batch=batch), name="t", options=OPTIONS, licence="", task="image_text")
    encoder = models.encoder(models.find("t"))
    random = np.random.default_rng(3)
    pictures = [random.integers(0, 255, (40, 70, 3), dtype=np.uint8) for _ in range(19)]
    at_once = encoder.encode_images(pictures)
    assert np.allclose(at_once, np.concatenate([encoder.encode_images([one]) for one in pictures]), atol=1e-5)
    texts = [f"{word} {other}" for word in WORDS for other in WORDS]
    assert np.allclose(
        encoder.encode_texts(texts), np.concatenate([encoder.encode_texts([one]) for one in texts]), atol=1e-5
    )


def test_long_texts_keep_their_end_token_and_other_scripts_have_tokens(encoder: ImageTextEncoder) -> None:
    first, second = encoder.encode_texts(["red " * 50, "red " * 3])
    assert np.allclose(first, second, atol=1e-5)
    assert encoder.encode_texts(["红色的房间 ½ 'tis 🙂"]).shape == (1, 3)


@pytest.mark.parametrize("text", ["", "  "])
def test_a_text_without_words_is_a_fault(encoder: ImageTextEncoder, text: str) -> None:
    with pytest.raises(BackendFault) as caught:
        encoder.encode_texts(["red", text])
    assert caught.value.code == "empty_text" and caught.value.hint


def test_only_words_that_beat_neutral_texts_by_the_margin_become_tags(encoder: ImageTextEncoder) -> None:
    kinds = {
        "place": {"prompts": ["{}", "a {}"], "words": {"kitchen": "厨房", "red": "红", "castle": "城堡"}, "most": 2},
        "action": {"prompts": ["{}"], "words": {"dancing": "跳舞"}},
    }
    words = TagList.model_validate({"neutral": ["a photo", "blue"], "kinds": kinds})
    tagger = ZeroShotTagger(encoder, words)
    green, red, blue = tagger.tag([plain(GREEN), plain(RED), plain(BLUE)])
    assert [(tag.kind, tag.word, tag.chinese) for tag in green.tags] == [
        ("place", "kitchen", "厨房"), ("action", "dancing", "跳舞"),
    ]  # fmt: skip
    assert [tag.word for tag in red.tags] == ["red"]
    assert blue.tags == ()  # a neutral text fits it as well
    assert all(0 < tag.score <= 2 for tag in green.tags) and green.vector is not None


def test_the_same_pair_gives_the_same_vectors_and_another_one_another_name(tmp_path: Path) -> None:
    models = added(tmp_path)
    first, again = models.encoder(models.find("tiny")), models.encoder(models.find("tiny"))
    assert first.producer == again.producer
    assert np.array_equal(first.encode_images([plain(RED)]), again.encode_images([plain(RED)]))
    other = added(tmp_path / "other", fit="squash")
    assert other.encoder(other.find("tiny")).producer != first.producer


def test_files_that_do_not_fit_are_refused_with_what_to_do(tmp_path: Path) -> None:
    models = ModelFolder(tmp_path / "models")

    def refused(folder: Path, code: str, word: str, **options: Any) -> None:
        with pytest.raises(BackendFault) as caught:
            models.add(folder, name="t", options={**OPTIONS, **options}, licence="", task="image_text")
        assert caught.value.code == code
        assert word in caught.value.message + caught.value.hint and caught.value.hint

    refused(tmp_path / "nothing", "model_missing", "no file")
    lacking = write_pair(tmp_path / "lacking")
    (lacking / "text.onnx").unlink()
    refused(lacking, "model_missing", "text.onnx")
    two = write_pair(tmp_path / "two", words={"red": (1, 0, 0, 0)})
    refused(two, "model_unusable", "4")
    corrupt = write_pair(tmp_path / "corrupt")
    (corrupt / "image.onnx").write_bytes(b"no model")
    refused(corrupt, "model_unusable", "t cannot be used")
    wordless = write_pair(tmp_path / "wordless")
    (wordless / "vocabulary.txt").write_text("version\na b c\n", encoding="utf-8")
    refused(wordless, "model_unusable", "vocabulary.txt")
    refused(write_pair(tmp_path / "pair"), "bad_catalogue", "sides", sides=3)
    assert models.added() == []


def test_weights_that_were_changed_are_damaged_and_left_out_by_name(tmp_path: Path) -> None:
    models = added(tmp_path)
    path = models.folder / "text.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(BackendFault) as caught:
        models.tagger()
    assert caught.value.code == "model_damaged"
    said: list[str] = []
    assert models.tagger(say=said.append) is None
    assert "text.onnx" in said[0]


def test_a_classifier_gives_tags_of_things_from_its_least_probability_on(tmp_path: Path) -> None:
    models, path = ModelFolder(tmp_path / "models"), write_classifier(tmp_path / "colours.onnx")
    labels = ["a red thing", "a green thing", "a blue thing"]
    options = {"labels": labels, **{key: OPTIONS[key] for key in ("side", "mean", "std")}, "least": 0.6}
    models.add(path, name="colours", options=options, licence="", task="image_classifier")
    tagger = models.tagger()
    assert tagger is not None
    red, grey = tagger.tag([plain(RED), plain(GREY)])
    assert [(tag.kind, tag.word) for tag in red.tags] == [("thing", "a red thing")]
    assert 0.6 <= red.tags[0].score <= 1 and red.vector is None
    assert grey.tags == ()
    same = {**options, "labels": ["crane"] * 3, "least": 0.01}  # a row for each would have one key
    models.add(path, name="cranes", options=same, licence="", task="image_classifier")
    [both] = models.tagger_of(models.find("cranes")).tag([plain(RED)])
    assert [tag.word for tag in both.tags] == ["crane"]
    with pytest.raises(BackendFault, match="3 classes, and 2 labels"):
        models.add(path, name="two", options={**options, "labels": labels[:2]}, licence="", task="image_classifier")
    assert "image_text" in added(tmp_path / "both").tagger().parameters  # type: ignore[union-attr]


def test_a_classifier_whose_scores_are_not_finite_is_refused_and_tags_nothing(tmp_path: Path) -> None:
    models, path = ModelFolder(tmp_path / "models"), write_classifier(tmp_path / "nan.onnx", factor=float("nan"))
    options = {"labels": ["a red thing", "a green thing", "a blue thing"], "side": OPTIONS["side"]}
    with pytest.raises(BackendFault, match="not finite"):
        models.add(path, name="nan", options=options, licence="", task="image_classifier")


def test_what_is_missing_is_named_by_what_the_task_wants(cli: Cli, tmp_path: Path) -> None:
    folder = ("--folder", str(tmp_path / "models"))
    (tmp_path / "empty.onnx").touch()

    def hint(path: str, task: str) -> str:
        failed = cli("models", "add", path, "--task", task, "--json", *folder, store=None)
        assert failed.status == 1
        return str(failed.json["error"]["message"] + failed.json["error"]["hint"])

    assert "image.onnx, text.onnx" in hint(str(tmp_path / "nothing"), "image_text")
    assert "of a classifier" in hint(str(tmp_path / "nothing"), "image_classifier")
    assert "is empty" in hint(str(tmp_path / "empty.onnx"), "image_text")
    assert f"{Path.cwd()} is a folder" in hint("", "detector")


def test_a_file_is_no_folder_of_models(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(tmp_path / "file"))
    failed = cli("models", "list", "--json", store=None)
    assert (failed.status, failed.json["error"]["code"]) == (1, "bad_catalogue")
    assert "is a file" in failed.json["error"]["message"]
    assert "is a file" in cli("doctor", "--json", store=None).json["models"]["problem"]


def test_commands_add_list_and_check_a_pair(cli: Cli, tmp_path: Path) -> None:
    folder = ("--folder", str(tmp_path / "models"))
    settings = [part for key, value in OPTIONS.items() for part in ("--set", f"{key}={value}")]
    pair = str(write_pair(tmp_path / "pair"))
    cli("models", "add", pair, "--task", "image_text", *settings, *folder, store=None)
    listed = cli("models", "list", "--json", *folder, store=None).json["models"]
    assert ("pair", "image_text", "present") in [(one["name"], one["task"], one["state"]) for one in listed]
    checked = cli("models", "check", "--json", *folder, store=None).json["models"]
    assert next(one for one in checked if one["name"] == "pair")["problem"] == ""
    failed = cli("models", "add", pair, "--task", "dreams", *folder, store=None)
    assert failed.status and "image_classifier" in failed.err


def test_a_picture_is_cut_to_its_middle_or_squashed() -> None:
    picture = np.zeros((20, 60, 3), dtype=np.uint8)
    picture[:, 20:40] = 255
    flat = {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}
    assert ImageTextOptions(fit="crop", **flat).pixels([picture], 20).mean() > 0.95
    assert abs(ImageTextOptions(fit="squash", **flat).pixels([picture], 20).mean() - 1 / 3) < 0.05

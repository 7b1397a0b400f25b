"""The adapter with the real faster-whisper: with random weights that the package takes what the adapter gives and gives what the
adapter takes; with the weights of ``whisper-base`` (VIDEOWORLD_TEST_MODELS) how many words are wrong.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.building import made_clip
from world_api.build import RecognisedSpeech
from world_api.core import SAMPLE_RATE, Samples, TimeSpan
from world_api.media import read_audio
from world_api.perception import ModelFolder, WhisperRecogniser, adapter

WIDTH, WORDS, MELS = 64, 50257, 80


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one layer in CTranslate2's form, with a tokenizer of Whisper's size."""
    pytest.importorskip("faster_whisper", reason="the extra [speech] is not installed")
    from ctranslate2.specs.whisper_spec import WhisperSpec
    from faster_whisper.tokenizer import _LANGUAGE_CODES

    folder = tmp_path_factory.mktemp("tiny-random")
    languages = [f"<|{code}|>" for code in _LANGUAGE_CODES[:99]]
    tokens = tokenizer(languages)
    tokens.save(str(folder / "tokenizer.json"))
    spec = WhisperSpec(num_encoder_layers=1, num_encoder_heads=2, num_decoder_layers=1, num_decoder_heads=2)
    fill(spec, tokens.get_vocab_size())
    spec.register_vocabulary([token for token, _ in sorted(tokens.get_vocab().items(), key=lambda item: item[1])])
    spec.config.suppress_ids, spec.config.suppress_ids_begin = [], []
    spec.config.alignment_heads = [(0, 0)]
    spec.config.lang_ids = [tokens.token_to_id(language) for language in languages]
    spec.validate()
    spec.save(str(folder))
    return folder


def tokenizer(languages: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = letters + [f"w{number}" for number in range(WORDS - len(letters))]
    made = Tokenizer(models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=[]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    tasks = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    made.add_special_tokens(
        ["<|endoftext|>", "<|startoftranscript|>", *languages, *(f"<|{task}|>" for task in tasks)]
        + [f"<|{step * 0.02:.2f}|>" for step in range(1501)]
    )
    return made


def fill(spec: Any, words: int) -> None:
    noise = np.random.default_rng(0)

    def values(*shape: int) -> Any:
        return (noise.normal(size=shape) * 0.05).astype(np.float32)

    def linear(layer: Any, out: int, into: int) -> None:
        layer.weight, layer.bias = values(out, into), np.zeros(out, np.float32)

    def norm(layer: Any) -> None:
        layer.gamma, layer.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    def attention(layer: Any, *shares: int) -> None:
        norm(layer.layer_norm)
        for part, share in zip(layer.linear, shares, strict=True):
            linear(part, share * WIDTH, WIDTH)

    def feed_forward(layer: Any) -> None:
        norm(layer.layer_norm)
        linear(layer.linear_0, 4 * WIDTH, WIDTH)
        linear(layer.linear_1, WIDTH, 4 * WIDTH)

    encoder, decoder = spec.encoder, spec.decoder
    for convolution, channels in ((encoder.conv1, MELS), (encoder.conv2, WIDTH)):
        convolution.weight, convolution.bias = values(WIDTH, channels, 3), np.zeros(WIDTH, np.float32)
    encoder.position_encodings.encodings = values(1500, WIDTH)
    decoder.position_encodings.encodings = values(448, WIDTH)
    decoder.embeddings.weight = decoder.projection.weight = values(words, WIDTH)
    decoder.scale_embeddings = False
    for part in (encoder, decoder):
        norm(part.layer_norm)
        for layer in part.layer:
            attention(layer.self_attention, 3, 1)
            feed_forward(layer.ffn)
    for layer in decoder.layer:
        attention(layer.attention, 1, 2, 1)


@pytest.mark.parametrize("language", ["", "en", "zh"])
def test_the_real_package_takes_sound_and_gives_lines_and_words(model: Path, language: str) -> None:
    sound = np.random.default_rng(1).normal(0, 0.1, 6 * SAMPLE_RATE).astype(np.float32)
    recogniser = WhisperRecogniser(str(model))
    lines = recogniser.transcribe(sound, language)
    assert lines
    for line in lines:
        assert 0 <= line.start <= line.end <= 6.0
        assert 0 <= line.confidence <= 1
        assert line.language == language or not language
        assert all(0 <= word.start <= word.end <= 6.0 and 0 <= word.confidence <= 1 for word in line.words)
    assert any(line.words for line in lines)
    assert recogniser.transcribe(sound, language) == lines


# --- with trained weights -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained() -> WhisperRecogniser:
    pytest.importorskip("faster_whisper", reason="the extra [speech] is not installed")
    folder = ModelFolder(Path(os.environ.get("VIDEOWORLD_TEST_MODELS", "no-models")))
    if not folder.is_present(folder.find("whisper-base")):
        pytest.skip("whisper-base is not in VIDEOWORLD_TEST_MODELS")
    return WhisperRecogniser(str(folder.speech_model("whisper-base")))


def heard(recogniser: WhisperRecogniser, sound: Samples) -> list[dict[str, Any]]:
    """Return the rows of ``speech`` of thirty seconds of sound or less."""

    def audio(span: TimeSpan) -> Samples:
        made = np.zeros(round(span.duration * SAMPLE_RATE), np.float32)
        part = sound[round(span.start * SAMPLE_RATE) : round(span.end * SAMPLE_RATE)]
        made[: len(part)] = part
        return made

    stage = RecognisedSpeech(recogniser, adapter("voices_with_whisper"))
    return list(stage.make_rows(replace(made_clip(0), audio=audio))["speech"])


def errors(said: str, found: str) -> tuple[int, int]:
    """Return the word errors (Levenshtein) of what was found, and the number of words that were said."""
    words, others = (re.sub(r"[^a-z' ]", " ", text.lower()).split() for text in (said, found))
    row = list(range(len(others) + 1))
    for number, word in enumerate(words, start=1):
        before, row = row, [number]
        for at, other in enumerate(others, start=1):
            row.append(min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (word != other)))
    return row[-1], len(words)


@pytest.mark.nightly
@pytest.mark.shared_data
def test_few_words_of_read_speech_are_wrong(trained: WhisperRecogniser, shared_data: Path) -> None:
    wrong = total = 0
    for path in sorted((shared_data / "speech" / "librivox").glob("*.wav")):
        rows = heard(trained, read_audio(path, 0.0, 29.0))
        assert {row["language"] for row in rows} == {"en"}
        found, count = errors(path.with_suffix(".txt").read_text(), " ".join(row["text"] for row in rows))
        wrong, total = wrong + found, total + count
    assert wrong <= 0.1 * total


@pytest.mark.nightly
@pytest.mark.shared_data
def test_a_telephone_talk_becomes_sentences_with_times(trained: WhisperRecogniser, shared_data: Path) -> None:
    path = shared_data / "speech" / "sample.stm"
    truth = [line.split(None, 5) for line in path.read_text().splitlines()]
    rows = heard(trained, read_audio(path.with_suffix(".wav"), 0.0, 30.0))
    found, count = errors(" ".join(line[5] for line in truth), " ".join(row["text"] for row in rows))
    assert found <= 0.25 * count
    edges = [
        (float(line[at + 3]), [row[name] for row in rows]) for line in truth for at, name in enumerate(("start", "end"))
    ]
    near = sum(min(abs(edge - other) for other in others) <= 0.3 for edge, others in edges)
    assert near >= 0.9 * len(edges)


@pytest.mark.nightly
def test_nothing_is_said_in_silence_noise_and_music(trained: WhisperRecogniser) -> None:
    noise, times = np.random.default_rng(3), np.arange(29 * SAMPLE_RATE) / SAMPLE_RATE
    notes = noise.choice([220, 246.9, 261.6, 293.7, 329.6, 392, 440], 58)
    tones = np.arange(SAMPLE_RATE // 2) / SAMPLE_RATE
    melody = [sum(np.sin(2 * np.pi * f * k * tones) / k for k in range(1, 6)) * np.exp(-3 * tones) for f in notes]
    music = 0.15 * np.concatenate(melody) + 0.3 * noise.normal(size=len(times)) * np.exp(-24 * ((2 * times) % 1 / 2))
    for sound in (0 * times, noise.normal(0, 1e-4, len(times)), noise.normal(0, 0.1, len(times)), music):
        assert heard(trained, sound.astype(np.float32)) == []

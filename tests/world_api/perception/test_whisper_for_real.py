"""The adapter with the real faster-whisper and a model of its real form, whose weights are random: words mean nothing.

What is tested is that the package takes what the adapter gives and gives what the adapter takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from world_api.core import SAMPLE_RATE
from world_api.perception import WhisperRecogniser

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

"""The last resort for speech, for real where it is installed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from world_api.core import BackendFault
from world_api.perception import speech


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "SPHINX", "no-such-distribution")
    with pytest.raises(BackendFault, match="not installed") as caught:
        speech.SphinxRecogniser()
    assert caught.value.code == "speech_model_missing"
    assert "[speech-lite]" in caught.value.hint


@pytest.mark.shared_data
def test_real_speech_is_heard_poorly_and_the_same_each_time(shared_data: Path) -> None:
    pytest.importorskip("pocketsphinx", reason="the extra [speech-lite] is not installed")
    from world_api.media import read_audio

    recogniser = speech.SphinxRecogniser()
    samples = read_audio(shared_data / "speech" / "jfk.flac", 0.0, 11.0)
    (line,) = recogniser.transcribe(samples, "")
    assert "your country can do for you" in line.text
    assert line.confidence < 0.5
    assert [word.text for word in line.words] == line.text.split()
    assert all(0 <= a.start < a.end <= b.start + 0.02 for a, b in pairwise(line.words))
    recogniser.transcribe(samples[: 16000 * 3], "")
    assert recogniser.transcribe(samples, "en") == [line]
    assert recogniser.transcribe(samples, "zh") == []
    assert recogniser.transcribe(np.zeros(0, np.float32), "") == []

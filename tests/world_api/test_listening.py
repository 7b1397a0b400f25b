"""Where the words that are said come from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import av
import numpy as np
import pytest

from world_api import recipes
from world_api.build.speech import RecognisedSpeech, SubtitleLines
from world_api.build.stage import Stage
from world_api.core import BackendFault, MediaFault, Samples, SpokenLine, hash_bytes
from world_api.media.decoder import MediaWorker
from world_api.options import Listening
from world_api.perception import speech
from world_api.recipes import speech_stages


class Recogniser:
    """Stands in for a model that is there."""

    def __init__(self, model: str | None = None, compute_type: str = "auto") -> None:
        self.model = model
        self.producer = "made/1" if compute_type == "auto" else f"made/1/{compute_type}"

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        return []


class Named(Recogniser):
    """Names its model."""

    def __init__(self, model: str | None = None, compute_type: str = "auto") -> None:
        super().__init__(model, compute_type)
        self.producer = str(model)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """A second of sound and nothing else."""
    path = tmp_path / "film.mka"
    with av.open(str(path), "w", format="matroska") as container:
        stream = container.add_stream("pcm_s16le", rate=16000)
        stream.codec_context.layout = "mono"
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 16000), np.int16), "s16", "mono")
        frame.sample_rate = 16000
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recogniser that is there."""
    monkeypatch.setattr(speech, "WhisperRecogniser", Recogniser)


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """No recogniser is there."""
    monkeypatch.setattr(speech, "WHISPER", "no-such-distribution")


def stage_for(film: Path, wanted: Listening) -> Stage:
    with closing(MediaWorker()) as worker:
        [stage] = speech_stages(film, wanted, worker)
        return stage


def with_subtitles(film: Path) -> None:
    film.with_suffix(".srt").write_text("1\n00:00:00,100 --> 00:00:00,900\nhello\n")


@pytest.mark.usefixtures("model")
def test_subtitles_come_before_recognition(film: Path) -> None:
    with_subtitles(film)
    stage = stage_for(film, Listening())
    assert isinstance(stage, SubtitleLines)
    assert stage.spec.parameters["taken"] == "film.srt"


@pytest.mark.usefixtures("model")
def test_what_has_no_subtitles_is_recognised(film: Path) -> None:
    assert isinstance(stage_for(film, Listening()), RecognisedSpeech)
    with_subtitles(film)
    assert isinstance(stage_for(film, Listening(subtitles="none")), RecognisedSpeech)


@pytest.mark.usefixtures("model")
def test_a_recogniser_that_is_named_is_used_instead_of_subtitles(film: Path) -> None:
    with_subtitles(film)
    stage = stage_for(film, Listening(speech="faster-whisper", language="zh"))
    assert isinstance(stage, RecognisedSpeech)
    assert (stage.spec.parameters["recogniser"], stage.spec.parameters["language"]) == ("made/1", "zh")


@pytest.mark.usefixtures("model")
def test_subtitles_and_recognised_speech_are_both_kept_if_that_is_asked_for(film: Path) -> None:
    with_subtitles(film)
    with closing(MediaWorker()) as worker:
        stages = speech_stages(film, Listening(speech="both"), worker)
    assert [stage.spec.name for stage in stages] == ["subtitles", "recognised_speech"]


def test_the_model_of_the_folder_of_models_is_used_if_none_is_named(
    film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalogue of the user lists it; a file with another hash is not used."""
    monkeypatch.setattr(speech, "WhisperRecogniser", Named)
    monkeypatch.setattr(speech, "whisper_is_installed", lambda: True)
    monkeypatch.setattr(recipes, "_voice_detector", speech.EnergyVoiceDetector)
    models = tmp_path / "models"
    (models / "mine").mkdir(parents=True)
    (models / "mine" / "model.bin").write_bytes(b"weights")
    (models / "models.yaml").write_text(
        "models:\n  - name: mine\n    task: speech_recogniser\n    licence: MIT\n    terms: permissive\n    files:\n"
        f"      - {{name: mine/model.bin, sha256: {hash_bytes(b'weights')}, bytes: 7}}\n"
    )
    for named in ("", "mine"):
        chosen = stage_for(film, Listening(models=models, model=named))
        assert chosen.spec.parameters["recogniser"] == str(models / "mine")
    (models / "mine" / "model.bin").write_bytes(b"others!")
    with pytest.raises(BackendFault) as caught:
        stage_for(film, Listening(models=models, model="mine"))
    assert caught.value.code == "model_damaged"
    stage = stage_for(film, Listening(models=models))
    assert isinstance(stage, SubtitleLines)
    assert "hash differs" in stage.losses(start=0.0, duration=1.0)[0].message


@pytest.mark.usefixtures("model")
def test_speech_can_be_left_out(film: Path) -> None:
    stage = stage_for(film, Listening(speech="off"))
    assert isinstance(stage, SubtitleLines)
    assert stage.losses(start=0.0, duration=60.0) == []


@pytest.mark.usefixtures("no_model")
def test_that_nothing_heard_it_is_said_where_there_is_sound(film: Path, tmp_path: Path) -> None:
    stage = stage_for(film, Listening())
    assert isinstance(stage, SubtitleLines)
    (loss,) = stage.losses(start=0.0, duration=60.0)
    assert loss.code == "speech_unheard"
    assert f"{speech.WHISPER} is not installed" in loss.message


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (Listening(speech="faster-whisper"), "speech_model_missing"),
        (Listening(model="somewhere/tiny"), "speech_model_missing"),
        (Listening(speech="magic"), "no_such_recogniser"),
        (Listening(speech="pocketsphinx", subtitles="en"), "subtitles_or_speech"),
    ],
)
def test_what_was_named_and_is_not_there_is_refused(film: Path, wanted: Listening, code: str) -> None:
    with pytest.raises(BackendFault) as caught:
        stage_for(film, wanted)
    assert caught.value.code == code


def test_a_language_that_is_not_there_is_refused(film: Path) -> None:
    with pytest.raises(MediaFault, match="no subtitles in 'sv'"):
        stage_for(film, Listening(subtitles="sv"))


def test_our_own_detector_stands_in_where_silero_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "WHISPER", "no-such-distribution")
    assert recipes._voice_detector().producer == "voice-energy/1"


@pytest.mark.usefixtures("model")
def test_the_numbers_a_recogniser_computes_with_are_among_the_parameters_of_the_world(film: Path) -> None:
    found = [stage_for(film, Listening(compute=kind)).spec for kind in ("int8", "float32")]
    assert [spec.parameters["recogniser"] for spec in found] == ["made/1/int8", "made/1/float32"]

"""The adapter for faster-whisper against a package of the same shape, made here; the real one where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from world_api.core import BackendFault
from world_api.perception import speech

PACKAGE = {
    "__init__.py": """
from dataclasses import dataclass
CALLS = []
LOADED = []
SAID = {}  # number of samples -> segments

@dataclass
class Word:
    start: float
    end: float
    word: str
    probability: float

@dataclass
class Segment:
    start: float
    end: float
    text: str
    avg_logprob: float
    words: list | None

@dataclass
class Info:
    language: str
    language_probability: float = 0.9

class WhisperModel:
    def __init__(self, path, *, device, compute_type, local_files_only=False):
        LOADED.append((device, compute_type))
        if not local_files_only:
            raise AssertionError("might download")
        if "broken" in path:
            raise RuntimeError("unsupported model version")

    def transcribe(self, audio, *, language=None, **options):
        CALLS.append((len(audio), language, options))
        segments = SAID.get(len(audio)) or [
            Segment(0.0, 1.5, " Hello  there.", -0.1, [Word(-0.02, 0.5, " Hello", 0.9), Word(0.6, 9.0, " there.", 1.0000001)]),
            Segment(1.5, 1.6, "  ", -3.0, []),
        ]
        return iter(segments), Info(language or "de")
""",
    "utils.py": """
class LocalEntryNotFoundError(FileNotFoundError, ValueError):
    pass

def download_model(name, *, local_files_only=False):
    if not local_files_only:
        raise AssertionError("might download")
    raise LocalEntryNotFoundError("not in the cache")
""",
    "vad.py": """
def get_speech_timestamps(audio, **options):
    return [{"start": 16000, "end": 40000}] if audio.any() else []
""",
}


class Engine(ModuleType):
    """Stands in for CTranslate2 on a machine with so many GPUs."""

    def __init__(self, gpus: int = 0, lacks: str = "") -> None:
        super().__init__("ctranslate2")
        self.gpus, self.lacks = gpus, lacks

    def get_cuda_device_count(self) -> int:
        return self.gpus

    def get_supported_compute_types(self, device: str) -> set[str]:
        able = {"int8", "int8_float32", "float32"} | ({"float16", "int8_float16"} if device == "cuda" else set())
        return able - {self.lacks}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A faster-whisper that is installed and never reaches for a network."""
    folder = tmp_path / "site"
    (folder / "faster_whisper").mkdir(parents=True)
    for name, code in PACKAGE.items():
        (folder / "faster_whisper" / name).write_text(code)
    (folder / "faster_whisper-9.9.dist-info").mkdir()
    (folder / "faster_whisper-9.9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: faster-whisper\nVersion: 9.9\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "faster_whisper"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ctranslate2", Engine())
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "faster_whisper"]:
        del sys.modules[name]


def model(folder: Path) -> Path:
    folder.mkdir()
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (folder / name).write_bytes(b"{}")
    return folder


@pytest.mark.usefixtures("package")
def test_lines_and_words_come_out_clean_and_inside_the_stretch(tmp_path: Path) -> None:
    recogniser = speech.WhisperRecogniser(str(model(tmp_path / "tiny")))
    (line,) = recogniser.transcribe(np.zeros(32000, np.float32), "")
    assert (line.text, line.language, line.start, line.end) == ("Hello there.", "de", 0.0, 2.0)
    assert [(word.start, word.end, word.text, word.confidence) for word in line.words] == [
        (0.0, 0.5, "Hello", 0.9), (0.6, 2.0, "there.", 1.0),
    ]  # fmt: skip
    assert line.confidence == pytest.approx(0.949)  # the geometric mean of its words
    assert recogniser.producer == "faster-whisper-9.9/tiny-2/int8/beam-5"


@pytest.mark.usefixtures("package")
def test_a_stretch_is_heard_by_itself_and_its_language_is_passed_on(tmp_path: Path) -> None:
    recogniser = speech.WhisperRecogniser(str(model(tmp_path / "tiny")))
    (line,) = recogniser.transcribe(np.zeros(16000, np.float32), "zh")
    assert line.language == "zh"
    ((_, language, options),) = sys.modules["faster_whisper"].CALLS
    assert language == "zh"
    assert options["condition_on_previous_text"] is False
    assert options["temperature"] == 0.0
    assert options["word_timestamps"] is True
    assert recogniser.transcribe(np.zeros(0, np.float32), "zh") == []


def lines_of(folder: Path, *segments: str) -> list[str]:
    """Return the lines of segments whose words take 0.2 s each; a dash stands for a second without words."""
    import faster_whisper

    time, said = 0.0, []
    for text in segments:
        words = []
        for word in text.split():
            if word != "-":
                words.append(faster_whisper.Word(time, time + 0.2, f" {word}", 0.9))
            time += 1.0 if word == "-" else 0.2
        said.append(faster_whisper.Segment(0.0, time, text, -0.1, words))
    sound = np.zeros(round((time + 1) * 16000), np.float32)
    faster_whisper.SAID[len(sound)] = said
    return [line.text for line in speech.WhisperRecogniser(str(model(folder))).transcribe(sound, "")]


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("segments", "lines"),
    [
        (["Neither did I. Okay then. Who's there?"], ["Neither did I.", "Okay then.", "Who's there?"]),
        (["This is Mr. Smith of the U. S. Navy."], ["This is Mr. Smith of the U. S. Navy."]),
        (["I left the", "keys at home."], ["I left the keys at home."]),
        (["We went", "Then nothing"], ["We went", "Then nothing"]),
        (["so - and then"], ["so", "and then"]),
        (["你好。再见。", "她走了"], ["你好。再见。", "她走了"]),
        (["a word " * 40], []),
        (["♪ ♪ ¶¶¶¶¶¶¶¶"], []),
        (["thank you. " * 8, "Goodbye."], ["Goodbye."]),
        (["no no no, I mean it."], ["no no no, I mean it."]),
    ],
)
def test_lines_are_sentences_and_what_repeats_itself_is_left_out(
    tmp_path: Path, segments: list[str], lines: list[str]
) -> None:
    assert lines_of(tmp_path / "tiny", *segments) == lines


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "said"),
    [("small", "no model 'small' is stored"), ("no/such/folder", "there is no folder"), ("", "no model")],
)
def test_a_model_that_is_not_here_is_named_and_never_fetched(name: str, said: str) -> None:
    with pytest.raises(BackendFault, match=said) as caught:
        speech.WhisperRecogniser(name)
    assert caught.value.code == "speech_model_missing"
    assert "--speech-model" in caught.value.hint


@pytest.mark.usefixtures("package")
def test_a_folder_without_a_tokenizer_is_refused_since_one_would_be_fetched(tmp_path: Path) -> None:
    folder = model(tmp_path / "tiny")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(BackendFault, match=r"lacks tokenizer\.json"):
        speech.WhisperRecogniser(str(folder))


@pytest.mark.usefixtures("package")
def test_a_model_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    recogniser = speech.WhisperRecogniser(str(model(tmp_path / "broken")))
    with pytest.raises(BackendFault, match="unsupported model version") as caught:
        recogniser.transcribe(np.ones(16000, np.float32), "")
    assert caught.value.code == "speech_model_missing"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("engine", "wanted", "device", "chosen"),
    [
        (Engine(), "auto", "cpu", "int8"),
        (Engine(gpus=1), "auto", "cuda", "float16"),
        (Engine(lacks="int8"), "auto", "cpu", "float32"),
        (Engine(gpus=1, lacks="float16"), "auto", "cuda", "int8"),
        (Engine(), "float32", "cpu", "float32"),
        (Engine(gpus=1), "int8", "cuda", "int8"),
    ],
)
def test_the_numbers_a_model_computes_with_are_chosen_for_the_device_and_named_in_what_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine, wanted: str, device: str, chosen: str
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", engine)
    recogniser = speech.WhisperRecogniser(str(model(tmp_path / "tiny")), wanted)
    recogniser.transcribe(np.zeros(16000, np.float32), "")
    assert [(device, chosen)] == sys.modules["faster_whisper"].LOADED
    assert recogniser.producer.split("/")[2] == chosen


@pytest.mark.usefixtures("package")
def test_numbers_that_the_device_does_not_compute_with_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendFault, match="float16 on this machine's CPU") as caught:
        speech.WhisperRecogniser(str(model(tmp_path / "tiny")), "float16")
    assert caught.value.code == "speech_compute_type"
    assert "int8, float32" in caught.value.hint


@pytest.mark.usefixtures("package")
def test_the_packages_own_voice_detector_gives_seconds() -> None:
    detector = speech.SileroVoiceDetector()
    (span,) = detector.voiced(np.ones(48000, np.float32))
    assert (span.start, span.end) == (1.0, 2.5)
    assert detector.voiced(np.zeros(0, np.float32)) == []


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "WHISPER", "no-such-distribution")
    assert not speech.whisper_is_installed()
    with pytest.raises(BackendFault, match="not installed") as caught:
        speech.WhisperRecogniser("tiny")
    assert caught.value.code == "speech_model_missing"
    assert "[speech]" in caught.value.hint


@pytest.mark.shared_data
def test_the_real_voice_detector_finds_real_speech(shared_data: Path) -> None:
    pytest.importorskip("faster_whisper", reason="the extra [speech] is not installed")
    from world_api.media import read_audio

    (first, *_) = speech.SileroVoiceDetector().voiced(read_audio(shared_data / "speech" / "jfk.flac", 0.0, 11.0))
    assert first.start < 1.0 < first.end
    assert speech.SileroVoiceDetector().voiced(np.zeros(5 * 16000, np.float32)) == []

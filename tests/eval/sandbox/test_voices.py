"""Lines as sound: real programs, called without a shell, that may be slow, wrong or missing."""

from __future__ import annotations

import json
import shutil
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from eval.sandbox import SpokenLines, Synthesiser, installed_voices
from eval.sandbox.script import Actor, Line, Look

RATE = 24_000
LOOK = Look(coat="red", trousers="black", hair="brown", hair_style="long", skin="light")
MIA, TOM = Actor(name="Mia", look=LOOK, pitch=220), Actor(name="Tom", look=LOOK, pitch=125)
#: Speaks for a second and a half at calm speed, shorter in a hurry, and notes what it was given.
PROGRAM = """#!{python}
import math, struct, sys
words = sys.stdin.buffer.read()
open({log!r}, "ab").write(repr((sys.argv[1:], words.decode())).encode() + b"\\n")
speed = int(sys.argv[sys.argv.index("-s") + 1])
count = int(22050 * 1.5 * 165 / speed)
body = b"".join(struct.pack("<h", int(9000 * math.sin(i / 9))) for i in range(count))
head = b"RIFF" + struct.pack("<I", 0x7FFFF024) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 22050, 44100, 2, 16)
sys.stdout.buffer.write(head + b"data" + struct.pack("<I", 0x7FFFF000) + body)
"""
#: A header of WAV data without its end.
CUT_OFF = "#!{python}\nimport sys\nsys.stdout.buffer.write(b'RIFF    WAVEfmt ' + bytes(4))\n"


def line(text: str = "Hello there.", seconds: float = 2.0, speaker: Actor = MIA) -> Line:
    return Line(start=1.0, end=1.0 + seconds, speaker=speaker, text=text, facing=1)


def program(folder: Path, text: str) -> str:
    path = folder / "espeak-ng"
    path.write_text(text.format(python=sys.executable, log=str(folder / "log")))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def told(folder: Path) -> list[tuple[list[str], str]]:
    import ast

    return [ast.literal_eval(row) for row in (folder / "log").read_text().splitlines()]


def spoken(folder: Path, text: str = PROGRAM, *, seconds: float = 20.0) -> SpokenLines:
    return SpokenLines(Synthesiser(program=program(folder, text), seconds=seconds))


def test_a_line_is_spoken_at_the_films_rate_and_within_its_time(tmp_path: Path) -> None:
    sound = spoken(tmp_path).line(line())
    assert sound is not None
    assert len(sound) == pytest.approx(1.5 * RATE, rel=0.01)
    assert 0.05 < float(np.sqrt(np.mean(sound**2))) < 0.15


def test_a_line_that_would_take_too_long_is_hurried_and_then_cut_off(tmp_path: Path) -> None:
    voices = spoken(tmp_path)
    hurried = voices.line(line(seconds=1.0))
    cut = voices.line(line(seconds=0.3))
    assert hurried is not None
    assert cut is not None
    assert 0.8 * RATE < len(hurried) <= RATE
    assert len(cut) == round(0.3 * RATE)
    assert abs(float(cut[-1])) < 1e-3
    speeds = [int(arguments[arguments.index("-s") + 1]) for arguments, _ in told(tmp_path)]
    assert speeds[0] == 165 < speeds[1]


def test_text_is_no_command_and_no_option(tmp_path: Path) -> None:
    spoken(tmp_path).line(line('-w file; $(touch "stolen") [[h@]] <break/>\x00 & done'))
    [(arguments, text)] = told(tmp_path)
    assert text == '-w file; $(touch "stolen") h@ break/ & done'
    assert not any("stolen" in argument or "file" in argument for argument in arguments)
    assert not (tmp_path / "stolen").exists()


def test_speakers_have_voices_of_their_own(tmp_path: Path) -> None:
    voices = spoken(tmp_path)
    for speaker in (MIA, TOM, MIA):
        voices.line(line(speaker=speaker))
    one, other, again = (arguments[arguments.index("-v") + 1] for arguments, _ in told(tmp_path))
    assert one == again != other


@pytest.mark.parametrize("text", ["#!{python}\nraise SystemExit(3)\n", "#!{python}\nprint('no sound')\n", CUT_OFF])
def test_a_program_that_fails_speaks_nothing_and_is_soon_left_alone(tmp_path: Path, text: str) -> None:
    noting = text.replace("\n", "\nopen({log!r}, 'a').write('called\\n')\n", 1)
    voices = spoken(tmp_path, noting)
    assert [voices.line(line()) for _ in range(5)] == [None] * 5
    assert (tmp_path / "log").read_text().count("called") == 2


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    voices = spoken(tmp_path, "#!{python}\nimport time\ntime.sleep(60)\n", seconds=0.2)
    assert voices.line(line()) is None


def test_the_first_program_on_the_path_is_taken_and_say_only_on_its_own_system() -> None:
    def only(*names: str) -> object:
        return lambda name: f"/bin/{name}" if name in names else None

    both = installed_voices(which=only("espeak", "espeak-ng"), platform="linux")  # type: ignore[arg-type]  # a fake which
    assert both is not None
    assert both.synthesiser.program.endswith("espeak-ng")
    assert installed_voices(which=only("say"), platform="linux") is None  # type: ignore[arg-type]
    mac = installed_voices(which=only("say"), platform="darwin")  # type: ignore[arg-type]
    assert mac is not None
    assert mac.synthesiser.name == "say"


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="eSpeak NG is not installed")
def test_the_real_synthesiser_speaks_longer_for_more_words() -> None:
    voices = installed_voices()
    assert voices is not None
    short = voices.line(line("Hello.", seconds=6.0))
    long = voices.line(line("Please put the green folder into the left drawer of the library.", seconds=6.0))
    assert short is not None
    assert long is not None
    assert len(long) > 1.5 * len(short)


def test_a_synthesiser_sees_no_key_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-programs")
    listing = "#!{python}\nimport json, os, sys\njson.dump(dict(os.environ), sys.stdout)\n"
    said = json.loads(Synthesiser(program=program(tmp_path, listing)).speak("Hello.", MIA, 165))
    assert "PATH" in said
    assert "sk-not-for-programs" not in said.values()

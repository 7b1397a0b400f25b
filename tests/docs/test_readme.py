"""The README's blocks are run as they are printed, in a shell; what takes minutes is run by ``make nightly``.

A block may need what a reader has: a video ``my.mp4``, a world of it, a server. ``...`` after ``NAME=`` stands for a value, and
whoever is asked whether frames may be sent agrees. Blocks that name a MODEL talk to a server on the loopback.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import yaml

from tests.support.chat_server import Answer, Received
from tests.support.model_server import Manners
from tests.support.vision_server import pictures_of, tells_colours
from tool_induction import load_library
from world_api.chat import RuleBasedChatModel, completion

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n.*?^```$", re.MULTILINE | re.DOTALL)  #: run by the test of the facade
_REMARK = re.compile(r"\s{2,}")  #: parts a command from what is said of it
_VALUE = re.compile(r"(\w+)=\.\.\.(?=\s|$)")
_SECONDS = 3600.0  #: that one command may take, on a machine that has other things to do, too


def commands_of(page: str) -> list[list[str]]:
    """The commands of each block, without remarks and output."""
    text = _PYTHON.sub("", (ROOT / page).read_text(encoding="utf-8"))
    blocks = []
    for block in _BLOCK.findall(text):
        lines = [line.removeprefix("$ ") for line in block.splitlines()]
        shown = [line for line in lines if line.startswith(("videoworld ", "export ", "make "))]
        blocks.append([_REMARK.split(line)[0] for line in shown])
    return blocks


def block_with(words: str) -> list[str]:
    """The one block of the README that holds a command with these words."""
    [found] = [block for block in commands_of("README.md") if any(words in command for command in block)]
    return found


class Shell:
    """Runs commands in a folder, as a reader would; ``videoworld`` is this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        own = folder / ".bin"
        own.mkdir()
        (own / "videoworld").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m videoworld "$@"\n')
        (own / "videoworld").chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        self.environment = kept | {"PATH": f"{own}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def run(self, command: str, **values: str) -> str:
        """What a command prints; it must succeed. ``values`` are those that ``...`` stands for."""
        if command.startswith("export "):
            self.environment |= {name: values[name] for name in _VALUE.findall(command)}
            return ""
        agreed = f"{command} --yes" if "--profile endpoint" in command else command
        done = subprocess.run(
            ["/bin/sh", "-c", agreed], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"$ {command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder."""
    return Shell(tmp_path)


def draw_film(path: Path, *, seconds: int = 6, rate: int = 10) -> None:
    """A short film of something red that moves through a room."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 320, 192, "yuv420p"
        for number in range(seconds * rate):
            picture = np.full((192, 320, 3), 170, np.uint8)
            picture[60:160, 4 * number : 4 * number + 40] = (40, 40, 200)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        container.mux(stream.encode())


@pytest.fixture
def with_a_world(shell: Shell) -> Shell:
    """A shell in a folder with ``my.mp4`` and its world."""
    draw_film(shell.folder / "my.mp4")
    shell.run("videoworld build my.mp4")
    return shell


def model_for(command: str) -> Callable[[Received], Answer | dict[str, Any]]:
    """How a model behaves that is asked by a command: a probe, pictures, an induction, a question."""
    manners, rules = Manners(), RuleBasedChatModel()
    library = (ROOT / "toollibs" / "hand_A" / "library.json").read_text(encoding="utf-8")

    def answer(received: Received) -> Answer | dict[str, Any]:
        body = received.body
        offered = {tool["function"]["name"] for tool in body.get("tools", ()) if "function" in tool}
        if "doctor" in command or "look_up_city" in offered or not received.path.endswith("/chat/completions"):
            return manners(received)
        if "induce" in command:
            return completion(model="m", content=library)
        if "response_format" in body or pictures_of(body):
            return completion(model="m", content=json.dumps(tells_colours(body, pictures_of(body))))
        return rules.complete(body)

    return answer


def test_both_languages_show_the_same_commands() -> None:
    english, chinese = commands_of("README.md"), commands_of("README.zh-CN.md")
    shown = [block for block in english if not any("demo/sample" in command for command in block)]
    assert chinese == shown


def test_targets_that_the_readme_names_are_those_of_the_makefile() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {command.split()[1] for command in block_with("make demo")} <= targets


@pytest.mark.media
def test_the_block_on_use_runs_as_it_is_printed(shell: Shell) -> None:
    draw_film(shell.folder / "my.mp4")
    draw_film(shell.folder / "recording.mkv")
    shutil.copy(ROOT / "toollibs" / "examples" / "people.json", shell.folder / "tools.json")
    told = {command: shell.run(command) for command in block_with("videoworld build my.mp4")}
    assert told["videoworld replay episodes"].count("identical") == 2


@pytest.mark.media
def test_the_block_on_models_runs_as_it_is_printed(with_a_world: Shell, chat_server: Any) -> None:
    shell = with_a_world
    shell.environment |= {"VIDEOWORLD_CACHE": str(shell.folder / "findings")}
    (shell.folder / "prices.yaml").write_text("MODEL: {prompt: 1, completion: 2}\nM: {prompt: 1, completion: 2}\n")
    for command in block_with("videoworld doctor"):
        chat_server.respond(model_for(command))
        shell.run(command, OPENAI_BASE_URL=chat_server.url, OPENAI_API_KEY="k")
    assert {"MODEL", "M"} <= {received.body.get("model") for received in chat_server.received}


@pytest.mark.media
@pytest.mark.nightly
def test_the_printed_configuration_fits_the_films_that_the_readme_makes(shell: Shell) -> None:
    """The first commands on experiments, of one short film; ``make nightly`` runs them all as they are."""
    block = block_with("videoworld sandbox make")
    made, checked, printed, planned = block[:4]
    shell.run(f"{made} --minutes 1 --count 1 --tones")
    for command in (checked, printed, planned):
        shell.run(command)
    configuration = yaml.safe_load((shell.folder / "ablation.yaml").read_text())
    assert configuration["datasets"][0]["split"] in made


@pytest.mark.nightly
@pytest.mark.media
def test_the_block_on_libraries_runs_as_it_is_printed(with_a_world: Shell, chat_server: Any) -> None:
    shell = with_a_world
    shell.environment |= {"VIDEOWORLD_CACHE": str(shell.folder / "findings")}
    shell.environment |= {"OPENAI_BASE_URL": chat_server.url, "OPENAI_API_KEY": "k"}
    for command in block_with("videoworld induce"):
        chat_server.respond(model_for(command))
        shell.run(command)
    assert load_library(shell.folder / "toollibs" / "locate_s1").tools


@pytest.mark.nightly
@pytest.mark.media
def test_the_block_on_experiments_runs_as_it_is_printed(shell: Shell) -> None:
    draw_film(shell.folder / "my.mp4")
    lines = [
        {"question": "Does something red move?"},
        {"question": "How many things move?", "kind": "count", "answer": 1},
    ]
    (shell.folder / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = {command: shell.run(command) for command in block_with("videoworld sandbox make")}
    assert "plumbing, not a result" in told["videoworld eval compare RUN hier@hand_A flat"]
    assert (shell.folder / "run.vwbundle").is_file()


@pytest.mark.nightly
@pytest.mark.media
def test_the_printed_session_on_the_sample_runs_and_says_what_is_printed(shell: Shell) -> None:
    shell.run("videoworld sample demo")
    told = [" ".join(shell.run(command).split()) for command in block_with("videoworld build demo/sample.mp4")]
    text = _PYTHON.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    [block] = [block for block in _BLOCK.findall(text) if "$ videoworld ask sample" in block]
    answer = " ".join(block[block.index("[rule-based]") : block.index("\n\nevidence")].split())
    assert told[-1].startswith(answer)


def test_the_readme_prints_no_hash_that_depends_on_the_versions_of_libraries() -> None:
    for page in ("README.md", "README.zh-CN.md"):
        assert not re.search(r"world [0-9a-f]{12,}", (ROOT / page).read_text(encoding="utf-8"))

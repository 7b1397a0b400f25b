"""Processes that open media or run stages see nothing of the environment but what they need."""

from __future__ import annotations

import ast
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.support.decoders import children, number_of
from world_api.api import build_world
from world_api.build import stage_process
from world_api.build.stage_process import StageProcess
from world_api.media import Limits
from world_api.media.decoder import DecoderProcess
from world_api.media.process import process_environment

SECRETS = {
    "OPENAI_API_KEY": "sk-not-for-children",
    "AWS_SECRET_ACCESS_KEY": "sk-not-for-children",
    "HF_TOKEN": "sk-not-for-children",
    "MY_OWN_PASSWORD": "sk-not-for-children",
    "FFREPORT": "file=sk-not-for-children.log",
}
PROXY = {"http_proxy": "http://user:pass@proxy.example:3128", "no_proxy": "localhost"}
ROOT = Path(__file__).resolve().parents[3]
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system has no /proc")


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | PROXY).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LC_TIME", "C")


def environment_of(number: int) -> dict[str, str]:
    raw, give_up = "", monotonic() + 5
    # A process that was just started reads as empty until the kernel has laid out its memory.
    while not raw and monotonic() < give_up:
        raw = Path(f"/proc/{number}/environ").read_bytes().decode()
    return dict(entry.split("=", 1) for entry in raw.split("\0") if entry)


@needs_proc
@pytest.mark.parametrize("network", [False, True])
def test_a_decoding_process_gets_no_key_and_a_proxy_only_where_streams_are_allowed(network: bool) -> None:
    process = DecoderProcess(Limits(network=network))
    try:
        given = environment_of(number_of(process))
    finally:
        process.end()
    assert not SECRETS.keys() & given.keys()
    assert (given.keys() & PROXY.keys() == PROXY.keys()) is network
    assert given["LC_TIME"] == "C"
    assert "PATH" in given


def test_a_process_starts_no_blas_threads_unless_a_person_has_set_a_number() -> None:
    variable = "OPENBLAS_NUM_THREADS"
    assert process_environment({"HOME": "here"}).items() >= {"HOME": "here", variable: "1"}.items()
    assert process_environment({variable: "3"})[variable] == "3"


@needs_proc
def test_the_process_of_a_stage_gets_no_key() -> None:
    process = StageProcess("tests.support.stages_apart:Brightness")
    try:
        given = environment_of(process.pid)
    finally:
        process.close()
    assert not (SECRETS | PROXY).keys() & given.keys()


@needs_proc
def test_no_process_that_a_build_starts_holds_a_key(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.building import StandingClock

    monkeypatch.setattr(stage_process, "_processors", lambda: 2)
    started: list[dict[str, str]] = []

    class Watching:
        def __getattr__(self, _: str) -> Any:
            return lambda *arguments, **options: started.extend(environment_of(child) for child in children())

    build_world(two_shots, tmp_path, progress=Watching(), clock=StandingClock())
    assert started
    assert not [given for given in started if any("sk-not-for-children" in value for value in given.values())]


def test_every_process_that_the_package_starts_is_given_a_restricted_environment() -> None:
    bare = []
    for path in sorted((ROOT / "world_api").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("subprocess.", "multiprocessing.")):
                given = [ast.unparse(word.value) for word in node.keywords if word.arg == "env"]
                if not (given and given[0].startswith(("process_environment(", "restricted_environment("))):
                    bare.append(f"{path.relative_to(ROOT)}: {ast.unparse(node.func)}")
    assert bare == []

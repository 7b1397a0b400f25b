"""Any document of at most a megabyte is answered in bounded time and memory, by a process that can still tell it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.bombs import BOMBS
from tool_induction import compile_document, limits
from tool_induction.compiler import locate_all

ROOT = Path(__file__).resolve().parents[3]
MEGABYTES = 200
#: far more than it takes: what is told apart is seconds from minutes
CEILING_SECONDS = 300

_CHILD = """
import json, sys
from tests.support.bombs import BOMBS
from tool_induction import compile_document

def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024

worst = {}
for name in sys.argv[1:]:
    json.dumps(compile_document(BOMBS[name]()).record())
    worst[name] = peak()
print(json.dumps(worst))
"""


#: those that are answered at once; the others take a second or more each
QUICK = [
    "one long expression",
    "an attribute chain",
    "open braces",
    "open parentheses",
    "ten thousand steps",
    "brackets",
    "objects in objects",
    "a key fifty thousand times",
    "many keys",
    "many parameters",
    "many fields",
    "a record of many records",
    "a long list",
    "a record that doubles",
    "a condition that doubles",
    "a type of types",
    "escapes",
    "digits",
]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel does not tell a process its peak memory")
@pytest.mark.parametrize("names", [QUICK, pytest.param(list(BOMBS), marks=pytest.mark.nightly)], ids=["some", "all"])
def test_bombs_are_answered_within_two_hundred_megabytes(names: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=CEILING_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    peaks = json.loads(done.stdout)
    assert {name: peak for name, peak in peaks.items() if peak > MEGABYTES} == {}


@pytest.mark.parametrize(
    "name",
    [
        "many fields",
        "open parentheses",
        pytest.param("sixty-four tools that call each other", marks=pytest.mark.nightly),
        "brackets",
    ],
)
def test_a_refused_bomb_is_told_at_a_place_that_exists(name: str) -> None:
    text = BOMBS[name]()
    assert len(text) <= limits.MAX_DOCUMENT_BYTES

    errors = [item for item in compile_document(text).diagnostics if item.severity == "error"]

    assert errors
    paths = {item.path for item in errors[:20]} - {()}
    assert locate_all(text.decode(), paths).keys() == paths


def test_a_document_above_the_limit_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(*_: object, **__: object) -> object:
        raise AssertionError("it was parsed")

    monkeypatch.setattr("tool_induction.compiler.source.json.loads", parsed)

    for source in (b"[" * 1_000_001, "[" * 1_000_001, b" " * 40_000_000, "\u00e9" * 600_000):
        (found,) = compile_document(source).diagnostics
        assert (found.code, found.json_path) == ("E_SIZE", "$")


def test_a_document_that_is_nested_too_deep_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(*_: object, **__: object) -> object:
        raise AssertionError("it was parsed")

    monkeypatch.setattr("tool_induction.compiler.source.json.loads", parsed)

    for source in ("[" * 500_000, '{"a":' * 100_000, "[" * 50 + "]" * 50):
        (found,) = compile_document(source).diagnostics
        assert (found.code, found.json_path) == ("E_SIZE", "$")

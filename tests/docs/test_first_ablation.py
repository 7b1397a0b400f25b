"""The guide "your first ablation" is carried out as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from videoworld import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "first-ablation.md"
_BLOCK = re.compile(r"^```(?P<kind>sh|yaml)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def _blocks(kind: str) -> list[str]:
    return [block["text"] for block in _BLOCK.finditer(PAGE.read_text(encoding="utf-8")) if block["kind"] == kind]


def run_command(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command of a guide prints; it must succeed."""
    program, *arguments = shlex.split(line)
    assert program == "videoworld"
    try:
        main(arguments)
    except SystemExit as leaving:
        assert not leaving.code, f"{line}\n{capsys.readouterr()}"
    return capsys.readouterr().out


@pytest.mark.nightly
@pytest.mark.media
def test_every_command_of_the_guide_runs_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    Path("ablation.yaml").write_text(_blocks("yaml")[0], encoding="utf-8")
    told = {line: run_command(line, capsys) for block in _blocks("sh") for line in block.splitlines()}
    assert len(told) >= 10
    run = tmp_path / "runs" / "first"
    assert len((run / "samples.jsonl").read_text().splitlines()) == 12 * 8 * 2 * 2
    against_itself = told["videoworld eval compare runs/first flat flat-again"]
    assert re.search(r"difference, points\s+0\.0 \[0\.0, 0\.0\]", against_itself)
    # What the folder says of a comparison, the bundle says word for word.
    packed, unpacked = (
        told[f"videoworld eval compare {where} hier@library=hand_A flat"] for where in ("first.vwbundle", "runs/first")
    )
    assert packed == unpacked
    assert "plumbing, not a result" in packed
    assert (run / "report" / "report.html").stat().st_size > 100_000


def test_the_last_part_of_the_guide_is_a_configuration_too(tmp_path: Path) -> None:
    from eval.runs import read_configuration

    first, last = _blocks("yaml")
    path = tmp_path / "ablation.yaml"
    path.write_text(first + last, encoding="utf-8")
    assert read_configuration(path).document.model == "MODEL"

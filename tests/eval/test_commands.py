"""``videoworld sample`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from videoworld import main


def test_a_folder_that_cannot_be_made_is_a_named_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SystemExit) as leaving:
        main(["sample", str(tmp_path / "file" / "below"), "--json"])
    assert leaving.value.code == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "not_writable"
    assert error["hint"]


@pytest.mark.parametrize("arguments", [["sample"], ["sample", "out", "--seed", "-1"], ["sample", "out", "--seed", "x"]])
def test_wrong_usage_ends_with_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert leaving.value.code == 2
    assert "Usage" in capsys.readouterr().err

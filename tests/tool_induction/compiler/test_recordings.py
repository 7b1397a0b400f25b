"""Documents as a language model wrote them: read to the end, explained, never a crash."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.positions import locate
from tool_induction import compile_document

RECORDINGS = Path(__file__).resolve().parents[4] / "shared" / "recordings" / "induction"
FILES = sorted(RECORDINGS.glob("*.json"))


@pytest.mark.skipif(not FILES, reason="the recordings (../shared/recordings) are not here")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_document_gives_findings_at_places_that_exist(file: Any) -> None:
    text = file.read_text(encoding="utf-8")

    compilation = compile_document(text)

    assert compilation.names
    json.dumps(compilation.record(), allow_nan=False)
    for item in compilation.diagnostics:
        assert locate(text, item.path) is not None, item.json_path


@pytest.mark.skipif(not FILES, reason="the recordings (../shared/recordings) are not here")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_compiles_of_a_recorded_document_freezes_to_a_fixed_point(file: Any) -> None:
    tools = compile_document(file.read_bytes()).tools

    again = compile_document({"tools": [item.frozen for item in tools.values()]})

    assert {name: item.frozen for name, item in again.tools.items()} == {
        name: item.frozen for name, item in tools.items()
    }

"""Each example of the diagnostics page is executed: it gives its code, and mended it does not."""

import json
import runpy
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.support.positions import locate
from tool_induction import compile_document
from tool_induction.language import Code, ErrorCode, LintCode, WarningCode

CASES = runpy.run_path(str(Path(__file__).resolve().parents[3] / "docs" / "write_diagnostics.py"))["CASES"]


def codes(document: Any, case: Any) -> list[str]:
    return [item.code for item in compile_document(document, entities=case.entities).diagnostics]


def test_every_code_of_the_closed_list_has_one_example_and_no_other_has() -> None:
    known = [*get_args(ErrorCode), *get_args(WarningCode), *get_args(LintCode)]

    assert len(get_args(Code)) == 3
    assert [case.code for case in CASES] == known


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_an_example_gives_exactly_its_code_at_a_place_that_exists_and_its_mended_form_compiles(case: Any) -> None:
    found, mended = codes(case.example, case), codes(case.sound, case)

    if case.code.startswith("E_"):
        assert [code for code in found if code.startswith("E_")] == [case.code]
        assert found[0] == case.code
    else:
        assert found.count(case.code) == 1
        assert compile_document(case.example, entities=case.entities).ok
    assert case.code not in mended
    assert compile_document(case.sound, entities=case.entities).ok, codes(case.sound, case)

    text = case.example if isinstance(case.example, str) else json.dumps(case.example)
    item = next(item for item in compile_document(text, entities=case.entities).diagnostics if item.code == case.code)
    assert case.code == "E_JSON" or locate(text, item.path) is not None
    assert item.message
    assert item.suggestion or item.expected or case.code in ("E_JSON", "W_UNUSED", "L_WRAPPER", "L_DESCRIPTION"), item

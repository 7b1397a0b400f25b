"""The generated pages say what the code says now."""

import json
import re
import runpy
from pathlib import Path

import pytest

from tool_induction import compile_document
from tool_induction.aggregates import AGGREGATES, UNSURE
from tool_induction.reference import pages

ROOT = Path(__file__).resolve().parents[3]
PAGES = pages() | runpy.run_path(str(ROOT / "docs" / "write_diagnostics.py"))["pages"]()
STALE = "run `make docs`"


@pytest.mark.parametrize("name", ["tool-language-reference.md", "tool-language.schema.json", "diagnostics.md"])
def test_a_page_is_as_the_language_is_now(name: str) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == PAGES[name], STALE


def test_the_page_tells_what_each_aggregate_makes_of_what_is_only_possible() -> None:
    text = (ROOT / "docs" / "tool-language.md").read_text(encoding="utf-8")
    rows = [f"| `{names}` | {gives} |" for names, gives in UNSURE.values()]

    assert "\n".join(["| aggregates | give |", "| --- | --- |", *rows]) in text
    assert sorted(name for names, _ in UNSURE.values() for name in names.split()) == sorted(AGGREGATES)


@pytest.mark.skipif("recordings.md" not in PAGES, reason="the recordings (../shared/recordings) are not here")
def test_the_page_about_recordings_is_as_the_compiler_is_now() -> None:
    assert (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8") == PAGES["recordings.md"], STALE


def test_the_page_about_recordings_claims_no_yield() -> None:
    text = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")

    assert "measure nothing" in text
    assert not re.search(r"\d+ of \d+ tools|\d+ ?%", text)


def test_every_example_on_the_page_gives_the_code_it_stands_under() -> None:
    sections = re.split(r"^## ", PAGES["diagnostics.md"], flags=re.MULTILINE)[1:]

    for section in sections:
        wanted = section.split("\n", 1)[0]
        example = re.search(r"```json\n(.*?)```", section, re.DOTALL)
        assert example is not None
        found = {item.code for item in compile_document(example[1], entities=["red backpack"]).diagnostics}
        assert wanted in found, wanted
        assert re.search(rf"```text\n{wanted} \$", section), wanted
    assert len(sections) >= 37


def test_the_published_schema_is_one_file_without_outside_references() -> None:
    schema = json.loads(PAGES["tool-language.schema.json"])

    assert all(ref.startswith("#/$defs/") for ref in re.findall(r'"\$ref": "(.*?)"', json.dumps(schema)))


def test_every_aggregate_is_described() -> None:
    assert all(spec.says for spec in AGGREGATES.values())

"""The reference page says what the code does, and its example runs."""

import re
from pathlib import Path
from typing import Any

import pytest

from tool_induction import compile_document, run_tool
from tool_induction.aggregates import AGGREGATES
from tool_induction.language.model import STEP_MODELS
from tool_induction.language.parsing import FILTERS
from tool_induction.language.types import known_types

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tool-language.md"


@pytest.fixture
def page() -> Any:
    return PAGE.read_text(encoding="utf-8")


def section(page: Any, title: Any) -> Any:
    return page.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_example_compiles_and_runs(page: Any, world: Any) -> None:
    example = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert example is not None
    tools = compile_document(example[1]).require()

    result = run_tool(tools, "first_two_sightings", {"video_id": "film", "looks": "red"}, call=world)

    assert (result["status"], result["outputs"]["first_time"]) == ("ok", 34.0)
    assert result["outputs"]["captions"][0]["caption"] == "what happens from 34.0"


def test_the_tool_written_in_python_compiles(page: Any) -> None:
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {}

    exec(compile(example[1], "example", "exec"), names)  # noqa: S102 - the page is ours

    assert list(names["tools"]) == ["find_first_mention"]


def test_the_reference_names_every_aggregate_with_its_parameters() -> None:
    reference = (PAGE.parent / "tool-language-reference.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|", section(reference, "Aggregates"), re.MULTILINE))

    assert set(rows) == set(AGGREGATES)
    for name, spec in AGGREGATES.items():
        assert all(parameter in rows[name] for parameter in spec.params), name


def test_the_page_names_every_step_type_filter_and_type(page: Any) -> None:
    steps = set(re.findall(r"^\| `(\w+)` \|", section(page, "Steps"), re.MULTILINE))

    assert steps == set(STEP_MODELS) - {"judge"}
    assert all(name in section(page, "Expressions") for name in FILTERS)
    assert all(name in section(page, "Types") for name in known_types())

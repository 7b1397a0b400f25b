"""The prompts: made from the compiler's own tables, the same for the same draw, and short."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tool_induction import compile_document, load_library
from tool_induction.aggregates import AGGREGATES
from tool_induction.checker import operation_result
from tool_induction.checker.environment import list_field
from tool_induction.domains import Domain, load_domain, packaged_domains
from tool_induction.inducer import FailingTool, InducerPrompts, examples_of
from tool_induction.language import FILTERS, STEP_MODELS, known_types, operation_types
from tool_induction.library import packaged_libraries
from world_api.chat import estimate_tokens
from world_api.operations import EVERY_OPERATION, OPERATIONS, operations_for

GOLDEN = Path(__file__).parents[2] / "golden" / "induction"


@pytest.fixture
def check_golden() -> Callable[[str, str], None]:
    """Compares a prompt with the golden of that name, or writes it when UPDATE_GOLDENS=1 is set."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDENS") == "1":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text + "\n", f"{name} changed; if on purpose: UPDATE_GOLDENS=1"

    return check


@pytest.fixture(scope="module")
def prompts() -> InducerPrompts:
    return InducerPrompts()


def test_the_prompts_are_the_golden_ones(
    prompts: InducerPrompts, domain: Domain, check_golden: Callable[[str, str], None]
) -> None:
    failing = [
        FailingTool(name="find_it", text='{"tool_name": "find_it"}', faults=("E_SHAPE at $: it lacks steps.",)),
        FailingTool(
            name="count_it", text='{"tool_name": "count_it"}', faults=("constant at $: always 3. Suggestion: look.",)
        ),
    ]
    check_golden("system_plain.txt", prompts.system("plain"))
    check_golden("request.txt", prompts.request(domain, count=9, seed=1))
    check_golden("repair.txt", prompts.repair(domain, failing, usable=["locate_it"], mode="structured"))


def test_the_system_prompt_tells_every_operation_aggregate_step_filter_and_type(prompts: InducerPrompts) -> None:
    text = prompts.system("plain")
    assert all(f"- {name}(" in text for name in (*OPERATIONS, *AGGREGATES))
    assert all(item.description in text for item in OPERATIONS.values())
    assert all(re.search(rf"^- {kind}: ", text, re.MULTILINE) for kind in STEP_MODELS if kind != "judge")
    assert "judge" not in text
    assert all(
        key in text for key in ("api", "tool", "params", "where", "fields", "condition", "then", "else", "value")
    )
    assert all(name in text for name in (*FILTERS, *known_types()))
    assert all(str(item) in text for item in (512, 200))


def test_every_parameter_of_every_operation_and_aggregate_is_told(prompts: InducerPrompts) -> None:
    lines = [line.removeprefix("- ") for line in prompts.system("plain").splitlines() if re.match(r"- \w+\(", line)]
    signatures = dict(line.split("(", 1) for line in lines)
    for name, operation in OPERATIONS.items():
        parameters = signatures[name].split(") -> ")[0]
        assert [part.split("?")[0].split(":")[0] for part in parameters.split(", ")] == [
            item.rstrip("?") for item in operation.signature()
        ]
    assert set(signatures) == set(OPERATIONS) | set(AGGREGATES)
    assert all(
        f"{key}{'' if item.required else '?'}:" in signatures[name]
        for name, spec in AGGREGATES.items()
        for key, item in spec.params.items()
    )


@pytest.fixture(scope="module")
def worked() -> str:
    path = files("tool_induction.inducer") / "prompts" / "worked_tool.json"
    return path.read_text(encoding="utf-8").strip()


def test_the_worked_tool_compiles_and_stands_in_the_prompt(prompts: InducerPrompts, worked: str) -> None:
    compilation = compile_document(worked)
    assert compilation.ok
    assert not [item for item in compilation.diagnostics if item.severity == "lint"]
    assert worked in prompts.system("plain")


def test_the_worked_tool_answers_nothing_that_a_packaged_domain_or_library_is_about(worked: str) -> None:
    name = json.loads(worked)["tool_name"]
    for packaged in packaged_domains():
        domain = load_domain(packaged)
        assert not [item for item in (*domain.entities.examples, *domain.entities.others) if item in worked]
        assert not [item for item in domain.examples if "search_similar_to_example" in item.found_by]
        assert not [kind for kind in domain.tool_kinds if {"similar", "alike", "shot"} & set(kind.about.split())]
    for library in packaged_libraries():
        tools = load_library(library).tools
        assert name not in tools
        assert compile_document(worked).tools[name].frozen["steps"] not in [
            item.frozen["steps"] for item in tools.values()
        ]


def test_the_worked_tool_is_admitted(worked: str, domain: Domain) -> None:
    from tool_induction.admission import admit

    admission = admit(compile_document(worked).tools, others=domain.entities.others)
    assert admission.admitted == ("list_similar_shots",), admission


def test_what_ends_a_loop_early_is_explained(prompts: InducerPrompts) -> None:
    assert "until is a condition that ends the loop early" in prompts.system("plain")


def test_the_prompt_is_compact(prompts: InducerPrompts) -> None:
    """About 4,200 tokens of language and 1,450 of domain; a reader of docs/induction.md is told so."""
    assert estimate_tokens(prompts.system("plain")) < 4_300
    assert all(
        estimate_tokens(prompts.request(load_domain(name), count=9, seed=1)) < 1_700 for name in packaged_domains()
    )


@pytest.mark.parametrize("name", ["A_locate_count", "B_order_cause", "C_summary_multihop"])
def test_the_request_shows_induction_templates_and_no_other(prompts: InducerPrompts, name: str) -> None:
    domain = load_domain(name)
    text = prompts.request(domain, count=9, seed=3)
    for split in ("induction", "development", "test"):
        shown = [item.en in text for item in domain.templates(split)]  # type: ignore[arg-type]
        assert all(shown) if split == "induction" else not any(shown)
    assert not [item for item in domain.entities.others if item in text]


def test_a_seed_orders_the_prompt_and_says_so_again(prompts: InducerPrompts, domain: Domain) -> None:
    one = prompts.request(domain, count=9, seed=1)
    assert one == prompts.request(domain, count=9, seed=1)
    others = {prompts.request(domain, count=9, seed=seed) for seed in range(1, 6)}
    assert len(others) == 5
    assert len({frozenset(text.splitlines()) for text in others}) == 1
    assert f"Q: {examples_of(domain, 1)[0].question}" == one.split("Worked examples:\n- ")[1].splitlines()[0]


def test_the_domain_can_be_told_without_asking_for_tools(prompts: InducerPrompts, domain: Domain) -> None:
    told = prompts.domain(domain, seed=2)
    assert told in prompts.request(domain, count=9, seed=2)
    assert "tools" not in told
    assert all(item.question in told for item in domain.examples)


def test_the_hash_names_words_and_tables(prompts: InducerPrompts, monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompts.hash
    assert before == InducerPrompts().hash
    monkeypatch.setattr("tool_induction.limits.MAX_LOOP_ITEMS", 201)
    assert InducerPrompts().hash != before


def test_text_of_a_model_is_no_template(prompts: InducerPrompts, domain: Domain) -> None:
    text = "{{ 7 * 7 }} {% for x in y %}"
    told = prompts.repair(domain, [FailingTool(name="a_b", text=text, faults=(text,))], usable=(), mode="plain")
    assert told.count(text) == 2


GROUPS = sorted({item.group for item in EVERY_OPERATION.values() if item.group})
SOME_VALUE = {"string": "rain", "integer": 3, "number": 5, "boolean": True, "array": ["x"]}


def _looped(name: str) -> Any:
    """A loop of an operation over the hits of a search, as the compiler wrote it out."""
    schema = operation_types(name).parameters_schema
    params: dict[str, Any] = {"video_id": "{{video_id}}"}
    for key in operation_types(name).required - {"video_id"}:
        given = schema["properties"][key]
        kind = given.get("type", "object")
        params[key] = given["enum"][0] if "enum" in given else SOME_VALUE.get(kind, {"start_time": 1, "end_time": 5})
    if "end_time" in params:
        params["end_time"] = SOME_VALUE["number"] + 1  # behind the start
    call = {"type": "call_world_api", "api": name, "loop_over": "hits", "params": params, "save_as": "made"}
    search = {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 3}
    tool = {
        "tool_name": "look_at_hits",
        "description": "Looks at each hit of a search with one operation.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"made": {"type": "list", "from": "{{ made }}"}},
        "steps": [
            {"type": "call_world_api", "api": "search_segments_by_text", "params": search, "save_as": "hits"},
            call,
        ],
    }
    compilation = compile_document(tool, groups=GROUPS)
    return compilation.require()["look_at_hits"].tool.steps[-1]


@pytest.mark.parametrize("groups", [frozenset(), frozenset(GROUPS)], ids=["sixteen", "all"])
def test_the_prompt_names_the_results_with_a_list_that_a_loop_does_not_join_as_the_compiler_has_it(
    groups: frozenset[str],
) -> None:
    text = InducerPrompts(groups=groups).system("plain")
    kept = re.search(r"These hold a list and stay records: (.*)\.\n", text)
    told = set() if kept is None else {part.split(" ")[0] for part in kept[1].split(", ")}
    holding = {name for name in operations_for(groups) if list_field(operation_result(name, {})) is not None}

    assert told == {name for name in holding if _looped(name).flattens is None}
    assert "get_entity_trajectory" in told
    assert "detect_objects" not in told


def test_the_prompt_says_how_a_caller_goes_on_without_a_tool_that_found_nothing(prompts: InducerPrompts) -> None:
    assert "With on_error null the call gives null and the caller goes on" in prompts.system("plain")

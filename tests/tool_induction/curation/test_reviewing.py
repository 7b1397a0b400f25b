"""What a person is shown of a library."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tool_induction import compile_document, load_library
from tool_induction.curation import (
    IMAGINED,
    ExampleRuns,
    example_arguments,
    plan_lines,
    review_html,
    review_library,
    review_text,
)


def reviewed(named: Any) -> dict[str, Any]:
    return review_library(load_library(named), (), ExampleRuns())


def test_a_plan_reads_as_lines_with_blocks_indented(document: Any) -> None:
    steps = [
        {
            "type": "loop", "loop_over": "hits", "as": "hit", "max_items": 3, "until": "{{ rows | length > 1 }}",
            "on_error": "skip", "save_as": "rows",
            "do": [{"type": "call_world_api", "api": "describe_segment", "save_as": "told", "params": {
                "video_id": "{{video_id}}", "start_time": "{{hit.start_time}}", "end_time": "{{hit.end_time}}"}}],
        },
        {"type": "filter", "inputs": "rows", "where": "{{ item.start_time > 1 }}", "save_as": "late"},
        {"type": "if", "condition": "{{ late | length > 0 }}",
         "then": [{"type": "set", "value": "some of {{ query }}", "save_as": "text"}],
         "else": [{"type": "set", "value": "none", "save_as": "text"}]},
        {"type": "project", "inputs": "late", "fields": {"words": "{{ item.caption }}"}, "save_as": "told_all"},
        {"type": "aggregate", "operation": "top_k", "inputs": "told_all", "params": {"k": 2}, "save_as": "two"},
        {"type": "require", "condition": "{{ two | length > 0 }}", "status": "ambiguous", "reason": "no {{ query }}"},
    ]  # fmt: skip
    outputs = {"two": "list<record>", "text": "string"}
    tool = compile_document(document(*steps, outputs=outputs)).require()["small_tool"].tool

    assert plan_lines(tool) == [
        "hits = search_segments_by_text(query=query, top_k=5)",
        "rows = for each hit of hits.candidates (at most 3):, until (rows | length) > 1, leaving out what fails",
        "  told = describe_segment(start_time=hit.start_time, end_time=hit.end_time)",
        "late = items of rows where item.start_time > 1",
        "if (late | length) > 0:",
        '  text = "some of {{ query }}"',
        "else:",
        '  text = "none"',
        "told_all = for each item of late: {words=item.caption}",
        "two = top_k(told_all, k=2)",
        'stop as ambiguous unless (two | length) > 0: "no {{ query }}"',
    ]


def test_everything_a_person_judges_by_is_there() -> None:
    review = reviewed("hand_B")
    tool = next(one for one in review["tools"] if one["name"] == "describe_after")

    assert review["origin"]["origin"] == "hand-written"
    assert "search_segments_by_text" in review["operations"]
    assert [(port["name"], port["type"], port["required"]) for port in tool["inputs"]][:2] == [
        ("video_id", "string", True),
        ("event", "string", True),
    ]
    assert tool["inputs"][2]["default"] == 20
    assert tool["outputs"][0]["from"] == "hit.start_time"
    assert tool["plan"][0] == "hit = locate_event(event=event)"
    assert tool["price"]["min"]["calls"] <= tool["price"]["expected"]["calls"] <= tool["price"]["max"]["calls"]
    assert tool["example"]["made_up"]
    assert tool["example"]["result"]["status"] in ("ok", "empty")


def test_the_text_shows_each_part_and_says_that_an_example_is_made_up() -> None:
    text = review_text(reviewed("hand_A"))

    for part in (
        "hand-written, A_locate_count",
        "  plan\n",
        "  price   ",
        "on the made-up world 'many'",
        "-> ok | ",
    ):
        assert part in text
    assert all(name in text for name in load_library("hand_A").tools)
    assert max(map(len, text.splitlines())) <= 140


class Page(HTMLParser):
    """What a page loads from elsewhere, and whether its tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.foreign += [
            str(value) for key, value in attrs if key in ("src", "href") and not str(value).startswith("#")
        ]
        self.foreign += ["script"] if tag == "script" else []
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_in_itself_and_shows_every_tool() -> None:
    page = Page()
    page.feed(review_html(reviewed("hand_C")))

    assert (page.foreign, page.open) == ([], [])
    assert all(name in page.text for name in load_library("hand_C").tools)


def test_what_a_library_says_cannot_become_part_of_the_page(tmp_path: Path, seed: Any) -> None:
    seed["description"] = "Finds <script>alert(1)</script> and <b>bold</b> people in a video."
    file = tmp_path / "evil.json"
    file.write_text(json.dumps(seed))

    html = review_html(reviewed(file))

    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_examples_on_a_video_run_there_and_leave_nothing_behind(cli: Cli, make_world: Any) -> None:
    before = sorted(path for path in make_world.store.rglob("*"))

    record = cli("tools", "review", "hand_A", "--video", "made", "--json").json

    examples = {tool["name"]: tool["example"] for tool in record["tools"]}
    assert not any(example["made_up"] for example in examples.values())
    assert examples["locate_last_appearance"]["result"]["status"] == "ok"
    assert "Where did you put the" in examples["locate_words"]["arguments"]["words"]
    assert sorted(path for path in make_world.store.rglob("*")) == before


def test_arguments_of_examples_can_be_given(cli: Cli) -> None:
    given = json.dumps({"locate_words": {"words": "blue folder"}})

    record = cli("tools", "review", "hand_A", "--video", "made", "--args", given, "--json").json

    example = next(tool["example"] for tool in record["tools"] if tool["name"] == "locate_words")
    assert example["arguments"] == {"video_id": "made", "words": "blue folder"}
    assert example["result"]["outputs"]["start_time"] == 22.0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("hand_A", "--args", '{"fly": {}}'), "bad_arguments"),
        (("hand_A", "--args", '{"locate_words": 1}'), "bad_arguments"),
        (("hand_A", "--video", "nobody"), "no_such_world"),
        (("nowhere",), "no_such_library"),
    ],
)
def test_a_review_that_cannot_be_made_is_a_named_failure(cli: Cli, arguments: Any, code: str) -> None:
    outcome = cli("tools", "review", *arguments, "--json")
    assert (outcome.status, outcome.json["error"]["code"]) == (1, code)


def test_wrong_arguments_of_an_example_are_shown_with_the_tool(cli: Cli) -> None:
    outcome = cli("tools", "review", "hand_A", "--args", '{"locate_words": {"words": 7}}')
    assert outcome.status == 0
    assert "bad_arguments" in outcome.out


def test_the_command_writes_a_page(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("tools", "review", "hand_A", "--html", str(tmp_path / "page.html"))
    assert (outcome.status, outcome.out) == (0, "")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_page_may_be_written_anew_and_nothing_else(cli: Cli, tmp_path: Path) -> None:
    page, other = tmp_path / "page.html", tmp_path / "thesis.html"
    other.write_text("<!doctype html>years of work", encoding="utf-8")
    assert cli("tools", "review", "hand_A", "--html", str(page)).status == 0
    assert cli("tools", "review", "hand_B", "--html", str(page)).status == 0
    assert "hand_B" in page.read_text(encoding="utf-8")
    outcome = cli("tools", "review", "hand_A", "--html", str(other), "--json")
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "file_exists")
    assert other.read_text(encoding="utf-8") == "<!doctype html>years of work"


def test_a_file_that_was_never_frozen_says_so(cli: Cli, tmp_path: Path, seed_text: str) -> None:
    file = tmp_path / "seed.json"
    file.write_text(seed_text)
    out = cli("tools", "review", str(file)).out
    assert "a plain file, not frozen" in out
    assert "W_IMPLICIT_BINDING" in out


def test_example_arguments_fit_the_names_and_types_of_inputs(compiled: Any, document: Any) -> None:
    inputs = {
        "person_look": "string", "category": "string", "quote": "string", "event": "string", "second_event": "string",
        "events": "list<string>", "start_time": "Time", "end_time": "Time", "entity_id": "string", "sure": "bool",
        "count": "int", "optional_one": {"type": "string", "default": "x"},
    }  # fmt: skip
    tool = compiled(document(inputs=inputs))["small_tool"].tool

    given = example_arguments(tool, IMAGINED)

    assert given["person_look"] in IMAGINED.looks
    assert given["category"] in IMAGINED.categories
    assert given["quote"] in IMAGINED.words
    assert given["event"] != given["second_event"]
    assert len(set(given["events"])) == 2
    assert 0 <= given["start_time"] < given["end_time"] <= IMAGINED.duration
    assert given["entity_id"] not in (*IMAGINED.events, "")
    assert "optional_one" not in given

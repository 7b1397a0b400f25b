"""Domain files: read strictly, refused by name and line, with splits that share nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tool_induction.domains import SPLITS, Domain, load_domain, packaged_domains
from world_api.core import ToolFault

PACKAGED = ("A_locate_count", "B_order_cause", "C_summary_multihop")
Edited = Callable[..., Path]


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    """Writes a copy of domain A with one text replaced by another."""

    def make(old: str, new: str, *, count: int = 1) -> Path:
        text = (files("toollibs") / "domains" / "A_locate_count.yaml").read_text(encoding="utf-8")
        assert old in text
        path = tmp_path / "mine.yaml"
        path.write_text(text.replace(old, new, count), encoding="utf-8")
        return path

    return make


def refusal(path: Path | str) -> tuple[str, str]:
    with pytest.raises(ToolFault) as caught:
        load_domain(path)
    assert caught.value.hint
    return caught.value.code, caught.value.message


def test_three_domains_are_packaged() -> None:
    assert tuple(packaged_domains()) == PACKAGED


@pytest.mark.parametrize("name", PACKAGED)
class TestPackaged:
    @pytest.fixture
    def domain(self, name: str) -> Domain:
        return load_domain(name)

    def test_it_is_named_as_its_file(self, domain: Domain, name: str) -> None:
        assert domain.name == name

    def test_every_type_of_question_that_induction_sees_is_also_developed_and_tested(self, domain: Domain) -> None:
        for kind in domain.question_types:
            if kind.of("induction"):
                assert kind.of("development")
            assert kind.of("test")

    def test_some_type_of_question_is_held_out_of_all_but_the_test(self, domain: Domain) -> None:
        assert any(not kind.of("induction") and not kind.of("development") for kind in domain.question_types)

    def test_every_question_can_be_asked_in_chinese(self, domain: Domain) -> None:
        templates = [item for split in SPLITS for item in domain.templates(split)]
        assert all(any("\u4e00" <= character <= "\u9fff" for character in item.zh) for item in templates)

    def test_each_type_that_induction_sees_has_a_worked_example(self, domain: Domain) -> None:
        seen = {kind.id for kind in domain.question_types if kind.of("induction")}
        assert {item.type for item in domain.examples} == seen

    def test_the_examples_say_by_which_operations_they_are_found(self, domain: Domain) -> None:
        from world_api.operations import OPERATIONS

        assert all(any(name in item.found_by for name in OPERATIONS) for item in domain.examples)

    def test_every_split_has_videos(self, domain: Domain) -> None:
        assert all(split.videos for split in domain.splits)


def test_a_name_that_is_nearly_right_is_put_right() -> None:
    with pytest.raises(ToolFault, match="no domain") as caught:
        load_domain("A_locate_cout")
    assert caught.value.hint == "did you mean 'A_locate_count'?"


def test_a_copy_of_a_packaged_domain_loads_and_has_the_files_hash(edited: Edited, tmp_path: Path) -> None:
    same = load_domain(edited("A_locate_count", "A_locate_count"))
    assert same.hash == load_domain("A_locate_count").hash
    assert load_domain(edited("title: Locate", "title: Find")).hash != same.hash


@pytest.mark.parametrize(
    ("old", "new", "code", "told"),
    [
        pytest.param("title: Loc", "title: &a Loc", "bad_yaml", "line 5: anchors", id="anchor"),
        pytest.param("name: A_", "name: !!str A_", "bad_yaml", "line 4: the tag", id="tag"),
        pytest.param(
            "tool_kinds:", "title: again\ntool_kinds:", "bad_yaml", "a second time (first on line 5)", id="key twice"
        ),
        pytest.param("title: Locate and count", 'title: "Locate', "bad_yaml", "line", id="open quote"),
        pytest.param("answer: interval", "anwser: interval", "bad_domain", "did you mean 'answer'?", id="misspelt key"),
        pytest.param(
            "answer: interval", "answer: intervall", "bad_domain", "did you mean 'interval'?", id="answer type"
        ),
        pytest.param("answer: interval", "answer: 3", "bad_domain", "not a type of answer", id="number for a word"),
        pytest.param("  test: [", "  tests: [", "bad_domain", "did you mean 'test'?", id="split of videos"),
        pytest.param("      development:", "      develop:", "bad_domain", "did you mean 'development'?", id="split"),
        pytest.param(
            "  - type: presence", "  - type: presenc", "bad_domain", "no question type 'presenc'", id="example"
        ),
        pytest.param("- id: presence", "- id: visible_duration", "bad_domain", "is there twice", id="type twice"),
        pytest.param(
            "{object}在画面中累计", "{thing}在画面中累计", "bad_domain", "different placeholders", id="placeholders"
        ),
        pytest.param(
            "schema_version: 1", "schema_version: 9", "other_schema_version", "schema version 9", id="version"
        ),
        pytest.param("title: Locate and count", "title: ''", "bad_domain", "title", id="no title"),
        pytest.param("tool_kinds:", "tool_kind:", "bad_domain", "tool_kinds is missing", id="part missing"),
    ],
)
def test_a_fault_is_named_with_its_line(edited: Edited, old: str, new: str, code: str, told: str) -> None:
    found, message = refusal(edited(old, new))
    assert found == code
    assert told in message
    assert "line" in message


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(
            '["sandbox-test-*"]', '["sandbox-induction-7"]', "'sandbox-induction-7' of test", id="in a pattern"
        ),
        pytest.param('["sandbox-test-*"]', '["sandbox-*"]', "'sandbox-*' of test", id="pattern around patterns"),
        pytest.param('["sandbox-test-*"]', '["sample"]', "'sample' of admission", id="the same video"),
    ],
)
def test_splits_that_share_a_video_are_refused_by_name(edited: Edited, old: str, new: str, told: str) -> None:
    code, message = refusal(edited(old, new))
    assert code == "split_overlap"
    assert told in message


@pytest.mark.parametrize("wording", ["When does {person} first appear?", "when does {somebody}   FIRST appear"])
def test_splits_that_share_a_template_are_refused_however_it_is_spelt(edited: Edited, wording: str) -> None:
    code, message = refusal(
        edited(
            '{en: "At what point do we get our first look at {person}?", zh: "我们最早在哪个时间点看到{person}？"}',
            f'{{en: "{wording}"}}',
        )
    )
    assert code == "split_overlap"
    assert "is a template of test and, on line 24, of induction" in message


def test_an_example_that_follows_no_induction_template_is_refused(edited: Edited) -> None:
    code, _ = refusal(edited("When does the woman in the yellow raincoat first appear?", "Where is the woman?"))
    assert code == "example_outside_induction"


def test_an_example_from_a_test_video_is_refused(edited: Edited) -> None:
    code, message = refusal(edited("    answer: from 84.0 to 97.5 s", "    answer: x\n    video: sandbox-test-3"))
    assert code == "example_outside_induction"
    assert "belongs to test" in message


def test_an_entity_cannot_be_of_the_examples_and_another(edited: Edited) -> None:
    code, message = refusal(edited("- a bottle", "- The Red Suitcase"))
    assert code == "entity_overlap"
    assert "The Red Suitcase" in message


def test_words_that_older_yaml_takes_for_something_else_stay_words(edited: Edited) -> None:
    domain = load_domain(edited('answer: "7"', "answer: 1:30"))
    answers = [item.answer for item in domain.examples]
    assert "1:30" in answers
    assert load_domain(edited("answer: yes, first at 551.0 s", "answer: yes")).examples[-1].answer == "yes"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"- a\n- b\n", id="a list"),
        pytest.param(b"\xff\xfe\x00", id="not UTF-8"),
        pytest.param(b"a: \x00", id="a control character"),
        pytest.param(b"a: " + b"[" * 5000 + b"]" * 5000, id="deep"),
        pytest.param(b"[" * 100_000, id="deep and open"),
        pytest.param(b"- a\n" * 40_000, id="many parts"),
        pytest.param(b"x" * (200_000 + 1), id="large"),
        pytest.param(b"a: &a [x]\nb: [*a, *a]\n", id="aliases"),
        pytest.param(b"? [a]\n: b\n", id="a key that is no word"),
        pytest.param(b"--- a\n--- b\n", id="two documents"),
        pytest.param(b"%YAML 9.9\n---\na: b\n", id="a directive"),
        pytest.param(b"a: !!python/object/apply:os.system [ls]\n", id="a tag that runs something"),
    ],
)
def test_no_file_crashes_the_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.yaml"
    path.write_bytes(content)
    code, message = refusal(path)
    assert code in ("bad_yaml", "bad_domain")
    assert "any.yaml" in message


def test_the_command_lists_the_packaged_domains(cli: Any) -> None:
    listed = cli("domains", "--json", store=None).json
    assert [item["name"] for item in listed] == list(PACKAGED)
    assert "Locate and count" in cli("domains", store=None).out


def test_the_command_shows_a_file_of_ones_own_or_says_what_is_wrong(cli: Any, edited: Edited, tmp_path: Path) -> None:
    mine = edited("title: Locate and count", "title: My questions")
    shown = cli("domains", str(mine), store=None).out
    assert "My questions" in shown
    assert "no video and no question template belongs to two splits" in shown
    broken = tmp_path / "broken.yaml"
    shutil.copy(mine, broken)
    broken.write_text(broken.read_text(encoding="utf-8").replace('["sandbox-test-*"]', '["sample"]'), encoding="utf-8")
    outcome = cli("domains", str(broken), store=None)
    assert (outcome.status, "split_overlap" in outcome.err) == (1, True)

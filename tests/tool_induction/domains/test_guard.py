"""The split guard, as an evaluation uses it on a set of questions."""

from __future__ import annotations

from typing import Any

import pytest

from tool_induction.domains import Domain, PlannedQuestion, Split, leaks, load_domain, refuse_leaks
from world_api.core import ToolFault


@pytest.fixture
def domain() -> Domain:
    return load_domain("A_locate_count")


def found(
    domain: Domain, split: str, question: str, *, video: str = "own-video", template: str = ""
) -> list[tuple[str, str]]:
    asked = PlannedQuestion(video_id=video, question=question, template=template)
    return [(leak.by, leak.belongs_to) for leak in leaks(domain, split, [asked])]  # type: ignore[arg-type]


def test_a_question_by_a_test_template_of_a_test_video_may_be_asked_in_the_test(domain: Domain) -> None:
    question = "At what point do we get our first look at a man in a hat?"
    assert found(domain, "test", question, video="sandbox-test-4") == []


def test_a_video_of_another_split_is_a_leak(domain: Domain) -> None:
    assert found(domain, "test", "Why?", video="sandbox-development-1") == [("video", "development")]
    assert found(domain, "development", "Why?", video="sample") == [("video", "admission")]


def test_a_question_by_a_template_of_another_split_is_a_leak_in_either_language(domain: Domain) -> None:
    assert found(domain, "test", "When is the green kite last visible?") == [("template", "induction")]
    assert found(domain, "test", "绿色的风筝最后一次出现是什么时候？") == [("template", "induction")]


def test_a_template_is_known_by_its_id_where_the_wording_is_another(domain: Domain) -> None:
    assert found(domain, "test", "So?", template="presence/development/0") == [("template", "development")]
    assert found(domain, "test", "So it is?", template="presence/test/0") == []


def test_the_words_are_looked_at_also_where_a_template_is_claimed(domain: Domain) -> None:
    claimed = "first_appearance/test/0"
    assert found(domain, "test", "When does the kite first appear?", template=claimed) == [("template", "induction")]
    own = "At what point do we get our first look at the kite?"
    assert found(domain, "test", own, template=claimed) == []


def test_a_template_that_is_not_there_is_a_fault(domain: Domain) -> None:
    with pytest.raises(ToolFault, match="first_apearance") as caught:
        found(domain, "test", "When does the kite first appear?", template="first_apearance/induction/0")
    assert caught.value.code == "no_such_template"
    assert "first_appearance/induction/0" in caught.value.hint


class TestLibrary:
    """What the manifest of a library says that its induction saw."""

    def manifest(self, **seen: Any) -> dict[str, Any]:
        return {"domain": "A_locate_count", "induction": {"example_worlds": {}, **seen}}

    def leaks(self, domain: Domain, library: dict[str, Any], question: str = "Why?", video: str = "mine") -> list[Any]:
        asked = [PlannedQuestion(video_id=video, question=question)]
        return [(leak.by, leak.belongs_to) for leak in leaks(domain, "test", asked, library=library)]

    def test_a_world_that_no_split_names_and_that_tools_were_tried_on_is_a_leak(self, domain: Domain) -> None:
        library = self.manifest(example_worlds={"mine": "0" * 64})
        assert self.leaks(domain, library) == [("video", "admission")]
        assert self.leaks(domain, library, video="other") == []

    def test_an_example_that_was_shown_is_one_also_where_the_domain_has_changed(self, domain: Domain) -> None:
        library = self.manifest(examples_used=["Who hid the seven spoons?"]) | {"domain": "another"}
        assert self.leaks(domain, library, "who hid the seven spoons") == [("example", "induction")]

    def test_a_template_that_was_shown_is_one_also_where_it_was_moved_to_another_split(self, domain: Domain) -> None:
        shown = domain.templates("test")[0]
        question = shown.en.replace("{", "").replace("}", "")
        assert self.leaks(domain, self.manifest(), question) == []
        assert self.leaks(domain, self.manifest(templates_used=[shown.id]), question) == [("template", "induction")]

    def test_a_set_is_refused_by_it(self, domain: Domain) -> None:
        asked = [PlannedQuestion(video_id="mine", question="Why?")]
        refuse_leaks(domain, "test", asked)
        with pytest.raises(ToolFault, match="were tried on this video"):
            refuse_leaks(domain, "test", asked, library=self.manifest(example_worlds={"mine": ""}))

    def test_a_library_that_was_written_by_hand_saw_nothing(self, domain: Domain) -> None:
        assert self.leaks(domain, {"domain": "A_locate_count", "origin": "hand-written"}) == []


def test_a_worked_example_is_never_asked_again(domain: Domain) -> None:
    question = "when does the woman in the yellow raincoat first appear"
    assert found(domain, "development", question) == [("example", "induction")]
    assert found(domain, "induction", question) == []


def test_what_no_split_names_was_seen_by_nobody(domain: Domain) -> None:
    assert found(domain, "test", "Does the plot make sense?", video="a-benchmark-video") == []


def test_a_set_with_leaks_is_refused_and_the_first_are_named(domain: Domain) -> None:
    asked = [PlannedQuestion(video_id=f"sandbox-induction-{n}", question="Why?") for n in range(9)]
    with pytest.raises(ToolFault, match=r"9 questions .* and 4 more") as caught:
        refuse_leaks(domain, "test", asked)
    assert caught.value.code == "split_leak"
    refuse_leaks(domain, "induction", asked)


def test_a_long_question_is_looked_at_in_no_time_to_speak_of(domain: Domain) -> None:
    assert found(domain, "test", "does between and is in view " * 400) == []


def test_a_pattern_matches_the_beginning_of_an_id() -> None:
    split = Split(name="test", videos=("sandbox-test-*", "sample"))
    assert [split.holds(name) for name in ("sandbox-test-7", "sample")] == [True, True]
    assert [split.holds(name) for name in ("sandbox-test", "sample2")] == [False, False]

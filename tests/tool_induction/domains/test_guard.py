"""The split guard, as an evaluation uses it on a set of questions."""

from __future__ import annotations

import pytest

from tool_induction.domains import Asked, Domain, leaks, load_domain, refuse_leaks
from tool_induction.domains.domain import matches, overlap
from world_api.core.faults import ToolFault


@pytest.fixture
def domain() -> Domain:
    return load_domain("A_locate_count")


def found(
    domain: Domain, split: str, question: str, *, video: str = "own-video", template: str = ""
) -> list[tuple[str, str]]:
    asked = Asked(video_id=video, question=question, template=template)
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
    assert found(domain, "test", "When is it last visible?", template="presence/test/0") == []


def test_a_worked_example_is_never_asked_again(domain: Domain) -> None:
    question = "when does the woman in the yellow raincoat first appear"
    assert found(domain, "development", question) == [("example", "induction")]
    assert found(domain, "induction", question) == []


def test_what_no_split_names_was_seen_by_nobody(domain: Domain) -> None:
    assert found(domain, "test", "Does the plot make sense?", video="a-benchmark-video") == []


def test_a_set_with_leaks_is_refused_and_the_first_are_named(domain: Domain) -> None:
    asked = [Asked(video_id=f"sandbox-induction-{n}", question="Why?") for n in range(9)]
    with pytest.raises(ToolFault, match=r"9 questions .* and 4 more") as caught:
        refuse_leaks(domain, "test", asked)
    assert caught.value.code == "split_leak"
    refuse_leaks(domain, "induction", asked)


def test_a_long_question_is_looked_at_in_no_time_to_speak_of(domain: Domain) -> None:
    assert found(domain, "test", "does between and is in view " * 400) == []


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("a*", "abc", True),
        ("abc", "a*", True),
        ("ab*", "a*", True),
        ("a*", "b*", False),
        ("ab*", "ac*", False),
        ("a*", "a*", True),
    ],
)
def test_two_patterns_overlap_where_some_id_matches_both(one: str, other: str, shared: bool) -> None:
    assert overlap(one, other) is overlap(other, one) is shared


def test_a_pattern_matches_the_beginning_of_an_id() -> None:
    assert matches("sandbox-test-*", "sandbox-test-7")
    assert not matches("sandbox-test-*", "sandbox-test")
    assert not matches("sample", "sample2")

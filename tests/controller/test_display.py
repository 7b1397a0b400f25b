"""An episode in a terminal: everything of it is there, in 80 columns, and nothing steers the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from controller.answers import Question
from controller.conversation import Preamble
from controller.display import WIDTH, cut, episode_page, result_text, single_line, wrapped
from controller.episode import Budget, Episode
from controller.records import Conditions, JournalEntry
from controller.systems import flat, hier
from tool_induction import load_library
from world_api.chat import Price, RuleBasedChatModel
from world_api.core import EpisodeFault, Spent, columns

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\r\nrecorded  forged\u2028" + "很" * 90


def entry(episode: Episode) -> JournalEntry:
    return JournalEntry(
        name="20260101-flat-00000000", episode=episode, conditions=Conditions(system="flat"), readings=()
    )


def page(episode: Episode, **how: Any) -> str:
    return episode_page(entry(episode), **how)


@pytest.fixture
def on_the_minute(open_made: Any, stepping_clock: Any) -> Callable[..., Episode]:
    """An episode of the rule-based model on the made minute."""

    def answered(question: Question, *, library: str | None = None) -> Episode:
        if library is None:
            return flat(model=RuleBasedChatModel(), clock=stepping_clock()).answer(question, open_made())
        system = hier(model=RuleBasedChatModel(), clock=stepping_clock(), library=load_library(library))
        return system.answer(question, open_made())

    return answered


def test_question_rounds_calls_answer_evidence_and_cost_are_told(on_the_minute: Any) -> None:
    told = page(on_the_minute(Question(text="When does the person in red first appear?")))
    for part in (
        "question  When does the person in red first appear?",
        "video     made, world",
        "system    flat (16 operations on offer)",
        "round 1 -",
        "search_segments_by_text(top_k=20, query=",
        "candidate",
        "answer    [rule-based]",
        "evidence  0:32.0-0:38.0  from",
        "ended     submitted",
        "plumbing, not a result",
        "logical   controller",
    ):
        assert part in told, part


def test_how_flat_and_hier_differ_is_plain(on_the_minute: Any) -> None:
    question = Question(text="When does the person in red first appear?")
    one, other = page(on_the_minute(question)), page(on_the_minute(question, library="hand_A"))
    assert "0 inside tools" in one
    assert "further tools on offer" in other
    assert "library   hand_A" in other
    assert "|    1 search_segments_by_text:" in other
    assert "made of: start_time from call" in other
    assert "inside tools" in other and "0 inside tools" not in other
    assert one.count("detect_objects(") > 0 == other.count("- detect_objects(")


def test_a_typed_question_shows_its_options_and_the_value(hold: Any, replies: Any) -> None:
    question = Question(text="Where?", kind="choice", options=("in the kitchen", "in the garden"), as_of=30.0)
    episode = hold(replies.says("B"), question=question).episode
    told = page(episode)
    assert "wanted    choice" in told
    assert "B. in the garden" in told
    assert 'value     "B"' in told
    assert "as of 30 s" in told


def test_a_span_that_no_tool_returned_is_flagged(hold: Any, replies: Any) -> None:
    told = page(hold(replies.finds(), replies.submits("At 12 s.", (12.0, 18.0), (40.0, 41.0))).episode)
    assert "evidence  0:12.0-0:18.0  from find" in told
    assert "0:40.0-0:41.0  ! RETURNED BY NO TOOL" in told


def test_slips_and_a_failed_end_are_told(hold: Any, replies: Any) -> None:
    told = page(hold({}, replies.calls(), replies.says(""), budget=Budget(rounds=2)).episode)
    assert "slip      no_choices" in told
    assert "ended     failed: no_answer" in told
    assert "answer    none" in told


def test_thoughts_folded_results_caches_and_spending_are_told(hold: Any, replies: Any) -> None:
    episode = hold(replies.finds(), replies.submits()).episode
    spent = Spent(purpose="perception", model="eyes", request="a", prompt=1200, completion=34, images=6, estimated=True)
    rounds = [replace(episode.rounds[0], thought="It may rain.\n" * 9, folded=3, physical=False), episode.rounds[1]]
    episode = replace(episode, rounds=rounds, calls=[replace(episode.calls[0], spent=[spent]), *episode.calls[1:]])
    told = page(replace(episode, prices={"eyes": Price(prompt=1000.0, cached=0.0, completion=0.0)}))
    assert "thought   It may rain." in told
    assert "... and 3 lines more" in told
    assert "folded    3 old results" in told
    assert "kept from an earlier request" in told
    assert "spent: perception by eyes: 1 asked, ~1,234 tokens (6 images)" in told
    assert "$1.2000" in told
    assert "physical" in told
    assert "... and" not in page(episode, full=True)


def test_one_round_is_shown_alone_and_an_unknown_one_is_named(hold: Any, replies: Any) -> None:
    episode = hold(replies.finds(), replies.submits()).episode
    assert page(episode, only=1).startswith("round 1 -")
    assert "answer" not in page(episode, only=1)
    with pytest.raises(EpisodeFault, match="unknown_round"):
        page(episode, only=7)


def test_full_shows_whole_results(hold: Any, replies: Any, fake_tools: Any) -> None:
    tools = fake_tools()
    tools.result = {"candidates": [{"start_time": n, "end_time": n + 1, "snippet": f"number {n}"} for n in range(9)]}
    episode = hold(replies.finds(), replies.submits(), tools=tools).episode
    assert "number 8" not in page(episode)
    assert "number 8" in page(episode, full=True)


@pytest.mark.parametrize("full", [False, True])
def test_text_of_models_and_videos_steers_no_terminal_and_forges_no_line(
    hold: Any, replies: Any, fake_tools: Any, full: bool
) -> None:
    tools = fake_tools()
    tools.result = {HOSTILE: [{"start_time": 1.0, "end_time": 2.0, "snippet": HOSTILE}], "caption": HOSTILE}
    episode = hold(replies.finds(), replies.submits(HOSTILE), tools=tools, question=Question(text=HOSTILE)).episode
    episode = replace(episode, rounds=[replace(item, thought=HOSTILE) for item in episode.rounds])
    lines = page(episode, full=full).split("\n")
    assert all(columns(line) <= WIDTH for line in lines), max(lines, key=columns)
    assert not any(ord(letter) < 32 or letter in "\u202e\u2028\x7f" for line in lines for letter in line)
    assert [line for line in lines if line.startswith("recorded")] == [
        "recorded  20260101-flat-00000000, by version " + Conditions(system="x").version
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["start_time", "end_time", "outputs", "status", "error", "evidence", "x", "hint"]), inner, max_size=4
    ),
    max_leaves=10,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(result=st.dictionaries(st.text(max_size=9), json_values, max_size=4))
def test_a_result_of_any_shape_has_a_gist_on_one_line(result: dict[str, Any]) -> None:
    told = result_text(result)
    assert told
    assert "\n" not in told


@given(text=st.text(max_size=300), width=st.integers(2, 90))
def test_lines_are_no_wider_than_they_may_be(text: str, width: int) -> None:
    assert columns(cut(single_line(text), width)) <= width
    assert all(columns(line) <= width for line in wrapped(text, width))


def test_round_0_is_what_was_given_before_the_first(hold: Any, replies: Any) -> None:
    given = Preamble(digest={"scenes": [{"start_time": 0.0, "end_time": 9.0, "brief_caption": "a garden " * 99}]})
    episode = hold(replies.submits(), preamble=given).episode
    told, whole = page(episode, only=0), page(episode, only=0, full=True)
    assert told.startswith("before the first round\ngiven")
    assert "digest (" in told
    assert "a garden" in told
    assert len(told) < len(whole)
    assert whole.count("garden") == 99
    assert all(columns(line) <= WIDTH for line in whole.splitlines())

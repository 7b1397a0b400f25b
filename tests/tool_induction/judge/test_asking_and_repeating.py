"""A judging model is asked in the way its server takes, keeps to its price, and a file may hold several judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted import ScriptedChatModel
from tests.support.scripted_judge import ScriptedJudge
from tool_induction.judge import JUDGEMENT, ChatJudge, FileJudge, RememberedJudge
from world_api.chat import CachingChatModel, Endpoint, OpenAIChatModel, completion
from world_api.core import BackendFault, EpisodeFault, Ledger, ToolFault, ledger

YES_NO = ("yes", "no")


def said(text: str, *, tokens: int = 50) -> dict[str, Any]:
    return completion(model="m", content=text, usage=(tokens, 2))


def refused(setting: str, code: str = "endpoint_refused_request") -> BackendFault:
    return BackendFault(code, f"somewhere answered 400: '{setting}' is not supported with this model", hint="-")


def asked(model: ScriptedChatModel) -> list[set[str]]:
    """The settings of each request."""
    return [set(request) - {"model", "messages"} for request in model.requests]


def test_a_setting_that_the_server_refuses_by_name_is_left_out_from_then_on() -> None:
    model = ScriptedChatModel([refused("max_tokens"), refused("temperature"), said("yes"), said("no")], name="m")

    assert ChatJudge(model).answer("?", YES_NO, ["a", "b"]) == ["yes", "no"]

    assert asked(model) == [
        {"temperature", "max_tokens"},
        {"temperature", "max_completion_tokens"},
        {"max_completion_tokens"},
        {"max_completion_tokens"},
    ]
    assert model.requests[-1]["max_completion_tokens"] == model.requests[0]["max_tokens"]


def test_a_real_client_is_refused_and_asks_again(chat_server: Any, stepping_clock: Any) -> None:
    clock = stepping_clock()
    endpoint = Endpoint(base_url=chat_server.url, api_key="sk-some-key-or-other")
    model = OpenAIChatModel(endpoint, "m", clock=clock, sleep=clock.sleep)
    told = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    chat_server.play(chat_server.refusal(400, told), said("yes"))

    assert ChatJudge(model).answer("?", YES_NO, ["a"]) == ["yes"]

    assert [set(asked.body) - {"model", "messages"} for asked in chat_server.received] == [
        {"temperature", "max_tokens"},
        {"temperature", "max_completion_tokens"},
    ]


@pytest.mark.parametrize(
    "faults",
    [
        [refused("temperature", "endpoint_rate_limited")],
        [refused("top_p")],
        [refused("temperature"), refused("temperature")],
    ],
)
def test_any_other_refusal_stays_what_it_is(faults: list[BackendFault]) -> None:
    with pytest.raises(BackendFault) as fault:
        ChatJudge(ScriptedChatModel([*faults, said("yes")], name="m")).answer("?", YES_NO, ["a"])
    assert fault.value.message == faults[-1].message


def tokens(book: Ledger) -> list[tuple[int, int, bool]]:
    return [(item.prompt, item.completion, item.physical) for item in book.items]


def test_a_judgement_is_charged_and_the_price_is_a_ceiling() -> None:
    judge = ChatJudge(ScriptedChatModel([said("yes"), said("yes", tokens=JUDGEMENT.tokens)], name="m"))
    with ledger() as book:
        judge.answer("?", YES_NO, ["a"])
    [charged] = book.items
    assert (charged.purpose, charged.model, charged.estimated) == ("judge", "m", False)
    assert tokens(book) == [(50, 2, True)]
    with ledger() as book, pytest.raises(ToolFault) as fault:
        judge.answer("?", YES_NO, ["b"])
    assert fault.value.code == "judge_over_price"
    assert tokens(book) == [(JUDGEMENT.tokens, 2, True)]


def test_a_refused_request_costs_nothing_and_equal_ones_have_one_name() -> None:
    judge = ChatJudge(ScriptedChatModel([refused("temperature"), said("yes"), said("yes"), said("no")], name="m"))
    with ledger() as book:
        judge.answer("?", YES_NO, ["a", "a", "b"])
    assert len(book.items) == 3
    assert len({item.request for item in book.items}) == 2


def test_a_server_that_does_not_count_is_charged_by_estimate() -> None:
    model = ScriptedChatModel([completion(model="m", content="yes")], name="m")
    with ledger() as book:
        ChatJudge(model).answer("?", YES_NO, ["a"])
    [charged] = book.items
    assert charged.estimated
    assert charged.prompt > 20


def test_a_reply_from_the_cache_is_charged_as_one_nobody_made(tmp_path: Path) -> None:
    judge = ChatJudge(CachingChatModel(ScriptedChatModel([said("yes")], name="m"), tmp_path))
    with ledger() as book:
        judge.answer("?", YES_NO, ["a", "a"])
    assert sorted(tokens(book)) == [(50, 2, False), (50, 2, True)]


def test_the_file_says_what_a_judgement_took_and_charges_it_again(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    model = ScriptedChatModel([said("yes"), said("no", tokens=70)], name="m")
    with ledger() as cold:
        FileJudge(file, ChatJudge(model)).answer("?", YES_NO, ["a", "b"])
    with ledger() as warm:
        assert FileJudge(file).answer("?", YES_NO, ["a", "b"]) == ["yes", "no"]
    assert sorted(tokens(cold)) == [(50, 2, True), (70, 2, True)]
    assert sorted(tokens(warm)) == [(50, 2, False), (70, 2, False)]
    assert [item.request for item in cold.items] == [item.request for item in warm.items]


def test_what_was_spent_on_no_answer_is_charged_through_the_file(tmp_path: Path) -> None:
    judge = FileJudge(tmp_path / "judged.jsonl", ChatJudge(ScriptedChatModel([said("perhaps")], name="m")))
    with ledger() as book, pytest.raises(ToolFault):
        judge.answer("?", YES_NO, ["a"])
    assert tokens(book) == [(50, 2, True)]


def test_a_file_whose_spending_is_damaged_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    FileJudge(file, ChatJudge(ScriptedChatModel([said("yes")], name="m"))).answer("?", YES_NO, ["a"])
    file.write_text(file.read_text(encoding="utf-8").replace('"prompt":50', '"prompt":"many"'), encoding="utf-8")
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        FileJudge(file)


def test_a_file_of_two_judges_repeats_both(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    FileJudge(file, ScriptedJudge(["yes", "no"], name="one")).answer("?", YES_NO, ["a", "both"])
    FileJudge(file, ScriptedJudge(["no", "yes"], name="two")).answer("?", YES_NO, ["b", "both"])
    alone = FileJudge(file)
    assert alone.name == "one+two"
    assert alone.answer("?", YES_NO, ["a", "b"]) == ["yes", "no"]
    with pytest.raises(ToolFault) as fault:
        alone.answer("?", YES_NO, ["both"])
    assert fault.value.code == "several_judges"
    for name, answer in (("one", "no"), ("two", "yes")):
        assert FileJudge(file, ScriptedJudge([], name=name)).answer("?", YES_NO, ["both"]) == [answer]


def test_a_remembered_judge_is_asked_once_about_the_same() -> None:
    judge = ScriptedJudge(["yes", "no", "no"])
    remembered = RememberedJudge(judge)
    assert remembered.answer("?", YES_NO, ["a", "b", "a"]) == ["yes", "no", "yes"]
    assert remembered.answer("?", ("yes", "no", "unsure"), ["a"]) == ["no"]
    assert len(judge.questions) == 3
    assert remembered.name == judge.name

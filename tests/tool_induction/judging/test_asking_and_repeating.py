"""A judging model is asked in the way its server takes, keeps to its price, and a file may hold several judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tool_induction.compiler.price import JUDGEMENT
from tool_induction.judging.chat import ChatJudge
from tool_induction.judging.port import ScriptedJudge
from tool_induction.judging.recorded import RecordedJudge
from tool_induction.judging.remembered import RememberedJudge
from world_api.backends.chat.completions import completion
from world_api.backends.chat.scripted import ScriptedChatModel
from world_api.core.faults import BackendFault, ToolFault

YES_NO = ("yes", "no")


def said(text: str, *, tokens: int = 50) -> dict[str, Any]:
    return completion(model="m", content=text, usage=(tokens, 2))


def refused(setting: str, code: str = "endpoint_error") -> BackendFault:
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


def test_tokens_are_counted_and_the_price_is_a_ceiling() -> None:
    judge = ChatJudge(ScriptedChatModel([said("yes"), said("yes", tokens=JUDGEMENT.tokens)], name="m"))
    judge.answer("?", YES_NO, ["a"])
    assert judge.spent.total == 52
    with pytest.raises(ToolFault) as fault:
        judge.answer("?", YES_NO, ["b"])
    assert fault.value.code == "judge_over_price"
    assert judge.spent.total == 52 + JUDGEMENT.tokens + 2


def test_the_file_says_what_a_judgement_cost(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    model = ScriptedChatModel([said("yes"), said("no", tokens=70)], name="m")
    RecordedJudge(file, ChatJudge(model)).answer("?", YES_NO, ["a", "b"])
    assert [json.loads(line)["tokens"] for line in file.read_text(encoding="utf-8").splitlines()] == [52, 72]


def test_a_file_of_two_judges_repeats_both(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    RecordedJudge(file, ScriptedJudge(["yes", "no"], name="one")).answer("?", YES_NO, ["a", "both"])
    RecordedJudge(file, ScriptedJudge(["no", "yes"], name="two")).answer("?", YES_NO, ["b", "both"])
    alone = RecordedJudge(file)
    assert alone.name == "one+two"
    assert alone.answer("?", YES_NO, ["a", "b"]) == ["yes", "no"]
    with pytest.raises(ToolFault) as fault:
        alone.answer("?", YES_NO, ["both"])
    assert fault.value.code == "several_judges"
    for name, answer in (("one", "no"), ("two", "yes")):
        assert RecordedJudge(file, ScriptedJudge([], name=name)).answer("?", YES_NO, ["both"]) == [answer]


def test_a_remembered_judge_is_asked_once_about_the_same() -> None:
    judge = ScriptedJudge(["yes", "no", "no"])
    remembered = RememberedJudge(judge)
    assert remembered.answer("?", YES_NO, ["a", "b", "a"]) == ["yes", "no", "yes"]
    assert remembered.answer("?", ("yes", "no", "unsure"), ["a"]) == ["no"]
    assert len(judge.asked) == 3
    assert remembered.name == judge.name

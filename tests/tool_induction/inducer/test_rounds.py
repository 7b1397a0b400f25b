"""One generation and a few repair rounds: what is handed back, what is kept, when it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from world_api.core import BackendFault, ToolFault

Induce = Callable[..., Any]


def test_tools_without_a_fault_are_admitted_in_one_request(run: Induce, tools: Any) -> None:
    done = run([tools.searching(), tools.counting()])
    assert done.statuses == {"find_moments": "admitted", "count_things": "admitted"}
    assert (done.result.ending, len(done.model.requests), done.problems) == ("all_usable", 1, [])
    assert done.result.yields() == {
        "asked": 2,
        "written": 2,
        "compiled_first": 2,
        "admitted_first": 2,
        "compiled": 2,
        "admitted": 2,
        "duplicates": 0,
    }


def test_only_the_failing_tools_go_back_with_what_is_wrong_with_them(run: Induce, tools: Any) -> None:
    done = run([tools.faulty(), tools.counting()], [tools.searching()])
    asked = done.asked(1)
    assert "# find_moments" in asked
    assert "E_UNKNOWN_API at $.steps[0].api:" in asked
    assert "did you mean 'search_segments_by_text'?" in asked
    assert "# count_things" not in asked
    assert (
        "may be called with call_tool:\n- count_things(video_id: string, looks: string) -> {count: int, stretches: "
        in asked
    )
    assert done.statuses == {"find_moments": "admitted", "count_things": "admitted"}
    assert done.result.yields()["admitted_first"] == 1


def test_a_refused_tool_goes_back_with_the_verdict(run: Induce, tools: Any) -> None:
    done = run([tools.blind()], [tools.searching()], count=1)
    assert "refused when it was tried" in done.asked(1)
    assert done.statuses == {"find_moments": "admitted"}


def test_a_tool_that_is_admitted_with_a_warning_goes_back_with_it(run: Induce, tools: Any) -> None:
    done = run([mixing(tools), tools.counting()], [tools.searching()])
    asked = done.asked(1)
    assert "wrong_unit at $:" in asked
    assert "# count_things" not in asked
    (mended,) = (slot.current for slot in done.result.draft.slots if slot.name == "find_moments")
    assert (mended.round, mended.status, mended.faults()) == (1, "admitted", ())
    assert done.result.ending == "all_usable"


def test_a_warning_that_stays_costs_a_round_and_not_the_tool(run: Induce, tools: Any) -> None:
    done = run([mixing(tools), tools.counting()], [mixing(tools)])
    assert done.statuses == {"find_moments": "admitted", "count_things": "admitted"}
    assert (done.result.ending, len(done.model.requests)) == ("all_usable", 2)


def mixing(tools: Any) -> Any:
    """A tool that takes minutes from a time in seconds."""
    tool = tools.searching()
    minutes = {"type": "float", "description": "How far to go back.", "default": 1}
    since = {"type": "float", "from": "{{ rows[0].start_time - minutes }}"}
    return tool | {"inputs": tool["inputs"] | {"minutes": minutes}, "outputs": tool["outputs"] | {"since": since}}


def test_a_duplicate_does_not_go_back_and_stays_in_the_unpruned_library(run: Induce, tools: Any) -> None:
    done = run([tools.searching(), tools.searching("find_again")])
    assert sorted(done.statuses.values()) == ["admitted", "duplicate"]
    assert (done.result.ending, len(done.model.requests)) == ("all_usable", 1)
    assert done.result.draft.admission.admitted == ("find_moments",)
    assert done.result.draft.admission.unpruned == ("find_moments", "find_again")


def test_it_ends_when_a_round_changes_nothing(run: Induce, tools: Any) -> None:
    done = run([tools.faulty()], [tools.faulty()], count=1)
    assert (done.result.ending, len(done.model.requests)) == ("repeats", 2)


def test_it_ends_when_the_rounds_are_used_up(run: Induce, tools: Any) -> None:
    versions = []
    for number in range(4):
        tool = tools.searching()
        tool["steps"][0]["params"] |= {f"unknown_{place}": 1 for place in range(5 - number)}
        versions.append([tool])
    done = run(*versions, count=1)
    assert (done.result.ending, len(done.model.requests)) == ("rounds_used", 4)
    assert done.statuses == {"find_moments": "faulty"}


def test_it_ends_when_another_version_is_as_wrong_and_the_one_before_is_kept(run: Induce, tools: Any) -> None:
    one, other = tools.faulty(), tools.faulty()
    other["steps"][0]["api"] = "find_segments"
    done = run([one], [other], [tools.searching()], count=1)
    assert (done.result.ending, len(done.model.requests)) == ("repeats", 2)
    assert done.problems == [(1, "not_better", "find_moments")]
    assert done.result.draft.slots[0].current.round == 0


def test_one_fault_is_not_traded_for_many(run: Induce, tools: Any) -> None:
    one, many = tools.searching(), tools.faulty()
    one["steps"][0]["params"]["top_kk"] = 3
    many["steps"].append({"type": "fly"})
    many["outputs"] = {"first_time": {"type": "Time", "from": "{{ zz }}"}}
    done = run([one, tools.faulty("find_others")], [many, tools.searching("find_others", most=3)], [tools.searching()])
    assert done.problems == [(1, "not_better", "find_moments")]
    assert "top_kk" in done.asked(2)
    assert done.statuses == {"find_moments": "admitted", "find_others": "admitted"}


def test_without_repair_rounds_the_first_emission_stands(run: Induce, tools: Any) -> None:
    done = run([tools.faulty(), tools.counting()], repairs=0)
    assert (done.result.ending, len(done.model.requests)) == ("rounds_used", 1)
    assert done.result.draft.admission.admitted == ("count_things",)


def test_the_better_version_is_kept_and_goes_back(run: Induce, tools: Any) -> None:
    broken = '{"tool_name": "find_moments", "steps": oops}'
    done = run(
        [tools.blind(), tools.faulty("find_others")],
        tools.said(f"[{broken}, {json.dumps(tools.counting('find_others'))}]"),
        [tools.searching()],
    )
    assert ("not_better", "find_moments") in [item[1:] for item in done.problems]
    assert '"save_as": "count"' in done.asked(2)
    versions = done.result.draft.slots[0].versions
    assert [version.status for version in versions] == ["refused", "unreadable", "admitted"]


def test_a_round_that_only_makes_it_worse_is_the_last(run: Induce, tools: Any) -> None:
    done = run([tools.blind()], '{"tool_name": "find_moments", "steps": oops}', count=1)
    assert (done.result.ending, done.statuses) == ("repeats", {"find_moments": "refused"})


def test_a_mended_name_may_show_more_faults_and_is_still_no_step_back(run: Induce, tools: Any) -> None:
    mended = tools.searching()
    mended["steps"][0]["params"] = {"video_id": "{{video_id}}", "query": 5, "top": 3}
    done = run([tools.faulty()], [mended], [tools.searching()], count=1)
    assert "not_better" not in [problem for _, problem, _ in done.problems]
    assert done.statuses == {"find_moments": "admitted"}


def test_a_tool_that_is_renamed_takes_the_place_it_had(run: Induce, tools: Any) -> None:
    done = run([tools.faulty(), tools.counting()], [tools.searching("find_the_moments")])
    assert done.problems == [(1, "renamed", "find_the_moments")]
    assert list(done.statuses) == ["find_the_moments", "count_things"]


def test_a_tool_that_nobody_asked_for_overwrites_nothing(run: Induce, tools: Any) -> None:
    changed = tools.counting()
    changed["steps"][0]["api"] = "no_such_thing"
    done = run([tools.faulty(), tools.counting()], [tools.searching(), changed])
    assert done.problems == [(1, "unasked", "count_things")]
    assert done.statuses == {"find_moments": "admitted", "count_things": "admitted"}


def test_a_tool_that_does_not_come_back_stays_as_it_was(run: Induce, tools: Any) -> None:
    done = run([tools.faulty(), tools.faulty("find_others")], [tools.searching()], "None.")
    assert (1, "not_rewritten", "find_others") in done.problems
    assert done.result.ending == "no_reply"
    assert done.statuses == {"find_moments": "admitted", "find_others": "faulty"}


def test_two_tools_of_one_name_go_back_both_and_come_back_in_their_order(run: Induce, tools: Any) -> None:
    done = run([tools.searching(), tools.counting("find_moments")], [tools.searching(), tools.counting()])
    assert done.asked(1).count("E_NAME") == 2
    assert list(done.statuses.items()) == [("find_moments", "admitted"), ("count_things", "admitted")]


def test_a_sound_tool_that_stands_twice_in_a_reply_is_one_tool_and_is_not_lost(run: Induce, tools: Any) -> None:
    sound = json.dumps(tools.searching())
    for reply in (f"<think>Let me try: {sound}</think>\n[{sound}]", f"As in {sound}:\n```json\n[{sound}]\n```"):
        done = run(reply, count=1)
        assert (done.statuses, done.result.yields()["written"]) == ({"find_moments": "admitted"}, 1)
        assert {item[1] for item in done.problems} & {"reasoning_in_reply", "repeated"}


def test_of_two_tools_of_one_name_of_which_one_comes_back_the_other_is_given_up(run: Induce, tools: Any) -> None:
    done = run([tools.searching(), tools.counting("find_moments")], [tools.searching()])
    assert (1, "retired", "find_moments") in done.problems
    assert "not_rewritten" not in [problem for _, problem, _ in done.problems]
    assert (done.statuses, done.result.ending) == ({"find_moments": "admitted"}, "all_usable")
    assert [slot.number for slot in done.result.draft.retired] == [1]


@pytest.mark.parametrize(("count", "problem"), [(1, "more_tools"), (5, "fewer_tools")])
def test_another_number_of_tools_than_asked_is_told_and_all_are_kept(
    run: Induce, tools: Any, count: int, problem: str
) -> None:
    done = run([tools.searching(), tools.counting()], count=count)
    assert done.problems == [(0, problem, "")]
    assert len(done.statuses) == 2


def test_a_reply_that_breaks_off_keeps_its_whole_tools_and_the_torn_one_goes_back(run: Induce, tools: Any) -> None:
    text = json.dumps([tools.counting(), tools.searching()])
    done = run(tools.said(text[:-60], finish="length"), [tools.searching()])
    assert (0, "cut_reply", "") in done.problems
    assert (0, "unreadable_tool", "find_moments") in done.problems
    assert "the reply breaks off in it" in done.asked(1)
    assert set(done.statuses.values()) == {"admitted"}


def test_a_tool_that_is_no_json_goes_back_as_it_stands(run: Induce, tools: Any) -> None:
    text = json.dumps([tools.searching()]).replace("}]}]", "},]}]")
    done = run(text, [tools.searching()], count=1)
    assert "E_JSON at $: not JSON:" in done.asked(1)
    assert "},]}" in done.asked(1)
    assert done.statuses == {"find_moments": "admitted"}


def test_a_key_that_stands_twice_is_a_fault_and_not_settled_silently(run: Induce, tools: Any) -> None:
    text = json.dumps([tools.searching()]).replace('"tool_name"', '"tool_name": "other", "tool_name"', 1)
    done = run(text, [tools.searching()], count=1)
    assert "is here more than once" in done.asked(1)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        pytest.param({"content": "I'd rather not."}, "no_tools", id="prose"),
        pytest.param({"content": ""}, "empty_reply", id="empty"),
        pytest.param({"content": None}, "empty_reply", id="null"),
        pytest.param({"content": None, "refusal": "No."}, "refused_by_model", id="refusal"),
        pytest.param({"content": "", "finish": "content_filter"}, "refused_by_model", id="filter"),
        pytest.param({"content": '{"a": [1, 2]}'}, "no_tools", id="other JSON"),
    ],
)
class TestReplyWithoutTools:
    def test_at_first_it_ends_the_induction_by_name(
        self, run: Induce, tools: Any, reply: dict[str, Any], problem: str
    ) -> None:
        with pytest.raises(ToolFault) as caught:
            run(tools.said(**reply))
        assert caught.value.code == "no_tools"

    def test_in_a_repair_round_what_was_there_is_kept(
        self, run: Induce, tools: Any, reply: dict[str, Any], problem: str
    ) -> None:
        done = run([tools.faulty(), tools.counting()], tools.said(**reply))
        assert problem in [item[1] for item in done.problems if item[0] == 1]
        assert (done.result.ending, done.result.draft.admission.admitted) == ("no_reply", ("count_things",))


@pytest.mark.parametrize(
    "reply", [{"choices": []}, {"choices": [{}]}, {"choices": [{"message": 3}]}, {"choices": 1}, {}]
)
def test_a_reply_that_is_no_completion_is_named(run: Induce, tools: Any, reply: dict[str, Any]) -> None:
    done = run([tools.faulty(), tools.counting()], reply)
    assert {item[1] for item in done.problems if item[0] == 1} & {"no_choices", "bad_message"}
    assert done.result.ending == "no_reply"


def test_content_in_parts_is_read_as_one_text(run: Induce, tools: Any) -> None:
    text = json.dumps([tools.searching()])
    parts = [{"type": "text", "text": text[:40]}, {"type": "text", "text": text[40:]}, {"type": "other"}]
    reply = tools.said("")
    reply["choices"][0]["message"]["content"] = parts
    assert run(reply, count=1).statuses == {"find_moments": "admitted"}


def test_a_document_can_be_the_first_emission(run: Induce, tools: Any) -> None:
    chat = f"Sure! Here you are:\n\n```json\n{json.dumps([tools.faulty()])}\n```\nAnything else?"
    done = run([tools.searching()], document=chat, count=1)
    assert [item.kind for item in done.result.rounds] == ["document", "repair"]
    assert len(done.model.requests) == 1
    assert [part.text.split()[0] for part in done.result.rounds[0].written.left_out] == ["Sure!", "]"]
    assert done.statuses == {"find_moments": "admitted"}


def test_more_tools_than_a_file_may_hold_are_left_aside_by_name(run: Induce, tools: Any) -> None:
    done = run([tools.faulty(f"find_{number}") for number in range(70)], repairs=0)
    assert (0, "too_many_tools", "") in done.problems
    assert len(done.statuses) == 64
    assert (done.result.yields()["asked"], done.result.yields()["written"]) == (2, 70)
    assert done.result.rounds[0].slots[63:65] == (63, None)


def test_a_long_tool_goes_back_whole(run: Induce, tools: Any) -> None:
    long = tools.faulty() | {"description": "Finds it. " + "x" * 9_000 + " end"}
    torn = f'{{"tool_name": "find_others", "description": "{"y" * 9_000} end", "steps": oops}}'
    done = run(f"[{json.dumps(long)}, {torn}]", [tools.searching(), tools.counting("find_others")])
    assert json.dumps(long, separators=(",", ":")) in done.asked(1)
    assert torn in done.asked(1)


def test_a_fault_of_the_endpoint_ends_it(run: Induce, tools: Any) -> None:
    with pytest.raises(BackendFault, match="nobody there"):
        run([tools.faulty()], BackendFault("endpoint_unreachable", "nobody there"), count=1)

"""Whole dialogues with servers without tool calling: calls as JSON, the same records, replayed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from controller.answers import Question
from controller.records import Journal, answer, replay_recorded
from controller.systems import SystemContext
from tests.support.json_servers import CACHED, WithoutTools
from tool_induction import load_library
from world_api.chat import Call, JsonCalls, completion, endpoint_model
from world_api.core import BackendFault

SEARCH = Call(tool="search_segments_by_text", arguments={"query": "red [coat]", "top_k": 3})
SCENES = Call(tool="list_scenes", arguments={})
WRONG = Call(tool="describe_segment", arguments={"start_time": 900, "end_time": 903})
SPANS = [{"start_time": 32, "end_time": 38}]
ANSWER = Call(tool="submit_answer", arguments={"answer": "At 32 s.", "spans": SPANS})
ROUNDS = [[SEARCH, SCENES], [WRONG], [SEARCH], [ANSWER]]
Ask = Callable[..., Any]
MAX_CALLS_IN_A_REPLY = 64


@pytest.fixture
def ask(chat_server: Any, stepping_clock: Any, open_made: Any, tmp_path: Path) -> Ask:
    """Asks a server over wire json, records the episode, and returns it with its journal and name."""

    def run(server: WithoutTools, *, system: str = "flat", **options: Any) -> tuple[Any, Journal, str]:
        chat_server.respond(server)
        environment = {"OPENAI_BASE_URL": chat_server.url, "OPENAI_API_KEY": "sk-some-key-or-other"}
        clock = stepping_clock()
        model = endpoint_model("m", clock=clock, environment=environment, wire="json")
        context = SystemContext(model=model, clock=clock, library=load_library("hand_A"), options=options)
        journal = Journal(tmp_path / "episodes")
        question = Question(text="When does the person in red appear?")
        made = answer(question, open_made(), system=system, context=context, journal=journal)
        return made.episode, journal, str(made.name)

    return run


@pytest.mark.parametrize("knows_format", [True, False], ids=["response_format", "fenced after prose"])
@pytest.mark.parametrize(("system", "options"), [("flat", {}), ("hier", {"exposure": "on-demand"})])
def test_a_whole_dialogue_is_led_recorded_and_replayed(
    ask: Ask, chat_server: Any, knows_format: bool, system: str, options: dict[str, Any]
) -> None:
    rounds = ROUNDS
    if system == "hier":
        demanded = Call(tool="call_operation", arguments={"name": SEARCH.tool, "arguments": SEARCH.arguments})
        rounds = [[Call(tool="describe_operation", arguments={"name": SEARCH.tool})], [demanded], [ANSWER]]
    episode, journal, name = ask(WithoutTools(rounds, knows_format=knows_format), system=system, **options)
    assert (episode.outcome, episode.answer, len(episode.rounds)) == ("submitted", "At 32 s.", len(rounds))
    assert episode.spans
    assert all(span.returned_by for span in episode.spans)
    assert set(episode.slips) <= {"asked_before"}
    assert [call.tool for call in episode.calls if call.tool == SEARCH.tool]
    said = {message["content"] for message in episode.messages if message.get("tool_calls")}
    assert said == ({None} if knows_format else {"I think that this helps."})
    assert replay_recorded(journal, name).identical


def test_the_dialogue_is_the_one_that_a_server_with_tools_leads(ask: Ask, chat_server: Any) -> None:
    episode, _, _ = ask(WithoutTools(ROUNDS, knows_format=True))
    assert [(call.tool, call.arguments, call.ran) for call in episode.calls][:3] == [
        (SEARCH.tool, SEARCH.arguments, True),
        ("list_scenes", {}, True),
        (WRONG.tool, WRONG.arguments, True),
    ]
    assert episode.calls[2].result["error"]["code"] == "time_out_of_range"
    first, *_, last = [received.body for received in chat_server.received]
    assert "tools" not in first
    assert first["messages"][0]["content"].count('"name":"list_scenes"') == 1
    roles = [message["role"] for message in last["messages"]]
    assert roles == ["system", "user", *["assistant", "user"] * 3]
    assert "Result of search_segments_by_text:\n{" in last["messages"][3]["content"]
    assert "Result of list_scenes:\n{" in last["messages"][3]["content"]


def test_a_server_that_refuses_the_format_is_asked_for_it_once(ask: Ask, chat_server: Any) -> None:
    ask(WithoutTools(ROUNDS, knows_format=False))
    formats = ["response_format" in received.body for received in chat_server.received]
    assert formats == [True, *[False] * len(ROUNDS)]


def test_the_last_request_asks_for_words(ask: Ask, chat_server: Any) -> None:
    episode, _, _ = ask(WithoutTools([[SEARCH]] * 40, knows_format=True))
    assert (episode.outcome, episode.reason, episode.answer) == ("forced", "rounds", "At 32 s.")
    last = chat_server.received[-1].body
    assert "response_format" not in last
    assert "How to call tools" not in last["messages"][0]["content"]


def test_cached_tokens_are_counted_apart(ask: Ask) -> None:
    from controller.episode import accounts_of, total

    episode, _, _ = ask(WithoutTools(ROUNDS, knows_format=True))
    accounts = accounts_of(episode)
    assert episode.usage.cached == CACHED * len(ROUNDS)
    assert (total(accounts.logical).cached, total(accounts.physical).cached) == (0, CACHED * len(ROUNDS))


class Saying:
    """A model that says one text."""

    name = "m"
    requests = 0

    def __init__(self, said: str | BackendFault) -> None:
        self._said = said

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        if isinstance(self._said, BackendFault):
            raise self._said
        return completion(model="m", content=self._said)


TOOLS = [{"type": "function", "function": {"name": "find", "description": "", "parameters": {"type": "object"}}}]
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "?"}], "tools": TOOLS}


def calls_in(text: str) -> list[tuple[str, str]]:
    message = JsonCalls(Saying(text)).complete(REQUEST)["choices"][0]["message"]
    return [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())]


@pytest.mark.parametrize(
    "text",
    [
        '{"calls": [{"name": "find", "arguments": {"a": 1}}]}',
        '{"name": "find", "arguments": {"a": 1}}',
        '{"name": "find", "parameters": {"a": 1}}',
        '{"tool_calls": [{"type": "function", "function": {"name": "find", "arguments": "{\\"a\\":1}"}}]}',
        'First this.\n```json\n{"name": "find", "arguments": {"a": 1}}\n```\nThen more.',
        '<think>{"name": "other", "arguments": {}}</think>{"calls": [{"name": "find", "arguments": {"a": 1}}]}',
        '{"name": "other", "arguments": {}}</think>\n{"calls": [{"name": "find", "arguments": {"a": 1}}]}',
        '{"calls": [{"name": "find", "arguments": {"a": 1}}]}\n<think>was {"name": "other", "arguments": {}} better?',
        '<think>maybe {"name": "other", "arguments": {"a": "</think>"}}, no</think>{"name": "find", "arguments": {"a":1}}',
        'First this.\n\n{"name": "find",\n "arguments": {"a": 1}}\n',
        '```json\n[{"name": "find", "arguments": {"a": 1}}]\n```',
        '[{"name": "find", "arguments": {"a": 1}}]',
        'Not {"name": "other", "arguments": {}}, but this:\n```\n{"name": "find", "arguments": {"a": 1}}\n```',
        'Cut off.\n```json\n{"name": "find", "arguments": {"a": 1}}',
    ],
)
def test_a_call_is_read_in_the_forms_that_models_write(text: str) -> None:
    assert calls_in(text) == [("find", '{"a":1}')]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "At 5 s.",
        '{"calls": []}',
        '{"answer": 5}',
        '{"calls": [{"name": "find"',
        '{"name": 5, "arguments": {}}',
        'I could call {"name": "find", "arguments": {"a": 1}}, but it is at 5 s.',
        'So I call {"name": "find", "arguments": {"a": 1}}',
        'An example:\n{"name": "find", "arguments": {"a": 1}}\nIt is at 5 s.',
        '<think>I call\n```json\n{"name": "find", "arguments": {"a": 1}}\n```\n',
        'So. <thinking>\n{"name": "find", "arguments": {"a": 1}}',
        '{"name": "find", "arguments": {"a": 1}}\n</think>',
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    reply = JsonCalls(Saying(text)).complete(REQUEST)
    assert reply == completion(model="m", content=text)


@pytest.mark.parametrize(
    "said", ["</think>", "<think>", "a </think> b <think>", "```", "\n```\n", "<thinking></thinking>"]
)
@pytest.mark.parametrize(
    "form", ["{}", "<think>hm</think>{}", "I look.\n```json\n{}\n```\nThen more.", "I look.\n{}\n"]
)
def test_tags_and_fences_in_arguments_are_text(said: str, form: str) -> None:
    call = json.dumps({"calls": [{"name": "find", "arguments": {"query": said}}]})
    assert [json.loads(arguments) for _, arguments in calls_in(form.replace("{}", call))] == [{"query": said}]


PROSE = st.text(st.characters(exclude_characters="{}[]<>`\n"), max_size=30)
ARGUMENTS = st.dictionaries(st.text(max_size=4), st.text('a </think><think>```{}[]"\n', max_size=30), max_size=3)


@given(before=PROSE, thought=PROSE, after=PROSE, given_=ARGUMENTS, other=ARGUMENTS)
def test_of_a_reply_the_fenced_call_runs_and_what_is_thought_or_mentioned_does_not(
    before: str, thought: str, after: str, given_: dict[str, str], other: dict[str, str]
) -> None:
    call, unmeant = (json.dumps({"name": name, "arguments": own}) for name, own in (("find", given_), ("fly", other)))
    mentioned = f"{before} x{unmeant}{after}"
    fence = f"\n```json\n{call}\n```\n"
    for text in (
        f"<think>{thought}\n{unmeant}\n{thought}</think>{mentioned}{fence}{after}",
        f"{thought}\n{unmeant}\n</think>{fence}",
        f"{mentioned}{fence}<think>{thought}{unmeant}",
        f"{mentioned}\n{call}\n",
    ):
        assert [(name, json.loads(arguments)) for name, arguments in calls_in(text)] == [("find", given_)]
    for text in (f"<think>{thought}{fence}", f"{fence}{thought}</think>", f"{mentioned} x{call}{after}"):
        assert calls_in(text) == []


FRAGMENTS = (
    "<think>",
    "</think>",
    "```json\n",
    "```",
    "\n",
    "[",
    "]",
    ",",
    '{"name": "find", "arguments": {}}',
    '{"',
    "x",
    '"}',
)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join))
def test_any_reply_can_be_read_and_what_is_no_call_stays_as_it_was(text: str) -> None:
    reply = JsonCalls(Saying(text)).complete(REQUEST)
    message = reply["choices"][0]["message"]
    calls = message.get("tool_calls", [])
    assert len(calls) <= text.count('"name"')
    assert text.startswith(message["content"] or "") if not calls else message["content"] in (None, *prefixes(text))


def prefixes(text: str) -> set[str]:
    return {text[:end].strip() for end in range(len(text) + 1)}


def test_of_too_many_calls_the_first_run_and_the_model_reads_that_there_were_too_many(
    ask: Ask, chat_server: Any
) -> None:
    episode, _, _ = ask(WithoutTools([[SCENES] * (MAX_CALLS_IN_A_REPLY + 500), [ANSWER]], knows_format=False))
    assert len(calls_in(json.dumps({"calls": [{"name": "find", "arguments": {}}] * 500}))) == MAX_CALLS_IN_A_REPLY + 1
    assert episode.slips["too_many_calls"] == 1
    assert sum(call.tool == "list_scenes" for call in episode.calls) == MAX_CALLS_IN_A_REPLY
    assert "those beyond the limit did not run" in str(chat_server.received[-1].body["messages"])
    assert episode.answer == "At 32 s."


def test_arguments_that_are_no_object_reach_the_loop_as_they_are() -> None:
    assert calls_in('{"calls": [{"name": "find", "arguments": [1]}, {"name": "find", "arguments": "red"}]}') == [
        ("find", "[1]"),
        ("find", "red"),
    ]


def test_equal_replies_of_two_rounds_have_calls_of_different_ids() -> None:
    model = JsonCalls(Saying('{"name": "find", "arguments": {}}'))
    later = {**REQUEST, "messages": [*REQUEST["messages"], {"role": "assistant", "content": "I look."}]}  # type: ignore[misc]
    ids = [model.complete(one)["choices"][0]["message"]["tool_calls"][0]["id"] for one in (REQUEST, later, REQUEST)]
    assert ids[0] == ids[2] != ids[1]


def test_another_refusal_is_no_refusal_of_the_format() -> None:
    refusal = BackendFault("endpoint_refused_request", "the prompt is too long", hint="")
    with pytest.raises(BackendFault, match="too long"):
        JsonCalls(Saying(refusal)).complete(REQUEST)


def test_the_format_allows_the_offered_calls_and_no_others(ask: Ask, chat_server: Any) -> None:
    from jsonschema import Draft202012Validator

    ask(WithoutTools(ROUNDS, knows_format=True))
    body = chat_server.received[0].body
    validator = Draft202012Validator(body["response_format"]["json_schema"]["schema"])
    assert validator.is_valid({"calls": [{"name": "list_scenes", "arguments": {}}]})
    for wrong in ({"name": "fly", "arguments": {}}, {"name": "describe_segment", "arguments": {"start_time": "x"}}):
        assert not validator.is_valid(json.loads(json.dumps({"calls": [wrong]})))
    assert not validator.is_valid({"calls": []})

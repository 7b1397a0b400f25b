"""``videoworld ask``: what it prints, what it refuses, and what it never sends."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.records import Journal, replay_recorded
from tests.support.command_line import Cli, Outcome
from tests.support.detected_worlds import STAGES, seen
from world_api.chat import Capabilities, Endpoint, keep_finding

QUESTION = "When does the person in red first appear?"
MEMORY = json.dumps(
    {
        "video_id": "made",
        "level": "event",
        "time_range": {"start_time": 0, "end_time": 5},
        "content": "the red person of nobody",
    }
)


Ask = Callable[..., Outcome]


@pytest.fixture
def ask(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs ``videoworld ask`` on a store with the made minute, with no endpoint configured unless given."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, **environment: str) -> Outcome:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return cli("ask", *arguments)

    return run


def test_the_answer_comes_with_evidence_tools_and_tokens(ask: Ask) -> None:
    outcome = ask("made", QUESTION)
    assert outcome.status == 0
    assert outcome.out.startswith("[rule-based]")
    assert "0:32.0-0:38.0" in outcome.out
    assert "search_segments_by_text -> detect_objects" in outcome.out
    assert "plumbing, not a result" in outcome.out
    assert "rule-based" in outcome.err


def test_the_summary_as_json(ask: Ask) -> None:
    outcome = ask("made", QUESTION, "--json", "--model", "rule-based")
    summary = json.loads(outcome.out)
    assert summary["spans"] == [{"start_time": 32.0, "end_time": 38.0, "returned_by_a_tool": True}]
    assert (summary["outcome"], summary["system"], summary["model"]) == ("submitted", "flat", "rule-based")
    assert summary["tool_calls"][0]["tool"] == "search_segments_by_text"
    assert summary["tokens"] == {
        "prompt": 0,
        "completion": 0,
        "cached": 0,
        "reasoning": 0,
        "estimated": False,
        "total": 0,
    }
    assert summary["watermark"].startswith("plumbing, not a result")
    assert outcome.err == ""


def test_a_library_is_used_where_one_is_given(ask: Ask) -> None:
    summary = json.loads(ask("made", QUESTION, "--tools", "hand_A", "--json").out)
    assert (summary["system"], summary["library"]) == ("hier", "hand_A")
    assert summary["tool_calls"][0]["tool"] == "locate_first_appearance"
    assert summary["calls_inside_tools"] > 0
    flat = json.loads(ask("made", QUESTION, "--tools", "hand_A", "--system", "flat", "--json").out)
    assert (flat["system"], flat["library"], flat["calls_inside_tools"]) == ("flat", None, 0)


@pytest.mark.parametrize("tools", [(), ("--tools", "hand_A")], ids=["operations", "library"])
@pytest.mark.parametrize(
    ("person", "word"), [("the happy person", "happy"), ("the person in red with a monocle", "monocle")]
)
def test_what_the_tools_behind_an_answer_could_not_judge_is_told(
    ask: Ask, tools: tuple[str, ...], person: str, word: str
) -> None:
    question = f"When does {person} first appear?"
    outcome = ask("made", question, *tools)
    [line] = [line for line in outcome.out.splitlines() if line.startswith("uncertain")]
    assert word in line
    doubts = json.loads(ask("made", question, *tools, "--json").out)["uncertain"]
    assert doubts[-1]["tool"] == ("locate_first_appearance" if tools else "detect_objects")
    assert all(word in str(doubt) for doubt in doubts)


@pytest.mark.parametrize("tools", [(), ("--tools", "hand_A")], ids=["operations", "library"])
def test_a_count_of_people_who_may_be_the_same_is_a_range(ask: Ask, make_world: Any, tools: tuple[str, ...]) -> None:
    tracks = [row for place in range(3) for row in seen(f"t000{place}_01", 20.0 * place, 20.0 * place + 6)]
    make_world({"sightings": tracks}, profile="neural", stages=STAGES, video_id="three")
    outcome = ask("three", "How many people are there?", *tools)
    assert outcome.out.startswith("[rule-based] 1 to 3 for 'people'")
    [line] = [line for line in outcome.out.splitlines() if line.startswith("uncertain")]
    assert "1 to 3" in line
    assert "different from those before" in line
    cannot = ask("three", "How many dogs are there?", *tools).out
    assert cannot.startswith("[rule-based] It cannot be told how many there are of 'dogs'")
    assert "not judged: dog" in cannot.replace('"', "")


@pytest.mark.parametrize("tools", [(), ("--tools", "hand_A")], ids=["operations", "library"])
def test_an_answer_that_rests_on_judged_words_is_not_called_uncertain(ask: Ask, tools: tuple[str, ...]) -> None:
    assert "uncertain" not in ask("made", QUESTION, *tools).out
    assert json.loads(ask("made", QUESTION, *tools, "--json").out)["uncertain"] == []


@pytest.mark.parametrize("tools", [(), ("--tools", "hand_A")], ids=["operations", "library"])
@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("When does the happy person first appear?", "cannot_be_told"),
        ("高兴的人什么时候第一次出现？", "cannot_be_told"),
        ("When does the person in purple first appear?", "cannot_be_told"),  # one who never moves is not tracked
        ("穿紫色衣服的人什么时候第一次出现？", "cannot_be_told"),
        (QUESTION, {"start_time": 32.0, "end_time": 38.0}),
    ],
)
def test_with_abstaining_allowed_what_is_not_judged_or_may_be_unseen_cannot_be_told(
    ask: Ask, tools: tuple[str, ...], question: str, value: Any
) -> None:
    summary = json.loads(ask("made", question, "--kind", "interval", "--may-abstain", *tools, "--json").out)
    assert summary["value"] == value
    forced = json.loads(ask("made", question, "--kind", "interval", *tools, "--json").out)
    assert isinstance(forced["value"], dict)
    if isinstance(value, str):
        assert ask("made", question, "--may-abstain", *tools).out.startswith(value.replace("_", " "))


@pytest.mark.parametrize("tools", [(), ("--tools", "hand_A")], ids=["operations", "library"])
@pytest.mark.parametrize(
    "question", ["When does the person in purple first appear?", "穿紫色衣服的人什么时候第一次出现？"]
)
def test_where_the_truth_is_complete_what_is_not_found_is_not_there(
    ask: Ask, make_world: Any, minute_rows: Any, tools: tuple[str, ...], question: str
) -> None:
    make_world(minute_rows, profile="oracle", video_id="complete")
    summary = json.loads(ask("complete", question, "--kind", "interval", "--may-abstain", *tools, "--json").out)
    assert summary["value"] == "not_there"


def test_a_recorded_question_can_be_replayed(ask: Ask, tmp_path: Path) -> None:
    outcome = ask("made", QUESTION, "--record", str(tmp_path / "records"), "--json")
    name = json.loads(outcome.out)["recorded_as"]
    assert replay_recorded(Journal(tmp_path / "records"), name).identical


def test_a_configured_endpoint_is_not_used_unless_a_model_is_named(ask: Ask, chat_server: Any) -> None:
    outcome = ask("made", QUESTION, OPENAI_BASE_URL=chat_server.url, OPENAI_API_KEY="sk-key-key-key")
    assert outcome.out.startswith("[rule-based]")
    assert chat_server.received == []


def test_a_named_model_is_asked_on_the_endpoint(ask: Ask, chat_server: Any, replies: Any) -> None:
    chat_server.play(replies.says("Nobody knows.", usage=(50, 3)))
    outcome = ask("made", QUESTION, "--model", "m", OPENAI_BASE_URL=chat_server.url, OPENAI_API_KEY="sk-key-key-key")
    assert outcome.out.startswith("Nobody knows.")
    assert "53 (50 in, 3 out, counted)" in outcome.out
    assert "plumbing" not in outcome.out
    assert chat_server.received[0].body["model"] == "m"


@pytest.mark.parametrize(("given", "window"), [((), 32_768), (("--window", "9000"), 9_000)])
def test_the_window_is_the_one_that_was_found_unless_one_is_given(
    ask: Ask, chat_server: Any, replies: Any, tmp_path: Path, given: tuple[str, ...], window: int
) -> None:
    endpoint = {"OPENAI_BASE_URL": chat_server.url, "OPENAI_API_KEY": "k", "VIDEOWORLD_CACHE": str(tmp_path / "found")}
    keep_finding(tmp_path / "found", Endpoint.from_environment(endpoint), "m", Capabilities(wire="chat", window=32_768))
    chat_server.play(replies.says("Nobody knows.", usage=(50, 3)))
    ask("made", QUESTION, "--model", "m", "--record", str(tmp_path / "records"), *given, **endpoint)
    journal = Journal(tmp_path / "records")
    [entry] = journal.entries()
    assert replay_recorded(journal, entry.name).episode.budget.window == window


def test_an_endpoint_that_refuses_the_key_ends_with_its_name(ask: Ask, chat_server: Any, tmp_path: Path) -> None:
    chat_server.play(chat_server.refusal(401, "bad key sk-key-key-key"))
    endpoint = {"OPENAI_BASE_URL": chat_server.url, "OPENAI_API_KEY": "sk-key-key-key"}
    record = ("--record", str(tmp_path / "records"))
    outcome = ask("made", QUESTION, "--model", "m", "--json", *record, **endpoint)
    assert outcome.status == 1
    assert json.loads(outcome.out)["error"]["code"] == "endpoint_refused_key"
    assert "sk-key" not in outcome.out + outcome.err
    [entry] = Journal(tmp_path / "records").entries()
    assert (entry.episode.outcome, entry.episode.reason) == ("failed", "endpoint_refused_key")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("made", "  "), "bad_question"),
        (("made", "x" * 30_000), "bad_question"),
        (("elsewhere", "when?"), "no_such_world"),
        (("made", "when?", "--model", "gpt"), "endpoint_not_configured"),
        (("made", "when?", "--system", "hier"), "no_library"),
        (("made", "when?", "--system", "magic"), "unknown_system"),
        (("made", "when?", "--tools", "nothing"), "no_such_library"),
        (("made", "when?", "--session", "../x"), "bad_session_name"),
        (("nothing.mp4", "when?"), "no_such_file"),
    ],
)
def test_what_cannot_be_asked_is_named(ask: Ask, arguments: tuple[str, ...], code: str) -> None:
    outcome = ask(*arguments, "--json")
    assert outcome.status == 1
    assert json.loads(outcome.out)["error"]["code"].startswith(code)


def test_money_without_a_price_is_refused_before_a_world_is_built(ask: Ask, tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"no film at all")
    outcome = ask(str(film), "when?", "--model", "rule-based", "--money", "1", "--json")
    assert json.loads(outcome.out)["error"]["code"] == "no_price"


def test_wrong_usage_ends_with_status_2(ask: Ask) -> None:
    assert ask("made").status == 2
    assert ask("made", "when?", "--kind", "magic").status == 2
    assert ask("made", "when?", "--as-of", "-1").status == 2


def test_what_is_written_in_a_session_is_there_for_the_next_question(ask: Ask, make_world: Any) -> None:
    ask("made", QUESTION, "--session", "notes")
    assert list((make_world.store / "made" / "sessions").glob("notes*"))


def test_what_an_answer_wrote_is_not_told_to_the_next_question(ask: Ask, cli: Cli, make_world: Any) -> None:
    cli("call", "write_memory", "--video", "made", "--args", MEMORY)
    before = ask("made", QUESTION, "--json").json
    assert "write_memory" in [call["tool"] for call in before["tool_calls"]]
    assert "of nobody" not in json.dumps(before)  # what the session ``default`` remembers
    assert cli("session", "list", "made", "--json").json["sessions"] == [{"name": "default", "events": 1}]
    again = ask("made", QUESTION, "--json").json
    assert {**again, "seconds": 0.0} == {**before, "seconds": 0.0}


def test_a_session_that_is_named_is_asked_on(ask: Ask, cli: Cli, tmp_path: Path) -> None:
    cli("call", "write_memory", "--video", "made", "--session", "notes", "--args", MEMORY)
    ask("made", QUESTION, "--session", "notes", "--record", str(tmp_path / "named"))
    ask("made", QUESTION, "--record", str(tmp_path / "fresh"))
    [named], [fresh] = (list(Journal(tmp_path / name).entries()) for name in ("named", "fresh"))
    assert named.episode.task.session == "notes"
    assert "of nobody" in json.dumps(named.episode.messages, ensure_ascii=False)
    assert "of nobody" not in json.dumps(fresh.episode.messages, ensure_ascii=False)
    assert "was found at" not in json.dumps(fresh.episode.messages[:2], ensure_ascii=False)


def test_a_fresh_session_can_be_committed_and_leaves_no_other(ask: Ask, cli: Cli) -> None:
    assert ask("made", QUESTION, "--commit", "--json").json["committed"]["memories"] == 1
    assert cli("session", "list", "made", "--json").json["sessions"] == []
    read = cli("call", "read_memory", "--video", "made", "level=event", "query=red", "top_k=5")
    assert "was found at" in read.out


def test_a_fresh_session_whose_question_failed_is_dropped(ask: Ask, cli: Cli, chat_server: Any) -> None:
    call = {"function": {"name": "write_memory", "arguments": MEMORY}, "id": "a", "type": "function"}
    chat_server.play(
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]},
        (401, {"error": {"message": "no"}}),
    )
    outcome = ask("made", QUESTION, "--commit", "--model", "m", OPENAI_BASE_URL=chat_server.url, OPENAI_API_KEY="k")
    assert (outcome.status, len(chat_server.received)) == (1, 2)
    assert cli("session", "list", "made", "--json").json["sessions"] == []


@pytest.mark.parametrize(
    ("more", "value"),
    [
        (("--kind", "interval"), {"start_time": 32.0, "end_time": 38.0}),
        (("--kind", "choice", "--option", "black", "--option", "red"), "B"),
        (("--kind", "count"), 1),
        (("--kind", "order", "--option", "a person in red", "--option", "THE LONG WALK"), ["B", "A"]),
    ],
    ids=["interval", "choice", "count", "order"],
)
def test_an_answer_comes_in_the_type_that_is_asked_for(ask: Ask, more: tuple[str, ...], value: Any) -> None:
    told = ask("made", QUESTION, *more, "--json").json
    assert (told["kind"], told["outcome"]) == (more[1], "submitted")
    assert told["value"] == value


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--kind", "choice"), "bad_question"),
        (("--option", "a"), "bad_question"),
        (("--kind", "order", "--option", "a", "--option", "a"), "bad_question"),
        (("--money", "1"), "no_price"),
        (("--prices", "nowhere.json"), "bad_prices"),
        (("--with", "magic"), "unknown_group"),
        (("--set", "colour=red"), "bad_option"),
        (("--set", "colour"), "bad_arguments"),
        (("--domain", "nowhere"), "no_such_domain"),
        (("--system", "direct"), "model_takes_no_images"),
        (("--vision-model", "eyes"), "perception_not_chosen"),
        (("--rounds", "0", "--system", "blind"), ""),
    ],
)
def test_options_that_do_not_go_together_are_refused_by_name(ask: Ask, more: tuple[str, ...], code: str) -> None:
    outcome = ask("made", QUESTION, *more, "--json")
    if not code:
        assert outcome.status == 0
        return
    assert (outcome.status, outcome.json["error"]["code"]) == (1, code)


def test_budgets_of_the_command_line_hold(ask: Ask) -> None:
    told = ask("made", QUESTION, "--rounds", "1", "--calls", "1", "--json").json
    assert (told["outcome"], told["rounds"]) == ("forced", 2)
    assert len(told["tool_calls"]) == 1


def test_a_chinese_question_is_asked_with_chinese_prompts(ask: Ask, tmp_path: Path) -> None:
    for question, language in (("红衣服的人什么时候出现？", "zh"), (QUESTION, "en")):
        ask("made", question, "--record", str(tmp_path / language))
        [entry] = Journal(tmp_path / language).entries()
        assert entry.episode.language == language
    ask("made", QUESTION, "--language", "zh", "--record", str(tmp_path / "told"))
    [entry] = Journal(tmp_path / "told").entries()
    assert entry.episode.language == "zh"


def test_commit_makes_what_was_remembered_the_worlds(ask: Ask, cli: Cli) -> None:
    told = ask("made", QUESTION, "--commit", "--session", "notes", "--json").json
    assert (told["committed"]["memories"], told["committed"]["session"]) == (1, "notes")
    read = cli("call", "read_memory", "--video", "made", "level=event", "query=red", "top_k=5", "--session", "other")
    assert "was found at" in read.out
    again = ask("made", "What is the frame rate?", "--commit", "--session", "empty")
    assert "committed 0 memories and 0 entities" in again.out


def test_nothing_is_committed_without_an_answer(ask: Ask, chat_server: Any, cli: Cli) -> None:
    chat_server.play((401, {"error": {"message": "no"}}))
    outcome = ask("made", QUESTION, "--commit", "--model", "m", OPENAI_BASE_URL=chat_server.url, OPENAI_API_KEY="k")
    assert outcome.status == 1
    assert "committed" not in outcome.out


def test_money_is_told_where_prices_are_given(ask: Ask, chat_server: Any, replies: Any, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {prompt: 100, completion: 1000}\n")
    for given in ((), ("--prices", str(prices))):
        chat_server.play(replies.submits("At 12 s.") | {"usage": {"prompt_tokens": 1000, "completion_tokens": 10}})
        outcome = ask("made", QUESTION, "--model", "m", *given, OPENAI_BASE_URL=chat_server.url, OPENAI_API_KEY="k")
        assert ("money     $0.1100" in outcome.out) == bool(given)


def test_a_cached_reply_costs_logically_and_not_physically(
    ask: Ask, chat_server: Any, replies: Any, tmp_path: Path
) -> None:
    chat_server.play(replies.submits("At 12 s.") | {"usage": {"prompt_tokens": 1000, "completion_tokens": 10}})
    given = ("made", QUESTION, "--model", "m", "--cache", str(tmp_path / "cache"), "--record", str(tmp_path / "r"))
    costs = []
    for _ in range(2):
        told = ask(*given, "--json", OPENAI_BASE_URL=chat_server.url, OPENAI_API_KEY="k").json
        costs.append([told["cost"][way]["controller"]["total"] for way in ("logical", "physical")])
    assert costs == [[1010, 1010], [1010, 0]]
    assert len(chat_server.received) == 1
    journal = Journal(tmp_path / "r")
    assert all(replay_recorded(journal, entry.name).identical for entry in journal.entries())


def test_every_option_can_be_given_and_does_something(ask: Ask, vision_server: Any, tmp_path: Path) -> None:
    """One question with all options that there are: one that is parsed and reaches nothing, or the wrong place, shows here."""
    import typer

    from controller.commands import ask as command

    vision_server.say = lambda body, pictures: {"caption": "red", "answer": "red"} if pictures else "B"
    (tmp_path / "prices.json").write_text(
        '{"m": {"prompt": 1, "completion": 1}, "eye": {"prompt": 1, "completion": 1}}'
    )
    given = {
        "--kind": "choice", "--option": "black", "--may-abstain": None, "--as-of": "50", "--language": "zh",
        "--system": "hier", "--tools": "hand_A", "--exposure": "tools_first", "--domain": "A_locate_count",
        "--set": "patience=2", "--with": "inspect", "--without": "memory", "--allow-judge": None, "--judge-model": "m",
        "--judge-record": str(tmp_path / "judgements.jsonl"), "--model": "m", "--wire": "chat",
        "--cache": str(tmp_path / "cache"), "--prices": str(tmp_path / "prices.json"), "--rounds": "3", "--calls": "4",
        "--tokens": "50000", "--seconds": "60", "--money": "2", "--window": "30000", "--digest-tokens": "123",
        "--profile": "endpoint", "--vision-model": "eye", "--embedding-model": "emb", "--frames": "2", "--side": "64",
        "--looks": "7", "--look-language": "zh", "--yes": None,
        "--session": "notes", "--commit": None, "--record": str(tmp_path / "records"), "--html": str(tmp_path / "page.html"),
        "--json": None,
    }  # fmt: skip
    app = typer.Typer(add_completion=False)
    app.command()(command)
    flags = {item.opts[0] for item in typer.main.get_command(app).params if item.opts[0].startswith("--")}
    assert flags - {"--help", "--store"} == set(given)
    words = [word for flag, value in given.items() for word in (flag, value) if word is not None]
    outcome = ask("made", QUESTION, *words, "--option", "red", OPENAI_BASE_URL=vision_server.url, OPENAI_API_KEY="k")
    assert outcome.status == 0, outcome.out + outcome.err
    [entry] = Journal(tmp_path / "records").entries()
    episode = entry.episode
    assert (episode.value, episode.task.system, episode.language, episode.model) == ("B", "hier", "zh", "m")
    assert episode.budget.record() == {
        "rounds": 3, "calls": 4, "tokens": 50_000, "seconds": 60.0, "money": 2.0, "window": 30_000, "digest_tokens": 123,
    }  # fmt: skip
    settings = episode.task.settings
    assert (settings["exposure"], settings["patience"], settings["groups"]) == (
        "tools-first",
        2,
        ["inspect", "no-memory"],
    )
    assert (settings["perception"]["looks"], settings["judge"] is not None) == (7, True)
    assert (episode.task.question.as_of, outcome.json["committed"]["session"]) == (50.0, "notes")
    assert episode.task.question.may_abstain


def test_how_much_is_told_of_the_world_can_be_chosen(ask: Ask, chat_server: Any, replies: Any) -> None:
    told = []
    for tokens in ("0", "800"):
        chat_server.play(replies.submits("At 12 s."))
        given = ("--model", "m", "--digest-tokens", tokens)
        assert ask("made", QUESTION, *given, OPENAI_BASE_URL=chat_server.url, OPENAI_API_KEY="k").status == 0
        told.append("data_from_video" in str(chat_server.received[-1].body["messages"][1]))
    assert told == [False, True]


def test_the_same_commits_to_the_same_world_leave_the_same_bytes(cli: Cli, tmp_path: Path) -> None:
    store, first = tmp_path / "worlds", tmp_path / "first"
    shutil.copytree(store, first)
    told = []
    for place in (first, store):
        for question in (QUESTION, "When does the person in black first appear?"):
            told.append(cli("ask", "made", question, "--commit", "--json", store=place).json["committed"])
        assert not list((place / "made" / "sessions").iterdir())
    assert told[:2] == told[2:]
    assert [item["session"] for item in told] == ["ask-1", "ask-2"] * 2
    assert [item["memories"] for item in told] == [1] * 4
    names = [sorted(path.name for path in (place / "made").rglob("*.arrow")) for place in (first, store)]
    assert names[0] == names[1]


def test_a_session_of_somebody_else_keeps_its_name(ask: Ask, cli: Cli) -> None:
    memory = ("level=event", 'time_range={"start_time": 0, "end_time": 5}', "content=noted")
    assert cli("call", "write_memory", "--video", "made", "--session", "ask-1", *memory).status == 0
    assert ask("made", QUESTION, "--commit", "--json").json["committed"]["session"] == "ask-2"
    assert cli("session", "list", "made", "--json").json["sessions"][0]["name"] == "ask-1"

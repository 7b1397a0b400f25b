"""The command line on hand-made worlds: answers on stdout, exit status, and no traceback for a user's mistake."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.command_line import Cli
from videoworld.command import COMMANDS

PACKAGES = ("world_api", "tool_induction", "controller", "eval")


def test_an_operation_is_called_with_values_read_by_their_type(cli: Cli) -> None:
    found = cli("call", "search_segments_by_text", "--video", "made", "query=blue folder", "top_k=2", "--json").json
    assert found["candidates"][0]["start_time"] == 22.0
    range_ = 'time_range={"start_time": 40, "end_time": 60}'
    scenes = cli("call", "list_scenes", "--video", "made", range_).json["scenes"]
    assert [scene["scene_id"] for scene in scenes] == ["scene_0002"]


def test_a_query_that_looks_like_a_number_stays_text(cli: Cli) -> None:
    assert cli("call", "search_segments_by_text", "--video", "made", "query=42", "top_k=2").status == 0


@pytest.mark.parametrize(("written", "seconds"), [("01:00", "60"), ("1:02:03.5", "3723.5")])
def test_a_clock_time_is_refused_with_the_seconds_to_write(cli: Cli, written: str, seconds: str) -> None:
    error = cli("call", "get_segment", "--video", "made", f"start_time={written}", "end_time=61", "--json").json[
        "error"
    ]
    assert error["code"] == "bad_arguments"
    assert "in seconds" in error["message"]
    assert error["hint"] == f"write start_time={seconds}"
    assert cli("call", "search_segments_by_text", "--video", "made", f"query={written}", "top_k=2").status == 0


def test_arguments_can_come_as_one_json_object(cli: Cli) -> None:
    arguments = json.dumps({"start_time": 1.0, "end_time": 2.0})
    assert cli("call", "get_segment", "--video", "made", "--args", arguments, "end_time=3").json["end_time"] == 3.0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["list_scenes", "--video", "nobody"], "no_such_world"),
        (["list_scenes", "--video", "../made"], "bad_video_id"),
        (["list_scenes", "--video", "x" * 300], "bad_video_id"),
        (["fly", "--video", "made"], "unknown_operation"),
        (["list_scenes", "--video", "made", "extra=1"], "bad_arguments"),
        (["list_scenes", "--video", "made", "no-equals-sign"], "bad_arguments"),
        (["list_scenes", "--video", "made", "--args", "[1]"], "bad_arguments"),
        (["list_scenes", "--video", "made", "--args", '{"a": NaN}'], "bad_arguments"),
        (["get_segment", "--video", "made", "start_time=abc", "end_time=2"], "bad_arguments"),
        (["get_segment", "--video", "made", "start_time=61", "end_time=62"], "time_out_of_range"),
        (["list_scenes", "--video", "made", "--session", "../x"], "bad_session_name"),
        (["list_scenes", "--video", "made", "--as-of", "inf"], "bad_as_of"),
    ],
)
def test_a_call_that_fails_is_named_on_stdout_with_json_and_on_stderr_without(
    cli: Cli, arguments: list[str], code: str
) -> None:
    outcome = cli("call", *arguments, "--json")
    assert outcome.status == 1
    assert outcome.json["error"]["code"] == code
    assert outcome.json["error"]["hint"]
    plain = cli("call", *arguments)
    assert plain.status == 1
    assert plain.out == ""
    assert code in plain.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["call"],
        ["call", "list_scenes"],
        ["call", "list_scenes", "--video", "made", "--as-of", "soon"],
        ["call", "list_scenes", "--video", "made", "--as-of", "-1"],
        ["call", "list_scenes", "--video", "made", "--as-of", "nan"],
        ["ops", "--format", "xml"],
        ["build"],
        ["build", "a.mp4", "b.mp4", "--id", "one"],
        ["build", "a.mp4", "--profile", "magic"],
        ["build", "a.mp4", "--speech", "magic"],
        ["inspect"],
    ],
)
def test_wrong_usage_ends_with_status_2(cli: Cli, arguments: list[str]) -> None:
    outcome = cli(*arguments, store=None)
    assert outcome.status == 2
    assert "Usage" in outcome.err


def test_sessions_are_listed_committed_and_dropped(cli: Cli) -> None:
    memory = '{"level": "event", "time_range": {"start_time": 1, "end_time": 2}, "content": "noted"}'
    for name in ("one", "two"):
        cli("call", "write_memory", "--video", "made", "--session", name, "--args", memory)
    assert cli("session", "list", "made", "--json").json["sessions"] == [
        {"name": "one", "events": 1},
        {"name": "two", "events": 1},
    ]
    assert cli("session", "commit", "made", "one", "--json").json["memories"] == 1
    assert cli("session", "drop", "made", "two", "--json").json["events"] == 1
    assert cli("session", "list", "made", "--json").json["sessions"] == []
    read = cli(
        "call", "read_memory", "--video", "made", "--session", "three", "level=event", "query=noted", "top_k=3"
    ).json
    assert [item["content"] for item in read["memories"]] == ["noted"]
    assert cli("session", "drop", "made", "two", "--json").json["error"]["code"] == "no_such_session"


def test_strict_openai_tools_are_valid_json_schema(cli: Cli) -> None:
    tools = cli("ops", "--format", "openai-strict", store=None).json
    assert len(tools) == 16
    for tool in tools:
        Draft202012Validator.check_schema(tool["function"]["parameters"])
        assert tool["function"]["strict"] is True


def test_the_catalogue_searches_across_videos_and_leaves_out_what_changed(cli: Cli, make_world: Any) -> None:
    make_world(video_id="second")
    hits = cli("worlds", "--search", "blue folder", "--json").json["segments"]
    assert {hit["video_id"] for hit in hits} == {"made", "second"}
    make_world(video_id="third")
    hits = cli("worlds", "--search", "blue folder", "--json").json["segments"]
    assert {hit["video_id"] for hit in hits} == {"made", "second", "third"}
    shutil.rmtree(make_world.store / "third")
    assert cli("reindex", "--json").json["segments"] > 0
    hits = cli("worlds", "--search", "blue folder", "--json").json["segments"]
    assert {hit["video_id"] for hit in hits} == {"made", "second"}
    assert "blue folder" in hits[0]["text"]
    assert cli("worlds", "--search", "花园", "--json").json["segments"]
    make_world({}, video_id="second")
    assert {hit["video_id"] for hit in cli("worlds", "--search", "blue folder", "--json").json["segments"]} == {"made"}


def test_the_catalogue_shows_what_is_said_and_keeps_the_words_of_its_index_to_itself(cli: Cli) -> None:
    hits = cli("worlds", "--search", "person", "--json").json["segments"]
    assert any("person in" in hit["text"] for hit in hits)
    assert not [hit for hit in hits if "人" in hit["text"]]
    assert cli("worlds", "--search", "人", "--json").json["segments"]


def test_committing_a_session_leaves_the_video_in_the_catalogue(cli: Cli) -> None:
    cli("reindex")
    memory = '{"level": "event", "time_range": {"start_time": 1, "end_time": 2}, "content": "noted"}'
    cli("call", "write_memory", "--video", "made", "--args", memory)
    cli("session", "commit", "made")
    assert cli("worlds", "--search", "blue folder", "--json").json["segments"]


def test_a_pipe_is_refused_also_where_a_world_has_its_name(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("made.mp4")
    for command in (["build", "made.mp4"], ["ask", "./made.mp4", "How many people?"]):
        outcome = cli(*command, "--json")
        assert (outcome.status, outcome.json["error"]["code"]) == (1, "not_a_file")


def test_a_file_whose_name_begins_with_a_dash_is_told_from_an_option(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-lead.mp4").touch()
    assert "./-lead.mp4" in cli("build", "-lead.mp4").err
    outcome = cli("build", "-lead.mp4", "--json")
    assert (outcome.status, outcome.json["error"]["code"]) == (2, "wrong_usage")
    assert "./-lead.mp4" in outcome.json["error"]["hint"]
    assert cli("build", "./-lead.mp4", "--json").json["error"]["code"] == "empty_file"
    assert "./" not in cli("build", "--lead").err


def test_the_doctor_examines_this_installation(cli: Cli) -> None:
    record = cli("doctor", "--json").json
    assert record["ok"], record["problems"]
    assert {"av", "torch"} <= {package["name"] for package in record["packages"]}


def test_the_doctor_reports_every_package_of_the_core_and_of_each_extra(cli: Cli) -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {"": project["dependencies"], **project["optional-dependencies"]}
    reported = {(row["extra"], row["name"]) for row in cli("doctor", "--json").json["packages"]}
    del wanted["dev"], wanted["docs"]  # for those who change the project
    assert reported == {(extra, re.split("[<>=~]", line)[0]) for extra, lines in wanted.items() for line in lines}


def test_the_doctor_says_what_goes_without_a_missing_recogniser(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("world_api.commands.doctor.installed", lambda name: None)
    lines = {line.split()[0]: line for line in cli("doctor").out.splitlines() if "missing (" in line}
    assert "--speech faster-whisper" in lines["faster-whisper"]
    assert "pip install" in lines["faster-whisper"]
    assert '[speech]"' in lines["faster-whisper"]
    assert "--speech pocketsphinx" in lines["pocketsphinx"]
    assert "not used yet" in lines["torch"]
    assert "needed" in lines["av"]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_that_agrees_with_the_front_page(cli: Cli, name: str) -> None:
    outcome = cli(name, "--help", store=None)
    assert outcome.status == 0
    assert COMMANDS[name].help in " ".join(outcome.out.split())


def test_a_flipped_bit_in_a_file_of_rows_is_named(cli: Cli, make_world: Any) -> None:
    path = next((make_world.store / "made" / "rows" / "sightings").iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(bytes(data))
    for command in (
        ["inspect", "made"],
        ["call", "list_entities", "--video", "made"],
        ["ask", "made", "How many people?"],
    ):
        outcome = cli(*command, "--json")
        assert outcome.status == 1
        assert outcome.json["error"]["code"] == "world_damaged"


def test_a_world_copied_under_another_name_answers_to_it(cli: Cli, make_world: Any) -> None:
    shutil.copytree(make_world.store / "made", make_world.store / "copy")
    assert cli("inspect", "copy", "--json").json["video_id"] == "copy"
    assert cli("call", "list_scenes", "--video", "copy").status == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["inspect", "made", "--as-of", "inf"], "bad_as_of"),
        (["build", "z" * 300 + ".mp4"], "file_system"),
        (["call", "search_segments_by_text", "--video", "made", "query=\udcff", "top_k=1"], "bad_arguments"),
        (["call", "get_segment", "--video", "made", "start_time=1", "start_time=2", "end_time=3"], "bad_arguments"),
        (
            ["call", "get_segment", "--video", "made", "--args", '{"start_time":1,"start_time":2,"end_time":3}'],
            "bad_arguments",
        ),
    ],
)
def test_what_a_user_may_get_wrong_is_named(cli: Cli, arguments: list[str], code: str) -> None:
    outcome = cli(*arguments, "--json")
    assert outcome.status == 1
    assert outcome.json["error"]["code"] == code


def test_wrong_usage_with_json_is_json_too(cli: Cli) -> None:
    outcome = cli("ops", "--format", "xml", "--json", store=None)
    assert outcome.status == 2
    assert outcome.json["error"]["code"] == "wrong_usage"


def test_a_store_that_is_a_file_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no store")
    assert cli("worlds", "--json", store=tmp_path / "file").json["error"]["code"] == "not_a_store"


def test_behind_a_cut_nothing_of_the_whole_films_size_is_told(cli: Cli) -> None:
    record = cli("inspect", "made", "--as-of", "30", "--json").json
    assert record["bytes"] is None
    assert set(record["source"]) == {"file_name"}


@pytest.mark.parametrize("command", [("worlds",), ("call", "list_scenes", "--video", "made"), ("inspect", "made")])
def test_a_store_without_a_name_is_refused(cli: Cli, command: tuple[str, ...]) -> None:
    outcome = cli(*command, "--store", "", store=None)
    assert outcome.status == 2
    assert "the name of the folder is empty" in " ".join(outcome.err.split())


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["bild", "my.mp4"], "'build'"),
        (["eval", "raport", "run"], "'report'"),
        (["ask", "made", "When?", "--tols", "hand_A"], "--tools"),
        (["ask", "made", "When?", "--tools", "hand_a"], "did you mean 'hand_A'?"),
        (["ask", "made", "When?", "--without", "memroy"], "did you mean 'memory'?"),
        (["ask", "made", "When?", "--system", "flatt"], "did you mean 'flat'?"),
        (["ask", "made", "When?", "--domain", "A_locate_cont"], "did you mean 'A_locate_count'?"),
        (["inspect", "mede"], "did you mean 'made'?"),
        (["call", "list_scene", "--video", "made"], "did you mean 'list_scenes'?"),
        (["tools", "run", "hand_A", "locate_word", "--video", "made"], "did you mean 'locate_words'?"),
        (["models", "pull", "yolox-tny"], "did you mean 'yolox"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest_one(cli: Cli, arguments: list[str], near: str) -> None:
    store = None if arguments[0] in ("bild", "eval", "models") else ...
    outcome = cli(*arguments, **({} if store is ... else {"store": store}))
    assert outcome.status in (1, 2)
    assert near in outcome.err


def test_a_world_that_is_not_there_is_answered_with_a_command_that_lists_those_that_are(cli: Cli) -> None:
    hint = cli("inspect", "zzz", "--json").json["error"]["hint"]
    words = shlex.split(hint.split("`")[1])
    assert "made" in cli(*words[1:], store=None).out


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_a_screen_and_help_all_lists_the_rest(cli: Cli, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    words = [name] if name else []
    short, whole = (cli(*words, flag, store=None).out for flag in ("--help", "--help-all"))
    assert len(short.splitlines()) <= (45 if name else 40)
    options = [set(re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE)) for text in (short, whole)]
    hidden = options[1] - options[0]
    assert options[0] - options[1] <= {"--help-all"}
    assert ("--help-all" in options[0]) == bool(hidden)
    if hidden:
        assert f"Show {len(hidden)} more options too." in short


def test_former_spellings_of_options_still_work_and_are_not_listed(cli: Cli) -> None:
    assert "--max-tokens" not in cli("ask", "--help-all", store=None).out
    given = ("ask", "made", "How many people?", "--model", "rule-based", "--json")
    assert cli(*given, "--max-tokens", "9").json["outcome"] == cli(*given, "--tokens", "9").json["outcome"]


def _named_in_messages() -> list[str]:
    """Every command line of ``videoworld`` in a text of the program, up to its first word that is not fixed."""
    found = set()
    root = Path(__file__).parents[1]
    for path in [path for package in PACKAGES for path in (root / package).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"\bvideoworld ((?:[a-z]+ )*[a-z]+(?:[^`\n;.]* --[a-z-]+)?)", node.value))
    return sorted(found)


def test_every_command_that_a_message_names_exists_with_its_options(cli: Cli) -> None:
    named = _named_in_messages()
    assert len(named) > 30
    wrong = []
    for line in named:
        words = line.split()
        if words[0] not in COMMANDS:
            continue  # prose, such as "videoworld is"
        group = cli(words[0], "--help", store=None).out
        inner = [words[1]] if "\nCommands:" in group and len(words) > 1 else []
        shown = cli(words[0], *inner, "--help-all", store=None)
        options = [word for word in words if word.startswith("--")]
        if shown.status or any(option not in shown.out for option in options):
            wrong.append(line)
    assert wrong == []


@pytest.mark.parametrize(("checkout", "what"), [(True, '-e "'), (False, '"video-world-api[neural]"')])
def test_the_command_that_installs_an_extra_fits_how_the_project_is_installed(
    checkout: bool, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from world_api import installation

    if not checkout:
        monkeypatch.setattr(installation, "version_of_source", lambda folder: installation.UNKNOWN)
    command = shlex.split(installation.install_command("neural"))
    assert what in installation.install_command("neural")
    assert command[-1].endswith("[neural]")
    if checkout:
        assert Path(command[-1].removesuffix("[neural]")).resolve() == Path(__file__).parents[1]


#: Exit status -> a command that ends with it; docs/commands.md has the table.
EXITS = {0: ["worlds"], 1: ["inspect", "nobody"], 2: ["inspect"]}


@pytest.mark.parametrize("status", EXITS)
def test_commands_end_with_the_status_of_the_table(cli: Cli, status: int) -> None:
    assert cli(*EXITS[status]).status == status


def test_an_interrupted_command_ends_as_shells_have_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("world_api.commands.worlds.open_world", interrupted)
    assert cli("inspect", "made").status == 130


def test_the_table_of_statuses_is_that_of_the_program() -> None:
    from videoworld.command import INTERRUPTED, USAGE

    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text(encoding="utf-8")
    listed = [int(number) for number in re.findall(r"^\| (\d+) +\|", page, re.MULTILINE)]
    assert listed == sorted({*EXITS, USAGE, INTERRUPTED})


def test_hints_name_the_program_as_it_can_be_typed(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "`videoworld worlds" in cli("inspect", "nobody").err
    started = tmp_path / "bin" / "videoworld"
    monkeypatch.setattr("sys.argv", [str(started)])
    assert f"`{started} worlds" in cli("inspect", "nobody").err


def test_a_file_that_is_not_there_is_answered_with_the_nearest_beside_it(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "holiday.mp4").touch()
    for command in (["build", str(tmp_path / "holidy.mp4")], ["ask", str(tmp_path / "holidy.mp4"), "When?"]):
        outcome = cli(*command, "--json")
        assert outcome.json["error"]["hint"] == "did you mean 'holiday.mp4'?"
        assert "profile" not in outcome.err, "the profile is named before a trivial fault"
    assert cli("build", str(tmp_path / "zzz" / "a.mp4"), "--json").json["error"]["hint"] == "check the path"

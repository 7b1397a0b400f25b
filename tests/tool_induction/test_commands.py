import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import videoworld


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command line; what it printed and its exit status."""

    def call(*arguments: Any) -> Any:
        status = 0
        try:
            videoworld.main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def store(make_world: Any) -> Any:
    """A store that holds the world ``made``."""
    make_world()
    return make_world.store


@pytest.fixture
def seed_file(tmp_path: Path, seed_text: str) -> Any:
    file = tmp_path / "seed.json"
    file.write_text(seed_text)
    return file


def test_check_says_yes_with_the_price(cli: Any, seed_file: Any) -> None:
    status, out, _ = cli("tools", "check", seed_file)

    assert status == 0
    assert "locate_first_appearance: ok, 1 to 21 calls" in out
    assert "1 of 1 tools can run; 0 faults" in out


def test_check_json_is_exactly_the_record(cli: Any, seed_file: Any) -> None:
    status, out, _ = cli("tools", "check", seed_file, "--json")
    record = json.loads(out)

    assert status == 0
    assert list(record) == ["ok", "tools", "diagnostics"]
    assert (record["ok"], record["tools"][0]["name"], record["tools"][0]["ok"]) == (
        True,
        "locate_first_appearance",
        True,
    )
    assert record["tools"][0]["price"]["max"]["calls"] == 21


def test_check_with_faults_exits_1_and_still_prints_that_json(cli: Any, seed_file: Any) -> None:
    seed_file.write_text(seed_file.read_text().replace("detect_objects", "detect_object"))

    status, out, _ = cli("tools", "check", seed_file, "--json")
    record = json.loads(out)

    assert status == 1
    assert record["ok"] is False
    assert record["tools"] == [{"name": "locate_first_appearance", "ok": False, "price": None}]
    assert {item["code"] for item in record["diagnostics"] if item["severity"] == "error"} == {"E_UNKNOWN_API"}


def test_check_for_people_shows_the_line_a_mark_and_a_suggestion(cli: Any, seed_file: Any) -> None:
    seed_file.write_text(seed_file.read_text().replace("detect_objects", "detect_object"))

    status, out, _ = cli("tools", "check", seed_file)

    assert status == 1
    assert "E_UNKNOWN_API $.steps[1].api: there is no operation 'detect_object'" in out
    lines = out.splitlines()
    shown = next(place for place, line in enumerate(lines) if '"api": "detect_object"' in line)
    assert lines[shown].index('"api": "detect_object"') == lines[shown + 1].index("^")
    assert "-> did you mean 'detect_objects'?" in out


def test_check_shows_what_was_decided_about_sound_tools_and_hides_it_behind_faults(cli: Any, seed_file: Any) -> None:
    sound = cli("tools", "check", seed_file)[1]
    seed_file.write_text(seed_file.read_text().replace('"query"', '"qery"'))
    broken, whole = cli("tools", "check", seed_file)[1], cli("tools", "check", seed_file, "--notes")[1]

    assert "  W_ALIAS line 11, $.steps[2].operation: the aggregate" in sound
    assert "W_ALIAS" not in broken
    assert re.search(r"and \d+ notes \(--notes shows them\)", broken)
    assert "W_ALIAS line 11" in whole


def test_check_of_many_files_names_each_and_counts_codes(cli: Any, seed_file: Any, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(seed_file.read_text().replace("detect_objects", "detect_object"))

    status, out, _ = cli("tools", "check", seed_file, other)
    record = json.loads(cli("tools", "check", seed_file, other, "--json")[1])
    table = cli("tools", "check", "--summary", seed_file, other)[1].splitlines()
    counts = json.loads(cli("tools", "check", "--summary", seed_file, other, "--json")[1])

    assert status == 1
    assert [line for line in out.splitlines() if line in (str(seed_file), str(other))] == [str(seed_file), str(other)]
    assert [one["ok"] for one in record["files"].values()] == [True, False]
    assert table[0] == f"| code | {seed_file} | {other} | all |"
    assert "| `E_UNKNOWN_API` |  | 1 | 1 |" in table
    assert counts[str(other)]["E_UNKNOWN_API"] == 1


def test_check_shows_where_a_text_stops_being_json(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{\n "a": [1,}')

    status, out, _ = cli("tools", "check", file)

    assert status == 1
    assert '       2 |  "a": [1,}\n         |          ^' in out


def test_check_notes_an_entity_of_the_examples(cli: Any, seed_file: Any) -> None:
    status, out, _ = cli("tools", "check", seed_file, "--entity", "Person")

    assert status == 0
    assert re.search(r"L_CONSTANT_ENTITY line \d+, \$\.steps\[1\]\.params\.category: ", out)


def test_language_prints_the_reference_and_the_schema(cli: Any) -> None:
    assert cli("tools", "language")[1].startswith("# Tool language: reference")
    assert json.loads(cli("tools", "language", "--json")[1])["$defs"]["step"]


def test_check_of_what_is_no_json_is_a_diagnostic(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"\xff\xfe")

    status, out, _ = cli("tools", "check", file, "--json")

    assert status == 1
    assert [item["code"] for item in json.loads(out)["diagnostics"]] == ["E_JSON"]


def test_check_of_the_packaged_library_and_of_one_that_is_not_there(cli: Any) -> None:
    assert cli("tools", "check", "hand_A")[0] == 0
    status, out, _ = cli("tools", "check", "nowhere", "--json")
    assert (status, json.loads(out)["error"]["code"]) == (1, "no_such_library")


def test_run_acts_on_a_world_and_shows_its_trace(cli: Any, store: Any) -> None:
    status, out, _ = cli(
        "tools", "run", "hand_A", "locate_first_appearance", "--video", "made", "--store", store,
        "person_query=person in black", "--json", "--trace",
    )  # fmt: skip
    record = json.loads(out)

    assert status == 0
    assert record["status"] in ("ok", "empty")
    assert record["trace"][0]["name"] == "locate_first_appearance"
    assert record["calls"]["logical"] >= 1


def test_run_reads_values_by_the_declared_type(cli: Any, store: Any, tmp_path: Path, document: Any) -> None:
    count = {"type": "set", "value": "{{ n + 1 }}", "save_as": "more"}
    file = tmp_path / "small.json"
    file.write_text(
        json.dumps(
            document(
                count, inputs={"n": "int"}, outputs={"more": "int", "query": {"type": "string", "from": "{{ query }}"}}
            )
        )
    )

    _, out, _ = cli(
        "tools", "run", file, "small_tool", "--video", "made", "--store", store, "n=4", "query=42", "--json"
    )

    assert json.loads(out)["outputs"] == {"more": 5, "query": "42"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("hand_A", "fly", "--video", "made"), "unknown_tool"),
        (("hand_A", "locate_first_appearance", "--video", "made"), "bad_arguments"),
        (("hand_A", "locate_first_appearance", "--video", "made", "x=1"), "bad_arguments"),
        (("hand_A", "locate_first_appearance", "--video", "nothing", "person_query=a"), "no_such_world"),
        (("nowhere", "x", "--video", "made"), "no_such_library"),
    ],
)
def test_a_wrong_run_is_a_named_failure(cli: Any, store: Any, arguments: Any, code: str) -> None:
    status, out, _ = cli("tools", "run", *arguments, "--store", store, "--json")

    assert (status, json.loads(out)["error"]["code"]) == (1, code)


def test_run_without_a_video_is_wrong_usage(cli: Any) -> None:
    assert cli("tools", "run", "hand_A", "locate_first_appearance")[0] == 2


def test_a_document_can_come_from_stdin(cli: Any, seed_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(seed_text.encode())))
    status, out, _ = cli("tools", "check", "-", "--json")
    assert (status, json.loads(out)["ok"]) == (0, True)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"{")))
    assert "E_JSON" in cli("tools", "check", "-")[1]

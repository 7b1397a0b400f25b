"""Documents that lie about themselves: bytes, keys, names, numbers, operations, secrets."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tool_induction import Origin, ToolFault, compile_document, freeze_library
from tool_induction.compiler import without_secrets
from world_api.operations import OPERATIONS

# Put together here, so that no file of this repository holds what looks like a key.
SECRETS = {
    "a model service's key": "sk-" + "proj-" + "a1B2" * 8,
    "another model service's key": "sk-" + "ant-api03-" + "Zz09" * 8,
    "a code host's token": "ghp" + "_" + "A1b2" * 9,
    "a model hub's token": "hf" + "_" + "Q1w2" * 8,
    "a cloud's key": "AKI" + "A" + "ABCDEFGHIJKLMNOP",
    "a search service's key": "AIz" + "a" + "Ab1-" * 8 + "Abc",
    "a signed token": "ey" + "J" + "hbGciOiJI." + "ey" + "J" + "zdWIiOiIx." + "c2lnbmF0dXJl",
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "a header": "Authorization: " + "Bearer " + "0123456789abcdef" * 2,
    "a password in an address": "https://user:" + "hunter2hunter2" + "@example.org/",
    "an assignment": "api_key=" + "0123456789abcdef",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_document_with_a_secret_is_refused_and_the_secret_is_said_nowhere(document: Any, secret: str) -> None:
    faulty = document({"type": "set", "value": f"ask with {secret} please", "save_as": "key"})
    faulty["steps"][0]["params"]["query"] = secret
    faulty["steps"][0]["nonsense"] = secret

    compilation = compile_document(json.dumps(faulty))

    told = {(item.code, item.json_path) for item in compilation.diagnostics}
    assert ("E_SECRET", "$.steps[1].value") in told
    assert ("E_SECRET", "$.steps[0].params.query") in told
    assert not compilation.tools
    assert secret not in json.dumps(compilation.record())


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_in_text_that_is_no_json_is_not_repeated_and_logs_can_blot_it_out(secret: str) -> None:
    text = '{"tool_name": "a", "x": "' + secret + '", oops}'

    assert secret not in json.dumps(compile_document(text).record())
    assert secret not in without_secrets(text)
    assert without_secrets(text).startswith('{"tool_name": "a"')


def test_a_library_whose_origin_holds_a_secret_is_not_written(document: Any, compiled: Any, tmp_path: Path) -> None:
    origin = Origin(how="induced", date="2026-01-01", details={"endpoint": {"key": SECRETS["a model service's key"]}})

    with pytest.raises(ToolFault) as raised:
        freeze_library(compiled(document()), tmp_path / "lib", name="lib", origin=origin)

    assert raised.value.code == "secret_in_library"
    assert not (tmp_path / "lib").exists()


@pytest.mark.parametrize(
    "text",
    [
        "dQw4w9WgXcQ",
        "sk-learn and task-specific words",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "the password is written on the whiteboard",
        "https://example.org/watch?v=dQw4w9WgXcQ",
        "Is the bearer of the bag seen before 10:30?",
        "the basic recipe: flour, eggs",
    ],
)
def test_ids_hashes_and_talk_of_secrets_are_no_secrets(document: Any, text: str) -> None:
    assert compile_document(document({"type": "set", "value": text, "save_as": "words"})).ok
    assert without_secrets(text) == text


def _twice(document: Any) -> str:
    return json.dumps(document()).replace('"top_k": 5', '"top_k": 5, "top_k": 9')


def test_a_key_that_stands_twice_is_a_fault_where_it_stands(document: Any) -> None:
    found = compile_document(_twice(document)).diagnostics[0]

    assert (found.code, found.json_path) == ("E_JSON", "$.steps[0].params.top_k")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400, "9" * 5000, "-1e16"])
def test_numbers_that_cannot_be_computed_with_are_refused(document: Any, number: str) -> None:
    compilation = compile_document(json.dumps(document()).replace('"top_k": 5', f'"top_k": {number}'))

    assert compilation.diagnostics[0].code in ("E_JSON", "E_SIZE")
    assert not compilation.tools
    json.dumps(compilation.record(), allow_nan=False).encode()


@pytest.mark.parametrize(
    "source",
    [
        b'{"tool_name": "\xff\xfe"}',
        b"\xff\xfe{\x00}\x00",
        b'{"a": "\xc0\xaf"}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\\ud800"}',
        b'{"\\udfff": 1}',
        b"\x00" * 1000,
        b"",
    ],
)
def test_what_is_no_text_is_one_fault_that_can_be_written_down(source: bytes) -> None:
    compilation = compile_document(source)

    assert {item.code for item in compilation.diagnostics} == {"E_JSON"}
    json.dumps(compilation.record(), ensure_ascii=False).encode()


def test_half_a_character_is_refused_also_in_a_value_that_python_hands_over(document: Any) -> None:
    faulty = document({"type": "set", "value": "\ud800", "save_as": "x"})

    for source in (faulty, json.dumps(faulty), json.dumps(faulty, ensure_ascii=False)):
        told = {(item.code, item.json_path) for item in compile_document(source).diagnostics}
        assert ("E_JSON", "$.steps[1].value") in told


def test_a_byte_order_mark_is_no_fault(document: Any) -> None:
    assert compile_document(b"\xef\xbb\xbf" + json.dumps(document()).encode()).ok
    assert "E_JSON" in {item.code for item in compile_document(json.dumps(document()).encode("utf-16")).diagnostics}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("find_it", "find_it"),
        ("find_it", "Find_it"),
        ("find_it", "FIND_IT"),
        ("find_it", "find_it "),
        ("find_it", "find_it\n"),
        ("caf\u00e9", "cafe\u0301"),
        ("find_it", "find\u200b_it"),
        ("find_it", "f\u0456nd_it"),
        ("find_it", "\uff46ind_it"),
    ],
)
def test_two_names_that_a_person_takes_for_one_are_never_both_accepted(document: Any, one: str, other: str) -> None:
    compilation = compile_document([document(name=one), document(name=other)])

    assert len(compilation.tools) < 2
    assert "E_NAME" in {item.code for item in compilation.diagnostics}


@pytest.mark.parametrize("name", ["caf\u00e9", "x\u200b", "\u202ex", "__class__", "_x", "a.b", "", " ", "a" * 65])
def test_names_that_are_bound_are_plain_ascii(document: Any, name: str) -> None:
    compilation = compile_document(document({"type": "set", "value": 1, "save_as": name}))

    assert ("E_NAME", "$.steps[1].save_as") in {(item.code, item.json_path) for item in compilation.diagnostics}


@pytest.mark.parametrize("name", ["search_segments_by_text", "detect_objects", "list_scenes"])
def test_a_tool_cannot_take_the_name_of_an_operation(document: Any, name: str) -> None:
    assert name in OPERATIONS
    compilation = compile_document(document(name=name))

    assert ("E_NAME", "$.tool_name") in {(item.code, item.json_path) for item in compilation.diagnostics}
    assert not compilation.tools


def test_an_operation_that_does_not_exist_is_named_with_what_is_near(document: Any) -> None:
    faulty = document()
    faulty["steps"][0]["api"] = "search_segment_by_texts"

    (found,) = [item for item in compile_document(faulty).diagnostics if item.severity == "error"][:1]

    assert (found.code, found.json_path) == ("E_UNKNOWN_API", "$.steps[0].api")
    assert "search_segments_by_text" in found.suggestion


@pytest.mark.parametrize("api", ["__import__", "os.system", "run", "shell", "http_get", "../detect_objects", ""])
def test_no_name_reaches_anything_but_an_operation(document: Any, api: str) -> None:
    faulty = document()
    faulty["steps"][0]["api"] = api

    assert "E_UNKNOWN_API" in {item.code for item in compile_document(faulty).diagnostics}


def _calling(document: Any, name: str, *targets: str) -> Any:
    calls = [
        {
            "type": "call_tool",
            "tool": target,
            "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
            "save_as": f"r{place}",
        }
        for place, target in enumerate(targets)
    ]
    return document(*calls, name=name)


def test_a_tool_that_calls_itself_is_refused(document: Any) -> None:
    compilation = compile_document(_calling(document, "again", "again"))

    assert ("E_CYCLE", "$.steps[1].tool") in {(item.code, item.json_path) for item in compilation.diagnostics}
    assert not compilation.tools


def test_tools_that_call_each_other_in_a_ring_are_refused(document: Any) -> None:
    ring = [_calling(document, f"t{place}", f"t{(place + 1) % 5}") for place in range(5)]

    compilation = compile_document(ring)

    assert "E_CYCLE" in {item.code for item in compilation.diagnostics}
    assert not compilation.tools


def test_a_step_cannot_read_what_a_later_step_binds_nor_itself(document: Any) -> None:
    one = {"type": "set", "value": "{{ b }}", "save_as": "a"}
    other = {"type": "set", "value": "{{ a }}", "save_as": "b"}
    own = {"type": "set", "value": "{{ c }}", "save_as": "c"}

    told = {(item.code, item.json_path) for item in compile_document(document(one, other, own)).diagnostics}

    assert ("E_FORWARD", "$.steps[1].value") in told
    assert {code for code, path in told if path == "$.steps[3].value"} & {"E_UNDEFINED", "E_FORWARD"}


def test_a_python_value_that_holds_itself_is_a_fault(document: Any) -> None:
    ring: list[Any] = []
    ring.append(ring)

    for value in (ring, document({"type": "set", "value": ring, "save_as": "x"})):
        compilation = compile_document(value)
        assert {item.code for item in compilation.diagnostics} == {"E_JSON"}


def test_a_document_is_not_changed_by_being_checked(document: Any) -> None:
    given = document({"type": "aggregate", "operation": "pick_earliest_segment", "inputs": "hits", "save_as": "x"})
    before = copy.deepcopy(given)

    compile_document(given)

    assert given == before

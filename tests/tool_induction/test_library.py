import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tool_induction import Origin, compile_document, freeze_library, load_library
from tool_induction.library import find_library, packaged_libraries, signature_of
from tool_induction.refreeze import refreeze
from world_api.core import ToolFault, content_hash

BY_HAND = Origin(how="hand-written", date="2026-01-01", domain="A", details={"split": "none"})


@pytest.fixture
def frozen(tmp_path: Path, seed_text: str) -> Any:
    """A freshly frozen library of the seed tool."""
    folder = tmp_path / "mine"
    freeze_library(compile_document(seed_text).tools, folder, name="mine", origin=BY_HAND)
    return folder


def refused(named: Any) -> Any:
    with pytest.raises(ToolFault) as fault:
        load_library(named)
    return fault.value


def written(value: Any) -> str:
    """A library's file as it is frozen."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def edit(path: Any, **changes: Any) -> None:
    path.write_text(written(json.loads(path.read_text()) | changes), encoding="utf-8")


def seal(folder: Any, **changes: Any) -> None:
    """Change a manifest and compute its hashes again, as docs/libraries.md describes them."""
    manifest = json.loads((folder / "manifest.json").read_text()) | changes
    rest = {key: value for key, value in manifest.items() if key not in ("key_hashes", "manifest_hash")}
    rest["key_hashes"] = {key: content_hash(value)[:16] for key, value in rest.items()}
    sealed = rest | {"manifest_hash": content_hash(rest)}
    (folder / "manifest.json").write_text(written(sealed), encoding="utf-8")


def replace_tools(folder: Any, document: Any) -> None:
    (folder / "library.json").write_text(written(document), encoding="utf-8")
    seal(folder, content_hash=content_hash(document))


def signatures(folder: Any) -> Any:
    return json.loads((folder / "manifest.json").read_text())["operations"]


def test_the_packaged_library_loads_by_name_and_by_path_as_the_same() -> None:
    by_name = load_library("hand_A")
    by_path = load_library(Path(str(find_library("hand_A"))))

    assert by_name.hash == by_path.hash
    assert by_name.manifest["origin"] == "hand-written"
    assert "locate_first_appearance" in by_name.tools
    assert {"hand_A", "hand_B", "hand_C"} <= set(packaged_libraries())


def test_a_library_goes_out_and_comes_back_the_same(frozen: Any, seed_text: str) -> None:
    library = load_library(frozen)

    assert library.name == "mine"
    assert {name: item.frozen for name, item in library.tools.items()} == {
        name: item.frozen for name, item in compile_document(seed_text).tools.items()
    }
    assert library.manifest["operations"].keys() == {"detect_objects", "search_segments_by_text"}
    assert library.manifest["split"] == "none"


def test_a_plain_file_of_one_tool_loads(tmp_path: Path, seed_text: str) -> None:
    file = tmp_path / "seed.json"
    file.write_text(seed_text)

    assert load_library(file).name == "seed"


def test_a_changed_tool_is_refused_by_its_name_and_part(frozen: Any) -> None:
    text = (frozen / "library.json").read_text()
    (frozen / "library.json").write_text(text.replace('"top_k": 20', '"top_k": 21'))

    fault = refused(frozen)

    assert fault.code == "library_changed"
    assert fault.message.endswith("changed: locate_first_appearance.steps[0]")


def test_every_changed_byte_of_a_library_is_refused_and_placed(frozen: Any) -> None:
    for name in ("library.json", "manifest.json"):
        file = frozen / name
        whole = file.read_bytes()
        for place in range(0, len(whole), 23):
            other = b"7" if whole[place : place + 1] != b"7" else b"8"
            file.write_bytes(whole[:place] + other + whole[place + 1 :])
            fault = refused(frozen)
            assert fault.code in ("library_changed", "bad_library", "other_schema_version"), place
            assert len(fault.message.partition("changed: ")[2]) > 1 or fault.code != "library_changed"
        file.write_bytes(whole)
    assert load_library(frozen).name == "mine"


@pytest.mark.parametrize("spelled", [" {", "\ufeff{", "{\n"])
def test_the_same_content_in_another_spelling_is_refused(frozen: Any, spelled: str) -> None:
    file = frozen / "library.json"
    file.write_text(file.read_text().replace("{", spelled, 1), encoding="utf-8")

    assert refused(frozen).message.endswith("changed: its spelling")


def test_the_line_ends_of_another_system_are_no_change(frozen: Any) -> None:
    for name in ("library.json", "manifest.json"):
        (frozen / name).write_bytes((frozen / name).read_bytes().replace(b"\n", b"\r\n"))

    assert load_library(frozen).name == "mine"


def test_changes_of_a_library_are_named_by_tool_and_key(frozen: Any) -> None:
    document = json.loads((frozen / "library.json").read_text())
    tool = document["tools"][0]
    tool["description"], tool["steps"] = "Other words for the same tool, six at least.", tool["steps"][:2]
    document["tools"].append({**tool, "tool_name": "another"})
    (frozen / "library.json").write_text(written(document))

    message = refused(frozen).message

    places = message.partition("changed: ")[2].split(", ")
    assert places == [f"locate_first_appearance.{part}" for part in ("description", "steps[2]", "steps[3]")] + [
        "another"
    ]


def test_a_changed_manifest_is_refused_by_the_key(frozen: Any) -> None:
    edit(frozen / "manifest.json", domain="B", model="other")

    assert refused(frozen).message.endswith("changed: domain, model")


def test_a_library_of_other_operations_is_refused_with_the_differing_paths(frozen: Any) -> None:
    stored = signatures(frozen)
    stored["detect_objects"]["parameters"].pop("text_query")
    stored["detect_objects"]["parameters"]["size"] = "integer"
    stored["detect_objects"]["result"]["detections[].timestamp"] = "string"
    seal(frozen, operations=stored | {"fly": {}})

    fault = refused(frozen)

    assert fault.code == "other_operations"
    for line in (
        '$.detect_objects.parameters.size: gone, was "integer"',
        '$.detect_objects.parameters.text_query: new, "optional',
        'detections[].timestamp\']: "string" -> "number',
        "$.fly: gone, was {}",
    ):
        assert line in fault.message


def test_the_wording_of_an_operation_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from world_api.operations import OPERATIONS

    before = signature_of("detect_objects")
    monkeypatch.setitem(OPERATIONS, "detect_objects", replace(OPERATIONS["detect_objects"], description="other words"))

    assert signature_of("detect_objects") == before


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda folder: (folder / "manifest.json").write_text("{"), "bad_library"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "bad_library"),
        (lambda folder: (folder / "manifest.json").unlink(), "unreadable_library"),
        (lambda folder: (folder / "library.json").unlink(), "unreadable_library"),
        (lambda folder: (folder / "library.json").write_bytes(b"\xff"), "bad_library"),
        (lambda folder: edit(folder / "manifest.json", schema_version=99), "other_schema_version"),
        (lambda folder: edit(folder / "manifest.json", content_hash=None), "bad_library"),
        (lambda folder: edit(folder / "manifest.json", operations=[]), "bad_library"),
        (lambda folder: edit(folder / "manifest.json", manifest_hash=None), "bad_library"),
        (lambda folder: edit(folder / "manifest.json", origin="induced"), "library_changed"),
        (lambda folder: edit(folder / "manifest.json", operations={}), "library_changed"),
        (lambda folder: edit(folder / "manifest.json", model="other"), "library_changed"),
        (lambda folder: seal(folder, operations={}), "bad_library"),
        (lambda folder: (folder / "library.json").write_text('{"tools": [NaN]}'), "bad_library"),
        (lambda folder: (folder / "library.json").write_text('{"tools": ["\\ud800"]}'), "bad_library"),
        (lambda folder: (folder / "library.json").write_text('{"tools": [], "tools": []}'), "bad_library"),
        (lambda folder: replace_tools(folder, []), "bad_library"),
        (lambda folder: replace_tools(folder, {"tools": 1}), "bad_library"),
        (lambda folder: replace_tools(folder, {"tools": [], "more": 1}), "bad_library"),
        (lambda folder: replace_tools(folder, {"tools": []}), "bad_tools"),
        (lambda folder: seal(folder, tools={}), "bad_library"),
    ],
    ids=range(21),
)
def test_a_damaged_library_is_a_named_fault(frozen: Any, spoil: Any, code: str) -> None:
    spoil(frozen)

    assert refused(frozen).code == code


def test_a_frozen_library_is_never_overwritten(frozen: Any, seed_text: str) -> None:
    with pytest.raises(ToolFault) as fault:
        freeze_library(compile_document(seed_text).tools, frozen, name="mine", origin=BY_HAND)
    assert fault.value.code == "library_exists"


@pytest.mark.parametrize("name", ["", "../up", "a/b", "x" * 100])
def test_a_bad_name_is_refused(tmp_path: Path, seed_text: str, name: str) -> None:
    with pytest.raises(ToolFault) as fault:
        freeze_library(compile_document(seed_text).tools, tmp_path / "new", name=name, origin=BY_HAND)
    assert fault.value.code == "bad_library_name"


@pytest.mark.parametrize("named", ["hand_a", "nothing", "../../no-such-library", "", "a\x00b", "a" * 5000])
def test_a_library_that_is_not_there_is_named_with_what_is(named: Any) -> None:
    fault = refused(named)

    assert fault.code == "no_such_library"
    assert "hand_A" in fault.hint


def test_a_file_with_faults_does_not_load(tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text("{}")

    assert refused(file).code == "bad_tools"


def test_a_copy_of_a_library_loads_from_anywhere(frozen: Any, tmp_path: Path) -> None:
    copy = shutil.copytree(frozen, tmp_path / "elsewhere" / "copy")

    assert load_library(copy).hash == load_library(frozen).hash


@pytest.mark.parametrize(
    "details", [{"content_hash": "sha256:0"}, {"name": "x"}, {"manifest_hash": ""}, {"cost": 1e999}]
)
def test_details_that_would_change_what_a_manifest_vouches_for_are_refused(
    tmp_path: Path, seed_text: str, details: Any
) -> None:
    with pytest.raises(ToolFault) as fault:
        freeze_library(
            compile_document(seed_text).tools,
            tmp_path / "new",
            name="new",
            origin=Origin(how="induced", date="2026-01-01", details=details),
        )
    assert fault.value.code == "bad_origin"
    assert not (tmp_path / "new").exists()


def test_a_library_is_frozen_again_against_other_operations(frozen: Any) -> None:
    stored = signatures(frozen)
    stored["detect_objects"]["state"] = "writes"
    seal(frozen, operations=stored)
    assert refused(frozen).code == "other_operations"

    refreeze(frozen)

    assert load_library(frozen).manifest["split"] == "none"

"""Bundles: one file that gives every table again, and is refused when a byte of it is another."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from eval.runs import (
    CONTENTS,
    Contents,
    PackedFile,
    RunFolder,
    contents_of,
    head,
    open_bundle,
    pack,
    read_run,
    score_run,
)
from tests.support.runs import made_run
from world_api.core import EvalFault, json_line, parse_json


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a made run."""
    folder = tmp_path_factory.mktemp("bundled")
    pack(RunFolder(made_run(folder)), folder / "run.vwbundle")
    return folder / "run.vwbundle"


def refused(bundle: Path, out: Path) -> EvalFault:
    with pytest.raises(EvalFault) as caught:
        open_bundle(bundle, out)
    assert not out.exists()
    return caught.value


def test_the_same_run_gives_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    run = next((bundle.parent / "runs").iterdir())
    pack(RunFolder(run), tmp_path / "again.vwbundle")
    assert (tmp_path / "again.vwbundle").read_bytes() == bundle.read_bytes()


def test_an_opened_bundle_is_the_run_and_scores_the_same(bundle: Path, tmp_path: Path) -> None:
    open_bundle(bundle, tmp_path / "run")
    run = next((bundle.parent / "runs").iterdir())
    here, there = read_run(tmp_path / "run"), read_run(run)
    assert (here.samples, here.scores, here.manifest) == (there.samples, there.scores, there.manifest)
    assert [here.episode(sample) for sample in here.samples[:9]] == [
        there.episode(sample) for sample in there.samples[:9]
    ]
    score_run(here.folder)
    assert (tmp_path / "run" / "scores.jsonl").read_bytes() == (run / "scores.jsonl").read_bytes()
    assert not (tmp_path / "run" / "local.json").exists()
    assert {path.name for path in (tmp_path / "run" / "libraries").iterdir()} == {"hand_A", "placebo_hand_A"}


def test_a_bundle_is_read_where_a_run_is(bundle: Path) -> None:
    assert read_run(bundle).samples


def test_no_byte_can_be_changed_unseen(bundle: Path, tmp_path: Path) -> None:
    content = bundle.read_bytes()
    changed = tmp_path / "changed.vwbundle"
    for place in [5, 20, 60, 90, 100, 150, *range(1000, len(content), len(content) // 25), len(content) - 5]:
        changed.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        assert refused(changed, tmp_path / "out").code in {"bundle_damaged", "not_a_bundle", "other_schema_version"}
    for size in (0, 10, 200, len(content) // 2, len(content) - 1):
        changed.write_bytes(content[:size])
        assert refused(changed, tmp_path / "out").code in {"bundle_damaged", "not_a_bundle"}
    changed.write_bytes(content + b"x")
    assert refused(changed, tmp_path / "out").code == "bundle_damaged"


def test_a_changed_part_is_named(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        entry = archive.getinfo("scores.jsonl")
    place = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
    content = bytearray(bundle.read_bytes())
    content[place] ^= 1
    (tmp_path / "changed.vwbundle").write_bytes(content)
    fault = refused(tmp_path / "changed.vwbundle", tmp_path / "out")
    assert (fault.code, "scores.jsonl" in fault.message) == ("bundle_damaged", True)
    with pytest.raises(EvalFault, match=r"scores\.jsonl"):
        contents_of(tmp_path / "changed.vwbundle")


def forged(path: Path, parts: dict[str, bytes], *, told: dict[str, bytes] | None = None) -> Path:
    """A bundle whose hashes are right, made by somebody else."""
    listed = {
        name: PackedFile(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
        for name, data in (told or parts).items()
    }
    with path.open("wb") as file:
        file.write(head("0" * 64))
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(CONTENTS, Contents(run="forged", parts=listed).encoded())
            for name, data in parts.items():
                archive.writestr(name, data)
    return sealed(path)


def sealed(path: Path) -> Path:
    """The file with the hash of what follows its first line in that line."""
    rest = path.read_bytes()[len(head("0" * 64)) :]
    path.write_bytes(head(hashlib.sha256(rest).hexdigest()) + rest)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "../up",
        "/etc/passwd",
        "episodes/../../up",
        "episodes/a/../b",
        "local.json",
        "episodes/\\..\\up",
        "report/x.html",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    fault = refused(forged(tmp_path / "bad.vwbundle", {name: b"x"}), tmp_path / "out")
    assert fault.code == "bundle_refused"


def test_a_few_bytes_that_unpack_to_many_are_refused(tmp_path: Path) -> None:
    bomb = forged(tmp_path / "bomb.vwbundle", {"episodes/a/episodes.jsonl": bytes(90_000_000)})
    assert bomb.stat().st_size < 400_000
    fault = refused(bomb, tmp_path / "out")
    assert (fault.code, "would unpack to 90,000,000" in fault.message) == ("bundle_refused", True)
    lying = forged(tmp_path / "lying.vwbundle", {"items.jsonl": b"x" * 1000}, told={"items.jsonl": b"x" * 10})
    assert refused(lying, tmp_path / "out").code == "bundle_damaged"


def test_parts_that_are_in_no_list_or_not_there_are_refused(tmp_path: Path) -> None:
    more = forged(tmp_path / "more.vwbundle", {"items.jsonl": b"x", "samples.jsonl": b"y"}, told={"items.jsonl": b"x"})
    assert "'samples.jsonl' is in no list" in refused(more, tmp_path / "out").message
    less = forged(tmp_path / "less.vwbundle", {"items.jsonl": b"x"}, told={"items.jsonl": b"x", "samples.jsonl": b"y"})
    assert "'samples.jsonl' is not in the archive" in refused(less, tmp_path / "out").message


def test_nothing_is_written_over(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    for act in (
        lambda: open_bundle(bundle, tmp_path / "mine"),
        lambda: pack(RunFolder(next((bundle.parent / "runs").iterdir())), bundle),
    ):
        with pytest.raises(EvalFault) as caught:
            act()
        assert caught.value.code == "bundle_exists"


def test_a_run_without_scores_is_not_packed(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    (run / "scores.jsonl").unlink()
    with pytest.raises(EvalFault) as caught:
        pack(RunFolder(run), tmp_path / "run.vwbundle")
    assert caught.value.code == "not_scored"
    assert list(tmp_path.glob("*vwbundle*")) == []


Change = Callable[[dict[str, object]], object]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda record: record.update(schema_version=2), "other_schema_version"),
        (lambda record: record.pop("model"), "run_damaged"),
        (lambda record: record.update(cells=[{"id": "x"}]), "run_damaged"),
        (lambda record: record.update(cells=3), "run_damaged"),
    ],
)
def test_a_damaged_manifest_of_a_run_is_named(tmp_path: Path, change: Change, code: str) -> None:
    run = made_run(tmp_path)
    record = parse_json((run / "manifest.json").read_text())
    change(record)
    (run / "manifest.json").write_text(json_line(record))
    with pytest.raises(EvalFault) as caught:
        read_run(run)
    assert caught.value.code == code

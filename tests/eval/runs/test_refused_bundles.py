"""What is refused of bundles that others made, by name and before anything is written; and of runs that are packed."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from eval.runs import CONTENTS, FILES, Contents, PackedFile, RunFolder, bundle, contents_of, head, open_bundle, pack
from tests.support.runs import made_run
from world_api.core import EvalFault, StoreFault, json_line, parse_json

ITEMS = {"items.jsonl": b"x"}


def bundle_of(path: Path, contents: bytes, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    """A bundle with any ``bundle.json`` and entries, whose outer hash is right."""
    blank = head("0" * 64)
    with path.open("wb") as file:
        file.write(blank)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(CONTENTS, contents)
            for entry, data in entries:
                archive.writestr(entry, data)
    rest = path.read_bytes()[len(blank) :]
    path.write_bytes(head(hashlib.sha256(rest).hexdigest()) + rest)
    return path


def told(of: dict[str, bytes], **changed: object) -> bytes:
    """``bundle.json`` of some parts, with keys changed."""
    listed = {name: PackedFile(bytes=len(data), sha256=hashlib.sha256(data).hexdigest()) for name, data in of.items()}
    return json_line({**parse_json(Contents(run="forged", parts=listed).encoded().decode()), **changed}).encode()


def refused(bundle: Path, out: Path) -> EvalFault:
    """The one fault that both ways of reading a bundle name; nothing is left behind."""
    faults = []
    ways: list[Callable[[], object]] = [lambda: open_bundle(bundle, out), lambda: contents_of(bundle)]
    for act in ways:
        with pytest.raises(EvalFault) as caught:
            act()
        faults.append(caught.value)
    assert faults[0].code == faults[1].code
    assert faults[0].hint
    assert [path for path in out.parent.iterdir() if path != bundle] == []
    return faults[0]


def test_a_forged_bundle_with_nothing_wrong_opens(tmp_path: Path) -> None:
    """What the refusals below are held against: one thing is changed in each."""
    good = bundle_of(tmp_path / "good.vwbundle", told(ITEMS), *ITEMS.items())
    assert contents_of(good).parts.keys() == ITEMS.keys()
    open_bundle(good, tmp_path / "out")
    assert (tmp_path / "out" / "items.jsonl").read_bytes() == b"x"


LISTED = b"PK\x01\x02\x14\x03\x14\x00"  #: how a zip archive lists an entry, up to the flag of a password

CASES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "not there": (lambda path: None, "no_such_bundle", "cannot read"),
    "a folder": (lambda path: path.mkdir(), "no_such_bundle", "cannot read"),
    "a pipe": (os.mkfifo, "no_such_bundle", "not a regular file"),
    "empty": (lambda path: path.touch(), "not_a_bundle", "does not begin"),
    "another archive": (lambda path: path.write_bytes(b"PK\x05\x06" + bytes(18)), "not_a_bundle", "does not begin"),
    "a later form": (lambda path: path.write_bytes(head("0" * 64).replace(b" 1 ", b" 2 ")), "other_schema_version", "'2'"),
    "nothing follows": (lambda path: path.write_bytes(head(hashlib.sha256(b"").hexdigest())), "bundle_damaged", "zip"),
    "no list": (
        lambda path: rename(bundle_of(path, told(ITEMS), *ITEMS.items()), CONTENTS.encode(), b"bundle.jsox"),
        "bundle_damaged", f"no {CONTENTS}"),
    "list is no JSON": (lambda path: bundle_of(path, b"{"), "bundle_damaged", "not JSON"),
    "list is no object": (lambda path: bundle_of(path, b"[]"), "other_schema_version", "None"),
    "list of another version": (
        lambda path: bundle_of(path, told(ITEMS, schema_version=2), *ITEMS.items()), "other_schema_version", "'2'"),
    "list without its hash": (lambda path: bundle_of(path, told(ITEMS, hash=None), *ITEMS.items()), "bundle_damaged", "hash"),
    "list with another hash": (lambda path: bundle_of(path, told(ITEMS, hash="0" * 64), *ITEMS.items()), "bundle_damaged", "hash"),
    "list with more keys": (lambda path: bundle_of(path, told(ITEMS, more=1), *ITEMS.items()), "bundle_damaged", "more"),
    "a size below nothing": (
        lambda path: bundle_of(path, told(ITEMS, parts={"items.jsonl": {"bytes": -1, "sha256": "0" * 64}}), *ITEMS.items()),
        "bundle_damaged", "bytes"),
    "more than a disk": (
        lambda path: bundle_of(path, Contents(run="x", parts={
            name: PackedFile(bytes=bundle.MOST_BYTES, sha256="0" * 64) for name in FILES[:2]}).encoded(), *ITEMS.items()),
        "bundle_refused", "more than 64 GiB"),
    "a part twice": (
        lambda path: bundle_of(path, told(ITEMS), ("items.jsonl", b"x"), ("items.jsonl", b"y")), "bundle_refused", "twice"),
    "a list twice": (lambda path: bundle_of(path, told(ITEMS), *ITEMS.items(), (CONTENTS, told({}))), "bundle_refused", "twice"),
    "in no list": (lambda path: bundle_of(path, told({}), *ITEMS.items()), "bundle_damaged", "in no list"),
    "not in the archive": (lambda path: bundle_of(path, told(ITEMS)), "bundle_damaged", "not in the archive"),
    "longer than told": (lambda path: bundle_of(path, told(ITEMS), ("items.jsonl", b"xx")), "bundle_damaged", "items.jsonl"),
    "shorter than told": (lambda path: bundle_of(path, told(ITEMS), ("items.jsonl", b"")), "bundle_damaged", "items.jsonl"),
    "other bytes": (lambda path: bundle_of(path, told(ITEMS), ("items.jsonl", b"y")), "bundle_damaged", "items.jsonl"),
    "a file that is a folder too": (
        lambda path: bundle_of(path, told({"episodes/a": b"x", "episodes/a/b": b"y"}), ("episodes/a", b"x"), ("episodes/a/b", b"y")),
        "bundle_refused", "within another part"),
    "a large list that packs to nothing": (
        lambda path: bundle_of(path, told(ITEMS)[:-1] + b" " * 4_000_000 + b"}", *ITEMS.items()), "bundle_refused", "too large"),
    "packed with a password": (
        lambda path: rename(bundle_of(path, told(ITEMS), *ITEMS.items()), LISTED + b"\x00", LISTED + b"\x01"),
        "bundle_damaged", "password"),
}  # fmt: skip


def rename(bundle: Path, old: bytes, new: bytes) -> Path:
    """The bundle with some bytes after its first line exchanged, and the hash in that line made anew."""
    rest = bundle.read_bytes().partition(b"\n")[2]
    assert old in rest
    rest = rest.replace(old, new)
    bundle.write_bytes(head(hashlib.sha256(rest).hexdigest()) + rest)
    return bundle


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("case", CASES)
def test_a_bundle_that_is_none_is_refused_by_name(tmp_path: Path, case: str) -> None:
    make, code, words = CASES[case]
    make(tmp_path / "bad.vwbundle")
    fault = refused(tmp_path / "bad.vwbundle", tmp_path / "out")
    assert (fault.code, words in fault.message) == (code, True), fault.message


def test_a_link_in_an_archive_becomes_a_file_with_its_words(tmp_path: Path) -> None:
    """An archive may mark an entry as a link; what lands is a file that holds the path, so nothing is followed."""
    entry = zipfile.ZipInfo("episodes/a/link")
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    parts = {"episodes/a/link": b"/etc/passwd"}
    bundle = bundle_of(tmp_path / "link.vwbundle", told(parts), (entry, b"/etc/passwd"))
    open_bundle(bundle, tmp_path / "out")
    landed = tmp_path / "out" / "episodes" / "a" / "link"
    assert not landed.is_symlink() and landed.read_bytes() == b"/etc/passwd"


def test_a_disk_that_cannot_hold_it_is_named_before_anything_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = bundle_of(tmp_path / "good.vwbundle", told(ITEMS), *ITEMS.items())
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=0))
    with pytest.raises(StoreFault) as caught:
        open_bundle(good, tmp_path / "out")
    assert caught.value.code == "disk_full"
    assert list(tmp_path.iterdir()) == [good]


@pytest.mark.parametrize(
    "place",
    ["labels.json", "scores.jsonl", "report", "report/frames", "report/frames/x.jpg", "libraries/hand_A", "episodes"],
)
def test_a_run_with_a_link_in_it_is_not_packed(tmp_path: Path, place: str) -> None:
    run = made_run(tmp_path / "made")
    (run / "report" / "frames").mkdir(parents=True)
    there, elsewhere = run / place, tmp_path / "elsewhere"
    if there.exists():
        shutil.move(there, elsewhere)
    else:
        elsewhere.write_text("of somebody else")
    there.symlink_to(elsewhere)
    with pytest.raises(EvalFault) as caught:
        pack(RunFolder(run), tmp_path / "run.vwbundle")
    assert (caught.value.code, caught.value.message) == ("bundle_refused", f"{place} is a link")
    assert not list(tmp_path.glob("*vwbundle*"))


def test_hidden_files_and_folders_stay_where_they_are(tmp_path: Path) -> None:
    run = made_run(tmp_path / "made")
    for place in ("libraries/.git/config", "libraries/hand_A/.DS_Store", "episodes/.cache/x y"):
        (run / place).parent.mkdir(parents=True, exist_ok=True)
        (run / place).write_text("x")
    contents = pack(RunFolder(run), tmp_path / "run.vwbundle")
    assert not [path for path in contents.parts if "/." in path]
    assert contents_of(tmp_path / "run.vwbundle") == contents


def test_what_would_not_be_opened_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run(tmp_path / "made")
    monkeypatch.setattr(bundle, "MOST_TIMES", 1)
    monkeypatch.setattr(bundle, "SLACK", 0)
    with pytest.raises(EvalFault, match="would unpack"):
        pack(RunFolder(run), tmp_path / "run.vwbundle")
    assert not list(tmp_path.glob("*vwbundle*"))

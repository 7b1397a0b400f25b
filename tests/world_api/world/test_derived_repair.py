"""What is kept beside a world is repaired, compared and never a reason to fail."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest
from typer.testing import CliRunner

from tests.support.building import Listener
from videoworld.command import app
from world_api import SystemClock
from world_api.api import build_world, open_session, reindex, text_embedder
from world_api.core import StoreFault
from world_api.operations import run
from world_api.search import embedder_key, prepare
from world_api.world import World, check_world, derived_folder, derived_key, store as store_module

SPEECH = "rows.speech"
ROOT = Path(__file__).resolve().parents[3]
PROCESSES = 3
ROUNDS = 6


def kept(world: World) -> Path:
    return derived_folder(world.folder.parent, world.manifest)


def read(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.BufferReader(path.read_bytes())).read_all()


def replace(world: World, name: str, table: pa.Table) -> None:
    """A well-formed table in the place of a kept one, with the index made to vouch for it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    (kept(world) / f"{name}.arrow").write_bytes(data)
    index = json.loads((kept(world) / "index.json").read_bytes())
    index["tables"][name] = hashlib.sha256(data).hexdigest()
    (kept(world) / "index.json").write_text(json.dumps(index))


def known_at_once(world: World) -> pa.Table:
    """The lines of the world with a time of being known at which they were not."""
    rows = read(kept(world) / f"{SPEECH}.arrow")
    place = rows.schema.get_field_index("known_at")
    return rows.set_column(place, rows.schema.field(place), pa.array(np.zeros(rows.num_rows)))


def prepared(make_world: Any) -> World:
    world: World = make_world()
    prepare(make_world.store, "made", text_embedder())
    return world


def lines(store: Path, as_of: float | None = None) -> list[str]:
    return [line.text for line in open_session(store, "made", as_of=as_of, name=None).view.speech]


def test_checking_tells_rows_that_are_not_the_worlds_though_the_index_vouches_for_them(make_world: Any) -> None:
    world = prepared(make_world)
    assert check_world(world) == []
    replace(world, SPEECH, known_at_once(world))
    (told,) = check_world(world)
    assert SPEECH in told
    ran = CliRunner().invoke(app, ["inspect", "made", "--check", "--store", str(make_world.store)])
    assert isinstance(ran.exception, StoreFault)
    assert "reindex" in str(ran.exception.hint)


def test_checking_tells_a_kept_file_that_has_changed(make_world: Any) -> None:
    world = prepared(make_world)
    (kept(world) / f"{SPEECH}.arrow").write_bytes(b"no table")
    (told,) = check_world(world)
    assert SPEECH in told


def test_reindex_makes_again_what_is_there(make_world: Any) -> None:
    world = prepared(make_world)
    replace(world, SPEECH, known_at_once(world))
    assert len(lines(make_world.store, 23.0)) == 1
    reindex(make_world.store)
    assert lines(make_world.store, 23.0) == []
    assert check_world(world) == []


def test_a_kept_table_with_other_columns_is_made_again(make_world: Any) -> None:
    world: World = make_world()
    before = lines(make_world.store)
    prepare(make_world.store, "made", text_embedder())
    for path in kept(world).glob("*.arrow"):
        replace(world, path.stem, pa.table({"something": [1, 2]}))
    assert lines(make_world.store) == before
    session = open_session(make_world.store, "made", name=None)
    assert run(session, "search_segments_by_text", {"video_id": "made", "query": "folder", "top_k": 1})["candidates"]


def test_kept_rows_are_as_many_as_the_manifest_tells(make_world: Any) -> None:
    world = prepared(make_world)
    replace(world, SPEECH, read(kept(world) / f"{SPEECH}.arrow").slice(0, 1))
    assert len(lines(make_world.store)) == 2


def test_an_index_of_other_rows_vouches_for_nothing(make_world: Any) -> None:
    world = prepared(make_world)
    replace(world, SPEECH, known_at_once(world))
    index = json.loads((kept(world) / "index.json").read_bytes())
    (kept(world) / "index.json").write_text(json.dumps({**index, "key": "another"}))
    assert lines(make_world.store, 23.0) == []


def test_what_is_there_and_sound_is_not_made_again(make_world: Any) -> None:
    world = prepared(make_world)
    before = {path.name: path.stat().st_ino for path in kept(world).glob("*.arrow")}
    prepare(make_world.store, "made", text_embedder())
    assert {path.name: path.stat().st_ino for path in kept(world).glob("*.arrow")} == before


def test_what_was_left_half_written_goes(make_world: Any) -> None:
    world = prepared(make_world)
    (kept(world) / ".rows.speech.arrow.1234.part").write_bytes(b"half")
    prepare(make_world.store, "made", text_embedder())
    assert not list(kept(world).glob(".*.part"))


#: Prepares once for every line it is sent, and says when it has.
PREPARING = """
import sys
from pathlib import Path
from world_api.api import text_embedder
from world_api.search.searcher import prepare
print("ready", flush=True)
for line in sys.stdin:
    prepare(Path(sys.argv[1]), "made", text_embedder(), rebuild=True)
    print("done", flush=True)
"""


def test_processes_that_prepare_one_world_at_once_leave_it_sound(make_world: Any) -> None:
    world = prepared(make_world)
    command = [sys.executable, "-c", PREPARING, str(make_world.store)]
    processes = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    said = [[process.stdout.readline() for process in processes if process.stdout]]
    for _ in range(ROUNDS):
        for process in processes:
            if process.stdin and process.poll() is None:
                process.stdin.write("go\n")
                process.stdin.flush()
        said.append([process.stdout.readline() for process in processes if process.stdout])
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * PROCESSES
    assert said == [["ready\n"] * PROCESSES, *([["done\n"] * PROCESSES] * ROUNDS)]
    index = json.loads((kept(world) / "index.json").read_bytes())["tables"]
    on_disk = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in kept(world).glob("*.arrow")}
    assert on_disk == index
    assert not list(kept(world).glob(".*.part"))


def film(path: Path) -> Path:
    from fractions import Fraction

    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=5)
        stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
        for number in range(15):
            frame = av.VideoFrame.from_ndarray(np.full((90, 160, 3), 90, np.uint8), format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, 5)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.mark.media
def test_a_build_is_done_though_nothing_can_be_kept_beside_it(tmp_path: Path) -> None:
    store, progress = tmp_path / "worlds", Listener()
    store.mkdir()
    (store / ".derived").write_text("a file where the folder should be")
    report = build_world(film(tmp_path / "film.mp4"), store, progress=progress, clock=SystemClock())
    assert any("beside the world" in text for text in progress.said)
    session = open_session(store, report.video_id, name=None)
    assert run(session, "list_scenes", {"video_id": report.video_id})["scenes"]
    with pytest.raises(StoreFault):
        reindex(store)


def test_the_key_covers_the_libraries_that_shape_what_is_kept(make_world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world: World = make_world()
    before = derived_key(world.manifest)
    monkeypatch.setattr(store_module, "version", lambda name: "0.0" if name == "snowballstemmer" else "1.0")
    assert derived_key(world.manifest) != before


def embedder_of(source: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An embedder whose module has that source."""
    path.write_text(source)
    monkeypatch.syspath_prepend(str(path.parent))
    return import_module(path.stem).Own()


def test_vectors_are_kept_apart_by_the_module_that_makes_them(
    make_world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from world_api.perception.classical import HashedTextEmbedder\nclass Own(HashedTextEmbedder):\n    {}\n"
    first = embedder_of(text.format("weight = 1"), tmp_path / "own_one.py", monkeypatch)
    other = embedder_of(text.format("weight = 2"), tmp_path / "own_two.py", monkeypatch)
    assert first.producer == other.producer
    assert embedder_key(first) != embedder_key(other)
    world: World = make_world()
    prepare(make_world.store, "made", first)
    assert [path.name for path in kept(world).glob("vectors.*")] == [f"vectors.{embedder_key(first)}.arrow"]
    prepare(make_world.store, "made", other)
    assert [path.name for path in kept(world).glob("vectors.*")] == [f"vectors.{embedder_key(other)}.arrow"]

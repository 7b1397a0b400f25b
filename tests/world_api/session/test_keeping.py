"""What was seen is kept outside the world, once, under the name of all it depends on, and believed only as it was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.vision_server import VisionServer
from tests.world_api.session.conftest import kept_files, seeing_of
from world_api.core import Box, MediaFault, TimeSpan, content_hash, ledger
from world_api.session import LookSpot, Session, VisionConfig

pytestmark = pytest.mark.media
Open = Callable[..., Session]


def test_a_second_session_sends_nothing_and_pays_only_logically(open_film: Open, vision_server: VisionServer) -> None:
    span = TimeSpan(start=1.0, end=5.0)
    with ledger() as first:
        one = seeing_of(open_film()).caption(span, until=60.0)
    with ledger() as second:
        two = seeing_of(open_film()).caption(span, until=60.0)
    assert one == two
    assert len(vision_server.requests) == 1
    [asked], [kept] = first.items, second.items
    assert (asked.physical, kept.physical) == (True, False)
    assert replace(asked, physical=False) == kept
    assert asked.prompt > 0


def test_a_look_is_known_by_all_it_depends_on(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    span = TimeSpan(start=1.0, end=5.0)
    plain = seeing_of(open_film())
    looks = [
        lambda: plain.caption(span, until=60.0),
        lambda: plain.caption(TimeSpan(start=1.0, end=5.5), until=60.0),
        lambda: plain.answer(span, "who?", until=60.0),
        lambda: plain.answer(span, "when?", until=60.0),
        lambda: plain.actions(span, until=60.0),
        lambda: plain.state([LookSpot(time=2.0, box=None)], "who?", subject="a", until=60.0),
        lambda: plain.state([LookSpot(time=2.0, box=None)], "who?", subject="b", until=60.0),
        lambda: plain.state([LookSpot(time=2.0, box=Box(x1=0, y1=0, x2=50, y2=50))], "who?", subject="b", until=60.0),
        lambda: seeing_of(open_film(eyes=make_eyes(model="eye-2"))).caption(span, until=60.0),
        lambda: seeing_of(open_film(eyes=make_eyes(frames=3))).caption(span, until=60.0),
    ]
    names = [look().request for look in looks]
    assert len(set(names)) == len(looks) == len(vision_server.requests)
    assert [look().request for look in looks] == names
    assert len(vision_server.requests) == len(looks)


def test_the_world_does_not_change_by_being_looked_at(open_film: Open, film_store: Path) -> None:
    before = {path: path.read_bytes() for path in (film_store / "film").rglob("*") if path.is_file()}
    session = open_film()
    seeing_of(session).caption(TimeSpan(start=1.0, end=5.0), until=60.0)
    after = {path: path.read_bytes() for path in (film_store / "film").rglob("*") if path.is_file()}
    assert after == before
    assert open_film().world_hash == session.world_hash


def resealed(record: dict[str, Any]) -> bytes:
    """A look with a digest that fits it."""
    del record["digest"]
    return json.dumps({**record, "digest": content_hash(record)}).encode()


DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: data[: len(data) // 2],
    lambda data: b"\xff" + data,
    lambda data: b"[]",
    lambda data: data.replace(b'"schema_version":3', b'"schema_version":2'),
    lambda data: data.replace(b'"prompt":', b'"prompt":-'),
    lambda data: json.dumps({**json.loads(data), "request": "0" * 32}).encode(),
    lambda data: json.dumps({**json.loads(data), "frame_times": []}).encode(),
    lambda data: json.dumps({**json.loads(data), "confidence": 7}).encode(),
    lambda data: json.dumps({**json.loads(data), "end": -5.0}).encode(),
    lambda data: json.dumps({**json.loads(data), "frame_times": [999.0]}).encode(),
    lambda data: json.dumps({**json.loads(data), "text": "x" * 5_000_000}).encode(),
    lambda data: json.dumps({**json.loads(data), "text": "a giraffe"}).encode(),
    lambda data: data.replace(b'"prompt":', b'"prompt":1'),
    lambda data: data.replace(b'"text":"', b'"text":"\\ud800'),
    lambda data: resealed({**json.loads(data), "text": "x" * 20_001}),
    lambda data: resealed({**json.loads(data), "asked": {**json.loads(data)["asked"], "question": "who?"}}),
    lambda data: resealed({**json.loads(data), "producer": "somebody"}),
]


def test_a_damaged_entry_is_asked_again(open_film: Open, vision_server: VisionServer, film_store: Path) -> None:
    span = TimeSpan(start=1.0, end=5.0)
    one = seeing_of(open_film()).caption(span, until=60.0)
    [place] = kept_files(film_store)
    whole = place.read_bytes()
    assert json.loads(resealed(json.loads(whole))) == json.loads(whole)
    for number, damage in enumerate(DAMAGES):
        place.write_bytes(damage(whole))
        session = open_film()
        assert session.captions.passages == (), number
        assert seeing_of(session).caption(span, until=60.0) == one, number
        assert len(vision_server.requests) == number + 2
        assert place.read_bytes() == whole, number
    assert seeing_of(open_film()).caption(span, until=60.0) == one
    assert len(vision_server.requests) == len(DAMAGES) + 1


def test_a_look_at_another_video_is_never_told(open_film: Open, vision_server: VisionServer, film_store: Path) -> None:
    span = TimeSpan(start=1.0, end=5.0)
    one = seeing_of(open_film()).caption(span, until=60.0)
    place = film_store / "film" / "world.json"
    manifest = json.loads(place.read_bytes())
    manifest["source"]["sha256"] = "0" * 64  # a film of which the stages that ran say the same
    place.write_text(json.dumps(manifest))
    other = open_film()
    assert other.world_hash == manifest["world_hash"]
    assert seeing_of(other).caption(span, until=60.0).request != one.request
    assert len(vision_server.requests) == 2


def test_what_was_kept_is_told_when_the_video_is_gone(
    open_film: Open, film_store: Path, vision_server: VisionServer
) -> None:
    span = TimeSpan(start=1.0, end=5.0)
    one = seeing_of(open_film()).caption(span, until=60.0)
    (film_store / "film" / "local.json").write_text('{"source_path": "nowhere.mp4"}')
    again = seeing_of(open_film())
    assert again.caption(span, until=60.0) == one
    with pytest.raises(MediaFault) as caught:
        again.caption(TimeSpan(start=2.0, end=5.0), until=60.0)
    assert caught.value.code == "source_missing"
    assert len(vision_server.requests) == 1


def test_a_folder_that_is_a_file_keeps_looks_in_memory(
    open_film: Open, film_store: Path, vision_server: VisionServer
) -> None:
    (film_store / ".on-demand").write_text("in the way")
    seeing, span = seeing_of(open_film()), TimeSpan(start=1.0, end=5.0)
    assert seeing.caption(span, until=60.0) == seeing.caption(span, until=60.0)
    assert len(vision_server.requests) == 1

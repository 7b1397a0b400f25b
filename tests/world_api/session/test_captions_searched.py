"""Which captions are searched: those of a captioning run, the same for all sessions that come after it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.vision_server import VisionServer
from tests.world_api.session.conftest import kept_files
from world_api.api import open_session
from world_api.core import BackendFault, ledger
from world_api.operations import run
from world_api.session import Session, VisionConfig, commit_session, make_looks

pytestmark = pytest.mark.media
Open = Callable[..., Session]


def ask(session: Session, operation: str, **arguments: Any) -> dict[str, Any]:
    return run(session, operation, {"video_id": session.video_id, **arguments})


def caption_all(session: Session, eyes: VisionConfig) -> None:
    assert session.backends.seeing is not None
    make_looks(session.view, session.backends.seeing, eyes, progress=lambda done, total: None)


def test_captions_are_found_by_their_words_once_they_exist(
    open_film: Open, make_eyes: Callable[..., VisionConfig]
) -> None:
    eyes = make_eyes()
    session = open_film(eyes=eyes)
    assert ask(session, "search_segments_by_text", query="yellow", top_k=5)["candidates"] == []
    caption_all(session, eyes)
    hits = ask(open_film(eyes=eyes), "search_segments_by_text", query="yellow", top_k=5)["candidates"]
    assert hits
    assert all(hit["source"] == "caption" and "yellow" in hit["snippet"] for hit in hits)
    assert all(hit["end_time"] > 30.0 and hit["start_time"] < 40.0 for hit in hits)
    # A session that was open before searches what it knew then, so its answers do not depend on what else is done.
    assert ask(session, "search_segments_by_text", query="yellow", top_k=5)["candidates"] == []


def test_a_caption_is_searched_only_by_sessions_that_can_have_seen_all_of_it(
    open_film: Open, make_eyes: Callable[..., VisionConfig]
) -> None:
    eyes = make_eyes()
    caption_all(open_film(eyes=eyes), eyes)
    segments = list(open_film(eyes=eyes).view.segments)
    assert len(segments) > 3
    for segment in segments:
        early, late = (open_film(eyes=eyes, as_of=cut).captions for cut in (segment.end - 0.1, segment.end))
        assert max((passage.span.end for passage in early.passages), default=0.0) <= segment.start
        assert max(passage.span.end for passage in late.passages) == segment.end
    first = next(segment for segment in segments if segment.start >= 30.0)
    query = {"query": "yellow", "top_k": 5}
    assert ask(open_film(eyes=eyes, as_of=first.end - 0.1), "search_segments_by_text", **query)["candidates"] == []
    assert ask(open_film(eyes=eyes, as_of=first.end), "search_segments_by_text", **query)["candidates"] != []


def test_what_one_session_looks_at_changes_no_search_of_another(
    open_film: Open, make_eyes: Callable[..., VisionConfig]
) -> None:
    eyes = make_eyes(embeds=True)

    def searches() -> list[Any]:
        session = open_film(eyes=eyes)
        found = [ask(session, name, query="yellow", top_k=5) for name in SEARCHES]
        return [*found, ask(session, "list_scenes"), session.perception, session.memo_key]

    def look_around() -> None:
        for as_of in (None, 35.0):
            session = open_film(eyes=eyes, as_of=as_of)
            ask(session, "describe_segment", start_time=31.0, end_time=39.0)
            ask(session, "describe_segment", start_time=1.0, end_time=5.0)

    untouched = searches()
    look_around()
    assert searches() == untouched
    caption_all(open_film(eyes=eyes), eyes)
    captioned = searches()
    assert captioned != untouched
    ask(open_film(eyes=eyes), "describe_segment", start_time=32.0, end_time=37.0)
    caption_all(open_film(eyes=eyes, as_of=36.0), eyes)  # cuts the segment at 36 s in two
    assert searches() == captioned


def test_a_commit_takes_no_caption_away(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer, film_store: Any
) -> None:
    eyes = make_eyes()
    caption_all(open_film(eyes=eyes), eyes)
    before, sent = open_film(eyes=eyes), len(vision_server.requests)
    writing = open_session(film_store, "film", name="notes", seeing=eyes)
    ask(writing, "write_memory", level="event", time_range={"start_time": 1.0, "end_time": 5.0}, content="red")
    commit_session(film_store, "film", "notes")
    after = open_film(eyes=eyes)
    assert after.world_hash != before.world_hash
    assert after.perception == before.perception
    ask(after, "describe_segment", start_time=before.view.segments[0].start, end_time=before.view.segments[0].end)
    assert len(vision_server.requests) == sent


SEARCHES = ("search_segments_by_text", "search_segments_by_semantics")


def test_a_run_that_breaks_off_changes_no_search_and_its_end_does(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(at_once=1)
    vision_server.refuse = lambda body: (401, "no more") if len(vision_server.requests) > 3 else None
    with pytest.raises(BackendFault):
        caption_all(open_film(eyes=eyes), eyes)
    broken = open_film(eyes=eyes)
    assert (broken.captions.passages, broken.perception) == ((), open_film(eyes=eyes).perception)
    vision_server.refuse = lambda body: None
    caption_all(broken, eyes)
    whole = open_film(eyes=eyes)
    assert [passage.span for passage in whole.captions.passages] == list(whole.view.segments)
    assert whole.perception is not None
    assert whole.perception["caption_set"] and whole.perception["captions"]


def test_a_caption_that_is_not_the_one_that_was_listed_is_not_searched(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer, film_store: Any
) -> None:
    eyes = make_eyes()
    caption_all(open_film(eyes=eyes), eyes)
    before = open_film(eyes=eyes)
    vision_server.say = lambda body, pictures: {"caption": "A giraffe.", "uncertain": ""}
    first = before.view.segments[0]
    for path in kept_files(film_store):
        if json.loads(path.read_bytes())["start"] == first.start:
            path.unlink()
    ask(open_film(eyes=eyes), "describe_segment", start_time=first.start, end_time=first.end)
    after = open_film(eyes=eyes)
    assert after.captions.passages == before.captions.passages[1:]
    assert after.perception != before.perception
    caption_all(after, eyes)
    assert open_film(eyes=eyes).captions.passages[0].text == "A giraffe."


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"schema_version":1,"hash":"x","captions":[]}'])
def test_a_damaged_list_of_captions_is_none_and_is_made_again_without_asking(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer, film_store: Any, damage: bytes
) -> None:
    eyes = make_eyes()
    caption_all(open_film(eyes=eyes), eyes)
    before, sent = open_film(eyes=eyes), len(vision_server.requests)
    [place] = (film_store / ".on-demand").rglob("set.json")
    place.write_bytes(damage)
    assert open_film(eyes=eyes).captions.passages == ()
    caption_all(open_film(eyes=eyes), eyes)
    assert open_film(eyes=eyes).perception == before.perception
    assert len(vision_server.requests) == sent


def test_captions_of_another_model_are_not_searched(open_film: Open, make_eyes: Callable[..., VisionConfig]) -> None:
    eyes = make_eyes()
    caption_all(open_film(eyes=eyes), eyes)
    other = open_film(eyes=make_eyes(model="eye-2"))
    assert ask(other, "search_segments_by_text", query="yellow", top_k=5)["candidates"] == []


def test_what_is_remembered_is_known_by_the_captions_that_were_searched(
    open_film: Open, make_eyes: Callable[..., VisionConfig]
) -> None:
    eyes = make_eyes()
    before, plain = open_film(eyes=eyes), before_key(open_film(eyes=make_eyes(model="eye-2")))
    key = before.memo_key
    caption_all(before, eyes)
    assert before.memo_key == key
    assert len({key, plain, open_film(eyes=eyes).memo_key}) == 3


def before_key(session: Session) -> str:
    return session.memo_key


def test_meaning_is_searched_with_the_endpoints_vectors(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(embeds=True)
    caption_all(open_film(eyes=eyes), eyes)
    session = open_film(eyes=eyes)
    query = {"query": "crimson", "top_k": 2}  # no caption has that word; the vectors know what it means
    assert ask(open_film(eyes=make_eyes()), "search_segments_by_semantics", **query)["candidates"] == []
    hits = ask(session, "search_segments_by_semantics", **query)["candidates"]
    assert hits[0]["start_time"] < 10.0
    assert "is red" in hits[0]["snippet"]
    within = {"start_time": 30.0, "end_time": 60.0}
    confined = ask(session, "search_segments_by_semantics", **query, time_range=within)["candidates"]
    assert all(hit["center_time"] >= 30.0 for hit in confined)


def test_vectors_are_made_once_and_a_query_is_charged_logically_each_time(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(embeds=True)
    caption_all(open_film(eyes=eyes), eyes)
    books = []
    for _ in range(2):
        with ledger() as book:
            ask(open_film(eyes=eyes), "search_segments_by_semantics", query="crimson", top_k=2)
        books.append(book.items)
    assert [item.physical for item in books[1]] == [False]
    assert {item.request for item in books[1]} <= {item.request for item in books[0]}
    assert len(vision_server.embedded) == 2  # the captions, the query


def scaled(data: bytes) -> bytes:
    record = json.loads(data)
    vector = np.frombuffer(base64.b64decode(record["vector"]), dtype="<f4") * np.float32(1e30)
    return json.dumps({**record, "vector": base64.b64encode(vector.tobytes()).decode()}).encode()


VECTOR_DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: b"{}",
    lambda data: b'{"schema_version":2,"text":"x","tokens":1,"estimated":false,"vector":"!"}',
    scaled,
    lambda data: json.dumps({**json.loads(data), "tokens": 10**9}).encode(),
]


@pytest.mark.parametrize("damage", VECTOR_DAMAGES)
def test_a_damaged_vector_is_asked_again(
    open_film: Open,
    make_eyes: Callable[..., VisionConfig],
    vision_server: VisionServer,
    film_store: Any,
    damage: Callable[[bytes], bytes],
) -> None:
    eyes = make_eyes(embeds=True)
    caption_all(open_film(eyes=eyes), eyes)
    first = ask(open_film(eyes=eyes), "search_segments_by_semantics", query="crimson", top_k=2)
    for path in (film_store / ".on-demand" / "meanings").rglob("*.json"):
        path.write_bytes(damage(path.read_bytes()))
    sent = len(vision_server.embedded)
    assert ask(open_film(eyes=eyes), "search_segments_by_semantics", query="crimson", top_k=2) == first
    assert len(vision_server.embedded) == sent + 2


def test_what_looks_alike_is_also_found_by_what_captions_say(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(embeds=True)
    caption_all(open_film(eyes=eyes), eyes)
    sent = len(vision_server.requests)
    example = {"start_time": 1.0, "end_time": 4.0}
    found = ask(open_film(eyes=eyes), "search_similar_to_example", example_segment=example, top_k=3)
    assert found["similar_segments"]
    assert all(hit["start_time"] >= 4.0 for hit in found["similar_segments"])
    assert found["similar_segments"][0]["snippet"]
    assert len(vision_server.requests) == sent

"""Having a model look: the right frames, none from the future, once each, kept outside the world."""

from __future__ import annotations

import contextvars
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.numbered_film import RATE
from tests.support.vision_server import VisionServer
from tests.world_api.seeing.conftest import kept_files, numbers_sent
from world_api.core.ambient.spending import ledger
from world_api.core.boxes import Box
from world_api.core.faults import BackendFault, MediaFault, OperationFault
from world_api.core.spans import TimeSpan
from world_api.world.sessions.eyes import Eyes, FrameChoice
from world_api.world.sessions.seeing import Seeing, Spot
from world_api.world.sessions.session import Session

pytestmark = pytest.mark.media
Open = Callable[..., Session]


def seeing_of(session: Session) -> Seeing:
    assert session.backends.seeing is not None
    return session.backends.seeing


def test_the_frames_of_the_stretch_are_sent_and_no_others(open_film: Open, vision_server: VisionServer) -> None:
    sight = seeing_of(open_film()).caption(TimeSpan(start=12.0, end=18.0), until=60.0)
    assert sight.frame_times == (12.5, 13.5, 14.5, 15.5, 16.5, 17.5)
    assert numbers_sent(vision_server) == [[125, 135, 145, 155, 165, 175]]
    assert sight.text == "; ".join(f"frame {number} is green" for number in (125, 135, 145, 155, 165, 175))
    assert sight.confidence is None or sight.confidence == 0.5


@pytest.mark.parametrize("as_of", [10.0, 23.45, 30.001])
@pytest.mark.parametrize("span", [(0.0, 60.0), (8.0, 12.0), (9.9, 60.0)])
def test_no_frame_after_the_cut_is_ever_sent(
    open_film: Open, vision_server: VisionServer, as_of: float, span: tuple[float, float]
) -> None:
    session = open_film(as_of=as_of)
    seeing, stretch = seeing_of(session), TimeSpan(start=span[0], end=span[1])
    seeing.caption(stretch, until=session.view.duration)
    seeing.answer(stretch, "what?", until=session.view.duration)
    seeing.actions(stretch, until=session.view.duration)
    spots = [Spot(time=time, box=None) for time in (span[0], as_of, as_of + 0.1, as_of + 20.0)]
    seeing.state(spots, "what?", subject="it", until=session.view.duration)
    sent = [number for numbers in numbers_sent(vision_server) for number in numbers]
    assert len(sent) >= 5
    assert max(sent) / RATE <= as_of
    assert max(time for body in vision_server.requests for time in _times(body)) < as_of


def _times(body: dict[str, Any]) -> list[float]:
    from tests.support.vision_server import frame_times_of

    return frame_times_of(body)


def test_a_stretch_behind_the_cut_is_not_seen_yet(open_film: Open, vision_server: VisionServer) -> None:
    with pytest.raises(OperationFault, match="not been seen yet"):
        seeing_of(open_film(as_of=10.0)).caption(TimeSpan(start=10.0, end=12.0), until=10.0)
    assert vision_server.requests == []


@given(
    start=st.floats(0, 1e5), length=st.floats(0, 1e5), seen=st.floats(0.001, 1e5), most=st.integers(1, 64),
    spacing=st.floats(0.01, 100),
)  # fmt: skip
def test_frames_are_chosen_inside_what_is_seen(
    start: float, length: float, seen: float, most: int, spacing: float
) -> None:
    span, until = TimeSpan(start=start, end=start + length), start + seen
    times = FrameChoice(most=most, spacing=spacing).times(span, until)
    assert 1 <= len(times) <= most
    assert list(times) == sorted(set(times))
    assert all(time < until for time in times)
    assert all(start - 0.002 <= time <= span.end + 0.001 for time in times)


def test_a_part_of_a_frame_is_cut_out_with_a_margin(open_film: Open, vision_server: VisionServer) -> None:
    from tests.support.vision_server import pictures_of

    box = Box(x1=100.0, y1=80.0, x2=200.0, y2=140.0)
    sight = seeing_of(open_film()).state(
        [Spot(time=35.0, box=box)], "what colour?", subject="a box", until=60.0
    )  # fmt: skip
    [body] = vision_server.requests
    [picture] = pictures_of(body)
    height, width = picture.shape[:2]
    assert 1.4 < width / height < 1.9  # 100 x 60 with a margin, enlarged
    assert picture[height // 2, width // 2].tolist() == pytest.approx([60, 200, 220], abs=25)
    assert sight.frame_times == (35.0,)


# Kept.


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
    open_film: Open, make_eyes: Callable[..., Eyes], vision_server: VisionServer
) -> None:
    span = TimeSpan(start=1.0, end=5.0)
    plain = seeing_of(open_film())
    looks = [
        lambda: plain.caption(span, until=60.0),
        lambda: plain.caption(TimeSpan(start=1.0, end=5.5), until=60.0),
        lambda: plain.answer(span, "who?", until=60.0),
        lambda: plain.answer(span, "when?", until=60.0),
        lambda: plain.actions(span, until=60.0),
        lambda: plain.state([Spot(time=2.0, box=None)], "who?", subject="a", until=60.0),
        lambda: plain.state([Spot(time=2.0, box=None)], "who?", subject="b", until=60.0),
        lambda: plain.state([Spot(time=2.0, box=Box(x1=0, y1=0, x2=50, y2=50))], "who?", subject="b", until=60.0),
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


DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: data[: len(data) // 2],
    lambda data: b"\xff" + data,
    lambda data: b"[]",
    lambda data: data.replace(b'"schema_version":1', b'"schema_version":2'),
    lambda data: data.replace(b'"prompt":', b'"prompt":-'),
    lambda data: json.dumps({**json.loads(data), "request": "0" * 32}).encode(),
    lambda data: json.dumps({**json.loads(data), "frame_times": []}).encode(),
    lambda data: json.dumps({**json.loads(data), "confidence": 7}).encode(),
    lambda data: json.dumps({**json.loads(data), "end": -5.0}).encode(),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_asked_again(
    open_film: Open, vision_server: VisionServer, film_store: Path, damage: Callable[[bytes], bytes]
) -> None:
    span = TimeSpan(start=1.0, end=5.0)
    one = seeing_of(open_film()).caption(span, until=60.0)
    [place] = kept_files(film_store)
    place.write_bytes(damage(place.read_bytes()))
    session = open_film()
    assert session.captions.passages == ()
    assert seeing_of(session).caption(span, until=60.0) == one
    assert len(vision_server.requests) == 2
    assert seeing_of(open_film()).caption(span, until=60.0) == one
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


# At the same time.


def together(work: Callable[[int], Any], count: int) -> list[Any]:
    """Results of some threads that begin together, each in a copy of the context."""
    ready, results = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        ready.wait()
        results[number] = work(number)

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run, number)) for number in range(count)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_eight_threads_that_ask_the_same_make_one_request(open_film: Open, vision_server: VisionServer) -> None:
    sessions = [open_film() for _ in range(8)]
    span = TimeSpan(start=1.0, end=5.0)
    with ledger() as book:
        sights = together(lambda number: seeing_of(sessions[number]).caption(span, until=60.0), 8)
    assert len(vision_server.requests) == 1
    assert all(sight == sights[0] for sight in sights)
    assert sorted(item.physical for item in book.items) == [False] * 7 + [True]


def test_after_a_failure_the_next_one_waiting_asks_again(open_film: Open, vision_server: VisionServer) -> None:
    vision_server.refuse = lambda body: (401, "no") if len(vision_server.requests) == 1 else None
    span = TimeSpan(start=1.0, end=5.0)

    def ask(_: int) -> str:
        try:
            return seeing_of(open_film()).caption(span, until=60.0).text
        except BackendFault as fault:
            return fault.code

    told = together(ask, 4)
    assert told.count("endpoint_refused_key") == 1
    assert len(vision_server.requests) == 2


def test_no_more_requests_are_under_way_than_allowed(
    open_film: Open, make_eyes: Callable[..., Eyes], vision_server: VisionServer
) -> None:
    under_way, most, guard, three = [0], [0], threading.Lock(), threading.Semaphore(0)

    def before() -> None:
        with guard:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            if under_way[0] == 3:
                three.release(9)
        three.acquire(timeout=5)
        with guard:
            under_way[0] -= 1

    vision_server.before = before
    seeing = seeing_of(open_film(eyes=make_eyes(at_once=3)))
    together(lambda number: seeing.caption(TimeSpan(start=number, end=number + 1.0), until=60.0), 9)
    assert most[0] == 3


_OTHER_PROCESS = """
import sys
from pathlib import Path
from world_api.backends.clocks import SystemClock
from world_api.core.spans import TimeSpan
from world_api.exposure.perceiving.options import EyeChoices, eyes_of
from world_api.profiles import open_session
import os
eyes = eyes_of(EyeChoices(profile="endpoint", model="eye-1"), clock=SystemClock(), environment=os.environ)
session = open_session(Path(sys.argv[1]), "film", name=None, seeing=eyes)
print(session.backends.seeing.caption(TimeSpan(start=1.0, end=5.0), until=60.0).text)
"""


def test_processes_that_ask_the_same_make_one_request(
    film_store: Path, vision_server: VisionServer, make_eyes: Callable[..., Eyes]
) -> None:
    command = [sys.executable, "-c", _OTHER_PROCESS, str(film_store)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    told = {process.communicate(timeout=120)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0]
    assert len(told) == 1
    assert len(vision_server.requests) == 1


# Bounded.


def test_a_session_looks_no_more_often_than_allowed(
    open_film: Open, make_eyes: Callable[..., Eyes], vision_server: VisionServer
) -> None:
    seeing = seeing_of(open_film(eyes=make_eyes(looks=2)))
    for start in (1.0, 2.0, 1.0, 2.0):
        seeing.caption(TimeSpan(start=start, end=9.0), until=60.0)
    with pytest.raises(OperationFault) as caught:
        seeing.caption(TimeSpan(start=3.0, end=9.0), until=60.0)
    assert caught.value.code == "looks_spent"
    assert len(vision_server.requests) == 2


def test_looks_that_were_kept_count_like_those_that_are_made(open_film: Open, make_eyes: Callable[..., Eyes]) -> None:
    for _ in range(2):
        seeing = seeing_of(open_film(eyes=make_eyes(looks=1)))
        seeing.caption(TimeSpan(start=1.0, end=9.0), until=60.0)
        with pytest.raises(OperationFault, match="which is all it may"):
            seeing.caption(TimeSpan(start=2.0, end=9.0), until=60.0)


def test_failing_again_and_again_spends_the_allowance(
    open_film: Open, make_eyes: Callable[..., Eyes], vision_server: VisionServer
) -> None:
    vision_server.say = lambda body, pictures: ""
    seeing = seeing_of(open_film(eyes=make_eyes(looks=3)))
    codes = []
    for _ in range(5):
        with pytest.raises((BackendFault, OperationFault)) as caught:
            seeing.caption(TimeSpan(start=1.0, end=9.0), until=60.0)
        codes.append(caught.value.code)
    assert codes == ["sight_unreadable"] * 3 + ["looks_spent"] * 2
    assert len(vision_server.requests) == 3

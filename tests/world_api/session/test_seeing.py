"""Having a model look: the right frames, none from the future, once each, kept outside the world."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.support.numbered_film import RATE
from tests.support.vision_server import VisionServer
from tests.world_api.session.conftest import numbers_sent, seeing_of, together
from world_api.core import BackendFault, Box, OperationFault, TimeSpan, ledger
from world_api.session import FrameChoice, LookSpot, Session, VisionConfig

pytestmark = pytest.mark.media
Open = Callable[..., Session]


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
    spots = [LookSpot(time=time, box=None) for time in (span[0], as_of, as_of + 0.1, as_of + 20.0)]
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
        [LookSpot(time=35.0, box=box)], "what colour?", subject="a box", until=60.0
    )  # fmt: skip
    [body] = vision_server.requests
    [picture] = pictures_of(body)
    height, width = picture.shape[:2]
    assert 1.4 < width / height < 1.9  # 100 x 60 with a margin, enlarged
    assert picture[height // 2, width // 2].tolist() == pytest.approx([60, 200, 220], abs=25)
    assert sight.frame_times == (35.0,)


# At the same time.


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
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
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
from world_api.core.execution import SystemClock
from world_api.core.spans import TimeSpan
from world_api.api import vision_config
from world_api.options import VisionChoices
from world_api.api import open_session
import os
eyes = vision_config(VisionChoices(profile="endpoint", model="eye-1"), clock=SystemClock(), environment=os.environ)
session = open_session(Path(sys.argv[1]), "film", name=None, seeing=eyes)
print(session.backends.seeing.caption(TimeSpan(start=1.0, end=5.0), until=60.0).text)
"""


def test_processes_that_ask_the_same_make_one_request(
    film_store: Path, vision_server: VisionServer, make_eyes: Callable[..., VisionConfig]
) -> None:
    command = [sys.executable, "-c", _OTHER_PROCESS, str(film_store)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    told = {process.communicate(timeout=120)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0]
    assert len(told) == 1
    assert len(vision_server.requests) == 1

"""What models are asked in calls that were made ahead is charged to the call of the tool, whichever thread asked."""

import threading
from threading import Barrier
from typing import Any

from tests.support.gated import FOUND, PATIENCE, GatedWorld
from tool_induction.runtime.budget import RunLimits
from tool_induction.runtime.running import run_tool
from world_api.core.cost import Spent, charge, ledger
from world_api.core.deadline import deadline, remaining

DETECT = {
    "type": "call_world_api",
    "api": "detect_objects",
    "params": {"video_id": "{{video_id}}", "timestamp": "{{item.start_time}}", "category": "person"},
    "loop_over": "hits",
    "save_as": "seen",
}
SEEN = {"n": {"type": "int", "from": "{{ seen | length }}"}}


def ran(tools: Any, world: Any, concurrency: int) -> None:
    arguments = {"video_id": "film", "query": "somebody"}
    limits = RunLimits(concurrency=concurrency)
    run_tool(tools, list(tools)[-1], arguments, call=world, world=world, limits=limits)


def test_charges_of_calls_made_ahead_are_in_the_ledger_of_the_tool(compiled: Any, document: Any) -> None:
    together = Barrier(2)
    asking: set[str] = set()

    def look(time: float) -> None:
        if time < 2:
            together.wait(PATIENCE)  # so that one of the two is made ahead
        asking.add(threading.current_thread().name)
        charge(Spent(purpose="perception", model="eyes", request=f"{time:g}", prompt=1, completion=1))

    with ledger() as book:
        ran(compiled(document(DETECT, outputs=SEEN)), GatedWorld(look), 4)
    assert len(asking) > 1
    assert {item.request for item in book.items} == {f"{number}" for number in range(FOUND)}


def test_calls_made_ahead_have_no_more_time_than_the_tool(compiled: Any, document: Any) -> None:
    allowed: set[float] = set()

    def look(time: float) -> None:
        allowed.add(remaining(300.0))

    with deadline(7.0):
        ran(compiled(document(DETECT, outputs=SEEN)), GatedWorld(look), 4)
    assert allowed == {7.0}

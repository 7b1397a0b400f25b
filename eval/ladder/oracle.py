"""The true world of a video as a stand-in: it answers operations for a session on the perceived one, in that one's ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from threading import RLock
from typing import Any

from eval.ladder.counterparts import Counterparts
from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan
from world_api.operations import EVERY_OPERATION, run
from world_api.session.session import Session

#: By which fields a record tells its time, the narrowest first.
_TIMES = (("timestamp", "timestamp"), ("time", "time"), ("start_time", "end_time"), ("first_time", "last_time"))
_ENTITY = re.compile(r"\bent_\w+")


class Oracle:
    """Answers operations from the true world.

    Entities are translated, to and fro. A thing that the perceived world does not know keeps its true id: that can be
    asked about where the truth answers, and is unknown elsewhere, which is what was lost. True ids of made films are numbers,
    so that keeping one tells that there is somebody, and neither a name nor looks.
    """

    def __init__(self, truth: Session) -> None:
        self._truth = truth
        self._known: Counterparts | None = None
        self._lock = RLock()

    @property
    def record(self) -> Mapping[str, Any]:
        """The true world's hash and profile."""
        manifest = self._truth.view.world.manifest
        return {"profile": manifest.profile, "world_hash": self._truth.world_hash}

    def answer(self, session: Session, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the true world answers, in the ids of the session's.

        Raises:
            VideoWorldError: what the operation names; ``unknown_entity`` for what is nothing in truth.
        """
        counterparts = self._counterparts(session)
        asked = dict(arguments)
        if (entity := asked.get("entity_id")) is not None:
            asked["entity_id"] = self._true(session, counterparts, str(entity))
        result = run(self._truth, operation, asked)
        if EVERY_OPERATION[operation].state == "writes":
            self._register(session, counterparts, result)
        told: dict[str, Any] = _translated(result, counterparts, _window(arguments))
        return told

    def _counterparts(self, session: Session) -> Counterparts:
        with self._lock:
            if self._known is None:
                self._known = Counterparts(list(session.view.tracks), list(self._truth.view.tracks))
            return self._known

    def _true(self, session: Session, counterparts: Counterparts, entity: str) -> str:
        registered = session.registrations()
        if any(item.entity_id == entity for item in self._truth.registrations()):
            return entity
        found = counterparts.true_of(entity, registered)
        is_known = session.view.track_of_entity(entity) is not None or any(
            item.entity_id == entity for item in registered
        )
        if found is None and is_known:
            raise OperationFault(
                "unknown_entity",
                f"{entity[:80]!r} is nothing that is there",
                hint="list_entities gives the known ids; register_entity makes one from a hint and a moment",
            )
        return entity if found is None else found

    def _register(self, session: Session, counterparts: Counterparts, result: Mapping[str, Any]) -> None:
        """What was registered in the true world is known to the session under its own id."""
        for item in self._truth.registrations():
            if item.entity_id == result["entity_id"]:
                at = TimeSpan(start=item.time, end=item.time)
                own = counterparts.perceived_of(item.entity_id, at) or item.entity_id
                if all(known.entity_id != own or known.label != item.label for known in session.registrations()):
                    session.register(replace(item, entity_id=own))


def _translated(value: Any, counterparts: Counterparts, during: TimeSpan | None) -> Any:
    """The value with true ids replaced, each by what is perceived of it in the stretch it stands in."""
    if isinstance(value, dict):
        own = _window(value) or during
        return {key: _translated(part, counterparts, own) for key, part in value.items()}
    if isinstance(value, list):
        return [_translated(part, counterparts, during) for part in value]
    if isinstance(value, str) and "ent_" in value:
        return _ENTITY.sub(lambda found: _own(found.group(), counterparts, during), value)
    return value


def _own(entity: str, counterparts: Counterparts, during: TimeSpan | None) -> str:
    return counterparts.perceived_of(entity, during) or entity


def _window(record: Mapping[str, Any]) -> TimeSpan | None:
    """The stretch or the moment that a record tells of."""
    for first, last in _TIMES:
        start, end = record.get(first), record.get(last)
        if isinstance(start, int | float) and isinstance(end, int | float) and start <= end:
            return TimeSpan(start=float(start), end=float(end))
    return None

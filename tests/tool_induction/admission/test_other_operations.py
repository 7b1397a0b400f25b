"""Worlds made from schemas answer operations that nobody has declared yet."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field

from tool_induction.admission import schema_worlds
from world_api.core import Cost
from world_api.operations import OPERATIONS, Confidence, Interval, Operation, Result, Time


class Group(Interval):
    group_id: str
    size: Annotated[int, Field(ge=2, le=5)]
    mood: Literal["calm", "loud"] | None
    members: Annotated[list[str], Field(min_length=1)]


class Crowd(Result):
    count: int
    is_loud: bool
    loudest: Group | None
    groups: Annotated[list[Group], Field(max_length=2)]
    share: Annotated[float, Field(ge=-1, le=1)]
    name: Annotated[str, Field(min_length=3)]
    confidence: Confidence


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    video_id: str
    start_time: Time
    end_time: Time
    kind: Literal["people", "animals"] = "people"


@pytest.fixture
def tomorrow(monkeypatch: Any) -> str:
    """An operation with nested optional records, bounds on lists and texts, and names nobody has used."""
    operation = Operation(
        name="count_a_crowd",
        category="perception",
        state="reads",
        price=Cost(calls=1),
        depends_on_session=False,
        description="Counts a crowd.",
        summary="Counts a crowd.",
        parameters=Asked,
        result=Crowd,
        implementation=lambda session, **_: Crowd.model_construct(),
    )
    monkeypatch.setitem(OPERATIONS, operation.name, operation)
    return operation.name


@pytest.mark.parametrize("world", ["one", "many", "nulls", "empty"])
def test_an_operation_that_is_declared_tomorrow_is_answered_in_its_shape(tomorrow: str, world: str) -> None:
    given = {"video_id": "film", "start_time": 10.0, "end_time": 40.0}

    result = schema_worlds()[world](tomorrow, given)

    errors = [error.message for error in Draft202012Validator(Crowd.model_json_schema()).iter_errors(result)]
    assert errors == []
    assert all(10.0 <= group["start_time"] <= group["end_time"] <= 40.0 for group in result["groups"])
    assert (result["loudest"] is None) == (world in ("nulls", "empty"))
    assert len(result["groups"]) == {"one": 1, "many": 2, "nulls": 2, "empty": 0}[world]
    if world == "empty":
        assert (result["count"], result["is_loud"]) == (0, False)


def test_other_stretches_are_answered_differently(tomorrow: str) -> None:
    world = schema_worlds()["many"]

    answers = [world(tomorrow, {"video_id": "film", "start_time": s, "end_time": s + 5}) for s in (0.0, 100.0)]

    assert answers[0] != answers[1]

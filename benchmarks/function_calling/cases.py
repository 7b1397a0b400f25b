"""Reading the leaderboard's files: functions on offer, and the calls that would be right."""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

WITH_ANSWERS = ("simple_python", "multiple", "parallel")
#: The classes of the multi-turn cases -> the file that declares their functions.
CLASSES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A right call: the function's name and its arguments."""

    function: str
    arguments: Json


@dataclass(frozen=True, kw_only=True)
class Case:
    """Functions as declared, and the calls that would be right; none where no function fits the question."""

    id: str
    functions: tuple[Json, ...]
    answers: tuple[Answer, ...]


def read_cases(folder: Path) -> Iterator[Case]:
    """All cases that the folder holds with their functions."""
    for kind in WITH_ANSWERS:
        truth = {item["id"]: item["ground_truth"] for item in _lines(folder / f"possible_answer/BFCL_v4_{kind}.json")}
        for case in _lines(folder / f"BFCL_v4_{kind}.json"):
            answers = itertools.chain.from_iterable(map(_possible, truth[case["id"]]))
            yield Case(id=case["id"], functions=tuple(case["function"]), answers=tuple(answers))
    for case in _lines(folder / "BFCL_v4_irrelevance.json"):
        yield Case(id=case["id"], functions=tuple(case["function"]), answers=())
    yield from _read_turns(folder)


def read_documents(folder: Path) -> dict[str, list[Json]]:
    """The functions of the multi-turn cases, by the file that declares them."""
    return {path.stem: list(_lines(path)) for path in sorted((folder / "multi_turn_func_doc").glob("*.json"))}


def _read_turns(folder: Path) -> Iterator[Case]:
    documents = read_documents(folder)
    truth = _lines(folder / "possible_answer/BFCL_v4_multi_turn_base.json")
    turns = {item["id"]: list(itertools.chain.from_iterable(item["ground_truth"])) for item in truth}
    for case in _lines(folder / "BFCL_v4_multi_turn_base.json"):
        functions = [item for name in case["involved_classes"] for item in documents[CLASSES[name]]]
        answers = tuple(_python_call(text, functions) for text in turns[case["id"]])
        yield Case(id=case["id"], functions=tuple(functions), answers=answers)


def _possible(call: Mapping[str, Any]) -> Iterator[Answer]:
    """The right calls one after another: first values throughout, then each other value in the place of the first."""
    [(function, parameters)] = call.items()
    values = {name: _values(accepted) for name, accepted in parameters.items()}
    first = {name: options[0] for name, options in values.items() if options}
    # An empty text among the values says that the parameter may be left out.
    spare = [name for name, accepted in parameters.items() if "" in accepted and len(accepted) > 1]
    yield Answer(function=function, arguments=first)
    for name, options in values.items():
        for option in options[1:]:
            yield Answer(function=function, arguments={**first, name: option})
    if spare:
        yield Answer(function=function, arguments={name: value for name, value in first.items() if name not in spare})


def _values(accepted: list[Any]) -> list[Any]:
    """The values that are accepted for one parameter. In objects, each key has a list of accepted values again."""
    given = [value for value in accepted if value != ""]
    return [_plain(value) for value in given]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        inner = {key: _values(options) if isinstance(options, list) else [options] for key, options in value.items()}
        return {key: options[0] for key, options in inner.items() if options}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _python_call(text: str, functions: list[Json]) -> Answer:
    """A call that is written in Python: read, never run. Arguments without a name go by the order of the declaration."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    declared = next(item for item in functions if item["name"] == name)
    names = list(declared["parameters"]["properties"])
    arguments = {key: ast.literal_eval(value) for key, value in zip(names, call.args, strict=False)}
    arguments |= {str(item.arg): ast.literal_eval(item.value) for item in call.keywords}
    return Answer(function=name, arguments=json.loads(json.dumps(arguments)))


def _lines(path: Path) -> Iterator[Json]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, filter(str.strip, file))

"""``<id>.facts.json``: a film's facts, written and read back.

::

    {"schema_version": 1,
     "film": "sandbox-test-0007", "seed": 7, "duration": 1203.4,
     "people": [{"id": "person_mia", ...}],  "things": [...], "places": [...],
     "scenes": [...], "visits": [...], "events": [...], "relations": [...], "causes": [...], "facts": [...], "written": [...],
     "extras": {"split": "test", "minutes": 20.0, "version": 1}}

The entries are the dataclasses of ``eval/sandbox/facts.py``, one a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from eval.sandbox.facts import FilmFacts
from world_api.core.faults import EvalFault
from world_api.world.files import write_atomically

SCHEMA_VERSION = 1
_MOST_BYTES = 512 * 2**20
_HINT = "make the film again: videoworld sandbox make"


def write_facts(path: Path, facts: FilmFacts) -> None:
    """Write facts, whole or not at all.

    Raises:
        StoreFault: ``not_writable``.
    """
    write_atomically(path, readable({"schema_version": SCHEMA_VERSION, **asdict(facts)}).encode())


def read_facts(path: Path | str) -> FilmFacts:
    """Read and check a facts file.

    Raises:
        EvalFault: ``no_facts``, ``bad_facts``, ``other_schema_version``.
    """
    path = Path(path)
    record = _record(path)
    version = record.pop("schema_version", None)
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise EvalFault(
            "other_schema_version",
            f"{path.name} has schema version {version!r}; this program reads {SCHEMA_VERSION}",
            hint=_HINT,
        )
    try:
        facts = TypeAdapter(FilmFacts).validate_python(record)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise EvalFault("bad_facts", f"{path.name}: {where}: {first['msg']}", hint=_HINT) from error
    for fault in _contradictions(facts):
        raise EvalFault("bad_facts", f"{path.name}: {fault}", hint=_HINT)
    return facts


def _record(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise EvalFault("bad_facts", f"{path.name} is larger than {_MOST_BYTES >> 20} MiB", hint=_HINT)
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise EvalFault("no_facts", f"there is no {path.name} beside the film", hint=_HINT) from None
    except OSError as error:
        raise EvalFault("no_facts", f"{path.name} cannot be read: {error.strerror}", hint=_HINT) from error
    except (ValueError, RecursionError) as error:
        raise EvalFault("bad_facts", f"{path.name} is not JSON: {error}", hint=_HINT) from error
    if not isinstance(record, dict):
        raise EvalFault("bad_facts", f"{path.name} is not a JSON object", hint=_HINT)
    return record


def _contradictions(facts: FilmFacts) -> Iterator[str]:
    """References to what is not there, and stretches that run backwards."""
    known = {person.id for person in facts.people} | {thing.id for thing in facts.things}
    known |= {place.id for place in facts.places}
    events = {event.id for event in facts.events}
    stretches = [(item.start, item.end) for item in (*facts.scenes, *facts.visits)]
    stretches += [(event.start, event.end) for event in facts.events]
    stretches += [(relation.start, relation.end) for relation in facts.relations]
    stretches += [(written.start, written.end) for written in facts.written]
    for start, end in stretches:
        if not 0 <= start <= end:
            yield f"a stretch runs from {start} to {end}"
    named = [(visit.subject, visit.place) for visit in facts.visits]
    named += [(event.actor, event.place) for event in facts.events]
    named += [(event.thing or event.actor, event.other or event.actor) for event in facts.events]
    for item in {item for pair in named for item in pair} - known:
        yield f"nobody and nothing is {item[:60]!r}"
    for cause in facts.causes:
        for item in {cause.cause, cause.effect} - events:
            yield f"there is no event {item[:60]!r}"


def readable(record: dict[str, Any]) -> str:
    """JSON with one line for each entry of a list of objects."""
    return "{\n" + ",\n".join(_lines(record)) + "\n}\n"


def _lines(record: dict[str, Any]) -> Iterator[str]:
    for key, value in record.items():
        if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
            yield f" {json.dumps(key)}: [\n" + ",\n".join(_entries(value)) + "\n ]"
        else:
            yield f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"


def _entries(values: Iterable[Any]) -> Iterator[str]:
    return (f"  {json.dumps(value, ensure_ascii=False)}" for value in values)

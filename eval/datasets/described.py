"""A dataset in a small YAML file: an adapter, and where its files are.

::

    schema_version: 1
    adapter: m3bench-robot
    annotations: robot.json        # as published; paths are relative to this file
    videos: videos/robot
    name: m3-robot                 # else the adapter's
    domains: my_labels.json        # question id -> task domain; goes before the protocol's rules
    only: {type: [Multi-Hop Reasoning]}
    subtitles: subtitles
    files: {video_map: map_vid_vidorID.json}
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eval.datasets.adapters import adapter_named
from eval.datasets.adapters.raw import Adapter, Sources
from eval.datasets.assembling import Wanted, assemble, read_domain_labels
from eval.datasets.items import Dataset
from eval.datasets.protocols import load_protocol
from eval.datasets.reading import bad, expanded, read_bytes
from tool_induction.domains.yaml_text import MAX_BYTES, YamlText, read_yaml
from world_api.core.faults import ToolFault

_Path = Annotated[str, Field(min_length=1, max_length=1000)]
_SHAPE = "docs/datasets.md shows the file"


class Described(BaseModel):
    """The file's shape."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_version: Literal[1]
    adapter: str
    annotations: _Path
    videos: _Path | None = None
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$")] | None = None
    domains: _Path | None = None
    only: dict[str, list[str]] = {}
    subtitles: _Path | None = None
    files: dict[str, _Path] = {}


def load_described(path: Path, *, videos: Path | None = None) -> Dataset:
    """The dataset that a YAML file describes.

    Raises:
        EvalFault: ``dataset_unreadable``, ``bad_dataset``, ``no_such_adapter``, and what reading the annotations says.
    """
    described = _read(path)
    folder = path.parent
    wanted = Wanted(
        name=described.name or described.adapter,
        videos=videos or _at(folder, described.videos),
        subtitles=_at(folder, described.subtitles),
        domains=read_domain_labels(folder / described.domains) if described.domains else {},
        only={name: tuple(values) for name, values in described.only.items()},
    )
    sources = Sources(
        annotations=folder / described.annotations,
        files={what: folder / file for what, file in described.files.items()},
    )
    return load_adapted(adapter_named(described.adapter), sources, wanted)


def load_adapted(adapter: Adapter, sources: Sources, wanted: Wanted) -> Dataset:
    """The dataset that an adapter reads.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``, ``no_annotations``, ``no_answers``.
    """
    texts = adapter.texts(sources) if adapter.texts is not None else {}
    return assemble(adapter.read(sources), load_protocol(adapter.name), wanted, texts)


def _read(path: Path) -> Described:
    content = read_bytes(path, most=MAX_BYTES)
    try:
        text = read_yaml(content, path.name)
    except ToolFault as fault:
        raise bad(fault.message, _SHAPE) from None
    try:
        return Described.model_validate(text.value)
    except ValidationError as error:
        told = [_explained(item["loc"], item["type"], item["msg"], text) for item in error.errors()[:8]]
        raise bad(f"{path.name}: " + "; ".join(told), _SHAPE) from None


def _explained(place: tuple[int | str, ...], kind: str, message: str, text: YamlText) -> str:
    name = ".".join(map(str, place)) or "the file"
    if kind == "missing":
        return f"{name} is missing"
    if kind == "extra_forbidden":
        return f"line {text.line(place)}: {name} is not a key here; the keys are {', '.join(Described.model_fields)}"
    return f"line {text.line(place)}: {name}: {message[0].lower()}{message[1:]}"


def _at(folder: Path, path: str | None) -> Path | None:
    return None if path is None else folder / expanded(path)

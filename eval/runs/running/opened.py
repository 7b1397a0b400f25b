"""A run that was begun, as those see it who ask in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from eval.runs.cells import Cell
from eval.runs.configuration.reading import Configuration, read_configuration
from eval.runs.manifest import read_manifest
from eval.runs.places import RunFolder
from eval.runs.planning.libraries import load_shelf
from eval.runs.running.workshop import Workshop
from world_api.backends.clocks import SystemClock
from world_api.core.canonical import parse_json
from world_api.core.faults import EvalFault


def configuration_of(folder: RunFolder) -> Configuration:
    """The configuration of a run as it was begun, with what was set beside it.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``; what reading a configuration raises.
    """
    manifest = read_manifest(folder.manifest)
    try:
        base = parse_json(folder.local.read_bytes().decode())["configuration_folder"]
        there = Path(base)
    except (OSError, ValueError, KeyError, TypeError):
        raise EvalFault(
            "run_damaged",
            f"{folder.local.name} does not say where the configuration was",
            hint="give the configuration in place of the folder: `videoworld eval run CONFIG.yaml --out RUN` goes on with the run",
        ) from None
    return read_configuration(folder.config, overrides=manifest.overrides, folder=there)


def open_run(folder: RunFolder, *, environment: Mapping[str, str]) -> tuple[Workshop, dict[str, Cell]]:
    """What is needed to ask in a run.

    Raises:
        EvalFault: as ``configuration_of``; ``run_changed``, where a library is not what it was.
        ToolFault, BackendFault: what libraries and models name.
    """
    configuration = configuration_of(folder)
    manifest = read_manifest(folder.manifest)
    libraries = load_shelf(configuration, folder.libraries, manifest.libraries)
    workshop = Workshop(configuration, folder, libraries=libraries, clock=SystemClock(), environment=environment)
    return workshop, {cell.id: cell for cell in manifest.cells}

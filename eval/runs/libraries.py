"""The tool libraries of a run: loaded, or made as control arms of others, and copied into the run's folder."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

from eval.runs.configuration import Configuration, LibraryPart
from eval.runs.records import LibraryRecord
from tool_induction.curation.arms import ARM_KINDS, make_arm
from tool_induction.library import (
    MANIFEST_FILE,
    TOOLS_FILE,
    ToolLibrary,
    find_library,
    load_library,
    packaged_libraries,
)
from world_api.core.faults import EvalFault, ToolFault
from world_api.core.files import write_atomically


def libraries_of(
    configuration: Configuration, kept: Path, *, date: str, copies: bool = False
) -> dict[str, ToolLibrary]:
    """Return the libraries of a configuration by their names in the run. A control arm is made once, in ``kept``.

    ``kept`` also holds the run's copies of the other libraries. A copy is loaded if the library itself is gone, or
    always with ``copies``: the caller then compares its hash with the manifest. ``date`` is written into new control
    arms.

    Raises EvalFault: ``bad_configuration``; ``run_changed`` if a control arm was made of another library; ToolFault:
    the faults of loading, making and freezing a library.
    """
    document = configuration.document
    allow_judge = document.tool_judge is not None
    groups = sorted({group for arm in document.arms for group in arm.groups})
    load = partial(load_library, allow_judge=allow_judge, groups=groups)

    def found(place: int, path: str) -> ToolLibrary:
        try:
            return load(_source(configuration, path))
        except ToolFault as fault:
            fault.message = f"{configuration.where('libraries', place)}: {fault.message}"
            raise

    libraries: dict[str, ToolLibrary] = {}
    for place, part in enumerate(document.libraries):
        _check(configuration, place, part)
        name = name_of(part)
        if name in libraries:
            what = f"two libraries are named {name!r}"
            raise configuration.bad(("libraries", place), what, hint="give one of them a `name`")
        folder = kept / name
        has_copy = (folder / MANIFEST_FILE).is_file()
        if copies and has_copy:
            library = load(folder)
        elif part.arm is not None:
            parent = libraries.get(str(part.of)) or found(place, str(part.of))
            if not has_copy:  # made under another name first, so that an unfinished one is made again
                unfinished = folder.with_name(name + ".making")
                shutil.rmtree(unfinished, ignore_errors=True)
                make_arm(
                    part.arm, parent, unfinished, name=name, date=date, seed=part.seed, allow_judge=allow_judge, groups=groups
                )  # fmt: skip
                unfinished.rename(folder)
            library = load(folder)
            of = library.manifest.get("of")
            same = isinstance(of, Mapping) and of.get("content_hash") == parent.hash
            if not same or library.manifest.get("arm") != part.arm:
                what = f"the library in {name} was not made of {parent.name} as it is now"
                raise EvalFault("run_changed", what, hint="begin a new run in another folder")
        else:
            try:
                library = found(place, str(part.path))
            except ToolFault as fault:
                if not has_copy or fault.code != "no_such_library":
                    raise
                library = load(folder)
        libraries[name] = library
    return libraries


def name_of(part: LibraryPart) -> str:
    """Return the name of a library in the run; by default its folder's name, for a control arm ``ARM_PARENT``."""
    if part.name is not None:
        return part.name
    if part.arm is None:
        return Path(str(part.path)).name
    return f"{part.arm}_{Path(str(part.of)).name}" + (f"_{part.seed}" if part.arm == "random" else "")


def load_run_libraries(
    configuration: Configuration, kept: Path, records: Mapping[str, LibraryRecord]
) -> dict[str, ToolLibrary]:
    """Return the libraries of an existing run; each must have the hash that is in its manifest.

    Raises EvalFault: ``run_changed``; ToolFault: the faults of loading a library.
    """
    found = libraries_of(configuration, kept, date="", copies=True)
    for name, record in records.items():
        if name not in found or found[name].hash != record.hash:
            what = f"the library {name!r} is not what it was when the run began"
            raise EvalFault("run_changed", what, hint="begin a new run")
    return found


def copy_libraries(configuration: Configuration, folder: Path, used: Collection[str]) -> None:
    """Copy the ``used`` libraries (names in the run) into its ``folder``, so that it is complete if they are deleted.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    for part in configuration.document.libraries:
        name = name_of(part)
        if part.arm is not None or name not in used or (folder / name / MANIFEST_FILE).exists():
            continue
        source = find_library(_source(configuration, str(part.path)))
        if source.is_dir():
            for file in (TOOLS_FILE, MANIFEST_FILE):  # the manifest last: it makes the copy valid
                write_atomically(folder / name / file, (source / file).read_bytes())


def _source(configuration: Configuration, path: str) -> Path | str:
    """Return the path relative to the configuration if that exists and ``path`` names no packaged library; else ``path``."""
    there = configuration.path(path)
    return there if there.exists() and path not in packaged_libraries() else path


def _check(configuration: Configuration, place: int, part: LibraryPart) -> None:
    if (part.arm is None) == (part.path is None) or (part.arm is not None and part.of is None):
        what = "a library has either a `path`, or an `arm` and what it is made `of`"
        raise configuration.bad(("libraries", place), what, hint="for example hand_A, or {arm: placebo, of: hand_A}")
    if part.arm is not None and part.arm not in ARM_KINDS:
        what = f"there is no arm {part.arm[:64]!r}"
        raise configuration.unknown(("libraries", place, "arm"), what, part.arm, ARM_KINDS, listed="one of")


def library_record(library: ToolLibrary, part: LibraryPart) -> LibraryRecord:
    """Return the entry of a library in the run's manifest."""
    manifest = library.manifest
    arm, seed, parent = manifest.get("arm"), manifest.get("seed"), manifest.get("of")
    named = parent.get("name") if isinstance(parent, Mapping) else None
    of = part.of if part.arm is not None else None
    return LibraryRecord(
        hash=library.hash,
        domain=str(manifest.get("domain") or ""),
        arm=arm if isinstance(arm, str) else None,
        of=of or (named if isinstance(named, str) else None),
        seed=seed if isinstance(seed, int) else None,
        made=part.arm is not None,
    )

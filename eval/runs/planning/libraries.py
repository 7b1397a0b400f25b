"""The tool libraries of a run: found, or made as arms of others."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.runs.configuration.document import LibraryPart
from eval.runs.configuration.reading import Configuration
from eval.runs.manifest import LibraryRecord
from tool_induction.language.diagnostics import closest
from tool_induction.libraries.arms.making import ARM_KINDS, make_arm
from tool_induction.library import (
    MANIFEST_FILE,
    TOOLS_FILE,
    ToolLibrary,
    find_library,
    load_library,
    packaged_libraries,
)
from world_api.core.faults import EvalFault, ToolFault
from world_api.world.files import write_atomically

#: Arms whose tools follow from the library that they are made of, and so can be made in any run.
_UNFINISHED = ".making"


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Libraries by their names in the run, and what its manifest says of them."""

    libraries: Mapping[str, ToolLibrary]
    records: Mapping[str, LibraryRecord]


def shelf_of(configuration: Configuration, made: Path, *, date: str, copies: bool = False) -> Shelf:
    """The libraries of a configuration; those that it wants made are kept in the folder ``made``, and taken from there again.

    A run keeps copies of the others there too. They are taken where the library itself cannot be read any more, and with
    ``copies`` in any case: whoever goes on with a run compares their hashes with those in its manifest.

    Raises:
        EvalFault: ``bad_configuration``.
        ToolFault: what loading, making and freezing a library raise.
    """
    document = configuration.document
    allow_judge = document.tool_judge is not None
    groups = sorted({group for arm in document.arms for group in arm.groups})
    libraries: dict[str, ToolLibrary] = {}
    records: dict[str, LibraryRecord] = {}
    for place, part in enumerate(document.libraries):
        _check(configuration, place, part)
        name = name_of(part)
        if name in libraries:
            raise configuration.bad(
                ("libraries", place), f"two libraries are named {name!r}", hint="give one of them a `name`"
            )
        if part.arm is None:
            library = _kept_or_found(
                configuration, place, made / name, allow_judge=allow_judge, groups=groups, copies=copies
            )
            records[name] = _record(library)
        else:
            if copies and (made / name).exists():
                library = load_library(made / name, allow_judge=allow_judge, groups=groups)
            else:
                parent = libraries.get(str(part.of)) or _found(
                    configuration, place, str(part.of), allow_judge=allow_judge, groups=groups
                )
                library = _made(part, parent, made / name, name=name, date=date, allow_judge=allow_judge, groups=groups)
            records[name] = _record(library, made=True, of=part.of)
        libraries[name] = library
    return Shelf(libraries=libraries, records=records)


def name_of(part: LibraryPart) -> str:
    """What a library is called in the run."""
    if part.name is not None:
        return part.name
    if part.arm is None:
        return Path(str(part.path)).name
    return f"{part.arm}_{Path(str(part.of)).name}" + (f"_{part.seed}" if part.arm == "random" else "")


def load_shelf(
    configuration: Configuration, made: Path, records: Mapping[str, LibraryRecord]
) -> dict[str, ToolLibrary]:
    """The libraries of a run that was begun; each must be what it was.

    Raises:
        EvalFault: ``run_changed``.
        ToolFault: what loading a library raises.
    """
    found = shelf_of(configuration, made, date="", copies=True).libraries
    for name, record in records.items():
        if name not in found or found[name].hash != record.hash:
            raise EvalFault(
                "run_changed", f"the library {name!r} is not what it was when the run began", hint="begin a new run"
            )
    return dict(found)


def keep_copies(configuration: Configuration, folder: Path, used: Collection[str]) -> None:
    """Copy the libraries that lie elsewhere, so that a run stays whole whatever becomes of them.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    for part in configuration.document.libraries:
        name = name_of(part)
        if part.arm is not None or name not in used or (folder / name / MANIFEST_FILE).exists():
            continue
        source = find_library(_place(configuration, str(part.path)))
        if source.is_dir():
            for file in (TOOLS_FILE, MANIFEST_FILE):  # the manifest last: with it the copy is whole
                write_atomically(folder / name / file, (source / file).read_bytes())


def _place(configuration: Configuration, path: str) -> Path | str:
    """A library beside the configuration, where one is there under a name that is not a packaged one's; else by name."""
    there = configuration.path(path)
    return there if there.exists() and path not in packaged_libraries() else path


def _check(configuration: Configuration, place: int, part: LibraryPart) -> None:
    if (part.arm is None) == (part.path is None) or (part.arm is not None and part.of is None):
        raise configuration.bad(
            ("libraries", place),
            "a library has either a `path`, or an `arm` and what it is made `of`",
            hint="for example hand_A, or {arm: placebo, of: hand_A}",
        )
    if part.arm is not None and part.arm not in ARM_KINDS:
        near = closest(part.arm, ARM_KINDS)
        raise configuration.bad(
            ("libraries", place, "arm"),
            f"there is no arm {part.arm[:64]!r}",
            hint=f"did you mean {near!r}?" if near else "one of: " + ", ".join(ARM_KINDS),
        )


def _kept_or_found(
    configuration: Configuration,
    place: int,
    kept: Path,
    *,
    allow_judge: bool,
    groups: Collection[str],
    copies: bool,
) -> ToolLibrary:
    """A library, or the run's copy of it."""
    has_copy = (kept / MANIFEST_FILE).is_file()
    if not (copies and has_copy):
        path = str(configuration.document.libraries[place].path)
        try:
            return _found(configuration, place, path, allow_judge=allow_judge, groups=groups)
        except ToolFault as fault:
            if not has_copy or fault.code != "no_such_library":
                raise
    return load_library(kept, allow_judge=allow_judge, groups=groups)


def _found(
    configuration: Configuration, place: int, path: str, *, allow_judge: bool, groups: Collection[str]
) -> ToolLibrary:
    try:
        return load_library(_place(configuration, path), allow_judge=allow_judge, groups=groups)
    except ToolFault as fault:
        fault.message = f"{configuration.where('libraries', place)}: {fault.message}"
        raise


def _made(
    part: LibraryPart,
    parent: ToolLibrary,
    folder: Path,
    *,
    name: str,
    date: str,
    allow_judge: bool,
    groups: Collection[str],
) -> ToolLibrary:
    """The arm in its folder; made under another name first, so that one that was broken off is made again."""
    if not folder.exists():
        unfinished = folder.with_name(folder.name + _UNFINISHED)
        shutil.rmtree(unfinished, ignore_errors=True)
        make_arm(
            str(part.arm), parent, unfinished, name=name, date=date, seed=part.seed, allow_judge=allow_judge,
            groups=groups,
        )  # fmt: skip
        unfinished.rename(folder)
    library = load_library(folder, allow_judge=allow_judge, groups=groups)
    of = library.manifest.get("of")
    if not isinstance(of, Mapping) or of.get("content_hash") != parent.hash or library.manifest.get("arm") != part.arm:
        raise EvalFault(
            "run_changed",
            f"the library in {folder.name} was not made of {parent.name} as it is now",
            hint="begin a new run in another folder",
        )
    return library


def _record(library: ToolLibrary, *, made: bool = False, of: str | None = None) -> LibraryRecord:
    manifest = library.manifest
    arm, seed, parent = manifest.get("arm"), manifest.get("seed"), manifest.get("of")
    named = parent.get("name") if isinstance(parent, Mapping) else None
    return LibraryRecord(
        hash=library.hash,
        domain=str(manifest.get("domain") or ""),
        arm=arm if isinstance(arm, str) else None,
        of=of or (named if isinstance(named, str) else None),
        seed=seed if isinstance(seed, int) else None,
        made=made,
    )

"""Frozen tool libraries: loaded from a file, a folder or by name, and verified against their manifest.

A library folder holds ``library.json`` (the frozen tools) and ``manifest.json`` (hashes and origin). ``load_library``
refuses a library if its files or operations differ from what was frozen; ``freeze_library`` writes one.

The hashes that decide are ``content_hash`` (of the tools) and ``manifest_hash``. The manifest also has short hashes of
every part, so that a fault can name what was changed, and the signature of each operation that a tool calls: property
paths of parameters and result (``candidates[].start_time``) with their schemas, without titles and descriptions.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tool_induction import limits
from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.compiler.source import decode, holds_secret
from tool_induction.language.diagnostics import Findings, Path as JsonPath, format_path, shorten
from tool_induction.language.model import Call, walk_steps
from tool_induction.runtime.limits import Unfit, check_json
from world_api.core.canonical import canonical_json, content_hash
from world_api.core.faults import ToolFault
from world_api.core.files import hash_bytes, open_regular
from world_api.core.identifiers import is_name, printable, suggestion
from world_api.operations import EVERY_OPERATION, MAY_BE_ABSENT, WITHOUT

#: 2: signatures of the operations, hashes of the parts of tools and of the manifest's keys
SCHEMA_VERSION = 2
TOOLS_FILE, MANIFEST_FILE = "library.json", "manifest.json"
#: Manifest keys that freezing writes; the others are details of the origin.
FROZEN_KEYS = frozenset(
    "schema_version name content_hash manifest_hash key_hashes tools operations groups origin date domain".split()
)
_SHOWN = 60  #: characters of a value in a difference
_SHORT = 16  #: characters of a hash that only identifies a part
_REFREEZE = "a packaged one: python -m tool_induction.refreeze NAME; any other: freeze it again with this version"
#: ``state``, and under ``parameters`` and ``result`` a text for each property path
Signature = dict[str, Any]
_WORDING = ("title", "description")
_STRUCTURE = ("properties", "items", "anyOf", "required", "$defs", "$ref", "type", *_WORDING)
#: The mark of a rank score restricts what tools do with the number, which the compiler checks; it is no part of a signature.
_RANK_SCORE = ("x-type", "Score")
_MOST_DIFFERENCES = 8


@dataclass(frozen=True, kw_only=True)
class ToolLibrary:
    """Compiled tools under a name and a content hash. ``manifest`` is empty for a plain file."""

    name: str
    hash: str
    tools: Mapping[str, CompiledTool]
    manifest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The origin of a library, written to its manifest."""

    how: str  #: "hand-written", "induced", "brought" (written elsewhere; ", mended by M") or "edited"
    date: str  #: ISO 8601
    domain: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)  #: model, prompt hash, examples, split, yields, cost


def load_library(
    named: str | Path, *, wanted: str | None = None, allow_judge: bool = False, groups: Collection[str] = ()
) -> ToolLibrary:
    """Load a library and verify it against its manifest.

    Args:
        named: A folder, a file, or the name of a packaged library.
        wanted: If this tool of a file has no faults, those of other tools are accepted.
        allow_judge: Accept tools with judge steps.
        groups: Optional groups of operations that the tools may call.

    Raises:
        ToolFault: ``no_such_library``, ``bad_tools``, ``bad_library``, ``other_schema_version``, ``library_changed``,
            ``other_operations``, ``operations_off``.
    """
    source = find_library(named)
    if source.is_dir():
        return _load_folder(source, allow_judge=allow_judge, groups=groups)
    compilation = compile_document(read_bytes(source), allow_judge=allow_judge, groups=groups)
    tools = compilation.tools if wanted in compilation.tools else compilation.require()
    return ToolLibrary(name=Path(source.name).stem, hash=content_hash(_document(tools)), tools=tools)


def find_library(named: str | Path) -> Traversable:
    """Return the file or folder of a library given by path or by the name of a packaged one.

    Raises:
        ToolFault: ``no_such_library``.
    """
    path = Path(named)
    try:
        if str(named).strip() and path.exists():
            return path
    except OSError:  # a name that no file system accepts
        pass
    packaged = packaged_libraries()
    if str(named) in packaged:
        return files("toollibs") / str(named)
    raise ToolFault(
        "no_such_library",
        f"there is no library or file {str(named)[:200]!r}",
        hint=suggestion(str(named), packaged, "give a file, a folder, or one of: "),
    )


def packaged_libraries() -> list[str]:
    """Return the names of the libraries that are installed with the product."""
    return sorted(
        entry.name
        for entry in files("toollibs").iterdir()
        if entry.is_dir() and is_name(entry.name.lower()) and (entry / MANIFEST_FILE).is_file()
    )


def _load_folder(folder: Traversable, *, allow_judge: bool, groups: Collection[str]) -> ToolLibrary:
    manifest = _read_manifest(folder)
    _check_operations(manifest)
    check_groups_on(manifest["name"], manifest["operations"], groups)
    document = read_json(folder, TOOLS_FILE)
    if content_hash(document) != manifest["content_hash"]:
        raise _changed(folder, TOOLS_FILE, _changed_places(manifest["tools"], _parts(document)))
    _check_spelling(folder, TOOLS_FILE, document)
    if not isinstance(document, dict) or document.keys() != {"tools"} or not isinstance(document["tools"], list):
        raise ToolFault("bad_library", f'{folder.name}: {TOOLS_FILE} is not {{"tools": [...]}}')
    tools = compile_document(document, allow_judge=allow_judge, groups=groups).require()
    _check_reading(folder, tools, document["tools"])
    _check_vouched(folder, tools, manifest)
    return ToolLibrary(name=manifest["name"], hash=manifest["content_hash"], tools=tools, manifest=manifest)


def _check_reading(folder: Traversable, tools: Mapping[str, CompiledTool], stored: list[Any]) -> None:
    """Refuse tools that this compiler reads differently from the one that froze them; ``stored``: how that one read each."""
    for item, was in zip(tools.values(), stored, strict=True):
        found = differences(was, item.frozen)[:_MOST_DIFFERENCES]
        if found:
            raise ToolFault(
                "library_changed",
                f"{folder.name}: this version of the compiler reads {item.name!r} differently: " + "; ".join(found),
                hint="freeze it again under a new name",
            )


def _check_vouched(folder: Traversable, tools: Mapping[str, CompiledTool], manifest: Mapping[str, Any]) -> None:
    """Check that a manifest lists exactly these tools, with their operations and groups.

    Raises ToolFault: ``bad_library``.
    """
    for what, found, stored in (
        ("call", operations_used(tools), sorted(manifest["operations"])),
        ("need the groups", groups_needed(operations_used(tools)), manifest.get("groups", [])),
        ("are", list(tools), list(manifest["tools"])),
    ):
        if found != stored:
            raise ToolFault(
                "bad_library",
                f"{folder.name}: {MANIFEST_FILE} vouches for {', '.join(stored) or 'nothing'}; "
                f"the tools {what} {', '.join(found) or 'nothing'}",
            )


def _check_operations(manifest: Mapping[str, Any]) -> None:
    """Refuse a library whose operations have changed since it was frozen."""
    stored = manifest["operations"]
    current = {name: signature_of(name) for name in stored if name in EVERY_OPERATION}
    found = differences(stored, current)
    if found:
        more = f"; and {len(found) - _MOST_DIFFERENCES} differences more" if len(found) > _MOST_DIFFERENCES else ""
        raise ToolFault(
            "other_operations",
            f"{manifest['name']} was frozen against other operations: " + "; ".join(found[:_MOST_DIFFERENCES]) + more,
            hint="check its library.json against the operations of this version and freeze it again",
        )


def _document(tools: Mapping[str, CompiledTool]) -> dict[str, Any]:
    return {"tools": [item.frozen for item in tools.values()]}


def freeze_library(tools: Mapping[str, CompiledTool], folder: Path | str, *, name: str, origin: Origin) -> ToolLibrary:
    """Write compiled tools as a library folder, the manifest last.

    Raises:
        ToolFault: ``bad_library_name``; ``bad_origin``; ``secret_in_library``; ``library_exists``: a frozen library is
            never overwritten.
    """
    folder = Path(folder)
    if folder.exists() or folder.is_symlink():
        raise ToolFault("library_exists", f"{folder} is there already", hint="frozen libraries are immutable")
    if not is_name(name.lower()):
        raise ToolFault("bad_library_name", f"{name[:64]!r} cannot name a library", hint="use letters, digits, . _ -")
    document = _document(tools)
    needed = groups_needed(operations_used(tools))
    manifest = _sealed(
        {
            "schema_version": SCHEMA_VERSION,
            "name": name,
            "content_hash": content_hash(document),
            "origin": origin.how,
            "date": origin.date,
            "domain": origin.domain,
            "tools": _parts(document),
            "operations": {operation: signature_of(operation) for operation in operations_used(tools)},
            **({"groups": needed} if needed else {}),
        },
        origin.details,
    )
    folder.mkdir(parents=True)
    for file, value in ((TOOLS_FILE, document), (MANIFEST_FILE, manifest)):
        (folder / file).write_bytes(written(value).encode("utf-8"))
    return ToolLibrary(name=name, hash=content_hash(document), tools=tools, manifest=manifest)


def operations_used(tools: Mapping[str, CompiledTool]) -> list[str]:
    """Return the operations that the tools call, sorted."""
    steps = (step for item in tools.values() for step in walk_steps(item.tool.steps))
    return sorted({step.target for step in steps if isinstance(step, Call) and step.kind == "api"})


def groups_needed(operations: Collection[str]) -> list[str]:
    """Return the optional groups that the operations belong to, sorted; unknown operations are ignored."""
    found = {EVERY_OPERATION[name].group for name in operations if name in EVERY_OPERATION}
    return sorted(found - {""})


def check_groups_on(name: str, operations: Collection[str], groups: Collection[str]) -> None:
    """Refuse tools that call operations of groups that are not switched on, or of categories that are left out.

    Raises:
        ToolFault: ``operations_off``.
    """
    off = sorted(set(groups_needed(operations)) - set(groups))
    called = [EVERY_OPERATION[name] for name in operations if name in EVERY_OPERATION]
    if left_out := sorted({item.category for item in called if f"{WITHOUT}{item.category}" in groups}):
        what = f"{name} calls operations that are left out: {', '.join(left_out)}"
        raise ToolFault("operations_off", what, hint="leave out no category that a compared library needs")
    if off:
        raise ToolFault(
            "operations_off",
            f"{name} calls operations of the optional group {', '.join(map(repr, off))}, which is off",
            hint="switch it on for all systems that are compared: " + " ".join(f"--with {group}" for group in off),
        )


UNPRUNED, UNREVIEWED, LOG = "unpruned", "unreviewed", "log.jsonl"
#: Manifest keys about files beside an induced library; a library made from it does not have them.
_BESIDE = frozenset({"log_sha256", "files", "unpruned_hash", "unreviewed_hash"})


def carried_induction(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest entry about an induction for a library that is made from the one with this ``manifest``.

    It is ``{"induction": {...}}`` without the hashes of files beside the library; empty if neither the library nor an
    ancestor in its lineage was induced.
    """
    lineage = manifest.get("lineage")
    for known in (manifest, *reversed(lineage if isinstance(lineage, list) else [])):
        found = _induction(known) if isinstance(known, Mapping) else {}
        if found:
            return {"induction": {key: value for key, value in found.items() if key not in _BESIDE}}
    return {}


def check_companions(
    folder: Traversable, manifest: Mapping[str, Any], *, allow_judge: bool = False, groups: Collection[str] = ()
) -> list[str]:
    """Compare log, report, recording and the libraries inside with the manifest; return the names of missing ones.

    Raises:
        ToolFault: ``library_changed``, naming the file; ``unreadable_library``; faults of loading the libraries inside.
    """
    missing = []
    for name, stored in _vouched(manifest).items():
        try:
            if not (folder / name).is_file():
                missing.append(name)
            elif hash_bytes((folder / name).read_bytes()) != stored:
                raise _changed(folder, name, "its SHA-256")
        except OSError as error:
            raise ToolFault("unreadable_library", f"{name} cannot be read: {error.strerror}") from None
    for inside in (UNPRUNED, UNREVIEWED):
        hash_inside = _induction(manifest).get(f"{inside}_hash")
        if hash_inside is None:
            continue
        if not (folder / inside).is_dir():
            missing.append(inside)
        elif load_library(Path(str(folder / inside)), allow_judge=allow_judge, groups=groups).hash != hash_inside:
            raise _changed(folder, inside, "its content hash")
    return missing


def _vouched(manifest: Mapping[str, Any]) -> dict[str, str]:
    induction = _induction(manifest)
    if induction.get("arm") in (UNPRUNED, UNREVIEWED):
        return {}  # its files are beside the library that it is inside of, whose manifest lists them
    log = {LOG: induction["log_sha256"]} if "log_sha256" in induction else {}
    files = induction.get("files")
    return log | (dict(files) if isinstance(files, Mapping) else {})


def _induction(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    found = manifest.get("induction")
    return found if isinstance(found, Mapping) else {}


def written(value: object) -> str:
    """Return a value as the indented JSON text of a library's file."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _parts(document: object) -> Any:
    """Return short hashes of the value of each key and of each step of a tool, by tool name; a document without tools is unchanged."""
    tools = document.get("tools") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(tools, list) or not all(isinstance(one, dict) for one in tools):
        return document
    rest = {key: value for key, value in document.items() if key != "tools"}
    return rest | {
        str(tool.get("tool_name")): {
            key: [_short(step) for step in value] if key == "steps" and isinstance(value, list) else _short(value)
            for key, value in tool.items()
        }
        for tool in tools
    }


def _sealed(manifest: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest with details of the origin, and hashes of each key and of the whole.

    Raises:
        ToolFault: ``bad_origin``: the details have a key of the manifest's own, or are no JSON;
            ``secret_in_library``.
    """
    own = {*manifest, "key_hashes", "manifest_hash"}
    taken = sorted(details.keys() & own)
    if taken:
        raise ToolFault(
            "bad_origin", f"the details of a library cannot be called {', '.join(taken)}", hint="rename them"
        )
    whole = {**manifest, **details}
    try:
        check_json(whole)
    except Unfit as why:
        raise ToolFault("bad_origin", f"the details of a library cannot be written down: {why}") from None
    if holds_secret(canonical_json(whole)):
        raise ToolFault("secret_in_library", "the details of a library hold what looks like a key", hint="leave it out")
    whole["key_hashes"] = {key: _short(value) for key, value in whole.items()}
    return whole | {"manifest_hash": content_hash(whole)}


def _read_manifest(folder: Traversable) -> dict[str, Any]:
    """Read the manifest of a library folder and check its own hash.

    Raises:
        ToolFault: ``unreadable_library``, ``bad_library``, ``other_schema_version``, ``library_changed``.
    """
    manifest = read_json(folder, MANIFEST_FILE)
    if not isinstance(manifest, dict):
        raise ToolFault("bad_library", f"{folder.name}: {MANIFEST_FILE} is not a JSON object")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise ToolFault(
            "other_schema_version",
            f"{folder.name}: schema version {manifest.get('schema_version')!r}; this program reads {SCHEMA_VERSION}",
            hint=_REFREEZE,
        )
    kinds = {"name": str, "content_hash": str, "manifest_hash": str, "operations": dict, "tools": dict, "origin": str}
    lacking = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if lacking:
        raise ToolFault("bad_library", f"{folder.name}: {MANIFEST_FILE} lacks {', '.join(lacking)}")
    rest = {key: value for key, value in manifest.items() if key != "manifest_hash"}
    if content_hash(rest) != manifest["manifest_hash"]:
        found = {key: _short(value) for key, value in rest.items() if key != "key_hashes"}
        raise _changed(folder, MANIFEST_FILE, _changed_places(manifest.get("key_hashes"), found))
    _check_spelling(folder, MANIFEST_FILE, manifest)
    return manifest


def _changed_places(stored: Any, found: Any) -> str:
    """Return the places at which short hashes differ from the stored ones: ``find_person.steps[2], ...``."""
    paths = [format_path(path).removeprefix("$").removeprefix(".") for path, _ in _differences(stored, found, ())]
    return ", ".join(path or "the order of its parts" for path in paths[:_MOST_DIFFERENCES]) or "one of its hashes"


def _check_spelling(folder: Traversable, name: str, value: object) -> None:
    """Refuse a file whose bytes differ from those that freezing writes; line ends of another system are accepted."""
    if read_bytes(folder / name).replace(b"\r\n", b"\n") != written(value).encode("utf-8"):
        raise _changed(folder, name, "its spelling")


def _changed(folder: Traversable, name: str, what: str) -> ToolFault:
    """Return the fault of the file ``name``, which is not what was frozen; ``what``: what differs, for the message."""
    return ToolFault(
        "library_changed",
        f"{folder.name}: {name} is not what was frozen; changed: {what}",
        hint="a frozen library is immutable: restore it, or make a new one with `videoworld tools fork`",
    )


def read_json(folder: Traversable, name: str) -> Any:
    """Read a JSON file of a library strictly (no repeated keys, finite numbers, valid text).

    Raises:
        ToolFault: ``unreadable_library``, ``bad_library``.
    """
    findings = Findings()
    value = decode(read_bytes(folder / name), findings)
    if findings.errors:
        raise ToolFault("bad_library", f"{folder.name}/{name}: {findings.items[0].message}")
    return value


def read_bytes(source: Traversable) -> bytes:
    """Return a document's bytes, at most one more than the limit: the caller can detect a larger document.

    Raises:
        ToolFault: ``unreadable_library``.
    """
    try:
        with open_regular(source) if isinstance(source, Path) else source.open("rb") as stream:
            return stream.read(limits.MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        within = f" of {printable(source.parent.name)}" if isinstance(source, Path) else ""
        hint = "a library is a folder with manifest.json and library.json; documents are given one by one, as files"
        raise ToolFault(
            "unreadable_library", f"{source.name}{within} cannot be read: {error.strerror}", hint=hint
        ) from None


def _short(value: Any) -> str:
    return content_hash(value)[:_SHORT]


def signature_of(name: str) -> Signature:
    """Return an operation's signature: its ``state`` (``reads`` or ``writes``), and the types in its parameters and result by path."""
    operation = EVERY_OPERATION[name]
    return {
        "state": operation.state,
        "parameters": _paths(operation.parameters_schema()),
        "result": _paths(operation.result_schema()),
    }


def _paths(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the type and limits of the value at each property path of a schema, as text by path."""
    found: dict[str, str] = {}
    for path, text in _walk_schema(schema, schema, "", required=True):
        found[path] = f"{found[path]} or {text}" if path in found else text
    return found


def _walk_schema(
    node: Mapping[str, Any], root: Mapping[str, Any], path: str, *, required: bool
) -> Iterator[tuple[str, str]]:
    while "$ref" in node:
        target = root["$defs"][node["$ref"].rpartition("/")[2]]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    yield path or "$", _text(node, required=required)
    needed = node.get("required", ())
    for key, child in node.get("properties", {}).items():
        if child.get("x-type") == MAY_BE_ABSENT:  # no tool uses it
            continue
        yield from _walk_schema(child, root, f"{path}.{key}" if path else key, required=key in needed)
    if "items" in node:
        yield from _walk_schema(node["items"], root, f"{path}[]", required=True)
    for branch in node.get("anyOf", ()):
        yield from _walk_schema(branch, root, path, required=True)


def _text(node: Mapping[str, Any], *, required: bool) -> str:
    kind = node.get("type", "one of" if "anyOf" in node else "anything")
    words = [] if required else ["optional"]
    words.append(kind if isinstance(kind, str) else " or ".join(map(str, kind)))
    rest = {key: value for key, value in node.items() if key not in _STRUCTURE and (key, value) != _RANK_SCORE}
    return " ".join(words) + (f" {canonical_json(rest)}" if rest else "")


def differences(before: Any, after: Any) -> list[str]:
    """Return the differences of two JSON values as lines ``place: old -> new``, in document order."""
    return [f"{format_path(path)}: {what}" for path, what in _differences(before, after, ())]


def _differences(before: Any, after: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in after:
                yield (*path, key), f"gone, was {_shown(before[key])}"
            elif key not in before:
                yield (*path, key), f"new, {_shown(after[key])}"
            else:
                yield from _differences(before[key], after[key], (*path, key))
        if list(before) != list(after) and set(before) == set(after):
            yield path, f"keys {', '.join(before)} -> keys {', '.join(after)}"
    elif isinstance(before, list) and isinstance(after, list):
        yield from _differences(dict(enumerate(before)), dict(enumerate(after)), path)
    elif canonical_json(before) != canonical_json(after):
        yield path, f"{_shown(before)} -> {_shown(after)}"


def _shown(value: Any) -> str:
    return shorten(canonical_json(value), _SHOWN)

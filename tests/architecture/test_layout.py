"""The layout: packages of areas of modules, areas without import cycles, names in the field's words."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("videoworld", "world_api", "tool_induction", "controller", "eval")
#: Words of an idiom that nobody outside the project would understand; terms of the field are used instead (docs/glossary.md).
IDIOM = frozenset(
    "told stretch stretches somebody whoever nobody anew lies stands lay reach reaches board shelf eyes eye sights sight "
    "standing tape workshop wishes patience blotted scout".split()
)
#: Those of them, and two more, that prose has no plain use for. Strings are left out: questions and vocabularies hold them.
PROSE = frozenset("told tells stretch stretches somebody whoever nobody anew lies blotted".split())
#: Names that results and recorded episodes hold, and a function of NumPy.
STORED = frozenset({"told_until", "patience", "eye"})
#: Real furniture and faces of the films that the project draws.
DRAWN = ("eval/sandbox/",)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _modules() -> list[Path]:
    return [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]


def test_no_module_is_deeper_than_package_area_module() -> None:
    deep = [path.relative_to(ROOT).as_posix() for path in _modules() if len(path.relative_to(ROOT).parts) > 3]
    assert deep == []


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False, cache_dir=None)


def _area(module: str) -> str:
    return ".".join(module.split(".")[:2])


@pytest.mark.parametrize("package", PACKAGES)
def test_the_areas_of_a_package_import_each_other_in_one_direction(package: str, imports: grimp.ImportGraph) -> None:
    successors: dict[str, set[str]] = defaultdict(set)
    for module in imports.modules:
        if not module.startswith(f"{package}."):
            continue
        for imported in imports.find_modules_directly_imported_by(module):
            if imported.startswith(f"{package}.") and _area(imported) != _area(module):
                successors[_area(module)].add(_area(imported))

    def reachable(area: str) -> set[str]:
        found: set[str] = set()
        pending = [area]
        while pending:
            new = successors[pending.pop()] - found
            found |= new
            pending += new
        return found

    assert [area for area in sorted(successors) if area in reachable(area)] == []


#: The module of ``Cut``, the class that applies the causal cut. A build orders what it finds by ``known_at``; no reader is given that.
CUT, BUILD = "world_api/world/tables.py", "world_api/build/"


def test_only_the_cut_compares_when_something_became_known() -> None:
    comparing = []
    for path in _modules():
        place = path.relative_to(ROOT).as_posix()
        if place.startswith(BUILD):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if place == CUT:
            tree.body = [part for part in tree.body if not (isinstance(part, ast.ClassDef) and part.name == "Cut")]
        for node in ast.walk(tree):
            is_compared = isinstance(node, ast.Compare) and re.search(r"\bknown_(at|from)\b", ast.unparse(node))
            by_arrow = isinstance(node, ast.Call) and re.search(r"pc\.(less|greater)\w*\(.*known_", ast.unparse(node))
            if is_compared or by_arrow:
                comparing.append(f"{place}:{node.lineno}")
    assert comparing == []


def _identifiers(path: Path) -> set[str]:
    found = {path.stem}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.keyword(arg=str(name)):
                found.add(name)
    return found


def test_identifiers_use_the_words_of_the_field() -> None:
    idiomatic = []
    for path in _modules():
        place = path.relative_to(ROOT).as_posix()
        if place.startswith(DRAWN):
            continue
        for name in sorted(_identifiers(path)):
            if name not in STORED and IDIOM & {word.lower() for part in name.split("_") for word in WORD.findall(part)}:
                idiomatic.append(f"{place}: {name}")
    assert idiomatic == []


def _prose(path: Path) -> Iterator[str]:
    """The docstrings and comments of a module; the text of any other file without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield re.sub(r"``.*?``", "", ast.get_docstring(node) or "")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield re.sub(r"``.*?``", "", token.string)


def test_docstrings_comments_pages_and_prompts_use_plain_words() -> None:
    prompts = [path for package in PACKAGES for path in (ROOT / package).rglob("*.jinja")]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    idiomatic = [
        f"{path.relative_to(ROOT).as_posix()}: {found}"
        for path in [*_modules(), *prompts, *pages]
        if not path.relative_to(ROOT).as_posix().startswith(DRAWN)
        for text in _prose(path)
        if (found := sorted(PROSE & set(re.findall(r"\w+", text.lower()))))
    ]
    assert idiomatic == []


def test_few_tests_import_inner_modules() -> None:
    """Tests speak through the public surface of an area, through commands and through files."""
    inner = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        names = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
        if any(name.split(".")[0] in PACKAGES and _is_inner(name) for name in names):
            inner.append(path.relative_to(ROOT).as_posix())
    print(len(inner), "files of tests import inner modules")  # noqa: T201 - of interest beside the limit
    assert len(inner) <= 60, "\n".join(inner)


def _is_inner(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return name.count(".") >= 2 and place.with_suffix(".py").is_file()

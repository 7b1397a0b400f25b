"""The rules of the house that a machine can check, over every file that belongs to the project."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from world_api.core import ports

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("videoworld", "world_api", "tool_induction", "controller", "eval", "benchmarks")
MAX_LINES = 800
MAX_METHODS = 3


def _tracked() -> list[Path]:
    """The project's files: what git knows or would take, or everything where this is no checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]
    made = {"demo", "worlds", "build", "dist"}
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") or part in made for part in path.relative_to(ROOT).parts[:-1])
    ]


FILES = _tracked()
SOURCES = [path for path in FILES if path.suffix == ".py"]
OURS = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in PACKAGES]


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_too_long_to_read() -> None:
    long = {_name(path): _lines(path) for path in SOURCES if _lines(path) > MAX_LINES}
    assert long == {}


def _undocumented(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not tree.body:
        return []  # an empty __init__ says nothing because it holds nothing
    found = [] if ast.get_docstring(tree) else [_name(path)]
    containers: list[tuple[str, ast.Module | ast.ClassDef]] = [("", tree)]
    while containers:
        prefix, container = containers.pop()
        for node in container.body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
                continue
            if not ast.get_docstring(node):
                found.append(f"{_name(path)}: {prefix}{node.name}")
            if isinstance(node, ast.ClassDef):
                containers.append((f"{prefix}{node.name}.", node))
    return found


def test_whatever_is_public_says_what_it_is() -> None:
    assert [name for path in OURS for name in _undocumented(path)] == []


#: Written in pieces, so that this file does not find itself.
_FORBIDDEN = [
    re.compile(r"(?<![\w.])/" + folder + r"/") for folder in ("ro" + "ot", "tm" + "p", "wo" + "rk", "ho" + r"me/\w+")
] + [re.compile(r"https?://[^/\s\"']*(?:py" + "pi|arti" + "factory|nex" + "us|py" + "thonhosted)", re.IGNORECASE)]


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in FILES:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture or another file without words
        found += [f"{_name(path)}: {match[0]}" for pattern in _FORBIDDEN for match in pattern.finditer(text)]
    assert found == []


def _protocols() -> list[type[Any]]:
    classes = [item for _, item in inspect.getmembers(ports, inspect.isclass) if item.__module__ == ports.__name__]
    return [item for item in classes if getattr(item, "_is_protocol", False)]


@pytest.mark.parametrize("port", _protocols(), ids=lambda port: port.__name__)
def test_a_port_has_at_most_three_methods(port: type[Any]) -> None:
    methods = [name for name, item in vars(port).items() if inspect.isfunction(item) and not name.startswith("_")]
    assert 1 <= len(methods) <= MAX_METHODS


def test_there_are_ports_to_check() -> None:
    assert len(_protocols()) >= 5


def _surfaces() -> list[str]:
    inits = [path for path in OURS if path.name == "__init__.py" and "__all__" in path.read_text(encoding="utf-8")]
    return [_name(path.parent).replace("/", ".") for path in inits]


@pytest.mark.parametrize("package", _surfaces())
def test_a_package_offers_what_it_says_it_offers(package: str) -> None:
    module = importlib.import_module(package)
    offered = module.__all__
    assert len(set(offered)) == len(offered)
    assert [name for name in offered if not hasattr(module, name)] == []


def test_a_lazy_package_lists_its_names_and_has_no_others() -> None:
    module = importlib.import_module("world_api.core")
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


def test_tests_are_no_packages() -> None:
    assert [_name(path) for path in SOURCES if path.name == "__init__.py" and _name(path).startswith("tests/")] == []


def test_no_folder_of_tests_is_passed_over(request: pytest.FixtureRequest) -> None:
    """Pytest leaves out folders by name, those called build among them unless it is told otherwise."""
    patterns = request.config.getini("norecursedirs")
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    names = {part for folder in folders for part in folder.relative_to(ROOT).parts}
    assert not [name for name in names for pattern in patterns if fnmatch(name, pattern)]

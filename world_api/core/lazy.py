"""Lazy packages: the public names of an ``__init__`` are imported when they are first used, as with ``lazy_loader``."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

#: Whether this process runs the command ``videoworld`` and not another program that imports the project.
is_command = False


@contextmanager
def hidden(package: str) -> Iterator[None]:
    """Let a package that is not imported yet look as if it were not installed, inside the block."""

    class Finder:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
            if name == package:
                raise ModuleNotFoundError(f"{package} is hidden", name=package)

    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package that imports its names under ``TYPE_CHECKING``.

    The imports are read from the package's source, so type checkers, ``dir`` and ``import *`` have the same names::

        if TYPE_CHECKING:
            from package.module import Name, other_name

        __getattr__, __dir__, __all__ = lazy_names(__name__)
    """
    module = sys.modules[package]
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    homes = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        value = getattr(import_module(home), original)
        setattr(module, name, value)
        return value

    return load, lambda: sorted({*vars(module), *homes}), sorted(homes)

"""Runs code as a notebook does: cell by cell in one namespace, in a running event loop, the last value of a cell shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_DRIVER = """
import ast, asyncio, inspect, json, sys

async def run(cells):
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        tree = ast.parse(cell)
        last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        for part, mode in ((tree, "exec"), (last, "eval")):
            if part is None:
                continue
            code = compile(part, f"cell {number}", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            value = eval(code, names)
            value = await value if inspect.iscoroutine(value) else value
            if value is not None:
                print(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))

asyncio.run(run(json.load(sys.stdin)))
"""


def python_blocks(page: Path) -> list[str]:
    """The blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run_cells(cells: Sequence[str], folder: Path) -> str:
    """What the cells show when they run in a folder, without an endpoint; all of them must succeed."""
    import json

    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER], input=json.dumps(list(cells)), cwd=folder, capture_output=True, text=True,
        env=kept | {"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr
    return done.stdout

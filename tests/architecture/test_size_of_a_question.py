"""How much of the project one question needs: modules that are imported, and files whose functions are entered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import WorldMaker

ROOT = Path(__file__).resolve().parents[2]
#: Arguments of `videoworld ask`, and the most modules and files that a question may then need.
QUESTIONS = {"operations": ([], 100, 56), "a library": (["--tools", "hand_A"], 133, 89)}

_PROGRAM = """
import json, sys, threading
from pathlib import Path
root, entered = sys.argv.pop(1), set()
packages = ("world_api", "tool_induction", "controller", "eval", "videoworld")

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and code.co_flags & 2:  # a function, no module or class
        entered.add(code.co_filename[len(root) + 1 :])

threading.setprofile(note)
sys.setprofile(note)
from videoworld import main
try:
    main(sys.argv[1:])
except SystemExit as leaving:
    assert not leaving.code, leaving.code
sys.setprofile(None)
imported = sorted(name for name in sys.modules if name.split(".")[0] in packages)
ours = sorted(name for name in entered if name.split("/")[0].removesuffix(".py") in packages)
print("FOUND " + json.dumps({"imported": imported, "entered": ours}))
"""


@pytest.mark.parametrize("tools", QUESTIONS)
def test_a_question_needs_few_of_our_modules(tools: str, tmp_path: Path) -> None:
    arguments, most_imported, most_entered = QUESTIONS[tools]
    WorldMaker(tmp_path)()
    question = "When does the person in red first appear?"
    command = [str(ROOT), "ask", "made", question, "--store", str(tmp_path), *arguments]
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, list[str]] = json.loads(ended.stdout.rsplit("FOUND ", 1)[1])
    imported, entered = found["imported"], found["entered"]
    print(f"with {tools}: {len(imported)} modules imported, {len(entered)} files entered")  # noqa: T201 - for `pytest -s`
    assert len(imported) <= most_imported, "\n".join(imported)
    assert len(entered) <= most_entered, "\n".join(entered)

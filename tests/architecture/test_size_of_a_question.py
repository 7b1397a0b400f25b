"""How much of the project one question needs: modules that are imported, and files whose functions are entered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_IMPORTED, MAX_ENTERED = 150, 50

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


@pytest.fixture(scope="module")
def one_question(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What `videoworld ask` on a ready world imports and enters."""
    from tests.conftest import WorldMaker

    store = tmp_path_factory.mktemp("worlds")
    WorldMaker(store)()
    question = "When does the person in red first appear?"
    command = [str(ROOT), "ask", "made", question, "--store", str(store), "--tools", "hand_A"]
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, list[str]] = json.loads(ended.stdout.rsplit("FOUND ", 1)[1])
    return found


def test_a_question_imports_few_of_our_modules(one_question: dict[str, list[str]]) -> None:
    print(len(one_question["imported"]), "modules imported")  # noqa: T201 - the size is of interest beside the limit
    assert len(one_question["imported"]) <= MAX_IMPORTED, "\n".join(one_question["imported"])


def test_a_question_enters_few_of_our_files(one_question: dict[str, list[str]]) -> None:
    print(len(one_question["entered"]), "files entered")  # noqa: T201 - the size is of interest beside the limit
    assert len(one_question["entered"]) <= MAX_ENTERED, "\n".join(one_question["entered"])

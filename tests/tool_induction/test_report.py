"""What ``videoworld tools check`` shows of a document: nothing of a secret, nothing that steers a terminal."""

from pathlib import Path
from typing import Any

import pytest

import videoworld

SECRET = "sk-abcdefghijklmnopqrstuvwxyz123456"
ESCAPED = SECRET.replace("a", "\\u0061")


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Checks a text; what is printed."""

    def call(text: str, *options: str) -> str:
        file = tmp_path / "document.json"
        file.write_text(text, encoding="utf-8", newline="")
        with pytest.raises(SystemExit):
            videoworld.main(["tools", "check", str(file), *options])
        printed = capsys.readouterr()
        return printed.out + printed.err

    return call


@pytest.mark.parametrize("secret", [SECRET, ESCAPED])
@pytest.mark.parametrize("broken", ["", ", oops"])
def test_a_secret_that_is_refused_is_not_printed_under_the_mark(shown: Any, secret: str, broken: str) -> None:
    text = '{"tool_name": "find_it", "description": "KEY", "outputs": {"a": "nothing known"}BROKEN}'
    out = shown(text.replace("KEY", secret).replace("BROKEN", broken))

    assert "***" in out
    assert "ijklmnopqrstuvwxyz" not in out
    assert "^" in out


@pytest.mark.parametrize("hidden", ["\x1b[31m", "\x9b31m", "\u202e", "\u200b", "\x07", "\r"])
@pytest.mark.parametrize("closed", [True, False])
def test_nothing_in_a_document_steers_the_terminal(shown: Any, hidden: str, closed: bool) -> None:
    text = '{"tool_name": "find_it", "de' + hidden + 'scription": "d", "steps": []' + "}" * closed
    out = shown(text, "--notes")

    assert not set(hidden) & set(out) - set("[31m")
    assert all(letter.isprintable() or letter == "\n" for letter in out)

"""Nothing is sent before somebody agreed to the most that it may be."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Cli, Outcome
from tests.support.vision_server import VisionServer
from world_api.core import BackendFault
from world_api.options import confirm

pytestmark = pytest.mark.media


class Terminal(io.StringIO):
    """A terminal with what is typed at it, or what is shown on it."""

    def isatty(self) -> bool:
        return True


PROFILE = ("--profile", "endpoint", "--vision-model", "eye-1")
Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def no_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of any endpoint."""
    monkeypatch.setenv("VIDEOWORLD_CACHE", str(tmp_path / "findings"))


@pytest.fixture
def run(cli: Cli, film_store: Path) -> Run:
    """Runs ``videoworld`` on a store with the numbered film."""

    def run_(*arguments: str) -> Outcome:
        return cli(*arguments, store=film_store)

    return run_


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """What the model that looks costs."""
    path = tmp_path / "prices.yaml"
    path.write_text("eye-1: {prompt: 1000, completion: 0}\n")
    return path


def test_a_call_that_may_look_is_asked_about_first(run: Run, vision_server: VisionServer, prices: Path) -> None:
    call = ("call", "describe_segment", "start_time=12", "end_time=14", "--video", "film", *PROFILE)
    refused = run(*call, "--prices", str(prices))
    assert (refused.status, "consent_needed" in refused.err, vision_server.requests) == (1, True, [])
    assert "looking, for this call: at most 5 requests to eye-1" in refused.err  # one look, and four settings to refuse
    assert "USD" in refused.err
    search = ("call", "search_segments_by_semantics", "query=red", "top_k=1", "--video", "film", *PROFILE)
    assert run(*search).status == 0  # nothing is sent for it
    assert run(*search, "--embedding-model", "emb").status == 1  # what is searched for would be
    assert vision_server.embedded == []


@pytest.mark.parametrize("file_name", ["new film.mp4", "film.mp4"])
def test_a_question_about_a_file_is_agreed_to_before_anything_is_built(
    cli: Cli, vision_server: VisionServer, built_film: tuple[Path, Path], tmp_path: Path, file_name: str
) -> None:
    store = tmp_path / "empty"
    file = tmp_path / file_name
    file.symlink_to(built_film[0])
    refused = cli("ask", str(file), "What happens?", "--model", "rule-based", *PROFILE, store=store)
    assert "consent_needed" in refused.err
    assert "a frame of 320 x 192 pixels is taken for 255 tokens" in refused.err
    assert not store.exists()
    assert vision_server.requests == []


def test_a_file_that_is_no_video_is_named_before_anybody_is_asked(
    cli: Cli, vision_server: VisionServer, tmp_path: Path
) -> None:
    (tmp_path / "text.mp4").write_text("no film")
    refused = cli("ask", str(tmp_path / "text.mp4"), "What?", "--model", "rule-based", *PROFILE, store=tmp_path / "s")
    assert (refused.status, "not_a_video" in refused.err) == (1, True)


@pytest.mark.parametrize("command", [("ask",), ("call",), ("serve",), ("tools", "run"), ("build",)])
def test_every_command_that_may_look_has_the_same_options(cli: Cli, command: tuple[str, ...]) -> None:
    shown = cli(*command, "--help-all", store=None).out
    wanted = ["--profile", "--vision-model", "--embedding-model", "--frames", "--side", "--look-language", "--prices"]
    wanted += ["--yes"] + ["--looks"] * (command != ("build",))  # a build captions everything
    assert [name for name in wanted if not re.search(rf"{name}\b(?!-)", shown)] == []


@pytest.mark.parametrize(
    ("typed", "agreed"), [("yes\n", True), ("Y\n", True), ("", False), ("no\n", False), ("\n", False)]
)
def test_only_yes_is_a_yes(typed: str, agreed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", shown)
    if agreed:
        confirm("an estimate", yes=False)
    else:
        with pytest.raises(BackendFault) as caught:
            confirm("an estimate", yes=False)
        assert caught.value.code == "consent_refused"
    assert "an estimate" in shown.getvalue()

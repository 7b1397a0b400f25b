"""A replay refuses by name what has changed since the recording."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import world_api.chat.messages as prompt_files
from controller.answers import Question
from controller.episode import Episode, Task
from controller.loop import run_episode
from controller.records import Journal, Replayed, answer, journal as journal_module, replay_recorded
from controller.systems import System, SystemContext
from tests.support.scripted import ScriptedChatModel
from world_api import SystemClock
from world_api.chat import RuleBasedChatModel
from world_api.core import EpisodeFault, OperationFault, json_line, parse_json
from world_api.session import Session

ASKED = Question(text="When does the person in red first appear?")


@pytest.fixture
def journal(open_made: Any, tmp_path: Path) -> Journal:
    """A journal with one episode of ``flat``."""
    made = Journal(tmp_path / "records")
    context = SystemContext(model=RuleBasedChatModel(), clock=SystemClock())
    answer(ASKED, open_made(), system="flat", context=context, journal=made)
    return made


def replay(journal: Journal, **chosen: Any) -> Replayed:
    [entry] = journal.entries()
    return replay_recorded(journal, entry.name, **chosen)


@pytest.fixture
def edited_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the controller's prompts, which is the one that is read from now on."""
    copy = tmp_path / "controller"
    shutil.copytree(Path(str(resources.files("controller"))) / "prompts", copy / "prompts")
    real = resources.files
    monkeypatch.setattr(
        prompt_files.resources, "files", lambda package: copy if package == "controller" else real(package)
    )
    return copy / "prompts"


@pytest.mark.parametrize("file", ["system", "question", "notice"])
def test_a_changed_prompt_is_refused_by_the_name_of_its_file(journal: Journal, edited_prompts: Path, file: str) -> None:
    path = edited_prompts / "en" / f"{file}.jinja"
    path.write_text(path.read_text() + " Be brief.")
    with pytest.raises(EpisodeFault, match="prompt_changed") as caught:
        replay(journal)
    assert f"controller/prompts/en/{file}" in caught.value.message
    assert caught.value.message.count("prompts/en/") == 1


def test_a_prompt_that_is_gone_or_new_is_named(journal: Journal, edited_prompts: Path) -> None:
    (edited_prompts / "en" / "forced.jinja").rename(edited_prompts / "en" / "compelled.jinja")
    with pytest.raises(EpisodeFault, match="prompt_changed") as caught:
        replay(journal)
    assert "en/compelled, controller/prompts/en/forced" in caught.value.message


def test_a_prompt_of_the_other_language_is_no_matter(journal: Journal, edited_prompts: Path) -> None:
    (edited_prompts / "zh" / "system.jinja").write_text("别的")
    assert replay(journal).identical


def test_an_episode_from_before_results_were_shortened_is_refused_by_name(
    open_made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, context = Journal(tmp_path / "old"), SystemContext(model=RuleBasedChatModel(), clock=SystemClock())
    with monkeypatch.context() as earlier:
        earlier.setattr("controller.rendering.lean", lambda result, arguments=None: dict(result))
        answer(ASKED, open_made(), system="flat", context=context, journal=made)
    monkeypatch.setattr("controller.records.journal.loop_hash", lambda: "f" * 64)
    with pytest.raises(EpisodeFault, match="loop_changed"):
        replay(made)


def test_another_loop_that_gives_the_same_bytes_replays(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.records.journal.loop_hash", lambda: "f" * 64)
    assert replay(journal).identical


class Wordy:
    """``flat`` as another version might be: it tells the model more."""

    def __init__(self, context: SystemContext, **more: Any) -> None:
        self._context, self._more = context, more

    def answer(self, question: Question, session: Session) -> Episode:
        from controller.conversation import Preamble, Prompts

        given, ground = self._context, self._context.inputs
        task = Task.of(question, session, system="flat", settings=self._more)
        return run_episode(
            task,
            model=given.model,
            tools=ground.tools(_nobody),
            budget=given.budget,
            clock=given.clock,
            prompts=Prompts(),
            preamble=Preamble(briefing="" if self._more else "More."),
        )


def _nobody() -> Any:
    raise AssertionError("tools are made in a replay")


def test_another_loop_that_asks_something_else_is_refused_by_its_version(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EpisodeFault, match="replay_mismatch"):
        replay(journal, build=Wordy)
    monkeypatch.setattr("controller.records.journal.loop_hash", lambda: "f" * 64)
    with pytest.raises(EpisodeFault, match="loop_changed") as caught:
        replay(journal, build=Wordy)
    assert "another version of the loop" in caught.value.message


def test_bytes_that_differ_are_told_by_their_first_place(open_made: Any, tmp_path: Path, replies: Any) -> None:
    made = Journal(tmp_path / "records")
    context = SystemContext(model=ScriptedChatModel([replies.submits()]), clock=SystemClock())

    def build(given: SystemContext) -> System:
        return Plain(given, seed=1)

    answer(ASKED, open_made(), system="mine", context=context, journal=made, build=build)
    again = replay(made, build=lambda given: Plain(given, seed=2))
    assert not again.identical
    assert again.difference == "$.task.settings.seed"


class Plain(Wordy):
    """The loop without any tools."""

    def answer(self, question: Question, session: Session) -> Episode:
        from controller.conversation import Prompts

        given = self._context
        return run_episode(
            Task.of(question, session, system="mine", settings=self._more),
            model=given.model,
            tools=given.inputs.tools(_NoTools),
            budget=given.budget,
            clock=given.clock,
            prompts=Prompts(),
        )


class _NoTools:
    def get_tools(self) -> Any:
        return ()

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise OperationFault("unknown_tool", name)


Reach = Callable[[SystemContext, Session], Any]


@pytest.mark.parametrize(
    ("reach", "told"),
    [
        (lambda context, session: session.view.duration, "session's view"),
        (lambda context, session: session.memories(), "session's memories"),
        (lambda context, session: context.inputs.material("later", lambda: 1), "material 'later'"),
        (lambda context, session: context.clock.monotonic(), "reads the clock"),
        (lambda context, session: context.model.complete({"messages": []}), "no reply to this request"),
    ],
    ids=["world", "overlay", "material", "clock", "model"],
)
def test_a_system_that_takes_what_was_not_recorded_is_refused(
    open_made: Any, tmp_path: Path, replies: Any, reach: Reach, told: str
) -> None:
    """What it took past the ground when it was recorded cannot be known; that it does is said."""
    made = Journal(tmp_path / "records")
    context = SystemContext(model=ScriptedChatModel([replies.submits()]), clock=SystemClock())
    answer(ASKED, open_made(), system="mine", context=context, journal=made, build=lambda given: Plain(given, seed=1))

    class Reaching(Plain):
        def answer(self, question: Question, session: Session) -> Episode:
            episode = super().answer(question, session)
            reach(self._context, session)
            return episode

    with pytest.raises(EpisodeFault, match="replay_mismatch") as caught:
        replay(made, build=lambda given: Reaching(given, seed=1))
    assert told in caught.value.message


def test_a_material_is_taken_once(open_made: Any, tmp_path: Path) -> None:
    class Greedy(Plain):
        def answer(self, question: Question, session: Session) -> Episode:
            for _ in range(2):
                self._context.inputs.material("digest", lambda: {})
            raise AssertionError("not reached")

    context = SystemContext(model=RuleBasedChatModel(), clock=SystemClock())
    with pytest.raises(EpisodeFault, match="material_taken_twice"):
        answer(ASKED, open_made(), system="mine", context=context, journal=Journal(tmp_path), build=Greedy)


def test_an_episode_that_was_broken_off_says_so(open_made: Any, tmp_path: Path) -> None:
    class Breaking(RuleBasedChatModel):
        def complete(self, request: dict[str, Any]) -> dict[str, Any]:
            raise KeyboardInterrupt

    made = Journal(tmp_path / "records")
    with pytest.raises(KeyboardInterrupt):
        answer(
            ASKED,
            open_made(),
            system="flat",
            context=SystemContext(model=Breaking(), clock=SystemClock()),
            journal=made,
        )
    with pytest.raises(EpisodeFault, match="broken_off_episode"):
        replay(made)


def test_an_episode_of_the_schema_before_is_refused_with_what_to_do(journal: Journal, tmp_path: Path) -> None:
    path = tmp_path / "records" / "episodes.jsonl"
    line = parse_json(path.read_text())
    line["episode"]["schema_version"] = 2
    path.write_text(json_line(line) + "\n")
    with pytest.raises(EpisodeFault, match="recording_schema") as caught:
        replay(journal)
    assert "version" in caught.value.hint


def test_code_beside_the_controller_that_decides_bytes_is_in_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = journal_module.loop_hash.__wrapped__()
    real = journal_module._module
    monkeypatch.setattr(
        journal_module, "_module", lambda name: b"other" if name == "world_api.chat.messages" else real(name)
    )
    assert journal_module.loop_hash.__wrapped__() != before


def test_prompts_recorded_under_the_earlier_name_of_their_package_are_found() -> None:
    now = dict(prompt_files.PromptFiles("world_api.perception").hashes)
    place = "world_api.perception/prompts"
    assert journal_module.Conditions(system="flat", prompts={place: now}).changed_prompts() == []
    changed = journal_module.Conditions(system="flat", prompts={place: {**now, "caption": "0" * 64}})
    assert changed.changed_prompts() == [f"{place}/caption"]


def test_each_module_that_counts_for_the_hash_of_the_loop_is_named_once_and_each_that_does_not_exists() -> None:
    assert len(set(journal_module._BESIDE)) == len(journal_module._BESIDE)
    there = {item.name for item in resources.files("controller").iterdir()}
    assert there >= journal_module._APART

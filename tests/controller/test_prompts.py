"""The prompts: golden, of one hash a language, and whole in both languages."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from jinja2 import UndefinedError

from controller.answers import KINDS, Kind, Question, submit_answer_tool
from controller.conversation import LANGUAGES, Prompts, language_of
from controller.messages import Problem
from world_api.core import EpisodeFault, json_line

GOLDEN = Path(__file__).parents[1] / "golden" / "controller"
ROOT = Path(__file__).parents[2]
REASONS = ("rounds", "calls", "tokens", "money", "seconds", "window", "malformed_replies")
CODES = (*get_args(Problem), "budget_spent", "tool_overtime", "folded", "dropped")


def question_of(kind: Kind) -> Question:
    options = ("the red car", "the blue car") if kind in ("choice", "order") else ()
    return Question(text="What happens?", kind=kind, options=options, as_of=30.0 if kind == "count" else None)


def told(prompts: Prompts, kind: Kind) -> str:
    """All that the loop says to a model that is asked a question of one kind."""
    question = question_of(kind)
    options = list(zip(question.letters, question.options, strict=True))
    values: dict[str, Any] = {"kind": kind, "letters": ", ".join(question.letters), "as_of": question.as_of}
    parts = {
        "system": prompts.render(
            "system", briefing="(what a system adds)" if kind == "open" else "", notes=True, **values
        ),
        "question": prompts.render("question", question=question.text, options=options, kind=kind),
        "forced": prompts.render("forced", reason="rounds", **values),
        "submit_answer": json_line(submit_answer_tool(question, prompts.of_answer).parameters),
    }
    return "\n".join(f"=== {name}\n{text}" for name, text in parts.items()) + "\n"


def notices(prompts: Prompts) -> str:
    lines = [json_line(prompts.notice(code, "(detail)")) for code in CODES]
    lines += [prompts.render("forced", reason=reason, kind="open", letters="").splitlines()[0] for reason in REASONS]
    return (
        "\n".join([*lines, prompts.render("digest"), prompts.render("nothing_said"), prompts.of_answer("tool")]) + "\n"
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("part", [*KINDS, "notices"])
def test_the_prompts_are_the_golden_ones(language: str, part: Any) -> None:
    prompts = Prompts(language)
    text = notices(prompts) if part == "notices" else told(prompts, part)
    path = GOLDEN / f"{language}_{part}.txt"
    if os.environ.get("UPDATE_GOLDENS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"{path.name} changed; if on purpose: UPDATE_GOLDENS=1"


def test_every_language_has_every_prompt() -> None:
    folders = {language: ROOT / "controller" / "prompts" / language for language in LANGUAGES}
    names = {language: sorted(path.name for path in folder.iterdir()) for language, folder in folders.items()}
    assert names["zh"] == names["en"]


def test_the_languages_say_the_same_in_words_of_their_own() -> None:
    han = re.compile(r"[\u4e00-\u9fff]")
    for kind in KINDS:
        assert not han.search(told(Prompts("en"), kind))
        assert len(han.findall(told(Prompts("zh"), kind))) > 250


def test_a_prompt_that_lacks_a_value_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        Prompts().render("question", kind="open")


def test_a_notice_that_nobody_wrote_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        Prompts().notice("nothing of the kind")


def test_each_language_has_one_hash() -> None:
    hashes = [Prompts(language).hash for language in LANGUAGES]
    assert hashes == [Prompts(language).hash for language in LANGUAGES]
    assert len(set(hashes)) == len(LANGUAGES)
    assert all(len(one) == 64 for one in hashes)


def test_there_are_no_prompts_in_another_language() -> None:
    with pytest.raises(EpisodeFault, match="unknown_language"):
        Prompts("fr")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("When does it rain?", "en"),
        ("什么时候下雨？", "zh"),
        ("OFFICE 14 是什么时候出现的？", "zh"),
        ("What does 你好 mean when the man in the red coat says it?", "en"),
        ("雨はいつ降りますか？", "en"),
        ("비가 언제 오나요?", "en"),
        ("42?", "en"),
    ],
)
def test_the_prompts_follow_the_script_of_the_question(text: str, language: str) -> None:
    assert language_of(text) == language

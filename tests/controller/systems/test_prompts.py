"""What the systems tell a model beside the loop's own prompts: golden, in both languages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller.conversation import LANGUAGES, Prompts

GOLDEN = Path(__file__).parents[2] / "golden" / "controller" / "systems"
TOOLS = [
    {
        "name": "find_talk",
        "description": "Finds what is said. (Up to 3 atomic calls.)",
        "inputs": [
            {"name": "words", "description": "What to look for.", "required": True},
            {"name": "earliest", "description": "In seconds.", "required": False},
        ],
    }
]


def told(prompts: Prompts) -> str:
    endings = [{"kind": "open", "as_of": None}, {"kind": "count", "as_of": 30.0}]
    parts = [
        *(
            (f"{name} {ending['kind']}", prompts.render(name, briefing="(the tool language)", **ending))
            for name in ("from_material", "blind", "pipeline")
            for ending in endings
        ),
        ("domain", prompts.render("domain", domain="(the domain)")),
        ("hints", prompts.render("hints", tools=TOOLS)),
        ("compose", prompts.render("compose", tool_language="(the tool language)")),
        *(
            (name, prompts.render(name, briefing="", notes=name == "on_demand", **endings[0]))
            for name in ("tools_only", "tools_first", "on_demand")
        ),
    ]
    return "\n".join(f"=== {name}\n{text}" for name, text in parts) + "\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prompts_are_the_golden_ones(language: str) -> None:
    text, path = told(Prompts(language)), GOLDEN / f"{language}.txt"
    if os.environ.get("UPDATE_GOLDENS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"{path.name} changed; if on purpose: UPDATE_GOLDENS=1"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_exposure_is_told_of_calls_that_it_refuses(language: str) -> None:
    """One text: only what is said of the operations differs, and none says two things of them."""
    given = {"briefing": "", "kind": "open", "as_of": None, "notes": False}
    usual, only, first, demanded = (
        Prompts(language).render(name, **given).splitlines()
        for name in ("system", "tools_only", "tools_first", "on_demand")
    )
    offers = {"en": "where none does", "zh": "没有时再用单个操作"}[language]
    spans = "time_range"
    assert [offers in "\n".join(text) for text in (usual, only, first, demanded)] == [True, False, False, False]
    assert ["call_operation" in "\n".join(text) for text in (usual, only, first, demanded)] == [False] * 3 + [True]
    assert [spans in "\n".join(text) for text in (usual, only, first, demanded)] == [True, False, True, True]
    assert all(len(set(usual) - set(other)) <= 3 for other in (only, first, demanded))


@pytest.mark.parametrize("language", LANGUAGES)
def test_memories_are_spoken_of_where_they_can_be_written(language: str) -> None:
    given = {"briefing": "", "kind": "open", "as_of": None}
    memories = {"en": "Write a memory", "zh": "请写入记忆"}[language]
    with_notes, without = (Prompts(language).render("system", notes=notes, **given) for notes in (True, False))
    assert (memories in with_notes, memories in without) == (True, False)

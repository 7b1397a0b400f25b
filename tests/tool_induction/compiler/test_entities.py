"""A tool that carries an entity of its examples answers no other question; the lint says where it stands."""

from typing import Any

import pytest

from tool_induction import compile_document
from tool_induction.compiler import fold

PLACE = "$.steps[1].value"


def places(document: Any, *entities: str) -> list[str]:
    found = compile_document(document, entities=entities).diagnostics
    return [item.json_path for item in found if item.code == "L_CONSTANT_ENTITY"]


def with_text(document: Any, text: str) -> Any:
    return document({"type": "set", "value": text, "save_as": "x"}, outputs={"x": "string"})


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("red backpack", "red backpack"),
        ("a RED  Backpack on the floor", "red backpack"),
        ("red_backpack", "Red-Backpack"),
        ("who is José?", "jose"),
        ("ＲＥＤ backpack", "red backpack"),
        ("two red backpacks", "red backpack"),
        ("Anna's bag", "Anna"),
        ("穿红衣服的张三走了", "张三"),
        ("找Anna的包", "anna"),
        ("はしる太郎", "太郎"),
        ("seen at {{ query }} by Anna", "Anna"),
        ("{{ 'Anna' if query == 'x' else query }}", "Anna"),
    ],
)
def test_an_entity_is_found_whatever_its_case_accents_or_form(document: Any, text: str, entity: str) -> None:
    assert places(with_text(document, text), entity) == [PLACE]


@pytest.mark.parametrize(
    ("text", "entity"),
    [("hannah", "Anna"), ("a redder backpack", "red"), ("x", "x"), ("anything", "  "), ("...", "."), ("李四", "张三")],
)
def test_what_only_looks_like_an_entity_is_let_be(document: Any, text: str, entity: str) -> None:
    assert places(with_text(document, text), entity) == []


def test_every_place_where_a_writer_puts_text_is_looked_at(document: Any) -> None:
    tool = document(
        {"type": "filter", "inputs": "hits", "where": "{{ item.snippet == 'Anna' }}", "save_as": "kept"},
        inputs={
            "who": {"type": "string", "default": "Anna", "description": "for instance Anna"},
            "kind": {"type": "string", "enum": ["Bob", "Anna"]},
        },
        outputs={
            "start_time": {"type": "Time?", "from": "{{ kept[0].start_time }}", "description": "when Anna comes"},
            "who": {"type": "string", "from": "Anna: {{ who }} {{ kind }}"},
        },
        name="find_anna",
    )

    assert places(tool | {"description": "Finds Anna in a video, and nobody else."}, "Anna") == [
        "$.tool_name",
        "$.description",
        "$.inputs.who.description",
        "$.inputs.who.default",
        "$.inputs.kind.enum[1]",
        "$.outputs.start_time.description",
        "$.outputs.who.from",
        "$.steps[1].where",
    ]


def test_without_entities_nothing_is_noted_and_the_tool_stays_sound(document: Any) -> None:
    tool = with_text(document, "Anna")

    assert places(tool) == []
    assert compile_document(tool, entities=["Anna"]).ok


def test_folding_twice_changes_nothing() -> None:
    for text in ("Ǆ ẞ İ ﬁ", "Ｊｏｓé", "가나 ガ", "  a - b_c "):
        assert fold(fold(text)) == fold(text)

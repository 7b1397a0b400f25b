"""Whoever and whatever the worked examples speak of is listed, so that a tool which holds it is noticed."""

from __future__ import annotations

import re

import pytest

from tool_induction.compiler import fold
from tool_induction.domains import load_domain, packaged_domains

#: words of the examples that name nothing a tool could be tied to: a new one has to be looked at before it stands here
ORDINARY = set(
    """
    a an and are as at by down for four from he his i in into is it its not of on or over she still such than that the
    their them then they this to two up us what when where which while who whenever with without yes has b c
    about after afterwards all always before between both differ different do does ever every first how later last many once
    only other people rounds same seconds screen three times total twice video why would days end
    appear begins boils carries checks clears directions fetches fold gives happen happens hang
    interrupts jump lead leave look moved opened old closed full put puts reads repaired
    repaints restore right rings saying says scraping seen shows sit spills stand talks arrival turns back
    buys trip careful company fond kind ground scene stop stops lie gone talk late minutes twenty aloud
    so can s say long coats door doors guests sign tables things tools person somebody
    """.split()
)
ORDINARY_ZH = """
    最后一次出现是什么时候 请按发生顺序排列 抬 跳上 贴 戴 的
    在整个视频中做了哪些事 她先在 等车 然后在 还书 最后 和朋友一起在 放 到 秒
"""


def examples(name: str) -> str:
    return " ".join(f"{item.question} {item.answer}" for item in load_domain(name).examples)


@pytest.mark.parametrize("name", packaged_domains())
def test_every_word_of_an_example_is_ordinary_or_belongs_to_a_listed_entity(name: str) -> None:
    listed = {word for entity in load_domain(name).entities.examples for word in re.findall(r"[a-z]+", fold(entity))}
    said = set(re.findall(r"[a-z]+", fold(examples(name))))
    assert said - listed - ORDINARY == set()


@pytest.mark.parametrize("name", packaged_domains())
def test_so_is_every_chinese_word(name: str) -> None:
    left = examples(name)
    known = [*load_domain(name).entities.examples, *ORDINARY_ZH.split()]
    for words in sorted(known, key=len, reverse=True):
        left = left.replace(words, " ")
    assert re.findall(r"[\u4e00-\u9fff]+", left) == []


@pytest.mark.parametrize("name", packaged_domains())
def test_an_entity_is_one_of_the_examples(name: str) -> None:
    """What no example speaks of would make sound tools look tied to one."""
    said = fold(examples(name))
    assert [entity for entity in load_domain(name).entities.examples if fold(entity) not in said] == []

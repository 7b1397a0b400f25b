"""Search in Chinese, English and both, over lines in either."""

from __future__ import annotations

from typing import Any

import pytest

from world_api.api import open_session
from world_api.operations import run

LINES = (
    "一辆红色汽车停在门口",
    "A red car stops at the gate",
    "今天的花园很安静",
    "The garden is quiet today",
    "他把蓝色文件夹放在桌上",
    "He put the blue folder on the desk",
    "我们明天 meeting 再讨论 budget",
    "The weather tomorrow will be cold",
    "机器学习的模型训练完了",
    "银行的行长在银行里",
)


@pytest.fixture
def session(make_world: Any) -> Any:
    made = {"speaker": "", "language": "en", "source": "sidecar", "confidence": 1.0, "producer": "made/1"}
    rows = [
        {"start": 10.0 * n + 1, "end": 10.0 * n + 5, "text": text, "known_at": 10.0 * n + 5, **made}
        for n, text in enumerate(LINES)
    ]
    cuts = [
        {"time": 10.0 * n, "score": 1.0, "kind": "cut", "known_at": 10.0 * n, "producer": "made/1"}
        for n in range(1, 10)
    ]
    make_world({"speech": rows, "cuts": cuts}, duration=100.0)
    return open_session(make_world.store, "made", name=None)


def found(session: Any, operation: str, query: str, top_k: int = 3) -> list[str]:
    result = run(session, operation, {"video_id": "made", "query": query, "top_k": top_k})
    return [item["snippet"] for item in result["candidates"]]


@pytest.mark.parametrize("operation", ["search_segments_by_text", "search_segments_by_semantics"])
@pytest.mark.parametrize("query", ["红色的车", "red car", "红色汽车", "a red automobile", "红色 car"])
def test_a_thing_is_found_in_both_languages_by_either(session: Any, operation: str, query: str) -> None:
    assert set(found(session, operation, query)[:2]) == set(LINES[:2])


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("花园安静", 2), ("quiet gardens", 3), ("文件夹", 4), ("folders", 5), ("budget", 6), ("讨论 budget", 6),
        ("明天", 6), ("cold weather", 7), ("机器学习", 8), ("训练模型", 8), ("行长", 9),
    ],
)  # fmt: skip
def test_the_line_that_holds_the_words_comes_first(session: Any, query: str, line: int) -> None:
    assert found(session, "search_segments_by_text", query)[0] == LINES[line]


def test_words_over_the_gap_between_two_runs_are_no_word(session: Any) -> None:
    from world_api.core import concepts

    assert concepts("面 孔") == frozenset()
    assert concepts("面孔") == {"face"}
    assert concepts("她红 色子") == {"red"}

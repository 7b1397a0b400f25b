"""The published files that are at hand, read whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from controller import SystemContext, answer_many
from controller.answers import Question
from controller.records import Answered
from eval.datasets import ensure_text_worlds, load_dataset
from eval.scoring import score_value
from world_api import SystemClock
from world_api.api import open_session
from world_api.chat import RuleBasedChatModel
from world_api.session import Session

pytestmark = pytest.mark.shared_data


def test_m3bench_robot_loads_whole(shared_data: Path) -> None:
    data = load_dataset("m3bench-robot", annotations=shared_data / "annotations" / "m3bench_robot.json")
    assert (len(data.videos), len(data.items), data.left_out) == (100, 1276, ())
    assert len(data.missing) == 100
    assert Counter(item.question.kind for item in data.items) == {"open": 1276}
    types = Counter(kind for item in data.items for kind in item.labels["type"])
    assert types == {
        "Multi-Detail Reasoning": 842,
        "Person Understanding": 548,
        "Cross-Modal Reasoning": 476,
        "General Knowledge Extraction": 327,
        "Multi-Hop Reasoning": 85,
    }
    assert all(item.id == item.labels.get("published_id", item.id) for item in data.items)


def test_m3bench_robot_questions_lie_in_the_clip_after_the_last_that_they_may_see(shared_data: Path) -> None:
    data = load_dataset("m3bench-robot", annotations=shared_data / "annotations" / "m3bench_robot.json")
    for item in data.items:
        assert item.question.as_of == (item.labels["before_clip"] + 1) * 30
        assert 0 <= item.labels["timestamp"] - item.question.as_of < 30
    first = data.items[1]
    assert (first.id, first.labels["before_clip"], first.question.as_of) == ("living_room_06_Q02", 31, 960.0)


def test_nextqa_loads_whole(shared_data: Path) -> None:
    data = load_dataset("nextqa", annotations=shared_data / "annotations" / "nextqa_val.csv")
    assert (len(data.videos), len(data.items), data.left_out) == (570, 4996, ())
    types = Counter(item.labels["type"] for item in data.items)
    assert types == {"CW": 1924, "TN": 895, "CH": 683, "TC": 663, "DO": 305, "DL": 295, "DC": 177, "TP": 54}
    assert Counter(item.answer for item in data.items) == {"A": 1013, "B": 1013, "C": 991, "D": 967, "E": 1012}
    assert all(len(item.question.options) == 5 for item in data.items)
    assert sum(any("(2)" in option for option in item.question.options) for item in data.items) == 3


def test_locomo_loads_whole(shared_data: Path) -> None:
    data = load_dataset("locomo", annotations=shared_data / "annotations" / "locomo10.zip")
    assert (len(data.videos), len(data.items), data.left_out) == (10, 1986, ())
    assert Counter(item.labels["category"] for item in data.items) == {4: 841, 5: 446, 2: 321, 1: 282, 3: 96}
    assert Counter(item.question.kind for item in data.items) == {"open": 1540, "choice": 446}
    assert sum("unknown_evidence" in item.labels for item in data.items) == 3
    letters = Counter(item.answer for item in data.items if item.question.kind == "choice")
    assert min(letters.values()) > 180  # neither letter is the better guess
    turns = [
        turn for video in data.videos.values() if video.text for part in video.text.sessions for turn in part.turns
    ]
    assert len(turns) == 5882
    assert all(item.spans or not item.labels for item in data.items if item.labels["category"] == 4)


def test_locomo_runs_from_the_file_to_scores(shared_data: Path, tmp_path: Path) -> None:
    data = load_dataset("locomo", annotations=shared_data / "annotations" / "locomo10.zip")
    small = [item for item in data.items if item.video_id == "locomo-30"]
    assert ensure_text_worlds(data, tmp_path) == tuple(sorted(data.videos))
    asked = small[::20]

    def opened(question: Question) -> Session:
        return open_session(tmp_path, "locomo-30", as_of=question.as_of, name=None)

    context = SystemContext(model=RuleBasedChatModel(), clock=SystemClock())
    answers = answer_many(
        [item.question for item in asked], open_session=opened, system="flat", context=context, at_once=2
    )
    for item, found in zip(asked, answers, strict=True):
        assert isinstance(found, Answered)
        assert found.episode.outcome == "submitted"
        score = score_value(item, found.episode.value, found.episode.answer, protocol=data.protocol)
        assert score.scorer in ("locomo/1", "choice/1")
    cited = [found.episode.spans for found in answers if isinstance(found, Answered)]
    assert any(spans for spans in cited)

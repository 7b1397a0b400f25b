"""The systems that are given what they answer from: ``direct``, ``socratic``, ``blind``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Budget
from controller.systems import build_system, clips
from tests.support.scripted import ScriptedChatModel
from tests.support.systems import data_in, pictures_in, seconds_shown, text_of
from world_api.api import open_session
from world_api.chat import RuleBasedChatModel
from world_api.core import EpisodeFault

# --- direct -------------------------------------------------------------------------------------------------------


def test_frames_lie_at_the_middles_of_equal_parts(play: Any) -> None:
    played = play("direct", options={"frames": 6})
    [call] = [call for call in played.episode.calls if call.tool == "sample_frames"]
    assert [frame["time"] for frame in call.result["frames"]] == [5.0, 15.0, 25.0, 35.0, 45.0, 55.0]
    assert seconds_shown(pictures_in(played.requests[0])) == [5, 15, 25, 35, 45, 55]


def test_frames_are_those_of_the_visible_part(play: Any) -> None:
    played = play("direct", as_of=12.0, options={"frames": 3})
    assert seconds_shown(pictures_in(played.requests[0])) == [2, 6, 10]


def test_frames_are_made_small_and_never_large(play: Any) -> None:
    small = pictures_in(play("direct", options={"frames": 1, "max_side": 64}).requests[0])
    whole = pictures_in(play("direct", options={"frames": 1, "max_side": 4000}).requests[0])
    assert (small[0].shape, whole[0].shape) == ((36, 64, 3), (90, 160, 3))


def test_each_picture_comes_after_its_time_and_the_transcript_with_them(play: Any) -> None:
    [request] = play("direct", options={"frames": 2}).requests
    kinds = [part["type"] for part in request["messages"][1]["content"]]
    assert kinds == ["text", "text", "image_url", "text", "image_url"]
    assert [part["text"] for part in request["messages"][1]["content"][1::2]] == ["15 s", "45 s"]
    assert "blue folder" in str(data_in(request))
    assert [tool["function"]["name"] for tool in request["tools"]] == ["submit_answer"]


def test_the_transcript_can_be_left_out(play: Any) -> None:
    [request] = play("direct", options={"frames": 2, "transcript": False}).requests
    assert "blue folder" not in str(request)


def test_a_model_that_takes_no_images_is_refused_before_anything_is_asked(context: Any) -> None:
    for chosen in ({"takes_images": False}, {"takes_images": None, "model": RuleBasedChatModel()}):
        with pytest.raises(EpisodeFault, match="model_takes_no_images"):
            build_system("direct", context(**chosen))
    assert build_system("direct", context(takes_images=None)) is not None  # nobody knows: the server will say


def test_a_video_that_is_not_on_this_machine_fails_by_name(context: Any, make_world: Any) -> None:
    make_world()
    given = context()
    session = open_session(make_world.store, "made", name=None)
    episode = build_system("direct", given).answer(Question(text="What?"), session)
    assert (episode.outcome, episode.reason) == ("failed", "source_missing")
    assert given.model.requests == []


def test_a_video_that_cannot_be_decoded_fails_by_name(
    context: Any, film_store: Any, film: Path, tmp_path: Path
) -> None:
    import json

    store = film_store()
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"\0" * film.stat().st_size)
    (store / "made" / "local.json").write_text(json.dumps({"source_path": str(broken)}))
    session = open_session(store, "made", name=None)
    episode = build_system("direct", context()).answer(Question(text="What?"), session)
    assert episode.outcome == "failed"
    assert episode.fault is not None and episode.fault.code in ("not_a_video", "undecodable", "source_missing")


def test_frames_are_decoded_together_and_sent_as_every_picture_is(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from world_api.core import Picture
    from world_api.media import VideoFrames
    from world_api.perception import data_url

    asked: list[list[float]] = []
    taken: list[str] = []
    real = VideoFrames.pictures_played_at

    def watched(self: VideoFrames, times: Any, longest_side: int | None) -> Any:
        asked.append(list(times))
        images = real(self, times, longest_side)
        taken.extend(data_url(Picture(time=time, image=image), 64) for time, image in zip(times, images, strict=True))
        return images

    monkeypatch.setattr(VideoFrames, "pictures_played_at", watched)
    played = play("direct", options={"frames": 40, "max_side": 64, "transcript": False})
    assert [len(times) for times in asked] == [32, 8]
    content = played.requests[0]["messages"][1]["content"]
    assert [part["image_url"]["url"] for part in content if part["type"] == "image_url"] == taken
    [call] = [call for call in played.episode.calls if call.tool == "sample_frames"]
    assert len({frame["picture"] for frame in call.result["frames"]}) == 40


@pytest.mark.parametrize(("name", "options"), [("direct", {"frames": 1}), ("blind", {"variant": "transcript"})])
def test_no_call_of_a_system_has_the_name_of_an_operation(play: Any, name: str, options: dict[str, Any]) -> None:
    from world_api.operations import EVERY_OPERATION

    made = {call.tool for call in play(name, options=options).episode.calls}
    assert made and not made & set(EVERY_OPERATION)


def test_nothing_visible_is_nothing_shown(play: Any) -> None:
    played = play("direct", as_of=0.0)
    assert pictures_in(played.requests[0]) == []
    assert played.episode.outcome == "submitted"


# --- socratic -----------------------------------------------------------------------------------------------------


def test_clips_tile_the_visible_video() -> None:
    assert [(clip["start_time"], clip["end_time"]) for clip in clips("v", 70.0, 30.0)] == [(0, 30), (30, 60), (60, 70)]
    assert clips("v", 0.0, 30.0) == []
    assert len(clips("v", 60.0, 30.0)) == 2


def test_every_clip_is_described_and_the_fitting_ones_are_given(play: Any) -> None:
    played = play("socratic", options={"clip_seconds": 10.0, "top_k": 1})
    told = [call for call in played.episode.calls if call.tool == "describe_segment"]
    assert [call.arguments["start_time"] for call in told] == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    [data] = data_in(played.requests[0])
    assert [item["time"] for item in data["captions"]] == ["20-30"]
    assert "blue folder" in data["captions"][0]["caption"]
    assert data["of"] == 6


def test_captions_are_found_in_chinese(play: Any) -> None:
    played = play("socratic", "花园里怎么样？", options={"clip_seconds": 10.0, "top_k": 1})
    [data] = data_in(played.requests[0])
    assert "今天的花园很安静" in data["captions"][0]["caption"]


def test_where_no_caption_fits_some_of_all_parts_are_given_and_it_is_said(play: Any) -> None:
    played = play("socratic", "zzz qqq?", options={"clip_seconds": 10.0, "top_k": 2})
    [data] = data_in(played.requests[0])
    assert [item["time"] for item in data["captions"]] == ["0-10", "30-40"]
    assert "spread evenly" in data["hint"]


def test_an_answer_cites_what_was_given(play: Any) -> None:
    from world_api.chat import Call, completion

    spans = [{"start_time": 20.0, "end_time": 30.0}, {"start_time": 21.0, "end_time": 28.0}]
    answer = Call(tool="submit_answer", arguments={"answer": "x", "spans": spans}, id="end")
    script = ScriptedChatModel([completion(model="scripted", calls=[answer])])
    episode = play("socratic", options={"clip_seconds": 10.0}, model=script).episode
    assert [bool(span.returned_by) for span in episode.spans] == [True, False]


def test_a_world_of_which_nothing_is_visible_fails_by_name(play: Any) -> None:
    episode = play("socratic", as_of=0.0).episode
    assert (episode.outcome, episode.reason) == ("failed", "no_captions")


# --- blind --------------------------------------------------------------------------------------------------------


def test_the_question_alone_holds_nothing_of_the_video(play: Any) -> None:
    [request] = play("blind").requests
    assert data_in(request) == []
    assert "folder" not in text_of(request["messages"][0])
    assert [tool["function"]["name"] for tool in request["tools"]] == ["submit_answer"]


def test_the_transcript_is_given_with_its_times(play: Any) -> None:
    [request] = play("blind", options={"variant": "transcript"}).requests
    [data] = data_in(request)
    assert [line["time"] for line in data["lines"]] == ["22-25", "45-49"]
    assert "truncated" not in data


def test_a_transcript_longer_than_the_window_takes_is_cut_and_says_where(play: Any, minute_rows: Any) -> None:
    [line] = minute_rows["speech"][:1]
    minute_rows["speech"] = [
        {**line, "start": 0.5 * n, "end": 0.5 * n + 0.4, "known_at": 0.5 * n + 0.4, "text": f"line number {n}"}
        for n in range(110)
    ]
    whole = play("blind", options={"variant": "transcript"}, rows=minute_rows)
    assert len(data_in(whole.requests[0])[0]["lines"]) == 110
    cut = play("blind", options={"variant": "transcript"}, rows=minute_rows, budget=Budget(window=3000))
    [data] = data_in(cut.requests[0])
    assert 10 < len(data["lines"]) < 110
    assert data["truncated"]
    assert f"the first {len(data['lines'])} of 110 lines" in data["hint"]


def test_a_silent_video_says_so(play: Any, minute_rows: Any) -> None:
    minute_rows["speech"] = []
    [request] = play("blind", options={"variant": "transcript"}, rows=minute_rows).requests
    assert "nothing was heard" in data_in(request)[0]["hint"]


# --- answers in their type ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["direct", "socratic", "blind", "pipeline"])
def test_answers_are_asked_for_in_the_type_of_the_question(play: Any, name: str) -> None:
    question = Question(text="What is asked for?", kind="choice", options=("a cup", "a folder"))
    request = play(name, question=question).requests[0]
    submit = next(tool for tool in request["tools"] if tool["function"]["name"] == "submit_answer")
    assert submit["function"]["parameters"]["properties"]["answer"]["enum"] == ["A", "B"]
    assert "a folder" in text_of(request["messages"][1])


# --- the model that needs no endpoint ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "span"),
    [
        ("socratic", {"clip_seconds": 10.0}, (20.0, 30.0)),
        ("blind", {"variant": "transcript"}, (22.0, 25.0)),
    ],
)
def test_the_rule_based_model_answers_from_what_it_was_given(
    play: Any, name: str, options: dict[str, Any], span: tuple[float, float]
) -> None:
    episode = play(name, "What is said about the folder?", model=RuleBasedChatModel(), options=options).episode
    assert "blue folder" in episode.answer
    assert [(item.start_time, item.end_time, bool(item.returned_by)) for item in episode.spans] == [(*span, True)]

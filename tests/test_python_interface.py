"""The Python interface: a world, results and episodes, their faults, and how they show themselves in notebooks."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import videoworld as vw
from eval.commands import COMMANDS as EVAL_COMMANDS
from tests.conftest import Rows, WorldMaker
from tests.support.runs import prepare
from videoworld.command import COMMANDS
from world_api.installation import install_command

HOSTILE = '<img src=x onerror="alert(1)"></td></div><script>alert(2)</script>\u202e'


@pytest.fixture
def world(make_world: WorldMaker, monkeypatch: pytest.MonkeyPatch) -> vw.World:
    """The made minute, found through the environment as the command finds it."""
    make_world()
    monkeypatch.setenv("VIDEOWORLD_STORE", str(make_world.store))
    return vw.open("made", session=None)


class Tags(HTMLParser):
    """The tags of a fragment, the names of their attributes, and the text; every tag must be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "img":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def refused(call: Callable[[], object]) -> vw.VideoWorldError:
    with pytest.raises(vw.VideoWorldError) as caught:
        call()
    assert caught.value.hint, "the fault does not say what to do"
    return caught.value


def test_a_world_lists_scenes_entities_and_speech_as_the_operations_do(world: vw.World) -> None:
    whole = vw.run(world.session, "list_scenes", {"video_id": "made"})
    assert world.scenes().record == whole
    assert [scene["scene_id"] for scene in world.scenes(within=(21, 30))] == ["scene_0001"]
    assert [one["hint"] for one in world.entities()][:2] == ["person in black", "person in red and white"]
    speech = world.speech()
    assert [line["text"] for line in speech] == ["Where did you put the blue folder?", "今天的花园很安静"]
    assert {item["source"] for item in speech["evidence"]} == {"speech"}
    assert [line["text"] for line in world.speech(within=(40, 60))] == ["今天的花园很安静"]
    assert world.search("a person in red", top_k=2)[0]["source"] == "tracker"


def test_a_result_is_its_rows_and_keeps_what_is_not_known(world: vw.World) -> None:
    dogs = world.call("detect_objects", timestamp=24, category="dog")
    assert len(dogs) == 0
    assert dogs["not_judged"] == ["dog"]
    assert "not judged: dog" in repr(dogs)
    assert "not judged: dog" in Tags(dogs._repr_html_()).text
    (facts,) = world.call("get_video_metadata")
    assert facts["duration"] == 60
    assert refused(lambda: dogs["dogs"]).code == "no_such_field"


def test_behind_a_cut_nothing_later_is_seen(world: vw.World) -> None:
    early = vw.open("made", as_of=30, session=None)
    assert (early.as_of, early.duration) == (30, 30)
    assert len(early.entities()) < len(world.entities())
    assert [line["start_time"] for line in early.speech()] == [22]
    assert refused(lambda: early.frame(31)).code == "not_yet"
    shown = Tags(early._repr_html_()).text
    assert "今天" not in shown
    assert "0:30.0" in shown
    assert early.ask("Who comes first?").task.question.as_of == 30


def test_a_world_is_opened_by_id_by_folder_and_never_by_a_wrong_name(world: vw.World, tmp_path: Path) -> None:
    assert vw.open(world.store / "made").id == "made"
    assert vw.open(Path("made"), store=world.store).id == "made"
    assert "did you mean 'made'?" in refused(lambda: vw.open("mad")).hint
    assert refused(lambda: vw.open(tmp_path / "none.mp4")).code == "no_such_file"
    assert refused(lambda: vw.build(tmp_path / "none.mp4")).code == "no_such_file"
    (tmp_path / "link.mp4").symlink_to("gone.mp4")
    assert "link.mp4 is a link to gone.mp4" in refused(lambda: vw.open(tmp_path / "link.mp4")).hint
    assert "link.mp4 is a link to gone.mp4" in refused(lambda: vw.build(tmp_path / "link.mp4")).hint
    with pytest.raises(TypeError, match="the path of a video is needed, not 5"):
        vw.build(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the path of a video is needed, not None"):
        vw.open(None)  # type: ignore[arg-type]
    assert refused(lambda: vw.open("made", as_of=-1)).code == "bad_as_of"


def test_a_wrong_call_says_what_to_do_next(world: vw.World) -> None:
    assert "did you mean 'detect_objects'?" in refused(lambda: world.call("detect_object")).hint
    fault = refused(lambda: world.call("detect_objects", timestamp="noon", colour="red"))
    assert (fault.code, "category is missing" in fault.message) == ("bad_arguments", True)
    assert refused(lambda: world.frame(1)).code == "source_missing"
    assert refused(lambda: world.frame(-1)).code == "time_out_of_range"
    assert refused(lambda: world.frame(float("nan"))).code == "time_out_of_range"
    assert refused(lambda: world.ask("")).code == "bad_question"
    assert refused(lambda: world.ask("Who?", tools="hand_Z")).code == "no_such_library"


def test_numbers_of_numpy_are_numbers(world: vw.World) -> None:
    scenes = world.scenes().to_pandas()
    assert list(scenes.scene_id) == [scene["scene_id"] for scene in world.scenes()]
    row = scenes.iloc[1]
    found = world.call("search_segments_by_text", query="person", top_k=scenes.scenes[1])
    assert len(found) == 1
    assert world.call("get_segment", start_time=row.start_time, end_time=row.end_time)["scene_ids"] == [row.scene_id]


def test_without_pandas_the_extra_is_named(world: vw.World, monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = world.scenes()
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert refused(scenes.to_pandas).hint == install_command("eval")


def test_asking_gives_an_episode_with_evidence(world: vw.World, tmp_path: Path) -> None:
    episode = world.ask("When does a person in red first appear?", tools="hand_A", record=tmp_path / "episodes")
    assert isinstance(episode, vw.Episode)
    assert episode.spans
    assert (episode.task.system, episode.model) == ("hier", "rule-based")
    assert episode.to_pandas().tool[0] == "locate_first_appearance"
    journal = vw.Journal(tmp_path / "episodes")
    (kept,) = journal.scan()
    assert kept.name == episode.recorded_as
    assert kept.episode.record() == episode.record()  # type: ignore[union-attr]
    assert episode.answer in repr(episode)  # type: ignore[operator]
    html = Tags(episode._repr_html_())
    assert "plumbing, not a result" in html.text
    assert "locate_first_appearance" in html.text


def test_what_waits_can_be_awaited_beside_other_work(world: vw.World) -> None:
    async def cell() -> list[Any]:
        direct = world.ask("Who is there?")  # in the running loop of a notebook
        both = await asyncio.gather(world.aask("Who is there?"), world.aask("Who is there?"))
        with pytest.raises(vw.VideoWorldError, match="no_such_file"):
            await vw.abuild("none.mp4")
        return [direct, *both]

    first, *others = asyncio.run(cell())
    assert [other.answer for other in others] == [first.answer] * 2
    assert [function.__name__ for function in (vw.abuild, vw.ainduce, vw.arun_experiment)] == [
        "abuild", "ainduce_library", "arun_and_score",
    ]  # fmt: skip


def test_hostile_texts_are_text(make_world: WorldMaker, minute_rows: Rows) -> None:
    for row in (*minute_rows["speech"], *minute_rows["screen_texts"]):
        row["text"] = HOSTILE
    make_world(minute_rows, video_id="bad")
    world = vw.open("bad", store=make_world.store, session=None)
    world.call("write_memory", level="segment", time_range={"start_time": 1, "end_time": 2}, content=HOSTILE)
    shown = [
        world, world.scenes(), world.speech(), world.search("onerror"), world.ask(HOSTILE),
        world.call("read_memory", level="segment", query=HOSTILE, top_k=3),
    ]  # fmt: skip
    for one in shown:
        html = one._repr_html_()
        found = Tags(html)
        assert not found.tags & {"script", "iframe", "a", "link"}
        assert found.attributes <= {"class", "style", "title", "src", "alt"}
        assert "onerror" in html
        assert "\u202e" not in html + repr(one)


def test_only_public_names_are_listed(world: vw.World) -> None:
    assert dir(vw) == sorted(vw.__all__)
    assert {"build", "open", "induce", "run_experiment", "abuild", "World", "Result"} <= set(dir(vw))
    assert [name for name in (*dir(world), *dir(world.scenes())) if name.startswith("_")] == []
    assert {"ask", "aask", "scenes", "search", "frame", "call"} <= set(dir(world))


@pytest.mark.parametrize(
    ("function", "command"),
    [
        (vw.build, COMMANDS["build"]),
        (vw.World.ask, COMMANDS["ask"]),
        (vw.induce, COMMANDS["induce"]),
        (vw.run_experiment, EVAL_COMMANDS["run"]),
    ],
)
def test_functions_have_the_defaults_of_the_commands(function: Callable[..., Any], command: Any) -> None:
    def defaults(of: Callable[..., Any]) -> dict[str, Any]:
        given = {name: item.default for name, item in inspect.signature(of).parameters.items()}
        return {name: value for name, value in given.items() if value is not inspect.Parameter.empty}

    own, theirs = defaults(function), defaults(getattr(import_module(command.module), command.entry))
    shared = own.keys() & theirs.keys() - {"store", "out"}
    assert len(shared) >= 2
    assert {name: own[name] or None for name in shared} == {name: theirs[name] or None for name in shared}


def test_an_experiment_runs_and_goes_on_from_python(tmp_path: Path) -> None:
    config = prepare(tmp_path, videos=("made",))
    done = vw.run_experiment(config, settings=["seeds=[1]"], out=tmp_path / "run")
    assert (done.folder, done.outcome.complete, done.fault) == (tmp_path / "run", True, None)
    arms = done.to_pandas().set_index("arm")
    assert arms.done.sum() == done.outcome.tally.planned
    assert vw.run_experiment(str(tmp_path / "run")).outcome.tally.ran == 0
    assert refused(lambda: vw.run_experiment(tmp_path / "none.yaml")).code


def test_a_library_is_induced_from_a_document(tmp_path: Path) -> None:
    document = Path(__file__).parents[1] / "toollibs" / "examples" / "people.json"
    options: dict[str, Any] = {"document": document, "example_worlds": None, "repairs": 0}
    made = vw.induce("A_locate_count", out=tmp_path / "made", progress=lambda _: None, **options)
    assert "locate_first_appearance" in made.library.tools
    assert vw.load_library(tmp_path / "made").hash == made.library.hash
    assert refused(lambda: vw.induce("A_locate_count", out=tmp_path / "x", count=99)).code == "bad_induction"

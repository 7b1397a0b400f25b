"""The controls of ``hier``: the domain's text, and the tools in words; and the guard of what was shown."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from controller.answers import Question
from controller.systems import build_system
from tests.controller.systems.test_contract import OWN
from tests.support.systems import text_of
from tool_induction import load_library
from tool_induction.curation import make_arm
from tool_induction.domains import load_domain
from tool_induction.inducer import InducerPrompts
from world_api.api import open_session
from world_api.core import EpisodeFault, ToolFault
from world_api.operations import OPERATIONS

DOMAIN = "A_locate_count"


def instructions(played: Any) -> str:
    return text_of(played.requests[0]["messages"][0])


def offered(played: Any) -> list[str]:
    return [tool["function"]["name"] for tool in played.requests[0]["tools"]]


def test_the_domain_is_told_as_an_induction_is_told_it(play: Any) -> None:
    played = play("flat+domain", options={"seed": 4})
    domain = load_domain(DOMAIN)
    assert InducerPrompts().domain(domain, seed=4) in instructions(played)
    assert set(offered(played)) == {*OPERATIONS, "read_more", "submit_answer"}
    assert played.episode.task.settings["domain"] == {"name": DOMAIN, "hash": domain.hash}
    assert played.episode.task.library is None


def test_no_question_of_another_split_is_told(play: Any) -> None:
    told = instructions(play("flat+domain"))
    domain = load_domain(DOMAIN)
    for split in ("admission", "development", "test"):
        for template in domain.templates(split):
            assert all(wording not in told for wording in template.wordings), template.id


def test_flat_is_told_neither_domain_nor_tools(play: Any) -> None:
    told = instructions(play("flat"))
    assert load_domain(DOMAIN).title not in told
    assert not [name for name in load_library("hand_A").tools if name in told]


def test_a_domain_has_to_be_given(context: Any) -> None:
    with pytest.raises(EpisodeFault, match="no_domain"):
        build_system("flat+domain", context(domain=None))


@pytest.mark.parametrize("name", ["hier", "hints"])
def test_a_library_has_to_be_given(context: Any, name: str) -> None:
    with pytest.raises(EpisodeFault, match="no_library"):
        build_system(name, context(library=None))


def test_hints_say_of_the_tools_what_their_declarations_say(play: Any) -> None:
    hints, hier = play("hints"), play("hier")
    told = instructions(hints)
    library = load_library("hand_A").tools
    for tool in hier.requests[0]["tools"]:
        function = tool["function"]
        if function["name"] in library:
            assert f"{function['name']}: {function['description']}" in told
            for name, schema in function["parameters"]["properties"].items():
                assert name == "video_id" or f"- {name}" in told
                assert name == "video_id" or schema.get("description", "") in told
    assert set(offered(hints)) == {*OPERATIONS, "read_more", "submit_answer"}


def test_the_arm_of_a_library_stands_in_the_settings(play: Any, tmp_path: Any) -> None:
    parent = load_library("hand_A")
    arm = make_arm("random", parent, tmp_path / "arm", name="arm", date="2026-01-01", seed=5)
    for name in ("hier", "hints"):
        task = play(name, library=arm).episode.task
        assert (task.library.name, task.library.hash) == ("arm", arm.hash)
        assert task.settings["arm"]["arm"] == "random"
        assert task.settings["arm"]["of"] == {"name": "hand_A", "content_hash": parent.hash}
    own = play("hier").episode.task.settings["arm"]
    assert (own["arm"], own["origin"], own["domain"]) == (None, "hand-written", DOMAIN)


@pytest.mark.parametrize("name", OWN)
def test_a_worked_example_of_the_domain_is_no_question_for_any_arm(context: Any, film_store: Any, name: str) -> None:
    domain = load_domain(DOMAIN)
    session = open_session(film_store(), "made", name=None)
    given = context(library=load_library("hand_A"))
    with pytest.raises(ToolFault, match="split_leak"):
        build_system(name, given).answer(Question(text=domain.examples[0].question.upper()), session)
    assert given.model.requests == []
    if name != "flat+domain":
        without = context(domain=None)
        answered = build_system(name, without).answer(Question(text=domain.examples[0].question), session)
        assert answered.answer == "In the room."  # nobody was shown it


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("domain", [None, "B_order_cause"])
def test_what_a_librarys_induction_was_shown_is_no_question_whatever_the_domain(
    context: Any, film_store: Any, name: str, domain: str | None
) -> None:
    if domain is None and name == "flat+domain":
        pytest.skip("it needs a domain")
    session = open_session(film_store(), "made", name=None)
    plain = load_library("hand_A")
    shown = replace(
        plain,
        manifest={**plain.manifest, "induction": {"examples_used": ["Where is the folder?"], "review": "Nothing."}},
    )
    given = context(library=shown, domain=None if domain is None else load_domain(domain))
    system = build_system(name, given)
    with pytest.raises(ToolFault, match="hand_A"):
        system.answer(Question(text="where is the folder"), session)
    assert given.model.requests == []
    assert system.answer(Question(text="Where is the red cup?"), session).answer == "In the room."


def test_the_control_of_a_review_is_given_the_text_of_the_review_and_no_tools(play: Any) -> None:
    played = play("flat+review")
    assert "A call, and what is true of 视频 7." in instructions(played)
    offered = {item["function"]["name"] for item in played.requests[0]["tools"]}
    assert offered == {item["function"]["name"] for item in play("flat").requests[0]["tools"]}
    with pytest.raises(EpisodeFault, match="no_review"):
        play("flat+review", library=load_library("hand_A"))


@pytest.mark.parametrize("name", ["flat", "hier", "blind", "flat+domain"])
def test_a_split_keeps_what_other_splits_have_seen_apart(context: Any, film_store: Any, name: str) -> None:
    domain = load_domain(DOMAIN)
    session = open_session(film_store(), "made", name=None)
    template = next(item for item in domain.templates("induction") if "{" in item.en)
    filled = template.en
    for part in ("{", "}"):
        filled = filled.replace(part, "")
    system = build_system(name, context(options={"split": "test"}))
    with pytest.raises(ToolFault, match="split_leak"):
        system.answer(Question(text=filled), session)
    episode = system.answer(Question(text="An entirely different matter?"), session)
    assert episode.task.settings["split"] == "test"
    assert episode.task.settings["domain"]["hash"] == domain.hash


def test_a_split_without_a_domain_is_refused(context: Any) -> None:
    with pytest.raises(EpisodeFault, match="no_domain"):
        build_system("flat", context(options={"split": "test"}, domain=None))


def test_what_is_told_is_material_of_the_episode_and_no_secret(play: Any) -> None:
    settings = play("flat+domain").episode.task.settings
    assert json.loads(json.dumps(settings)) == settings

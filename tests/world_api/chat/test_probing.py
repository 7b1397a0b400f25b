"""What a probe concludes from what a server does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.json_servers import WithoutTools
from tests.support.model_server import Manners
from world_api.chat import CHECKS, Capabilities, Endpoint, capabilities_of, endpoint_model
from world_api.core import BackendFault
from world_api.installation import cache_folder

KEY = "sk-a-key-that-nobody-may-see"
Probe = Callable[..., Capabilities]


@pytest.fixture
def probe(chat_server: Any, stepping_clock: Any) -> Probe:
    """Probes the loopback server."""

    def run(*, model: str = "m", cache: Path | None = None, base_url: str | None = None, **how: Any) -> Capabilities:
        clock = stepping_clock()
        endpoint = Endpoint(base_url=base_url or chat_server.url, api_key=KEY, timeout=5, retries=1)
        return capabilities_of(endpoint, model, cache=cache, clock=clock, sleep=clock.sleep, **how)

    return run


def outcomes(found: Capabilities) -> dict[str, str]:
    return {name: found.check(name).outcome for name in CHECKS}


def test_a_good_server_is_found_good_in_everything(chat_server: Any, probe: Probe) -> None:
    chat_server.respond(Manners(responses=True))
    assert outcomes(probe()) == {**dict.fromkeys(CHECKS, "ok"), "json": "not_tried"}


def test_a_good_server_with_only_responses_is_spoken_to_there(chat_server: Any, probe: Probe) -> None:
    chat_server.respond(Manners(chat=False, responses=True))
    found = probe()
    assert found.wire == "responses"
    assert {name for name, outcome in outcomes(found).items() if outcome != "ok"} == {"chat", "json"}


def test_a_chat_wire_that_refuses_tools_and_names_responses_is_left_for_it(chat_server: Any, probe: Probe) -> None:
    chat_server.respond(Manners("points_elsewhere", responses=True))
    found = probe()
    assert (found.wire, found.can("tools"), found.check("chat").outcome) == ("responses", True, "wrong")
    assert [received.path for received in chat_server.received][:2] == ["/v1/chat/completions", "/v1/responses"]


#: fault of the server -> what is found otherwise than on a good one
WITHOUT_TOOLS = {"parallel_calls": "not_tried", "json": "wrong"}
FAULTS: dict[str, dict[str, str]] = {
    **{name: {"tools": "wrong", **WITHOUT_TOOLS} for name in ("drops_tools", "empty_arguments", "object_arguments")},
    "refuses_tools": {"tools": "not_offered", **WITHOUT_TOOLS},
    "one_call": {"parallel_calls": "not_offered"},
    "refuses_null": {"tools": "wrong", "json": "wrong"},
    "forgets_results": {"tools": "wrong", "json": "wrong"},
    "blind": {"images": "wrong"},
    "refuses_images": {"images": "not_offered"},
    "image_failure": {"images": "not_offered"},
    **{manner: {} for manner in ("no_ids", "same_ids", "no_usage", "thinks", "signs", "thinks_aloud")},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_server_is_found_where_it_is_and_nowhere_else(
    chat_server: Any, probe: Probe, fault: str
) -> None:
    chat_server.respond(Manners(fault, responses=True))
    found = outcomes(probe())
    assert {name: outcome for name, outcome in found.items() if outcome != "ok"} == {
        "json": "not_tried",
        **FAULTS[fault],
    }


@pytest.mark.parametrize(
    ("fault", "usable"),
    [
        *((fault, False) for fault in ("drops_tools", "refuses_tools", "text_calls", "empty_arguments")),
        *((fault, False) for fault in ("object_arguments", "refuses_null", "forgets_results")),
        *((fault, True) for fault in ("no_ids", "one_call", "blind", "no_usage", "ignores_schema")),
    ],
)
def test_what_a_controller_cannot_do_without_decides_whether_a_model_can_be_one(
    chat_server: Any, probe: Probe, fault: str, usable: bool
) -> None:
    chat_server.respond(Manners(fault))
    assert probe().usable is usable


def test_a_call_written_as_text_is_named(chat_server: Any, probe: Probe) -> None:
    for fault in ("text_calls", "prose_calls"):
        chat_server.respond(Manners(fault))
        assert "a call written as text" in probe(again=True).check("tools").seen


def test_estimated_tokens_are_told_where_a_server_counts_none(chat_server: Any, probe: Probe) -> None:
    chat_server.respond(Manners("no_usage"))
    spent = probe().spent
    assert spent.estimated
    assert spent.prompt > 0


def test_a_finding_is_kept_for_this_endpoint_model_and_version(chat_server: Any, probe: Probe, tmp_path: Path) -> None:
    chat_server.respond(Manners())
    first, sent = probe(cache=tmp_path), len(chat_server.received)
    assert probe(cache=tmp_path) == first
    assert len(chat_server.received) == sent
    probe(cache=tmp_path, model="n")
    probe(cache=tmp_path, again=True)
    assert len(chat_server.received) == 3 * sent


def test_a_finding_of_another_version_is_left_aside(
    chat_server: Any, probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_server.respond(Manners())
    probe(cache=tmp_path)
    sent = len(chat_server.received)
    monkeypatch.setattr("world_api.chat.capabilities.project_version", lambda: "99.0")
    probe(cache=tmp_path)
    assert len(chat_server.received) == 2 * sent


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"of": 1}', b"\xff\xfe"])
def test_a_damaged_finding_is_asked_for_again(chat_server: Any, probe: Probe, tmp_path: Path, damage: bytes) -> None:
    chat_server.respond(Manners())
    probe(cache=tmp_path)
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(damage)
    assert probe(cache=tmp_path).can("tools") is True
    assert json.loads(path.read_bytes())["found"]["wire"] == "chat"


def test_a_finding_whose_checks_are_not_ones_is_left_aside(chat_server: Any, probe: Probe, tmp_path: Path) -> None:
    chat_server.respond(Manners())
    probe(cache=tmp_path)
    (path,) = tmp_path.rglob("*.json")
    path.write_text(path.read_text().replace('"outcome": "ok"', '"outcome": "splendid"'))
    sent = len(chat_server.received)
    probe(cache=tmp_path)
    assert len(chat_server.received) == 2 * sent


def test_neither_the_key_nor_credentials_in_the_address_are_kept(
    chat_server: Any, probe: Probe, tmp_path: Path
) -> None:
    port = chat_server.url.split(":")[-1]
    address = f"http://someone:hidden-word@127.0.0.1:{port}?api_key=hidden-word"
    chat_server.play(chat_server.refusal(400, f"no tools for {KEY}"))
    found = probe(cache=tmp_path, base_url=address)
    kept = "".join(path.read_text() + str(path) for path in tmp_path.rglob("*") if path.is_file())
    assert found.can("tools") is False
    assert "no tools for [key]" in kept
    assert KEY not in kept
    assert "hidden-word" not in kept


def test_a_folder_that_cannot_be_written_costs_asking_again_and_nothing_else(
    chat_server: Any, probe: Probe, tmp_path: Path
) -> None:
    chat_server.respond(Manners())
    (tmp_path / "endpoints").write_text("a file where the folder should be")
    assert probe(cache=tmp_path).can("tools") is True


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda server: server.refusal(401, "who are you"), "endpoint_refused_key"),
        (lambda server: server.refusal(404, "The model `m` does not exist"), "endpoint_unknown_model"),
        (lambda server: server.refusal(429, "slow down"), "endpoint_rate_limited"),
        (lambda server: server.refusal(500, "oops"), "endpoint_error"),
        (lambda server: server.refusal(404, "Not Found"), "endpoint_error"),
        (lambda server: server.raw(b"<html><body>Welcome</body></html>"), "endpoint_error"),
        (lambda server: server.raw(b'data: {"choices": []}\n\ndata: [DONE]\n\n'), "endpoint_error"),
        (lambda server: server.ok({"error": {"message": "overloaded"}}), "endpoint_error"),
        (lambda server: server.ok([1, 2]), "endpoint_error"),
        (lambda server: server.ok({"choices": [None], "output": 3}), "endpoint_error"),
    ],
)
def test_what_teaches_nothing_is_named_and_not_kept(
    chat_server: Any, probe: Probe, tmp_path: Path, answer: Any, code: str
) -> None:
    chat_server.play(answer(chat_server))
    with pytest.raises(BackendFault) as caught:
        probe(cache=tmp_path)
    assert (caught.value.code, list(tmp_path.iterdir())) == (code, [])


def test_passing_trouble_is_waited_out(chat_server: Any, probe: Probe) -> None:
    good = Manners()
    answers = iter([chat_server.refusal(503, "loading the model")])
    chat_server.respond(lambda received: next(answers, None) or good(received))
    assert probe().can("tools") is True


def test_what_kept_a_look_from_answering_is_asked_again_next_time(
    chat_server: Any, probe: Probe, tmp_path: Path
) -> None:
    good = Manners(responses=True)
    chat_server.respond(
        lambda received: chat_server.refusal(429, "slow down") if "responses" in received.path else good(received)
    )
    found = probe(cache=tmp_path)
    assert (found.check("responses").outcome, found.can("responses"), found.thorough) == ("not_tried", None, False)
    chat_server.respond(good)
    assert probe(cache=tmp_path).can("responses") is True


def test_caches_are_where_the_platform_keeps_them_or_where_they_are_wished(tmp_path: Path) -> None:
    assert cache_folder({"VIDEOWORLD_CACHE": "here"}, home=tmp_path) == Path("here")
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path / "x")}, home=tmp_path) == tmp_path / "x" / "video-world-api"
    assert cache_folder({"XDG_CACHE_HOME": "relative"}, home=tmp_path) == tmp_path / ".cache" / "video-world-api"


@pytest.mark.parametrize(
    ("entries", "window"),
    [
        ([{"id": "m", "max_model_len": 32768}, {"id": "n", "max_model_len": 8}], 32768),
        ([{"id": "m", "context_length": 200_000, "top_provider": {"context_length": 128_000}}], 128_000),
        ([{"id": "/models/some.gguf", "meta": {"n_ctx_train": 40_960}}], 40_960),
        ([{"id": "n", "max_model_len": 8}, {"id": "o", "max_model_len": 9}], None),
        ([{"id": "m", "max_model_len": "32768", "context_window": -1, "context_length": True, "meta": 3}], None),
        ([None, 3], None),
        ({}, None),
    ],
)
def test_the_window_is_what_the_server_tells(
    chat_server: Any, probe: Probe, tmp_path: Path, entries: Any, window: int | None
) -> None:
    good = Manners()
    chat_server.respond(lambda received: {"data": entries} if received.path.endswith("/models") else good(received))
    assert probe(cache=tmp_path).window == window
    assert probe(cache=tmp_path).window == window


def test_a_list_of_models_that_is_not_there_costs_nothing(chat_server: Any, probe: Probe) -> None:
    good = Manners()
    chat_server.respond(
        lambda received: chat_server.refusal(500, "oops") if received.path.endswith("/models") else good(received)
    )
    found = probe()
    assert (found.window, found.thorough) == (None, True)


@pytest.mark.parametrize("knows_format", [True, False], ids=["response_format", "fenced after prose"])
def test_a_server_without_tools_that_writes_calls_as_json_is_found_to_need_that_wire(
    chat_server: Any, probe: Probe, knows_format: bool, tmp_path: Path
) -> None:
    chat_server.respond(WithoutTools(knows_format=knows_format))
    found = probe(cache=tmp_path)
    assert (found.wire, found.usable, found.can("tools"), found.can("json")) == ("json", True, False, True)


def test_the_wire_that_a_probe_found_is_spoken_by_itself(
    chat_server: Any, probe: Probe, tmp_path: Path, stepping_clock: Any
) -> None:
    chat_server.respond(WithoutTools(knows_format=True))
    environment = {"OPENAI_BASE_URL": chat_server.url, "OPENAI_API_KEY": KEY, "VIDEOWORLD_CACHE": str(tmp_path)}
    before = endpoint_model("m", clock=stepping_clock(), environment=environment)
    probe(cache=tmp_path)
    after = endpoint_model("m", clock=stepping_clock(), environment=environment)
    assert [getattr(model, "wire_name", None) for model in (before, after)] == ["chat", "json"]
    asked = endpoint_model("m", clock=stepping_clock(), environment=environment, wire="chat")
    assert getattr(asked, "wire_name", None) == "chat"


def test_a_server_that_fails_when_tools_are_sent_is_asked_without(chat_server: Any, probe: Probe) -> None:
    good = WithoutTools(knows_format=True)

    def failing(received: Any) -> Any:
        return chat_server.refusal(500, "tools need another flag") if "tools" in received.body else good(received)

    chat_server.respond(failing)
    found = probe()
    assert (found.wire, found.check("tools").outcome) == ("json", "not_offered")

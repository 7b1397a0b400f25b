"""Running: finished questions are never asked again, whatever happened; the set-up is told from the model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from controller.records import EPISODES
from eval.runs import RunFolder, RunOutcome, SampleLine, read_lines, read_run, score_run
from eval.tables import read_rows
from tests.support.journals import edit_lines
from tests.support.runs import QUESTIONS, Silent, made_run, prepare, run_here
from world_api.chat import Call, completion
from world_api.core import EpisodeFault, EvalFault, json_line, parse_json

FEW = "schema_version: 1\ndatasets: [films]\narms: [{arm}]\nmodel: {model}\nparallel: 1\n"


def names(run: Path) -> Counter[tuple[str, str]]:
    """The recorded episodes, by cell and name."""
    files = (run / "episodes").glob(f"*/{EPISODES}")
    return Counter(
        (file.parent.name, parse_json(line)["name"]) for file in files for line in file.read_text().splitlines()
    )


def samples(run: Path) -> list[SampleLine]:
    return list(read_lines(run / "samples.jsonl", SampleLine))


def drop_lines(path: Path, *places: int) -> None:
    """Take lines out of a file."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for place, line in enumerate(lines) if place not in places))


def goes_on(run: Path) -> RunOutcome:
    """Go on with a run that must then be complete, with every sample once."""
    outcome = run_here(run)
    assert outcome.complete
    assert len(read_run(run).samples) == outcome.tally.planned
    return outcome


def test_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    before = (names(run), (run / "samples.jsonl").read_bytes())
    outcome = goes_on(run)
    assert (outcome.tally.ran, outcome.adopted, outcome.again) == (0, 0, 0)
    assert (names(run), (run / "samples.jsonl").read_bytes()) == before


def test_an_episode_that_was_recorded_and_not_noted_is_adopted(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    before, scores = names(run), (run / "scores.jsonl").read_bytes()
    drop_lines(run / "samples.jsonl", 3, 4, 17, 99)
    outcome = goes_on(run)
    assert (outcome.tally.ran, outcome.adopted) == (0, 4)
    assert names(run) == before
    score_run(outcome.folder)
    assert (run / "scores.jsonl").read_bytes() == scores


def test_what_is_told_in_the_end_is_what_the_scores_say(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    edit_lines(run / "scores.jsonl", lambda line: line.update(correct=True))
    outcome = run_here(run)
    assert outcome.tally.arms["blind"].accuracy == 1.0
    outcome.tally.settle(score_run(outcome.folder).arms)
    assert outcome.tally.arms["blind"].accuracy != 1.0


def test_a_deleted_episode_is_asked_again_and_the_scores_are_the_same(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    scores = (run / "scores.jsonl").read_bytes()
    journal = next((run / "episodes").glob("flat.*s1*")) / EPISODES
    drop_lines(journal, 2)
    outcome = goes_on(run)
    assert (outcome.tally.ran, outcome.again) == (1, 1)
    score_run(outcome.folder)
    assert (run / "scores.jsonl").read_bytes() == scores


def test_an_episode_whose_recording_was_deleted_is_asked_again(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    scores = (run / "scores.jsonl").read_bytes()
    recordings = next((run / "episodes").glob("flat.*s1*")) / "recordings"
    lost = sorted(path.stem for path in recordings.iterdir())[:2]
    for name in lost:
        (recordings / f"{name}.jsonl").unlink()
    assert read_run(run).gone().recordings == 2
    outcome = goes_on(run)
    assert (outcome.tally.ran, outcome.again) == (2, 2)
    found = read_run(run)
    assert found.gone().recordings == 0
    assert not {str(sample.episode) for sample in found.samples if sample.cell == recordings.parent.name} & set(lost)
    score_run(outcome.folder)
    assert (run / "scores.jsonl").read_bytes() == scores


def test_files_that_may_not_be_read_are_no_wrong_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run(tmp_path)
    scores = (run / "scores.jsonl").read_bytes()

    def refuse(path: Path) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("controller.records.journal.open_regular", refuse)
    for act in (lambda: score_run(RunFolder(run)), lambda: read_rows(read_run(run)), lambda: run_here(run)):
        with pytest.raises(EpisodeFault, match="Permission denied") as caught:
            act()
        assert caught.value.code == "recording_not_readable"
        assert str(run / "episodes") in caught.value.message
    assert (run / "scores.jsonl").read_bytes() == scores
    monkeypatch.setattr("eval.runs.records.open_regular", refuse)
    with pytest.raises(EvalFault) as other:
        read_run(run)
    assert other.value.code == "run_not_readable"


def test_a_sample_that_was_deleted_altogether_is_asked_again(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    line = samples(run)[5]
    drop_lines(run / "samples.jsonl", 5)
    journal = run / "episodes" / line.cell / EPISODES
    drop_lines(
        journal, *(place for place, text in enumerate(journal.read_text().splitlines()) if str(line.episode) in text)
    )
    outcome = goes_on(run)
    assert (outcome.tally.ran, outcome.adopted) == (1, 0)


def test_a_line_that_was_cut_short_was_never_written(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    with (run / "samples.jsonl").open("rb+") as file:
        file.truncate((run / "samples.jsonl").stat().st_size - 20)
    outcome = goes_on(run)
    assert (outcome.tally.ran, outcome.adopted) == (0, 1)


def test_a_damaged_line_is_named_and_nothing_is_written_over(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    path = run / "samples.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[7] = lines[7].replace('"episode"', '"epsiode"')
    path.write_text("".join(lines))
    for act in (lambda: run_here(run), lambda: read_run(run)):
        with pytest.raises(EvalFault, match=r"line 8 of samples\.jsonl") as caught:
            act()
        assert caught.value.code == "run_damaged"
    assert path.read_text() == "".join(lines)


def test_a_sample_of_another_question_does_not_pass_for_it(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    lines = [parse_json(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    lines[0]["item"], lines[1]["item"] = lines[1]["item"], lines[0]["item"]
    (run / "samples.jsonl").write_text("".join(json_line(line) + "\n" for line in lines))
    with pytest.raises(EvalFault, match="does not have the key of its question"):
        read_run(run)


def test_more_seeds_add_to_a_run_and_another_model_is_another_run(tmp_path: Path) -> None:
    prepare(tmp_path, configuration=FEW.format(arm="blind", model="rule-based"))
    config = tmp_path / "config.yaml"
    first = run_here(config)
    more = run_here(config, overrides=["seeds=[1,2]", "parallel=1"])
    assert (first.tally.ran, more.tally.ran, more.tally.done) == (10, 10, 20)
    with pytest.raises(EvalFault, match="another configuration") as caught:
        run_here(config, overrides=["seeds=[1,2]", "budgets.usual.rounds=2"])
    assert caught.value.code == "run_changed"
    (tmp_path / "films" / "questions.jsonl").write_text(
        (tmp_path / "films" / "questions.jsonl").read_text().replace("How many", "How few")
    )
    with pytest.raises(EvalFault, match="the questions of films"):
        run_here(config)


def test_a_world_that_became_another_one_is_refused(tmp_path: Path) -> None:
    from tests.conftest import WorldMaker, made_rows

    run = made_run(tmp_path)
    rows = made_rows()
    rows["speech"] = rows["speech"][:1]
    WorldMaker(tmp_path / "worlds" / "classical")(rows, video_id="made")
    with pytest.raises(EvalFault, match="world of made is not the one"):
        run_here(run)


def test_two_processes_do_not_ask_in_one_run(tmp_path: Path) -> None:
    import fcntl
    import os

    run = made_run(tmp_path)
    with (run / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate()
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        with pytest.raises(EvalFault) as caught:
            run_here(run)
    assert caught.value.code == "run_busy"


@pytest.fixture
def on_server(chat_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a configuration with a model on the loopback."""
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key-or-other")
    prepare(tmp_path, configuration=FEW.format(arm="flat", model="small"))

    def run(*overrides: str, silent: Silent | None = None) -> RunOutcome:
        return run_here(tmp_path / "config.yaml", overrides=overrides, silent=silent)

    return run


def _answer(received: Any) -> dict[str, Any]:
    """A model that submits at once something of the type that is asked for."""
    tools = {item["function"]["name"]: item["function"] for item in received.body.get("tools", ())}
    shape = tools["submit_answer"]["parameters"]["properties"]["answer"]
    answers: dict[str, Any] = {
        "integer": 2, "object": {"start_time": 1, "end_time": 2}, "array": ["A", "B"],
        "string": shape.get("enum", ["text"])[0],
    }  # fmt: skip
    call = Call(tool="submit_answer", arguments={"answer": answers[shape["type"]], "spans": []})
    return completion(model="small", content=None, calls=[call], usage=(1000, 10))


def test_the_seed_and_the_settings_reach_every_request(on_server: Any, chat_server: Any) -> None:
    chat_server.respond(_answer)
    outcome = on_server("seeds=[3,4]", "request.temperature=0.5", "parallel=4")
    assert outcome.complete
    bodies = [received.body for received in chat_server.received]
    assert Counter(body["seed"] for body in bodies) == {3: 10, 4: 10}
    assert {body["temperature"] for body in bodies} == {0.5}
    assert outcome.tally.tokens == 20 * 1010


def test_a_refused_key_stops_the_run_and_what_failed_is_asked_again(on_server: Any, chat_server: Any) -> None:
    chat_server.play(chat_server.refusal(401, "no such key"))
    stopped = on_server("limits.failures=3")
    assert stopped.ended.fault is not None
    assert stopped.ended.fault.code == "set_up_failed"
    assert "endpoint_refused_key" in stopped.ended.fault.message
    assert 3 <= stopped.tally.ran <= 4  # one more may be under way
    assert stopped.tally.done == 0
    chat_server.respond(_answer)
    outcome = on_server("limits.failures=3")
    assert (outcome.adopted, outcome.tally.ran, outcome.complete) == (0, 10, True)


def test_a_failure_between_answers_counts_as_wrong(on_server: Any, chat_server: Any) -> None:
    asked: list[str] = []

    def respond(received: Any) -> Any:
        asked.append("")
        return chat_server.refusal(401, "not now") if len(asked) == 2 else _answer(received)

    chat_server.respond(respond)
    outcome = on_server()
    assert (outcome.complete, outcome.tally.failed) == (True, 1)
    again = on_server()
    assert (again.tally.ran, again.tally.failed) == (0, 1)


def test_a_run_in_which_only_the_set_up_failed_says_so_below_the_limit_too(on_server: Any, chat_server: Any) -> None:
    chat_server.play(chat_server.refusal(401, "no such key"))
    ended = on_server("limits.failures=100")
    assert ended.ended.fault is not None
    assert ended.ended.fault.code == "set_up_failed"
    assert (ended.tally.ran, ended.tally.done, ended.complete) == (10, 0, False)


def test_a_model_that_is_not_there_stops_the_run(on_server: Any, chat_server: Any) -> None:
    chat_server.play(chat_server.refusal(404, "The model `small` does not exist"))
    stopped = on_server("limits.failures=2")
    assert stopped.ended.fault is not None
    assert "endpoint_unknown_model" in stopped.ended.fault.message
    assert stopped.tally.done == 0


def test_a_run_stops_at_its_limit_of_money_and_goes_on_with_a_larger_one(
    on_server: Any, chat_server: Any, tmp_path: Path
) -> None:
    chat_server.respond(_answer)
    (tmp_path / "prices.yaml").write_text("small: {prompt: 1000, completion: 0}\n")
    stopped = on_server("prices=prices.yaml", "limits.money=2.5")
    assert stopped.ended.fault is not None
    assert stopped.ended.fault.code == "run_money_spent"
    assert 3 <= stopped.tally.done <= 4
    again = on_server("prices=prices.yaml", "limits.money=2.5")
    assert again.tally.ran == 0
    assert on_server("prices=prices.yaml", "limits.money=100").complete
    assert len(chat_server.received) == len(QUESTIONS) * 2


def test_what_was_paid_for_and_is_asked_again_counts_against_the_limit_of_money(
    on_server: Any, chat_server: Any, tmp_path: Path
) -> None:
    (tmp_path / "prices.yaml").write_text("small: {prompt: 1000, completion: 0}\n")
    call = completion(
        model="small", calls=[Call(tool="list_entities", arguments={"video_id": "made"})], usage=(1000, 10)
    )
    chat_server.play(call, chat_server.refusal(401, "no more"))
    sets = ("prices=prices.yaml", "limits.failures=2", "limits.money=7")
    stopped = on_server(*sets)
    assert (stopped.tally.done, stopped.tally.money) == (0, 1.0)
    chat_server.respond(_answer)
    outcome = on_server(*sets)
    assert outcome.ended.fault is not None
    assert outcome.ended.fault.code == "run_money_spent"
    assert outcome.tally.money == outcome.tally.done + 1.0
    lost = samples(outcome.folder.root)[-1]
    journal = outcome.folder.journal(lost.cell) / EPISODES
    kept = [line for line in journal.read_text().splitlines(keepends=True) if str(lost.episode) not in line]
    journal.write_text("".join(kept))
    again = on_server("prices=prices.yaml", "limits.money=100")
    assert (again.again, again.complete) == (1, True)
    assert again.tally.money == 12.0


def test_a_limit_of_money_without_a_price_is_refused(on_server: Any) -> None:
    with pytest.raises(EvalFault, match="needs the price of 'small'"):
        on_server("limits.money=2.5")

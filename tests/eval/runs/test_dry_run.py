"""A dry run: it refuses what the run refuses, and its time is made of building and asking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from eval.datasets import VideoFile
from eval.runs import RunEstimate, WorldNeeded, building_of, estimate_run, open_experiment
from tests.support.numbered_film import encode
from tests.support.runs import prepare, run_here
from world_api import SystemClock
from world_api.core import VideoWorldError

FEW = "schema_version: 1\ndatasets: [films]\narms: [blind]\nseeds: [1, 2]\nparallel: 1\n"


def dry(config: Path, *overrides: str) -> RunEstimate:
    return estimate_run(
        open_experiment(config, overrides=overrides), pilot=None, effect=0.1, clock=SystemClock(), environment={}
    )


@pytest.mark.parametrize(
    "overrides",
    [['limits={"money":0}'], ["seeds=[3]"], ["datasets.0.limit=2"], ["budgets.usual.rounds=2"]],
    ids=["money without a price", "other seeds", "fewer questions", "another budget"],
)
def test_what_a_run_refuses_a_dry_run_refuses_with_the_same_words(tmp_path: Path, overrides: Sequence[str]) -> None:
    config = prepare(tmp_path, configuration=FEW.replace("[films]", "[{path: films, limit: 4}]"), videos=["made"])
    run_here(config)
    told = []
    for act in (lambda: dry(config, *overrides), lambda: run_here(config, overrides=overrides)):
        with pytest.raises(VideoWorldError) as caught:
            act()
        told.append((caught.value.code, caught.value.message))
    assert told[0] == told[1]


def test_what_was_set_beside_the_file_is_named_as_it_was_set(tmp_path: Path) -> None:
    config = prepare(tmp_path, configuration=FEW, videos=["made"])
    with pytest.raises(VideoWorldError, match=r'^--set limits=\{"money":0\}: a limit of money'):
        dry(config, 'limits={"money":0}')


def test_the_time_of_a_dry_run_holds_the_building_of_worlds_and_says_what_it_rests_on(
    tmp_path: Path,
) -> None:
    config = prepare(tmp_path, configuration=FEW, videos=["made"])
    nothing_to_build = dry(config)
    assert nothing_to_build.building.seconds == 0
    assert nothing_to_build.seconds == nothing_to_build.asking
    assert "assumed: 0.3 s a question" in nothing_to_build.text()
    missing = [
        WorldNeeded(video=VideoFile(video_id="film", path=encode(tmp_path / "film.mp4")), profile=profile, hash=None)
        for profile in ("oracle", "classical")
    ]
    building = building_of([*missing, WorldNeeded(video=VideoFile(video_id="there"), profile="oracle", hash="h")])
    assert dict(building.worlds) == {"oracle": 1, "classical": 1}
    assert building.seconds > 2
    assert "8 s a minute of classical world" in building.basis


def test_a_film_that_cannot_be_read_does_not_end_a_dry_run(tmp_path: Path) -> None:
    broken = tmp_path / "film.mp4"
    broken.write_bytes(b"no film")
    world = WorldNeeded(video=VideoFile(video_id="film", path=broken), profile="classical", hash=None)
    assert "no film could be read" in building_of([world]).basis


def test_seeds_of_a_model_that_ignores_them_make_no_power(tmp_path: Path) -> None:
    arms = (
        FEW.replace("[blind]", "[blind, flat]")
        + "primary: {arm: flat, against: blind, budget: usual, world: classical}\n"
    )
    config = prepare(tmp_path, configuration=arms, videos=["made"])
    told = [dry(config, f"seeds={seeds}").power for seeds in ("[1]", "[1,2,3]")]
    assert told[0] is not None
    assert told[1] is not None
    assert told[0].standard_error == told[1].standard_error
    assert "1 between seeds" in told[1].text

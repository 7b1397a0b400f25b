"""The keys of stages: whatever changes the rows changes the names of their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from world_api.build import Cuts, SceneCuts, StageSpec
from world_api.build import stage as stages
from world_api.media import MediaWorker
from world_api.options import Listening
from world_api.recipes import recipe_for


def test_what_changes_the_rows_changes_the_key() -> None:
    spec = Cuts().spec
    key = spec.key(source_hash="a", upstream={})
    assert key != spec.key(source_hash="b", upstream={})
    assert len(key) == 16
    needs = SceneCuts().spec
    upstream = {"cuts": "1", "looks": "2"}
    assert needs.key(source_hash="a", upstream=upstream) != needs.key(
        source_hash="a", upstream={**upstream, "cuts": "9"}
    )


def test_the_code_that_makes_the_rows_is_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "made_for_keys"
    package.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    keys = []
    for step in ("LIMIT = 1", "LIMIT = 2"):
        (package / "__init__.py").touch()
        (package / "step.py").write_text(step)
        stages._hash_module.cache_clear()
        spec = StageSpec(name="made", version=1, tables=("cuts",), modules=("made_for_keys.step",))
        keys.append(spec.key(source_hash="a", upstream={}))
    assert len(set(keys)) == 2


def test_every_stage_names_the_code_it_is_made_of(tmp_path: Path) -> None:
    recipe = recipe_for("classical", Listening(subtitles="none", speech="off"))
    for stage in recipe.stages(tmp_path / "film.mp4", MediaWorker()):
        assert any(type(stage).__module__.startswith(name) for name in stage.spec.modules), stage.spec.name

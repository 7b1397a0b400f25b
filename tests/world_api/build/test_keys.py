"""The keys of stages: whatever changes the rows changes the names of their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from world_api.build import Cuts, SceneCuts, StageSpec, keys_of, stage as stages
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
        stages._read_module.cache_clear()
        spec = StageSpec(name="made", version=1, tables=("cuts",), modules=("made_for_keys.step",))
        keys.append(spec.key(source_hash="a", upstream={}))
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("key_frames", "world_api.build.key_frames"),
        ("key_frames", "world_api.build.stage"),
        ("key_frames", "world_api.build.descriptors"),
        ("key_frames", "world_api.core.spans"),
        ("key_frames", "world_api.media.shared_memory"),
        ("moving_things", "world_api.perception.classical"),
        ("moving_things", "world_api.perception.appearance"),
        ("subtitles", "world_api.media.subtitles"),
    ],
)
def test_the_key_of_a_stage_depends_on_its_module_on_its_adapters_and_on_all_that_they_import(
    name: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recipe_for("classical", Listening(subtitles="none", speech="off")).stages(tmp_path, MediaWorker())
    before, read = keys_of(made, "source"), stages._read_module

    def changed(asked: str) -> tuple[str, tuple[str, ...]]:
        found, imported = read(asked)
        return (f"{found} changed" if asked == module else found), imported

    monkeypatch.setattr(stages, "_read_module", changed)
    after = keys_of(made, "source")
    assert before[name] != after[name]
    assert before.keys() == after.keys()

"""Configurations: what is read, and what is wrong with them, with lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.datasets import load_dataset
from eval.runs import EXAMPLE, pick_all, read_configuration
from world_api.core import EvalFault

SMALL = "schema_version: 1\ndatasets: [films]\narms: [flat]\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text)
    return path


def test_a_word_stands_for_a_system_a_dataset_or_a_library(tmp_path: Path) -> None:
    found = read_configuration(written(tmp_path, SMALL + "libraries: [hand_A]\n")).document
    assert (found.arms[0].name, found.arms[0].system) == ("flat", "flat")
    assert (found.datasets[0].path, found.libraries[0].path) == ("films", "hand_A")
    assert found.model == "rule-based"
    assert found.seeds == [1]


def test_every_fault_is_told_with_its_line(tmp_path: Path) -> None:
    text = SMALL + "seeds: 3\nbudgets:\n  small: {rounds: many, cals: 2}\nworld: [oracle]\n"
    with pytest.raises(EvalFault) as caught:
        read_configuration(written(tmp_path, text))
    assert caught.value.code == "bad_configuration"
    for part in (
        "line 4: seeds",
        "line 6: budgets.small.rounds",
        "line 6: budgets.small.cals is not a key here; did you mean 'calls'?",
        "line 7: world is not a key here; did you mean 'worlds'?",
    ):
        assert part in caught.value.message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_configuration"),
        ("- a\n- b\n", "bad_configuration"),
        ("schema_version: 1\narms: [flat\n", "bad_configuration"),
        ("schema_version: 2\ndatasets: [a]\narms: [b]\n", "other_schema_version"),
        ("schema_version: 1\ndatasets: [&a films]\narms: [*a]\n", "bad_configuration"),
        ("schema_version: 1\nschema_version: 1\n", "bad_configuration"),
        (SMALL.replace("flat", "{name: ../up, system: flat}"), "bad_configuration"),
        (SMALL + "limits: {money: -1}\n", "bad_configuration"),
        (SMALL + "limits: {money: .inf}\n", "bad_configuration"),
    ],
)
def test_what_is_no_configuration_is_refused_by_name(tmp_path: Path, text: str, code: str) -> None:
    with pytest.raises(EvalFault) as caught:
        read_configuration(written(tmp_path, text))
    assert caught.value.code == code


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(EvalFault) as caught:
            read_configuration(path)
        assert caught.value.code == "configuration_missing"


def test_the_home_of_somebody_who_has_none_is_refused_by_name(tmp_path: Path) -> None:
    text = SMALL.replace("[films]", "[{path: films, videos: ~nobody-of-that-name/x}]")
    found = read_configuration(written(tmp_path, text))
    with pytest.raises(EvalFault, match="no home folder for '~nobody") as caught:
        pick_all(found)
    assert caught.value.code == "bad_configuration"
    described = tmp_path / "described.yaml"
    described.write_text("schema_version: 1\nadapter: egoschema\nannotations: q.json\nvideos: ~nobody-of-that-name/x\n")
    for named in (described, "egoschema:~nobody-of-that-name/x"):
        with pytest.raises(EvalFault, match="no home folder") as caught:
            load_dataset(named)
        assert caught.value.code == "bad_dataset"


def test_values_can_be_set_beside_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    sets = ["seeds=[1,2]", "budgets.small.rounds=4", "datasets.0=other", "model=some-model", "limits.money=2.5"]
    found = read_configuration(path, overrides=sets).document
    assert found.seeds == [1, 2]
    assert found.budgets["small"].rounds == 4
    assert (found.datasets[0].path, found.model, found.limits.money) == ("other", "some-model", 2.5)


def test_a_wrong_value_is_told_as_it_was_set(tmp_path: Path) -> None:
    with pytest.raises(EvalFault, match=r"--set seeds=x: seeds"):
        read_configuration(written(tmp_path, SMALL), overrides=["seeds=x"])


@pytest.mark.parametrize("pair", ["seeds", "=3", "datasets.7.limit=3", "datasets.first=3", "model.name=x"])
def test_what_cannot_be_set_is_refused(tmp_path: Path, pair: str) -> None:
    with pytest.raises(EvalFault) as caught:
        read_configuration(written(tmp_path, SMALL + "model: rule-based\n"), overrides=[pair])
    assert caught.value.code == "bad_override"


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    found = read_configuration(written(tmp_path, EXAMPLE)).document
    assert found.primary is not None
    assert {arm.name for arm in found.arms} >= {found.primary.arm, found.primary.against}


def test_each_key_is_in_the_page_of_runs() -> None:
    from eval.runs import ConfigurationDocument

    page = (Path(__file__).parents[3] / "docs" / "runs.md").read_text(encoding="utf-8")
    assert [key for key in ConfigurationDocument.model_fields if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("seeds=[]", "seeds is empty; give at least one"),
        ("seeds=[1e400]", "is no list and no object that JSON can hold"),
        ("seeds=[" + "9" * 5000 + "]", "is no list and no object that JSON can hold"),
    ],
)
def test_what_cannot_be_a_list_is_told_in_plain_words(tmp_path: Path, pair: str, told: str) -> None:
    path = tmp_path / "first.yaml"
    path.write_text("schema_version: 1\ndatasets: [films]\narms: [flat]\n")
    with pytest.raises(EvalFault, match=told) as caught:
        read_configuration(path, overrides=[pair])
    assert "valid list" not in caught.value.message

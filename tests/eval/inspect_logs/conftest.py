"""A small run for all tests of the export."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runs import made_run

#: Two conditions of one arm, and one without a library: five questions, two seeds.
CONFIGURATION = """\
schema_version: 1
datasets: [films]
libraries: [hand_A, {arm: placebo, of: hand_A}]
arms: [hier, {name: blind, system: blind}]
worlds: [classical]
seeds: [1, 2]
budgets: {usual: {}}
primary: {arm: hier, against: blind, budget: usual, world: classical}
parallel: 1
"""


@pytest.fixture
def small_run(tmp_path: Path) -> Path:
    """The folder of a small run that the rule-based model really made."""
    return made_run(tmp_path, configuration=CONFIGURATION, videos=("made",))

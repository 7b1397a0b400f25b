"""The sample, made once for all tests of this folder."""

from __future__ import annotations

import pytest

from eval.sandbox import SampleFiles, make_sample


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> SampleFiles:
    return make_sample(tmp_path_factory.mktemp("sample") / "made" / "here")

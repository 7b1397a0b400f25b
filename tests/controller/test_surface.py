"""The package's public surface."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import controller


@pytest.mark.parametrize("name", controller.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(controller, name).__name__ == name


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = controller.nonsense


def test_every_module_of_the_room_imports_and_says_what_it_is() -> None:
    for found in pkgutil.walk_packages(controller.__path__, "controller."):
        assert importlib.import_module(found.name).__doc__, found.name


def test_importing_the_room_brings_no_heavy_package() -> None:
    told = "import sys, controller.commands; print([m for m in ('openai', 'cv2', 'lancedb') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

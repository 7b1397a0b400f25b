"""What a figure was measured on: never which machine, only what kind."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine() -> str:
    """Cores, processor and Python in one line."""
    return f"{_cores()} cores, {_processor()}, {platform.system()}, Python {platform.python_version()}"


def versions(distributions: Sequence[str]) -> str:
    """The installed versions of distributions in one line."""
    return ", ".join(f"{name} {_version(name)}" for name in distributions)


def _cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"

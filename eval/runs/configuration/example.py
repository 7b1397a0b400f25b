"""A configuration with comments: what ``videoworld eval run --example`` prints."""

from __future__ import annotations

from importlib.resources import files

EXAMPLE = (files("eval.runs.configuration") / "example.yaml").read_text(encoding="utf-8")

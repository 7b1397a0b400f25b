"""Measure one thing in this process and print it as JSON: ``python -m benchmarks WHAT VIDEO``."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

#: Where each lives; imported only when it is measured, so that nothing else weighs on it.
WHAT = {
    "decode": "benchmarks.decoding",
    "stages": "benchmarks.measured",
    "screen_text": "benchmarks.measured",
}

print(json.dumps(getattr(importlib.import_module(WHAT[sys.argv[1]]), sys.argv[1])(Path(sys.argv[2]))))

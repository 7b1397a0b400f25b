"""Canonical JSON, and hashes of it."""

from __future__ import annotations

import hashlib
import json


def canonical_json(value: object) -> str:
    """Sorted keys, no spaces, finite numbers: the text that hashes and memo keys are made of."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def content_hash(value: object) -> str:
    """``sha256:`` and the digest of the canonical JSON."""
    return "sha256:" + hashlib.sha256(canonical_json(value).encode()).hexdigest()

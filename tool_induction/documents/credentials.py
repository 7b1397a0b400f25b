"""Texts that look like a key, a token or a password: found, and blotted out.

A document is written by a model, logged, frozen, shown and sent to other models. No operation takes a credential, so one
that stands in a document is there by mistake: it is refused, and nothing that is said about it repeats it.
"""

from __future__ import annotations

import json
import re

BLOT = "[secret]"

#: what issuers make recognisable on purpose, and what introduces a secret; no guess by randomness, which ids have too
_SHAPES = (
    r"\bsk-(?:[A-Za-z0-9]{1,20}-){0,4}[A-Za-z0-9_]{16,}",
    r"\b(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{24,})",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}|\bxox[abeoprs]-[0-9A-Za-z-]{16,}",
    r"\beyJ[A-Za-z0-9_-]{8,600}\.eyJ[A-Za-z0-9_-]{8,600}\.[A-Za-z0-9_-]{8,}",
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----",
    r"\b(?:[Bb]earer|[Bb]asic) [A-Za-z0-9+/_.=-]{24,}",
    r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,80}:[^\s/@]{4,120}@",
    r"\b(?i:api[_-]?key|secret[_-]?key|access[_-]?token|auth[_-]?token|password)\W{1,4}[A-Za-z0-9+/_=-]{16,}",
)
_SECRET = re.compile("|".join(f"(?:{shape})" for shape in _SHAPES))
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
_LETTER = re.compile(r"[^\r\n]")
#: shorter texts cannot hold one
_SHORTEST = 12


def holds_secret(text: str) -> bool:
    """Whether a text looks as if it held a credential."""
    return len(text) >= _SHORTEST and _SECRET.search(text) is not None


def without_secrets(text: str) -> str:
    """The text with everything blotted out that looks like a credential: for logs of what a model wrote."""
    return _SECRET.sub(BLOT, text)


def blotted(source: str) -> str:
    """The text of a document, just as long and with the same lines, its secrets blotted out; also those written in escapes."""
    return _SECRET.sub(_blot, _QUOTED.sub(_without_escaped, source))


def _without_escaped(quoted: re.Match[str]) -> str:
    if "\\" not in quoted[0]:
        return quoted[0]
    try:
        meant = json.loads(quoted[0], strict=False)
    except ValueError:
        return quoted[0]
    return f'"{_blot(quoted)[1:-1]}"' if holds_secret(meant) else quoted[0]


def _blot(found: re.Match[str]) -> str:
    return _LETTER.sub("*", found[0])

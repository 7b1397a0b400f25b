"""Reports for tests: a run over worlds made by hand whose video is a film that numbers its frames."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.runs import QUESTIONS, made_run
from world_api.core import hash_file
from world_api.world import read_manifest, write_manifest

_BLOCK = re.compile(r'<script type="text/plain" id="(\w+)">([A-Za-z0-9+/=]*)</script>')


def run_with_film(folder: Path, film: Path, *, videos: Sequence[str] = ("made", "other")) -> Path:
    """A finished run whose worlds say that this film is their video."""
    run = made_run(folder, videos=videos)
    for video in videos:
        give_video(folder / "worlds" / "classical" / video, film)
    return run


def give_video(world: Path, film: Path) -> None:
    """Let a world made by hand have a video."""
    manifest = read_manifest(world)
    source = manifest.source.model_copy(update={"bytes": film.stat().st_size, "sha256": hash_file(film)})
    write_manifest(world, manifest.model_copy(update={"source": source}))
    (world / "local.json").write_text(json.dumps({"source_path": str(film)}))


def blocks_of(page: Path) -> dict[str, str]:
    """The packed blocks of a page, by id."""
    return dict(_BLOCK.findall(page.read_text(encoding="utf-8")))


def unpacked(block: str) -> Any:
    """What a block holds."""
    return json.loads(gzip.decompress(base64.b64decode(block)))


def index_of(page: Path) -> dict[str, Any]:
    """What a page knows of its samples."""
    found: dict[str, Any] = unpacked(blocks_of(page)["index"])
    return found


def places_of(ranges: str) -> list[int]:
    """The places that ``0-39,80`` names."""
    found: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


HOSTILE = (
    "</script><script>window.owned = 1</script>",
    '"><img src=x onerror="window.owned = 2">',
    "<svg onload='window.owned = 3'>",
    "{{ 7 * 7 }}{% raw %}<!--",
    "]]>\u2028\u2029</title></style><style>body{display:none}",
)


def hostile_questions() -> list[dict[str, Any]]:
    """Questions whose every text tries to become part of the page."""
    texts = " ".join(HOSTILE)
    return [
        {**QUESTIONS[1], "question": f"How many people are there? {texts}"},
        {**QUESTIONS[2], "options": [f"rain {HOSTILE[0]}", f"a bell {HOSTILE[1]}"], "answer": "A", "content": "office"},
        {**QUESTIONS[4], "answer": texts, "question": f"What happens? {texts}"},
    ]

"""``python -m tool_induction.reference docs``: write the pages that are made from the language itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tool_induction.documents import language_schema
from tool_induction.reference.diagnostics_page import diagnostics_page
from tool_induction.reference.language_page import language_page
from tool_induction.reference.recordings_page import recordings_page

#: where the recordings lie beside a checkout, if they do
RECORDINGS = Path("..") / "shared" / "recordings" / "induction"


def pages(recordings: Path) -> dict[str, str]:
    """Every page, by its file's name. The one about recordings is made where those are there."""
    made = {
        "tool-language-reference.md": language_page(),
        "tool-language.schema.json": json.dumps(language_schema(), indent=2, ensure_ascii=False) + "\n",
        "diagnostics.md": diagnostics_page(),
    }
    if recordings.is_dir():
        made["recordings.md"] = recordings_page(recordings)
    return made


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, text in pages(folder.resolve().parent / RECORDINGS).items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")

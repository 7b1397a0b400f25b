"""The generated sections of ``docs/performance.md``."""

from __future__ import annotations

from pathlib import Path


def replace_section(page: Path, script: str, text: str) -> None:
    """Put a script's figures between its marks on a page; a page without them gets them at its end."""
    begin, end = f"<!-- begin: written by {script} -->", f"<!-- end: {script} -->"
    old = page.read_text(encoding="utf-8") if page.is_file() else ""
    before, _, rest = old.partition(begin)
    _, _, after = rest.partition(end)
    start = f"{before.rstrip()}\n\n" if before.strip() else ""
    page.write_text(f"{start}{begin}\n{text.strip()}\n{end}\n{after.lstrip(chr(10))}", encoding="utf-8")

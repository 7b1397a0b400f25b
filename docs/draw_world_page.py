"""Draw ``docs/world-page.jpg``, the picture of the README: the page of the sample film's world, in headless Chromium.

``python docs/draw_world_page.py DEMO`` takes the film and the world that ``make demo`` leaves in the folder ``demo``.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.browser import Browser, find_browser  # noqa: E402 - found through the line above
from world_api.page.world_page import write_world_page  # noqa: E402
from world_api.world.store import open_world  # noqa: E402
from world_api.world.view import View  # noqa: E402

_MOMENT, _WIDTH, _HEIGHT = 12, 1100, 760


def main(demo: Path) -> None:
    """Write the picture from the demonstration's folder."""
    program = find_browser()
    if program is None:
        sys.exit("no browser is installed: VIDEOWORLD_BROWSER names a Chromium")
    page = demo / "sample.html"
    write_world_page(View(open_world(demo / "worlds", "sample"), None), page)
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, Path(profile))
        tab = browser.open(page, width=_WIDTH, height=_HEIGHT)
        tab.wait_for("canPlay")
        tab.run(f"seek({_MOMENT})")
        tab.wait_for("!document.querySelector('#video').seeking")
        time.sleep(0.5)  # the frame is painted after it was found
        taken = tab.send("Page.captureScreenshot", format="jpeg", quality=85)["data"]
        (ROOT / "docs" / "world-page.jpg").write_bytes(base64.b64decode(taken))
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

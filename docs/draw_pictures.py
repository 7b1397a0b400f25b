"""Draw the pictures of the README.

``python docs/draw_pictures.py DEMO`` takes the film and the world that ``make demo`` leaves in the folder ``demo``, and
draws the page of that world, in headless Chromium, and a frame of it with boxes. With ``STORE ID SECONDS`` behind it, it
also draws a frame of a world built by profile neural; the README shows one-by-one-person-detection.mp4 of Intel's sample
videos (CC BY 4.0) at 30 s.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.browser import Browser, find_browser  # noqa: E402 - found through the line above
from world_api.page.world_page import write_world_page  # noqa: E402
from world_api.world.store import open_world  # noqa: E402
from world_api.world.view import View  # noqa: E402

_MOMENT, _WIDTH, _HEIGHT = 12, 1100, 760
_FRAME_WIDTH = 512


def draw_frame(store: Path, video: str, seconds: str, name: str) -> None:
    """Write a frame of a world with its boxes, made smaller, as ``docs/NAME``."""
    with tempfile.TemporaryDirectory() as folder:
        frames = ["frames", video, "--store", str(store), "--at", seconds, "--boxes", "--out", folder]
        subprocess.run([sys.executable, "-m", "videoworld", *frames], check=True, cwd=ROOT)
        [path] = Path(folder).glob("*.jpg")
        frame = cv2.imread(str(path))
        size = (_FRAME_WIDTH, round(_FRAME_WIDTH * frame.shape[0] / frame.shape[1]))
        small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
        cv2.imwrite(str(ROOT / "docs" / name), small, [cv2.IMWRITE_JPEG_QUALITY, 82])


def draw_page(demo: Path) -> None:
    """Write the picture of the sample world's page from the demonstration's folder."""
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
    draw_page(Path(sys.argv[1]))
    draw_frame(Path(sys.argv[1]) / "worlds", "sample", str(_MOMENT), "frame-classical.jpg")
    if len(sys.argv) > 2:
        draw_frame(Path(sys.argv[2]), sys.argv[3], sys.argv[4], "frame-neural.jpg")

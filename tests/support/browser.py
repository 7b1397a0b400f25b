"""A real browser in a test: headless Chromium over the DevTools protocol on a pipe, which needs no socket and no package.

The browser reads commands from its descriptor 3 and writes to its descriptor 4: JSON, each message ended by a zero byte.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell")
_PATIENCE = 60.0  #: seconds for one answer; a machine under load is slow to start a browser

#: Puts two descriptors where the browser looks for them, and becomes the browser.
_LAUNCH = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"


def find_browser() -> str | None:
    """A Chromium on this machine; ``VIDEOWORLD_BROWSER`` names another one."""
    named = os.environ.get("VIDEOWORLD_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class BrowserError(AssertionError):
    """The browser did not answer, or refused."""


class Browser:
    """A running browser. Events are kept until somebody asks for them."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # No sandbox: in containers there is often none, and what is opened are this project's own pages.
        arguments = [
            *(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio"),
            *("--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-sync"),
            *("--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe", f"--user-data-dir={profile}"),
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(to_browser), str(from_browser), *arguments],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._in, 1 << 16) if ready else b""
            if not data:
                raise BrowserError("the browser is gone" if ready else "the browser does not answer")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(
        self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False, fragment: str = ""
    ) -> Tab:
        """Open a file in a tab of its own, and wait until its script has started."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.send(f"{domain}.enable")
        tab.resize(width, height)
        tab.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        tab.send("Page.navigate", url=page.resolve().as_uri() + fragment)
        tab.wait_for("document.body !== null && document.body.dataset.ready === 'yes'")
        return tab

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(BrowserError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for end in (self._in, self._out):
            os.close(end)


class Tab:
    """One page in the browser."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to this page."""
        return self._browser.send(method, self._session, **parameters)

    def run(self, script: str) -> Any:
        """The value of an expression, with promises waited for."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression is true, frame by frame of the page itself."""
        end = time.monotonic() + _PATIENCE
        while not self.run(f"new Promise((tell) => setTimeout(() => tell(Boolean({script})), 15))"):
            if time.monotonic() > end:
                raise BrowserError(f"never came true: {script}")

    def click(self, selector: str) -> None:
        """Click on an element as a mouse does."""
        place = self.run(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView({{block: 'center'}});"
            " const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def text(self, selector: str) -> str:
        """The text that is shown of an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def count(self, selector: str) -> int:
        """How many elements of a kind are shown."""
        script = f"[...document.querySelectorAll({json.dumps(selector)})].filter((one) => one.checkVisibility()).length"
        return int(self.run(script))

    def choose(self, selector: str, words: str) -> None:
        """Choose an option by its words, or write words into a field."""
        self.run(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); const words = {json.dumps(words)};"
            " one.value = one.options ? [...one.options].find((option) => option.text === words).value : words;"
            " one.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )

    def close(self) -> None:
        """Close the tab, and forget what it told."""
        self._browser.send("Target.closeTarget", targetId=self._target)
        self._browser.events[:] = [event for event in self._browser.events if event.get("sessionId") != self._session]

    def resize(self, width: int, height: int) -> None:
        """Give the page another size."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Keep what is seen; ``whole`` keeps what is below too."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """What went wrong on the page so far: exceptions, errors and warnings of the console, refusals of the policy."""
        self.run("0")
        told = []
        for event in self._own_events():
            method, about = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                told.append(str(about["exceptionDetails"].get("exception", {}).get("description", about)))
            elif method == "Log.entryAdded" and about["entry"]["level"] in {"error", "warning"}:
                told.append(about["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and about["type"] in {"error", "warning", "assert"}:
                told.append(str(about["args"]))
            elif method == "Network.loadingFailed":
                told.append(f"a request failed: {about.get('errorText')}")
        return told

    def requests(self) -> list[str]:
        """The addresses of everything that the page asked for, its own file and data it holds among them."""
        self.run("0")
        return [
            event["params"]["request"]["url"]
            for event in self._own_events()
            if event["method"] == "Network.requestWillBeSent"
        ]

    def _own_events(self) -> list[dict[str, Any]]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of a worker; where none is installed, they are skipped by name."""
    program = find_browser()
    if program is None:
        pytest.skip("no browser is installed: none of " + ", ".join(NAMES))
    running = Browser(program, tmp_path_factory.mktemp("browser"))
    yield running
    running.close()

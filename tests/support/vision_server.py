"""An endpoint on the loopback that looks: it decodes the pictures it is sent and tells their mean colours.

What it says can only be right where the right frames came, so tests read the frames back from its words.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

Say = Callable[[dict[str, Any], list[NDArray[np.uint8]]], Any]

#: What colours are called that fill a picture, in BGR.
NAMED = {
    "red": (60, 60, 200), "green": (60, 160, 60), "blue": (190, 90, 50), "yellow": (60, 210, 230),
    "white": (240, 240, 240), "black": (20, 20, 20), "grey": (128, 128, 128),
}  # fmt: skip


def pictures_of(body: dict[str, Any]) -> list[NDArray[np.uint8]]:
    """The pictures of a request, decoded."""
    found = []
    content = body["messages"][-1]["content"]
    for part in content if isinstance(content, list) else ():
        if part["type"] == "image_url":
            data = part["image_url"]["url"].removeprefix("data:image/jpeg;base64,")
            found.append(cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR))
    return found


def words_of(body: dict[str, Any]) -> list[str]:
    """The texts beside the pictures: the record, then the time of each."""
    return [part["text"] for part in body["messages"][-1]["content"] if part["type"] == "text"]


def frame_times_of(body: dict[str, Any]) -> list[float]:
    """The times of the frames that were sent, as the request tells them."""
    return [float(text.split()[2]) for text in words_of(body)[1:]]


def mean_colour(picture: NDArray[np.uint8]) -> tuple[int, int, int]:
    """Blue, green and red, each the mean of the picture."""
    blue, green, red = (int(value) for value in picture.reshape(-1, 3).mean(axis=0).round())
    return blue, green, red


def nearest_name(picture: NDArray[np.uint8]) -> str:
    """The named colour nearest to a picture's mean."""
    mean = np.array(mean_colour(picture))
    return min(NAMED, key=lambda name: float(np.abs(np.array(NAMED[name]) - mean).sum()))


def tells_colours(body: dict[str, Any], pictures: list[NDArray[np.uint8]]) -> dict[str, Any]:
    """What a model would say that knows nothing but colours."""
    seen = ", ".join(nearest_name(picture) for picture in pictures)
    task = body.get("response_format", {}).get("json_schema", {}).get("name", "caption")
    if task == "actions":
        return {"actions": [{"label": f"{seen} is shown", "confidence": 0.5}], "uncertain": ""}
    field = "caption" if task == "caption" else "answer"
    sure = {} if task == "caption" else {"confidence": 0.75}
    return {field: f"pictures that are {seen}", **sure, "uncertain": "who painted it"}


class VisionServer:
    """Answers chat requests from their pictures, and embeds texts by their words. ``requests`` keeps the bodies.

    ``say`` makes what the model says of a request and its pictures: a record, or a text. ``refuse`` may give a status and
    a message for a request instead. ``before`` is called before each answer.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.embedded: list[dict[str, Any]] = []
        self.say: Say = tells_colours
        self.refuse: Callable[[dict[str, Any]], tuple[int, str] | None] = lambda body: None
        self.before: Callable[[], None] = lambda: None
        self.usage = True
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        """The base URL a client is configured with."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer to a request."""
        with self._lock:
            (self.embedded if path.endswith("/embeddings") else self.requests).append(body)
        self.before()
        if (refused := self.refuse(body)) is not None:
            status, message = refused
            return status, {"error": {"message": message, "type": "error", "param": None, "code": None}}
        if path.endswith("/embeddings"):
            return 200, _embeddings(body)
        said = self.say(body, pictures_of(body))
        text = said if isinstance(said, str) or said is None else json.dumps(said)
        reply: dict[str, Any] = {
            "object": "chat.completion",
            "model": body["model"],
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"},
            ],
        }
        if self.usage:
            sent = 100 + 50 * len(pictures_of(body))
            reply["usage"] = {"prompt_tokens": sent, "completion_tokens": 20, "total_tokens": sent + 20}
        return 200, reply

    def close(self) -> None:
        """Stop serving; the port is closed."""
        self._server.shutdown()
        self._server.server_close()


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Texts as bags of hashed words; some that mean the same share a dimension."""
    data = []
    for index, text in enumerate(body["input"]):
        vector = [0.0] * 64
        for word in text.lower().replace(",", " ").split():
            meant = {"crimson": "red", "scarlet": "red"}.get(word, word)
            vector[int(hashlib.sha256(meant.encode()).hexdigest(), 16) % 64] += 1.0
        data.append({"object": "embedding", "index": index, "embedding": vector})
    tokens = sum(len(text.split()) for text in body["input"])
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def _handler_for(server: VisionServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = server.answer(self.path, body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler


@pytest.fixture
def vision_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[VisionServer]:
    """An endpoint that looks, and the environment that names it; proxies are left aside."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = VisionServer()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    yield server
    server.close()

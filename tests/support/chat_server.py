"""A chat server on the loopback that plays scenarios, for the real client to talk to."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.support.histories import Rule

KEY = "sk-a-key-that-nobody-may-see"
_DRIP_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One HTTP answer. ``announced`` is the Content-Length that is declared, for bodies that are cut short.

    What ``drips`` comes byte by byte, each long before a client's timeout for one read. ``chunked`` bodies come in two
    chunks, of which the second never ends where ``cut`` says so. ``drops`` closes the connection without a word, ``repeated``
    is how often the body is sent over.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None
    hangs: bool = False
    drips: bool = False
    drops: bool = False
    chunked: bool = False
    cut: bool = False
    repeated: int = 1
    content_type: str = "application/json"


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ChatServer:
    """Plays answers in order, the last one for ever, and keeps the requests."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.rules: tuple[Rule, ...] = ()  #: of histories; what breaks one is refused with status 400
        self.released = threading.Event()
        self._answers: deque[Answer] = deque()
        self._respond: Callable[[Received], Answer | dict[str, Any]] | None = None
        self._turn = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL a client is configured with."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def play(self, *answers: Answer | dict[str, Any]) -> None:
        """Set the scenario; a plain object is a reply with status 200."""
        self._respond = None
        self._answers = deque(item if isinstance(item, Answer) else self.ok(item) for item in answers)

    def respond(self, how: Callable[[Received], Answer | dict[str, Any]]) -> None:
        """Answer each request by what it says, as a model does."""
        self._respond = how

    def answer_to(self, received: Received) -> Answer:
        """The answer to this request, which is kept."""
        with self._turn:
            self.received.append(received)
            broken = next(filter(None, (rule(received.body) for rule in self.rules)), None)
            if broken is not None:
                return self.refusal(400, broken)
            if self._respond is None:
                return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
        answer = self._respond(received)
        return answer if isinstance(answer, Answer) else self.ok(answer)

    @staticmethod
    def ok(reply: Any) -> Answer:
        """A reply with status 200."""
        return Answer(body=json.dumps(reply).encode())

    @staticmethod
    def refusal(status: int, message: str, *, code: str | None = None, **headers: str) -> Answer:
        """An error in the form that OpenAI's API gives it."""
        body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return Answer(status=status, body=json.dumps(body).encode(), headers=names)

    @staticmethod
    def cut(reply: Any) -> Answer:
        """A reply whose connection breaks in the middle of the body."""
        body = json.dumps(reply).encode()
        return Answer(body=body[: len(body) // 2], announced=len(body))

    @staticmethod
    def raw(body: bytes) -> Answer:
        """Status 200 with any body."""
        return Answer(body=body)

    @staticmethod
    def hanging() -> Answer:
        """No answer until the test is over."""
        return Answer(hangs=True)

    @staticmethod
    def dripping(reply: Any) -> Answer:
        """A whole reply, a byte at a time."""
        return Answer(body=json.dumps(reply).encode(), drips=True)

    def close(self) -> None:
        """Stop serving."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def _handler_for(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.serve(body)

        def do_GET(self) -> None:
            self.serve({})

        def serve(self, body: dict[str, Any]) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = server.answer_to(Received(path=self.path, headers=headers, body=body))
            self.close_connection = True
            if answer.hangs:
                server.released.wait()
            if answer.hangs or answer.drops:
                return
            with suppress(OSError):  # a client may have heard enough
                self.send(answer)

        def send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Connection", "close")
            if answer.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            else:
                whole = len(answer.body) * answer.repeated
                self.send_header("Content-Length", str(whole if answer.announced is None else answer.announced))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.chunked:
                self.send_chunks(answer)
            elif answer.drips:
                self.drip(answer.body)
            else:
                for _ in range(answer.repeated):
                    self.wfile.write(answer.body)

        def send_chunks(self, answer: Answer) -> None:
            half = len(answer.body) // 2
            for part in (answer.body[:half], answer.body[half:]):
                self.wfile.write(f"{len(part):x}\r\n".encode() + part)
                if answer.cut:
                    return
                self.wfile.write(b"\r\n")
            self.wfile.write(b"0\r\n\r\n")

        def drip(self, body: bytes) -> None:
            for byte in body:
                if server.released.wait(_DRIP_SECONDS):
                    return
                self.wfile.write(bytes([byte]))

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler


@pytest.fixture
def chat_server(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    """A chat server on the loopback; the environment's proxies and what is known of endpoints are left aside."""
    monkeypatch.setenv("VIDEOWORLD_CACHE", str(tmp_path_factory.mktemp("findings")))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = ChatServer()
    yield server
    server.close()


class SteppingClock:
    """A clock that a test moves; each reading of it also takes ``step`` seconds."""

    def __init__(self, *, step: float = 0.0) -> None:
        self.seconds = 0.0
        self.step = step

    def now(self) -> str:
        return "2026-01-01T00:00:00+00:00"

    def monotonic(self) -> float:
        self.seconds += self.step
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def stepping_clock() -> type[SteppingClock]:
    """Makes clocks that tests move."""
    return SteppingClock

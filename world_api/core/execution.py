"""Execution in this process: lazy packages, the clock, threads, caches for threads, and a child's environment variables."""

from __future__ import annotations

import ast
import functools
import sys
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Whether this process runs the command ``videoworld`` and not another program that imports the project.
is_command = False


@contextmanager
def hidden(package: str) -> Iterator[None]:
    """Let a package that is not imported yet look as if it were not installed, inside the block."""

    class Finder:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
            if name == package:
                raise ModuleNotFoundError(f"{package} is hidden", name=package)

    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package that imports its names under ``TYPE_CHECKING``.

    The imports are read from the package's source, so type checkers, ``dir`` and ``import *`` have the same names::

        if TYPE_CHECKING:
            from package.module import Name, other_name

        __getattr__, __dir__, __all__ = lazy_names(__name__)
    """
    module = sys.modules[package]
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    homes = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        value = getattr(import_module(home), original)
        setattr(module, name, value)
        return value

    return load, lambda: sorted({*vars(module), *homes}), sorted(homes)


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Parameters = ParamSpec("_Parameters")


class SystemClock:
    """The clock of this machine."""

    def now(self) -> str:
        """Return the wall time as ISO 8601 in UTC, to the second."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    def monotonic(self) -> float:
        """Return the seconds of a clock that never runs backwards."""
        return time.monotonic()


def ordered_map(
    function: Callable[[_Item], _Result], items: Iterable[_Item], *, width: int
) -> Generator[_Result, None, None]:
    """Apply a function to items on up to ``width`` threads and yield the results in the order of the items.

    At most ``2 * width`` items are read ahead of the results. Each call runs in a copy of the caller's context. Closing
    the iterator cancels calls that have not begun and waits for the others.

    Raises Exception: the function's own, in place of the result of that item; no further call begins.
    """
    from concurrent.futures import ThreadPoolExecutor

    pending: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(max_workers=width, thread_name_prefix="ordered-map") as pool:
        try:
            for item in items:
                pending.append(pool.submit(copy_context().run, function, item))
                if len(pending) == 2 * width:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


Kept = TypeVar("Kept")
Key = TypeVar("Key", bound=Hashable)


class OnceEach(Generic[Key, Kept]):
    """A cache that makes the value of each key only once; threads that request the same key wait for each other.

    From Python 3.12 on, ``functools.cached_property`` makes a value twice if two threads request it at the same time;
    on Python 3.11 it blocks all objects of a class meanwhile. It is good enough for values that are quick to make.
    """

    def __init__(self) -> None:
        self._kept: dict[Key, Kept] = {}
        self._locks: dict[Key, Any] = {}
        self._guard = Lock()

    def get(self, key: Key, make: Callable[[], Kept]) -> Kept:
        """Return the value of a key; if there is none, ``make`` is called and its result is kept."""
        if key in self._kept:
            return self._kept[key]
        with self._guard:
            lock = self._locks.setdefault(key, RLock())
        with lock:
            if key not in self._kept:
                self._kept[key] = make()
            with self._guard:
                self._locks.pop(key, None)
            return self._kept[key]


#: Variables about folders, encodings, time zones and numbers of threads. No variable here may hold a secret.
_ALLOWED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"),
        *("LANG", "LANGUAGE", "TZ"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"),
        *("PYTHONHOME", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONHASHSEED", "PYTHONMALLOC", "PYTHONWARNINGS"),
        *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "VIRTUAL_ENV"),
        *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "GOTO_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "CUDA_VISIBLE_DEVICES", "ESPEAK_DATA_PATH"),
    }
)
_ALLOWED_BEGINNING = "LC_"
#: Variables that FFmpeg reads when it opens a stream. They may contain a password, so no other process gets them.
_NETWORK = frozenset({"http_proxy", "no_proxy"})


def restricted_environment(environment: Mapping[str, str], *, network: bool = False) -> dict[str, str]:
    """Return the variables that a child process gets: those of a fixed list; with ``network`` also those of a proxy.

    Keys of endpoints and all other variables are omitted.
    """
    allowed = _ALLOWED | _NETWORK if network else _ALLOWED
    return {
        name: value for name, value in environment.items() if name in allowed or name.startswith(_ALLOWED_BEGINNING)
    }


def async_variant(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, Coroutine[Any, Any, _Result]]:
    """Return a coroutine function that runs a function in a thread, so that the event loop goes on.

    If the coroutine is cancelled, the thread still ends what it has begun.
    """

    @functools.wraps(function)
    async def run_in_thread(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        import asyncio

        return await asyncio.to_thread(function, *args, **kwargs)

    run_in_thread.__name__ = f"a{function.__name__}"
    run_in_thread.__doc__ = f"Async variant of ``{function.__name__}``, in a thread. {function.__doc__}"
    return run_in_thread

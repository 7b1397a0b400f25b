"""How a build loads what it needs: its libraries start no threads that nobody uses, and nobody looks for garbage meanwhile."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from importlib import import_module

from world_api.core.environment import restricted_environment

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
#: The libraries of every build that bring an OpenBLAS. A build multiplies nothing that is large.
_BRINGING_BLAS = ("numpy", "cv2")


def process_environment(environment: Mapping[str, str], *, network: bool = False) -> dict[str, str]:
    """The environment for a process that opens media or runs a stage, made of this one's ``environment``.

    It holds only what is on a list (``restricted_environment``), so no key. OpenBLAS starts no threads; a number that a person
    has set stays. Modules are found where this process finds them: the process is isolated but for that path, so that no
    file of the current folder is taken for one.
    """
    allowed = restricted_environment(environment, network=network)
    return {_BLAS_THREADS: "1", **allowed, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def load_with_one_blas_thread(environment: MutableMapping[str, str]) -> None:
    """Import NumPy and OpenCV so that their OpenBLAS starts no threads; a number that a person has set stays.

    OpenBLAS starts threads when it is loaded, and they wait busily for work. It reads ``environment`` (that of this
    process) then and never again. So what else is loaded later, such as a recogniser of speech, has its own threads; but
    a NumPy that was imported before keeps those it has, and its users cannot take them back without another package.
    This is for a program that does nothing but build. A program that calls ``build_world`` among other things sets
    the variable before its first import, if it can do without these threads all along.
    """
    if _BLAS_THREADS in environment:
        return
    environment[_BLAS_THREADS] = "1"
    try:
        for name in _BRINGING_BLAS:
            import_module(name)
    finally:
        del environment[_BLAS_THREADS]


@contextmanager
def without_collecting() -> Iterator[None]:
    """For imports: what they make stays, and looking through it for garbage again and again takes a tenth of their time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

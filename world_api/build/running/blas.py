"""How many threads OpenBLAS starts: NumPy and OpenCV bring one each, and a build multiplies nothing that is large."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from importlib import import_module

_NAME = "OPENBLAS_NUM_THREADS"
#: The libraries of every build that bring an OpenBLAS.
_BRINGING_ONE = ("numpy", "cv2")


def with_one_blas_thread(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process of a build; a number that a person has set stays."""
    return {_NAME: "1", **environment}


def load_with_one_blas_thread(environment: MutableMapping[str, str]) -> None:
    """Import NumPy and OpenCV so that their OpenBLAS starts no threads; a number that a person has set stays.

    OpenBLAS starts threads when it is loaded, and they wait busily for work. It reads ``environment`` (that of this
    process) then and never again. So what else is loaded later, such as a recogniser of speech, has its own threads; but
    a NumPy that was imported before keeps those it has, and its users cannot take them back without another package.
    This is for a program that does nothing but build. A program that calls ``build_world`` among other things sets
    the variable before its first import, if it can do without these threads all along.
    """
    if _NAME in environment:
        return
    environment[_NAME] = "1"
    try:
        for name in _BRINGING_ONE:
            import_module(name)
    finally:
        del environment[_NAME]

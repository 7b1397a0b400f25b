"""What processes that open files of unknown making are told of this one's environment: only what they need to run."""

from __future__ import annotations

from collections.abc import Mapping

#: Where things lie, how texts and times are read, and how many threads libraries start. No name here may hold a secret.
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
#: What FFmpeg reads when it opens a stream. The address of a proxy may hold a password, so nobody else gets it.
_NETWORK = frozenset({"http_proxy", "no_proxy"})


def restricted_environment(environment: Mapping[str, str], *, network: bool = False) -> dict[str, str]:
    """The variables of ``environment`` that are on the list; with ``network`` also those that name a proxy.

    Keys of endpoints and whatever else a person keeps in the environment are not on it.
    """
    allowed = _ALLOWED | _NETWORK if network else _ALLOWED
    return {
        name: value for name, value in environment.items() if name in allowed or name.startswith(_ALLOWED_BEGINNING)
    }

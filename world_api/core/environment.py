"""The environment of child processes that open untrusted files: only the variables that they need to run."""

from __future__ import annotations

from collections.abc import Mapping

#: Paths, locales, and the number of threads of libraries. No variable here may hold a secret.
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
#: Variables that FFmpeg reads to open a stream. The address of a proxy may hold a password, so no other process gets it.
_NETWORK = frozenset({"http_proxy", "no_proxy"})


def restricted_environment(environment: Mapping[str, str], *, network: bool = False) -> dict[str, str]:
    """Return the allowed variables of ``environment``; with ``network`` also those that name a proxy. Keys are never among them."""
    allowed = _ALLOWED | _NETWORK if network else _ALLOWED
    return {
        name: value for name, value in environment.items() if name in allowed or name.startswith(_ALLOWED_BEGINNING)
    }

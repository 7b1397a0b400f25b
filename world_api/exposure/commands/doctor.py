"""``videoworld doctor``: what this installation can do, and what to install for the rest."""

from __future__ import annotations

import importlib.util
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer

from world_api.exposure.cli import DEFAULT_STORE, JsonOption, StoreOption, command_app, show
from world_api.exposure.commands.endpoints import examine_endpoint
from world_api.version import project_version

app = command_app()

#: distribution -> (what it is for, the extra that installs it; empty for the core). A missing one of an extra is no problem.
PACKAGES: dict[str, tuple[str, str]] = {
    "av": ("decoding", ""),
    "opencv-python-headless": ("tracks, colours", ""),
    "scenedetect-headless": ("shots", ""),
    "rapidocr": ("screen text", ""),
    "onnxruntime": ("screen text", ""),
    "pyarrow": ("the world on disk", ""),
    "lancedb": ("search across videos", ""),
    "openai": ("chat models", ""),
    "jsonschema": ("tool documents", ""),
    "jinja2": ("expressions, prompts", ""),
    "mcp": ("serving the operations", ""),
    "faster-whisper": ("recognising speech", "speech"),
    "pocketsphinx": ("recognising English, poorly", "speech-lite"),
    "torch": ("neural perception", "neural"),
    "ultralytics-opencv-headless": ("neural detection and tracking", "neural"),
    "open-clip-torch": ("neural image and text embeddings", "neural"),
}

#: extra -> what goes without it.
EXTRAS = {
    "speech": "used by `build --speech faster-whisper`, and by `--speech auto` where there are no subtitles",
    "speech-lite": "used by `build --speech pocketsphinx` alone",
    "neural": "not used yet",
}


@app.command()
def doctor(
    store: StoreOption = DEFAULT_STORE,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Look at a chat endpoint instead: about ten small requests, with the key of OPENAI_API_KEY.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model to look at on that endpoint.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Ask the endpoint again, though findings are kept.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check this installation, or a chat endpoint, and say what is missing."""
    if endpoint is not None or model is not None or again:
        examine_endpoint(endpoint, model, again=again, as_json=as_json)
        return
    record = _examination(store)
    show(record, as_json=as_json, text=lambda: _text(record))
    if not record["ok"]:
        raise typer.Exit(1)


def _examination(store: Any) -> dict[str, Any]:
    packages = [_package(name, *facts) for name, facts in PACKAGES.items()]
    problems = [p["advice"] for p in packages if not p["version"] and not p["extra"]]
    if store.exists() and not os.access(store, os.W_OK):
        problems.append(f"the store {store} cannot be written to; choose another --store")
    if importlib.util.find_spec("cv2") is not None and not _opencv_has_detectors():
        problems.append("this OpenCV has no people detector; install opencv-python-headless below 5")
    return {
        "ok": not problems,
        "python": platform.python_version(),
        "project": project_version(),
        "packages": packages,
        "endpoint": {
            "base_url_set": bool(os.environ.get("OPENAI_BASE_URL")),
            "key_set": bool(os.environ.get("OPENAI_API_KEY")),
            "note": "used only when --model names a model of it",
        },
        "store": {"path": str(store), "exists": store.is_dir()},
        "problems": problems,
    }


def _package(name: str, purpose: str, extra: str) -> dict[str, Any]:
    found = _version(name)
    target = f"video-world-api[{extra}]" if extra else name
    return {
        "name": name,
        "version": found,
        "for": purpose,
        "extra": extra,
        "advice": "" if found else f'pip install "{target}"',
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _opencv_has_detectors() -> bool:
    import cv2

    return hasattr(cv2, "HOGDescriptor") and hasattr(cv2, "CascadeClassifier")


def _text(record: dict[str, Any]) -> str:
    lines = [f"video-world-api {record['project']}, Python {record['python']}", ""]
    for package in record["packages"]:
        state = package["version"] or f"missing ({EXTRAS.get(package['extra'], 'needed')}): {package['advice']}"
        lines.append(f"  {package['name']:30} {package['for']:34} {state}")
    endpoint = record["endpoint"]
    lines += [
        "",
        f"  endpoint: OPENAI_BASE_URL {'set' if endpoint['base_url_set'] else 'not set'}, "
        f"OPENAI_API_KEY {'set' if endpoint['key_set'] else 'not set'}; {endpoint['note']}",
        f"  store: {record['store']['path']} ({'there' if record['store']['exists'] else 'not there yet'})",
        "",
        *(f"  problem: {problem}" for problem in record["problems"]),
        "everything needed is there" if record["ok"] else "see the problems above",
    ]
    return "\n".join(lines)

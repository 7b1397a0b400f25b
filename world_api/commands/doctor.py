"""``videoworld doctor``: reports what this installation or a chat endpoint supports, and what to install or change."""

from __future__ import annotations

import os
import platform
import shutil
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.commands.cli import JsonOption, StoreOption
from world_api.core.faults import BackendFault
from world_api.installation import cache_folder, install_command, installed, project_version
from world_api.options import CLASSICAL, DEFAULT_STORE, NEURAL
from world_api.terminal import note, show

if TYPE_CHECKING:
    from world_api.perception.models import ModelFolder

#: extra (empty: the core, of which nothing may be missing) -> purpose -> the distributions that serve it.
_PURPOSES = {
    "": {
        "arrays": "numpy", "decoding": "av", "tracks, colours": "opencv-python-headless", "shots": "scenedetect-headless",
        "screen text": "rapidocr onnxruntime", "key frames, drawn films": "pillow", "the world on disk": "pyarrow",
        "several processes on one store": "filelock", "search across videos": "lancedb", "vector search": "faiss-cpu",
        "word search": "snowballstemmer", "chat models": "openai httpx2", "retries of requests": "tenacity",
        "checked JSON": "pydantic", "tool documents": "jsonschema", "expressions, prompts": "jinja2",
        "configurations, domains": "pyyaml", "serving the operations": "mcp anyio", "the command line": "typer",
        "progress bars": "rich", "scores of published benchmarks": "nltk",
    },
    "eval": {
        "statistics of runs": "scipy statsmodels", "tables of runs": "pandas",
        "charts of reports": "altair vl-convert-python",
    },
    "inspect": {"runs as Inspect logs": "inspect_ai"},
    "speech": {"recognising speech": "faster-whisper"},
    "sounds": {"tagging sounds": "ai-edge-litert"},
    "speech-lite": {"recognising English, poorly": "pocketsphinx"},
    "neural": {"faster models on Intel and AMD": "openvino", "clusters of looks": "scikit-learn"},
    "neural-torch": {
        "models in torch": "torch torchvision", "detection and tracking in torch": "ultralytics-opencv-headless lap",
        "image and text embeddings": "open_clip_torch",
    },
}  # fmt: skip
#: distribution -> (its purpose, the extra that installs it).
PACKAGES = {
    name: (purpose, extra)
    for extra, purposes in _PURPOSES.items()
    for purpose, names in purposes.items()
    for name in names.split()
}
#: extra -> what needs it.
EXTRAS = {
    "speech": "used by `build --speech faster-whisper` and `both`, and by `auto` if there are no subtitles",
    "sounds": "used by `build` if the models yamnet and audioset-names are there",
    "speech-lite": "used by `build --speech pocketsphinx` alone",
    "eval": "used by `eval` and `compare` for statistics, tables and reports",
    "inspect": "used by `eval export` alone",
    "neural": "not used yet: the detector of profile neural runs without it",
    "neural-torch": "not used yet, but for open_clip_torch: checkpoints of `models add --task image_text`",
}
#: program on the PATH -> its purpose. A missing program is no problem.
PROGRAMS = {"espeak-ng": "voices of generated films: `sandbox`, `sample`"}

_REQUEST_SECONDS = 60.0
_RETRIES = 2
_WIDTH = 118
_MARGIN = 39


def doctor(
    store: StoreOption = DEFAULT_STORE,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Examine a chat endpoint instead: a few small requests, with the key of OPENAI_API_KEY.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="The model to examine on that endpoint.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Examine the endpoint again, though findings are kept.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check this installation, or a chat endpoint, and say what is missing."""
    if endpoint is not None or model is not None or again:
        record = examine_endpoint(endpoint, model, again=again)
        show(record, as_json=as_json, text=lambda: _endpoint_text(record))
        good = record["usable"]
    else:
        record = examine_installation(store)
        show(record, as_json=as_json, text=lambda: _installation_text(record))
        good = record["ok"]
    if not good:
        raise typer.Exit(1)


def examine_installation(store: Path) -> dict[str, Any]:
    """Return a report as JSON values: versions of packages, programs, the configured endpoint, the store, and problems.

    ``ok`` is False if a package of the core is missing or the store cannot be written.
    """
    packages = []
    for name, (purpose, extra) in PACKAGES.items():
        found = installed(name)
        advice = "" if found else install_command(extra)
        packages.append({"name": name, "version": found, "for": purpose, "extra": extra, "advice": advice})
    problems = [package["advice"] for package in packages if not package["version"] and not package["extra"]]
    if store.exists() and not os.access(store, os.W_OK):
        problems.append(f"the store {store} cannot be written to; choose another --store")
    return {
        "ok": not problems,
        "python": platform.python_version(),
        "project": project_version(),
        "packages": packages,
        "programs": [{"name": name, "path": shutil.which(name), "for": purpose} for name, purpose in PROGRAMS.items()],
        "endpoint": {
            "base_url_set": bool(os.environ.get("OPENAI_BASE_URL")),
            "key_set": bool(os.environ.get("OPENAI_API_KEY")),
            "note": "used only when --model names a model of it",
        },
        "store": {"path": str(store), "exists": store.is_dir()},
        "models": _models(),
        "problems": problems,
    }


def _models() -> dict[str, Any]:
    """Return as JSON the folder of models, which are there, what ``auto`` means in a new build, and which models it has for what."""
    from world_api.api import model_folder
    from world_api.commands.models import described

    folder = model_folder()
    found: list[dict[str, Any]] = []
    detector, tagger, encoder, voices, problems = None, None, None, None, list[str]()
    try:
        found = [described(model, folder) for model in folder.catalogue()]
        detector, tagger = folder.detector(say=problems.append), folder.tagger(say=problems.append)
        encoder, voices = folder.text_encoder(say=problems.append), folder.voice_embedder(say=problems.append)
    except BackendFault as fault:
        problems = problems or [fault.message]
    return {
        "folder": str(folder.folder), "auto": CLASSICAL if detector is None else NEURAL,
        "detector": None if detector is None else detector.name, "problem": "; ".join(problems), "models": found,
        "speech": _speech(folder), "voices": None if voices is None else voices.producer,
        "pictures": None if tagger is None else next(iter(tagger.parameters.values())),
        "texts": None if encoder is None else {"producer": encoder.producer, "calibrated": encoder.calibration is not None},
    }  # fmt: skip


def _speech(folder: ModelFolder) -> dict[str, str | None]:
    """Return as JSON with which model ``build --speech auto`` recognises speech; None and the reason if with none."""
    from world_api.perception.speech import WhisperRecogniser

    try:
        model = folder.speech_model()
        recogniser = WhisperRecogniser(None if model is None else str(model))
    except BackendFault as fault:
        return {"recogniser": None, "problem": f"{fault.message}; {fault.hint}"}
    return {"recogniser": recogniser.producer, "problem": ""}


def _installation_text(record: dict[str, Any]) -> str:
    lines = [f"video-world-api {record['project']}, Python {record['python']}", ""]
    for package in record["packages"]:
        state = package["version"] or f"missing ({EXTRAS.get(package['extra'], 'needed')}): {package['advice']}"
        lines.append(f"  {package['name']:30} {package['for']:34} {state}")
    lines += [f"  {item['name']:30} {item['for']:34} {item['path'] or 'not there'}" for item in record["programs"]]
    endpoint = record["endpoint"]
    lines += [
        "",
        f"  endpoint: OPENAI_BASE_URL {'set' if endpoint['base_url_set'] else 'not set'}, "
        f"OPENAI_API_KEY {'set' if endpoint['key_set'] else 'not set'}; {endpoint['note']}",
        f"  store: {record['store']['path']} ({'there' if record['store']['exists'] else 'not there yet'})",
        "",
        *_model_lines(record["models"]),
        "",
        *(f"  problem: {problem}" for problem in record["problems"]),
        "everything needed is there" if record["ok"] else "see the problems above",
    ]
    return "\n".join(lines)


def _model_lines(record: dict[str, Any]) -> list[str]:
    from world_api.commands.models import line

    if record["problem"]:
        return [f"  models: {record['problem']}"]
    chosen = (
        f"with the detector {record['detector']}" if record["detector"] else "`videoworld models pull` fetches neural's"
    )
    texts = "by their words; `videoworld models pull use-multilingual-v3` fetches an encoder"
    if record["texts"] is not None:
        limits = (
            "its limits were measured" if record["texts"]["calibrated"] else "uncalibrated: no limits were measured"
        )
        texts = f"by meaning, {record['texts']['producer']}; {limits}"
    speech = record["speech"]
    return [
        *(f"  {line(model)}" for model in record["models"]),
        f"  models: {record['folder']}; --profile auto is {record['auto']} ({chosen})",
        f"  speech without subtitles: {speech['recogniser'] or 'not written down: ' + speech['problem']}",
        f"  who speaks: {record['voices'] or 'not judged; `videoworld models pull resemblyzer` fetches a model of voices'}",
        f"  what pictures may show: {record['pictures'] or 'not judged; `videoworld models add` takes a model of your own'}",
        f"  texts are compared {texts}",
    ]


def examine_endpoint(url: str | None, model: str | None, *, again: bool) -> dict[str, Any]:
    """Test what a chat endpoint supports and return a report as JSON values. ``again`` ignores a stored result.

    Raises BackendFault: ``endpoint_not_configured``, if ``url`` or ``model`` is missing; those of ``capabilities_of``.
    """
    from world_api.chat.capabilities import CHECKS, capabilities_of
    from world_api.chat.transport import Endpoint
    from world_api.core.execution import SystemClock

    if not url or not model:
        raise BackendFault(
            "endpoint_not_configured",
            "no endpoint was named" if not url else "no model was named",
            hint="videoworld doctor --endpoint http://127.0.0.1:8000/v1 --model NAME",
        )
    configured = Endpoint.from_environment({**os.environ, "OPENAI_BASE_URL": url})
    endpoint = replace(configured, timeout=_REQUEST_SECONDS, total_timeout=2 * _REQUEST_SECONDS, retries=_RETRIES)
    note(f"asking {endpoint.host} about {model}: a few small requests")
    found = capabilities_of(
        endpoint,
        model,
        cache=cache_folder(os.environ, home=Path.home()),
        clock=SystemClock(),
        sleep=time.sleep,
        again=again,
    )
    return {
        "endpoint": endpoint.host,
        "model": model,
        "usable": found.usable,
        "wire": found.wire,
        "checks": [
            {"check": check.name, "outcome": check.outcome, "seen": check.seen, "means": check.meaning}
            for check in map(found.check, CHECKS)
        ],
        "window": found.window,
        "requests": found.requests,
        "tokens": found.spent.record(),
        "asked_at": found.found_at,
        "complete": found.thorough,
    }


def _endpoint_text(record: dict[str, Any]) -> str:
    from world_api.chat.capabilities import TITLES

    lines = [f"{record['model']} on {record['endpoint']}, examined at {record['asked_at']}", ""]
    lines.append(f"  {'check':24}{'outcome':13}what was seen -> what it means")
    for row in record["checks"]:
        said = textwrap.wrap(row["seen"] or "-", _WIDTH - _MARGIN)
        if row["means"]:
            said += textwrap.wrap(f"-> {row['means']}", _WIDTH - _MARGIN, subsequent_indent="   ")
        lines.append(f"  {TITLES[row['check']]:24}{row['outcome'].replace('_', ' '):13}{said[0]}")
        lines += [f"{'':{_MARGIN}}{line}" for line in said[1:]]
    if record["window"] is not None:
        window = f"{record['window']:,} tokens, as the server reports -> used if --window is not given"
        lines.append(f"  {'context window':24}{'':13}{window}")
    tokens = record["tokens"]
    about = "about " if tokens["estimated"] else ""
    lines += [
        "",
        f"  {record['requests']} requests, {about}{tokens['prompt']} + {tokens['completion']} tokens"
        + ("" if record["complete"] else "; not everything could be examined, try again later"),
        f"it can be a controller, over {TITLES[record['wire']]} (--wire {record['wire']})"
        if record["usable"]
        else "it cannot be a controller",
    ]
    return "\n".join(lines)

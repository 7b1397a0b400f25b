"""``videoworld models``: the model files that perception can use; nothing else fetches any."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.commands.cli import JsonOption, group_app
from world_api.core.faults import BackendFault
from world_api.options import NEURAL
from world_api.terminal import ask, note, progress_bars, show

if TYPE_CHECKING:
    from world_api.perception.models import Model, ModelFolder

app = group_app("List, fetch, add, remove and check the model files that perception can use.")

FolderOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="The folder of models; by default VIDEOWORLD_MODELS, else one in the cache folder."
    ),
]
#: terms -> what to know before using such weights.
TERMS = {
    "copyleft": "its licence asks that what is offered with it is published, too",
    "research": "for research only",
    "unknown": "its licence was not looked at",
}


@app.command("list")
def list_models(folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """List the models: which are on this machine, how large they are, and under which licence."""
    models = _folder(folder)
    record: dict[str, Any] = {
        "folder": str(models.folder),
        "models": [described(model, models) for model in models.catalogue()],
    }
    show(
        record,
        as_json=as_json,
        text=lambda: "\n".join([*map(line, record["models"]), f"folder: {record['folder']}"]),
    )


@app.command()
def pull(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Models; by default those of profile neural.")
    ] = None,
    offered: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FOLDER", help="Take the files from this folder instead of the models' sources."
        ),
    ] = None,
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch models: from their address, a package of a registry, or a folder; compare hashes; go on where it stopped.

    All are tried; the exit status is 1 if one is not here in the end.
    """
    models = _folder(folder)
    wanted = [models.find(name) for name in names or ()] or [
        model for model in models.catalogue() if NEURAL in model.profiles
    ]
    if offered is not None and not offered.is_dir():
        raise BackendFault("model_not_fetched", f"there is no folder {offered}", hint="give the folder of the files")
    found: list[dict[str, Any]] = []
    said: list[str] = []
    for model in wanted:
        if model.terms in TERMS:
            note(f"{model.name}: {model.licence}; {TERMS[model.terms]}")
        record: dict[str, Any] = {"name": model.name, "fetched": False, "problem": "", "hint": ""}
        try:
            with progress_bars(" bytes") as bars:
                record["fetched"] = models.pull(model, offered=offered, shown=bars.update)
            said.append(f"{model.name}: {'fetched' if record['fetched'] else 'already there'}")
        except BackendFault as fault:  # faults of the folder concern all models, and end the command
            record.update(problem=fault.message, hint=fault.hint)
            said.append(f"{fault.message}\n  hint: {fault.hint}")
        found.append(record)
    said.append(f"in {models.folder}")
    if folder is not None and models.folder != _folder(None).folder:
        said.append(
            f"other commands look there only with: export VIDEOWORLD_MODELS={shlex.quote(str(folder.resolve()))}"
        )
    show({"folder": str(models.folder), "models": found}, as_json=as_json, text=lambda: "\n".join(said))
    if lacking := [record["name"] for record in found if record["problem"]]:
        note(f"error: not fetched: {', '.join(lacking)}; {len(lacking)} of {len(found)} models [model_not_fetched]")
        raise typer.Exit(1)


@app.command()
def add(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="An ONNX file; of an image-text pair the folder of image.onnx, text.onnx and the tokenizer, or a checkpoint; "
            "of a text encoder a folder of an ONNX file and tokenizer.json, or of sentence-transformers.",
        ),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="How it is chosen; by default the file's name.")
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(metavar="LAYOUT", help="yolox, yolo, yolo-end-to-end or rt-detr; by default as its output looks."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Its classes, one a line; by default the file's notes, else COCO."),
    ] = None,
    sure: Annotated[
        float | None, typer.Option(min=0.01, max=0.99, help="The least confidence of a detection that counts.")
    ] = None,
    licence: Annotated[str, typer.Option(help="The licence of its weights, for `models list`.")] = "",
    task: Annotated[
        str,
        typer.Option(
            metavar="TASK", help="What it does: detector, image_text, image_classifier, text_encoder or voice_embedder."
        ),
    ] = "detector",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="An option of models.yaml, such as side=256 or mean=[0.5,0.5,0.5]."
        ),
    ] = None,
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a model of your own: of objects, of pictures and texts, or of voices (--task); used before the project's."""
    from world_api.perception.models import ADDED_TASKS

    if task not in ADDED_TASKS:
        hint = f"the tasks are {', '.join(ADDED_TASKS)}"
        raise BackendFault("bad_catalogue", f"no model of the task {task[:40]!r} can be added", hint=hint)
    models = _folder(folder)
    listed = None
    if labels is not None:
        try:
            listed = [word.strip() for word in labels.read_text(encoding="utf-8").splitlines() if word.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise BackendFault("bad_catalogue", f"{labels} cannot be read: {error}", hint="one class a line") from None
    options: dict[str, Any] = {"layout": layout, "labels": listed, "sure": sure, **_settings(settings or ())}
    model = models.add(path, name=name, options=options, licence=licence, task=task)
    record = described(model, models)
    about = f"\n  layout {model.options['layout']}" if "layout" in model.options else ""
    show(record, as_json=as_json, text=lambda: f"{line(record)}{about}")


def _settings(given: Sequence[str]) -> dict[str, Any]:
    """Return options given as ``KEY=VALUE``; a value is YAML. Raises BackendFault: ``bad_catalogue``."""
    from world_api.core.faults import ToolFault
    from world_api.core.yaml_text import read_yaml

    found = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        try:
            found[key] = read_yaml(value.encode(), setting).value
        except ToolFault as fault:
            raise BackendFault("bad_catalogue", f"--set {setting[:80]}: {fault.message}", hint=fault.hint) from None
        if not equals:
            raise BackendFault("bad_catalogue", f"--set {setting[:80]} has no value", hint="write KEY=VALUE")
    return found


@app.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model that was added, or whose files were fetched.")],
    yes: Annotated[bool, typer.Option("--yes", help="Remove it without a question.")] = False,
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete the files of a model that are here; one of your own is also no longer listed."""
    models = _folder(folder)
    files = models.files_to_remove(name)
    listed = ", ".join(path.name for path in files) or "no file; its entry"
    ask(f"{name} in {models.folder}: {listed}", "Remove that?", yes=yes, kept="nothing was removed")
    removed = [str(path) for path in models.remove(name)]
    show({"name": name, "removed": removed}, as_json=as_json, text=lambda: f"{name}: removed")


@app.command()
def check(folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """Compare the hashes of all models that are here, and run each model once, on a grey picture, two texts or two sounds."""
    models = _folder(folder)
    found = []
    listed = list(models.catalogue())
    with progress_bars(" models", shown=sys.stderr.isatty()) as bars:
        for number, model in enumerate(listed, start=1):
            record = described(model, models) | {"state": models.state(model), "problem": ""}
            if record["state"] == "damaged":
                record["problem"] = "its hash is not that of the catalogue"
            elif record["state"] == "present":
                record["problem"] = _problem(model, models)
            found.append(record)
            bars.update("check", number, len(listed))
    show({"folder": str(models.folder), "models": found}, as_json=as_json, text=lambda: _report(found))
    if any(record["problem"] for record in found):
        raise typer.Exit(1)


def _report(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the lines of the checked models, and how many are in each state."""
    states = [one["state"] if one["state"] != "present" else "unusable" if one["problem"] else "ok" for one in found]
    lines = [line({**one, "state": state}) for one, state in zip(found, states, strict=True)]
    counts = [f"{states.count(state)} {state}" for state in ("ok", "missing", "damaged")]
    counts += [f"{states.count('unusable')} unusable"] if "unusable" in states else []
    return "\n".join([*lines, f"{len(found)} models: {', '.join(counts)}"])


def described(model: Model, models: ModelFolder) -> dict[str, Any]:
    """Return a model of the catalogue as JSON; of its state only whether its files have their sizes, since hashing takes time."""
    return {
        "name": model.name,
        "task": model.task,
        "state": "present" if models.is_present(model) else "damaged" if models.is_damaged(model) else "missing",
        "bytes": model.size,
        "licence": model.licence,
        "terms": model.terms,
        "profiles": list(model.profiles),
        "sources": [str(source) for source in model.sources],
        "measured": model.measured,
    }


def line(record: Mapping[str, Any]) -> str:
    """Return a model's record as a line of text."""
    terms = f"; {TERMS[record['terms']]}" if record["terms"] in TERMS else ""
    problem = f"  PROBLEM: {record['problem']}" if record.get("problem") else ""
    size = f"{record['bytes'] / 1e6:.1f} MB"
    return f"{record['name']:20} {record['task']:12} {record['state']:9} {size:>9}  {record['licence']}{terms}{problem}"


def _problem(model: Model, models: ModelFolder) -> str:
    import numpy as np

    from world_api.core.ports import Face
    from world_api.core.spans import Box
    from world_api.perception.detector import try_detector
    from world_api.perception.models import DETECTOR, IMAGE_CLASSIFIER, IMAGE_TEXT, SOUNDS, SPEECH, TEXT_ENCODER, VOICE

    grey = np.full((180, 320, 3), 128, dtype=np.uint8)
    try:
        match model.task:
            case "body_embedder":
                models.identity(model).embed([grey])
            case "face_detector":
                models.identity(model).faces(grey)
            case "face_embedder":
                points = np.array([[40, 40], [80, 40], [60, 60], [45, 80], [75, 80]], dtype=np.float32)
                face = Face(box=Box(x1=20, y1=10, x2=100, y2=110), confidence=1.0, landmarks=points)
                models.identity(model).embed(grey, [face])
            case task if task in (IMAGE_TEXT, IMAGE_CLASSIFIER):
                models.tagger_of(model)
            case task if task == TEXT_ENCODER:
                from world_api.perception.sentences import try_encoder

                try_encoder(models.text_encoder_of(model))
            case task if task == VOICE:
                from world_api.perception.voices import try_voice_embedder

                try_voice_embedder(models.voice_embedder_of(model))
            case task if task == SPEECH:
                from world_api.perception.speech import WhisperRecogniser

                noise = np.random.default_rng(0).normal(0, 0.1, 16000).astype(np.float32)
                WhisperRecogniser(str(models.speech_model(model.name))).transcribe(noise, "")
            case task if task == SOUNDS:
                models.sound_tagger_of(model).tag(np.random.default_rng(0).normal(0, 0.1, 16000).astype(np.float32))
            case task if task == DETECTOR and (found := models.detector(model.name)) is not None:
                try_detector(found)
    except BackendFault as fault:
        return fault.message
    return ""


def _folder(folder: Path | None) -> ModelFolder:
    from world_api.api import model_folder

    return model_folder(folder)

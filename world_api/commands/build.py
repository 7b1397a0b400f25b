"""``videoworld build`` and ``videoworld reindex``."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from world_api.commands.cli import JsonOption, StoreOption, help_sections, with_vision_options
from world_api.core.faults import StoreFault, VideoWorldError
from world_api.core.identifiers import clock_text, plural, video_id_from_file_name
from world_api.media.container import DEFAULT_LIMITS, Limits
from world_api.options import (
    AUTO,
    DEFAULT_STORE,
    DEFAULT_VISION,
    LOOKING,
    NEURAL,
    BuildOptions,
    Listening,
    VisionOptions,
    confirm,
    estimate_text,
)
from world_api.terminal import NoProgress, loss_lines, note, progress_bars, show

if TYPE_CHECKING:
    from world_api.build.following import Following
    from world_api.perception.detector import DetectorModel
    from world_api.session.session import Session
    from world_api.session.vision import VisionConfig


_WHAT = "captions and looks at entities"
_SHOWN = 3  #: failed captions that are listed
#: Seconds to build a minute of 360p video without screen text, speech and detector, as measured on two cores (docs/performance.md).
_REST = {"classical": 0.7, "neural": 0.5, "oracle": 0.3}
_TRIED = 5  #: pictures on which a detector is tried for an estimate
#: Sightings in a minute of video under which next to nothing was tracked: some seconds of one thing.
_FEW = 6.0


Profile = Literal["auto", "classical", "endpoint", "neural", "neural+endpoint", "oracle"]
Speech = Literal["auto", "off", "both", "faster-whisper", "pocketsphinx"]
SpeechCompute = Literal["auto", "int8", "float16", "float32"]


@help_sections(
    "profile video_id store subtitles speech without follow estimate force as_json",
    {
        "World": "store video_id profile detector without force wait estimate",
        "Words": "subtitles speech speech_model speech_language speech_compute",
        "Video": "follow allow_network record settled max_megapixels max_hours",
        "Captions by a vision model": "model vision_model embedding_model frames side look_language prices yes",
    },
)
@with_vision_options("profile", "looks")
def build(
    videos: Annotated[list[str], typer.Argument(metavar="VIDEO", help="Video files.")],
    store: StoreOption = DEFAULT_STORE,
    video_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Id of the world; by default from the file's name.")
    ] = None,
    profile: Annotated[
        Profile,
        typer.Option(help="Where perception comes from; auto: neural where a detector is here, else classical."),
    ] = "auto",
    detector: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The detector of neural; by default the first of `models list` that is here."
        ),
    ] = None,
    subtitles: Annotated[
        str, typer.Option(metavar="auto|none|LANGUAGE|FILE", help="Which subtitles give the words.")
    ] = "auto",
    speech: Annotated[
        Speech,
        typer.Option(
            help="What recognises speech; auto: where there are no subtitles and a model is here; both: subtitles, too."
        ),
    ] = "auto",
    speech_model: Annotated[
        str, typer.Option(metavar="FOLDER|NAME", help="The recogniser's model; by default that of `models list`.")
    ] = "",
    speech_language: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="The language that is spoken, if one is known.")
    ] = "",
    speech_compute: Annotated[
        SpeechCompute,
        typer.Option(help="The numbers faster-whisper computes with; auto: int8 on a CPU, float16 on a GPU."),
    ] = "auto",
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="STAGE", help="Leave a stage out, such as screen_texts, the slowest; repeatable."),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Build from a file while it is being written; its world can be queried meanwhile."
        ),
    ] = False,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="With --follow: VIDEO may be the address of a stream.")
    ] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where a stream is recorded; by default inside the store.")
    ] = None,
    settled: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="With --follow: the file is complete after so many seconds without growing.",
        ),
    ] = 10.0,
    max_megapixels: Annotated[
        float, typer.Option(min=0.01, help="Refuse videos with larger frames.")
    ] = DEFAULT_LIMITS.pixels / 1e6,
    max_hours: Annotated[
        float, typer.Option(min=0.001, max=2500, help="Decode no more of a video than that.")
    ] = DEFAULT_LIMITS.duration / 3600,
    wait: Annotated[
        bool, typer.Option(help="Wait for another process that writes the same world, or fail at once.")
    ] = True,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say how long the build may take, as tried on this machine.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Make all rows again, and replace a world of the same id made from another file."),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="With --profile endpoint: the vision model, on the endpoint of OPENAI_BASE_URL."
        ),
    ] = None,
    vision: VisionOptions = DEFAULT_VISION,
    as_json: JsonOption = False,
) -> None:
    """Build worlds from video files.

    With --profile endpoint the world is that of classical, and then a vision model captions all of it, once an estimate of
    what is sent to the endpoint was confirmed; captions are kept beside the world and are not made twice. With --profile
    neural+endpoint the world is that of neural, the model is shown pictures of each entity, too, and captions name entities.
    """
    from world_api.api import vision_config
    from world_api.core.execution import SystemClock

    if video_id is not None and len(videos) > 1:
        raise typer.BadParameter("names one world; give one video with it", param_hint="--id")
    vision.refuse_unused(model=model, profile=profile)
    chosen = replace(vision.choices(model=model), profile=profile, looks=None)
    # Two of its libraries bring an OpenBLAS whose threads busy-wait, and no stage multiplies anything large.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    config = vision_config(chosen, clock=SystemClock(), environment=os.environ)
    if config is not None:
        from world_api.chat.messages import Prices

        Prices.read(vision.prices)  # a faulty file is named before anything is built
    options = BuildOptions(
        profile=LOOKING.get(profile, profile),
        listening=Listening(
            subtitles=subtitles,
            speech=speech,
            model=speech_model,
            language=speech_language.lower(),
            compute=speech_compute,
        ),
        without=tuple(without or ()),
        force=force,
        detector=detector,
        limits=Limits(pixels=round(max_megapixels * 1e6), duration=max_hours * 3600, network=allow_network),
        waits=wait,
        following=_following(settled) if follow else None,
        record=record,
    )
    if estimate:
        each = [_estimated(video, store, video_id, options, config, vision) for video in videos]
        show({"estimates": each}, as_json=as_json, text=lambda: "\n".join(one["text"] for one in each))
        return
    reports: list[dict[str, Any]] = []
    faults: list[VideoWorldError] = []
    for video in videos:
        try:
            report = _built(video, store, video_id, options)
            reports.append(report)
            if config is not None:
                report["captions"] = caption_world(store, report["video_id"], config, vision)
        except VideoWorldError as fault:  # the other videos are built all the same
            faults.append(fault)
            if len(videos) > 1:
                note(f"{video}: {fault}")
        except KeyboardInterrupt:
            note(_how_to_go_on(store / (video_id or video_id_from_file_name(Path(video).stem)), force=force))
            raise
    _show_built(reports, faults, is_one=len(videos) == 1, as_json=as_json)


def _following(settled: float) -> Following:
    """Return how a growing file is followed. This imports the whole builder, which is otherwise done while the processes start."""
    from world_api.build.following import Following

    return Following(settled=settled, published=lambda seconds: note(f"the first {clock_text(seconds)} can be queried"))


def _built(video: str, store: Path, video_id: str | None, options: BuildOptions) -> dict[str, Any]:
    """Build a world with progress on stderr; return its report as JSON, with ``sightings`` and rows that were ``dropped``."""
    from world_api.api import build_world
    from world_api.core.execution import SystemClock

    before = _rows_of_stages(store, video_id or video_id_from_file_name(Path(video).stem))
    with progress_bars() as bars:
        made = build_world(video, store, video_id=video_id, options=options, progress=bars, clock=SystemClock())
    report = made.record()
    after = _rows_of_stages(store, report["video_id"]) if report["changed"] and before else before
    report["sightings"] = _sightings_of(store, report["video_id"])
    report["dropped"] = {name: rows for name, rows in before.items() if rows and name not in after}
    return report


def _how_to_go_on(folder: Path, *, force: bool) -> str:
    """Return one line on a build that was interrupted: what of it is kept in the world's folder, and the command that resumes it."""
    from world_api.world.storage import is_unfinished, resume_command

    if is_unfinished(folder):
        return f"interrupted; what is done is kept: `{resume_command(folder)}` continues, with the options it was begun with"
    if not folder.is_dir():
        return "interrupted before anything was stored; the same command begins again"
    again = "the same command without --force" if force else "the same command"
    return f"interrupted; what is done is kept, and {again} continues"


def _show_built(reports: list[dict[str, Any]], faults: list[VideoWorldError], *, is_one: bool, as_json: bool) -> None:
    """Print the reports of all worlds. Raises the fault of the one video, or typer.Exit if one of several failed."""
    if is_one and faults:
        if reports:  # only its captions are missing
            note(_lines(reports[0]))
        raise faults[0]
    result: dict[str, Any] = {"worlds": reports}
    if faults:
        result |= {"error": faults[0].record()["error"], "errors": [fault.record()["error"] for fault in faults]}
    show(result, as_json=as_json, text=lambda: "\n".join(map(_lines, reports)) or "nothing was built")
    if faults:
        raise typer.Exit(1)


def _estimated(
    video: str,
    store: Path,
    video_id: str | None,
    options: BuildOptions,
    config: VisionConfig | None,
    vision: VisionOptions,
) -> dict[str, Any]:
    """Return as JSON how long the build of a video may take, and what is sent to a vision model of ``config``.

    A detector is tried on some pictures of noise.

    Raises MediaFault: those of opening the video; BackendFault: ``profile_not_ready``, and those of the detector.
    """
    from contextlib import closing

    from world_api.api import model_folder, profile_for
    from world_api.media.decoder import MediaWorker
    from world_api.recipes import recipe_for

    name = video_id or video_id_from_file_name(Path(video).stem)
    profile = profile_for(store, name, options, NoProgress()) if options.profile == AUTO else options.profile
    model = model_folder(options.models).detector(options.detector) if profile == NEURAL else None
    recipe_for(profile, options.listening, detector=model)  # names what is missing
    with closing(MediaWorker(options.limits)) as worker:
        duration = min(worker.probe(Path(video)).declared_duration or 0.0, options.limits.duration)
    seconds, said = duration / 60 * _REST[profile], "without screen text and speech"
    if model is not None:
        frames, each = round(2 * duration), _seconds_a_frame(model)
        seconds += frames * each
        said = f"at most {frames:,} frames by {model.name}, {each * 1000:.0f} ms each; {said}"
    text = f"{name}: profile {profile}, {clock_text(duration)} of video; about {clock_text(seconds)} to build ({said})"
    report = {"video_id": name, "profile": profile, "duration": duration, "seconds": round(seconds, 1), "text": text}
    return report if config is None else report | _estimated_looks(report, store, config, vision)


def _estimated_looks(
    report: dict[str, Any], store: Path, config: VisionConfig, vision: VisionOptions
) -> dict[str, Any]:
    """Return the ``looks`` of an estimate, and its ``text`` with them.

    They are counted if the world is there. Otherwise segments and entities are not known, and ``requests`` are the least.
    """
    from world_api.api import open_session
    from world_api.chat.messages import Prices
    from world_api.session.whole_video import estimate_looks
    from world_api.world.timeline import MAX_SECONDS

    if (store / report["video_id"]).is_dir():
        session = open_session(store, report["video_id"], name=None, seeing=config)
        assert session.backends.seeing is not None  # noqa: S101 - a vision model was given
        counted = estimate_looks(session.view, session.backends.seeing, config)
        text = estimate_text(_WHAT, counted, config, Prices.read(vision.prices))
        return {"looks": {**asdict(counted), "is_counted": True}, "text": f"{report['text']}\n{text}"}
    least = math.ceil(report["duration"] / MAX_SECONDS)
    text = (
        f"{_WHAT}: at least {plural(least, 'request')} to {config.vision.name} at {config.host}, one for each segment"
    )
    text += " and each entity" if report["profile"] == NEURAL else ""
    text += "; they are counted once the world is there, and nothing is sent before that is agreed to"
    return {"looks": {"requests": least, "is_counted": False}, "text": f"{report['text']}\n{text}"}


def _seconds_a_frame(model: DetectorModel) -> float:
    """Return the seconds that a detector takes for one picture: the median of some, after one that loads it."""
    from statistics import median
    from time import perf_counter

    import numpy as np

    from world_api.perception import adapter_class

    detector = adapter_class("detector", profile=NEURAL)(model)
    noise = np.random.default_rng(0).integers(0, 255, (detector.side * 9 // 16, detector.side, 3)).astype(np.uint8)
    taken = []
    for _ in range(_TRIED + 1):
        started = perf_counter()
        detector.detect_all([noise])
        taken.append(perf_counter() - started)
    return float(median(taken[1:]))


def _rows_of_stages(store: Path, video_id: str) -> dict[str, int]:
    """Return the number of rows that each stage wrote to a world, by the stage's name; empty if it cannot be read."""
    try:
        if not (store / video_id).is_dir():  # a first build starts its processes before it imports anything
            return {}
        from world_api.world.storage import read_manifest
        from world_api.world.store import world_folder

        manifest = read_manifest(world_folder(store, video_id))
    except (OSError, ValueError, StoreFault):  # the build names what is wrong
        return {}
    rows: dict[str, int] = {}
    for stage in manifest.stages:
        own = (entry for entry in manifest.files if entry.table in stage.tables and f"-{stage.key}-" in entry.path)
        rows[stage.name] = sum(entry.rows for entry in own)
    return rows


def _sightings_of(store: Path, video_id: str) -> int | None:
    """Return the number of sightings of tracked things in a world; None if its build did not track any."""
    from world_api.world.storage import read_manifest
    from world_api.world.store import world_folder

    manifest = read_manifest(world_folder(store, video_id))
    tracks = any("sightings" in stage.tables for stage in manifest.stages)
    return sum(entry.rows for entry in manifest.files_of("sightings")) if tracks else None


def _lines(report: dict[str, Any]) -> str:
    state = "built" if report["changed"] else "already there, unchanged"
    lines = [
        f"{report['video_id']}: {state}; {clock_text(report['duration'])} of video, profile {report['profile']}, "
        f"world {report['world_hash'][:16]}"
    ]
    made, reused = report["clips_made"], report["clips_reused"]
    if report["changed"] and reused:
        lines.append(f"  resumed: {reused} of {made + reused} clips of its stages were there")
    lines += loss_lines(report["losses"])
    sightings = report["sightings"]
    if sightings is not None and sightings < _FEW * report["duration"] / 60:
        advice = (
            "" if report["profile"] == NEURAL else "; --profile neural recognises people and 79 other kinds of things"
        )
        lines.append(
            f"  note: next to nothing was tracked in it ({sightings} sightings), so that counts are of little use{advice}"
        )
    if dropped := report["dropped"]:
        names = ", ".join(f"{name} ({rows:,})" for name, rows in dropped.items())
        lines.append(
            f"  dropped: the world no longer has the rows of {names}; a build with these stages makes them again"
        )
    if "captions" in report:
        lines += _caption_lines(report["captions"])
    return "\n".join(lines)


def caption_world(store: Path, video_id: str, config: VisionConfig, vision: VisionOptions) -> dict[str, Any]:
    """Look at the entities of a world, caption every segment and embed the captions, after the user has agreed to the estimate.

    Returns the numbers of captions ``made``, ``kept`` from before and ``embedded``, of looks at entities (``entities_made``,
    ``entities_kept``), the ``failed`` intervals and the ``tokens``.

    Raises BackendFault: ``consent_needed``, ``consent_refused``, the endpoint's; StoreFault: those of opening a world.
    """
    from world_api.api import open_session
    from world_api.chat.messages import Prices
    from world_api.core.cost import ledger
    from world_api.session.whole_video import estimate_looks, make_looks, publish_looks

    session = open_session(store, video_id, name=None, seeing=config)
    seeing = session.backends.seeing
    assert seeing is not None  # noqa: S101 - a vision model was given
    estimate = estimate_looks(session.view, seeing, config)
    if estimate.requests == 0:
        publish_looks(session.view, seeing)
        session = open_session(store, video_id, name=None, seeing=config)  # which searches them
    if estimate.requests == 0 and not _without_vectors(session):
        captions = len(session.view.segments)
        entities = estimate.kept - captions
        looks = f" and {plural(entities, 'look')} at entities" if entities else ""
        note(f"{video_id}: all {captions} captions{looks} are there, nothing is sent")
        nothing = {"prompt": 0, "completion": 0}
        return {
            "made": 0, "kept": captions, "entities_made": 0, "entities_kept": entities, "embedded": 0, "failed": [],
            "tokens": nothing,
        }  # fmt: skip
    what = f"{video_id}: {_WHAT if estimate.entities else 'captions'}"
    text = estimate_text(what, estimate, config, Prices.read(vision.prices))
    confirm(text, yes=vision.yes)
    with progress_bars() as bars, ledger() as book:
        done = make_looks(
            session.view, seeing, config, progress=lambda done, total: bars.update("captions", done, total)
        )
        session = open_session(store, video_id, name=None, seeing=config)
        missing = _without_vectors(session)
        if missing and session.backends.meanings is not None:
            session.backends.meanings.of_captions(missing)
    failed = [
        {"start_time": span.start, "end_time": span.end, **fault.record()["error"], "notes": list(getattr(fault, "__notes__", ()))}
        for span, fault in done.failed
    ]  # fmt: skip
    tokens = {
        "prompt": sum(item.prompt for item in book.items),
        "completion": sum(item.completion for item in book.items),
    }
    return {
        "made": done.made, "kept": done.kept, "entities_made": done.entities_made, "entities_kept": done.entities_kept,
        "embedded": len(missing), "failed": failed, "tokens": tokens,
    }  # fmt: skip


def _without_vectors(session: Session) -> list[str]:
    """Return the texts of the captions that have no vector yet; empty if there is no embedding model."""
    meanings = session.backends.meanings
    return [] if meanings is None else meanings.missing([passage.text for passage in session.captions.passages])


def _caption_lines(record: dict[str, Any]) -> list[str]:
    tokens, failed = record["tokens"], record["failed"]
    embedded = f", {record['embedded']} embedded" if record["embedded"] else ""
    looks = record["entities_made"] + record["entities_kept"]
    lines = (
        [f"  looks at entities: {record['entities_made']} made, {record['entities_kept']} from before"] if looks else []
    )
    lines += [
        f"  captions: {record['made']} made, {record['kept']} from before{embedded}; "
        f"{tokens['prompt']:,} tokens sent, {tokens['completion']:,} written"
    ]
    for item in failed[:_SHOWN]:
        interval = f"{clock_text(item['start_time'])} to {clock_text(item['end_time'])}"
        lines.append(f"  no caption of {interval}: {item['message']} [{item['code']}]")
        lines += [f"    {line}" for line in item["notes"]]
    if len(failed) > _SHOWN:
        lines.append(f"  and of {len(failed) - _SHOWN} more; run it again to try them again")
    return lines


def reindex(store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """Make the store's search indexes again from its worlds."""
    from world_api.api import reindex as make_again

    if not store.is_dir():
        raise StoreFault("no_such_store", f"there is no store {store}", hint="`videoworld build VIDEO` makes one")
    count = make_again(store)
    show(
        {"store": str(store), "segments": count},
        as_json=as_json,
        text=lambda: f"{count} segments in the catalogue of {store}",
    )

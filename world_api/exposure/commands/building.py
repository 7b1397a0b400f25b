"""``videoworld build`` and ``videoworld reindex``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.core.faults import VideoWorldError
from world_api.core.identifiers import clock_text
from world_api.exposure.cli import DEFAULT_STORE, JsonOption, StoreOption, command_app, fail, note, show
from world_api.exposure.perceiving.options import (
    DEFAULT_FRAMES,
    DEFAULT_LANGUAGE,
    DEFAULT_SIDE,
    EmbeddingModelOption,
    EyeChoices,
    FramesOption,
    LookLanguageOption,
    PricesOption,
    SideOption,
    VisionModelOption,
    YesOption,
    eyes_of,
)
from world_api.media.container import DEFAULT_LIMITS

if TYPE_CHECKING:
    from world_api.build.following import Following
    from world_api.exposure.perceiving.captions import CaptionJob
    from world_api.options import BuildOptions

app = command_app()
reindex_app = command_app()


class Profile(StrEnum):
    """Where perception comes from."""

    CLASSICAL = "classical"
    ENDPOINT = "endpoint"
    NEURAL = "neural"
    ORACLE = "oracle"


class Speech(StrEnum):
    """What recognises speech."""

    AUTO = "auto"
    OFF = "off"
    FASTER_WHISPER = "faster-whisper"
    POCKETSPHINX = "pocketsphinx"


class SpeechCompute(StrEnum):
    """The numbers a Whisper model computes with."""

    AUTO = "auto"
    INT8 = "int8"
    FLOAT16 = "float16"
    FLOAT32 = "float32"


@app.command()
def build(
    videos: Annotated[list[str], typer.Argument(metavar="VIDEO...", help="Video files.")],
    store: StoreOption = DEFAULT_STORE,
    video_id: Annotated[
        str | None, typer.Option("--id", help="Id of the world; by default from the file's name.")
    ] = None,
    profile: Annotated[Profile, typer.Option(help="Where perception comes from.")] = Profile.CLASSICAL,
    subtitles: Annotated[
        str, typer.Option(metavar="auto|none|LANGUAGE|FILE", help="Which subtitles give the words.")
    ] = "auto",
    speech: Annotated[
        Speech, typer.Option(help="What recognises speech; auto: where there are no subtitles and a model is here.")
    ] = Speech.AUTO,
    speech_model: Annotated[
        str, typer.Option(metavar="FOLDER|NAME", help="The recogniser's model; nothing is downloaded.")
    ] = "",
    speech_language: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="The language that is spoken, if one is known.")
    ] = "",
    speech_compute: Annotated[
        SpeechCompute,
        typer.Option(help="The numbers faster-whisper computes with; auto: int8 on a CPU, float16 on a GPU."),
    ] = SpeechCompute.AUTO,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="STAGE", help="Leave a stage out, such as screen_texts, the slowest; may be given again."),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Memorise a file while it is being written; its world can be asked meanwhile."),
    ] = False,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="With --follow: VIDEO may be the address of a stream.")
    ] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where a stream is recorded; by default inside the store.")
    ] = None,
    settled: Annotated[
        float, typer.Option(min=0.1, help="With --follow: the file is complete after so many seconds without growing.")
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
    force: Annotated[
        bool, typer.Option("--force", help="Replace a world of the same id made from another file.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="With --profile endpoint: who looks, on the endpoint of OPENAI_BASE_URL.")
    ] = None,
    vision_model: VisionModelOption = None,
    embedding_model: EmbeddingModelOption = None,
    frames: FramesOption = DEFAULT_FRAMES,
    side: SideOption = DEFAULT_SIDE,
    look_language: LookLanguageOption = None,
    prices: PricesOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build worlds from video files.

    With --profile endpoint the world is that of classical, and then a model captions all of it, after telling what that
    sends to the endpoint and asking; captions are kept beside the world, and what is there is not asked again.
    """
    from world_api.media.container import Limits
    from world_api.options import BuildOptions, Listening

    if video_id is not None and len(videos) > 1:
        raise typer.BadParameter("names one world; give one video with it", param_hint="--id")
    chosen = EyeChoices(
        profile=profile.value, model=model, vision_model=vision_model, embedding_model=embedding_model,
        frames=frames, side=side, language=look_language or DEFAULT_LANGUAGE,
    )  # fmt: skip
    # Two of its libraries bring an OpenBLAS whose threads wait busily, and no stage multiplies anything large.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    job = _caption_job(chosen, prices, yes=yes)
    options = BuildOptions(
        profile=(Profile.CLASSICAL if profile is Profile.ENDPOINT else profile).value,
        listening=Listening(
            subtitles=subtitles,
            speech=speech.value,
            model=speech_model,
            language=speech_language.lower(),
            compute=speech_compute.value,
        ),
        without=tuple(without or ()),
        force=force,
        limits=Limits(pixels=round(max_megapixels * 1e6), duration=max_hours * 3600, network=allow_network),
        waits=wait,
        following=_following(settled) if follow else None,
        record=record,
    )
    _build_all(videos, store, video_id, options, job, as_json=as_json)


def _caption_job(chosen: EyeChoices, prices: Path | None, *, yes: bool) -> CaptionJob | None:
    """What captions the worlds; None where nobody was chosen to."""
    from world_api.backends.clocks import SystemClock
    from world_api.exposure.perceiving.captions import CaptionJob
    from world_api.exposure.perceiving.consent import prices_in

    eyes = eyes_of(chosen, clock=SystemClock(), environment=os.environ)
    return None if eyes is None else CaptionJob(eyes=eyes, prices=prices_in(prices), yes=yes)


def _build_all(
    videos: Sequence[str],
    store: Path,
    video_id: str | None,
    options: BuildOptions,
    job: CaptionJob | None,
    *,
    as_json: bool,
) -> None:
    """Build one after another, and show what came of it; a video that fails keeps the others from nothing."""
    from world_api.exposure.perceiving.captions import caption_world

    reports: list[dict[str, Any]] = []
    faults: list[VideoWorldError] = []
    for video in videos:
        try:
            report = _build_one(video, store, video_id, options)
            reports.append(report)
            if job is not None:
                report["captions"] = caption_world(store, report["video_id"], job)
        except VideoWorldError as fault:
            faults.append(fault)
            if len(videos) > 1:
                note(f"{video}: {fault}")
    if len(videos) == 1 and faults:
        if reports:  # what is missing are its captions
            note(_line(reports[0]))
        raise faults[0]
    record: dict[str, Any] = {"worlds": reports}
    if faults:
        record |= {"error": faults[0].record()["error"], "errors": [fault.record()["error"] for fault in faults]}
    show(record, as_json=as_json, text=lambda: "\n".join(_line(report) for report in reports) or "nothing was built")
    if faults:
        raise typer.Exit(1)


def _build_one(video: str, store: Path, video_id: str | None, options: BuildOptions) -> dict[str, Any]:
    from world_api.api import build_world
    from world_api.backends.clocks import SystemClock
    from world_api.exposure.progress import progress_bars

    with progress_bars() as bars:
        report = build_world(video, store, video_id=video_id, options=options, progress=bars, clock=SystemClock())
    return report.record()


def _following(settled: float) -> Following:
    # It brings the whole builder along, which is imported while the processes beside it get ready.
    from world_api.build.following import Following

    return Following(settled=settled, published=_published)


def _published(seconds: float) -> None:
    note(f"the first {clock_text(seconds)} can be asked")


def _line(report: dict[str, Any]) -> str:
    state = "built" if report["changed"] else "already there, unchanged"
    lines = [
        f"{report['video_id']}: {state}; {clock_text(report['duration'])} of video, profile {report['profile']}, "
        f"world {report['world_hash'][:16]}"
    ]
    made, reused = report["clips_made"], report["clips_reused"]
    if report["changed"] and reused:
        lines.append(f"  went on: {reused} of {made + reused} clips of its stages were there")
    lines += [f"  lost: {loss['message']}" for loss in report["losses"]]
    if "captions" in report:
        from world_api.exposure.perceiving.captions import told

        lines += told(report["captions"])
    return "\n".join(lines)


@reindex_app.command()
def reindex(store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """Make the store's search indexes again from its worlds."""
    from world_api.api import reindex as make_again

    if not store.is_dir():
        from world_api.core.faults import StoreFault

        fault = StoreFault("no_such_store", f"there is no store {store}", hint="`videoworld build VIDEO` makes one")
        raise typer.Exit(fail(fault, as_json=as_json))
    count = make_again(store)
    show(
        {"store": str(store), "segments": count},
        as_json=as_json,
        text=lambda: f"{count} segments in the catalogue of {store}",
    )

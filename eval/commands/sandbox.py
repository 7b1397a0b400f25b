"""``videoworld sandbox``: videos with exact truth."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tool_induction.domains.domain import SplitName
from world_api.commands.cli import JsonOption, command_app, note, show

app = command_app("Make videos with exact truth, and questions about them.")

_EVERY = 5.0  #: seconds between two lines of progress


@app.callback()
def sandbox() -> None:
    """Make videos with exact truth, and questions about them."""


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of films with their truth beside them.")],
    store: Annotated[
        Path | None, typer.Option("--store", help="Folder that holds the worlds (DIR/worlds); missing ones are built.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what the classical profile perceives of made films: scenes, people, texts, speech.

    What each figure means is in docs/sandbox.md.
    """
    from eval.sandbox.perception import check_films, table_of

    found = check_films(folder, store or folder / "worlds", tell=note)
    show({"films": [film.record() for film in found]}, as_json=as_json, text=lambda: table_of(found))


@app.command()
def make(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the films; made when missing.")],
    seed: Annotated[
        int, typer.Option(min=0, max=999_999_999, help="Decides the story: the same seed, the same film.")
    ] = 0,
    minutes: Annotated[float, typer.Option(min=1, max=600, help="Length of each film, to within a minute.")] = 3.0,
    split: Annotated[SplitName, typer.Option(help="What the film may be used for; part of its id.")] = "development",
    count: Annotated[int, typer.Option(min=1, max=10_000, help="So many films, of this seed and those after it.")] = 1,
    tones: Annotated[
        bool, typer.Option("--tones", help="Voices are tones, also where a speech synthesiser is installed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make films of everyday scenes, with truth, facts, subtitles and questions.

    Each film is DIR/ID.mp4 with ID.srt, ID.truth.json (read by builds of profile oracle) and ID.facts.json; the questions of
    all films of the folder are DIR/questions.jsonl and DIR/dataset.json. A film that is there is not made again; one that was
    begun and not ended is.
    """
    from eval.questions import MAKERS, add_questions, questions_of
    from eval.sandbox import SAMPLE_RATE, FilmFiles, installed_voices, make_film, video_id, work_folder

    voices = None if tones else installed_voices(sample_rate=SAMPLE_RATE)
    records: list[dict[str, Any]] = []
    for number in range(seed, seed + count):
        name = video_id(number, split)
        facts, made = make_film(out, seed=number, minutes=minutes, split=split, voices=voices, progress=_progress(name))
        files = FilmFiles.of(out, name)
        items = questions_of(facts, seed=number, split=split)
        in_all = add_questions(out, files.video, name, items, work=work_folder(out))
        records.append(
            {
                "id": name,
                "made": made,
                "seconds": facts.duration,
                "people": len(facts.people),
                "rooms": len(facts.places),
                "things": len(facts.things),
                "scenes": len(facts.scenes),
                "events": len(facts.events),
                "questions": len(items),
                "by_domain": {name: sum(item.domain == name for item in items) for name in MAKERS},
                "by_type": dict(sorted(Counter(str(item.labels["type"]) for item in items).items())),
                "video": str(files.video),
                "subtitles": str(files.subtitles),
                "truth": str(files.truth),
                "facts": str(files.facts),
            }
        )
    record = {"dataset": str(out), "questions": in_all, "films": records}
    show(record, as_json=as_json, text=lambda: _text(record))


@app.command()
def prior(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that sandbox make wrote.")],
    films: Annotated[
        int, typer.Option(min=5, max=2000, help="So many other stories are told, of each split, to learn from.")
    ] = 100,
    as_json: JsonOption = False,
) -> None:
    """Say how many questions of a folder can be answered blindly: without looking, by chance and by their words.

    A prior learns from the questions and answers of other stories, and guesses at these by the words alone. Where it does no
    better than chance, the words give nothing away.
    """
    from eval.questions.priors import prior_of_folder, table_of

    lines = prior_of_folder(folder, films=films)
    show({"lines": [line.record() for line in lines]}, as_json=as_json, text=lambda: table_of(lines))


def _progress(name: str) -> Callable[[float, float], None]:
    """Writes a line now and then: how far a film is, how fast it goes, how long it will take."""
    begun = last = time.monotonic()

    def tell(done: float, whole: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _EVERY and done < whole:
            return
        last = now
        pace = done / max(now - begun, 1e-6)
        left = (whole - done) / pace if pace else 0.0
        note(f"{name}: {done / 60:.1f} of {whole / 60:.1f} min, {pace:.1f} x real time, {left:.0f} s left")

    return tell


def _text(record: dict[str, Any]) -> str:
    lines = []
    for film in record["films"]:
        how = "made" if film["made"] else "was there already"
        lines.append(
            f"{film['video']}: {how}; {film['seconds'] / 60:.1f} min, {film['people']} people, {film['rooms']} rooms, "
            f"{film['things']} things, {film['events']} events, {film['questions']} questions"
        )
        told = ", ".join(f"{name} {number}" for name, number in film["by_domain"].items())
        none = [name for name, number in film["by_domain"].items() if film["questions"] and not number]
        lines.append(f"  {told}" + (f"; none of {', '.join(none)}: a longer film has more to ask" if none else ""))
    lines.append(f"{record['dataset']}: a dataset of {record['questions']} questions in all")
    lines.append(f"next: videoworld build {record['films'][0]['video']} --profile oracle")
    return "\n".join(lines)

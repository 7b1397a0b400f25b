"""``videoworld eval check``, ``videoworld sandbox`` and ``videoworld sample``: datasets and generated films."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tool_induction.domains.domain import SplitName
from world_api.commands.cli import JsonOption, StoreOption, group_app
from world_api.core.identifiers import plural
from world_api.installation import program_name
from world_api.options import DEFAULT_STORE
from world_api.terminal import note, progress_bars, show

_MOST_SHOWN = 8
#: The text for worlds that exist and cannot be used, by their state.
_STATES = {
    "other": "made from something else (another --store keeps them apart)",
    "unfinished": "still growing",
    "damaged": "damaged (build them again with --force)",
}


def check(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A folder with dataset.json, a .jsonl or .yaml file, or ADAPTER:FILE of annotations.",
        ),
    ],
    videos: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder of the videos, in any layout.")] = None,
    annotations: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With an adapter's name: its annotations.")
    ] = None,
    text_worlds: Annotated[
        bool, typer.Option("--text-worlds", help="Write the worlds of dialogues that are not in the store yet.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say what a dataset holds, and which of its videos and worlds are here; nothing is built from videos."""
    from eval.datasets import availability_record, ensure_text_worlds, load_dataset
    from eval.scoring import check_protocol
    from world_api.core.faults import EvalFault

    found = load_dataset(dataset, videos=videos, annotations=annotations)
    if text_worlds:
        for video_id in ensure_text_worlds(found, store):
            note(f"written: {video_id}")
    bad_scoring = ""
    try:
        check_protocol(found.protocol)
    except EvalFault as fault:
        bad_scoring = fault.message
    record = availability_record(found, store, bad_scoring=bad_scoring)
    show(record, as_json=as_json, text=lambda: _page(record))


def _page(record: dict[str, Any]) -> str:
    videos, worlds, left_out, leaks = record["videos"], record["worlds"], record["left_out"], record["leaks"]
    protocol = f"protocol {record['protocol']['name']}" if record["protocol"] else "no protocol of others"
    questions = plural(record["questions"], "question")
    about = plural(videos["asked_about"], "text" if videos["texts"] else "video")
    reasons = "; ".join(f"{count} x {reason}" for reason, count in list(left_out["reasons"].items())[:_MOST_SHOWN])
    profiles = f" ({_counts(worlds['profiles'])})" if worlds["profiles"] else ""
    lines = [f"{record['name']}: {questions} about {about}, {protocol}, hash {record['hash'][:12]}"]
    lines += [f"  {key:9} {_counts(record[key])}" for key in ("kinds", "domains")]
    lines += [f"  {key:9} {_counts(record[key])}" for key in ("contents", "splits") if set(record[key]) != {"none"}]
    remarks: dict[str, Any] = {
        f"asked in the middle of the video: {record['as_of']:,}": record["as_of"],
        f"left out  {plural(left_out['questions'], 'question')} that cannot be asked: {reasons}": left_out["questions"],
        f"no packaged domain is called {_some(record['unknown_domains'])}": record["unknown_domains"],
        f"cannot be scored: {record['bad_scoring']}": record["bad_scoring"],
        f"{plural(len(leaks), 'question')} may not be asked in the split named: {''.join(leaks[:1])}": leaks,
        f"evidence after the end of the world: {_some(record['late'])}": record["late"],
    }
    lines += [f"  {text}" for text, applies in remarks.items() if applies]
    lines += ["", *_video_lines(videos)]
    lines.append(f"worlds    {worlds['there']} in {worlds['store']}, {worlds['missing']} not built yet{profiles}")
    for state, meaning in _STATES.items():
        if ids := [name for name, value in worlds["states"].items() if value == state]:
            lines.append(f"          {meaning}: {_some(ids)}")
    return "\n".join([*lines, "", f"{record['askable']:,} of {questions} can be asked here"])


def _video_lines(videos: dict[str, Any]) -> list[str]:
    if videos["texts"]:
        return [f"videos    none needed: {plural(videos['texts'], 'text')}"]
    missing = videos["missing"]
    text = f"videos    {videos['there']} here, {len(missing)} missing"
    text += f", {videos['with_subtitles']} with subtitles of the dataset" if videos["with_subtitles"] else ""
    text += f", {videos['with_truth']} with their truth" if videos["with_truth"] else ""
    if not missing:
        return [text]
    hash_line = f"          hash of what is missing: {videos['missing_hash'][:12]}"
    return [text, f"          missing: {_some(missing)}", hash_line]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


sandbox_app = group_app("Make videos with exact truth, and questions about them.")


@sandbox_app.command("check")
def check_films_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of films with their truth beside them.")],
    store: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder that holds the worlds (FOLDER/worlds); missing ones are built."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what the classical profile perceives of made films: scenes, people, texts, speech.

    What each figure means is in docs/sandbox.md.
    """
    from eval.sandbox.perception import check_films, table_of

    found = check_films(folder, store or folder / "worlds", tell=note)
    show({"films": [film.record() for film in found]}, as_json=as_json, text=lambda: table_of(found))


@sandbox_app.command()
def make(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the films; made when missing.")],
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

    Each film is FOLDER/ID.mp4 with ID.srt, ID.truth.json (read by builds of profile oracle) and ID.facts.json; the questions of
    all films of the folder are FOLDER/questions.jsonl and FOLDER/dataset.json. A film that is there is not made again; one that was
    begun and not ended is.
    """
    from eval.questions import MAKERS, add_questions, questions_of
    from eval.sandbox import FilmFiles, installed_voices, make_film, video_id, work_folder

    voices = None if tones else installed_voices()
    records: list[dict[str, Any]] = []
    with progress_bars() as bars:
        for number in range(seed, seed + count):
            name = video_id(number, split)
            progress = partial(bars.update, name)
            facts, made = make_film(out, seed=number, minutes=minutes, split=split, voices=voices, progress=progress)
            files = FilmFiles.of(out, name)
            items = questions_of(facts, seed=number, split=split)
            in_all = add_questions(out, files.video, name, items, work=work_folder(out))
            counted = ("people", "places", "things", "scenes", "events")
            records.append(
                {
                    "id": name,
                    "made": made,
                    "seconds": facts.duration,
                    **{"rooms" if key == "places" else key: len(getattr(facts, key)) for key in counted},
                    "questions": len(items),
                    "by_domain": {name: sum(item.domain == name for item in items) for name in MAKERS},
                    "by_type": dict(sorted(Counter(str(item.labels["type"]) for item in items).items())),
                    **{key: str(getattr(files, key)) for key in ("video", "subtitles", "truth", "facts")},
                }
            )
    record = {"dataset": str(out), "questions": in_all, "films": records}
    show(record, as_json=as_json, text=lambda: _films_text(record))


@sandbox_app.command()
def prior(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that sandbox make wrote.")],
    films: Annotated[
        int, typer.Option(min=5, max=2000, help="How many other stories of each split to learn from.")
    ] = 100,
    as_json: JsonOption = False,
) -> None:
    """Say how many questions of a folder can be answered blindly: without looking, by chance and by their words.

    A prior learns from the questions and answers of other stories, and guesses at these by the words alone. Where it does no
    better than chance, the words give nothing away.
    """
    from eval.questions.priors import prior_of_folder, table_of

    with progress_bars(" stories") as bars:
        lines = prior_of_folder(folder, films=films, progress=partial(bars.update, "learn"))
    show({"lines": [line.record() for line in lines]}, as_json=as_json, text=lambda: table_of(lines))


def _films_text(record: dict[str, Any]) -> str:
    lines = []
    for film in record["films"]:
        how = "made" if film["made"] else "was there already"
        lines.append(
            f"{film['video']}: {how}; {film['seconds'] / 60:.1f} min, {film['people']} people, {film['rooms']} rooms, "
            f"{film['things']} things, {film['events']} events, {film['questions']} questions"
        )
        counts = ", ".join(f"{name} {number}" for name, number in film["by_domain"].items())
        none = [name for name, number in film["by_domain"].items() if film["questions"] and not number]
        lines.append(f"  {counts}" + (f"; none of {', '.join(none)}: a longer film has more to ask" if none else ""))
    lines.append(f"{record['dataset']}: a dataset of {record['questions']} questions in all")
    lines.append(f"next: {program_name()} build {record['films'][0]['video']} --profile oracle")
    return "\n".join(lines)


def sample(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for the files; made when missing.")],
    seed: Annotated[int, typer.Option(min=0, help="Decides who plays, in what colours, and at what times.")] = 7,
    as_json: JsonOption = False,
) -> None:
    """Draw and encode the sample video."""
    from eval.sandbox import make_sample

    with progress_bars() as bars:
        files = make_sample(folder, seed=seed, progress=partial(bars.update, "film"))
    names = ("video", "subtitles", "truth", "questions")
    record = {"seed": seed, **{name: str(getattr(files, name)) for name in names}}
    show(record, as_json=as_json, text=lambda: _sample_text(record))


def _sample_text(record: dict[str, Any]) -> str:
    return (
        f"{record['video']}: the film, with its subtitles inside and beside it ({record['subtitles']})\n"
        f"{record['truth']}: what is true of it, frame by frame\n"
        f"{record['questions']}: questions with their answers\n"
        f"next: {program_name()} build {record['video']}"
    )

"""``videoworld eval check``: which videos and worlds of a dataset are here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from world_api.commands.cli import DEFAULT_STORE, JsonOption, StoreOption, command_app, note, show

app = command_app()

_MOST_TOLD = 8


@app.command()
def check(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A folder with dataset.json, a .jsonl or .yaml file, or ADAPTER:FILE of annotations.",
        ),
    ],
    videos: Annotated[
        Path | None, typer.Option("--videos", metavar="DIR", help="Folder of the videos, in any layout.")
    ] = None,
    annotations: Annotated[
        Path | None, typer.Option("--annotations", metavar="FILE", help="With an adapter's name: its annotations.")
    ] = None,
    text_worlds: Annotated[
        bool, typer.Option("--text-worlds", help="Write the worlds of dialogues that are not in the store yet.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say what a dataset holds, and which of its videos and worlds are here; nothing is built from videos."""
    from eval.datasets.availability import check as checked
    from eval.datasets.loading import ensure_text_worlds, load_dataset

    found = load_dataset(dataset, videos=videos, annotations=annotations)
    if text_worlds:
        for video_id in ensure_text_worlds(found, store):
            note(f"written: {video_id}")
    record = checked(found, store).record()
    show(record, as_json=as_json, text=lambda: _page(record))


def _page(record: dict[str, Any]) -> str:
    videos, worlds, left_out = record["videos"], record["worlds"], record["left_out"]
    protocol = f"protocol {record['protocol']['name']}" if record["protocol"] else "no protocol of others"
    noun = "text" if videos["texts"] else "video"
    lines = [
        f"{record['name']}: {_many(record['questions'], 'question')} about {_many(videos['asked_about'], noun)}, "
        f"{protocol}, hash {record['hash'][:12]}",
        f"  kinds     {_counts(record['kinds'])}",
        f"  domains   {_counts(record['domains'])}",
    ]
    lines += [f"  contents  {_counts(record['contents'])}"] if set(record["contents"]) != {"none"} else []
    lines += [f"  splits    {_counts(record['splits'])}"] if set(record["splits"]) != {"none"} else []
    if record["as_of"]:
        lines.append(f"  asked in the middle of the video: {record['as_of']:,}")
    if left_out["questions"]:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in list(left_out["reasons"].items())[:_MOST_TOLD])
        lines.append(f"  left out  {_many(left_out['questions'], 'question')} that cannot be asked: {reasons}")
    if record["unknown_domains"]:
        lines.append(f"  no packaged domain is called {_some(record['unknown_domains'])}")
    if record["bad_scoring"]:
        lines.append(f"  cannot be scored: {record['bad_scoring']}")
    if record["leaks"]:
        lines.append(
            f"  {_many(len(record['leaks']), 'question')} may not be asked in the split named: {record['leaks'][0]}"
        )
    if record["late"]:
        lines.append(f"  evidence after the end of the world: {_some(record['late'])}")
    lines += ["", *_video_lines(videos), *_world_lines(worlds), ""]
    lines.append(f"{record['askable']:,} of {_many(record['questions'], 'question')} can be asked here")
    return "\n".join(lines)


def _video_lines(videos: dict[str, Any]) -> list[str]:
    if videos["texts"]:
        return [f"videos    none needed: {_many(videos['texts'], 'text')}"]
    missing = videos["missing"]
    lines = [f"videos    {videos['there']} here, {len(missing)} missing"]
    if videos["with_subtitles"]:
        lines[0] += f", {videos['with_subtitles']} with subtitles of the dataset"
    if videos["with_truth"]:
        lines[0] += f", {videos['with_truth']} with their truth"
    if missing:
        lines += [
            f"          missing: {_some(missing)}",
            f"          hash of what is missing: {videos['missing_hash'][:12]}",
        ]
    return lines


def _world_lines(worlds: dict[str, Any]) -> list[str]:
    lines = [f"worlds    {worlds['there']} in {worlds['store']}, {worlds['missing']} not built yet"]
    if worlds["profiles"]:
        lines[0] += f" ({_counts(worlds['profiles'])})"
    told = {
        "other": "made from something else (another --store keeps them apart)",
        "unfinished": "still growing",
        "damaged": "damaged (build them again with --force)",
    }
    for state, what in told.items():
        ids = [video_id for video_id, found in worlds["states"].items() if found == state]
        lines += [f"          {what}: {_some(ids)}"] if ids else []
    return lines


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_TOLD:,} more" if len(names) > _MOST_TOLD else ""
    return ", ".join(names[:_MOST_TOLD]) + more

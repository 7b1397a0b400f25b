"""How well it is judged who speaks: diarization error rate, speech against silence, and the number of speakers.

::

    python -m benchmarks.speakers DATA MODELS                              all recordings, with the first speaker encoder of MODELS
    python -m benchmarks.speakers DATA MODELS --page docs/perception.md    puts the figures on the page

DATA holds ``speech`` (``sample.wav`` with ``sample.rttm``, ``jfk.flac``, ``librivox``), MODELS is a folder of models. The mixes have
four speakers in turns of two to six seconds, once with pauses and once with each turn beginning half a second before the end of
the one before. Voices are judged by the stage ``voices``, clip by clip, with the Silero detector.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.page import replace_section
from world_api.build.stage import CLIP_SECONDS, Clip, Record, clip_span
from world_api.build.voices import Voices
from world_api.core.ports import SAMPLE_RATE, Samples
from world_api.core.spans import TimeSpan
from world_api.media.audio import read_audio
from world_api.perception import adapter
from world_api.perception.models import ModelFolder
from world_api.world.tables import TABLES, empty_table

if TYPE_CHECKING:
    from world_api.core.ports import VoiceEmbedder
    from world_api.media.container import Probe

#: Frames a second in which errors are counted, and seconds around the start and end of each true turn that do not count.
FRAMES, COLLAR = 100, 0.25
#: Where each of two speakers is alone in ``sample.wav``, in seconds.
_ALONE = {"a": ((11.1, 14.2), (18.7, 21.4)), "b": ((14.8, 17.7), (21.9, 27.7))}
_SECONDS, _PAUSE, _OVERLAP = 5.0, 0.8, 0.5

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Speech of one speaker."""

    span: TimeSpan
    speaker: str


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Seconds of speech that were missed, added, or given to another speaker, of ``total`` seconds of speech; overlaps count twice."""

    missed: float
    added: float
    confused: float
    total: float

    @property
    def rate(self) -> float:
        """The diarization error rate."""
        return (self.missed + self.added + self.confused) / self.total


def masks(turns: Sequence[Turn], frames: int) -> Mapping[str, Mask]:
    """Return for each speaker in which frames they speak."""
    found: dict[str, Mask] = {}
    for turn in turns:
        own = found.setdefault(turn.speaker, np.zeros(frames, dtype=np.bool_))
        own[round(turn.span.start * FRAMES) : round(turn.span.end * FRAMES)] = True
    return found


def counted(turns: Sequence[Turn], frames: int, collar: float) -> Mask:
    """Return the frames that are not within a collar (seconds) of the start or end of a turn."""
    kept = np.ones(frames, dtype=np.bool_)
    for time in (edge for turn in turns for edge in (turn.span.start, turn.span.end)):
        kept[max(0, round((time - collar) * FRAMES)) : round((time + collar) * FRAMES)] = False
    return kept


def errors_of(true: Sequence[Turn], found: Sequence[Turn], *, collar: float = COLLAR) -> Errors:
    """Compare turns with true ones, each found speaker taken for at most one true one, as fits best (NIST's definition)."""
    ends = [turn.span.end for turn in (*true, *found)]
    frames = round(max(ends, default=0.0) * FRAMES) + 1
    kept = counted(true, frames, collar)
    truth, guess = ([own & kept for own in masks(turns, frames).values()] for turns in (true, found))
    shared = np.array([[np.sum(one & other) for other in guess] for one in truth]).reshape(len(truth), len(guess))
    if len(truth) > len(guess):
        shared = shared.T
    columns = permutations(range(shared.shape[1]), len(shared))
    right = max((sum(int(shared[row, column]) for row, column in enumerate(order)) for order in columns), default=0)
    real, heard = (np.sum(own, axis=0, dtype=np.int64) + np.zeros(frames, np.int64) for own in (truth, guess))
    both = int(np.minimum(real, heard).sum())
    return Errors(
        missed=float(np.maximum(real - heard, 0).sum()) / FRAMES,
        added=float(np.maximum(heard - real, 0).sum()) / FRAMES,
        confused=(both - right) / FRAMES,
        total=float(real.sum()) / FRAMES,
    )


def read_rttm(path: Path) -> list[Turn]:
    """Return the turns of a file in NIST's format RTTM."""
    rows = [line.split() for line in path.read_text().splitlines() if line.startswith("SPEAKER")]
    return [Turn(span=TimeSpan(start=float(r[3]), end=float(r[3]) + float(r[4])), speaker=r[7]) for r in rows]


def judged(samples: Samples, embedder: VoiceEmbedder) -> tuple[list[Turn], list[TimeSpan]]:
    """Return the turns of known voices in a recording, and all turns, also those whose voice is not known."""
    stage = Voices(embedder, adapter("voices_with_whisper"))
    kept: dict[str, list[Record]] = {table: [] for table in stage.spec.tables}
    padded = np.pad(samples, (0, 60 * SAMPLE_RATE))

    def rows(table: str, span: TimeSpan) -> pa.Table:
        own = [row for row in kept[table] if span.contains(row["start" if "start" in row else "time"])]
        return pa.Table.from_pylist(own, schema=TABLES[table].schema) if own else empty_table(table)

    for number in range(int(len(samples) / SAMPLE_RATE / CLIP_SECONDS) + 1):
        clip = Clip(
            number=number,
            span=clip_span(number),
            source=cast("Probe", None),
            rows=rows,
            keep_image=lambda _: "",
            audio=lambda span: padded[round(span.start * SAMPLE_RATE) : round(span.end * SAMPLE_RATE)],
        )
        for table, found in stage.make_rows(clip).items():
            kept[table] += [row | {"producer": stage.spec.producer} for row in found]
    voice_of = {row["turn"]: row["voice"] for row in kept["voice_names"]}
    spans = [TimeSpan(start=row["start"], end=row["end"]) for row in kept["voice_turns"]]
    return [Turn(span=span, speaker=voice_of[span.start]) for span in spans if span.start in voice_of], spans


def mixed(voices: Mapping[str, Sequence[Samples]], *, overlap: bool) -> tuple[Samples, list[Turn]]:
    """Return a recording in which speakers take turns, and these turns."""
    queues = {name: list(pieces) for name, pieces in voices.items()}
    sound = np.zeros(0, dtype=np.float32)
    turns: list[Turn] = []
    while any(queues.values()):
        for name in [name for name, pieces in queues.items() if pieces]:
            piece = queues[name].pop(0)
            start = max(0, len(sound) + round((-_OVERLAP if overlap and turns else _PAUSE) * SAMPLE_RATE))
            longer = np.zeros(start + len(piece), dtype=np.float32)
            longer[: len(sound)] = sound
            longer[start:] += piece
            sound = longer
            span = TimeSpan(start=start / SAMPLE_RATE, end=len(sound) / SAMPLE_RATE)
            turns.append(Turn(span=span, speaker=name))
    return sound, turns


def four_voices(speech: Path) -> dict[str, list[Samples]]:
    """Return pieces of the speech of four people, at one level."""
    sample = read_audio(speech / "sample.wav", 0.0, 30.0)
    found = {name: [_cut(sample, *span) for span in spans] for name, spans in _ALONE.items()}
    address = read_audio(speech / "jfk.flac", 0.0, 11.0)
    found["c"] = [_cut(address, 0.3, 2.4), _cut(address, 3.3, 7.9), _cut(address, 8.1, 10.6)]
    found["d"] = [read_audio(path, 0.2, _SECONDS) for path in sorted((speech / "librivox").glob("*.wav"))]
    return {name: [_level(piece) for piece in pieces] for name, pieces in found.items()}


def _cut(samples: Samples, start: float, end: float) -> Samples:
    return samples[round(start * SAMPLE_RATE) : round(end * SAMPLE_RATE)]


def _level(samples: Samples) -> Samples:
    heard = np.trim_zeros(samples)
    return np.asarray(heard * (0.06 / np.sqrt(np.mean(heard**2))), dtype=np.float32)


def measure(speech: Path, embedder: VoiceEmbedder) -> list[dict[str, Any]]:
    """Return the figures of each recording."""
    four = four_voices(speech)
    recordings = {
        "telephone, two women": (read_audio(speech / "sample.wav", 0.0, 30.0), read_rttm(speech / "sample.rttm")),
        "four speakers, pauses": mixed(four, overlap=False),
        "four speakers, overlaps of 0.5 s": mixed(four, overlap=True),
    }
    found = []
    for name, (samples, true) in recordings.items():
        turns, spans = judged(samples, embedder)
        speech_errors = errors_of(
            [Turn(span=turn.span, speaker="") for turn in true],
            [Turn(span=span, speaker="") for span in spans],
            collar=0.0,
        )
        record: dict[str, Any] = {"name": name, "true": len({turn.speaker for turn in true})}
        record |= {"found": len({turn.speaker for turn in turns}), "errors": errors_of(true, turns)}
        found.append(record | {"heard": 1 - speech_errors.missed / speech_errors.total, "speech": speech_errors})
        print(
            name,
            record["found"],
            f"{record['errors'].rate:.3f}",
            record["errors"],
            f"{found[-1]['heard']:.3f}",
            speech_errors,
        )
        for turn in turns:
            print(f"    {turn.span.start:6.2f} {turn.span.end:6.2f} {turn.speaker}")
    return found


def table_of(figures: Sequence[dict[str, Any]], producer: str) -> str:
    """Return the figures as a table in Markdown."""
    lines = [
        f"`{producer}`. Error rate: share of the time of speech that was missed, added or given to another speaker, with a collar",
        f"of {COLLAR} s, overlaps counted. Speech heard: share of it that is in a turn, of a known voice or not, without a collar.",
        "",
        "| recording | speakers | voices found | error rate | missed | added | confused | speech heard |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in figures:
        errors: Errors = row["errors"]
        parts = " | ".join(f"{part / errors.total:.1%}" for part in (errors.missed, errors.added, errors.confused))
        lines.append(
            f"| {row['name']} | {row['true']} | {row['found']} | {errors.rate:.1%} | {parts} | {row['heard']:.1%} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print; with ``--page`` put the table on the page."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("models", type=Path)
    arguments.add_argument("--page", type=Path)
    chosen = arguments.parse_args()
    embedder = ModelFolder(chosen.models).voice_embedder()
    if embedder is None:
        raise SystemExit("there is no speaker encoder: `videoworld models pull resemblyzer`")
    text = table_of(measure(chosen.data / "speech", embedder), embedder.producer)
    print(text)
    if chosen.page is not None:
        replace_section(chosen.page, "python -m benchmarks.speakers", text)


if __name__ == "__main__":
    main()

"""Who judges the open answers of a run: one choice for ``eval run`` and ``eval score``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from eval.runs.configuration.document import JudgePart
from eval.runs.manifest import Manifest
from eval.runs.places import RunFolder
from eval.scoring.judging.by_words import BY_WORDS
from eval.scoring.judging.choosing import judge_of
from eval.scoring.judging.families import same_family
from eval.scoring.port import AnswerJudge
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

#: So many answers are put to a judge at a time, where nobody said how many.
AT_ONCE = 4


@dataclass(frozen=True, kw_only=True)
class Judging:
    """A judge, and what a person should know of the choice; None: the scorers that need none."""

    judge: AnswerJudge | None
    notes: tuple[str, ...] = ()


def judging_of(
    part: JudgePart | None,
    folder: RunFolder,
    *,
    models: Iterable[str],
    clock: Clock,
    environment: Mapping[str, str],
    prompt: Path | None = None,
) -> Judging:
    """The judge that a configuration names; without one, none. ``models`` are those whose answers are judged.

    What is on file already is not asked again. Where the configured model cannot be reached, the verdicts on file stand for it.

    Raises:
        EvalFault: ``bad_judge_prompt``, ``recording_damaged``, ``recording_schema``, ``several_judges``.
        BackendFault: ``endpoint_not_configured``, where nothing is on file, and what else is wrong with an endpoint.
    """
    record = folder.verdicts
    if part is None:
        on_file = f"scored without a judge, for the configuration names none; {record.name} is kept for `videoworld eval score`"
        return Judging(judge=None, notes=(on_file,) if record.exists() else ())
    notes = []
    warning = same_family(part.model, models) if part.model != BY_WORDS else None
    if warning is not None:
        notes.append(warning)
    try:
        judge = judge_of(part.model, wire=part.wire, prompt=prompt, record=record, clock=clock, environment=environment)
    except BackendFault as fault:
        if fault.code != "endpoint_not_configured" or not record.exists():
            raise
        notes.append(f"{part.model} cannot be asked, for no endpoint is configured: the verdicts on file are taken")
        judge = judge_of(None, prompt=prompt, record=record, clock=clock, environment=environment)
    return Judging(judge=judge, notes=tuple(notes))


def judge_part_of(manifest: Manifest) -> JudgePart | None:
    """The judge that a run's configuration named, as its manifest tells it."""
    told = manifest.settings.get("judge")
    try:
        return None if told is None else JudgePart.model_validate(told)
    except ValidationError:
        return None  # somebody else's manifest: a run's settings are told and not relied on

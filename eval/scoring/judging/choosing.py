"""The judge that a command's options mean."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from eval.scoring.judging.by_words import BY_WORDS, WordsJudge
from eval.scoring.judging.judge import ModelJudge
from eval.scoring.judging.wording import OwnWording, PublishedWording
from eval.scoring.port import AnswerJudge
from world_api.core.ports import Clock
from world_api.exposure.models import WireChoice


def judge_of(
    model: str | None,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    prompt: Path | None = None,
    record: Path | None = None,
    wire: WireChoice = "auto",
) -> AnswerJudge | None:
    """A judge of that model (``words``: token F1); without a model the verdicts on file, and None without those too.

    ``prompt`` is a file with a published judge's prompt, ``record`` one of verdicts, ``wire`` how its endpoint is spoken to.

    Raises:
        EvalFault: ``bad_judge_prompt``, ``recording_damaged``, ``recording_schema``, ``several_judges``.
        BackendFault: ``endpoint_not_configured`` and what else is wrong with an endpoint.
    """
    from world_api.exposure.models import endpoint_model

    if model == BY_WORDS:
        return WordsJudge()
    if model is None and (record is None or not record.exists()):
        return None
    wording = OwnWording() if prompt is None else PublishedWording(prompt)
    chosen = None if model is None else endpoint_model(model, clock=clock, environment=environment, wire=wire)
    return ModelJudge(chosen, clock=clock, record=record, wording=wording)

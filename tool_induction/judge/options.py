"""The command-line options that switch judging on, and the judge that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tool_induction.judge.port import Judge
    from world_api.core.ports import Clock

AllowJudgeOption = Annotated[
    bool, typer.Option("--allow-judge", help="Allow judge steps: closed questions to a fixed model.")
]
JudgeModelOption = Annotated[
    str | None,
    typer.Option("--judge-model", metavar="MODEL", help="Who judges: a model on the endpoint of OPENAI_BASE_URL."),
]
JudgeRecordOption = Annotated[
    Path | None,
    typer.Option("--judge-record", metavar="FILE", help="Keep judgements there; what it holds is not asked again."),
]


def judge_from_options(
    allowed: bool, model: str | None, record: Path | None, *, clock: Clock, environment: Mapping[str, str]
) -> Judge:
    """Return the judge that the options describe: a model, a file of judgements, or both; at least one must be named.

    Raises:
        ToolFault: ``judge_not_allowed``: a judge is named but judging is not switched on.
        BackendFault: ``endpoint_not_configured`` and other faults of the endpoint's configuration.
        EpisodeFault: ``recording_damaged``, ``recording_schema``.
    """
    from tool_induction.judge.models import ChatJudge, FileJudge
    from world_api.chat.models import endpoint_model
    from world_api.core.faults import ToolFault

    if not allowed:
        raise ToolFault("judge_not_allowed", "a judge is named and not allowed", hint="add --allow-judge")
    judge = None if model is None else ChatJudge(endpoint_model(model, clock=clock, environment=environment))
    if record is not None:
        return FileJudge(record, judge)
    if judge is None:
        raise ValueError("neither a model nor a file of judgements is named")
    return judge

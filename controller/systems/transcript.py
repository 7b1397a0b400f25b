"""What is said in the visible part of a video, as text that fits a model's window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from world_api.backends.chat.completions import estimate_tokens
from world_api.core.spans import round_time

if TYPE_CHECKING:
    from controller.budgets import Budget
    from world_api.session.session import Session

#: A system's own call, not the operation ``read_transcript``: it begins at the start and takes a number of tokens.
SPOKEN_LINES = "spoken_lines"
#: Where the model's window is not known.
USUAL_TOKENS = 20_000


def transcript_tokens(budget: Budget) -> int:
    """How much of a transcript is given: half of the model's window, where that is known."""
    return budget.window // 2 if budget.window is not None else USUAL_TOKENS


def transcript(session: Session, *, max_tokens: int) -> dict[str, Any]:
    """The visible lines of speech from the first on, as many as fit about ``max_tokens``; what is left out is said."""
    lines: list[dict[str, Any]] = []
    spent = 0
    spoken = session.view.speech
    for said in spoken:
        line: dict[str, Any] = {
            "start_time": round_time(said.span.start),
            "end_time": round_time(said.span.end),
            "text": said.text,
        }
        if said.speaker:
            line["speaker"] = said.speaker
        spent += estimate_tokens(line)
        if spent > max_tokens:
            break
        lines.append(line)
    found: dict[str, Any] = {"lines": lines}
    if not len(spoken):
        found["hint"] = "nothing was heard, or nobody wrote down what is said"
    elif len(lines) < len(spoken):
        until = lines[-1]["end_time"] if lines else 0.0
        found |= {
            "truncated": True,
            "hint": f"the transcript is longer than fits: the first {len(lines)} of {len(spoken)} lines, up to {until} s",
        }
    return found

"""Whether a document may hold judge steps, and whether their answers can be told apart."""

from __future__ import annotations

from typing import Any

from tool_induction.judging.answers import plain_answer
from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings, Path

_BLOCKS = ("steps", "do", "then", "else")


def check_judges(tool: Any, path: Path, findings: Findings, *, allowed: bool) -> None:
    """Note every judge step where none is allowed, and answers that cannot be told apart."""
    if isinstance(tool, dict):
        if tool.get("type") == "judge" and allowed:
            _answers(tool.get("answers"), (*path, "answers"), findings)
        elif tool.get("type") == "judge":
            findings.add(
                "E_SHAPE",
                (*path, "type"),
                "the step type 'judge' is switched off (--allow-judge): a tool asks no language model",
                found="judge",
                suggestion="return the ordered material and leave the judgement to the caller",
            )
        for key in _BLOCKS:
            for place, step in enumerate(tool[key] if isinstance(tool.get(key), list) else ()):
                check_judges(step, (*path, key, place), findings, allowed=allowed)


def _answers(answers: Any, path: Path, findings: Findings) -> None:
    """The answers of a judge step must differ in more than spelling, and leave room for what is asked about."""
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        return  # the schema says so
    seen: set[str] = set()
    for place, answer in enumerate(answers):
        word = plain_answer(answer)
        if not word or word in seen:
            why = "says nothing" if not word else "is another one in other spelling"
            findings.add("E_SHAPE", (*path, place), f"the answer {answer!r} {why}", found=answer)
        seen.add(word)
    if sum(map(len, answers)) > limits.MAX_ANSWERS_CHARACTERS:
        message = f"all answers together have more than {limits.MAX_ANSWERS_CHARACTERS} characters"
        findings.add("E_SIZE", path, message, expected=f"at most {limits.MAX_ANSWERS_CHARACTERS}")

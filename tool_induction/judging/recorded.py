"""Judgements on file: what was answered once is not asked again, and a run can be repeated without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tool_induction.judging.answers import chosen
from tool_induction.judging.port import Judge
from world_api.chat.recording import append_line, check_schema, read_lines
from world_api.core.canonical import canonical
from world_api.core.cost import Spent, charge, ledger
from world_api.core.faults import EpisodeFault, ToolFault

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """An answer on file, and what it took to get it: nothing where no model was asked."""

    answer: str
    spent: tuple[Spent, ...]


class RecordedJudge:
    """Answers from a file of JSON lines; what is not there is asked of another judge, if there is one, and added.

    An answer from the file is charged with what it once took, as a request that nobody had to make again.
    """

    def __init__(self, file: Path, judge: Judge | None = None) -> None:
        self._file = file
        self._judge = judge
        self._known: dict[str, dict[str, _Judged]] = {}  #: what was asked -> judge -> its answer
        names: list[str] = []
        for record in read_lines(file, hint="give --judge-record a file of judgements") if file.exists() else ():
            check_schema(record, SCHEMA_VERSION, file)
            asked = [record.get(key) for key in ("judge", "question", "answers", "item")]
            judged = _judged(record)
            if judged is None or not isinstance(asked[0], str):
                raise EpisodeFault(
                    "recording_damaged", f"a judgement in {file.name} is not whole", hint="restore it from a copy"
                )
            names.append(asked[0])
            self._known.setdefault(canonical(asked[1:]), {})[asked[0]] = judged
        self.name = judge.name if judge is not None else "+".join(dict.fromkeys(names)) or "recorded"

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """The recorded answers, and new ones where there are none.

        Raises:
            ToolFault: ``no_judgement``: an answer is not on file and there is nobody to ask; ``several_judges``: nobody
                says whose answer is meant, and they differ; ``bad_judgement``.
            BackendFault: what the judge names.
        """
        given: list[str] = []
        for item in items:
            known = self._of(self._known.get(canonical([question, list(answers), item]), {}))
            for charged in known.spent if known is not None else ():
                charge(replace(charged, physical=False))
            answer = known.answer if known is not None else self._new(question, answers, item)
            given.append(chosen(answer, answers, judge=self.name))
        return given

    def _of(self, given: Mapping[str, _Judged]) -> _Judged | None:
        """The answer that counts, of those the judges on file gave."""
        if self._judge is not None:
            return given.get(self.name)
        if len({judged.answer for judged in given.values()}) > 1:
            raise ToolFault(
                "several_judges",
                f"{self._file.name} holds different answers of {', '.join(given)} about one item",
                hint="say with --judge-model whose answers are meant",
            )
        return next(iter(given.values()), None)

    def _new(self, question: str, answers: Sequence[str], item: str) -> str:
        if self._judge is None:
            raise ToolFault(
                "no_judgement",
                f"{self._file.name} holds no answer of {self.name} to {question[:60]!r} about this item",
                hint="give a judging model with --judge-model, or the file of the run that is to be repeated",
            )
        try:
            with ledger() as book:
                [answer] = self._judge.answer(question, answers, [item])
        finally:
            for charged in book.items:  # also what was spent on no answer
                charge(charged)
        kept = _Judged(answer=answer, spent=book.items)
        self._known.setdefault(canonical([question, list(answers), item]), {})[self.name] = kept
        record = {"schema_version": SCHEMA_VERSION, "judge": self.name, "question": question}
        told = {"answers": list(answers), "item": item, "answer": answer}
        append_line(self._file, record | told | {"spent": [charged.record() for charged in kept.spent]})
        return answer


def _judged(record: Mapping[str, Any]) -> _Judged | None:
    """The judgement of a record; None where it is not whole."""
    try:
        spent = TypeAdapter(tuple[Spent, ...]).validate_python(record.get("spent", ()))
    except ValidationError:
        return None
    answer = record.get("answer")
    return _Judged(answer=answer, spent=spent) if isinstance(answer, str) else None

"""EgoSchema: three-minute videos from the first person, five-way choices about the whole.

Format: ``questions.json`` and ``subset_answers.json`` of github.com/egoschema/EgoSchema (arXiv 2308.09126)::

    [{"q_uid": "001934bb-81bd-4cd8-a574-0472ef3f6678", "google_drive_id": "...", "question": "...",
      "option 0": "...", ..., "option 4": "..."}]                      {"001934bb-81bd-4cd8-a574-0472ef3f6678": 3}

The answers of 500 of the 5,031 questions are published; only these can be scored here, and the others are left out. A video's
file has the name of its question.
"""

from __future__ import annotations

from collections.abc import Mapping

from eval.datasets.adapters.raw import Adapter, Entries, Entry, Raw, Sources, Unusable, entries_of, numbered
from eval.datasets.reading import bad, read_json
from world_api.core.faults import EvalFault

NO_ANSWER = "its answer is not published"


def read(sources: Sources) -> Entries:
    """The questions of ``questions.json`` whose answers are known."""
    path = sources.main("questions.json")
    beside = sources.other("answers", "subset_answers.json")
    if beside is None:
        raise EvalFault(
            "no_answers",
            f"{path.name} holds no answers, and subset_answers.json is not beside it",
            hint="put subset_answers.json of the dataset's repository beside it",
        )
    answers = read_json(beside)
    if not isinstance(answers, dict):
        raise bad(f"{beside.name} is not an object of answers", "give subset_answers.json as published")

    def question(entry: Entry) -> Raw:
        return _question(entry, answers)

    return entries_of(numbered(read_json(path), path.name), question)


EGOSCHEMA = Adapter(name="egoschema", read=read, needs=("answers",))


def _question(entry: Entry, answers: Mapping[str, object]) -> Raw:
    uid = entry.text("q_uid")
    if uid not in answers:
        raise Unusable(NO_ANSWER)
    options = tuple(entry.maybe(f"option {number}") for number in range(5))
    right = Entry({"answer": answers[uid]}, entry.where).number("answer")
    return Raw(
        where=entry.where,
        id=uid,
        video=uid,
        question=entry.text("question"),
        kind="choice",
        options=options,
        answer=entry.letter(right, options),
    )

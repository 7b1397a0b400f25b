"""Questions about the sample film, with their true answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from eval.sandbox.casting import cast
from eval.sandbox.lost_folder import lost_folder


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with its true answer. ``spans`` are the stretches, in seconds, that show it."""

    id: str
    question: str
    task: Literal["A", "B", "C"]
    answer_type: Literal["interval", "count", "order", "text"]
    answer: Any
    spans: tuple[tuple[float, float], ...]


def questions(seed: int) -> tuple[Question, ...]:
    """Questions about the film: locate and count (A), order and cause (B), several steps (C)."""
    chosen = cast(seed)
    film = lost_folder(seed)
    desk, tea, taken, library, corridor = (start for start, _ in film.shots())
    owner, finder, folder = chosen.owner, chosen.finder, chosen.folder
    return (
        Question(
            id="q1",
            question=f"When does the person in the {finder.look.coat} coat take the {folder.name} from the desk?",
            task="A",
            answer_type="interval",
            answer=[taken + 4.1, taken + 5.3],
            spans=((taken + 4.1, taken + 5.3),),
        ),
        Question(
            id="q2",
            question=f"In how many different rooms is the person in the {owner.look.coat} coat seen?",
            task="A",
            answer_type="count",
            answer=3,
            spans=((desk + 2.2, desk + 13.0), (tea + 2.1, tea + 12.0), (corridor + 2.0, corridor + 12.0)),
        ),
        Question(
            id="q3",
            question=(
                f"In which order do these happen: (a) somebody drinks tea, (b) the {folder.name} is put on the desk, "
                f"(c) the {folder.name} is put on a table in the library?"
            ),
            task="B",
            answer_type="order",
            answer=["b", "a", "c"],
            spans=((desk + 6.2, desk + 7.4), (tea + 9.6, tea + 11.6), (library + 5.7, library + 6.9)),
        ),
        Question(
            id="q4",
            question=f"Why is the {folder.name} no longer on the desk?",
            task="B",
            answer_type="text",
            answer=f"The person in the {finder.look.coat} coat took it to the library, thinking it was lost.",
            spans=((taken + 4.1, taken + 8.0), (library + 10.5, library + 13.2)),
        ),
        Question(
            id="q5",
            question=f"At what time is the meeting that the owner of the {folder.name} has to attend?",
            task="C",
            answer_type="text",
            answer=chosen.meeting,
            spans=((tea, tea + 12.0),),
        ),
    )

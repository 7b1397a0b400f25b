"""Questions and the types of their answers.

An answer is asked for, and checked, in the type of its question: free text, the letter of a choice, a stretch of the
video, a number, or an order.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from world_api.core.faults import EpisodeFault

Kind = Literal["open", "choice", "interval", "count", "order"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MAX_QUESTION_CHARACTERS = 20_000
MAX_OPTIONS = 26  #: as many as there are letters
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WITH_OPTIONS: frozenset[Kind] = frozenset({"choice", "order"})


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, checked: what is asked, in what type the answer is wanted, and as of which moment.

    ``options`` are the choices of a ``choice`` and the things to be ordered of an ``order``; the model sees them under the
    letters A, B, C ... ``as_of`` (seconds) is the moment at which it is asked: nothing later may be seen. Values by kind:
    ``open`` text; ``choice`` a letter; ``interval`` ``{"start_time", "end_time"}`` in seconds; ``count`` a whole number from
    0; ``order`` all letters, first to last.

    Raises:
        EpisodeFault: ``bad_question``.
    """

    text: str
    kind: Kind = "open"
    options: tuple[str, ...] = ()
    as_of: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _clean(self.text))
        object.__setattr__(self, "options", tuple(map(_clean, self.options)))
        if self.as_of is not None:  # 30 and 30.0 are the same moment, and must read the same in a prompt
            object.__setattr__(self, "as_of", float(self.as_of))
        reason = self._fault()
        if reason is not None:
            raise EpisodeFault("bad_question", reason[0], hint=reason[1])

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of the options."""
        return tuple(_LETTERS[: len(self.options)])

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {**asdict(self), "options": list(self.options)}

    def _fault(self) -> tuple[str, str] | None:
        if not self.text or len(self.text) > MAX_QUESTION_CHARACTERS:
            what = "the question is empty" if not self.text else f"the question has {len(self.text)} characters"
            return what, f"ask in 1 to {MAX_QUESTION_CHARACTERS} characters"
        if self.kind not in KINDS:
            return f"there is no kind of question {str(self.kind)[:40]!r}", "one of: " + ", ".join(KINDS)
        if self.kind in _WITH_OPTIONS and not 2 <= len(self.options) <= MAX_OPTIONS:
            return f"a question of kind {self.kind} has {len(self.options)} options", f"give 2 to {MAX_OPTIONS}"
        if self.kind not in _WITH_OPTIONS and self.options:
            return f"a question of kind {self.kind} has options", "options belong to the kinds choice and order"
        if not all(self.options) or len(set(self.options)) < len(self.options):
            return "an option is empty or there twice", "give each option once"
        if self.as_of is not None and not 0 <= self.as_of < float("inf"):
            return f"the question is asked as of {self.as_of}", "give seconds from the start of the video"
        return None


def _clean(text: str) -> str:
    """The text, stripped, as Unicode text."""
    return text.encode("utf-8", errors="replace").decode().strip()

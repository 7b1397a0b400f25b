"""Worlds that are made from the operations' own schemas, so that a tool can be tried before it meets a video.

They answer any operation there is, also one that is declared tomorrow: an answer is a function of the operation, its
arguments and a seed alone, has the shape of the operation's result schema, keeps to the stretch and to the number of
entries that were asked for, and uses ids that other answers know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tool_induction.admission.answering import Amount, Answering
from tool_induction.admission.asking import VIDEO, parameters_of, place_of, resolved, understood
from tool_induction.admission.film import VIDEO_ID, WORDS, Film, draw
from world_api.core.canonical import canonical_json
from world_api.core.faults import OperationFault

Failing = Literal["never", "some", "always"]
#: the code of the fault that failing worlds raise
PLANTED = "planted_fault"


@dataclass(frozen=True, kw_only=True)
class SchemaWorld:
    """A world without a video. Calling it answers an operation; it holds no state, so it may be called from threads.

    ``failing``: ``always`` every call fails; ``some``: calls about one stretch or one id do, every second one of them.
    """

    name: str
    amount: Amount = "many"
    nulls: bool = False
    failing: Failing = "never"
    film: Film = field(default_factory=Film)
    revision: int = 0

    @property
    def video_id(self) -> str:
        """The id of the imagined film."""
        return VIDEO_ID

    def of_seed(self, seed: int) -> SchemaWorld:
        """The same world of another film."""
        return replace(self, film=replace(self.film, seed=seed))

    @property
    def memo_key(self) -> str:
        """What results depend on beside operation and arguments."""
        return canonical_json(
            [self.name, self.amount, self.nulls, self.failing, self.film.seed, self.film.words, self.film.crowded]
        )

    @property
    def session_key(self) -> str:
        """What was written: nothing that changes an answer."""
        return str(self.revision)

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of an operation.

        Raises:
            OperationFault: ``unknown_operation``, ``bad_arguments``, ``bad_time_range``, ``unknown_id`` (an id that no
                answer ever held), ``planted_fault`` in failing worlds.
        """
        question = understood(operation, arguments)
        if self.failing == "always" or (self.failing == "some" and self._is_unlucky(operation, arguments)):
            raise OperationFault(
                PLANTED, f"{operation} failed, as the trial wants it", hint="nothing was wrong with the call"
            )
        for identifier in question.ids:
            if place_of(identifier) is None:
                raise OperationFault(
                    "unknown_id", f"{operation}: nothing has the id {identifier[:64]!r}", hint="ids come from results"
                )
        return Answering(
            film=self.film, operation=operation, question=question, amount=self.amount, nulls=self.nulls
        ).record()

    def _is_unlucky(self, operation: str, arguments: Mapping[str, Any]) -> bool:
        schema = parameters_of(operation)
        parts = {name: resolved(schema["properties"][name], schema)[0] for name in arguments if name != VIDEO}
        is_narrow = any(part.get("x-type") == "Time" or name.endswith("_id") for name, part in parts.items())
        return is_narrow and draw(self.film.seed, operation, canonical_json(arguments)) % 2 == 0


def schema_worlds(
    words: tuple[str, ...] = (), *, seed: int = 0, as_of: float | None = None
) -> Mapping[str, SchemaWorld]:
    """The worlds a tool is tried on, by name: ``empty one many crowded nulls failing failing_some``.

    What ``many`` holds is neat: short moments one after another, and as many as were asked for. In ``crowded`` they are
    of any length, overlap, are told by several sources or twice, and are sometimes fewer than asked for.

    Args:
        words: Words the film has beside its own, for instance those a tool compares texts with.
        seed: Another film.
        as_of: Seconds; nothing later is known.
    """
    whole = Film(seed=seed, words=tuple(dict.fromkeys((*words, *WORDS))))
    film = whole if as_of is None else Film(seed=seed, words=whole.words, ends=min(as_of, whole.ends))
    worlds = (
        SchemaWorld(name="empty", amount="none", film=film),
        SchemaWorld(name="one", amount="one", film=film),
        SchemaWorld(name="many", film=film),
        SchemaWorld(name="crowded", film=replace(film, crowded=True)),
        SchemaWorld(name="nulls", nulls=True, film=film),
        SchemaWorld(name="failing", failing="always", film=film),
        SchemaWorld(name="failing_some", failing="some", film=film),
    )
    return {world.name: world for world in worlds}

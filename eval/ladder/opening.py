"""Opening a session on a step of the ladder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from eval.ladder.operations import operations_on

if TYPE_CHECKING:
    from world_api.session.session import Session
    from world_api.session.vision import VisionConfig


def open_ladder(
    store: Path | str,
    video_id: str,
    operation: str,
    *,
    oracle: Path | str,
    as_of: float | None = None,
    name: str | None = None,
    groups: Collection[str] = (),
    seeing: VisionConfig | None = None,
) -> Session:
    """A session on the world in ``store``, in which some operations are answered from the true world in ``oracle``.

    ``operation`` names one, several joined by ``+``, a category of them, or ``all``. The session is like any other: flat and
    induced tools call the operations through it, and what they answer is recorded and replayed the same. Episodes name
    in their settings which operations were stood in for, and the true world's hash.

    Raises:
        EvalFault: ``unknown_rung``.
        StoreFault, OperationFault: as ``open_session`` names them.
    """
    from eval.ladder.oracle import Oracle
    from world_api.api import open_session

    wanted = operations_on(operation)
    session = open_session(store, video_id, as_of=as_of, name=name, groups=groups, seeing=seeing)
    truth = Oracle(open_session(oracle, video_id, as_of=as_of, name=None, groups=groups))
    session.stand_ins = dict.fromkeys(wanted, truth)
    return session

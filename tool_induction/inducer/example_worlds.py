"""The real worlds that tools are tried on before they are admitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tool_induction.admission import ExampleWorld
from tool_induction.domains import Domain
from tool_induction.runtime.calls import Caller, WorldState
from world_api.core.faults import StoreFault, ToolFault, VideoWorldError
from world_api.session.session import Session

#: The default world: the film that the project generates itself.
SAMPLE = "sample"
_HINTS, _CAPTIONS, _LONGEST = 4, 2, 200


@dataclass(frozen=True, kw_only=True)
class TrialWorlds:
    """Example worlds: content hashes by id; ``open`` returns them with new sessions that are not kept."""

    hashes: dict[str, str]
    open: Callable[[], tuple[ExampleWorld, ...]]


NO_WORLDS = TrialWorlds(hashes={}, open=lambda: ())


def trial_worlds(
    domain: Domain, names: Sequence[str], *, store: Path, groups: frozenset[str] = frozenset()
) -> TrialWorlds:
    """Return the named worlds of a store, by default that of the sample film, with optional ``groups`` of operations.

    Raises:
        ToolFault: ``no_example_world``: none is named and the sample film's does not exist; ``split_leak``: a world's video
            belongs to another split than admission.
        StoreFault: a named world cannot be opened.
    """
    wanted = tuple(names) or (SAMPLE,)
    for name in wanted:
        owner = domain.split_of_video(name)
        if owner not in (None, "admission"):
            raise ToolFault(
                "split_leak",
                f"the video {name!r} belongs to the {owner} split of {domain.name}",
                hint="tools are tried on videos of the admission split, or on ones that no split names",
            )
    try:
        sessions = [_opened(name, store, groups) for name in wanted]
    except StoreFault as fault:
        if names:
            raise
        raise ToolFault(
            "no_example_world",
            f"{store} holds no world of the sample film, and no other world was named ({fault.message})",
            hint="name one with --example-world ID; or make it: `videoworld sample DIR`, then `videoworld build "
            "DIR/sample.mp4`; or try tools on made worlds alone with --schema-worlds-only",
        ) from None
    return TrialWorlds(
        hashes={name: session.world_hash for name, session in zip(wanted, sessions, strict=True)},
        open=lambda: tuple(_example(name, store, groups) for name in wanted),
    )


def _opened(name: str, store: Path, groups: frozenset[str]) -> Session:
    from world_api.api import open_session

    return open_session(store, name, name=None, groups=groups)


def _example(name: str, store: Path, groups: frozenset[str]) -> ExampleWorld:
    """Return a world that opens a new session for every run, so that no run sees what another one wrote."""
    from world_api.operations import run

    def fresh() -> tuple[Caller, WorldState]:
        session = _opened(name, store, groups)
        return partial(run, session), session

    session = _opened(name, store, groups)
    return ExampleWorld(
        name=name,
        call=partial(run, session),
        world=session,
        video_id=session.video_id,
        texts=_texts(session),
        open=fresh,
    )


def _texts(session: Session) -> tuple[str, ...]:
    """Return texts to search for in a world: hints of its entities and captions of its scenes."""
    from world_api.operations import run

    found: list[str] = []
    for operation, key, text, most in (
        ("list_entities", "entities", "hint", _HINTS),
        ("list_scenes", "scenes", "brief_caption", _CAPTIONS),
    ):
        try:
            items = run(session, operation, {"video_id": session.video_id})[key]
        except VideoWorldError:  # the world has no such rows
            continue
        texts = dict.fromkeys(str(item[text])[:_LONGEST] for item in items if str(item[text]).strip())
        found.extend(list(texts)[:most])
    return tuple(found)

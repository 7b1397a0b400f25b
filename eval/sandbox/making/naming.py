"""What the truth of a made film calls whom it shows: numbers, so that no id tells a name or a colour that was not perceived."""

from __future__ import annotations

from eval.sandbox.script import Actor, Film, Prop


class ByNumber:
    """``s0001``, ``s0002``, ...; ``tracks`` in the extras of the film's facts says who is who."""

    def __init__(self, film: Film) -> None:
        self._tracks = film.tracks()

    def track(self, subject: Actor | Prop) -> str:
        """The number."""
        return self._tracks[subject]

    def label(self, subject: Actor | Prop) -> str:
        """What can be seen."""
        return subject.description

    def speaker(self, actor: Actor) -> str:
        """What can be seen of who speaks."""
        return actor.description

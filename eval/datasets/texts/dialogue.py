"""A long dialogue: sessions of turns, with a made-up clock, so that it can be asked about as a video is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What somebody says, and when, in seconds of the made-up clock. ``picture`` describes a picture that was sent along."""

    id: str
    speaker: str
    text: str
    start: float
    end: float
    picture: str = ""


@dataclass(frozen=True, kw_only=True)
class Session:
    """Turns that were spoken at one sitting. ``when`` is its date and time, in the words of the file."""

    number: int
    when: str
    start: float
    end: float
    turns: tuple[Turn, ...]


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """Sessions in order of time. ``sha256`` is of its words."""

    title: str
    speakers: tuple[str, ...]
    sessions: tuple[Session, ...]
    sha256: str

    @property
    def duration(self) -> float:
        """Seconds on the made-up clock."""
        return self.sessions[-1].end if self.sessions else 0.0

"""The made-up clock of a dialogue: one turn after the other, each as long as it takes to say it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eval.datasets.reading import bad
from eval.datasets.texts.dialogue import Dialogue, Session, Turn
from world_api.core.canonical import content_hash
from world_api.core.spans import round_time

#: Seconds a word takes, the shortest turn, the pause between turns and that between sessions.
WORD, SHORTEST, PAUSE, BREAK = 0.4, 1.5, 0.5, 10.0
MAX_TURNS, MAX_TEXT = 100_000, 20_000
_SESSION = re.compile(r"session_(\d{1,4})")
_AS_PUBLISHED = "give the file of dialogues as it was published"


def dialogue_of(name: str, conversation: object) -> Dialogue:
    """The dialogue of LoCoMo's ``session_N`` and ``session_N_date_time``, with times.

    Raises:
        EvalFault: ``bad_dataset``.
    """
    if not isinstance(conversation, Mapping):
        raise bad(f"dialogue {name} is not an object of sessions", _AS_PUBLISHED)
    numbers = sorted(
        int(found[1]) for key in conversation if isinstance(key, str) and (found := _SESSION.fullmatch(key))
    )
    sessions = []
    at, count = 0.0, 0
    for number in numbers:
        raw = conversation[f"session_{number}"]
        if not isinstance(raw, list):
            raise bad(f"dialogue {name}, session {number} is not a list of turns", _AS_PUBLISHED)
        turns = _turns(raw, f"dialogue {name}, session {number}", at)
        count += len(turns)
        if count > MAX_TURNS:
            raise bad(f"dialogue {name} has more than {MAX_TURNS:,} turns", _AS_PUBLISHED)
        if turns:
            when = _text(conversation.get(f"session_{number}_date_time"))
            sessions.append(Session(number=number, when=when, start=at, end=turns[-1].end, turns=turns))
            at = round_time(turns[-1].end + BREAK)
    if not sessions:
        raise bad(f"dialogue {name} has no turns", _AS_PUBLISHED)
    speakers = dict.fromkeys(turn.speaker for session in sessions for turn in session.turns)
    told = [
        [session.when, [[turn.id, turn.speaker, turn.text, turn.picture] for turn in session.turns]]
        for session in sessions
    ]
    return Dialogue(title=name, speakers=tuple(speakers), sessions=tuple(sessions), sha256=content_hash(told))


def _turns(raw: list[object], where: str, at: float) -> tuple[Turn, ...]:
    found = []
    for place, item in enumerate(raw):
        text = _text(item.get("text")) if isinstance(item, Mapping) else ""
        picture = _text(item.get("blip_caption")) if isinstance(item, Mapping) else ""
        if not isinstance(item, Mapping) or not (text or picture):
            raise bad(f"{where}, turn {place} says nothing", _AS_PUBLISHED)
        end = round_time(at + max(SHORTEST, WORD * len(text.split())))
        name = _text(item.get("dia_id")) or f"turn {place}"
        found.append(Turn(id=name, speaker=_text(item.get("speaker")), text=text, start=at, end=end, picture=picture))
        at = round_time(end + PAUSE)
    return tuple(found)


def _text(value: object) -> str:
    return value.encode("utf-8", "replace").decode().strip()[:MAX_TEXT] if isinstance(value, str) else ""

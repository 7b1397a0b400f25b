"""The texts of the loop for the model: the prompt files of both languages, the first message, and the digest of the world.

The first message holds the question and the results of the calls that the system makes itself before the first round.
Results are data: they are put into ``data_from_video``, like every tool result. A result names pictures by hash
(``{"frames": [{"time", "picture": "sha256:..."}]}``). Records keep these names; requests contain the pictures.

The digest summarises the session's world in a few hundred tokens. A short clip and a film of ten hours have digests of the
same size: neighbouring scenes are joined, and only the entities with the most appearances and the latest memories are
listed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from world_api.chat.messages import DATA, PromptFiles, data_line, estimate_tokens
from world_api.core.faults import EpisodeFault, ErrorBody, VideoWorldError
from world_api.core.spans import TimeSpan, round_time

if TYPE_CHECKING:
    from world_api.session.session import Registration, Session
    from world_api.world.tracks import Track

# --- prompts and the first message ----------------------------------------------------------------------------------

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")


class Prompts(PromptFiles):
    """The prompt files of one language. Raises EpisodeFault: ``unknown_language``."""

    def __init__(self, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise EpisodeFault(
                "unknown_language", f"there are no prompts in {language[:20]!r}", hint="one of: " + ", ".join(LANGUAGES)
            )
        super().__init__("controller", f"prompts/{language}")
        self.language = language

    def notice(self, code: str, detail: str = "") -> ErrorBody:
        """Return code, message and hint for the model on a malformed call or a changed result; ``detail`` is quoted."""
        message, _, hint = self.render("notice", code=code, detail=detail).rpartition("\n")
        return {"code": code, "message": message.strip(), "hint": hint}

    def of_answer(self, part: str) -> str:
        """Return the description of a part (a type, a field, "tool") in the declaration of ``submit_answer``."""
        return self.render("submit_answer", part=part)

    def of_pages(self, part: str) -> str:
        """Return the description of a part (``tool``, ``cursor``) in the declaration of ``read_more``."""
        return self.render("read_more", part=part)


def language_of(text: str) -> Language:
    """Return the language of the prompts for a question: Chinese if it is mostly written in Chinese, else English."""
    han = len(_HAN.findall(text))
    is_other = _KANA_OR_HANGUL.search(text) is not None
    return "zh" if han and not is_other and han >= len(_LATIN_WORD.findall(text)) else "en"


@dataclass(frozen=True, kw_only=True)
class FirstCall:
    """A call that the system makes before the first request; it does not count as a call of the model.

    ``shown``: the model is given the result with the question. ``needed``: a fault of the call ends the episode.
    ``reads``: it changes nothing, so that consecutive calls of this kind run in parallel.
    """

    tool: str
    arguments: dict[str, Any]
    shown: bool = True
    needed: bool = True
    reads: bool = False


@dataclass(frozen=True, kw_only=True)
class Preamble:
    """What a system gives the model before the first round, from recorded inputs only, so that a replay has it too.

    ``instructions`` names the prompt; ``briefing`` is text that is added to it, such as a domain's; ``digest`` is the
    summary of the world. ``answer_after`` names a tool that must run before an answer is accepted, unless it failed
    ``tries`` times.
    """

    instructions: str = "system"
    briefing: str = ""
    digest: dict[str, Any] | None = None
    first_calls: tuple[FirstCall, ...] = ()
    answer_after: str | None = None
    tries: int = 1


EMPTY_PREAMBLE = Preamble()


PICTURE = "sha256:"
#: Returns the ``data:`` address of a picture, given its name (its hash).
Pictures = Callable[[str], str]


def no_pictures(name: str) -> str:
    """Raise for every picture; used if no result contains any. Raises EpisodeFault: ``no_such_picture``."""
    raise EpisodeFault("no_such_picture", f"there is no picture {name[:80]}")


def with_pictures(messages: Sequence[dict[str, Any]], pictures: Pictures) -> list[dict[str, Any]]:
    """Return the messages with the name of each picture replaced by its ``data:`` address."""

    def loaded(part: dict[str, Any]) -> dict[str, Any]:
        if part.get("type") != "image_url":
            return part
        return {**part, "image_url": {**part["image_url"], "url": pictures(part["image_url"]["url"])}}

    return [
        {**message, "content": [loaded(part) for part in message["content"]]}
        if message.get("role") == "user" and isinstance(message.get("content"), list)
        else dict(message)
        for message in messages
    ]


def first_message(question: str, gathered: Sequence[tuple[str, Mapping[str, Any]]]) -> str | list[dict[str, Any]]:
    """Return the content of the first message: the question, the results as data, and the pictures that they name.

    It is a text, or a list of parts if there are pictures.
    """
    lines = [data_line({"found_by": tool, DATA: result}) for tool, result in gathered]
    text = "\n\n".join([question, *lines])
    pictures = [
        part
        for _, result in gathered
        for frame in result.get("frames", ())
        if str(frame.get("picture")).startswith(PICTURE)
        for part in (
            {"type": "text", "text": f"{frame['time']} s"},
            {"type": "image_url", "image_url": {"url": frame["picture"]}},
        )
    ]
    return [{"type": "text", "text": text}, *pictures] if pictures else text


# --- the digest -----------------------------------------------------------------------------------------------------

#: Share of the remaining tokens that a section may use.
_MEMORIES_SHARE, _ENTITIES_SHARE = 0.3, 0.35
_CAPTION, _HINT, _CONTENT = 80, 60, 200  #: characters
_SECONDS_FIELDS = ("entity_id", "first_time", "last_time", "appearances")  #: of an entity
_LEAST = 40  #: tokens

Entries = list[dict[str, Any]]


def digest_of(session: Session, tokens: int) -> dict[str, Any] | None:
    """Return a summary of the visible part of the session's world in about ``tokens`` at most; None if ``tokens`` < 40.

    Under a causal cut the digest contains only what is known by then.
    """
    if tokens < _LEAST:
        return None
    video = {"video_id": session.video_id}
    known = _result(session, "get_video_metadata", video)
    digest: dict[str, Any] = {"duration": known.get("duration"), "vocabulary": known.get("vocabulary")}
    left = tokens - estimate_tokens(digest)
    entities = _entities(session)
    memories: Entries = [
        {
            "memory_id": memory.memory_id,
            "level": memory.level,
            "start_time": memory.span.start,
            "end_time": memory.span.end,
            "content": _short(memory.content, _CONTENT),
        }
        for memory in session.memories()
    ]
    scenes: Entries = _result(session, "list_scenes", video).get("scenes", [])
    sections: dict[str, Entries] = {}
    for name, all_there, make, share in (
        ("memories", memories, lambda number: memories[len(memories) - number :], _MEMORIES_SHARE),
        ("entities", entities, lambda number: _most_present(entities, number), _ENTITIES_SHARE),
        ("scenes", scenes, lambda number: _joined(scenes, number), 1.0),
    ):
        sections[name] = _fitting(make, len(all_there), round(left * share))
        left -= estimate_tokens(sections[name])
    for name, total in (("scenes", len(scenes)), ("entities", len(entities)), ("memories", len(memories))):
        shown = sections[name]
        digest |= {name: shown} if shown else {}
        digest |= {f"of_{name}": total} if total > len(shown) else {}
    return digest


def _result(session: Session, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    from world_api.operations import run

    try:
        return run(session, operation, arguments)
    except VideoWorldError:
        return {}  # the digest leaves this part out


def _fitting(make: Callable[[int], Entries], most: int, tokens: int) -> Entries:
    """Return ``make(number)`` for the largest tried ``number`` up to ``most`` that takes at most ``tokens``; none if 1 takes more."""
    number = most
    while number > 0:
        entries = make(number)
        if estimate_tokens(entries) <= tokens:
            return entries
        number = min(number - 1, number * 4 // 5)
    return []


def _joined(scenes: Sequence[dict[str, Any]], number: int) -> Entries:
    """Return the scenes joined into ``number`` intervals, each with its first caption and, if over 1, its number of scenes."""
    edges = [round(place * len(scenes) / number) for place in range(number + 1)]
    joined = []
    for first, end in itertools.pairwise(edges):
        part = scenes[first:end]
        caption = next((str(scene["brief_caption"]) for scene in part if scene.get("brief_caption")), "")
        span = {"start_time": part[0]["start_time"], "end_time": part[-1]["end_time"]}
        count = sum(int(scene.get("scenes", 1)) for scene in part)
        joined.append({**span, "brief_caption": _short(caption, _CAPTION)} | ({"scenes": count} if count > 1 else {}))
    return joined


def _entities(session: Session) -> Entries:
    """Return all visible entities, with hint, label, first and last time, and number of appearances.

    ``list_entities`` is called only if another source (an oracle) answers it: else it omits entities of a long film.
    """
    if "list_entities" in session.stand_ins:
        listed: Entries = _result(session, "list_entities", {"video_id": session.video_id}).get("entities", [])
        return [
            _described(item["hint"], item.get("label")) | {key: item[key] for key in _SECONDS_FIELDS} for item in listed
        ]
    registered = {item.entity_id: item for item in session.registrations()}
    found: Entries = []

    def add(item: Track | Registration, label: Any, span: TimeSpan, appearances: int) -> None:
        times = {"first_time": round_time(span.start), "last_time": round_time(span.end)}
        described = {"entity_id": item.entity_id, **_described(item.hint, label), **times, "appearances": appearances}
        found.append(described)

    for track in session.view.tracks:
        own = registered.pop(track.entity_id, None)
        add(track, None if own is None else own.label, track.span, len(track.appearances))
    for item in sorted(registered.values(), key=lambda item: (item.time, item.entity_id)):
        add(item, item.label, session.view.frame_at(item.time), 1)
    return found


def _described(hint: Any, label: Any) -> dict[str, str]:
    """Return the measured hint of an entity and, if it has one, the label it was registered with; both shortened."""
    return {"hint": _short(hint, _HINT)} | ({} if label is None else {"label": _short(label, _HINT)})


def _most_present(entities: Entries, number: int) -> Entries:
    """Return the ``number`` entities with the most appearances (then the longest time), in the order of the list."""

    def presence(place: int) -> tuple[int, float]:
        entity = entities[place]
        seconds = float(entity.get("last_time", 0.0)) - float(entity.get("first_time", 0.0))
        return int(entity.get("appearances", 1)), seconds

    by_presence = sorted(range(len(entities)), key=presence, reverse=True)
    return [entities[place] for place in sorted(by_presence[:number])]


def _short(text: Any, most: int) -> str:
    words = str(text)
    return words if len(words) <= most else words[:most] + "..."

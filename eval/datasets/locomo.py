"""LoCoMo: ten dialogues of several months, with questions: a text benchmark, asked of worlds that are written from the words.

Formats of github.com/snap-research/locomo (arXiv 2402.17753): ``data/locomo10.json``, a list of ``{"sample_id", "conversation":
{"speaker_a", "speaker_b", "session_1", "session_1_date_time", ...}, "qa": [...]}``; or ``data/locomo10.zip``, with one JSON file a
dialogue, in which the keys of ``conversation`` stand beside ``qa`` and the file's name is the sample's; or a folder of such files.

A turn is ``{"speaker", "dia_id": "D1:3", "text", "blip_caption"?}``, a question ``{"question", "answer", "category", "evidence":
["D1:3"]}``. Categories, as ``task_eval/evaluation.py`` scores them: 1 several hops (answers with commas), 2 time, 3 world knowledge
(the answer stands before a semicolon), 4 one hop, 5 adversarial: the question cannot be answered from the dialogue, and
``adversarial_answer`` is what a careless reader would say. ``task_eval/evaluate_gpts.py`` asks these as a choice of two, that
answer and that it is not said; so does this adapter, in an order that follows from the question's id.

The clock of a dialogue is made up: one turn after the other, each as long as it takes to say it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eval.datasets.adapters import Adapter, Entries, Entry, Raw, Sources, Unusable, entries_of, text_of
from eval.datasets.files import bad, json_files, read_json
from eval.datasets.items import Dialogue, Session, Turn
from world_api.core.canonical import content_hash
from world_api.core.faults import EvalFault
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


#: The project's own words for the option that is right of an adversarial question.
NOT_SAID = "The conversation does not say"
CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D:?(\d{1,4}):(\d{1,5})")


def read(sources: Sources) -> Entries:
    """The questions of all dialogues."""
    samples = _samples(sources)
    dialogues = _dialogues(samples)

    def question(entry: Entry) -> Raw:
        return _question(entry, dialogues)

    return entries_of(_questions(samples), question)


def read_texts(sources: Sources) -> Mapping[str, Dialogue]:
    """The dialogues, by the names of their samples."""
    return _dialogues(_samples(sources))


LOCOMO = Adapter(name="locomo", read=read, texts=read_texts)


def _samples(sources: Sources) -> dict[str, Mapping[str, Any]]:
    path = sources.annotations
    if path.is_dir():
        main = path / "locomo10.json"
        files = {main.name: read_json(main)} if main.is_file() else {item.name: read_json(item) for item in _json(path)}
    elif path.suffix.lower() == ".zip":
        files = json_files(path)
    else:
        files = {path.name: read_json(path)}
    found: dict[str, Mapping[str, Any]] = {}
    for name, value in files.items():
        for stem, sample in _parts(name, value):
            own = stem.removeprefix("conv-")
            if own in found:
                raise bad(f"two dialogues are named {own[:60]!r}", "give locomo10.json or locomo10.zip as published")
            found[own] = sample
    if not found:
        raise EvalFault("no_annotations", f"{path.name} holds no dialogue", hint="give locomo10.json or locomo10.zip")
    return dict(sorted(found.items()))


def _json(folder: Path) -> list[Path]:
    return sorted(item for item in folder.iterdir() if item.suffix == ".json" and item.is_file())


def _parts(name: str, value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The samples of a file: a list of them, or one, whose name the file's is."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            if not isinstance(item, dict):
                raise bad(f"{name}, sample {number} is not an object", "give locomo10.json as published")
            yield text_of(item.get("sample_id")) or str(number), item
    elif isinstance(value, dict):
        yield text_of(value.get("sample_id")) or Path(name).stem, value
    else:
        raise bad(f"{name} is no dialogue", "give locomo10.json or locomo10.zip as published")


def _dialogues(samples: Mapping[str, Mapping[str, Any]]) -> dict[str, Dialogue]:
    return {f"locomo-{name}": dialogue_of(name, sample.get("conversation", sample)) for name, sample in samples.items()}


def _questions(samples: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, object]]:
    for name, sample in samples.items():
        questions = sample.get("qa")
        if not isinstance(questions, list):
            yield f"dialogue {name}", None
            continue
        for number, item in enumerate(questions):
            where = f"dialogue {name}, question {number}"
            yield where, {**item, "sample": name, "number": number} if isinstance(item, dict) else item


def _question(entry: Entry, dialogues: Mapping[str, Dialogue]) -> Raw:
    sample, category = entry.text("sample"), entry.number("category")
    if category not in CATEGORIES:
        raise Unusable(f"there is no category {category}")
    name = f"locomo-{sample}"
    own = f"{name}-q{entry.number('number'):03d}"
    spans, unknown = _evidence(entry.raw("evidence"), dialogues[name])
    common: dict[str, Any] = {
        "where": entry.where,
        "id": own,
        "video": name,
        "question": entry.text("question"),
        "spans": spans,
        "labels": {"category": category, "type": CATEGORIES[category]}
        | ({"unknown_evidence": unknown} if unknown else {}),
    }
    if category == 5:
        wrong = entry.text("adversarial_answer", "answer")
        not_said_first = hashlib.sha256(own.encode()).digest()[0] % 2 == 0
        options = (NOT_SAID, wrong) if not_said_first else (wrong, NOT_SAID)
        return Raw(**common, kind="choice", options=options, answer="A" if not_said_first else "B")
    return Raw(**common, answer=entry.text("answer"))


def _evidence(value: object, dialogue: Dialogue) -> tuple[tuple[tuple[float, float], ...], list[str]]:
    """The stretches of the turns that evidence names, in any of the ways it is written; and what names no turn."""
    places = {turn.id: (turn.start, turn.end) for session in dialogue.sessions for turn in session.turns}
    found: dict[tuple[float, float], None] = {}
    unknown = []
    for text in value[:100] if isinstance(value, list) else ():
        named = [f"D{int(a)}:{int(b)}" for a, b in _EVIDENCE.findall(text)] if isinstance(text, str) else []
        found |= {places[item]: None for item in named if item in places}
        if not named or any(item not in places for item in named):
            unknown.append(str(text)[:60])
    return tuple(sorted(found)), unknown

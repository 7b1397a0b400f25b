"""Staged films: worlds of which everything that happens is written here, so that a tool's answer can be compared with it.

A staged film is the truth of a video that was never shot, as a world of profile ``oracle`` without files. The real
operations answer about it: what they search, judge and leave undecided is what they do on a stored world. Rooms, people,
deeds and lines are drawn from a seed. Every film holds what distinguishes right tools from wrong ones:

- a person seen three times, a thing seen twice, two people who look the same, for a while at once, people seen once, one who
  is seen for a few seconds at a time, and a bystander of what others do;
- stays whose order by start, by length and by confidence is not the same;
- deeds that are done again by the same person and by another one, one that is done once in between, lines that are said
  again, and texts on screen;
- much speech where a thing is seen and a line is said first, so that the best hit of a search is not the first one;
- people who cross the picture, and confidences that are high and not the highest.

A longer film has more at its end: what happens there again, one who is seen longest and not most often, and deeds and
a line that come more often than a short list holds.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from world_api.session.session import Session
    from world_api.world.store import World

STAGED = "staged-"  #: how the ids of staged films begin
_SEEDS = (1, 2)
_ROOMS = ("a kitchen", "an office", "a corridor", "a library", "a garden")
_COATS = ("red", "blue", "green", "yellow", "orange", "purple", "white", "black")
_DEEDS = (
    "picks up a folder", "opens the window", "waves", "pours tea", "writes a letter", "closes the cupboard", "reads a map",
    "plays a guitar", "cuts an apple", "folds a towel",
)  # fmt: skip
_LINES = (
    "The train to the coast leaves at noon.", "My brother has the spare key.", "We should ask the doctor tomorrow.",
    "This soup needs more pepper.", "The lamp upstairs is broken again.", "Nobody called me about the delivery.",
)  # fmt: skip
_SMALL_TALK = (
    "I have not slept much since we came back from the lake.", "You never told me how the meeting went in the end.",
    "The neighbours are painting their fence again this year.", "It was raining so hard that the road was closed.",
)  # fmt: skip
_ASIDES = (
    "Is it you?", "Mind the step.", "Not so loud.", "What a mess.", "Good morning.", "I am late.", "As you like.", "It is cold.",
    "Hold this.", "Not today.",
)  # fmt: skip
_SIGNS = ("PLATFORM NINE", "READING ROOM 204", "NO ENTRY TODAY", "OPEN UNTIL SIX")
_THINGS = ("bottle", "umbrella", "box")
_STEP = 0.5  #: seconds from one sighting to the next
_CONFIDENCES = (0.9, 0.93, 0.91, 0.92)  #: of rows, in turn
_HIGHEST = 0.94
_BYSTANDER = "s0000"  #: track
_RIGHTMOST = 570.0  #: left edge (pixels) of one who stands at the right side
_WALKS = {
    "twice": (_RIGHTMOST, 0.0),
    "thing": (500.0, 500.0),
}  #: left edges at first and at last; the others walk to the right
#: Who is seen in each scene, besides the bystander: the person seen three times, once, twice, briefly; twins (alike); the thing.
_SCENES = (
    ("once", "brief"),
    ("thrice",),
    ("twin_1",),
    ("twice", "thing"),
    ("twin_1", "twin_2"),
    ("thrice",),
    ("twice",),
    ("twin_2",),
    ("thing", "thrice"),
    ("brief",),
)
#: The shortest and longest that a stay in a scene lasts (seconds); the longest is neither always the first nor the last.
_STAYS = {(1, "thrice"): (15.5, 17.5), (5, "thrice"): (20.0, 24.0), (8, "thrice"): (13.0, 14.0), (3, "twice"): (19.0, 22.0),
          (6, "twice"): (14.0, 16.0), (3, "thing"): (13.0, 15.0), (8, "thing"): (18.0, 21.0)}  # fmt: skip
_ANY_STAY = (13.0, 24.0)
#: The same of what is done there; the others last as long as any.
_LASTS = {(1, 0): (2.5, 3.0), (6, 0): (4.8, 5.4), (8, 0): (2.5, 3.0)}
_ANY_DEED = (2.5, 4.5)
_BRIEFLY = 3.5  #: seconds; such a stay is between two multiples of five seconds, and of all that five divides
_GRID = 5.0
#: scene, who, deed (by number), and whether it is done while much is said
_DONE = (
    (1, "thrice", 0), (3, "twice", 1), (4, "twin_1", 2), (5, "thrice", 3), (6, "twice", 0), (7, "twin_2", 4), (8, "thrice", 0),
)  # fmt: skip
#: scene and line (by number)
_SAID = ((0, 0), (3, 1), (5, 2), (6, 0), (7, 3))
_RECALLED = ((2, 2), (8, 0), (9, 1))  #: scene and small talk (by number) that is said there again, with little else
_SHOWN = ((0, 0), (2, 1), (6, 2), (9, 0))  #: scene and sign (by number)
#: scenes in which a bystander is seen before, while and after another person does something, and where: left edge, in pixels
_BESIDE = {5: 5.0, 7: 480.0}
_TALKATIVE = (1, 3)  #: scenes in which much is said
_LONG_STAY = 300.0  #: seconds
_OFTEN = 12  #: times that a longer film has two deeds and a line once more
_EACH_TIME = 16.0  #: seconds
#: scenes that a longer film has once more at its end, with who, what and the words that are in them
_AGAIN = (0, 2, 3, 5, 4, 7, 1)


@dataclass
class _Script:
    """Collects the truth of one film, as the content of a truth file (``world_api/build/truth.py``)."""

    chance: random.Random
    scenes: list[dict[str, Any]] = field(default_factory=list)
    tracks: dict[str, dict[str, Any]] = field(default_factory=dict)
    speech: list[dict[str, Any]] = field(default_factory=list)
    screen_text: list[dict[str, Any]] = field(default_factory=list)
    actions: list[dict[str, Any]] = field(default_factory=list)
    captions: list[dict[str, Any]] = field(default_factory=list)

    def between(self, least: float, most: float) -> float:
        """Return a random number of seconds, in tenths."""
        return round(self.chance.uniform(least, most), 1)

    def see(self, name: str, start: float, end: float, *, still_at: float | None = None) -> None:
        """Let a person or thing be seen from ``start`` to ``end`` (seconds)."""
        left, last = _WALKS.get(name, (0.0, _RIGHTMOST)) if still_at is None else (still_at, still_at)
        times = [round(start + _STEP * place, 3) for place in range(round((end - start) / _STEP) + 1)]
        step = (last - left) / max(1, len(times) - 1)
        self.tracks[name]["sightings"] += [
            {"time": time, "box": [left + step * place, 60, left + 70 + step * place, 280]}
            for place, time in enumerate(times)
        ]

    def do(self, name: str, start: float, end: float, label: str) -> None:
        """Let a person do something from ``start`` to ``end``."""
        track = self.tracks[name]
        self.actions.append({"start": start, "end": end, "label": label, "track": track["track"]})
        self.captions.append({"start": start, "end": end, "text": f"A person in {track['colours'][0]} {label}."})

    def show(self, start: float, end: float, text: str) -> None:
        """Let a text be on the screen."""
        self.screen_text.append({"start": start, "end": end, "text": text, "box": [400, 20, 560, 50]})

    def say(self, start: float, text: str) -> float:
        """Let a line be said at ``start``; return when it ends."""
        end = round(start + 1.0 + len(text) / 20, 1)
        self.speech.append({"start": start, "end": end, "text": text})
        return end


def _script(seed: int, *, longer: bool = False) -> dict[str, Any]:
    script = _Script(chance=random.Random(f"staged film {seed}"))  # noqa: S311 - a story, not a secret
    shuffled = {
        name: script.chance.sample(items, len(items))
        for name, items in (
            ("asides", _ASIDES), ("rooms", _ROOMS), ("coats", _COATS), ("deeds", _DEEDS), ("lines", _LINES), ("signs", _SIGNS),
            ("talk", _SMALL_TALK),
        )
    }  # fmt: skip
    names = ("bystander", "thrice", "twice", "once", "thing", "twin_1", "brief")
    coats = dict(zip(names, shuffled["coats"], strict=False))
    coats["twin_2"] = coats["twin_1"]
    for number, (name, coat) in enumerate(coats.items()):
        category = script.chance.choice(_THINGS) if name == "thing" else "person"
        script.tracks[name] = {"track": f"s{number:04d}", "category": category, "colours": [coat], "sightings": []}
    time = 0.0
    for scene in (*range(len(_SCENES)), *(_AGAIN if longer else ())):
        start, time = time, _play(script, scene, _SCENES[scene], time, shuffled)
        caption = shuffled["rooms"][scene % 3]
        script.scenes.append({"start": start, "end": time, "caption": caption})
    if longer:  # the one who was seen least often is seen longest
        script.see("once", time + 2.0, time + _LONG_STAY)
        script.scenes.append({"start": time, "end": time + _LONG_STAY + 2.0, "caption": shuffled["rooms"][0]})
        for number in range(_OFTEN):
            start = round(time + _LONG_STAY + 2.0 + number * _EACH_TIME, 1)
            script.see("thrice", start + 1.0, start + 12.0)
            script.do("thrice", start + 2.0, start + 4.0, shuffled["deeds"][0])
            script.do("thrice", start + 8.0, start + 10.0, shuffled["deeds"][3])
            script.say(start + 4.5, shuffled["lines"][0])
            script.scenes.append({"start": start, "end": start + _EACH_TIME, "caption": shuffled["rooms"][number % 3]})
    return {
        "schema_version": 1,
        "scenes": script.scenes,
        "tracks": list(script.tracks.values()),
        "speech": script.speech,
        "screen_text": script.screen_text,
        "actions": script.actions,
        "captions": script.captions,
    }


def _stay(script: _Script, scene: int, name: str, start: float) -> tuple[float, float]:
    """Return from when to when one is seen in a scene that begins at ``start``."""
    first = round(start + script.between(3.0, 8.0), 1)
    last = round(first + script.between(*_STAYS.get((scene, name), _ANY_STAY)), 1)
    if name != "brief":
        return first, last
    first = round((first // _GRID + 1) * _GRID + (_GRID - _BRIEFLY) / 2, 2)
    return first, first + _BRIEFLY


def _play(script: _Script, scene: int, present: Sequence[str], start: float, words: dict[str, list[str]]) -> float:
    """Add what happens in one scene that begins at ``start``; return when it ends."""
    for place, number in _SHOWN:
        if place == scene:
            script.show(start + 1.0, start + 9.0, words["signs"][number])
    said = start + script.between(1.0, 3.0)
    for place, number in _SAID:
        if place == scene:
            said = script.say(said, words["lines"][number])
    for place, number in _RECALLED:
        if place == scene:
            said = script.say(said, words["talk"][number])
    for line in words["talk"] if scene in _TALKATIVE else ():
        said = script.say(round(said + 0.3, 1), line)
    end = max(said, start + 12.0)
    if scene in _BESIDE:
        script.see("bystander", start + 1.0, start + 30.0, still_at=_BESIDE[scene])
        end = start + 30.0
    for name in present:
        first, last = _stay(script, scene, name, start)
        script.see(name, first, last)
        for place, who, number in _DONE:
            if (place, who) == (scene, name):
                done = round(first + script.between(5.0, 7.0), 1)
                ended = round(done + script.between(*_LASTS.get((scene, number), _ANY_DEED)), 1)
                script.do(name, done, ended, words["deeds"][number])
                if scene not in _TALKATIVE:  # something is said shortly before it and shortly after it
                    script.say(round(done - 3.0, 1), words["asides"][2 * number])
                    script.say(round(ended + 1.0, 1), words["asides"][2 * number + 1])
        end = max(end, last)
    return round(end + script.between(4.0, 9.0), 1)


@cache
def _worlds() -> tuple[World, ...]:
    return tuple(_world(seed) for seed in _SEEDS)


@cache
def _longer() -> tuple[World, ...]:
    return tuple(_world(seed, longer=True) for seed in _SEEDS)


def _world(seed: int, *, longer: bool = False) -> World:
    from world_api.build.truth import Truth, records_of
    from world_api.core.canonical import content_hash
    from world_api.world import SCHEMA_VERSION, Manifest, SourceFacts, VideoFacts, World, rows_from_records

    script, name = _script(seed, longer=longer), f"{STAGED}{seed}{'-longer' if longer else ''}"
    digest, duration = content_hash(script), script["scenes"][-1]["end"]
    video = VideoFacts(
        duration=duration, frame_rate=25.0, width=640, height=360, rotation=0, frames=round(duration * 25), codec="none",
        has_audio=True,
    )  # fmt: skip
    manifest = Manifest(
        schema_version=SCHEMA_VERSION, video_id=name, profile="oracle", title=name, built_at="", project_version="",
        source=SourceFacts(file_name=name, sha256=digest, bytes=0, container="none"), video=video, clip_seconds=30.0, stages=[],
        losses=[], files=[], images=[], world_hash=digest,
    )  # fmt: skip
    records = records_of(Truth.model_validate(script))
    made = {
        table: rows_from_records(
            table, [{**row, **_changed(row, place), "producer": "staged/1"} for place, row in enumerate(rows)]
        )
        for table, rows in records.items()
    }
    return World(name, manifest, made=made)


def _changed(row: Mapping[str, Any], place: int) -> dict[str, float]:
    """Return the confidence of a row that has one; the bystander's is the highest, so that it is not the doer's."""
    confidence = _HIGHEST if row.get("track") == _BYSTANDER else _CONFIDENCES[place % len(_CONFIDENCES)]
    return {"confidence": confidence} if "confidence" in row else {}


def staged_sessions(*, longer: bool = False) -> tuple[Session, ...]:
    """Return new sessions on the staged films, one for each; nothing that is written in them is kept.

    ``longer``: instead, on the same films with more at their end, which changes nothing of what was before.
    """
    from world_api.api import text_embedder
    from world_api.session.session import Backends, Overlay, Session
    from world_api.world.view import open_view

    return tuple(
        Session(
            view=open_view(world, None),
            overlay=Overlay(None),
            backends=Backends(text_embedder=text_embedder(), looker=None),
            name="staged",
        )
        for world in (_longer() if longer else _worlds())
    )

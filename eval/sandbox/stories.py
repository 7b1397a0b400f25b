"""Stories by seed: the script of a film and all facts about it, for one minute to ten hours."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from eval.sandbox.facts import Event, FilmFacts
from eval.sandbox.plots import ADMISSION_PLOTS, CAUSING, LEANING, PLOTS, come_by, consulted, filed, sought
from eval.sandbox.scenes import Director, Plot, SceneRequest, StagedShot
from eval.sandbox.script import CARD, Card, Film, Prop, Shot, with_article
from eval.sandbox.story_world import ADMISSION_THEMES, FRAME_RATE, THEMES, FilingRule, StoryCast, cast_story, on_frame
from tool_induction.domains.domain import SplitName

_BROUGHT = 0.5  #: probability that a person holds a labelled thing at first
_KEPT = 0.15  #: probability that any other thing is inside something at first


def furnish(director: Director) -> None:
    """Give every thing its first place.

    A thing with a filing rule is held by a person, or is where the rule says, never elsewhere. Any other thing is on
    something, or inside something (rarely, or if no spot is free).
    """
    cast, chance, world = director.cast, director.chance, director.world
    openings = [(location.id, item) for location in cast.locations for item in location.containers]
    for prop in cast.props:
        rule = cast.rule_of(prop)
        if rule is not None:
            free = [actor for actor in cast.actors[1:] if world.people[actor.id].holds is None]
            if len(free) > 1 and chance.random() < _BROUGHT:
                director.begin_with(prop, chance.choice(free))
            else:
                director.begin_at(prop, rule.room, world.opening(rule.room, rule.target))
            continue
        inside = not prop.is_worn and bool(openings) and chance.random() < _KEPT
        if inside or not _place_anywhere(director, prop):
            director.begin_at(prop, *chance.choice(openings))


def _place_anywhere(director: Director, prop: Prop) -> bool:
    """Put a thing on a random free spot of any room; one that is worn on a hook, while any room has a free one.

    Return False if all spots are taken.
    """
    free = [(place.id, director.world.free_spots(place.id, prop)) for place in director.cast.locations]
    hooks = [(room, [spot for spot in spots if spot.kind == "hook"]) for room, spots in free]
    found = [pair for pair in hooks if pair[1] and prop.is_worn] or [pair for pair in free if pair[1]]
    if found:
        room, spots = director.chance.choice(found)
        director.begin_at(prop, room, director.chance.choice(spots))
    return bool(found)


_AT_ONCE = 1.5  #: the longest time in seconds from entering to waving
_ENOUGH = 2  #: the number of events from which something can be learned


def learn(director: Director) -> None:
    """Record the filing rules and habits that at least two events show."""
    chronicle = director.chronicle
    for rule in director.cast.rules:
        shown, ending = _following(director, rule), "es" if rule.category.endswith("x") else "s"
        if len(shown) >= _ENOUGH:
            many = f"{rule.category}{ending} with {with_article(rule.label)} label"
            values = {"things": many, "category": rule.category, "label": rule.label, "target": rule.target}
            text = f"{many} go into {rule.target} in {director.room_name(rule.room)}"
            chronicle.learned("rule", text, {**values, "place": rule.room}, shown)
    for habit in director.cast.habits:
        who, room = director.world.people[habit.person].actor.reference, director.room_name(habit.room)
        own = [event for event in chronicle.events if (event.actor, event.place) == (habit.person, habit.room)]
        if habit.kind == "waves":
            shown = [event for event in own if event.kind == "waves" and _on_entering(event, chronicle.events)]
            text, phrase = f"{who} waves on entering {room}", f"wave on entering {room}"
        else:
            shown = [event for event in own if event.kind == "sits"]
            text, phrase = f"{who} always sits on {habit.seat} in {room}", f"sit on {habit.seat} in {room}"
        if len(shown) >= _ENOUGH:
            chronicle.learned("habit", text, {"person": habit.person, "habit": phrase, "place": habit.room}, shown)


def _on_entering(wave: Event, events: list[Event]) -> bool:
    return any(
        event.kind == "enters" and event.actor == wave.actor and 0 <= wave.start - event.end < _AT_ONCE
        for event in events
    )


def rules_are_shown(director: Director) -> bool:
    """Whether at least one filing rule, and half of all, can be learned from the events so far."""
    shown = [len(_following(director, rule)) >= _ENOUGH for rule in director.cast.rules]
    return any(shown) and sum(shown) >= len(shown) / 2


def causes_are_shown(director: Director) -> bool:
    """Whether two or more causes so far have an effect, other than "says" and "gives", that happens only once."""
    events = director.chronicle.events
    times = Counter(event.clause for event in events)
    seen = {event.id for event in events if event.kind not in {"says", "gives"} and times[event.clause] == 1}
    return sum(cause.effect in seen for cause in director.chronicle.causes) >= _ENOUGH


def containers_are_shown(director: Director) -> bool:
    """Whether more than two drawers or cupboards were opened, which serve as options of questions about filing rules."""
    opened = {(event.place, event.target) for event in director.chronicle.events if event.kind == "opens"}
    return sum(not target.endswith("door") for _, target in opened) > _ENOUGH


#: Plots that are more likely until a check holds, with the factor.
_SHOWING: dict[Callable[[Director], bool], tuple[tuple[Callable[[Director], Plot], ...], float]] = {
    rules_are_shown: ((filed, consulted), 4.0),
    causes_are_shown: (CAUSING, 3.0),
    containers_are_shown: ((sought,), 4.0),
}


def _following(director: Director, rule: FilingRule) -> list[Event]:
    things = {item.id for item in director.cast.props if director.cast.rule_of(item) == rule}
    return [event for event in director.chronicle.events if event.kind == "puts_down" and event.thing in things]


STORY_VERSION = 2  #: increased when the same seed no longer gives the same story
_ADMISSION_VERSION = 3  #: that of films of the split admission, which have themes and plots of their own
SHORTEST, LONGEST = 1.0, 600.0  #: minutes

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CARD = 5.0  #: seconds of a card: time to read it
_CHAPTER = 600.0  #: seconds of film after which a card "LATER" is shown
_FORGOTTEN = 20.5  #: seconds until a room may be shown again; sooner, both shots would be one scene
_LONG = 7.0  #: seconds of waiting in an empty room that are filled with acts
_END = 7.0  #: seconds before the end in which no scene begins
_LEARNING = 2.0  #: minutes of film from which rules must be shown often enough to be learned
_TRIES = 12


@dataclass(frozen=True, kw_only=True)
class Story:
    """A film and its facts."""

    film: Film
    facts: FilmFacts


def video_id(seed: int, split: SplitName) -> str:
    """Return a generated film's id as domain files match it: ``sandbox-test-0007``."""
    return f"sandbox-{split}-{seed:04d}"


def story_version(split: SplitName) -> int:
    """Return the version of the stories of a split."""
    return _ADMISSION_VERSION if split == "admission" else STORY_VERSION


def tell(seed: int, minutes: float, *, split: SplitName = "development") -> Story:
    """Make a story that lasts ``minutes`` to within a minute; the same seed, length and split always give the same one.

    Raises ValueError: it would be shorter than a minute or longer than ten hours.
    """
    if not SHORTEST <= minutes <= LONGEST:
        raise ValueError(f"a story lasts {SHORTEST:g} to {LONGEST:g} minutes")
    return _Telling(seed, minutes, split).story()


def _nothing(room: str) -> Plot:
    """An empty room for a few seconds."""
    scene = yield SceneRequest(room=room)
    scene.pause(scene.chance.uniform(4.0, 8.0))


class _Telling:
    """Makes one story."""

    def __init__(self, seed: int, minutes: float, split: SplitName) -> None:
        self._seed, self._minutes, self._split = seed, minutes, split
        self._chance = random.Random(f"story {split} {seed} {minutes:g}")
        is_admission = split == "admission"
        self._plots = ADMISSION_PLOTS if is_admission else PLOTS
        themes = ADMISSION_THEMES if is_admission else THEMES
        self._cast: StoryCast = cast_story(self._chance.randrange(2**32), minutes, themes)
        self._director = Director(self._cast, duration=minutes * 60, chance=self._chance)
        self._active: list[tuple[Plot, SceneRequest]] = []
        self._parts: list[Shot | Card] = []
        self._scene: StagedShot | None = None
        self._left_at: dict[str, float] = {}
        self._shown: set[Callable[[Director], bool]] = set()
        if minutes < _LEARNING:
            self._shown = {rules_are_shown, containers_are_shown}
        self._next_chapter = _CHAPTER
        self._together = self._chance.choice((1, 2, 2, 3))

    def story(self) -> Story:
        director = self._director
        furnish(director)
        self._card("A DAY", _WEEKDAYS[self._seed % len(_WEEKDAYS)])  # and nothing that a question may ask for
        while director.left > _END:
            self._turn()
        for plot, _ in self._active:
            plot.close()
        self._card("THE END")
        learn(director)
        film = Film(title=f"Sandbox {self._seed}", frame_rate=FRAME_RATE, parts=tuple(self._parts))
        extras = {
            "theme": self._cast.theme,
            "split": self._split,
            "minutes": float(self._minutes),
            "version": story_version(self._split),
            "tracks": {subject.id: track for subject, track in film.tracks().items()},
        }
        name, duration = video_id(self._seed, self._split), round(film.duration, 3)
        facts = director.chronicle.facts(name, self._seed, self._cast, duration, extras)
        return Story(film=film, facts=facts)

    def _card(self, title: str, subtitle: str = "") -> None:
        self._end_scene()
        card = Card(title=title, subtitle=subtitle, duration=_CARD, caption=f"{CARD}{title.capitalize()}.")
        self._parts.append(card)
        self._director.time += _CARD

    def _turn(self) -> None:
        """Finish the last scene and let a plot play the next one, after a title card if a new chapter begins."""
        director = self._director
        if director.time > self._next_chapter:
            self._next_chapter += _CHAPTER
            self._card("LATER", "the same day")
        plot, wanted = self._due() or self._choose()
        self._fill(wanted.room)
        self._end_scene(longer=self._wait(wanted.room))
        self._scene, following = director.play(plot, wanted)
        if following is not None:
            self._active.append((plot, following))

    def _end_scene(self, *, longer: float = 0.0) -> None:
        """Finish the scene that was played last, ``longer`` seconds longer than its actions, and add it to the film."""
        if self._scene is not None:
            shot = self._scene.finish(longer=longer)
            self._parts.append(shot)
            self._director.time = on_frame(self._scene.start + shot.duration)
            self._left_at[self._scene.location.id] = self._director.time
            self._scene = None

    def _fill(self, room: str) -> None:
        """Let people come into the last scene if it has to wait long for the next room."""
        for _ in range(_TRIES):
            if self._scene is None or not _LONG < self._wait(room) < math.inf:
                return
            if not come_by(self._director, self._scene):
                return
            self._director.time = on_frame(self._scene.start + self._scene.length)

    def _wait(self, room: str) -> float:
        """Return the seconds to add to the last scene before a room can be next; infinite if it cannot (it is in that scene)."""
        if self._scene is not None and self._scene.location.id == room:
            return math.inf
        wait = on_frame(max(0.0, self._left_at.get(room, -math.inf) + _FORGOTTEN - self._director.time))
        return math.inf if wait and self._scene is None else wait

    def _due(self) -> tuple[Plot, SceneRequest] | None:
        """Remove and return a plot whose appointment is due, with its request; None if there is none."""
        due = [
            (wanted.at, index)
            for index, (_, wanted) in enumerate(self._active)
            if wanted.at is not None and self._director.is_due(wanted.at) and self._wait(wanted.room) < math.inf
        ]
        return self._active.pop(min(due)[1]) if due else None

    def _choose(self) -> tuple[Plot, SceneRequest]:
        """Return the next plot, active or new, and its request; a room that can be shown at once is preferred."""
        waits = {index: self._wait(wanted.room) for index, (_, wanted) in enumerate(self._active) if wanted.at is None}
        ready = [index for index, wait in waits.items() if wait == 0]
        if ready and (len(waits) >= self._together or self._chance.random() < 0.5):
            return self._active.pop(self._chance.choice(ready))
        begun = self._begin()
        if begun is not None:
            return begun
        if ready:
            return self._active.pop(self._chance.choice(ready))
        soon = min(waits, key=lambda index: waits[index], default=None)
        if soon is not None and waits[soon] < math.inf:
            return self._active.pop(soon)
        plot = _nothing(min((location.id for location in self._cast.locations), key=self._wait))
        return plot, next(plot)

    def _begin(self) -> tuple[Plot, SceneRequest] | None:
        """Return a new plot and its request if it can begin now, in a room that can be shown at once, else None."""
        self._shown |= {check for check in _SHOWING if check not in self._shown and check(self._director)}
        for _ in range(_TRIES):
            fitting = [item for item in self._plots if item[2] < self._director.left]
            if not fitting:
                return None
            begin, _, _ = self._chance.choices(fitting, [item[1] * self._leaning(item[0]) for item in fitting])[0]
            plot = begin(self._director)
            wanted = next(plot, None)
            if wanted is None:
                continue
            if self._wait(wanted.room) == 0:
                return plot, wanted
            self._active.append((plot, wanted))
            if len(self._active) > self._together + 2:
                return None
        return None

    def _leaning(self, plot: Callable[[Director], Plot]) -> float:
        """Return the factor on a plot's weight: for the film's theme, and for what is not shown yet (``_SHOWING``)."""
        usual = 2.0 if plot in LEANING.get(self._cast.theme, ()) else 1.0
        wanted = (factor for check, (plots, factor) in _SHOWING.items() if plot in plots and check not in self._shown)
        return usual * math.prod(wanted)

"""All that is said, shown, described and followed, as arrays in order of its start: of a whole world, and behind a cut.

A cut takes over what it leaves as it is. What it shortens or makes anew is little, and is put in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world_api.core.evidence import Source
from world_api.world.arrays.items import Chained, Items, Positions, Reach, Times, extended
from world_api.world.arrays.whole import Whole
from world_api.world.disk.stored import World
from world_api.world.facts import Said, Spoken
from world_api.world.screen_texts import ScreenText
from world_api.world.search.texts import SPEAKING, Texts
from world_api.world.view import View, open_view

#: What is gathered: the tables of ``SPEAKING``, in their order, then what was followed.
LISTS = tuple(SPEAKING)
#: The order in which a stretch is told: speech first.
ORDER: tuple[Source, ...] = ("speech", "screen_text", "caption", "tracker")
SCREEN, FOLLOWED = LISTS.index("screen_texts"), len(LISTS)
#: The source of each list: its place in ``ORDER``.
_SOURCES = (0, 1, 2, 2, 3)
_ROWS = tuple(number for number in range(len(LISTS)) if number != SCREEN)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Times and numbers of n things.

    ``times`` (2 x n, seconds): from when to when each lasts. ``numbers`` (4 x n): which list it is of, its place there, the
    number of its text, and its source (its place in ``ORDER``). Places count the list of the whole world, or from -1 down
    what the cut made anew; of what was followed they are the origins in ``Tracks``. Texts are numbered as in ``Texts``, from
    -1 down where the cut made them anew.
    """

    times: Times
    numbers: Positions

    @property
    def starts(self) -> Times:
        """From when each lasts (n, seconds)."""
        found: Times = self.times[0]
        return found

    @property
    def lists(self) -> Positions:
        """Which list each is of (n)."""
        found: Positions = self.numbers[0]
        return found

    @property
    def places(self) -> Positions:
        """Which one of its list each is (n)."""
        found: Positions = self.numbers[1]
        return found

    def some(self, chosen: slice | Positions) -> Columns:
        """Some of them."""
        return Columns(times=self.times[:, chosen], numbers=self.numbers[:, chosen])


def lists_of(view: View) -> Sequence[Items[Spoken] | Items[ScreenText] | Items[Said]]:
    """The lists of a view, in the order of ``LISTS``."""
    return (view.speech, view.screen_texts, view.captions, view.actions)


class WholeGathered:
    """All of a whole world. ``reach``: how far everything up to each reaches.

    ``hints``: how things of a description, by its number, are called; filled by those who ask.
    """

    def __init__(self, world: World) -> None:
        whole, known, view = world.once(Whole), world.once(Texts), open_view(world, None)
        owners, starts, ends = whole.tracks.all_appearances
        parts = [
            _columns(part.starts, part.ends, number, np.arange(len(part)), known.of_rows(table)[part.rows])
            for number, (part, table) in enumerate(zip(lists_of(view), LISTS, strict=True))
        ]
        parts.append(_columns(starts, ends, FOLLOWED, owners, known.of_tracks[owners]))
        settled_at = [
            np.full(len(part), -np.inf) if table == "screen_texts" else whole.lasting(table).settled_at
            for part, table in zip(lists_of(view), LISTS, strict=True)
        ]
        columns = Columns(
            times=np.concatenate([part.times for part in parts], axis=1),
            numbers=np.concatenate([part.numbers for part in parts], axis=1),
        )
        self.hints: dict[int, str] = {}
        order = np.argsort(columns.starts, kind="stable")
        self.columns = columns.some(order)
        self.reach = Reach(self.columns.times[1])
        # Texts on screen are taken over by their number; see ``changed``.
        self.settled_at: Times = np.concatenate([*settled_at, whole.tracks.known_at[owners]])[order]
        self._all_settled = np.maximum.accumulate(self.settled_at) if len(order) else self.settled_at
        self._screen: Positions = np.flatnonzero(self.columns.lists == SCREEN)

    def changed(self, as_of: float, texts: int) -> int:
        """The first that a cut changes which leaves the first so many texts on screen as they are."""
        first = int(np.searchsorted(self._all_settled, as_of, side="right"))
        return min(first, int(self._screen[texts])) if texts < len(self._screen) else first


class Gathered:
    """All of a view: the first ``same`` of ``whole``, then ``rest``.

    ``anew``: the texts that the cut made anew, in the order of their numbers -1, -2 and so on.
    """

    def __init__(self, view: View) -> None:
        self.whole = view.world.once(WholeGathered)
        self.anew: list[str] = []
        self.same = len(self.whole.columns.starts)
        self.rest = self.whole.columns.some(slice(self.same, None))
        if not view.complete:
            self._cut(view)

    def times(self) -> tuple[Times, Times]:
        """From when to when each lasts (n, seconds)."""
        starts, ends = extended(self.whole.columns.times[:, : self.same], self.rest.times)
        return starts, ends

    def numbers(self, which: int) -> Chained:
        """A row of the numbers of all columns."""
        return Chained(self.whole.columns.numbers[which, : self.same], self.rest.numbers[which])

    def _cut(self, view: View) -> None:
        whole, kept = self.whole, int(np.count_nonzero(view.screen_texts.rows >= 0))
        parts = list(self._made_anew(view, kept))
        added = Columns(
            times=np.concatenate([part.times for part in parts], axis=1),
            numbers=np.concatenate([part.numbers for part in parts], axis=1),
        )
        same = whole.changed(view.duration, kept)
        if len(added.starts):
            same = min(same, int(np.searchsorted(whole.columns.starts, added.starts.min())))
        rest = whole.columns.some(slice(same, None))
        settled = (whole.settled_at[same:] <= view.duration) & ((rest.lists != SCREEN) | (rest.places < kept))
        self.same, self.rest = same, _in_order(view, rest.some(np.flatnonzero(settled)), added, kept)

    def _made_anew(self, view: View, kept: int) -> Iterator[Columns]:
        """What the cut shortens, the texts on screen that it made anew, and what was followed differently."""
        whole, known = view.world.once(Whole), view.world.once(Texts)
        for number in _ROWS:
            rows = whole.lasting(LISTS[number])
            cut = rows.shortened(view.duration)
            texts = known.of_rows(LISTS[number])[rows.whole.rows[cut]]
            yield _columns(rows.whole.starts[cut], np.full(len(cut), view.duration), number, cut, texts)
        shown = view.screen_texts[kept:]
        yield _columns(
            np.array([text.span.start for text in shown], dtype=np.float64),
            np.array([text.span.end for text in shown], dtype=np.float64),
            SCREEN,
            -1 - np.arange(len(shown)),
            self._numbered([text.text for text in shown]),
        )
        if (opened := view.tracks.open_tracks) is not None:
            owners, starts, ends = opened.all_appearances
            texts = self._numbered([opened.described(place) for place in owners.tolist()])
            yield _columns(starts, ends, FOLLOWED, -1 - owners, texts)

    def _numbered(self, texts: Sequence[str]) -> Positions:
        """The numbers of some texts, each different one with its own."""
        numbers = {text: -1 - number for number, text in enumerate(self.anew)}
        for text in texts:
            if numbers.setdefault(text, -1 - len(self.anew)) == -1 - len(self.anew):
                self.anew.append(text)
        return np.array([numbers[text] for text in texts], dtype=np.int64)


def gathered_of(view: View) -> Gathered:
    """What a view gathers; all views of a whole world share it."""
    return (open_view(view.world, None) if view.complete else view).once(Gathered)


def _in_order(view: View, kept: Columns, added: Columns, texts: int) -> Columns:
    """Both in order of their start; what begins at once is in order of the lists, and in that of its own list.

    ``texts``: how many texts on screen the cut keeps.
    """
    if len(added.starts) == 0:
        return kept
    ranks = _ranks(view, added, texts)
    order = np.lexsort((ranks, added.starts))
    added, ranks = added.some(order), ranks[order]
    at = np.searchsorted(kept.starts, added.starts)
    ends = np.searchsorted(kept.starts, added.starts, side="right")
    for i in np.flatnonzero(ends > at).tolist():
        tied = _ranks(view, kept.some(slice(int(at[i]), int(ends[i]))), texts)
        at[i] += int(np.count_nonzero(tied < ranks[i]))
    return Columns(
        times=np.insert(kept.times, at, added.times, axis=1), numbers=np.insert(kept.numbers, at, added.numbers, axis=1)
    )


def _ranks(view: View, columns: Columns, texts: int) -> NDArray[np.int64]:
    """What orders things that begin at once: their lists, then their places in the view's own lists."""
    places = np.where((columns.lists == SCREEN) & (columns.places < 0), texts - 1 - columns.places, columns.places)
    followed = columns.lists == FOLLOWED
    places[followed] = view.tracks.positions(columns.places[followed])
    ranks: NDArray[np.int64] = (columns.lists << 40) + places
    return ranks


def _columns(starts: Times, ends: Times, number: int, places: Positions, texts: Positions) -> Columns:
    """Columns of one list."""
    numbers = np.stack([np.full(len(places), number), places, texts, np.full(len(places), _SOURCES[number])])
    return Columns(times=np.stack([starts, ends]), numbers=numbers.astype(np.int64))

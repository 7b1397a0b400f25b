"""The outfits of tracks: what was judged of people at single moments, summed up over the frames of each track."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from world_api.core.lexicon import NEIGHBOURS
from world_api.core.outfits import AWAY, CAMERA, FACING, HAIR, HAIR_COLOURS, LOWER, NEAR, UPPER, Outfit, PartLook

#: A part is described from at least this many frames, by the words that at least this share of them shows; for hair and the
#: direction it is one word. Words that at least the smaller share shows, or is near to, are in doubt; of hair that has two, both.
_FRAMES, _SHARE, _DOUBTFUL = 2, 0.4, 0.2
_PARTS = (UPPER, LOWER, HAIR, FACING)
_NEAR_PARTS = tuple(NEAR + part for part in _PARTS[:3])


def sum_up(rows: pa.Table, place_of_part: Mapping[str, int], count: int) -> list[Outfit]:
    """Return the outfit of each of ``count`` tracks from rows of ``person_looks``.

    ``place_of_part``: the position of the track that each single-clip track belongs to; rows of others are ignored.
    """
    judged = rows.filter(pc.is_in(rows.column("part"), pa.array((*_PARTS, *_NEAR_PARTS)))).select(
        ["track", "part", "words"]
    )
    if judged.num_rows == 0:
        return [Outfit()] * count
    frames: Counter[tuple[int, str]] = Counter()
    words: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for row in judged.to_pylist():
        place = place_of_part.get(row["track"])
        if place is not None:
            frames[place, row["part"]] += 1
            words[place, row["part"]].update(dict.fromkeys(row["words"], 1))
    return [
        _outfit({part: (frames[place, part], words[place, part]) for part in (*_PARTS, *_NEAR_PARTS)})
        for place in range(count)
    ]


def _outfit(noted: Mapping[str, tuple[int, Counter[str]]]) -> Outfit:
    """Return the outfit of one track from the number of frames in which each part was judged, and its words in these."""
    looks: list[tuple[PartLook, float]] = []
    doubts: list[PartLook] = []
    has_mixed_hair = False
    for part in _PARTS:
        number, words = noted[part]
        if number < _FRAMES:
            continue
        if part == FACING:
            looks += [(PartLook(part, CAMERA), share)] if (share := _share(words[CAMERA], number)) >= _SHARE else []
            doubts += [
                PartLook(part, word) for word in (CAMERA, AWAY) if (word != CAMERA or share < _SHARE) and words[AWAY]
            ]
            continue
        ordered = sorted(words.items(), key=lambda item: (-item[1], item[0]))
        if part == HAIR:
            has_mixed_hair = len(ordered) > 1 and ordered[1][1] >= _DOUBTFUL * number
            ordered = [] if has_mixed_hair else ordered[:1]
        named = [(word, _share(times, number)) for word, times in ordered if times >= _SHARE * number]
        looks += [(PartLook(part, word), share) for word, share in named]
        near_number, near = noted[NEAR + part]
        least = 0.0 if part == HAIR and has_mixed_hair else _DOUBTFUL  # only what no frame shows is excluded
        doubtful = {word for word, times in words.items() if times >= least * number}
        doubtful |= {word for word, times in near.items() if times >= least * near_number}
        if near_number == 0:  # rows of an earlier version have no neighbours
            doubtful = doubtful.union(*(NEIGHBOURS[word] for word, _ in named))
        known = HAIR_COLOURS if part == HAIR else NEIGHBOURS
        doubts += [PartLook(part, word) for word in known if word in doubtful.difference(dict(named))]
    return Outfit(
        looks=tuple(look for look, _ in looks),
        shares=tuple(share for _, share in looks),
        doubts=tuple(doubts),
        has_mixed_hair=has_mixed_hair,
    )


def _share(times: int, number: int) -> float:
    return round(times / number, 2)

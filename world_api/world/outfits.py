"""The outfits of tracks: what was judged of people at single moments, summed up over the frames of each track."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from world_api.core.outfits import FACING, HAIR, LOWER, UPPER, Outfit, PartLook

#: A part is described from at least this many frames, by the words that at least this share of them shows; for hair and the
#: direction it is one word.
_FRAMES, _SHARE = 2, 0.4
_PARTS = (UPPER, LOWER, HAIR, FACING)
_SINGLE = frozenset({HAIR, FACING})


def sum_up(rows: pa.Table, place_of_part: Mapping[str, int], count: int) -> list[Outfit]:
    """Return the outfit of each of ``count`` tracks from rows of ``person_looks``.

    ``place_of_part``: the position of the track that each single-clip track belongs to; rows of others are ignored.
    """
    judged = rows.filter(pc.is_in(rows.column("part"), pa.array(_PARTS))).select(["track", "part", "words"])
    if judged.num_rows == 0:
        return [Outfit()] * count
    frames: Counter[tuple[int, str]] = Counter()
    words: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for row in judged.to_pylist():
        place = place_of_part.get(row["track"])
        if place is not None:
            frames[place, row["part"]] += 1
            words[place, row["part"]].update(dict.fromkeys(row["words"], 1))
    found: defaultdict[int, list[tuple[PartLook, float]]] = defaultdict(list)
    for (place, part), number in sorted(frames.items(), key=lambda item: (item[0][0], _PARTS.index(item[0][1]))):
        named = sorted(words[place, part].items(), key=lambda item: (-item[1], item[0]))[
            : 1 if part in _SINGLE else None
        ]
        found[place] += [
            (PartLook(part, word), round(times / number, 2))
            for word, times in named
            if number >= _FRAMES and times >= _SHARE * number
        ]
    return [
        Outfit(looks=tuple(look for look, _ in found[place]), shares=tuple(share for _, share in found[place]))
        for place in range(count)
    ]

"""Which colours a measured one may be called as well: by distance in Lab, in weaker and stronger light."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from world_api.build import lab_of, near_names, usual_names
from world_api.core import COLOURS, NEIGHBOURS, Image

WORDS = list(COLOURS)
#: B, G and R at even steps.
GRID = np.stack(np.meshgrid(*[np.arange(16, 256, 32, dtype=np.uint8)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


@cache
def even_in_lab() -> Image:
    """Colours of which no two are in the same small part of Lab."""
    fine = np.stack(np.meshgrid(*[np.arange(4, 256, 8, dtype=np.uint8)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    cells = (lab_of(fine) / [10, 4, 4]).round().astype(np.int64) @ [1 << 40, 1 << 20, 1]
    return fine[np.unique(cells, return_index=True)[1]]


def near(*colour: int) -> set[str]:
    return {WORDS[number] for number in near_names(np.array(colour, dtype=float), usual_names) if number < len(WORDS)}


@pytest.mark.parametrize("colour", GRID[::37].tolist())
def test_a_colour_is_near_its_own_name(colour: list[int]) -> None:
    [own] = usual_names(np.array([colour], dtype=np.uint8)).tolist()
    assert own == len(WORDS) or WORDS[own] in near(*colour)


def test_the_hue_of_the_dark_shows_less_than_that_of_the_light() -> None:
    assert {"black", "blue", "brown"} <= near(8, 8, 8)
    assert near(30, 30, 200) <= {"red", "brown"}
    assert not near(128, 128, 128) & {"red", "green", "purple", "pink", "black"}


def test_words_for_light_colours_are_near_no_dark_one() -> None:
    dark = GRID[GRID.max(axis=1) <= 48]
    assert len(dark) >= 8
    assert not any(near(*colour) & {"pink", "orange", "yellow", "white"} for colour in dark.tolist())


@pytest.mark.parametrize("word", WORDS)
def test_the_table_of_neighbours_follows_from_the_distances(word: str) -> None:
    """About a quarter or more of what has a name may have the names beside it in the table, and no such share other names."""
    colours = even_in_lab()
    own = colours[usual_names(colours) == WORDS.index(word)]
    own = np.random.default_rng(1).permutation(own)[:40]
    shares = {
        other: float(np.mean([other in near(*colour) for colour in own.tolist()])) for other in WORDS if other != word
    }
    assert {other for other, share in shares.items() if share >= 0.35} <= NEIGHBOURS[word]
    assert NEIGHBOURS[word] <= {other for other, share in shares.items() if share >= 0.15}

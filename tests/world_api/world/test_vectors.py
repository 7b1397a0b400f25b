"""Exact search of vectors: what is found does not depend on how it is looked for."""

from __future__ import annotations

import numpy as np
import pytest

from world_api.search import Rows, VectorIndex, nearest_of


def unit(rows: int, dimension: int = 32) -> np.ndarray:
    vectors = np.random.default_rng(rows).standard_normal((rows, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def naive(vectors: np.ndarray, query: np.ndarray, count: int) -> list[int]:
    scores = (vectors.astype(np.float64) @ query[0].astype(np.float64)).round(5)
    return [int(i) for i in np.lexsort((np.arange(len(scores)), -scores)) if scores[i] > 0][:count]


@pytest.mark.parametrize("used", [2, 32])
@pytest.mark.parametrize("count", [1, 7, 500])
def test_the_nearest_are_found_and_of_equals_the_first(used: int, count: int) -> None:
    vectors = unit(300)
    vectors[100:180] = vectors[20]
    query = vectors[20:21].copy()
    query[0, used:] = 0.0
    found, _ = VectorIndex(vectors.T).nearest(query, count)
    assert found.tolist() == naive(vectors, query, count)


@pytest.mark.parametrize("used", [2, 32])
def test_parts_and_ranges_find_what_one_index_finds(used: int) -> None:
    vectors = unit(200)
    query = unit(1)
    query[0, used:] = 0.0
    parts = [
        Rows(index=VectorIndex(vectors.T), count=120, offset=0),
        Rows(index=VectorIndex(vectors[120:].T), count=80, offset=120),
    ]
    whole, scores = VectorIndex(vectors.T).nearest(query, 50)
    found, same = nearest_of(parts, query, 50, [(0, 200)])
    assert found.tolist() == whole.tolist()
    assert same.tolist() == scores.tolist()
    among, _ = nearest_of(parts, query, 50, [(10, 20), (115, 130)])
    inside = [i for i in naive(vectors, query, 200) if 10 <= i < 20 or 115 <= i < 130]
    assert among.tolist() == inside


def test_scores_do_not_depend_on_how_many_threads_there_are() -> None:
    import faiss

    index, query, before = VectorIndex(unit(20_000).T), unit(1), faiss.omp_get_max_threads()
    found = []
    try:
        for threads in (1, 2, 4):
            faiss.omp_set_num_threads(threads)
            positions, scores = index.nearest(query, 100)
            found.append((positions.tolist(), scores.tolist()))
            assert faiss.omp_get_max_threads() == threads
    finally:
        faiss.omp_set_num_threads(before)
    assert found == [found[0]] * 3

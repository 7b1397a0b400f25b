"""Which libraries of a run were made independently of one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eval.tables.episodes.libraries import LibraryFacts
from eval.tables.rows import SampleRow

#: Why samples of libraries are left out where libraries are draws.
FORKS = "of libraries that are made from others of the run"


def independent(
    rows: Iterable[SampleRow], libraries: Mapping[str, LibraryFacts]
) -> tuple[list[SampleRow], tuple[str, ...]]:
    """The samples with one library of each lineage, and the names of the libraries that are left out.

    A library under a second name, a fork of it, what was selected from it and what came of the same induction are no further
    draws. Of those that belong together the one with the fewest ancestors stays, of several the one that comes first.
    """
    held = list(rows)
    hashes = {row.library: row.library_hash for row in held if row.library is not None}
    known = {name: libraries.get(name) or LibraryFacts(name=name, hash=own) for name, own in hashes.items()}
    kept: set[str] = set()
    taken: set[str] = set()
    for name, facts in sorted(known.items(), key=lambda pair: len(pair[1].lineage)):
        own = {hashes[name] or name, *facts.lineage, str(facts.induction.get("log_sha256", name))}
        if own.isdisjoint(taken):
            kept.add(name)
        taken |= own
    left_out = tuple(name for name in hashes if name not in kept)
    return [row for row in held if row.library is None or row.library in kept], left_out

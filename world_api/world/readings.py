"""Joining readings of text off single frames into stretches in which a text stays on screen, with arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from world_api.core.spans import TimeSpan
from world_api.world.disk.columns import one
from world_api.world.items import Times

#: How long text that was read off a frame is taken to stay on screen where no later reading says otherwise (seconds).
#: Text that stays is read again within this time.
TEXT_STAYS = 15.0

STRETCHES = pa.schema(
    [
        ("start", pa.float64()), ("end", pa.float64()), ("text", pa.string()), ("confidence", pa.float64()),
        ("row", pa.int64()),
    ]
)  # fmt: skip


def join_readings(rows: pa.Table, shot_starts: Times, whole: TimeSpan) -> pa.Table:
    """Readings of the same text in one shot are one stretch; a text lasts until a later reading lacks it.

    An empty text says that a frame was read and held none. ``rows`` are of ``screen_texts``, ``shot_starts`` tile the
    ``whole``. The stretches come in order of their start, then of their place on screen; ``row`` is a stretch's first
    reading, counted in ``rows``.
    """
    read_times = np.unique(rows.column("time").to_numpy())
    rows = rows.append_column("row", pa.array(np.arange(rows.num_rows)))
    rows = rows.filter(pc.not_equal(rows.column("text"), ""))
    if rows.num_rows == 0:
        return STRETCHES.empty_table()
    rows = rows.sort_by([(name, "ascending") for name in ("time", "y1", "x1", "text")])
    times = rows.column("time").to_numpy()
    shots = np.maximum(0, np.searchsorted(shot_starts, times, side="right") - 1)
    shot_ends = np.append(shot_starts[1:], whole.end)
    later = np.append(read_times, np.inf)[np.searchsorted(read_times, times, side="right")]
    stays = np.minimum.reduce([shot_ends[shots], np.full(len(times), whole.end), times + TEXT_STAYS, later])
    ends = np.maximum(stays, times)
    texts = one(rows.column("text")).dictionary_encode()
    codes = texts.indices.to_numpy()
    order = np.lexsort((np.arange(len(times)), codes, shots))
    same = (codes[order][1:] == codes[order][:-1]) & (shots[order][1:] == shots[order][:-1])
    goes_on = same & (times[order][1:] <= ends[order][:-1] + 1e-6)
    firsts = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    lasts = np.append(firsts[1:], len(order)) - 1
    sure = np.round(rows.column("confidence").to_numpy().astype(np.float64), 2)
    begins = order[firsts]
    in_order = np.argsort(begins, kind="stable")  # readings are in order of time and place
    begins, finishes = begins[in_order], order[lasts][in_order]
    return pa.table(
        {
            "start": times[begins],
            "end": ends[finishes],
            "text": texts.dictionary.take(pa.array(codes[begins])),
            "confidence": np.maximum.reduceat(sure[order], firsts)[in_order],
            "row": rows.column("row").to_numpy()[begins],
        },
        schema=STRETCHES,
    )

"""Cutting a video without coding it again."""

from __future__ import annotations

from pathlib import Path


def copy_beginning(video: Path, copy: Path, *, seconds: float) -> Path:
    """Copy the video packets that begin before ``seconds``; returns the copy's path."""
    import av

    with av.open(str(video)) as source, av.open(str(copy), "w") as target:
        stream = source.streams.video[0]
        copied = target.add_stream_from_template(stream)
        first: float | None = None
        for packet in source.demux(stream):
            if packet.dts is None or packet.time_base is None:
                continue
            time = float(packet.dts * packet.time_base)
            first = time if first is None else first
            if time - first >= seconds:
                break
            packet.stream = copied
            target.mux(packet)
    return copy

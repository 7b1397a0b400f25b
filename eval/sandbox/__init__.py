"""Films with exact truth, drawn and encoded by the project itself.

The way a film goes: ``script`` (a film as data; ``lost_folder`` is the one that ships, with its ``questions``),
``staging`` (where everybody is at a moment), ``drawing`` (what it looks like), ``render`` (frames and exact boxes),
``sound``, ``encode``, ``truth``; ``sample`` makes the files.
"""

from eval.sandbox.sample import SampleFiles, make_sample

__all__ = ["SampleFiles", "make_sample"]

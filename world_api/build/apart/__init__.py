"""Stages that work in a process of their own, beside the one that builds.

Python runs one thread at a time, and a stage that makes many small calls keeps the others waiting. Here the stage itself lives in
another process; what the build holds in its place passes on what it is shown and waits for the answer::

    build --stdin--> one JSON request a line: open a clip, see a frame, finish a clip
    stage --stdout--> one JSON answer a line; pictures lie in shared memory

Pictures are made by the build, as for the other stages, so the rows are the same wherever a stage works.
"""

"""Building worlds: stages turn a video into rows of tables, clip by clip.

``build_world`` runs the stages of a ``Recipe`` over one decode pass and writes the manifest last; ``follow_world`` does the same
while the file is still being written. A stage of one's own is a ``FrameStage`` or a ``RowStage`` in a ``Recipe``. The stages of
the profiles are here, too: shots and scenes, key frames, moving things and their links, screen texts, speech, the oracle.
"""

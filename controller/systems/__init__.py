"""The systems that are compared, behind one protocol: a question and a session in, an episode out.

``build_system`` makes one by name from a ``SystemContext``. Other packages add systems under ``ENTRY_POINT_GROUP``; one that runs
the loop derives from ``LoopSystem`` and says in ``setup`` what the loop is given.
"""

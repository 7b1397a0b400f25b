"""The sub-commands of ``videoworld`` for worlds, and the code that all sub-commands share (``cli``)."""

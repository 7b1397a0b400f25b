"""The sub-commands of ``videoworld`` that belong to the world, and what all sub-commands share (``cli``, ``vision``)."""

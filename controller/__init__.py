"""Phase 2: a frozen chat model answers questions about a video by calling tools.

``systems`` are what is compared; each runs the ``loop`` with a toolset and gives back an ``episode``; ``journal``
stores episodes and ``replay`` runs them again offline.
"""

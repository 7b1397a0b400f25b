"""Recorded episodes: answering with a record, reading a journal, and replaying an episode offline.

``answer_recorded`` stores an episode in a ``Journal`` with its conditions (system, prompts, version of the loop), its exchanges
with the model and its materials; ``answer_many`` does so for many questions in parallel. ``replay_recorded`` runs an episode again
without endpoint, world or video: the bytes are equal, or the first difference is named.
"""

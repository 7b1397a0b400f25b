"""Recorded episodes: answering with a record, reading a journal, and replaying an episode offline.

``answer_recorded`` stores an episode in a ``Journal`` with its conditions (system, prompts, version of the loop), its exchanges
with the model and its materials; ``answer_many`` does so for many questions in parallel. ``replay_recorded`` runs an episode again
without endpoint, world or video: the bytes are equal, or the first difference is named.
"""

from controller.records.journal import (
    EPISODES,
    RECORDINGS,
    Conditions,
    DamagedEntry,
    Journal,
    JournalEntry,
    exchange_sum,
    sealed,
)
from controller.records.recorder import Answered, Unanswered, answer, answer_many, answer_recorded
from controller.records.replay import Replayed, replay_entry, replay_recorded

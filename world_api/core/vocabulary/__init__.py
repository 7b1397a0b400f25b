"""The words that a world can judge, and how a caller's words are read with them."""

from world_api.core.vocabulary.negation import Clause, clauses
from world_api.core.vocabulary.reading import Reading, Vocabulary, is_narrower, judged_at_build

__all__ = ["Clause", "Reading", "Vocabulary", "clauses", "is_narrower", "judged_at_build"]

"""A judge without a model: token F1. What a model judge must beat."""

from __future__ import annotations

from eval.scoring.kinds.words import cjk_tokens, has_cjk, overlap, squad_tokens
from eval.scoring.port import Verdict

BY_WORDS = "words"


class WordsJudge:
    """Says yes from a token F1 of one half on. It reads no meaning, and knows no negation."""

    name = BY_WORDS

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> Verdict:
        """Whether the answer shares its words with an accepted one."""
        tokens = cjk_tokens if any(map(has_cjk, accepted)) else squad_tokens
        f1 = max(overlap(tokens(given), tokens(one)).f1 for one in accepted)
        return Verdict(yes=f1 >= 0.5, judge=self.name)

"""Questions about made films, out of their facts: with typed answers, evidence, and no hint of the answer in the words."""

from eval.sandbox.asking.asking import CHINESE_SHARE, content_of, questions_of

__all__ = ["CHINESE_SHARE", "content_of", "questions_of"]

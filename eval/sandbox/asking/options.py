"""Wording a draft and choosing its options, so that nothing but the film tells which is right."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller.questions import Question
from eval.sandbox.asking.drafts import Draft
from eval.sandbox.asking.phrases import Unsayable, Wording
from tool_induction.domains.guard import PLACEHOLDER
from world_api.core.lexicon import content_words

#: A choice has four options where there are as many.
_OPTIONS = 4
_PAIR = 2


@dataclass(frozen=True, kw_only=True)
class Worded:
    """A question in words, with its answer."""

    question: Question
    answer: object


class Deck:
    """Positions of right options, dealt so that each comes equally often."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._left: dict[int, list[int]] = {}

    def deal(self, options: int) -> int:
        """The next position among so many."""
        left = self._left.setdefault(options, [])
        if not left:
            left.extend(self._chance.sample(range(options), options))
        return left.pop()


def worded(draft: Draft, words: Wording, chance: random.Random, deck: Deck) -> Worded | None:
    """The question in a language; None where its options would give it away or are too few.

    Raises:
        Unsayable: the language lacks a word for a part of it.
    """
    text = _filled(draft, words)
    if draft.kind == "choice":
        found = _choice(draft, text, words, chance, deck)
    elif draft.kind == "order":
        found = _order(draft, text, words, chance)
    else:
        found = Worded(question=Question(text=text, kind=draft.kind), answer=draft.answer)
    if found is None or draft.window is None:
        return found
    asked = words.within(draft.window.start, draft.window.end, found.question.text)
    return replace(found, question=replace(found.question, text=asked))


def _filled(draft: Draft, words: Wording) -> str:
    """The template with its slots filled; ``{events}`` is left for the order of the options."""
    template = draft.template.zh if words.language == "zh" else draft.template.en
    if not template:
        raise Unsayable(draft.template.id)
    return PLACEHOLDER.sub(
        lambda match: match.group() if match.group(1) == "events" else draft.slots[match.group(1)](words), template
    )


def _order(draft: Draft, text: str, words: Wording, chance: random.Random) -> Worded | None:
    in_order = [part(words) for part in draft.order]
    shown = chance.sample(in_order, len(in_order))
    if len(set(shown)) < len(shown):
        return None
    question = Question(text=text.replace("{events}", words.lettered(shown)), kind="order", options=tuple(shown))
    return Worded(question=question, answer=[question.letters[shown.index(part)] for part in in_order])


def _choice(draft: Draft, text: str, words: Wording, chance: random.Random, deck: Deck) -> Worded | None:
    if draft.right is None:
        return None
    right = draft.right(words)
    tiers = [_said(tier, words) for tier in draft.wrong]
    if draft.is_fixed:
        options = [words.answer(True), words.answer(False)]
        return _lettered(text, options, right)
    distinct = [_distinct(tier, right) for tier in tiers]
    if draft.is_crossed:
        wrong = [part for tier in distinct for part in tier]
        wrong = wrong if len(wrong) == _OPTIONS - 1 else []
    else:
        wrong = _as_likely(text, right, distinct, chance, fewest=draft.fewest)
    if not wrong:
        return None
    options = chance.sample(wrong, len(wrong))
    options.insert(deck.deal(len(options) + 1), right)
    return _lettered(text, options, right)


def _lettered(text: str, options: Sequence[str], right: str) -> Worded:
    question = Question(text=text, kind="choice", options=tuple(options))
    return Worded(question=question, answer=question.letters[list(options).index(right)])


def _said(tier: Sequence[object], words: Wording) -> list[str]:
    """What can be said of a tier in this language."""
    found = []
    for say in tier:
        try:
            found.append(str(say(words)) if callable(say) else "")
        except Unsayable:
            continue
    return found


def _distinct(tier: Sequence[str], right: str) -> list[str]:
    """Options that do not say what the right one says, or a part of it."""
    return [part for part in dict.fromkeys(tier) if part and part not in right and right not in part]


def _as_likely(
    text: str, right: str, tiers: Sequence[Sequence[str]], chance: random.Random, *, fewest: int
) -> list[str]:
    """Wrong options that share the same of the question's words as the right one does; none where these are too few.

    An option that names the question's room, person or thing where the right one does not (or the other way round) would tell
    which is right. The first tiers that are enough by themselves give all options; one of a few that are like the right one,
    beside others that are not, would tell that the right one is one of the pair.
    """
    asked = set(content_words(text))
    mine = _shared(asked, right)
    fair: list[str] = []
    every = list(dict.fromkeys(part for tier in tiers for part in tier))
    wanted = min(_OPTIONS, len(every) + 1) - 1
    if wanted + 1 == fewest == _PAIR:  # the question names both
        return every
    for tier in tiers:
        fair = list(dict.fromkeys([*fair, *(part for part in tier if _shared(asked, part) == mine)]))
        if len(fair) >= wanted:
            break
    return chance.sample(fair, min(wanted, len(fair))) if len(fair) + 1 >= fewest else []


def _shared(asked: set[str], option: str) -> set[str]:
    return asked & set(content_words(option))

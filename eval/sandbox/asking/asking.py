"""Questions of a film: for each task domain drafts are made by type, worded, and taken so that answers are balanced."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count as counting

from eval.datasets.items import Item
from eval.sandbox.asking.drafts import Asker, Draft
from eval.sandbox.asking.kinds import MAKERS
from eval.sandbox.asking.known import Known
from eval.sandbox.asking.options import Deck, Worded, worded
from eval.sandbox.asking.phrases import Chinese, English, Unsayable, Wording
from eval.sandbox.facts import FilmFacts
from tool_induction.domains.domain import Domain, SplitName
from tool_induction.domains.loading import load_domain

#: The share of questions that are asked in Chinese, where all that they name has Chinese words.
CHINESE_SHARE = 0.25
#: Questions of a domain: so many for any film, and one more for so many seconds, up to the most.
_AT_LEAST, _SECONDS_EACH, _MOST = 10, 60.0, 40


def questions_of(facts: FilmFacts, *, seed: int, split: SplitName, per_domain: int | None = None) -> tuple[Item, ...]:
    """Questions of the domains A, B and C about a film, with their answers and the stretches that show them.

    The words are those of the domains' templates for the split; a split without templates has no questions. Answers are
    unique and lie at no borderline. The same facts, seed and split give the same questions. ``per_domain`` is how many there
    shall be at most; by default ten, and one more a minute up to forty.
    """
    wanted = per_domain if per_domain is not None else min(_MOST, _AT_LEAST + int(facts.duration / _SECONDS_EACH))
    known = Known(facts)
    found: list[Item] = []
    for name, makers in MAKERS.items():
        chance = random.Random(f"questions {facts.film} {facts.seed} {seed} {split} {name}")
        ask = Asker(known=known, domain=_domain(name), split=split, chance=chance, most=max(12, wanted * 2))
        queues = [_in_turns(list(make(ask)), chance) for make in makers.values()]
        found += _taken(ask, queues, wanted)
    return tuple(found)


def _taken(ask: Asker, queues: Sequence[Sequence[Draft]], wanted: int) -> list[Item]:
    """Questions of the types in turn, each subject and text once."""
    chance, deck = ask.chance, Deck(ask.chance)
    languages: tuple[Wording, Wording] = (English(ask.known.facts), Chinese(ask.known.facts))
    left = [iter(queue) for queue in queues if queue]
    chance.shuffle(left)
    found: list[Item] = []
    texts: set[str] = set()
    while left and len(found) < wanted:
        for queue in list(left):
            item = next(_items(ask, queue, languages, deck, texts, len(found)), None)
            if item is None:
                left.remove(queue)
            elif len(found) < wanted:
                found.append(item)
                texts.add(item.question.text)
    return found


def _items(
    ask: Asker, queue: Iterator[Draft], languages: tuple[Wording, Wording], deck: Deck, texts: set[str], number: int
) -> Iterator[Item]:
    for draft in queue:
        said, language = _said(ask, draft, languages, deck)
        if said is not None and said.question.text not in texts:
            yield _item(ask, draft, said, language, number)


def _said(ask: Asker, draft: Draft, languages: tuple[Wording, Wording], deck: Deck) -> tuple[Worded | None, str]:
    """The question in Chinese for a share of drafts, in English for the others and where Chinese lacks a word."""
    english, chinese = languages
    if ask.chance.random() < CHINESE_SHARE:
        try:
            return worded(draft, chinese, ask.chance, deck), "zh"
        except Unsayable:
            pass
    try:
        return worded(draft, english, ask.chance, deck), "en"
    except Unsayable:
        return None, "en"


def _item(ask: Asker, draft: Draft, said: Worded, language: str, number: int) -> Item:
    facts = ask.known.facts
    kind = draft.template.id.partition("/")[0]
    return Item(
        id=f"{facts.film}.{ask.domain.name[0]}{number + 1:02d}.{kind}",
        video_id=facts.film,
        question=said.question,
        answer=said.answer,
        spans=draft.spans,
        domain=ask.domain.name,
        content=content_of(facts),
        template=draft.template.id,
        split=ask.split,
        labels={"type": kind, "language": language},
    )


@lru_cache(maxsize=8)
def _domain(name: str) -> Domain:
    return load_domain(name)


def content_of(facts: FilmFacts) -> str | None:
    """What a film is about: its theme where it has one, else the kind of room that is shown longest."""
    theme = facts.extras.get("theme")
    if isinstance(theme, str) and theme:
        return theme
    kinds = {item.id: item.kind for item in facts.places}
    shown: dict[str, float] = {}
    for scene in facts.scenes:
        kind = kinds.get(scene.place, scene.place)
        shown[kind] = shown.get(kind, 0.0) + scene.end - scene.start
    return max(sorted(shown), key=lambda kind: shown[kind], default=None)


def _in_turns(drafts: list[Draft], chance: random.Random) -> list[Draft]:
    """Drafts so that templates take turns, and within a template the buckets."""
    chance.shuffle(drafts)
    by_template: dict[str, dict[str, list[Draft]]] = {}
    for draft in drafts:
        by_template.setdefault(draft.template.id, {}).setdefault(draft.bucket, []).append(draft)
    rows = [
        _alternating([buckets[name] for name in _shuffled(sorted(buckets), chance)]) for buckets in by_template.values()
    ]
    return _alternating(rows)


def _shuffled(names: list[str], chance: random.Random) -> list[str]:
    chance.shuffle(names)
    return names


def _alternating(rows: Sequence[Sequence[Draft]]) -> list[Draft]:
    """One of each row, then the next of each."""
    found: list[Draft] = []
    for place in counting():
        this = [row[place] for row in rows if place < len(row)]
        if not this:
            return found
        found += this
    return found

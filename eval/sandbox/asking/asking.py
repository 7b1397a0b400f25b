"""Questions of a film: for each task domain drafts are made by type, worded, and taken so that answers are balanced."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count as counting
from itertools import islice

from eval.datasets.items import Item
from eval.sandbox.asking.drafts import Asker, Draft
from eval.sandbox.asking.kinds import MAKERS, Maker
from eval.sandbox.asking.known import Known
from eval.sandbox.asking.options import Deck, Worded, worded
from eval.sandbox.asking.phrases import Chinese, English, Unsayable, Wording
from eval.sandbox.asking.windows import facts_within, windows_of
from eval.sandbox.facts import FilmFacts
from tool_induction.domains.domain import Domain, SplitName
from tool_induction.domains.loading import load_domain
from world_api.core.spans import TimeSpan

#: The share of questions that are asked in Chinese, where all that they name has Chinese words.
CHINESE_SHARE = 0.25
#: Questions of a domain: so many for any film, and one more for so many seconds, up to the most.
_AT_LEAST, _SECONDS_EACH, _MOST = 10, 60.0, 40
#: Of these no type of question has more than its share; a few are always allowed.
_SHARE, _FEW = 0.2, 2


def questions_of(facts: FilmFacts, *, seed: int, split: SplitName, per_domain: int | None = None) -> tuple[Item, ...]:
    """Questions of the domains A, B and C about a film, with their answers and the stretches that show them.

    The words are those of the domains' templates for the split; a split without templates has no questions. Answers are
    unique and lie at no borderline. The same facts, seed and split give the same questions. ``per_domain`` is how many there
    shall be at most; by default ten, and one more a minute up to forty.
    """
    wanted = per_domain if per_domain is not None else min(_MOST, _AT_LEAST + int(facts.duration / _SECONDS_EACH))
    known = Known(facts)
    windows = [(window, Known(facts_within(facts, window))) for window in windows_of(facts)]
    found: list[Item] = []
    for name, makers in MAKERS.items():
        chance = random.Random(f"questions {facts.film} {facts.seed} {seed} {split} {name}")
        ask = Asker(known=known, domain=_domain(name), split=split, chance=chance, most=max(12, wanted * 2))
        queues = [_in_turns(list(make(ask)), chance, English(facts)) for make in makers.values()]
        taken = _taken(ask, queues, wanted)
        if windows and len(taken) < wanted:
            more = [
                [*queue, *_in_turns(_within(ask, make, windows), chance, English(facts))]
                for queue, make in zip(queues, makers.values(), strict=True)
            ]
            taken = _taken(ask, more, wanted)
        found += taken
    return tuple(found)


def _within(ask: Asker, make: Maker, windows: Sequence[tuple[TimeSpan, Known]]) -> list[Draft]:
    """Drafts about windows of the film, of each no more than its share; their evidence lies inside the window."""
    share = math.ceil(ask.most / len(windows))
    found: list[Draft] = []
    for window, known in windows:
        drafts = [
            replace(draft, window=window)
            for draft in make(replace(ask, known=known, most=max(12, share)))
            if "part" not in draft.slots  # a third of the video is no part of a window
            and all(window.start <= span.start and span.end <= window.end for span in draft.spans)
        ]
        found += ask.some(drafts, share)
    return found


def _taken(ask: Asker, queues: Sequence[Sequence[Draft]], wanted: int) -> list[Item]:
    """Questions of the types in turn, no text twice, and of no type more than its share."""
    deck, texts = Deck(ask.chance), set[str]()
    languages: tuple[Wording, Wording] = (English(ask.known.facts), Chinese(ask.known.facts))
    most = max(_FEW, math.ceil(wanted * _SHARE))
    left = [islice(_items(ask, queue, languages, deck, texts), most) for queue in queues if queue]
    ask.chance.shuffle(left)
    found: list[Item] = []
    while left and len(found) < wanted:
        for queue in list(left):
            item = next(queue, None)
            if item is None:
                left.remove(queue)
            elif len(found) < wanted:
                found.append(replace(item, id=_id(item, len(found) + 1)))
    return found


def _items(
    ask: Asker, queue: Sequence[Draft], languages: tuple[Wording, Wording], deck: Deck, texts: set[str]
) -> Iterator[Item]:
    for draft in queue:
        said, language = _said(ask, draft, languages, deck)
        if said is not None and said.question.text not in texts:
            texts.add(said.question.text)
            yield _item(ask, draft, said, language)


def _id(item: Item, number: int) -> str:
    """By film, domain and number: ``sandbox-test-0007.A03.event_time``."""
    return f"{item.video_id}.{(item.domain or '')[:1]}{number:02d}.{item.labels['type']}"


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


def _item(ask: Asker, draft: Draft, said: Worded, language: str) -> Item:
    facts = ask.known.facts
    kind = draft.template.id.partition("/")[0]
    return Item(
        id=facts.film,
        video_id=facts.film,
        question=said.question,
        answer=said.answer,
        spans=tuple(dict.fromkeys(draft.spans)),  # a deed may be first and last at once
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


def _in_turns(drafts: list[Draft], chance: random.Random, words: Wording) -> list[Draft]:
    """Drafts so that templates take turns, and within a template the answers.

    A room that is shown more than others, or a person who does more, is the answer no more often than they.
    """
    chance.shuffle(drafts)
    by_template: dict[str, dict[str, list[Draft]]] = {}
    for draft in drafts:
        by_template.setdefault(draft.template.id, {}).setdefault(_bucket(draft, words), []).append(draft)
    rows = [
        _alternating([buckets[name] for name in _shuffled(sorted(buckets), chance)]) for buckets in by_template.values()
    ]
    return _alternating(rows)


def _bucket(draft: Draft, words: Wording) -> str:
    """What a draft takes turns by: its own bucket, or the words of its answer."""
    if draft.bucket or draft.right is None:
        return draft.bucket
    try:
        return draft.right(words)
    except Unsayable:
        return ""


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

"""Splitting a description before and after what it negates: ``in red, not in black`` and ``穿红色，不穿黑色``."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise

#: A word, a run of Chinese characters, or any other character.
TOKEN = re.compile(r"[a-z0-9]+(?:[_'][a-z0-9]+)*|[㐀-䶿一-鿿豈-﫿]+|[^\sa-z0-9㐀-䶿一-鿿豈-﫿]")
#: Words that the parser of descriptions takes for a negation of what follows; search knows fewer (``_NEGATION_WORD``), since
#: it only says that it did not heed them.
_NEGATION = re.compile(
    r"not|no|non|nobody|nothing|without|never|neither|nor|except|excluding|besides|lacking|cannot|\w+n't"
)
_CHINESE_NEGATION = re.compile(
    r"除了|不是|不在|不穿|不戴|不带|没有穿|没有戴|没有|没穿|没戴|没带|并非|非|无|未穿|未戴|不|没|未"
)
#: Words that contain a character of negation and negate nothing.
_CHINESE_OTHER = re.compile(r"不同|不少|不断|不锈|非常|非洲|无人机|无袖|无肩|无领|未来|不久")
_EXCEPT = re.compile(r"\b(?:other than|(?:anything|anyone|anybody|everyone|everybody|all|any colou?r) but)\b")
#: Words that may be between a negation and the word that it negates.
_LEADING = frozenset(
    "a an the in on of with wearing wears wear dressed clad any is are being having has have the one ones who that "
    "person people man woman somebody someone anyone anybody".split()
)
#: Words that end a negated phrase; ``and``, ``or`` and ``nor`` continue it.
ENDING = frozenset(
    "in with wearing wears dressed but who that which whose at on near by from while is are has holding".split()
)
_ENDS_WITH_OR, _BEGINS_WITH_OR = re.compile(r"(?:\bor|或者?|还是)\W*$"), re.compile(r"\W*(?:or\b|或|还是)")
JOINING = frozenset({"and", "or", "nor"})
#: Phrases that say that there is none of a kind, and so describe nothing that could be looked for.
_NO_SUCH = re.compile(r"nobody|nothing|no (?:one|person|people|man|men|woman|women)\b|(?:没有?|无) ?人")
#: Words that weaken a negation (``not only black``, ``不全是黑色``), so that it excludes nothing.
_WEAKENING = re.compile(
    r"\b(?:only|just|merely|solely|simply|purely|exclusively|entirely|completely|wholly|fully|all|always|necessarily"
    r"|sure|certain|certainly|very|too|as)\b|^\S* ?[只仅光单全都总]|就是"
)
#: After one of these words, or a word for a person, a preposition still belongs to the negated phrase: ``not the person in black``.
_HEADS = frozenset({"one", "ones", "anyone", "anybody"})


@dataclass(frozen=True)
class Clause:
    """A part of a description, and whether it is negated. A negated part begins with the negating word.

    ``unclear``: the meaning is ambiguous, as in ``not only black``, ``never not black``, ``black or not red``.
    """

    text: str
    negated: bool
    unclear: bool = False


def clauses(folded: str, people: Collection[str]) -> list[Clause]:
    """Split a description (folded text) before and after its negated phrases; return the parts in order.

    ``people``: the English words for a person.
    """
    heads = _HEADS.union(people)
    tokens: list[str] = []
    plain = folded.replace("’", "'").replace("non-", "non ").replace("/", " or ").replace("-and-", " and ")
    for token in TOKEN.findall(_EXCEPT.sub("except", plain)):
        tokens += _chinese_tokens(token) if token[0] >= "㐀" else [token]
    parts: list[tuple[list[str], bool]] = []
    start = place = 0
    while place < len(tokens):
        if not _negates(tokens[place]):
            place += 1
            continue
        end = _end_of_negation(tokens, place + 1, heads)
        parts += [(tokens[start:place], False), (tokens[place:end], True)]
        start = place = end
    parts.append((tokens[start:], False))
    found = [Clause(" ".join(own), negated=negated) for own, negated in parts if own]
    joined = [False, *(_belong_together(first, second) for first, second in pairwise(found)), False]
    return [
        replace(part, unclear=before or after or (part.negated and _says_little(part.text)))
        for part, before, after in zip(found, joined, joined[1:], strict=False)
    ]


def _says_little(negated: str) -> bool:
    """Whether a negated phrase excludes nothing, since it is weakened (``not only``) or says that there is none."""
    return (_WEAKENING.search(negated) or _NO_SUCH.match(negated)) is not None


def _belong_together(first: Clause, second: Clause) -> bool:
    """Whether two neighbouring parts make each other unclear: a double negation, or ``or`` between them."""
    if first.negated and second.negated:
        return not second.text.startswith("nor") and all(word in _LEADING for word in first.text.split()[1:])
    return bool(_ENDS_WITH_OR.search(first.text) or _BEGINS_WITH_OR.match(second.text))


def _chinese_tokens(run: str) -> list[str]:
    """Split a Chinese text around negations, after ``的``, before ``但``, ``而``, and ``或`` at an end or before 穿, 戴, 在."""
    others = [match.span() for match in _CHINESE_OTHER.finditer(run)]
    parts: list[str] = []
    start = 0
    for match in _CHINESE_NEGATION.finditer(run):
        if match.start() < start or any(a <= match.start() < b for a, b in others):
            continue
        parts += [run[start : match.start()], match.group()]
        start = match.end()
    return [
        piece
        for part in [*parts, run[start:]]
        for piece in re.split(r"(?<=的)|(?=但|而)|(?=或者?$)|(?=或者?[穿戴在])", part)
        if piece
    ]


def _negates(token: str) -> bool:
    return bool(_NEGATION.fullmatch(token) or _CHINESE_NEGATION.fullmatch(token))


def _end_of_negation(tokens: list[str], first: int, heads: frozenset[str]) -> int:
    """Return the index after the last token to which a negation applies; ``first`` is the index after the negation."""
    place = first
    while place < len(tokens) and tokens[place] in _LEADING:
        place += 1
    is_head = place > first and tokens[place - 1] in heads
    while place < len(tokens):
        token = tokens[place]
        if _negates(token) or not token[0].isalnum() or token[0] in "但而或":
            return place
        if token in ENDING and not is_head:
            return place
        place += 1
        if token in JOINING and place < len(tokens) and (tokens[place] in ENDING or _negates(tokens[place])):
            return place - 1  # a new phrase begins behind it
        if token.endswith("的"):
            return place
        is_head = token in heads or (is_head and token in ENDING)
    return place

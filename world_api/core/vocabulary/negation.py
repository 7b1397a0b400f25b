"""Which part of a description a negation turns around: ``not in black``, ``without a hat``, ``不穿黑色``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"[a-z0-9]+(?:[_'][a-z0-9]+)*|[㐀-䶿一-鿿豈-﫿]+|[^\sa-z0-9㐀-䶿一-鿿豈-﫿]")
_NEGATION = re.compile(
    r"not|no|non|nobody|nothing|without|never|neither|nor|except|excluding|besides|lacking|cannot|\w+n't"
)
_CHINESE_NEGATION = re.compile(
    r"除了|不是|不在|不穿|不戴|不带|没有穿|没有戴|没有|没穿|没戴|没带|并非|非|无|未穿|未戴|不|没|未"
)
#: Words that hold a character of negation and negate nothing.
_CHINESE_OTHER = re.compile(r"不同|不少|不断|不锈|非常|非洲|无人机|无袖|无肩|无领|未来|不久")
_EXCEPT = re.compile(r"\b(?:other than|(?:anything|anyone|anybody|everyone|everybody|all|any colou?r) but)\b")
#: Words that lead from a negation to what it negates.
_LEADING = frozenset(
    "a an the in on of with wearing wears wear dressed clad any is are being having has have the one ones who that "
    "person people man woman somebody someone anyone anybody".split()
)
#: Words after which a negated phrase is over; ``and``, ``or``, ``nor`` carry it on.
_ENDING = frozenset(
    "in with wearing wears dressed but who that which whose at on near by from while is are has holding".split()
)
_JOINING = frozenset({"and", "or", "nor"})
#: After one of these a preposition still belongs to what is negated: ``not the person in black``.
_HEADS = frozenset(
    "one ones person people man men woman women boy girl somebody someone anyone anybody guy lady".split()
)


@dataclass(frozen=True)
class Clause:
    """A part of a description, and whether it is negated. A negated part begins with the word that negates it."""

    text: str
    negated: bool


def clauses(folded: str) -> list[Clause]:
    """The parts of a description (folded text) in order."""
    tokens: list[str] = []
    for token in _TOKEN.findall(_EXCEPT.sub("except", folded.replace("’", "'").replace("non-", "non "))):
        tokens += _chinese_tokens(token) if token[0] >= "㐀" else [token]
    found: list[Clause] = []
    positive: list[str] = []
    place = 0
    while place < len(tokens):
        if not _negates(tokens[place]):
            positive.append(tokens[place])
            place += 1
            continue
        end = _end_of_negation(tokens, place + 1)
        found += [Clause(" ".join(positive), negated=False)] if positive else []
        found.append(Clause(" ".join(tokens[place:end]), negated=True))
        positive, place = [], end
    return [*found, Clause(" ".join(positive), negated=False)] if positive else found


def _chinese_tokens(run: str) -> list[str]:
    """A run of characters, parted before and after its negations, and behind each ``的``."""
    others = [match.span() for match in _CHINESE_OTHER.finditer(run)]
    parts: list[str] = []
    start = 0
    for match in _CHINESE_NEGATION.finditer(run):
        if match.start() < start or any(a <= match.start() < b for a, b in others):
            continue
        parts += [run[start : match.start()], match.group()]
        start = match.end()
    return [piece for part in [*parts, run[start:]] for piece in re.split(r"(?<=的)|(?=但|而)", part) if piece]


def _negates(token: str) -> bool:
    return bool(_NEGATION.fullmatch(token) or _CHINESE_NEGATION.fullmatch(token))


def _end_of_negation(tokens: list[str], first: int) -> int:
    """The position behind the last token that a negation before ``first`` turns around."""
    place = first
    while place < len(tokens) and tokens[place] in _LEADING:
        place += 1
    is_head = place > first and tokens[place - 1] in _HEADS
    while place < len(tokens):
        token = tokens[place]
        if _negates(token) or not token[0].isalnum() or token[0] in "但而":
            return place
        if token in _ENDING and not is_head:
            return place
        if token in _JOINING and _opens_another(tokens, place + 1):
            return place
        place += 1
        if token.endswith("的"):
            return place
        is_head = token in _HEADS or (is_head and token in _ENDING)
    return place


def _opens_another(tokens: list[str], place: int) -> bool:
    """Whether a new phrase begins there, which the negation before it does not reach."""
    return place < len(tokens) and (tokens[place] in _ENDING or _negates(tokens[place]))

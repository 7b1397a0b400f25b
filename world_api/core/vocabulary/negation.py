"""Which part of a description a negation turns around: ``not in black``, ``without a hat``, ``不穿黑色``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
_ENDS_WITH_OR, _BEGINS_WITH_OR = re.compile(r"(?:\bor|或者?|还是)\W*$"), re.compile(r"\W*(?:or\b|或|还是)")
_JOINING = frozenset({"and", "or", "nor"})
#: Words that weaken what a negation says (``not only black``, ``不全是黑色``), so that it excludes nothing.
_WEAKENING = re.compile(
    r"\b(?:only|just|merely|solely|simply|purely|exclusively|entirely|completely|wholly|fully|all|always|necessarily"
    r"|sure|certain|certainly|very|too|as)\b|^\S* ?[只仅光单全都总]|就是"
)
#: After one of these a preposition still belongs to what is negated: ``not the person in black``.
_HEADS = frozenset(
    "one ones person people man men woman women boy girl somebody someone anyone anybody guy lady".split()
)


@dataclass(frozen=True)
class Clause:
    """A part of a description, and whether it is negated. A negated part begins with the word that negates it.

    ``unclear``: what it says is not plain, as in ``not only black``, ``never not black``, ``black or not red``.
    """

    text: str
    negated: bool
    unclear: bool = False


def clauses(folded: str) -> list[Clause]:
    """The parts of a description (folded text) in order."""
    tokens: list[str] = []
    plain = folded.replace("’", "'").replace("non-", "non ").replace("/", " or ")
    for token in _TOKEN.findall(_EXCEPT.sub("except", plain)):
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
    found += [Clause(" ".join(positive), negated=False)] if positive else []
    return [replace(part, unclear=_is_unclear(found, place)) for place, part in enumerate(found)]


def _is_unclear(parts: Sequence[Clause], place: int) -> bool:
    """Whether a part holds a weakened negation, is negated twice, or is an alternative to one that is negated."""
    if parts[place].negated and _WEAKENING.search(parts[place].text):
        return True
    return (place > 0 and _belong_together(parts[place - 1], parts[place])) or (
        place + 1 < len(parts) and _belong_together(parts[place], parts[place + 1])
    )


def _belong_together(first: Clause, second: Clause) -> bool:
    if first.negated and second.negated:
        return not second.text.startswith("nor") and all(word in _LEADING for word in first.text.split()[1:])
    return bool(_ENDS_WITH_OR.search(first.text) or _BEGINS_WITH_OR.match(second.text))


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
    return [
        piece
        for part in [*parts, run[start:]]
        for piece in re.split(r"(?<=的)|(?=但|而)|(?=或者?$)|(?=或者?[穿戴在])", part)
        if piece
    ]


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
        if _negates(token) or not token[0].isalnum() or token[0] in "但而或":
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

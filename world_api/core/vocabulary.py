"""Concepts of words, the closed vocabulary of a world, and the parser of descriptions with negations.

Search and detection compare concepts, one canonical word for each English and Chinese word, so that "a man in black",
"黑衣男子" and a track marked ``person``, ``black`` match. A vocabulary has the categories that a profile judges and the
words for them, which are in ``world_api.core.lexicon``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any

from world_api.core.lexicon import (
    ANY,
    CATEGORIES,
    COCO,
    COLOURS,
    JUDGED_BY_PROFILE,
    MORE_CATEGORIES,
    NARROWER_OBJECTS,
    NARROWER_WORDS,
    OTHER_CHINESE,
    OTHER_OBJECTS_CHINESE,
    SHADES,
    STOP_CHINESE,
    STOP_WORDS,
)
from world_api.core.outfits import LooksReader, PartLook

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


#: Chinese characters that join words. At the edge of a run of three or more, or inside a run of four or more
#: characters, they are not part of a word.
_JOINING_CHINESE = "的了着在是和与或及跟"

#: Words that negate the words after them.
_NEGATION_WORD = re.compile(
    r"\b(?:not|no|without|never|neither|nor|except|\w+n't)\b|不是|不在|不穿|不戴|没有|没穿|没戴|除了"
)

#: Latin words, and runs of Chinese characters, of a folded text.
LATIN = re.compile(r"[a-z0-9]+(?:[_'][a-z0-9]+)*")
CHINESE = re.compile(r"[㐀-䶿一-鿿豈-﫿]+")

_TABLES = (*COLOURS.items(), *CATEGORIES.items())
#: Word -> concept. Chinese words that mean something else have no concept.
_ENGLISH_CONCEPTS = SHADES | {word: concept for concept, (english, _) in _TABLES for word in english}
_CHINESE_CONCEPTS = {
    **{word: concept for word, concept in SHADES.items() if word >= "㐀"},
    **{word: concept for concept, (_, chinese) in _TABLES for word in chinese},
    **dict.fromkeys(OTHER_CHINESE, ""),
}


def longest_first(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of these words, the longest possible one: 黑色 before 黑."""
    return re.compile("|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))))


_CHINESE_CONCEPT_WORD = longest_first(_CHINESE_CONCEPTS)


def fold(text: str) -> str:
    """Return a text in Unicode's compatibility form (NFKC) and case-folded, the form in which words are compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def words(text: str) -> list[str]:
    """Return the searchable words of a text: stems of Latin words, Chinese characters and pairs of characters.

    Pairs are the usual index unit without a dictionary; single characters are included since many Chinese words have
    only one. Stems are those of Snowball's English stemmer.
    """
    folded = fold(text)
    return [_stem(word.replace("'", "")) for word in LATIN.findall(folded)] + _chinese_units(folded)


def content_words(text: str) -> list[str]:
    """Return the words of a text (as ``words``) without stop words; all words if only stop words remain."""
    folded = fold(text)
    found = [_stem(word.replace("'", "")) for word in LATIN.findall(folded) if word not in STOP_WORDS]
    found += [unit for unit in _chinese_units(folded) if unit not in STOP_CHINESE]
    return found or words(text)


def _chinese_units(folded: str) -> list[str]:
    units: list[str] = []
    for run in CHINESE.findall(folded):
        units.extend(run)
        units.extend(run[i : i + 2] for i in range(len(run) - 1))
    return units


def concepts(text: str) -> frozenset[str]:
    """Return the canonical colours and categories that a text names, such as ``red`` and ``person``."""
    folded = fold(text)
    found = {_ENGLISH_CONCEPTS.get(word, "") for word in LATIN.findall(folded)}
    # Runs of characters stay apart, so that no word is read over the gap between two of them.
    found |= {_CHINESE_CONCEPTS[word] for word in _CHINESE_CONCEPT_WORD.findall(" ".join(CHINESE.findall(folded)))}
    return frozenset(found - {""})


def unseen_words(text: str) -> list[str]:
    """Return the content words that name no colour and no category: stems, and whole runs of Chinese characters."""
    folded = _CHINESE_CONCEPT_WORD.sub(lambda word: " " if _CHINESE_CONCEPTS[word[0]] else word[0], fold(text))
    latin = [word for word in LATIN.findall(folded) if word not in STOP_WORDS and word not in _ENGLISH_CONCEPTS]
    runs = [run for run in CHINESE.findall(folded) if any(character not in STOP_CHINESE for character in run)]
    return [_stem(word) for word in latin] + runs


def required_terms(text: str) -> list[str]:
    """Return the terms that a matching text must contain: words, and concepts such as ``#red`` instead of their words.

    Stop words and everything after a negation are not required; if nothing else remains, all words are.
    """
    kept, _ = _before_negation(text)
    found: list[str] = []
    for word in unseen_words(kept):
        found += _chinese_terms(word) if CHINESE.match(word) else [word]
    found += sorted(f"#{concept}" for concept in concepts(kept))
    return list(dict.fromkeys(found or words(text)))


def unrequired_words(text: str) -> list[str]:
    """Return the words of a description that ``required_terms`` ignores, without stop words, as written and in order.

    These are words that are narrower than what can be judged (``woman``), and a negation with everything after it.
    """
    kept, negated = _before_negation(text)
    unseen = set(unseen_words(kept))
    found = [word for word in LATIN.findall(kept) if word in NARROWER_WORDS or _stem(word) in unseen]
    found += [
        word for run in CHINESE.findall(kept) for word in _CHINESE_CONCEPT_WORD.findall(run) if word in NARROWER_WORDS
    ]
    found += [word for word in unseen_words(kept) if CHINESE.search(word)]
    found += [word for word in LATIN.findall(negated) if word not in STOP_WORDS or _NEGATION_WORD.fullmatch(word)]
    found += CHINESE.findall(negated)
    used = set(required_terms(text))
    return [word for word in dict.fromkeys(found) if not {_stem(word), *_chinese_terms(word)} & used]


def _chinese_terms(run: str) -> list[str]:
    """Return the search terms of a run of Chinese characters: its pairs; a single character is a term itself."""
    if len(run) >= 3:
        run = run.strip(_JOINING_CHINESE) or run
    parts = (re.sub(f"[{_JOINING_CHINESE}]", " ", run).split() or [run]) if len(run) >= 4 else [run]
    terms: list[str] = []
    for part in parts:
        units = [part] if len(part) == 1 else [part[i : i + 2] for i in range(len(part) - 1)]
        terms += [unit for unit in units if unit not in STOP_CHINESE] or units
    return terms


def _before_negation(text: str) -> tuple[str, str]:
    """Return the folded text before the first negation (``not``, ``without``, 没有), and the rest from it on."""
    folded = fold(text).replace("’", "'")
    found = _NEGATION_WORD.search(folded)
    return (folded, "") if found is None else (folded[: found.start()], folded[found.start() :])


#: A stemmer holds the current word as state, so only one thread may use it at a time.
_STEMMING = Lock()


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    with _STEMMING:
        return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


# --- categories and the parser of descriptions ----------------------------------------------------------------------

#: Word or phrase -> canonical category; in English singular forms, and the plurals that are listed.
_USUAL_NAMES = (*CATEGORIES.items(), *MORE_CATEGORIES.items())
_NAMES = (*COCO.items(), *NARROWER_OBJECTS.items(), *_USUAL_NAMES)
_ENGLISH_NAMES = {word: name for name, (own, _) in _NAMES for word in own}
_CHINESE_NAMES = {word: name for name, (_, own) in _NAMES for word in own}
#: Word -> canonical colour.
_ENGLISH_COLOURS = {word: colour for colour, (own, _) in COLOURS.items() for word in own}
_CHINESE_COLOURS = {word: colour for colour, (_, own) in COLOURS.items() for word in own}
_CHINESE_COLOUR = longest_first(_CHINESE_COLOURS)
_LOOKS = LooksReader(_ENGLISH_COLOURS, _CHINESE_COLOURS)
#: Ordinals ("the first one"), whose single characters have no content.
_CHINESE_ORDINALS = ("第一个", "第一位", "第一名", "第一次", "第一", "首个", "首位", "首次")
_CHINESE_WORDS = {
    *_CHINESE_CONCEPTS,
    *_CHINESE_ORDINALS,
    *(word for _, (_, own) in _USUAL_NAMES for word in own),
}


@lru_cache(maxsize=64)
def _chinese_word(categories: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern of the words that name a colour, a category, or something else that contains such a word."""
    more = {word for word, name in _CHINESE_NAMES.items() if name in categories}
    return longest_first(
        _CHINESE_WORDS | (more.union(OTHER_OBJECTS_CHINESE) if categories & COCO.keys() - {"person"} else more)
    )


#: The size of a thing in the picture, at the end of texts of ``entity_hint``; it is not a property of the thing.
_SIZE = re.compile(r"\((?:small|medium|large)\)\s*$")
#: The end of the head noun of an English phrase: ``person | in red``, ``people | who walk``.
_AFTER_HEAD = re.compile(
    r"\b(?:in|with|of|on|at|near|by|wearing|dressed|holding|who|that|which|from|not|without|no|except)\b|[,;(]"
)
_OR = re.compile(r"\bor\b|或者?|还是")
#: Words between two colours that join them, so that it is ambiguous to which of them an ``or`` applies.
_AND = re.compile(r"\b(?:and|with|but|in)\b|[&+和与且穿戴]")
_CONJUNCTION = re.compile(r"\b(?:and|or)\b|[/&+、,]|和|或者?|还是|与")
#: Words of a description without content. Ordinals (``first``) have content.
_EMPTY = STOP_WORDS - {"first", "second", "last"} | frozenset(
    "one ones some any all each every both either but like looks looking".split()
)
_CHINESE_ALL = re.compile(r"^(?:任何|所有|一切|全部)(?:的|(?=.))")
_CHINESE_AFFIX = re.compile(r"[穿着戴衣服色的了一个位名只条些位]+")


@dataclass(frozen=True, kw_only=True)
class ParsedDescription:
    """The requirements of a description. ``kinds`` are the categories (canonical words); None means any category.

    All ``colours`` are required, and one colour of each set in ``either``. ``negated_kinds`` and ``negated_colours``
    are excluded. ``looks`` are required of parts of a person. ``matched`` are the words that can be judged, ``unmatched``
    those that cannot; for a word that is narrower than its category (``man``), the category is in ``matched`` and the word
    in ``unmatched``.
    """

    kinds: frozenset[str] | None = None
    colours: frozenset[str] = frozenset()
    either: tuple[frozenset[str], ...] = ()
    negated_kinds: frozenset[str] = frozenset()
    negated_colours: frozenset[str] = frozenset()
    looks: frozenset[PartLook] = frozenset()
    matched: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether the description has any requirement that can be judged."""
        return bool(self.kinds or self.wanted or self.looks or self.negated_kinds or self.negated_colours)

    @cached_property
    def wanted(self) -> list[frozenset[str]]:
        """The required colours as sets: of each set at least one colour is required."""
        return [*(frozenset({colour}) for colour in sorted(self.colours)), *self.either]

    def joined(self, other: ParsedDescription) -> ParsedDescription:
        """Return this description with the requirements of ``other`` added, except its ``kinds``."""
        return ParsedDescription(
            kinds=self.kinds,
            colours=self.colours | other.colours,
            either=(*self.either, *other.either),
            negated_kinds=self.negated_kinds | other.negated_kinds,
            negated_colours=self.negated_colours | other.negated_colours,
            looks=self.looks | other.looks,
            matched=_once((*self.matched, *other.matched)),
            unmatched=_once((*self.unmatched, *other.unmatched)),
        )


def judged_at_build(profile: str, recorded: Iterable[str], *, follows: bool = True) -> frozenset[str]:
    """Return the categories that the rows of a world can judge: those of its profile, and the ``recorded`` ones (of its tracks).

    ``follows`` is False for a world that was built without tracking moving things; then only the recorded ones count.
    """
    return frozenset(recorded) | (JUDGED_BY_PROFILE.get(profile, frozenset()) if follows else frozenset())


@dataclass(frozen=True)
class Vocabulary:
    """The closed vocabulary of a world: the categories that it can judge (canonical words) and the colours ``COLOURS``.

    ``parts``: the parts of people whose looks it judges; colours of these are read apart from those of the whole. Plurals,
    synonyms and Chinese words are mapped to the canonical words. Any other word cannot be judged.
    """

    categories: frozenset[str]
    parts: frozenset[str] = frozenset()

    @property
    def _chinese_word(self) -> re.Pattern[str]:
        return _chinese_word(self.categories)

    def read_category(self, text: str) -> ParsedDescription:
        """Parse the name of one or more categories: ``people``, ``cars and dogs``, ``人``.

        The head noun decides: a ``toy car`` is a car, with ``toy`` unmatched; a ``car park`` is not a car. If no
        category is recognised, ``kinds`` is empty.
        """
        folded = " ".join(fold(text).replace("_", " ").split())
        if folded in {"any", "all", "*"}:
            return ParsedDescription()
        parts = [part for part in _CONJUNCTION.split(folded) if part.strip()]
        if len(parts) > 1 and not all(self._kind_of(part) for part in parts):
            parts = [folded] if self._kind_of(folded) else parts
        found = ParsedDescription()
        kinds: frozenset[str] = frozenset()
        for part in parts:
            phrase = self._read_phrase(part.strip(), is_alone=len(parts) == 1)
            kinds |= phrase.kinds or frozenset()
            found = found.joined(phrase)
        return replace(found, kinds=None if ANY in kinds else kinds)

    @lru_cache(maxsize=1024)  # noqa: B019 - it keeps vocabularies, which are small and few
    def read(self, text: str, of: frozenset[str] | None = None) -> ParsedDescription:
        """Parse a description of one thing: ``a woman in a red coat, not in black``.

        Its kind is the category that an English description names first and a Chinese one last; if ``of`` is given,
        only these categories count. Other things in it (the cup of ``a person with a cup``) are unmatched. If it is a
        description of something else (``a dog``), ``kinds`` is empty, and nothing in it can be judged.
        """
        found = ParsedDescription()
        folded = _SIZE.sub("", fold(text)).replace("_", " ")
        parts, asked = self._read_looks(clauses(folded, CATEGORIES["person"][0]))
        found = found.joined(asked)
        terms = [term for part in parts if not part.negated for term in self._terms(part.text)]
        named = [term for term in terms if term.kind is not None and (of is None or term.kind in of)]
        head = None if not named else named[-1 if CHINESE.findall(named[-1].word) else 0].kind
        if of is None and parts and not parts[0].negated and self._is_of_another(parts[0].text):
            return ParsedDescription(kinds=frozenset(), unmatched=_once(term.word for term in terms))
        for part in parts:
            sign, _, rest = part.text.partition(" ") if part.negated else ("", "", part.text)
            own = list(self._terms(rest, head or "".join(of or ())))
            if part.unclear:
                found = found.joined(
                    _asking([_Term(sign), *own] if sign else [*own, *_or_in(rest)], head, is_clear=False)
                )
            elif part.negated:
                found = found.joined(_excluding(sign, own))
            else:
                found = found.joined(self._alternatives(rest, own, head))
        return replace(found, kinds=None if head is None else frozenset({head}))

    def shows(self, text: str, looks: ParsedDescription) -> bool:
        """Whether a text says of one thing that it has the kind and the colours of a description, and none that are excluded."""
        own = self.read(text, of=looks.kinds)
        is_of_kind = looks.kinds is None or own.kinds == looks.kinds
        has_colours = all(not colours.isdisjoint(own.colours) for colours in looks.wanted)
        return is_of_kind and has_colours and looks.negated_colours.isdisjoint(own.colours) and not looks.negated_kinds

    def _read_looks(self, parts: Sequence[Clause]) -> tuple[list[Clause], ParsedDescription]:
        """Return the parts of a description without the looks of people that they ask for, and these."""
        rest, asked = list(parts), ParsedDescription()
        for place, part in enumerate(parts if self.parts else ()):
            if not part.negated and not part.unclear:
                text, looks, words, kinds = _LOOKS.read(part.text, self.parts)
                rest[place] = replace(part, text=text)
                own = ParsedDescription(looks=frozenset(looks), matched=_once(words), unmatched=_once(kinds))
                asked = asked.joined(own)
        return rest, asked

    def _is_of_another(self, text: str) -> bool:
        """Whether the head noun of a description names something of no category of this vocabulary."""
        if CHINESE.search(text):
            if any(re.search(f"(?:{_CHINESE_OUTFIT.pattern})$", part.strip()) for part in _CONJUNCTION.split(text)):
                return False  # clothes are those of a person
            pieces = [piece for piece in re.split(r"的|\s", text) if _CHINESE_AFFIX.sub("", piece)]
            last = _CHINESE_COLOUR.sub("", _OR.sub("", pieces[-1])).lstrip("这那哪某") if pieces else ""
            if last[:1] in {"穿", "戴"} or any(term.kind for term in self._chinese_terms(last)):
                return False
            words = [_CHINESE_OUTFIT.sub("", term.word) for term in self._chinese_terms(last)]
            return any(_CHINESE_AFFIX.sub("", word) for word in words)
        tokens = TOKEN.findall(text)
        while tokens and (tokens[0] in _DETERMINERS or tokens[0] in _BETWEEN or tokens[0] in _ENGLISH_COLOURS):
            tokens.pop(0)
        phrase = _noun_phrase(tokens)
        rest = tokens[len(phrase) :]
        if not phrase or rest[:1] in (["one"], ["ones"]) or phrase[0] in _PRONOUNS:
            return False
        if rest[:1] == [","] and self._name("".join(_noun_phrase(rest[2:])[-1:])) not in {None, ANY}:
            return False  # "the visitor, a person in black"
        pairs = pairwise([*phrase, "s"])  # a verb may follow: "man opens doors"
        if any(self._name(word) and following.endswith(("s", "ed")) for word, following in pairs):
            return False
        return not (self._is_outfit(phrase[-1]) or phrase[-1] in _NO_KIND)

    def _is_outfit(self, noun: str, head: str | None = None) -> bool:
        """Whether the colour of what a noun names is that of the thing described: the thing itself, or its clothes."""
        kind = self._name(noun)
        is_thing = kind is not None and (kind == ANY or head in {None, kind})
        may_be_dressed = head in {None, "", "person", "moving_object"}
        return is_thing or (may_be_dressed and any(form in _OUTFIT for form in _singulars(noun)))

    def _is_own_colour(self, tokens: Sequence[str], place: int, head: str | None) -> bool:
        """Whether the colour at a place of English tokens is of the thing described and not of a part of it.

        A colour belongs to the noun that follows it, or, after a form of "to be", to the noun before that.
        """
        after, before = place + 1, place - 1
        while after < len(tokens) and (tokens[after] in _BETWEEN or tokens[after] in _ENGLISH_COLOURS):
            after += 1
        if tokens[after - 1] in _BETWEEN:  # no colour follows: it joins something else
            after = place + 1
        if tokens[after : after + 1] == ["-"]:
            return self._is_outfit("".join(tokens[after + 1 : after + 2]), head)
        if phrase := _noun_phrase(tokens[after:]):
            is_skin = tokens[place] in _SKIN and self._name(phrase[-1]) == "person"
            return self._is_outfit(phrase[-1], head) and not is_skin
        while before >= 0 and (tokens[before] in _BETWEEN or tokens[before] in _ENGLISH_COLOURS):
            before -= 1
        if before < 1 or tokens[before] not in _BEING:
            return True
        owner = tokens[before - 2 if tokens[before - 1] in {"that", "which", "who"} else before - 1]
        return owner in _EMPTY or self._is_outfit(owner, head)

    def _is_own_chinese_colour(self, runs: str, match: re.Match[str], head: str | None) -> bool:
        """The same for a colour in a text of Chinese characters."""
        rest = runs[match.end() :]
        while aside := _CHINESE_ASIDE.match(rest) or _CHINESE_COLOUR.match(rest):
            rest = rest[aside.end() :]
        if (owner := _CHINESE_OWNER.search(runs[: match.start()])) and (noun := owner[1].strip("他她它这那的们")):
            kinds = {_CHINESE_NAMES.get(word) for word in self._chinese_word.findall(noun)}
            return not kinds.isdisjoint({ANY, head} - {None}) or _CHINESE_OUTFIT.search(noun) is not None
        if not rest or _CHINESE_OUTFIT.match(rest):
            return True
        named = self._chinese_word.match(rest)
        is_skin = runs[match.end() : match.end() + 1] == "人"
        return named is not None and not is_skin and _CHINESE_NAMES.get(named.group(), "") in {ANY, head}

    def _alternatives(self, text: str, terms: Sequence[_Term], head: str | None) -> ParsedDescription:
        """Return the requirements of a part of a description; with ``or`` in it, one of the colours on its sides is required.

        If one side of the ``or`` has no colour, no colour is required. ``terms``: those of ``text``; ``head``: the thing's category.
        """
        parts = [(side, list(self._terms(side))) for side in _OR.split(text)]
        sides = [
            (side, own) for side, own in parts if not all(term.kind is not None and term.kind == head for term in own)
        ]
        colours = frozenset(term.colour for _, own in sides for term in own if term.colour is not None)
        if len(sides) < 2 or not colours:
            return _asking(terms, head)
        if not all(any(term.colour for term in own) for _, own in sides):
            return _asking([*terms, *_or_in(text)], head, is_clear=False)
        required = replace(_asking(terms, head), colours=frozenset(), either=(colours,))
        joined = any(_AND.search(_between_colours(side, own)) for side, own in sides)
        return required.joined(_asking(_or_in(text), head)) if joined else required

    def _read_phrase(self, phrase: str, *, is_alone: bool) -> ParsedDescription:
        head = self._kind_of(phrase)
        if head is None:
            return ParsedDescription(kinds=frozenset(), unmatched=(phrase,))
        word, kind, rest = head
        narrow = (word,) if is_narrower(word) else ()
        named = () if kind == ANY else (kind if narrow else word,)
        beside = self.read(rest)
        if (
            beside.colours and not self.read(phrase, of=frozenset({kind})).wanted
        ):  # they are of a part of it, or its skin
            beside = ParsedDescription(unmatched=(*beside.matched, *beside.unmatched))
        if not is_alone:  # the looks of one kind are not asked of the others
            beside = ParsedDescription(unmatched=(*beside.matched, *beside.unmatched))
        matched, unmatched = _once((*named, *beside.matched)), _once((*narrow, *beside.unmatched))
        return replace(beside, kinds=frozenset({kind}), matched=matched, unmatched=unmatched)

    def _kind_of(self, phrase: str) -> tuple[str, str, str] | None:
        """Return a phrase's head noun, the category of that, and the other words; None if the vocabulary has no such category."""
        phrase = phrase.strip()
        if re.search(r"[㐀-鿿]", phrase):
            before, _, head = _CHINESE_ALL.sub("", phrase).rpartition("的")
            bare = _CHINESE_COLOUR.sub("", head)
            name = _CHINESE_NAMES.get(bare) or _CHINESE_NAMES.get(_CHINESE_AFFIX.sub("", bare))
            if name is None and before and not _CHINESE_AFFIX.sub("", bare):
                return self._kind_of(before)
            word = bare if bare in _CHINESE_NAMES else _CHINESE_AFFIX.sub("", bare)
            rest = before + head.replace(word, "", 1) if word else ""
            return (word, name, rest) if name is not None and name in {ANY, *self.categories} else None
        match = _AFTER_HEAD.search(phrase)
        chunk, after = (phrase, "") if match is None else (phrase[: match.start()], phrase[match.start() :])
        tokens = LATIN.findall(chunk)
        for size in (3, 2, 1):
            tail = tokens[-size:]
            name = self._name(" ".join(tail)) if len(tail) == size else None
            if name is not None:
                return " ".join(tail), name, " ".join([*tokens[:-size], after])
        return None

    def _name(self, words: str) -> str | None:
        """Return the category that an English word or phrase names; None if this vocabulary does not contain it."""
        for form in _singulars(words):
            own = form.replace(" ", "_")
            name = own if own in self.categories else form if form in self.categories else _ENGLISH_NAMES.get(form)
            if name is not None and name in {ANY, *self.categories}:
                return name
        return None

    def _terms(self, text: str, head: str | None = None) -> Iterator[_Term]:
        """Yield the words and phrases of a text that have content, each with the category or the colour that it names.

        ``head`` is the category of the thing described. A colour of anything else counts as a word without colour.
        """
        tokens = [token for token in TOKEN.findall(text) if token[0] < "㐀"]
        place = 0
        while place < len(tokens):
            size, kind = next(
                ((size, kind) for size in (3, 2, 1) if (kind := self._name(" ".join(tokens[place : place + size])))),
                (1, None),
            )
            word = " ".join(tokens[place : place + size])
            if word[0].isalnum() and kind != ANY and (kind is not None or word not in _EMPTY):
                colour = _ENGLISH_COLOURS.get(word)
                yield _Term(word, kind, colour if colour and self._is_own_colour(tokens, place, head) else None)
            place += size
        yield from self._chinese_terms(" ".join(CHINESE.findall(_OR.sub(" ", text))), head)

    def _chinese_terms(self, runs: str, head: str | None = None) -> Iterator[_Term]:
        for match in self._chinese_word.finditer(runs):
            word = match.group()
            name, colour = _CHINESE_NAMES.get(word), _CHINESE_COLOURS.get(word)
            if colour and not self._is_own_chinese_colour(runs, match, head):
                colour = None
            if name != ANY:
                yield _Term(word, name if name in self.categories else None, colour)
        for run in unseen_words(self._chinese_word.sub(" ", runs)):
            if CHINESE.findall(run) and (word := run.strip("的了着在是和与穿戴")):
                yield _Term(word)


@dataclass(frozen=True)
class _Term:
    """A word or phrase of a description, and the category or the colour that it names; None if it names none."""

    word: str
    kind: str | None = None
    colour: str | None = None


def _or_in(text: str) -> list[_Term]:
    return [_Term(word) for word in _OR.findall(text)]


def _between_colours(text: str, terms: Sequence[_Term]) -> str:
    """Return the text between its first and its last colour; empty if it has fewer than two."""
    words = [term.word for term in terms if term.colour is not None]
    return text[text.find(words[0]) + len(words[0]) : text.rfind(words[-1])] if len(words) > 1 else ""


def _asking(terms: Sequence[_Term], head: str | None, *, is_clear: bool = True) -> ParsedDescription:
    """Return the requirements of words that are not negated, in a description of a thing of the category ``head``.

    If ``is_clear`` is False, since the meaning is ambiguous, nothing is required.
    """
    matched, unmatched = [], []
    for term in terms:
        is_head = term.kind is not None and term.kind == head
        if is_head and is_narrower(term.word):
            matched += [str(head)] if is_clear else []
            unmatched.append(term.word)
        elif is_head or (is_clear and term.colour is not None):
            matched.append(term.word)
        else:
            unmatched.append(term.word)
    colours = frozenset(term.colour for term in terms if is_clear and term.colour is not None)
    return ParsedDescription(colours=colours, matched=_once(matched), unmatched=_once(unmatched))


def _excluding(sign: str, terms: Sequence[_Term]) -> ParsedDescription:
    """Return what the words after the negating word ``sign`` exclude.

    "not the person in black" excludes the colour, not people; "without a hat" excludes nothing: hats are not judged.
    """
    colours = frozenset(term.colour for term in terms if term.colour is not None)
    unjudged = [term.word for term in terms if term.colour is None and (term.kind is None or is_narrower(term.word))]
    kinds = frozenset(term.kind for term in terms if term.kind is not None)
    excluded = frozenset() if colours or unjudged else kinds
    is_judged = bool(colours or excluded)
    judged = [term.word for term in terms if term.word not in unjudged]
    return ParsedDescription(
        negated_kinds=excluded,
        negated_colours=colours,
        matched=_once((sign, *judged)) if is_judged else (),
        unmatched=_once(unjudged) if is_judged else _once((sign, *judged, *unjudged)),
    )


#: Clothes whose colour is that of the outfit. The colour of anything else that is worn, carried or part of a body
#: (trousers, hats, bags, hair) is not measured on its own.
_OUTFIT = frozenset(
    "clothes clothing outfit garment attire costume uniform suit dress gown robe top shirt tshirt tee blouse sweater jumper "
    "pullover hoodie cardigan jacket blazer coat overcoat raincoat parka anorak sweatshirt clad dressed coated".split()
)
_CHINESE_OUTFIT = longest_first(
    "衣服 上衣 外衣 大衣 风衣 雨衣 毛衣 卫衣 衬衣 衬衫 外套 夹克 恤 西装 西服 制服 礼服 羽绒服 连衣裙 长袍 衣 装 服".split()
)
_DETERMINERS = frozenset("a an the his her their its my your our this that these those some any each every one".split())
_WHERETO = frozenset("to into onto toward towards through across away up down out".split())
_BOUNDARY = _EMPTY | ENDING | JOINING
#: An adjective follows these: ``somebody tall``.
_PRONOUNS = frozenset("somebody someone anybody anyone everybody everyone nobody".split())
_NO_KIND = frozenset("first second third last other another same left right".split())
#: Colours that, beside a word for a person, are of the skin.
_SKIN = frozenset("black white brown yellow".split())
_BEING = frozenset("is are was were be looks".split())
_BETWEEN = frozenset("and or nor & , / 、 和 与 或".split())
#: Beside a colour, what has no bearing on what it is the colour of.
_CHINESE_ASIDE = re.compile(r"[色的\s和与或者及]+")
_CHINESE_OWNER = re.compile(r"([㐀-鿿]*)是\W*$")


def is_verb(word: str, following: str) -> bool:
    """Whether the word after it shows that an English word is a verb: "opens a door", "walks to the door"."""
    return following in _DETERMINERS or (following in _WHERETO and word[-1] in "sd")


def _noun_phrase(tokens: Sequence[str]) -> list[str]:
    """Return the words of the noun phrase with which an English text (its tokens) begins, without determiners.

    It ends before a preposition, another word without content, punctuation, a participle or a verb. Empty if the text
    begins with one of these.
    """
    found: list[str] = []
    for word, following in pairwise([*tokens, ""]):
        is_participle = len(word) > 5 and word.endswith("ing")
        if word == "-" and found:
            continue
        if not word[0].isalnum() or word in _BOUNDARY or is_verb(word, following) or (is_participle and found):
            break
        found += [] if is_participle else [word]
    return found


def coloured_nouns(text: str) -> frozenset[tuple[str, str]]:
    """Return pairs of a colour and the noun that it stands beside in a text, canonical and stemmed: ``("blue", "book")``."""
    tokens = TOKEN.findall(fold(text))
    found: set[tuple[str, str]] = set()
    for place, token in enumerate(tokens):
        after = place + 1
        while after < len(tokens) and (tokens[after] in _BETWEEN or tokens[after] in _ENGLISH_COLOURS):
            after += 1
        if token in _ENGLISH_COLOURS and (phrase := _noun_phrase(tokens[after:])):
            found.add((_ENGLISH_COLOURS[token], _stem(phrase[-1])))
    return frozenset(found)


#: Endings of plurals, each with those of singulars.
_PLURALS = (("men", "man"), ("ies", "y"), ("ves", "f", "fe"), ("es", ""), ("s", ""))


@lru_cache(maxsize=4096)
def is_narrower(word: str) -> bool:
    """Whether a word is narrower than its category: no measurement distinguishes a man from a woman."""
    return any(form in NARROWER_WORDS for form in _singulars(word))


def _singulars(words: str) -> Iterator[str]:
    """Yield a word or phrase, then the singular forms of which its last word may be the plural."""
    yield words
    head, _, last = words.rpartition(" ")
    for ending, *singulars in _PLURALS:
        if last.endswith(ending) and not (ending == "s" and last.endswith("ss")):
            forms = (last[: -len(ending)] + singular for singular in singulars)
            yield from (f"{head} {form}".strip() for form in forms if form)


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))

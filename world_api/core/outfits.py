"""What people look like, in words: colours of upper and lower clothes and of hair, and whether they face the camera.

A world whose build judged people has such words of its tracks (``PartLook``). A description is read for them before its other
words are parsed: ``a person with brown hair in blue jeans`` asks for brown hair and blue lower clothes. Alternatives and
negated parts are left to the parser of descriptions, which reports them as not judged.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from world_api.core.lexicon import NEIGHBOURS

UPPER, LOWER, HAIR, FACING = "upper", "lower", "hair", "facing"
AWAY, CAMERA = "away", "camera"
#: Begins the names of the parts of ``person_looks`` with words that may be right as well.
NEAR = "near_"
#: stage -> the parts of people that it judges.
JUDGED_PARTS = {"clothes": (UPPER, LOWER, HAIR), "faces": (FACING,)}
#: The colours of hair that are distinguished; ``yellow`` is blonde.
HAIR_COLOURS = ("black", "brown", "yellow", "grey", "white")

#: Nouns of each part in English (the first one is used in hints) and in Chinese.
_NOUNS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    UPPER: (
        (
            "top", "tops", "shirt", "shirts", "t-shirt", "tshirt", "tee", "blouse", "sweater", "jumper", "pullover", "hoodie",
            "cardigan", "jacket", "blazer", "coat", "overcoat", "raincoat", "parka", "anorak", "sweatshirt", "vest",
        ),
        ("上衣", "外套", "外衣", "大衣", "风衣", "毛衣", "卫衣", "衬衣", "衬衫", "夹克", "T恤", "t恤", "羽绒服", "开衫"),
    ),
    LOWER: (
        ("bottoms", "trousers", "pants", "jeans", "leggings", "shorts", "slacks", "chinos", "skirt"),
        ("下装", "裤子", "长裤", "短裤", "牛仔裤", "裙子", "短裙", "长裙", "裤"),
    ),
    HAIR: (("hair", "haired"), ("头发", "长发", "短发", "发")),
}  # fmt: skip
#: Nouns that say no more than the part. Of others, such as coat and jeans, the kind of garment (of hair the length) is not judged.
_GENERAL = frozenset({"top", "tops", "上衣", "bottoms", "下装", "hair", "haired", "头发", "发"})
_PART_OF = {noun: part for part, (english, chinese) in _NOUNS.items() for noun in (*english, *chinese)}


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))})"


_PART_NOUN = re.compile(
    rf"\b{_any(noun for english, _ in _NOUNS.values() for noun in english)}\b|\bfac(?:ing|es)\b"
    rf"|{_any(noun for _, chinese in _NOUNS.values() for noun in chinese)}|朝向|朝着|面向|背向"
)
#: Words for the direction in which a person faces.
_DIRECTIONS = {
    AWAY: re.compile(
        r"\b(?:seen |shown |filmed )?from (?:behind|the back)\b|\bfacing away(?: from the camera)?\b"
        r"|\bwith (?:his|her|their|the) backs? to the camera\b|背对着?(?:镜头|摄像机|相机)|背影"
    ),
    CAMERA: re.compile(r"\bfacing the camera\b|\bseen from the front\b|(?:面对|面向|正对)着?(?:镜头|摄像机|相机)"),
}
_IN_WORDS = {AWAY: ("from behind", "背对镜头"), CAMERA: ("facing the camera", "面对镜头")}
#: Words that are colours of hair only.
_BLONDE = {"blonde": "yellow", "blond": "yellow", "金色": "yellow", "金": "yellow"}
_BLONDE_PERSON = re.compile(r"\bblonde?\b")


@dataclass(frozen=True, order=True)
class PartLook:
    """A word for a part of a person: ``PartLook("hair", "brown")``; the part ``facing`` has ``away`` or ``camera``."""

    part: str
    word: str

    def __str__(self) -> str:
        if self.part == FACING:
            return _IN_WORDS[self.word][0]
        return f"{named(self)} {_NOUNS[self.part][0][0]}"


@dataclass(frozen=True, kw_only=True)
class Outfit:
    """How a person looks: words for parts, and for each word the share (0 to 1) of the frames that show it.

    ``doubts`` are other words for these parts that may be right as well: neighbouring colours, and words of few frames.
    ``has_mixed_hair``: the hair was seen in two colours, so that it has no sure word, and only those in doubt are possible.
    """

    looks: tuple[PartLook, ...] = ()
    shares: tuple[float, ...] = ()
    doubts: tuple[PartLook, ...] = ()
    has_mixed_hair: bool = False

    def words(self, part: str) -> list[str]:
        """Return the words for a part; none if it was not judged or nothing can be said."""
        return [look.word for look in self.looks if look.part == part]

    @property
    def colours(self) -> tuple[str, ...]:
        """The colours of the clothes, those of the upper ones first."""
        return tuple(dict.fromkeys([*self.words(UPPER), *self.words(LOWER)]))

    def may_be(self, look: PartLook) -> bool:
        """Whether a look that is not among the words for its part is not excluded by them, nor by the colours of mixed hair."""
        is_judged = bool(self.words(look.part)) or (look.part == HAIR and self.has_mixed_hair)
        return look in self.doubts or not is_judged

    def may_have(self, colour: str, *, mainly: bool = False) -> bool:
        """Whether upper or lower clothes may have a colour that is not among their words; ``mainly``: the upper ones."""
        return self.may_be(PartLook(UPPER, colour)) or (not mainly and self.may_be(PartLook(LOWER, colour)))

    def surely_has(self, colour: str) -> bool:
        """Whether upper or lower clothes have a colour of which no other word may be right as well."""
        doubtful = {look.part for look in self.doubts}
        return any(part not in doubtful and colour in self.words(part) for part in (UPPER, LOWER))


def named(look: PartLook) -> str:
    """Return the word of a look; of hair, yellow is blonde."""
    return "blonde" if look == PartLook(HAIR, "yellow") else look.word


def in_words(looks: Sequence[PartLook]) -> str:
    """Return looks in English: ``in grey top and blue and black bottoms, brown hair, from behind``; empty without looks."""
    clothes: list[str] = []
    others: list[str] = []
    for part, words in _by_part(looks).items():
        if part == FACING:
            others.append(str(PartLook(part, words[0])))
        else:
            own = f"{' and '.join(named(PartLook(part, word)) for word in words)} {_NOUNS[part][0][0]}"
            (others if part == HAIR else clothes).append(own)
    return ", ".join([*([f"in {' and '.join(clothes)}"] if clothes else []), *others])


def in_chinese(looks: Sequence[PartLook], colour: Callable[[str], str]) -> str:
    """Return looks in Chinese, for searches: ``灰色上衣 黑色头发 背对镜头``. ``colour`` translates a colour word."""
    found = []
    for part, words in _by_part(looks).items():
        if part == FACING:
            found.append(_IN_WORDS[words[0]][1])
        else:
            named = ("金色" if (part, word) == (HAIR, "yellow") else colour(word) for word in words)
            found.append("".join(named) + _NOUNS[part][1][0])
    return " ".join(found)


def _by_part(looks: Sequence[PartLook]) -> dict[str, list[str]]:
    return {
        part: words
        for part in (UPPER, LOWER, HAIR, FACING)
        if (words := [look.word for look in looks if look.part == part])
    }


def parts_in(text: str) -> list[tuple[str, str]]:
    """Return the nouns in a folded text that name parts of a person, each with its part; also words for the direction of a face."""
    return [(match.group(), _PART_OF.get(match.group(), FACING)) for match in _PART_NOUN.finditer(text)]


def names_part(noun: str) -> bool:
    """Whether a noun of ``parts_in`` says no more than the part: ``top``, and not ``cardigan``."""
    return noun in _GENERAL or noun not in _PART_OF


class LooksReader:
    """Finds the looks that a description asks for.

    Args:
        english, chinese: Colour words -> canonical colours.
    """

    def __init__(self, english: Mapping[str, str], chinese: Mapping[str, str]) -> None:
        self._colours = {**_BLONDE, **english, **chinese}
        colour = _any(["blonde", "blond", *english])
        colours = rf"{colour}(?:(?: and |, | |/|-){colour})*"
        noun = _any(noun for own, _ in _NOUNS.values() for noun in own)
        run = _any(["金色", "金", *chinese])
        own_noun = _any(noun for _, own in _NOUNS.values() for noun in own)
        self._patterns = (
            # Up to two words may be between: "black leather jacket", "grey knitted cardigan".
            re.compile(rf"\b(?P<c>{colours})[ -](?P<between>(?:(?!{colour}\b|and\b|or\b|with\b|in\b)\w+[ -]){{0,2}}?)(?P<n>{noun})\b"),
            re.compile(rf"\b(?P<n>{noun}) (?:is|are) (?P<c>{colours})\b"),
            re.compile(rf"(?P<c>{run}(?:[和与、]?{run})*)(?P<between>的?[长短卷直]*?)(?P<n>{own_noun})"),
            re.compile(rf"(?P<n>{own_noun})(?:是)(?P<c>{run})"),
        )  # fmt: skip
        self._colour = re.compile(_any(["金色", "金", *chinese, "blonde", "blond", *english]))

    def read(self, text: str, judged: Collection[str]) -> tuple[str, list[PartLook], list[str], list[str]]:
        """Return a folded text without the looks that it asks for, these looks, and the words that named them.

        Only parts in ``judged`` are read. An alternative ("black or brown hair") is not read. Nouns for a kind of garment, of
        which only the colour is judged, are returned last.
        """
        looks: list[PartLook] = []
        named: list[str] = []
        kinds: list[str] = []
        text = text.replace(" - ", "-")
        for pattern in self._patterns:
            for match in reversed(list(pattern.finditer(text))):
                own = self._looks(match["c"], _PART_OF[match["n"]])
                if _is_alternative(text, match) or not own or own[0].part not in judged:
                    if _PART_OF[match["n"]] == HAIR:  # a colour of hair that is not judged is none of clothes
                        text = f"{text[: match.start()]} {match.group().replace(' ', '-')} {text[match.end() :]}"
                    continue
                looks += own
                named += self._colour.findall(match["c"])
                (named if names_part(match["n"]) else kinds).append(match["n"])
                between = match.groupdict().get("between") or ""
                text = f"{text[: match.start()]} {between.strip(' -的')} {text[match.end() :]}"
        if HAIR in judged and (blonde := _BLONDE_PERSON.search(text)) is not None:
            looks.append(PartLook(HAIR, "yellow"))
            named.append(blonde.group())
            text = f"{text[: blonde.start()]} {text[blonde.end() :]}"
        for direction, pattern in _DIRECTIONS.items():
            if FACING in judged and (facing := pattern.search(text)) is not None:
                looks.append(PartLook(FACING, direction))
                named.append(facing.group())
                text = f"{text[: facing.start()]} {text[facing.end() :]}"
        return text, looks, named, kinds

    def _looks(self, colours: str, part: str) -> list[PartLook]:
        """Return the looks that colour words ask for; none if one of them is not a colour that is judged of the part."""
        words = self._colour.findall(colours)
        found = [PartLook(part, self._colours[word]) for word in words if part == HAIR or word not in _BLONDE]
        return [] if part == HAIR and any(look.word not in HAIR_COLOURS for look in found) else found


def _is_alternative(text: str, match: re.Match[str]) -> bool:
    return bool(
        re.search(r"(?:\bor|或者?|还是) *$", text[: match.start()])
        or re.match(r" *(?:or\b|或|还是)", text[match.end() :])
    )


# --- summed up over frames ------------------------------------------------------------------------------------------

#: A part is described from at least this many frames, by the words that at least this share of them shows; for hair and the
#: direction it is one word. Words that at least the smaller share shows, or is near to, are in doubt; of hair that has two, both.
_FRAMES, _SHARE, _DOUBTFUL = 2, 0.4, 0.2
_PARTS = (UPPER, LOWER, HAIR, FACING)
_NEAR_PARTS = tuple(NEAR + part for part in _PARTS[:3])


def sum_up(rows: Iterable[Mapping[str, Any]], place_of_part: Mapping[str, int], count: int) -> list[Outfit]:
    """Return the outfit of each of ``count`` tracks from rows of ``person_looks``: ``track``, ``part``, ``words``, frame by frame.

    ``place_of_part``: the position of the track that each single-clip track belongs to; rows of others are ignored.
    """
    known = frozenset((*_PARTS, *_NEAR_PARTS))
    frames: Counter[tuple[int, str]] = Counter()
    words: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        place = place_of_part.get(row["track"])
        if place is not None and row["part"] in known:
            frames[place, row["part"]] += 1
            words[place, row["part"]].update(dict.fromkeys(row["words"], 1))
    return [
        _outfit({part: (frames[place, part], words[place, part]) for part in (*_PARTS, *_NEAR_PARTS)})
        for place in range(count)
    ]


def _outfit(noted: Mapping[str, tuple[int, Counter[str]]]) -> Outfit:
    """Return the outfit of one track from the number of frames in which each part was judged, and its words in these."""
    looks: list[tuple[PartLook, float]] = []
    doubts: list[PartLook] = []
    has_mixed_hair = False
    for part in _PARTS:
        number, words = noted[part]
        if number < _FRAMES:
            continue
        if part == FACING:
            looks += [(PartLook(part, CAMERA), share)] if (share := _share(words[CAMERA], number)) >= _SHARE else []
            doubts += [
                PartLook(part, word) for word in (CAMERA, AWAY) if (word != CAMERA or share < _SHARE) and words[AWAY]
            ]
            continue
        ordered = sorted(words.items(), key=lambda item: (-item[1], item[0]))
        if part == HAIR:
            has_mixed_hair = len(ordered) > 1 and ordered[1][1] >= _DOUBTFUL * number
            ordered = [] if has_mixed_hair else ordered[:1]
        named = [(word, _share(times, number)) for word, times in ordered if times >= _SHARE * number]
        looks += [(PartLook(part, word), share) for word, share in named]
        near_number, near = noted[NEAR + part]
        least = 0.0 if part == HAIR and has_mixed_hair else _DOUBTFUL  # only what no frame shows is excluded
        doubtful = {word for word, times in words.items() if times >= least * number}
        doubtful |= {word for word, times in near.items() if times >= least * near_number}
        if near_number == 0:  # rows of an earlier version have no neighbours
            doubtful = doubtful.union(*(NEIGHBOURS[word] for word, _ in named))
        known = HAIR_COLOURS if part == HAIR else NEIGHBOURS
        doubts += [PartLook(part, word) for word in known if word in doubtful.difference(dict(named))]
    return Outfit(
        looks=tuple(look for look, _ in looks),
        shares=tuple(share for _, share in looks),
        doubts=tuple(doubts),
        has_mixed_hair=has_mixed_hair,
    )


def _share(times: int, number: int) -> float:
    return round(times / number, 2)

"""Which words of a description a text has, and which of them the truth of an oracle world would record.

A truth file records who is seen with kind and colours, and deeds, things, places and speech. It records neither other
looks (hair, glasses) nor moods and ages.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import pairwise

from world_api.core.lexicon import COLOURS, SHADES, STOP_WORDS
from world_api.core.vocabulary import CHINESE, LATIN, Vocabulary, concepts, fold, is_narrower, is_verb, words
from world_api.search.indexes import synonyms
from world_api.search.passages import Texts
from world_api.search.searcher import terms_of
from world_api.world.view import View

#: Words for moods, ages, bodies and parts of clothes, which no truth records.
_NOT_RECORDED = frozenset(
    words(
        "happy happily sad sadly angry angrily upset glad cheerful gloomy bored boring tired nervous anxious afraid scared calm "
        "excited surprised worried lonely proud ashamed jealous annoyed mood feel emotion think thought smile young younger old "
        "older elderly aged age teenage adult years year hair haired beard bearded moustache bald blond blonde brunette curly "
        "glasses makeup tattoo face eyes nose tall short long slim thin fat pretty handsome beautiful light dark bright pale raised "
        "collar sleeve sleeves button buttons pocket pockets shirt tshirt blouse jeans trousers pants shorts skirt dress coat jacket "
        "sweater hoodie suit tie shoes boots sneakers socks gloves belt"
    )
)
_CHINESE_NOT_RECORDED = re.compile(
    r"[乐愉喜怒悲哀惧怕恐忧愁发胡须秃胖瘦矮很衣裤裙鞋袜领袖衫]|高兴|开心|伤心|难过|生气|紧张|惊讶|兴奋|无聊|疲惫|微笑|心情|情绪"
    r"|年轻|年老|中年|岁|老年|光头|眼镜|漂亮|好看|个子"
)
#: Words after which a description is about looks, and words or endings after which it is about something else again.
_LOOKS = frozenset(
    "with without wearing wears dressed having has have whose looks looking in is are was were be".split()
)
_NO_LOOKS = frozenset("at on near by from to into who that which while as and then there".split())
_CHINESE_LOOKS = re.compile(r"[穿戴]|留着|长着|有着")


#: A garment by its colour, of which people are named in a truth: "in the red coat", "穿红色外套的人".
_WORN = re.compile(
    rf"\bin (?:a|an|the) (?:{'|'.join(map(re.escape, sorted(COLOURS)))}) ([a-z]+)|穿[^的，。]*色([^的，。]+)的人"
)


#: Words by which a query asks for what is heard.
_HEARING = frozenset("sound sounds noise noises hear hears heard hearing audible".split())
#: Words that name a sound and nothing that is seen; "music stand" and "giving a speech" are about more than the sound.
_SOUNDS = frozenset(
    "music singing applause applauding laughter laughing giggling cheering barking meowing purring howling mooing chirping "
    "buzzing humming crying sobbing screaming yelling shouting whispering whistling coughing sneezing snoring speech chatter "
    "beeping ringing honking ticking thunder gunfire siren sirens knocking crackling rustling squeaking creaking clapping "
    "silence speaking talking conversation".split()
)
#: Those that people make, whom one may see doing it.
DONE_BY_PEOPLE = frozenset(
    "singing applause applauding laughter laughing giggling cheering crying sobbing screaming yelling shouting whispering "
    "whistling coughing sneezing snoring knocking clapping speech".split()
)
#: Words for the class ``Speech``.
_SPEAKING = frozenset("speaking talking conversation voice voices".split())
_LOUD = frozenset("loud loudly".split())
_NEGATIONS = frozenset("no not without never".split())
_ANYONE = frozenset("person people someone somebody anyone anybody human".split())
#: Between anyone and what they do.
_BEING = frozenset("is are was were be being who that".split())
_CHINESE_HEARING = re.compile(r"的?(?:声音|响声|声响|噪声|噪音|声)$|^听[到见]")
#: What says nothing about which sound is meant.
_CHINESE_FILLING = re.compile("[的有人在了吗呢着正]")
#: Chinese words for sounds and the classes of AudioSet that they mean. The first ones name a sound without a word of hearing.
_CHINESE_ALONE = {
    "背景音乐": "music", "音乐": "music", "音樂": "music", "配乐": "music", "掌声": "applause", "掌聲": "applause", "鼓掌": "clapping",
    "狗叫": "bark", "犬吠": "bark", "猫叫": "meow", "鸟叫": "bird", "鸟鸣": "bird", "尖叫": "screaming", "欢呼": "cheering",
    "说话": "speech", "說話": "speech", "讲话": "speech", "语音": "speech", "人声": "speech",
}  # fmt: skip
_CHINESE_SOUNDS = _CHINESE_ALONE | {
    "笑": "laughter", "哭": "crying", "公鸡": "crowing", "咳嗽": "cough", "喷嚏": "sneeze", "鼾": "snoring", "歌": "singing",
    "口哨": "whistling", "警笛": "siren", "警报": "alarm", "铃": "ringing", "喇叭": "honking", "枪": "gunshot",
    "爆炸": "explosion", "雷": "thunder", "雨": "rain", "风": "wind", "敲门": "knock", "脚步": "footsteps", "引擎": "engine",
    "发动机": "engine", "直升机": "helicopter",
}  # fmt: skip


#: How a query says that something is heard: "sound of", "sounds", "noises", "heard" at its end, "hear" at its beginning.
_HEARD = re.compile(r"\b(?:sounds?|noises?) of\b|\b(?:sounds?|noises?|heard|audible)\W*$|^(?:(?:\w+ )?can )?hears?\b")
_WITH_ONE_OTHER = 2


def asks_for_hearing(text: str) -> bool:
    """Whether a query (folded text) says that something is heard: "the sound of laughter", and not "people laughing"."""
    return bool(_HEARD.search(text) or _CHINESE_HEARING.search("".join(CHINESE.findall(text))))


def heard_words(text: str) -> tuple[str, ...] | None:
    """Return the words of a query (folded text) that a sound has to have; None if it does not ask for what is heard.

    It does if it says so ("the sound of a bell") or ends with a word that names a sound and nothing else, beside one other
    ("a dog barking"). Words for anyone are left out before what they do ("a person snoring").
    """
    if runs := "".join(CHINESE.findall(text)):
        return _heard_in_chinese(runs)
    raw = LATIN.findall(text)
    tokens = [word for word in raw if (word not in STOP_WORDS or word in _NEGATIONS) and word not in _LOUD]
    is_named = bool(tokens) and len(tokens) <= _WITH_ONE_OTHER and tokens[-1] in _SOUNDS
    if not (is_named or _HEARD.search(text)):
        return None
    spoken = [word for word in raw if word not in _BEING]
    doers = {word for word, after in pairwise(spoken) if word in _ANYONE and after not in STOP_WORDS}
    found = (word for word in tokens if word not in _HEARING and word not in doers)
    return tuple(dict.fromkeys("speech" if word in _SPEAKING else word for word in found)) or None


def _heard_in_chinese(runs: str) -> tuple[str, ...] | None:
    """Return the words that a sound has to have, of the Chinese characters of a query; None if it asks for nothing that is heard."""
    runs = runs.replace("在", "")  # 狗在叫
    rest = _CHINESE_HEARING.sub("", runs)
    meant = [(name, word) for name, word in _CHINESE_SOUNDS.items() if name in runs]
    for name, _ in meant:
        rest = rest.replace(name, "").replace(name.removesuffix("声"), "")
    rest = _CHINESE_FILLING.sub("", rest)
    is_alone = not rest and bool(meant) and all(name in _CHINESE_ALONE for name, _ in meant)
    if not (is_alone or _CHINESE_HEARING.search(runs)):
        return None
    return tuple(dict.fromkeys([*(word for _, word in meant), *([rest] if rest else [])])) or None


class RecordedTexts:
    """The visible captions and actions of a world: whether they have Latin letters and Chinese ones, and all their terms."""

    tables = ("captions", "actions")

    def __init__(self, view: View) -> None:
        texts, numbers = view.world.once(Texts), set[int]()
        for table in self.tables:
            items = getattr(view, table)
            numbers.update(texts.of_rows(table)[items.rows[items.rows >= 0]].tolist())
        self._texts = [texts.text(number) for number in sorted(numbers)]
        self.chinese = any(CHINESE.search(text) for text in self._texts)
        self.latin = any(re.search("[A-Za-z]", text) for text in self._texts)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of all texts."""
        return frozenset(term for text in self._texts for term in terms_of(text, ""))

    @cached_property
    def worn(self) -> frozenset[str]:
        """What people are said to be in, such as the coat of "in the red coat"."""
        worn = (" ".join(found) for text in self._texts for found in _WORN.findall(text))
        return frozenset(unit for words_in in worn for unit in terms_of(words_in, ""))

    def has_script_of(self, word: str) -> bool:
        """Whether any text is written in the script of a word."""
        return self.chinese if CHINESE.search(word) else self.latin


class SpokenTexts(RecordedTexts):
    """The same for all that is said and written on the screen."""

    tables = ("speech", "screen_texts")


def recorded_words(view: View, text: str, vocabulary: Vocabulary) -> frozenset[str]:
    """Return the words of a description that the truth of an oracle world would record; none for other profiles.

    A word in a script that no caption or action of the world has is not one of them.
    """
    if view.world.manifest.profile != "oracle":
        return frozenset()
    scripts, folded = view.once(RecordedTexts), fold(text)
    deeds = _deeds(folded, vocabulary) if scripts.latin else []
    found = {word for word in deeds if word not in SHADES and _NOT_RECORDED.isdisjoint(words(word))}
    if scripts.chinese:
        runs = [run for run in CHINESE.findall(folded) if "的" not in run and not _CHINESE_LOOKS.search(run)]
        found |= {
            word for run in runs for word in vocabulary.read(run).unmatched if not _CHINESE_NOT_RECORDED.search(word)
        }
    return frozenset(word for word in found if not is_narrower(word))


def _deeds(folded: str, vocabulary: Vocabulary) -> list[str]:
    """Return the English words of a description except those about looks: beside a person, after ``with`` and ``is``."""
    tokens = LATIN.findall(folded)
    found: list[str] = []
    about_looks = False
    for place, (word, following) in enumerate(pairwise([*tokens, ""])):
        if word in _LOOKS:
            about_looks = word != "in" or following != "the"
        elif word in _NO_LOOKS or (word.endswith("ing") and len(word) > 5) or is_verb(word, following):
            about_looks = False
        if word in {"one", "ones"} or vocabulary.read_category(word).kinds == frozenset({"person"}):
            found = [earlier for earlier in found if _ends_before(tokens, earlier, place)]
            about_looks = not following.endswith(("s", "ed", "ing"))  # no verb: ``somebody tall``
        elif not about_looks and word not in STOP_WORDS:
            found.append(word)
    return found


def _ends_before(tokens: list[str], word: str, place: int) -> bool:
    """Whether a word without content is between a word and a place, so that it is no adjective of what is there."""
    return any(token in STOP_WORDS for token in tokens[tokens.index(word) + 1 : place])


def has_units(terms: frozenset[str], word: str) -> bool:
    """Whether terms of a text contain a word itself, or a synonym of it."""
    return all(not own.isdisjoint(terms) for own in terms_of_word(word)[0])


def has_word(terms: frozenset[str], word: str) -> bool:
    """Whether terms of a text contain a word, a synonym of it, or, if it is not narrower, the concept that it names."""
    named = terms_of_word(word)[1]
    return has_units(terms, word) or (bool(named) and named <= terms)


@lru_cache(maxsize=4096)
def terms_of_word(word: str) -> tuple[list[frozenset[str]], frozenset[str]]:
    """Return sets of terms, of each of which a text with the word has one, and the terms of the concepts that it names."""
    units = set(words(word))
    pairs = "".join(unit for unit in units if unit > "㐀" and len(unit) == 2)  # their characters are in them
    own = {unit for unit in units if unit not in STOP_WORDS and (len(unit) > 1 or unit not in pairs)} or units
    named = frozenset() if is_narrower(word) else concepts(word)
    return [synonyms(unit) for unit in own], frozenset(f"#{concept}" for concept in named)

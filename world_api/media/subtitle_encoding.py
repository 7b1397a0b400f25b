"""Bytes of a subtitle file to text, whatever wrote them."""

from __future__ import annotations

import codecs
import re

#: Byte order marks and what they announce; the longer first, since one begins with the other.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Encodings of East Asian text, and by what characters a text in it is known.
_KANA, _HANGUL = re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\uac00-\ud7a3]")
_SCRIPT_SHARE = 0.3
#: In Chinese text so much of what lies beyond ASCII is Chinese or its punctuation, and Chinese signs stand in rows. Accents
#: of another language, misread as GB 18030, give single signs between Latin letters.
_CHINESE_SHARE, _CHINESE_ROW = 0.8, 2
_CHINESE_SIGN = re.compile(r"[\u2000-\u206f\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_CHINESE_ROWS = re.compile(r"[\u4e00-\u9fff]+")
#: Characters that Chinese cannot do without, simplified and traditional: text misread in the wrong encoding has few.
_COMMON = frozenset(
    "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么"
    "心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长"
    "這來國個說們為時會過學對裡後麼沒於還發當開經頭見動兩長什很吗嗎呢吧啊请請谢謝今明点點问問知"
)
#: So much of a file is looked at to tell its encoding (bytes).
_SAMPLE = 200_000
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
#: What stands for bytes that are no character.
DAMAGED = "\ufffd"
#: So large a share of the signs beyond ASCII may be damaged. UTF-8 is hardly ever met by chance, so much is forgiven it.
_UTF8_DAMAGE, _EAST_ASIAN_DAMAGE = 0.34, 0.1
_CHINESE_ENCODINGS = ("gb18030", "big5hkscs")


def decode(data: bytes) -> str:
    """The text of a file. Bytes that fit no encoding become U+FFFD, one by one; nothing is ever refused."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    if (wide := _wide(data[:_SAMPLE])) is not None:
        return data.decode(wide, errors="replace")
    if (beyond := _BEYOND_ASCII.search(data)) is None:
        return data.decode("ascii")
    line = data.rfind(b"\n", 0, beyond.start()) + 1
    return _whole_characters(_encoding(data[line : line + _SAMPLE]), data)


def _encoding(sample: bytes) -> str:
    """The encoding in which a sample that is not ASCII makes the most sense; a few damaged bytes change nothing."""
    if _damage(_whole_characters("utf-8", sample)) <= _UTF8_DAMAGE:
        return "utf-8"
    return _east_asian(sample) or "cp1252"


def _wide(sample: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Western text and of all line ends and figures is zero."""
    if len(sample) < 8:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    few, many = sorted((even, odd))
    if many < len(sample) // 8 or few > many // 10:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _whole_characters(encoding: str, data: bytes) -> str:
    """The text; a character cut in two at the very end of a file that was cut is left out."""
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(data, final=False)


def _damage(text: str) -> float:
    """Which share of the signs beyond ASCII is damaged."""
    beyond = sum(1 for sign in text if not sign.isascii())
    return text.count(DAMAGED) / beyond if beyond else 0.0


def _east_asian(sample: bytes) -> str | None:
    decoded = {name: _whole_characters(name, sample) for name in (*_CHINESE_ENCODINGS, "cp932", "cp949")}
    texts = {name: text for name, text in decoded.items() if _damage(text) <= _EAST_ASIAN_DAMAGE}
    for name, script in (("cp932", _KANA), ("cp949", _HANGUL)):
        if name in texts and _share(texts[name], script) >= (_SCRIPT_SHARE if name == "cp932" else _CHINESE_SHARE):
            chinese = max((_commonness(texts[other]) for other in _CHINESE_ENCODINGS if other in texts), default=0.0)
            if chinese < _SCRIPT_SHARE:
                return name
    chinese_ones = [name for name in _CHINESE_ENCODINGS if name in texts and _is_chinese(texts[name])]
    return max(chinese_ones, key=lambda name: _commonness(texts[name]) - _damage(texts[name]), default=None)


def _share(text: str, signs: re.Pattern[str]) -> float:
    beyond = [sign for sign in text if not sign.isascii()]
    return sum(1 for sign in beyond if signs.match(sign)) / len(beyond) if beyond else 0.0


def _commonness(text: str) -> float:
    chinese = [sign for row in _CHINESE_ROWS.findall(text) for sign in row]
    return sum(1 for sign in chinese if sign in _COMMON) / len(chinese) if chinese else 0.0


def _is_chinese(text: str) -> bool:
    """Whether the signs beyond ASCII are what Chinese subtitles hold, not the accents of another script misread."""
    rows = sorted(len(row) for row in _CHINESE_ROWS.findall(text))
    if not rows:
        return False
    return _share(text, _CHINESE_SIGN) >= _CHINESE_SHARE and rows[len(rows) // 2] >= _CHINESE_ROW

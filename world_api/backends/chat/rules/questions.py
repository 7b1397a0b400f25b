"""Reading a question by rules: what is wanted, of what, in which language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

#: facts: of the file; times: how often; count: of different people or things; words: said or written; place: when or
#: where something is seen; summary: what happens; search: anything else.
Intent = Literal["facts", "times", "count", "words", "place", "summary", "search"]

_INTENTS: tuple[tuple[Intent, str], ...] = (
    (
        "facts",
        r"\bhow long (?:is|does) (?:the|this) (?:video|film|movie|clip|recording)|\bduration\b|\blength of (?:the|this)|"
        r"\bresolution\b|\bframe rate\b|\bfps\b|多长|时长|分辨率|帧率",
    ),
    ("times", r"\bhow often\b|\bhow many times\b|\bnumber of times\b|几次|多少次|几回"),
    ("count", r"\bhow many\b|\bnumber of\b|\bcount\b|多少|几个|几人|几位|几名"),
    ("summary", r"\bsummar|\boverview\b|\bwhat happens\b|概括|总结|概述|发生了什么|讲了什么|讲述"),
    (
        "words",
        r"\bsa(?:y|ys|id|ying)\b|\bspo(?:ke|ken)\b|\bspeak|\bmention|\btalk|\btold\b|\bwritten\b|\btext\b|\breads?\b|"
        r"\bquote|\bwords?\b|说|提到|谈到|写着|写了|文字|字幕|台词",
    ),
    (
        "place",
        r"\bwhen\b|\bwhere\b|\bwhat time\b|\bappear|\bfirst\b|\blast\b|\benters?\b|\bshows? up\b|\blocate\b|"
        r"什么时候|何时|哪里|哪儿|第一次|首次|最早|最后|出现",
    ),
    ("summary", r"\bdescribe\b|\bhappen|\bstory\b|\bplot\b|描述|内容|发生"),
)
_LAST = re.compile(r"\blast\b|\bfinal(?:ly)?\b|最后", re.IGNORECASE)
_CHINESE = re.compile(r"[㐀-鿿]")
_QUOTED = re.compile(r"[\"“”「『]([^\"“”「」『』]{1,200})[\"“”」』]")

_AUXILIARY = r"(?:is|are|was|were|does|do|did|can|could|has|have|had|will)"
_SEEN = (
    r"(?:appears?|appeared|shows?|enters?|entered|comes?|came|arrives?|leaves?|left|be|seen|visible|shown|get|start)"
)
_ENGLISH_TARGETS = (
    rf"(?:how often|how many times|number of times)\s+(?:{_AUXILIARY}\s+)?(?P<target>.+)",
    rf"(?:when|where|what time)\s+{_AUXILIARY}\s+(?P<target>.+?)\s+(?:first\s+|last\s+|ever\s+|finally\s+)*{_SEEN}\b",
    rf"what\s+{_AUXILIARY}\s+(?P<target>.+?)\s+(?:doing|do|wearing|holding|carrying|saying|say)\b",
    r"(?:first|last)\s+(?:appearance|time|sight)\s+(?:of\s+|that\s+)?(?P<target>.+)",
    r"(?:locate|find|show me|describe)\s+(?P<target>.+)",
    r"(?:\babout|\bmention(?:s|ed|ing)?|\bsays?|\bsaid|\bsaying|\bspoken|\bwritten)\s+(?:about\s+|on\s+)?(?P<target>.+)",
    r"(?:how many|number of|count)\s+(?P<target>.+?)(?:\s+(?:are|is|were|was|do|does|did|appear|enter|can)\b.*)?$",
    rf"(?:when|where|what time)\s+{_AUXILIARY}\s+(?P<target>.+)",
)
_TAIL = re.compile(
    r"\s+(?:when|while|in (?:the|this) (?:video|film|movie|clip)|on screen|for the (?:first|last) time|first|last|"
    r"at (?:the )?(?:first|last)|"
    rf"(?:first |last )?{_SEEN})\b.*$",
    re.IGNORECASE,
)
_STOP_WORDS = frozenset(
    "a an the is are was were be been do does did what which who whom whose when where why how there here it its he she "
    "they them his her their in on at of to for from by with and or video film movie clip this that these those first "
    "last appear appears please tell me can you".split()
)
_CHINESE_HEAD = re.compile(
    r"^(?:请问|请|在?(?:这个|这段|该)?(?:视频|影片|片子)(?:中|里|里面)?|什么时候|何时|在?哪里|哪儿|有?多少|几个|个|"
    r"第一次|首次|最早|最后一次|出现了?|看到|描述(?:一下)?|有|是|在|的|，|,)+"
)
_CHINESE_TAIL = re.compile(
    r"(?:是?在?(?:什么时候|何时|哪里|哪儿)|第一次|首次|最早|最后|出现|在?(?:做|干)什么|说了?什么|说|提到|有?多少|几[次回]|吗|呢|？|\?|。).*$"
)

_CHINESE_COUNTED = re.compile(
    r"(?:多少|几)(?![次回])[个位名只辆]?(?P<target>[^？?。，,]+?)(?:出现|进|在|吗|[？?。，,]|$)"
)

_PERSON = re.compile(
    r"\b(?:m[ae]n|wom[ae]n|persons?|people|boys?|girls?|child(?:ren)?|kids?|lad(?:y|ies)|guys?|someone|somebody|"
    r"anyone|speakers?|who|he|she)\b|人|男|女|孩|谁|位",
    re.IGNORECASE,
)
_AFTER_HEAD = re.compile(
    r"\s+(?:in|on|with|near|at|of|wearing|that|who|which|from|holding|carrying|by|under|behind)\b.*$", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question as the rules read it. ``target`` is what it is about; ``category`` its kind, for a detector."""

    text: str
    intent: Intent
    target: str
    category: str
    chinese: bool
    wants_last: bool


def read_question(text: str) -> Question:
    """Read a question in English or Chinese."""
    chinese = _CHINESE.search(text) is not None
    quoted = _QUOTED.search(text)
    target = quoted[1].strip() if quoted else _target(text, chinese=chinese)
    return Question(
        text=text,
        intent=_intent(text),
        target=target,
        category="any" if quoted else _category(target, chinese=chinese),
        chinese=chinese,
        wants_last=_LAST.search(text) is not None,
    )


def _intent(text: str) -> Intent:
    for intent, pattern in _INTENTS:
        if re.search(pattern, text, re.IGNORECASE):
            return intent
    return "search"


def _target(text: str, *, chinese: bool) -> str:
    return (_chinese_target(text) if chinese else _english_target(text)) or text.strip() or "anything"


def _chinese_target(text: str) -> str:
    counted = _CHINESE_COUNTED.search(text)
    if counted:
        return counted["target"].strip()
    rest = _CHINESE_HEAD.sub("", text.strip())
    return _CHINESE_TAIL.sub("", rest).strip(" ，,。？?！!的了")


def _english_target(text: str) -> str:
    plain = re.sub(r"[?!.]+\s*$", "", text.strip())
    for pattern in _ENGLISH_TARGETS:
        match = re.search(pattern, plain, re.IGNORECASE)
        if match:
            target = _TAIL.sub("", match["target"]).strip(" ,;:")
            if target and target.lower() not in _STOP_WORDS:
                return target
    words = [word for word in re.findall(r"[\w'-]+", plain) if word.lower() not in _STOP_WORDS]
    return " ".join(words)


def _category(target: str, *, chinese: bool) -> str:
    if _PERSON.search(target):
        return "person"
    if chinese:
        return "any"
    words = re.findall(r"[a-z]+", _AFTER_HEAD.sub("", target.lower()))
    if not words or words[-1] in _STOP_WORDS:
        return "any"
    head: str = words[-1]
    return head[:-1] if head.endswith("s") and not head.endswith("ss") and len(head) > 3 else head

"""A small deterministic chat model that needs no endpoint, for trying out the whole system.

It parses the question with a few patterns (English or Chinese) and acts only through the tools in the request, like any
other chat model. Its answers are not meant as results; texts begin with ``[rule-based]``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from world_api.chat.messages import DATA, Call, completion, text_of
from world_api.core.canonical import json_object
from world_api.core.spans import TimeSpan
from world_api.core.vocabulary import words

RULE_BASED = "rule-based"
_ANSWER_TOOL = "submit_answer"
_SEARCHES = ("search_segments_by_text", "search_segments_by_semantics")  #: by words first, then by meaning

#: intent -> pattern of its questions (the first that matches counts), pattern of the names of library tools that serve it
_INTENTS = {
    "times": (r"how often|how many times|几次|多少次", "times|often|appearance|count"),
    "count": (r"how many|number of|\bcount\b|多少|几[个人位名]", "distinct|different|how_many|number|count"),
    "summary": (r"summar|overview|happen|describe|概括|总结|描述|发生|讲了", "summar|overview|timeline"),
    "words": (
        r"\bsa(?:y|id)|\bspo|speak|mention|talk|written|说|提到|写|字幕",
        "sa[iy]|quote|spe[ea]|spok|mention|words",
    ),
    "place": (r"\bwhen|\bwhere|appear|first|last|\bfind|时候|哪里|出现", "locate|appear|find|first|last"),
    "search": ("", "find|search|locate"),
}
_QUOTED = re.compile(r"[\"“”「『]([^\"“”「」『』]{1,200})[\"“”」』]")
#: Words before and after the subject of a question.
_HEAD = re.compile(
    r"^(?:(?:(?:when|where|what|which|who|how|at|in|do|is|are|was|were|does|did|has|have|can|please|find|show|me|describe"
    r"|there|number|of|many|often|times?|different|(?:the )?(?:first|last)|said|written|about|mentioned)\b|请问?|视频[中里]"
    r"|什么时候|哪里|第一次|最后一次|有?(?:多少|几)[个位名只]?|出现了?|谁|提到了?|有|在|的|，)\s*)+",
    re.IGNORECASE,
)
_VERBS = r"(?:appear|show|enter|come|arrive|leave|move|happen|do|say|wear|hold)(?:s|es|ed|ing)?|seen|visible|shown|said"
_TAIL = re.compile(
    rf"\s+(?:(?:first|last)(?=$|\s(?:{_VERBS}|speaks?))|ever|{_VERBS}|be|is|are|was|were|when|while|there)\b.*$"
    r"|(?:什么时候|哪里|第一次|最后|出现|在?[做干]什么|说|提到|[吗呢]).*$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:(?:look|glance|glimpse) (?:at|of)|(?:sight|appearance) of"
    r"|how (?:far|soon|late|early|long)\b.*?\b(?:do|does|did|is|are|was|were))\s+(.+)$",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(?:m[ae]n|wom[ae]n|persons?|people|boys?|girls?|child(?:ren)?)\b|[人男女孩]", re.IGNORECASE)
_FIELDS = [
    re.compile(rf"^(?:{name})(?: id)?\s*[:：]\s*(.*)$", re.IGNORECASE | re.MULTILINE)
    for name in ("video|视频", "question|问题", "wanted|要求")
]
_OPTION = re.compile(r"^([A-Z])\.\s+(.+)$", re.MULTILINE)
#: type of an answer -> the words that request it if there is no schema, and its ``type`` in a schema
_KINDS = {
    "order": (r"\border\b|顺序", "array"),
    "choice": (r"\boption\b|选项", "string"),
    "interval": (r"stretch|time span|片段", "object"),
    "count": (r"whole number|整数", "integer"),
}
#: Fields of results that hold sentences, and fields that describe how a result was obtained.
_SENTENCES = ("caption", "answer", "summary", "snippet", "said", "written", "seen", "content", "text")
#: Fields of hits whose words may come after their time, and the form of a time: ``53-74.5``, or a moment.
_HITS = ("said", "written", "seen")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?(?=\s|\Z)")
#: A number of things in an output of a library tool: one that is sure, or a range.
_AMOUNT = re.compile(r"(?P<least>\d+)(?: to (?P<most>\d+))?(?P<open> or more)?")
_AFTER_TIME = re.compile(rf"\A{_TIME.pattern}\s")
_ASIDE = frozenset(
    "evidence cost calls warnings judged unsure truncated matched unmatched not_found not_judged not_examined".split()
)

T = TypeVar("T")
_Json = Mapping[str, Any]
#: A plan yields the calls to make at once, is sent their results (empty if a call failed), and returns its conclusion.
_Steps = Generator[Sequence[Call], Sequence[_Json], T]


@dataclass(frozen=True, kw_only=True)
class _Conclusion:
    """The end of a plan: an answer in words, the spans it is based on, and ``value``, the typed answer."""

    text: str
    spans: Sequence[TimeSpan] = ()
    value: Any = None


class RuleBasedChatModel:
    """A chat model that plans by rules. It keeps no state: each reply depends only on the messages and the tools."""

    def __init__(self) -> None:
        self.name = RULE_BASED

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the next calls of the plan; at its end the answer, by ``submit_answer`` if offered, else as text."""
        messages = [item for item in request.get("messages") or () if isinstance(item, Mapping)]
        tools = {item["function"]["name"]: item["function"] for item in request.get("tools") or ()}
        first = next((said for item in messages if item.get("role") == "user" and (said := text_of(item))), "")
        done = [*_given(first), *_calls_made(messages)]
        planner = _Planner(first, {**{name: {"name": name} for name, _ in done}, **tools})
        step = _next_step(planner.answer(), tools, done)
        if isinstance(step, _Conclusion):
            text = f"[{RULE_BASED}] {step.text}"
            answer = text if planner.kind == "open" and step.value not in planner.abstentions else step.value
            if _ANSWER_TOOL not in tools:
                return completion(model=RULE_BASED, content=_in_words(answer), usage=(0, 0))
            spans = [{"start_time": span.start, "end_time": span.end} for span in step.spans[:8]]
            step = [Call(tool=_ANSWER_TOOL, arguments={"answer": answer, "spans": spans})]
        calls = [replace(call, id=f"call_{place}") for place, call in enumerate(step, start=len(done) + 1)]
        return completion(model=RULE_BASED, content=None, calls=calls, usage=(0, 0))


def _next_step(
    plan: _Steps[_Conclusion], tools: Mapping[str, _Json], done: Sequence[tuple[str, _Json]]
) -> Sequence[Call] | _Conclusion:
    """Run a plan from its start; return the first calls that have no result in the conversation yet, or the conclusion.

    ``done`` are the calls of the conversation: tool and result. A call of a tool that is not offered gets an empty
    result, so that the plan continues without it.
    """
    results: dict[str, deque[_Json]] = {}
    for tool, result in done:
        results.setdefault(tool, deque()).append(result)
    try:
        calls = next(plan)
        while True:
            earlier = [results[call.tool].popleft() if results.get(call.tool) else None for call in calls]
            wanted = [call for call, past in zip(calls, earlier, strict=True) if past is None and call.tool in tools]
            if wanted:
                return wanted
            calls = plan.send([past or {} for past in earlier])
    except StopIteration as end:
        conclusion: _Conclusion = end.value
        return conclusion


class _Planner:
    """A parsed question and its plan. ``tools`` are the tools that are offered or were called before, by name."""

    def __init__(self, message: str, tools: Mapping[str, _Json]) -> None:
        fields = [found[1].strip() if (found := field.search(message)) else "" for field in _FIELDS]
        self._video_id, question, wanted = fields
        self._text = question or message
        self._tools = tools
        schema = tools.get(_ANSWER_TOOL, {}).get("parameters", {}).get("properties", {}).get("answer")
        self.kind = next((kind for kind, (how, _) in _KINDS.items() if re.search(how, wanted, re.IGNORECASE)), "open")
        #: The answers that mean "not in the video" and "the video does not settle it", if the question has them.
        self.abstentions: list[str] = []
        if schema is not None and "anyOf" in schema:
            schema, abstention = schema["anyOf"]
            self.abstentions = abstention["enum"]
        if schema is not None:
            of_schema = (kind for kind, (_, json_type) in _KINDS.items() if schema.get("type") == json_type)
            self.kind = next((kind for kind in of_schema if kind != "choice" or "enum" in schema), "open")
        self._options = dict(_OPTION.findall(message)) if self.kind in ("choice", "order") else {}
        self._intent = next(name for name, (how, _) in _INTENTS.items() if re.search(how, self._text, re.IGNORECASE))
        self._last = re.search(r"\blast\b|最后", self._text) is not None
        quoted = _QUOTED.search(self._text)
        plain = re.sub(r"[?？!！.。]+\s*$", "", self._text.strip())
        plain = found[1] if (found := _ABOUT.search(plain)) else plain
        self._target = (
            quoted[1] if quoted else _TAIL.sub("", _HEAD.sub("", plain)).strip(" ,，的了") or plain or "anything"
        )
        nouns = re.findall(r"[a-z]+", re.split(r"\s(?:in|on|with|near|at|of)\s", self._target.lower())[0])
        noun = (
            "person" if _PERSON.search(self._target) else re.sub(r"(?<=[a-z]{3})s$", "", nouns[-1]) if nouns else "any"
        )
        self._category = "any" if quoted else noun

    def answer(self) -> _Steps[_Conclusion]:
        """Run the plan for the question and the type of its answer; a generator, see ``_Steps``."""
        if self.kind == "order":  # what is not found comes last
            found = yield from self._each_option()
            letters = sorted(self._options, key=lambda letter: found[letter].start if letter in found else 1e9)
            spans = [found[letter] for letter in letters if letter in found]
            return _Conclusion(text=", ".join(letters), spans=spans, value=letters)
        if self.kind == "count" or (self.kind != "interval" and self._intent in ("times", "count")):
            ending = yield from self._count()
        elif self.kind != "interval" and self._intent == "summary":
            ending = yield from self._summarise()
        else:
            ending = yield from self._find()
        if self.kind != "choice" or not self._options or ending.value in self.abstentions:
            return ending
        # The option that shares most words with what was found, else the first that is found itself.
        said = set(words(ending.text))
        shared = {letter: len(said & set(words(option))) for letter, option in self._options.items()}
        best = max(shared, key=lambda letter: shared[letter])
        found = {} if shared[best] else (yield from self._each_option())
        return replace(ending, value=next(iter(found), best))

    def _each_option(self) -> _Steps[dict[str, TimeSpan]]:
        """Search for each option; return the first span found for it, by its letter. Options without one are left out."""
        results = yield [self._call(_SEARCHES[0], query=text, top_k=20) for text in self._options.values()]
        return {letter: span for letter, one in zip(self._options, results, strict=True) for span in _spans(one)[:1]}

    def _find(self) -> _Steps[_Conclusion]:
        """Call a library tool that finds things, else search and look at the hits; then describe the best, write a memory."""
        [found] = yield from self._by_library(self._intent)
        hits, results = [found] if _spans(found) else [], [found]
        for tool in _SEARCHES:
            if not hits:
                results += yield [self._call(tool, query=self._target, top_k=20)]
                hits = _hits(results[-1])
        spans = [_spans(hit)[0] for hit in hits]
        if not spans or (self.abstentions and (_is_unsure(found) or _judged(found, "not_found"))):
            return self._nothing(results)
        if not _spans(found) and (self._intent == "place" or self.kind == "interval"):
            in_order = sorted(spans, reverse=self._last)[:12]
            looks = yield [self._look(span.center) for span in in_order]
            seen = [(span, _records(look)) for span, look in zip(in_order, looks, strict=True)]
            sure = (item for look in looks if not _is_unsure(look) for item in _records(look) if not item.get("lacks"))
            if self.abstentions and self._intent != "words" and not any(sure):
                return self._nothing([*results, *looks])
            spans = [next(iter(_spans(some[0])), span) for span, some in seen if some] + spans
        span = spans[0]
        [looked] = yield [self._describe(span)]
        detail = (self._intent == "words" and _sentence(hits[0])) or _sentence(looked) or _sentence(hits[0])
        text = f"{self._target!r} was found at {_clock(span.start)}-{_clock(span.end)}: {detail}".removesuffix(": ")
        yield [self._remember(span, text)]
        return _Conclusion(text=text, spans=[span], value={"start_time": span.start, "end_time": span.end})

    def _count(self) -> _Steps[_Conclusion]:
        """Call a library tool that counts, else count what ``detect_objects`` finds in the whole video.

        The value is the sure number; the text says up to how many are possible, or that it is unknown.
        """
        [result] = yield from self._by_library("times" if self._intent == "times" else "count")
        fields = [item for node in _objects(result) for item in node.items()]
        counts = [value for key, value in fields if re.search("count|number|total|how_many", key.lower())]
        amount = next((match for value in counts if (match := _AMOUNT.fullmatch(str(value)))), None)
        if amount is None:
            [about] = yield [self._call("get_video_metadata")]
            [result] = yield [self._look(0, time_range={"start_time": 0, "end_time": about.get("duration", 0)})]
            found = {str(item.get("entity_id", place)): item for place, item in enumerate(_rows(result, "detections"))}
            [listed] = (yield [self._call("list_entities")]) if found else [{}]
            # The list says which may be another again; of those that a cut list leaves out, or a failed call, nothing is known.
            rows = _rows(listed, "entities")
            is_whole = "entities" in listed and not _is_open(listed, "entities")
            known = {str(item.get("entity_id")): not item.get("lacks") for item in rows}
            is_sure = [not item.get("lacks") and known.get(name, is_whole) for name, item in found.items()]
            is_open = not (found or _judged(result, "not_found")) or _is_open(result, "detections")
            least, most = sum(is_sure), len(is_sure)
        else:
            least, most = int(amount["least"]), int(amount["most"] or amount["least"])
            is_open = bool(amount["open"]) or (not most and _is_unsure(result))
        is_known = least == most and not is_open and not _is_unsure(result)
        if self.abstentions and (not is_known or (not least and not _judged(result, "not_found"))):
            return self._nothing([result])
        said = f"{least} to {most}" if most > least else str(least)
        text = f"{said}{' or more' * is_open} for {self._target!r}{_unjudged([result])}"
        if is_open and not most:
            text = f"It cannot be told how many there are of {self._target!r}{_unjudged([result])}"
        return _Conclusion(text=text, spans=_spans(result), value=least)

    def _nothing(self, results: Sequence[_Json]) -> _Conclusion:
        """Return the conclusion that nothing was found: it is not there only if a result says so and none is unsure."""
        value: Any = {"start_time": 0.0, "end_time": 0.0}
        if self.abstentions:
            is_absent = any(_judged(result, "not_found") for result in results) and not any(map(_is_unsure, results))
            value = self.abstentions[not is_absent]
        return _Conclusion(text=f"Nothing was found for {self._target!r}{_unjudged(results)}.", value=value)

    def _summarise(self) -> _Steps[_Conclusion]:
        """Call a library tool that summarises, else describe three scenes spread over the video."""
        [result] = yield from self._by_library("summary")
        if _sentence(result):
            return _Conclusion(text=_sentence(result), spans=_spans(result))
        [listed] = yield [self._call("list_scenes")]
        scenes = [span for item in _records(listed) for span in _spans(item)[:1]]
        chosen = list(dict.fromkeys(scenes[round(part * (len(scenes) - 1) / 2)] for part in range(3 if scenes else 0)))
        described = (yield [self._describe(span) for span in chosen]) if chosen else []
        lines = [f"{_clock(span.start)} {_sentence(one)}" for span, one in zip(chosen, described, strict=True)]
        if not lines:
            return _Conclusion(text="Nothing was found.")
        yield [self._remember(TimeSpan(start=chosen[0].start, end=chosen[-1].end), "\n".join(lines))]
        return _Conclusion(text="\n".join(lines), spans=chosen)

    def _by_library(self, intent: str) -> _Steps[Sequence[_Json]]:
        """Call the library tool whose name suits ``intent`` (a key of ``_INTENTS``) best and whose inputs the question gives.

        Return one result in a list: ``{}`` if there is no such tool.
        """
        from world_api.operations import OPERATIONS  # with all that reads rows, which no command's help needs

        serving = re.compile(_INTENTS[intent][1])
        scores = {
            name: len(set(serving.findall(name))) - 2 * (("first" if self._last else "last") in name)
            for name in self._tools
            if name not in OPERATIONS and name != _ANSWER_TOOL
        }
        for name in sorted(scores, key=lambda name: (-scores[name], name)):
            parameters = self._tools[name].get("parameters", {})
            properties = parameters.get("properties", {})
            values = {key: self._value(key, properties.get(key, {})) for key in parameters.get("required", ())}
            free = [key for key, value in values.items() if value == self._target and key != "category"]
            if scores[name] > 0 and None not in values.values() and len(free) <= 1:
                return (yield [Call(tool=name, arguments=values)])
        return [{}]

    def _value(self, name: str, schema: _Json) -> Any:
        """Return a value for a tool's parameter from the question; None for a type for which it has none, such as a time or a span."""
        if name == "video_id":
            return self._video_id
        if choices := schema.get("enum"):
            return self._category if self._category in choices else choices[0]
        if schema.get("type") == "string":
            return self._category if re.search("category|kind|type|class", name) else self._target
        return {"boolean": False, "integer": min(schema.get("maximum", 10), 10)}.get(str(schema.get("type")))

    def _call(self, tool: str, **arguments: Any) -> Call:
        return Call(tool=tool, arguments={**({"video_id": self._video_id} if self._video_id else {}), **arguments})

    def _look(self, time: float, **more: Any) -> Call:
        return self._call("detect_objects", timestamp=time, category=self._category, text_query=self._target, **more)

    def _describe(self, span: TimeSpan) -> Call:
        end = min(max(span.end, span.start + 1.0), span.start + 10.0)
        return self._call("describe_segment", start_time=span.start, end_time=end)

    def _remember(self, span: TimeSpan, text: str) -> Call:
        when = {"start_time": span.start, "end_time": max(span.end, span.start + 1.0)}
        return self._call("write_memory", level="event", time_range=when, content=text[:2000])


def _calls_made(messages: Sequence[_Json]) -> list[tuple[str, _Json]]:
    """Return tool and result of each call of the conversation, in order."""
    contents = {item.get("tool_call_id"): item.get("content") for item in messages if item.get("role") == "tool"}
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return [(call["function"]["name"], _result(contents.get(call["id"]))) for call in calls]


def _given(text: str) -> list[tuple[str, _Json]]:
    """Return the captions and speech lines in the user's message as search results, those with most words of the question first.

    Like ``_calls_made``: a list of (tool, result), here with one entry, or empty if there are no such lines.
    """
    wanted = {word for line in text.splitlines() if not line.startswith("{") for word in words(line)}
    data = [_result(line) for line in text.splitlines() if line.startswith("{")]
    hits = [
        {**item, "snippet": _sentence(item)}
        for one in data
        for key in ("captions", "lines")
        for item in one.get(key, ())
    ]
    hits.sort(key=lambda hit: -len(wanted & set(words(hit["snippet"]))))
    return [(_SEARCHES[0], {"candidates": hits})] if hits else []


def _result(content: Any) -> _Json:
    """Return the result in a tool's message; empty if it is a fault or no JSON object; ``judged`` if nothing was found."""
    value = (json_object(content) if isinstance(content, str) else None) or {}
    data = value.get(DATA, value)
    if not isinstance(data, Mapping) or "error" in data or data.get("status") == "error":
        return {}
    if data.get("status") == "empty":
        return {"judged": data.get("judged")}
    return {**_with_times(data), **({"truncated": value["truncated"]} if "truncated" in value else {})}


def _with_times(value: Any, under: str = "") -> Any:
    """Return a value with each time that is a text also as ``start_time`` and ``end_time``; pieces of evidence as objects."""
    if isinstance(value, list):
        return [_with_times(item, under) for item in value]
    if isinstance(value, str) and under == "evidence":
        return [_times_of(found) for found in _TIME.finditer(value) if found[2]]
    if not isinstance(value, Mapping):
        return value
    time = _TIME.fullmatch(str(value.get("time")))
    times = {} if time is None else _times_of(time)
    return {**times, **{key: _with_times(item, key) for key, item in value.items()}}


def _times_of(found: re.Match[str]) -> dict[str, float]:
    return {"start_time": float(found[1]), "end_time": float(found[2] or found[1])}


def _judged(result: _Json, key: str) -> Any:
    """Return what a result of an operation or a library tool reports under ``key``, such as ``not_judged``; None without."""
    judged = result.get("judged")
    return result.get(key) or (judged.get(key) if isinstance(judged, Mapping) else None)


def _is_unsure(result: _Json) -> bool:
    """Whether a result leaves open what is asked: it is partial, or words were not judged or spans not examined."""
    if "status" not in result and result.get("unmatched") and not result.get("not_found"):
        return True  # of an operation; a library tool is partial then
    return bool(result.get("status") == "partial" or _judged(result, "not_judged") or _judged(result, "not_examined"))


def _is_open(result: _Json, key: str) -> bool:
    """Whether there may be more than a list of a result has: things not judged, spans not examined, further pages."""
    truncated = result.get("truncated")
    shown = truncated.get("shown") if isinstance(truncated, Mapping) else None
    is_cut = isinstance(shown, Mapping) and key in shown
    return bool(is_cut or _judged(result, "not_judged") or _judged(result, "not_examined"))


def _unjudged(results: Sequence[_Json]) -> str:
    """Return the words that results could not judge, in brackets; empty without any."""
    found = (words for one in results if isinstance(words := _judged(one, "not_judged"), list))
    named = dict.fromkeys(str(word) for words in found for word in words)
    return f" (not judged: {', '.join(named)})" if named else ""


def _objects(value: Any) -> Iterator[_Json]:
    """Yield every JSON object inside a value, outer ones first; not those in the fields ``_ASIDE``."""
    waiting = deque([value])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, Mapping):
            yield node
            waiting.extend(item for key, item in node.items() if key not in _ASIDE)
        elif isinstance(node, list):
            waiting.extend(node)


def _spans(result: _Json) -> list[TimeSpan]:
    """Return the spans of a result in their order; those of its evidence if there are no others."""
    times = [(node.get("start_time"), node.get("end_time")) for node in _objects(result)]
    found = [
        TimeSpan(start=float(start), end=float(end))
        for start, end in times
        if isinstance(start, int | float) and isinstance(end, int | float) and 0 <= start <= end < 1e9
    ]
    return found or (_spans({"": result["evidence"]}) if result.get("evidence") else [])


def _records(result: _Json) -> list[_Json]:
    """Return the objects in the first list in a result that has any; empty if there is none."""
    lists = (value for node in _objects(result) for key, value in node.items() if key not in _ASIDE)
    objects = ([item for item in some if isinstance(item, Mapping)] for some in lists if isinstance(some, list))
    return next(filter(None, objects), [])


def _rows(result: _Json, key: str) -> list[_Json]:
    """Return the objects in a list of an operation's result, each with what all of them share."""
    shared, rows = result.get(f"all_{key}"), result.get(key)
    common = shared if isinstance(shared, Mapping) else {}
    return [{**common, **row} for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _hits(result: _Json) -> list[_Json]:
    """Return what a search found that has a time: moments that lack nothing, hits, and other moments."""
    moments, hits = ([one for one in _rows(result, key) if _spans(one)] for key in ("moments", "candidates"))
    sure = [one for one in moments if not one.get("lacks")]
    return [*sure, *hits, *(one for one in moments if one not in sure)]


def _sentence(result: _Json) -> str:
    """Return the first text in a field of ``_SENTENCES``, without its time; empty if there is none."""
    found = ((key, node.get(key)) for node in _objects(result) for key in _SENTENCES)
    texts = ((key, item[0] if isinstance(item, list) and item else item) for key, item in found)
    said = (_AFTER_TIME.sub("", text) if key in _HITS else text for key, text in texts if isinstance(text, str))
    return next((text.strip() for text in said if text.strip()), "")


def _clock(seconds: float) -> str:
    return "{:02d}:{:02d}".format(*divmod(int(seconds), 60))


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{value['start_time']} - {value['end_time']}"
    return ", ".join(value) if isinstance(value, list) else str(value)

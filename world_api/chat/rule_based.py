"""A small deterministic chat model that needs no endpoint.

It reads the question by rules (English or Chinese) and acts only through the tools in the request, like any other model behind the
port. It serves to try the whole system; its answers are no results, and say so.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard, TypeVar

from world_api.chat.messages import Call, completion, text_of
from world_api.chat.prompts import DATA
from world_api.core.canonical import parse_json
from world_api.core.lexicon import words
from world_api.core.spans import TimeSpan
from world_api.operations import OPERATIONS

RULE_BASED = "rule-based"
_ANSWER_TOOL = "submit_answer"
_SEARCHES = ("search_segments_by_text", "search_segments_by_semantics")  #: by words first, then by meaning

#: intent -> pattern of its questions (the first that matches counts), pattern of the tools that serve it
_INTENTS = {
    "times": (r"how often|how many times|几次|多少次", "times|often|appearance|count"),
    "count": (r"how many|number of|\bcount\b|多少|几[个人位名]", "distinct|different|how_many|number|count"),
    "summary": (r"summar|overview|happen|describe|概括|总结|描述|发生|讲了", "summar|overview|timeline"),
    "words": (
        r"\bsa(?:y|id)|\bspo|speak|mention|talk|written|\btext\b|说|提到|写|字幕",
        "sa[iy]|quote|spe[ea]|spok|mention",
    ),
    "place": (
        r"\bwhen|\bwhere|appear|first|last|\bfind|时候|何时|哪里|第一次|最后|出现",
        "locate|appear|find|first|last",
    ),
    "search": ("", "find|search|locate"),
}
_QUOTED = re.compile(r"[\"“”「『]([^\"“”「」『』]{1,200})[\"“”」』]")
_HEAD = re.compile(
    r"^(?:(?:(?:when|where|what|which|who|how|at|in|do|is|are|was|were|does|did|has|have|can|will|please|find|show|me|describe"
    r"|number|of|many|often|times?|different|first|last|said|written|summari[sz]e)\b|请问?|在?视频[中里]|什么时候|何时|在?哪里"
    r"|一?共?有?(?:多少|几)[个位名只]?|第一次|最后一次|出现了?|描述|谁|提到了?|有|是|在|的|，)\s*)+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s+(?:first|last|ever|finally|(?:appear|show|enter|come|arrive|leave|move|happen|do|say|wear|hold)(?:s|es|ed|ing)?|came|left"
    r"|seen|visible|shown|said|be|is|are|was|were|when|while)\b.*$"
    r"|(?:是?在?(?:什么时候|何时|哪里)|第一次|最后|出现|在?[做干]什么|说|提到|有?多少|几[次回]|[吗呢]).*$",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:m[ae]n|wom[ae]n|persons?|people|boys?|girls?|child(?:ren)?|who|s?he)\b|[人男女孩]", re.IGNORECASE
)
_LAST = re.compile(r"\blast\b|\bfinal|最后", re.IGNORECASE)
_LABELLED = re.compile(r"^(video|视频|question|问题|wanted|要求)(?: id)?\s*[:：]\s*(.*)$", re.IGNORECASE)
_LABELS = {"视频": "video", "问题": "question", "要求": "wanted"}
_OPTION = re.compile(r"^([A-Z])\.\s+(.+)$")
#: type of an answer -> the words that request it if there is no schema, and its ``type`` in a schema
_KINDS = {
    "order": (r"\border\b|顺序", "array"),
    "choice": (r"\boption\b|选项", "string"),
    "interval": (r"stretch|片段", "object"),
    "count": (r"whole number|整数", "integer"),
}

#: Fields of results that hold sentences, and those about how a result came about.
_SENTENCES = ("caption", "answer", "summary", "snippet", "content", "brief_caption", "text")
_ASIDE = frozenset("evidence cost calls warnings judged matched unmatched not_found not_judged not_examined".split())
_WORDING = {
    "found": ("{target!r} was found at {at}: {detail}", "“{target}”见于 {at}：{detail}"),
    "not found": ("Nothing was found for {target!r}.", "没有找到“{target}”。"),
    "counted": ("{number} for {target!r}: {detail}", "“{target}”共 {number}：{detail}"),
    "not counted": ("None was counted for {target!r}: {detail}", "“{target}”没有数到：{detail}"),
}

T = TypeVar("T")
_Json = Mapping[str, Any]
#: A plan yields the calls to make at once, is sent their results (empty if a call failed), and returns its conclusion.
_Steps = Generator[Sequence[Call], Sequence[_Json], T]


@dataclass(frozen=True, kw_only=True)
class _Question:
    """A parsed question: ``target`` is what it is about, ``category`` its noun, ``options`` are by their letters."""

    video_id: str
    text: str
    kind: str
    options: Mapping[str, str]
    intent: str
    target: str
    category: str

    def says(self, wording: str, **values: Any) -> str:
        """Return a text in the language of the question, under the mark of this model."""
        chinese = re.search(r"[㐀-鿿]", self.text) is not None
        text = _WORDING[wording][chinese].format(target=self.target, **values)
        return _marked(text.removesuffix(": ").removesuffix("："))


@dataclass(frozen=True, kw_only=True)
class _Conclusion:
    """The end of a plan: an answer in words, the spans it is based on, and what was counted or chosen."""

    text: str
    spans: Sequence[TimeSpan] = ()
    value: Any = None


class RuleBasedChatModel:
    """Plans by rules and keeps no state: each reply follows from the messages and the tools alone."""

    def __init__(self) -> None:
        self.name = RULE_BASED

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the next calls of the plan, or its conclusion; as text if there is no tool ``submit_answer``."""
        messages = [item for item in request.get("messages") or () if isinstance(item, Mapping)]
        functions = [item.get("function") for item in request.get("tools") or () if isinstance(item, Mapping)]
        tools = {function["name"]: function for function in functions if isinstance(function, Mapping)}
        first = next((said for item in messages if item.get("role") == "user" and (said := text_of(item))), "")
        question = _read_question(first, tools.get(_ANSWER_TOOL))
        done = [*_given(first), *_calls_made(messages)]
        used = next((tool for tool, _ in done if _is_library_tool(tool)), None)
        step = _next_step(_Planner(question, tools, used).answer(), tools, done)
        if isinstance(step, _Conclusion):
            answer = step.text if question.kind == "open" else step.value
            if _ANSWER_TOOL not in tools:
                return completion(model=RULE_BASED, content=_in_words(answer), usage=(0, 0))
            spans = [{"start_time": span.start, "end_time": span.end} for span in step.spans]
            step = [Call(tool=_ANSWER_TOOL, arguments={"answer": answer, "spans": spans})]
        calls = [replace(call, id=f"call_{place}") for place, call in enumerate(step, start=len(done) + 1)]
        return completion(model=RULE_BASED, content=None, calls=calls, usage=(0, 0))


def _next_step(
    plan: _Steps[_Conclusion], tools: Mapping[str, _Json], done: Sequence[tuple[str, _Json]]
) -> Sequence[Call] | _Conclusion:
    """Run a plan from its start: earlier calls get their results from the conversation, the next ones are the step.

    A call of a tool that is not offered gets an empty result, so that the plan continues without it.
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
    """Plans for one question. ``used``: a library tool called before, called again if none offered fits."""

    def __init__(self, question: _Question, tools: Mapping[str, _Json], used: str | None) -> None:
        self._question = question
        self._tools = tools
        self._used = used

    def answer(self) -> _Steps[_Conclusion]:
        """Return the plan for the question and the type of its answer."""
        question = self._question
        if question.kind == "order":  # what is not found comes last
            found = yield from self._each_option()
            letters = [
                *sorted(found, key=lambda letter: found[letter]),
                *(one for one in question.options if one not in found),
            ]
            text = _marked(", ".join(f"{letter} {question.options[letter]}" for letter in letters))
            return _Conclusion(text=text, spans=[found[one] for one in letters if one in found], value=letters)
        if question.kind == "count" or (question.kind != "interval" and question.intent in ("times", "count")):
            ending = yield from self._count()
        elif question.kind != "interval" and question.intent == "summary":
            ending = yield from self._summarise()
        else:
            ending = yield from self._find()
        if question.kind != "choice":
            return ending
        # The option that shares most words with what was found, else the first that is found at all.
        said = set(words(ending.text))
        shared = {letter: len(said & set(words(option))) for letter, option in question.options.items()}
        best = max(shared, key=lambda letter: shared[letter])
        found = {} if shared[best] else (yield from self._each_option())
        letter = next((letter for letter in shared if letter in found), best)
        return replace(ending, spans=[found[letter]] if letter in found else ending.spans, value=letter)

    def _each_option(self) -> _Steps[dict[str, TimeSpan]]:
        """Find each option by words, else by meaning; all options at once."""
        found: dict[str, TimeSpan] = {}
        for tool in _SEARCHES:
            missing = {letter: text for letter, text in self._question.options.items() if letter not in found}
            results = (yield [self._call(tool, query=text, top_k=20) for text in missing.values()]) if missing else []
            found |= {
                letter: _spans(result)[0] for letter, result in zip(missing, results, strict=True) if _spans(result)
            }
        return found

    def _find(self) -> _Steps[_Conclusion]:
        """Use one tool for the whole search, else a search whose candidates are confirmed; then describe and remember."""
        question = self._question
        [found] = yield from self._by_library()
        hits = [found] if _spans(found) else (yield from self._candidates())
        spans = [span for hit in hits for span in _spans(hit)[:1]]
        if not spans:
            return _Conclusion(text=question.says("not found"), value={"start_time": 0.0, "end_time": 0.0})
        if not _spans(found) and (question.intent == "place" or question.kind == "interval"):
            spans = [*(yield from self._confirmed(spans)), *spans]
        span = spans[0]
        [looked] = yield [self._describe(span)]
        quoted = _sentence(hits[0]) if question.intent == "words" else ""
        detail = quoted or _sentence(looked) or _sentence(hits[0])
        text = question.says("found", at=f"{_clock(span.start)}-{_clock(span.end)}", detail=detail)
        yield [self._remember(span, text)]
        return _Conclusion(text=text, spans=[span], value={"start_time": span.start, "end_time": span.end})

    def _count(self) -> _Steps[_Conclusion]:
        """Use one tool that counts, else list the entities of the category."""
        question = self._question
        [result] = yield from self._by_library("times" if question.intent == "times" else "count")
        number, detail, spans = _count_in(result), _sentence(result), _spans(result)
        if number is None:
            [listed] = yield [self._call("list_entities")]
            own = [(item, str(item.get("category") or item.get("hint") or "").lower()) for item in _records(listed)]
            named = [item for item, of in own if question.category == "any" or not of or question.category in of]
            number, detail = len(named), "; ".join(str(item.get("hint") or item.get("entity_id")) for item in named)
        if not number:  # if a tool knows no such category, zero is no answer
            [looked] = yield [self._look(0.0)]
            if isinstance(hint := looked.get("hint"), str) and hint:
                return _Conclusion(text=question.says("not counted", detail=hint), value=0)
        return _Conclusion(text=question.says("counted", number=number, detail=detail), spans=spans[:8], value=number)

    def _summarise(self) -> _Steps[_Conclusion]:
        """Use one tool for the whole summary, else describe three scenes spread over the video."""
        [result] = yield from self._by_library()
        if _sentence(result):
            return _Conclusion(text=_marked(_sentence(result)), spans=_spans(result)[:8])
        [listed] = yield [self._call("list_scenes")]
        scenes = [span for item in _records(listed) for span in _spans(item)[:1]]
        chosen = list(dict.fromkeys(scenes[round(part * (len(scenes) - 1) / 2)] for part in range(3 if scenes else 0)))
        described = (yield [self._describe(span) for span in chosen]) if chosen else []
        summary = "\n".join(
            f"{_clock(span.start)} {_sentence(one)}" for span, one in zip(chosen, described, strict=True)
        )
        if not summary:
            return _Conclusion(text=self._question.says("not found"))
        yield [self._remember(TimeSpan(start=chosen[0].start, end=chosen[-1].end), summary)]
        return _Conclusion(text=_marked(summary), spans=chosen)

    def _candidates(self) -> _Steps[Sequence[_Json]]:
        """Return the hits of a search by words, the best first; of a search by meaning if there are none."""
        hits: Sequence[_Json] = ()
        for tool in _SEARCHES:
            [result] = ({},) if hits else (yield [self._call(tool, query=self._question.target, top_k=20)])
            hits = hits or [hit for hit in _records(result) if _spans(hit)]
        return hits

    def _confirmed(self, spans: Sequence[TimeSpan]) -> _Steps[list[TimeSpan]]:
        """Return the spans in which detection finds the target, in time order; the latest first if the question is for the last."""
        in_order = sorted(spans, reverse=_LAST.search(self._question.text) is not None)[:12]
        looks = yield [self._look(span.center) for span in in_order]
        seen = [(span, records) for span, look in zip(in_order, looks, strict=True) if (records := _records(look))]
        return [next(iter(_spans(records[0])), span) for span, records in seen]

    def _by_library(self, intent: str = "") -> _Steps[Sequence[_Json]]:
        """Call the induced tool that fits the intent best, by its words and inputs; an empty result if none fits."""
        serving = re.compile(_INTENTS[intent or self._question.intent][1])
        tools = {name: tool for name, tool in self._tools.items() if _is_library_tool(name)}
        scores = {name: _score(tool, serving, self._question.text) for name, tool in tools.items()}
        for name in sorted(scores, key=lambda name: (-scores[name], name)):
            arguments = _filled(tools[name].get("parameters"), self._question) if scores[name] >= _IN_NAME else None
            if arguments is not None:
                return (yield [Call(tool=name, arguments=arguments)])
        return (yield [Call(tool=self._used, arguments={})]) if self._used else [{}]

    def _call(self, tool: str, **arguments: Any) -> Call:
        return Call(tool=tool, arguments={"video_id": self._question.video_id, **arguments})

    def _look(self, time: float) -> Call:
        question = self._question
        return self._call("detect_objects", timestamp=time, category=question.category, text_query=question.target)

    def _describe(self, span: TimeSpan) -> Call:
        end = min(max(span.end, span.start + 1.0), span.start + 10.0)
        return self._call("describe_segment", start_time=span.start, end_time=end)

    def _remember(self, span: TimeSpan, text: str) -> Call:
        when = {"start_time": span.start, "end_time": max(span.end, span.start + 1.0)}
        return self._call("write_memory", level="event", time_range=when, content=text[:2000])


def _read_question(text: str, answer_tool: _Json | None) -> _Question:
    """Parse the first message; the type of answer comes from the answer tool's schema, else from the words that request it."""
    labelled: dict[str, str] = {}
    options: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if label := _LABELLED.match(line):
            labelled.setdefault(_LABELS.get(label[1], label[1].lower()), label[2].strip())
        elif (option := _OPTION.match(line)) and "question" in labelled and "wanted" not in labelled:
            options.setdefault(option[1], option[2])
    question = labelled.get("question") or text
    schema = (answer_tool or {}).get("parameters", {}).get("properties", {}).get("answer")
    wanted = labelled.get("wanted", "")
    kind = next((kind for kind, (how, _) in _KINDS.items() if re.search(how, wanted, re.IGNORECASE)), "open")
    if isinstance(schema, Mapping):
        kind = next((kind for kind, (_, json_type) in _KINDS.items() if schema.get("type") == json_type), "open")
        kind = "open" if kind == "choice" and not schema.get("enum") else kind
    quoted = _QUOTED.search(question)
    target = quoted[1].strip() if quoted else _target(question)
    nouns = re.findall(r"[a-z]+", re.split(r"\s(?:in|on|with|near|at|of|that|from|by)\s", target.lower())[0])
    noun = "person" if _PERSON.search(target) else re.sub(r"(?<=[a-z]{3})(?<!s)s$", "", nouns[-1]) if nouns else "any"
    return _Question(
        video_id=labelled.get("video", ""),
        text=question,
        kind=kind if options or kind not in ("choice", "order") else "open",
        options=options,
        intent=next(intent for intent, (how, _) in _INTENTS.items() if re.search(how, question, re.IGNORECASE)),
        target=target,
        category="any" if quoted else noun,
    )


def _target(text: str) -> str:
    """Return what a question is about: its words without question words."""
    plain = re.sub(r"[?？!！.。]+\s*$", "", text.strip())
    about = re.search(
        r"\b(?:about|mention(?:s|ed)?|(?:look|glance|glimpse) (?:at|of)|(?:sight|appearance) of"
        r"|how (?:far|soon|late|early|long)\b.*?\b(?:do|does|did|is|are|was|were))\s+(.+)$",
        plain,
        re.IGNORECASE,
    )
    return _TAIL.sub("", _HEAD.sub("", about[1] if about else plain)).strip(" ,，的了") or plain or "anything"


_IN_NAME, _IN_DESCRIPTION = 3, 1
_NOT_FOR = re.compile(r"\b(?:do not|don't|not) (?:use|for|when|if)\b[^.]*")


def _is_library_tool(name: str) -> bool:
    return name not in OPERATIONS and name != _ANSWER_TOOL


def _score(tool: _Json, serving: re.Pattern[str], question: str) -> int:
    """Score how well a tool serves an intent, by the words of its name and description."""
    name, description = tool["name"].lower(), _NOT_FOR.sub("", str(tool.get("description")).lower())
    other_end = "first" if _LAST.search(question) else "last"
    score = _IN_NAME * len(set(serving.findall(name))) + _IN_DESCRIPTION * len(set(serving.findall(description)))
    return score - 2 * _IN_NAME * (other_end in name)


def _filled(parameters: Any, question: _Question) -> dict[str, Any] | None:
    """Return values for the required parameters; None if one cannot be known, or if there are two free texts."""
    properties = parameters.get("properties", {}) if isinstance(parameters, Mapping) else {}
    required = parameters.get("required", ()) if isinstance(parameters, Mapping) else ()
    values = {name: _value(name, properties.get(name), question) for name in required}
    free = [name for name, value in values.items() if value == question.target and name != "category"]
    return None if None in values.values() or len(free) > 1 else values


def _value(name: str, schema: Any, question: _Question) -> Any:
    """Return a value for a parameter by its name and schema; None for a time, a span or an id, which are not known yet."""
    choices = [schema, *schema.get("anyOf", ())] if isinstance(schema, Mapping) else []
    schema = next((one for one in choices if one.get("type") not in (None, "null")), {})
    if name == "video_id":
        return question.video_id
    if schema.get("enum"):
        return question.category if question.category in schema["enum"] else schema["enum"][0]
    match schema.get("type"):
        case "string" | ["string", "null"]:
            return question.category if re.search("category|kind|type|class", name) else question.target
        case "boolean":
            return False
        case "integer":
            return max(schema.get("minimum", 1), min(schema.get("maximum", 10), 10))
    return None


def _calls_made(messages: Sequence[_Json]) -> list[tuple[str, _Json]]:
    """Return the calls of the conversation with their results, in order."""
    contents = {item.get("tool_call_id"): item.get("content") for item in messages if item.get("role") == "tool"}
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return [(str(call.get("function", {}).get("name")), _result(contents.get(call.get("id")))) for call in calls]


def _given(text: str) -> list[tuple[str, _Json]]:
    """Return captions and speech lines given with the question as a search result, the best matches first."""
    wanted = {word for line in text.splitlines() if not line.startswith("{") for word in words(line)}
    data = [_result(line) for line in text.splitlines() if line.startswith("{")]
    given = [item for one in data for key in ("captions", "lines") for item in one.get(key) or ()]
    hits = [{**item, "snippet": _sentence(item)} for item in given if isinstance(item, Mapping)]
    hits.sort(key=lambda hit: -len(wanted & set(words(hit["snippet"]))))
    return [(_SEARCHES[0], {"candidates": hits})] if hits else []


def _result(content: Any) -> _Json:
    """Return the result in a tool's message; empty for a fault, for nothing found and for what is not a JSON object."""
    try:
        value = parse_json(content) if isinstance(content, str) else None
    except ValueError:
        return {}
    data = value.get(DATA, value) if isinstance(value, Mapping) else None
    if not isinstance(data, Mapping) or "error" in data or data.get("status") in ("empty", "error"):
        return {}
    return data


def _objects(value: Any) -> Iterator[_Json]:
    """Yield every object inside a JSON value, outer ones first."""
    waiting = deque([value])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, Mapping):
            yield node
            waiting.extend(item for key, item in node.items() if key not in _ASIDE)
        elif isinstance(node, list):
            waiting.extend(node)


def _spans(result: _Json) -> list[TimeSpan]:
    """Return the spans of a result in its order; those of its evidence if there are no others."""
    times = [(node.get("start_time"), node.get("end_time")) for node in _objects(result)]
    found = [
        TimeSpan(start=float(start), end=float(end))
        for start, end in times
        if _is_number(start) and _is_number(end) and 0 <= start <= end < 1e9
    ]
    return found or (_spans({"": result["evidence"]}) if result.get("evidence") else [])


def _records(result: _Json) -> list[_Json]:
    """Return the objects of the first list of objects in a result."""
    fields = (item for node in _objects(result) for item in node.items() if item[0] not in _ASIDE)
    lists = (value for _, value in fields if isinstance(value, list) and value and isinstance(value[0], Mapping))
    return [item for item in next(lists, []) if isinstance(item, Mapping)]


def _sentence(result: _Json) -> str:
    """Return the first text in a field of ``_SENTENCES``; empty if there is none."""
    texts = (node.get(key) for node in _objects(result) for key in _SENTENCES)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


def _count_in(result: _Json) -> int | None:
    """Return the first whole number in a field with the name of a count."""
    fields = (item for node in _objects(result) for item in node.items())
    counts = (value for key, value in fields if re.search("count|number|total|how_many", key.lower()))
    return next((int(value) for value in counts if _is_number(value) and float(value).is_integer()), None)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _clock(seconds: float) -> str:
    """Format as ``mm:ss``, or ``h:mm:ss`` from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes:02d}:{rest:02d}"


def _marked(text: str) -> str:
    return f"[{RULE_BASED}] {text}"


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{value['start_time']} - {value['end_time']}"
    return ", ".join(value) if isinstance(value, list) else str(value)

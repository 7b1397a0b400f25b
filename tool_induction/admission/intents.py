"""What a tool says it does: closed lists of words in its name, its inputs, its outputs and the first sentence of its description.

Only these words are read. A tool that says nothing of the kind is not judged by it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language import model, types
from tool_induction.language.expressions import Const, names

#: What an input is: the looks of a thing, a deed, words (that are only said, or only written), a kind of thing.
Role = Literal["looks", "deed", "words", "said", "written", "category"]
ROLES: Mapping[Role, frozenset[str]] = {
    "looks": frozenset(
        "look looks looking person people who whom someone somebody thing things object objects item appearance clothes "
        "subject entity actor visitor 外观 外貌 长相 人物 物体".split()
    ),
    "deed": frozenset(
        "deed deeds action actions event events activity act doing happening happens occurrence effect incident 动作 事件".split()
    ),
    "words": frozenset(
        "word words quote line lines phrase said spoken speech utterance sentence quotation 台词 话 文字 字样".split()
    ),
    "category": frozenset("category kind class 类别".split()),
}
#: How words are there, if only one of the two is meant.
WAYS: Mapping[Literal["said", "written"], frozenset[str]] = {
    "said": frozenset(
        "said say says spoken speech speak speaks uttered utterance heard dialogue aloud 说 台词 口头 对白".split()
    ),
    "written": frozenset(
        "written screen sign signs signage shown subtitle subtitles readable 屏幕 画面 字幕 招牌 写 显示".split()
    ),
}
FIRST = frozenset("first earliest initial initially 首次 第一次 最早".split())
LAST = frozenset("last latest final finally 最后 最晚".split())
COUNT = frozenset("count counts number times many often occurrences total n 次数 数量 多少 几次 几处 几个 一共".split())
EVERYTHING = COUNT | frozenset("every all each whole entire everything 所有 全部".split())
DISTINCT = frozenset("different distinct unique individual individuals 不同".split())
REPEATED = frozenset("times often frequent frequently occurrences occasions visits appearances repeatedly 次数".split())
SECONDS = frozenset("seconds duration long time total minutes hours milliseconds 时长 多久".split())
PRESENCE = frozenset(
    "seen present found exists exist appears reappears returns happens happened ever there shown visible occurs said".split()
)
#: what a result is about instead of the thing that was asked for, its surroundings
AROUND = frozenset(
    "before after next previous around between cause causes reason reasons consequence consequences follows following later "
    "earlier meanwhile during until since context scene scenes segment window elsewhere other others "
    "differ compare compares difference 之前 之后 前后 随后 接着 后来 下一 上一 期间 之间 原因 场景 片段 其他 比较".split()
)
TOGETHER = frozenset("together both simultaneously overlap overlapping same shared 同时 一起".split())
#: that the others are meant who are there beside one
COMPANY = frozenset("others other else company companion companions besides alongside accompanies 其他 另外".split())
#: that the time is meant in which something is not there
ABSENCE = frozenset("absence absent away pause pauses gap gaps unseen offscreen 缺席 间隔".split())
_ORDINAL = frozenset("nth ordinal index occurrence position which".split())
_NUMBERED = frozenset("n number rank".split())
_FROM_ZERO = re.compile(r"\b(?:0|zero)\b")
_FROM_ONE = re.compile(r"\b(?:1|one|first|nth|which)\b|第")
LEAST = frozenset("min minimum least".split())
NEAREST = frozenset("nearest closest 最近 最接近".split())
BEFORE = frozenset("before previous cause causes reason reasons earlier leads led 之前 原因".split())
AFTER = frozenset("after next follow follows following followed consequence consequences afterwards 之后 结果".split())
#: what is given instead of a thing's own span
PLACES = frozenset("scene scenes segment window context before after previous next prior following".split())
_START = frozenset("start starts begin begins from since".split())
_END = frozenset("end ends until to stop".split())
EDGES = _START | _END
#: that a thing comes into view, or goes out of it
ARRIVES = frozenset("appears arrives arrival enters enter entrance entry comes 出现 进入".split())
LEAVES = frozenset(
    "gone goes leaves leave leaving departs departure exits exit disappears disappearance vanishes 离开 消失".split()
)
#: Parameters of operations whose arguments have a role.
_PARAMETERS: Mapping[str, Role] = {"category": "category", "text_query": "looks", "entity_hint": "looks"}
_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_LONGEST_HAN = 4  #: characters of a word without spaces around it
_NEGATED = re.compile(r"(?:\b(?:not|never|nor|rather than|instead of)\b|不|而非)[^,.;:。，；：、]*", re.IGNORECASE)
_ADVICE = re.compile(
    r"(?:^|(?<=[.;!?。；]))\s*(?:(?:Use|Not|Never|Do not|For(?! how)|When asked)\b|用于|不用于|适用于|不适用|请勿).*",
    re.DOTALL,
)
Edge = Literal["start", "end", ""]


def words_in(text: str) -> frozenset[str]:
    """Return the words of a name or a sentence, in lower case; of Chinese, which has no spaces, all that may be words."""
    runs = _HAN.findall(text)
    lengths = range(1, _LONGEST_HAN + 1)
    pieces = {run[at : at + length] for run in runs for length in lengths for at in range(len(run) - length + 1)}
    return frozenset(_WORD.findall(_HAN.sub(" ", text.lower()))) | pieces


def edge_of(name: str) -> Edge:
    """Return which end of a span a time output is by its name; empty if it may be any moment of it."""
    own = words_in(name)
    return "start" if own & _START else "end" if own & _END else ""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """What one tool says that it does."""

    tool: model.Tool

    @cached_property
    def said(self) -> frozenset[str]:
        """The words of the tool's name and of what its description says before any advice when to use it, up to the first sentence."""
        description = _ADVICE.sub("", self.tool.description)
        first = re.split(r"(?<=[.;:])(?:\s|$)|(?<=[。；：])", description.strip(), maxsplit=1)[0]
        return words_in(self.tool.name) | words_in(first)

    @cached_property
    def promised(self) -> frozenset[str]:
        """The words of the tool's name and of all its description before any advice when to use it."""
        return words_in(self.promise)

    @property
    def promise(self) -> str:
        """The tool's name and all its description before any advice when to use it."""
        return f"{self.tool.name} {_ADVICE.sub('', self.tool.description)}"

    @property
    def counts(self) -> bool:
        """Whether it says that it counts."""
        counting = frozenset({"count", "counts", "number", "many", "often", "数量", "多少", "次数"})
        return bool(self.said & counting)

    @property
    def is_about_surroundings(self) -> bool:
        """Whether it is about what is around the thing that it is asked for, or relates several things."""
        return bool(self.said & AROUND)

    def side(self, arguments: Mapping[str, Any]) -> Literal["before", "after", ""]:
        """Return which side of an event it is about, by an argument that says so or by the tool's words; empty for both or neither."""
        for own in (self._chosen(arguments), words_in(self.tool.name), self.said):
            is_before, is_after = bool(own & BEFORE), bool(own & AFTER)
            if is_before or is_after:
                return "" if is_before and is_after else "before" if is_before else "after"
        return ""

    @property
    def ordinal(self) -> str:
        """The input, a whole number, that says which of several occurrences is meant, counted from 1; empty if there is none."""
        for item in self.tool.inputs:
            own, says = words_in(item.name), item.description.lower()
            is_meant = own & _ORDINAL or (own & _NUMBERED and _FROM_ONE.search(says))
            if types.plain(item.type) == types.INT and is_meant and not _FROM_ZERO.search(says):
                return item.name
        return ""

    def _chosen(self, arguments: Mapping[str, Any]) -> frozenset[str]:
        """Return the words of the enumerated inputs' values."""
        default = {item.name: item.default.value for item in self.tool.inputs if item.default is not None}
        enums = (item.name for item in self.tool.inputs if isinstance(types.plain(item.type), types.EnumType))
        return words_in(" ".join(str((default | dict(arguments)).get(name, "")) for name in enums))

    def which(self, output: str, arguments: Mapping[str, Any]) -> Literal["first", "last", ""]:
        """Return which of several occurrences an output is: by its name, by an argument that says so, or by the tool's words."""
        for own in (words_in(output), self._chosen(arguments), words_in(self.tool.name), self.said):
            is_first, is_last = bool(own & FIRST), bool(own & LAST)
            if "best" in own:  # of matches the best one comes first
                return ""
            if is_first is not is_last:
                return "first" if is_first else "last"
            if is_first:
                return ""
        return ""


def roles_of(name: str, tools: Mapping[str, CompiledTool]) -> dict[str, Role]:
    """Return the roles of a tool's inputs of texts and lists of texts; those whose role is not clear are left out.

    A role is read from the input's name, else from the operations and tools that it is passed to, else from its
    description, else from what the tool says of itself.
    """
    tool = tools[name].tool
    said, passed = Intent(tool=tool).said, _passed(name, tools)
    found: dict[str, Role] = {}
    for item in tool.inputs:
        whole = types.plain(item.type)
        inner = types.plain(whole.item) if isinstance(whole, types.ListType) else whole
        if inner != types.STRING or item.name.endswith(("_id", "_ids")):
            continue
        named = (_roles_in(words_in(item.name)), passed.get(item.name, set()), _roles_in(words_in(item.description)))
        clear = next((roles for roles in (*named, _roles_in(said) - {"category"}) if len(roles) == 1), None)
        # Where several are named, any of them may be asked for.
        several = _roles_in(words_in(item.description)) or _roles_in(said)
        in_order: tuple[Role, ...] = ("deed", "words")
        role = next(iter(clear or [role for role in in_order if role in several]), None)
        if role:
            found[item.name] = role
            if found[item.name] == "words":
                found[item.name] = _way(tool, item)
    return found


def _way(tool: model.Tool, item: model.Input) -> Role:
    """Return whether an input is words that are only said, or only written, as far as the tool or the input says so."""
    for text in (f"{tool.name} {item.name}", _ADVICE.sub("", tool.description), item.description):
        own = words_in(_NEGATED.sub(" ", text))
        ways = [way for way, known in WAYS.items() if own & known]
        if ways:
            return ways[0] if len(ways) == 1 else "words"
    return "words"


def _roles_in(words: frozenset[str]) -> set[Role]:
    return {role for role, known in ROLES.items() if known & words}


def _passed(name: str, tools: Mapping[str, CompiledTool]) -> dict[str, set[Role]]:
    """Return the roles of inputs by the parameters of operations, and the inputs of tools, that they are passed to."""
    found: dict[str, set[Role]] = defaultdict(set)
    for step in model.walk_steps(tools[name].tool.steps):
        if not isinstance(step, model.Call):
            continue
        source = dict(step.params).get("source")
        is_quote = isinstance(source, Const) and source.value in ("speech", "screen_text")
        roles: Mapping[str, Role] = {**_PARAMETERS, "query": "words"} if is_quote else _PARAMETERS
        if step.kind == "tool":
            roles = roles_of(step.target, tools)
        for key, value in step.params:
            for one in names(value) if key in roles else ():
                found[one].add(roles[key])
    return found

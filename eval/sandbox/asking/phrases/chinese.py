"""Chinese words: sentences are made anew from the parts of an event. What has no word here is not asked in Chinese."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from eval.sandbox.asking.phrases.wording import Unsayable, Wording, letters
from eval.sandbox.facts import Event, FilmFacts, Person, Place, Relation, Thing

_COLOURS = {
    "black": "黑色", "white": "白色", "grey": "灰色", "red": "红色", "orange": "橙色", "yellow": "黄色", "green": "绿色",
    "blue": "蓝色", "purple": "紫色", "pink": "粉色", "brown": "棕色",
}  # fmt: skip
_NOUNS = {
    "folder": "文件夹", "cup": "杯子", "book": "书", "box": "盒子", "bag": "包", "key": "钥匙", "umbrella": "雨伞",
    "hat": "帽子", "scarf": "围巾", "letter": "信", "file": "文件", "desk": "书桌", "table": "桌子", "chair": "椅子",
    "armchair": "扶手椅", "sofa": "沙发", "bench": "长凳", "stool": "凳子", "drawer": "抽屉", "cupboard": "柜子",
    "cabinet": "柜子", "shelf": "架子", "counter": "台面", "door": "门", "hook": "挂钩", "window": "窗户",
    "workbench": "工作台", "floor": "地板", "side table": "边桌", "coffee table": "茶几", "office": "办公室",
    "kitchen": "厨房", "library": "图书馆", "corridor": "走廊", "meeting room": "会议室", "workshop": "工作间",
    "entrance hall": "门厅", "living room": "客厅",
}  # fmt: skip
_SIDES = {
    "left": "左边的", "right": "右边的", "middle": "中间的", "upper": "上面的", "lower": "下面的", "top": "最上面的",
    "bottom": "最下面的", "first": "第一个", "second": "第二个", "third": "第三个",
}  # fmt: skip
_INSIDE = ("抽屉", "柜子", "盒子", "包")
_THIRDS = ("前三分之一", "中间三分之一", "最后三分之一")


class Chinese(Wording):
    """Chinese."""

    language = "zh"

    def __init__(self, facts: FilmFacts) -> None:
        self._facts = facts
        self._people = {item.id: item for item in facts.people}
        self._things = {item.id: item for item in facts.things}
        self._places = {item.id: item for item in facts.places}

    def person(self, person: Person) -> str:
        """By the colour of the coat, where nobody else wears that and the English words say no more."""
        coat = person.looks.get("coat", "")
        if f"in the {coat} coat" not in person.description or " and " in person.description:
            raise Unsayable(person.description)
        if sum(item.looks.get("coat") == coat for item in self._facts.people) != 1:
            raise Unsayable(person.description)
        return f"穿{_word(_COLOURS, coat)}外套的人"

    def thing(self, thing: Thing) -> str:
        """By colour and kind, where that is all its name says."""
        if thing.name.removeprefix("the ") != f"{thing.colour} {thing.category}":
            raise Unsayable(thing.name)
        return self.made_up(thing.colour, thing.category)

    def kind_of_thing(self, category: str) -> str:
        """The kind."""
        return _word(_NOUNS, category)

    def made_up(self, colour: str, category: str) -> str:
        """Colour and kind."""
        return _word(_COLOURS, colour) + "的" + _word(_NOUNS, category)

    def place(self, place: Place) -> str:
        """By its name."""
        return _noun(place.name)

    def clause(self, event: Event) -> str:
        """Who does what; as unmistakable as in English."""
        told = self._clause(event)
        if self._clauses.get(told) != self._same_clause[event.clause]:
            raise Unsayable(event.clause)
        return told

    def doing(self, event: Event) -> str:
        """The clause."""
        return self.clause(event)

    def deed(self, event: Event) -> str:
        """What is done, as unmistakable as in English."""
        told = self._deed(event)
        if self._deeds.get((event.actor, told)) != self._same_deed[event.actor, event.verb_phrase]:
            raise Unsayable(event.verb_phrase)
        return told

    def does(self, event: Event) -> str:
        """What is done."""
        return self.deed(event)

    def kept(self, relation: Relation, keeper: Person | None, place: Place | None) -> str:
        """Holder or place."""
        if keeper is not None:
            return ("戴在{}身上" if relation.kind == "wears" else "在{}手里").format(self.person(keeper))
        room = "" if place is None else self.place(place)
        return f"在{room}{_at(_noun(relation.object))}"

    def seconds(self, amount: float) -> str:
        """Whole seconds."""
        return f"约{round(amount)}秒"

    def moment(self, time: float) -> str:
        """Whole seconds."""
        return f"{round(time)}秒"

    def range(self, start: float, end: float) -> str:
        """Whole seconds."""
        return f"{round(start)}秒到{round(end)}秒之间"

    def within(self, start: float, end: float, question: str) -> str:
        """Whole seconds."""
        return f"只看视频的{round(start)}秒到{round(end)}秒这一段。{question}"

    def third(self, number: int) -> str:
        """Thirds."""
        return _THIRDS[number]

    def answer(self, is_so: bool) -> str:
        """Yes, no."""
        return "是" if is_so else "否"

    def row(self, parts: Sequence[str]) -> str:
        """One after the other."""
        return "，然后".join(parts)

    def change(self, before: str, after: str) -> str:
        """Side by side."""
        return f"之前：{before}；之后：{after}"

    def only(self, who: str, does: str, other: str) -> str:
        """With a stress on who does not."""
        return f"{who}{does}，{other}从来没有"

    def both(self, does: str) -> str:
        """Of two."""
        return f"两人都{does}"

    def lies(self, thing: str, where: str) -> str:
        """In the present."""
        return thing + where

    def busy(self, who: str, deeds: str) -> str:
        """A list."""
        return f"{who}：{deeds}"

    def had(self, holder: str, origin: str) -> str:
        """Holder first."""
        return f"{holder}；起初它{origin}"

    def put_into(self, target: str, room: str) -> str:
        """With the room."""
        return f"放进{room}{_at(_noun(target))}"

    def labelled(self, category: str, label: str) -> str:
        """With the colour of the label."""
        return f"贴有{_word(_COLOURS, label)}标签的{_word(_NOUNS, category)}"

    def lettered(self, parts: Sequence[str]) -> str:
        """In brackets."""
        return "，".join(letters(parts))

    def _clause(self, event: Event) -> str:
        return self.person(self._people[event.actor]) + self._deed(event)

    def _deed(self, event: Event) -> str:
        thing = self.thing(self._things[event.thing]) if event.thing else ""
        other = self.person(self._people[event.other]) if event.other else ""
        target = _noun(event.target) if event.target else ""
        match event.kind:
            case "enters" | "leaves":
                with_it = f"拿着{thing}" if thing else ""
                return with_it + ("走进" if event.kind == "enters" else "离开") + self.place(self._places[event.place])
            case "sits":
                return f"在{_at(target)}坐下" if target else "坐下"
            case "stands_up":
                return f"从{_at(target)}站起来" if target else "站起来"
            case "picks_up":
                return f"从{_at(target)}拿起{thing}" if target else f"拿起{thing}"
            case "puts_down":
                return f"把{thing}放在{_at(target)}" if target else f"放下{thing}"
            case "puts_on" | "takes_off":
                return ("戴上" if event.kind == "puts_on" else "摘下") + thing
            case "gives" if other:
                return f"把{thing}交给{other}"
            case "opens" | "closes" if target:
                return ("打开" if event.kind == "opens" else "关上") + target
            case "waves":
                return f"向{other}挥手" if other else "挥手"
            case "drinks":
                return f"用{thing}喝东西" if thing else "喝东西"
        raise Unsayable(event.clause)

    @cached_property
    def _clauses(self) -> Counter[str]:
        return Counter(told for item in self._facts.events if (told := self._perhaps(item, self._clause)))

    @cached_property
    def _deeds(self) -> Counter[tuple[str, str]]:
        return Counter((item.actor, told) for item in self._facts.events if (told := self._perhaps(item, self._deed)))

    @cached_property
    def _same_clause(self) -> Counter[str]:
        return Counter(item.clause for item in self._facts.events)

    @cached_property
    def _same_deed(self) -> Counter[tuple[str, str]]:
        return Counter((item.actor, item.verb_phrase) for item in self._facts.events)

    @staticmethod
    def _perhaps(event: Event, say: object) -> str:
        try:
            return str(say(event)) if callable(say) else ""
        except Unsayable:
            return ""


def _word(table: dict[str, str], word: str) -> str:
    if word not in table:
        raise Unsayable(word)
    return table[word]


def _noun(name: str) -> str:
    """A noun with what says which one: "the left drawer", "the meeting room", "office 14"."""
    rest = re.sub(r"^(?:the|a|an) ", "", name.strip().casefold())
    number = re.search(r" (\d+)$", rest)
    if number:
        return number.group(1) + "号" + _noun(rest[: number.start()])
    if rest in _NOUNS:
        return _NOUNS[rest]
    first, _, others = rest.partition(" ")
    if not others:
        raise Unsayable(name)
    if first in _SIDES:
        return _SIDES[first] + _noun(others)
    return _word(_COLOURS, first) + _noun(others)


def _at(noun: str) -> str:
    """In it or on it, as its kind has it."""
    return noun + ("里" if noun.endswith(_INSIDE) else "上")

"""What the model is told: the language, the domain, and what is wrong with the tools it wrote.

The words stand in ``prompts/*.jinja``; the tables in them are made from those the compiler and the runtime use. ``hash`` names both:
with another operation, aggregate, limit or wording it is another prompt.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeVar, get_args

from tool_induction.aggregates.table import AGGREGATES, AggregateSpec, Parameter
from tool_induction.checking.results import operation_result
from tool_induction.checking.typed import JOINING, joined_field, list_field
from tool_induction.documents.schema import step_keys
from tool_induction.domains import Domain, WorkedExample
from tool_induction.language import limits
from tool_induction.language.model import LOOP_KEYS, LOOPING, STEP_MODELS
from tool_induction.language.parsing import FILTERS
from tool_induction.language.types import (
    BOOKKEEPING,
    JUDGEMENT,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    known_types,
    operation_types,
    show,
    world_types,
)
from world_api.backends.chat.prompts import PromptFiles
from world_api.core.canonical import content_hash
from world_api.operations import operations_for
from world_api.operations.registry import BESIDE

#: plain: JSON in the text; structured: the server holds the reply to the language's JSON Schema; strict: to the form of it
#: that keeps to the rules of OpenAI's strict mode
Mode = Literal["plain", "structured", "strict"]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class FailingTool:
    """A tool that is handed back: its name, its document as it was written, and what is wrong with it."""

    name: str
    text: str
    faults: tuple[str, ...]


class InducerPrompts:
    """The inducer's prompts, filled in. ``groups``: optional groups of operations that tools may call beside the sixteen."""

    def __init__(
        self, folder: str = "prompts", *, groups: frozenset[str] = frozenset(), allow_judge: bool = False
    ) -> None:
        self._groups = groups
        self._allow_judge = allow_judge
        self._files = PromptFiles("tool_induction.inducer", folder)
        self._worked = (
            (files("tool_induction.inducer") / folder / "worked_tool.json").read_text(encoding="utf-8").strip()
        )

    @property
    def hash(self) -> str:
        """SHA-256 over the prompt files and the tables that are filled into them."""
        return content_hash([self._files.hash, *(self.system(mode) for mode in get_args(Mode))])

    def system(self, mode: Mode) -> str:
        """What stays the same in every request."""
        return self._files.render(
            "system",
            reply_form=self._reply_form(mode),
            worked_tool=self._worked,
            **_language_tables(self._groups, allow_judge=self._allow_judge),
        )

    def language(self) -> str:
        """The operations and the tool language alone, with an example of a tool: for whoever writes one that is not kept."""
        told = self._files.render("language", **_language_tables(self._groups, allow_judge=self._allow_judge))
        return f"{told}\n\n{self._files.render('worked', worked_tool=self._worked)}"

    def request(self, domain: Domain, *, count: int, seed: int) -> str:
        """What is asked of one draw: the domain and the kinds of tools, in an order that the seed decides."""
        kinds = _shuffled(domain.tool_kinds, random.Random(f"kinds {seed}"))  # noqa: S311 - an order, not a secret
        return self._files.render("request", count=count, domain=self.domain(domain, seed=seed), tool_kinds=kinds)

    def domain(self, domain: Domain, *, seed: int) -> str:
        """The domain alone: what is asked in it, with the templates of induction, and the worked examples."""
        order = random.Random(f"types {seed}")  # noqa: S311 - an order, not a secret
        kinds = [kind for kind in domain.question_types if kind.of("induction")]
        return self._files.render(
            "domain",
            title=domain.title,
            description=domain.description,
            question_types=[
                {
                    "about": kind.about,
                    "answer": kind.answer,
                    "templates": [wording for item in kind.of("induction") for wording in item.wordings],
                }
                for kind in _shuffled(kinds, order)
            ],
            examples=examples_of(domain, seed),
        )

    def repair(self, domain: Domain, tools: Sequence[FailingTool], *, usable: Sequence[str], mode: Mode) -> str:
        """What is handed back in a repair round: the failing tools alone."""
        return self._files.render(
            "repair", title=domain.title, tools=tools, usable=usable, reply_form=self._reply_form(mode)
        )

    def _reply_form(self, mode: Mode) -> str:
        return self._files.render("reply_form", mode=mode)


def _language_tables(groups: frozenset[str], *, allow_judge: bool) -> dict[str, Any]:
    return {
        "operations": list(operation_lines(groups)),
        "records": list(record_lines(groups)),
        "types": known_types(),
        "steps": list(step_lines(allow_judge=allow_judge)),
        "list_rules": list(list_lines(groups)),
        "loop_keys": loop_keys(),
        "limits": limits,
        "filters": sorted(FILTERS),
        "aggregates": list(aggregate_lines()),
    }


def examples_of(domain: Domain, seed: int) -> list[WorkedExample]:
    """The worked examples in the order in which a seed puts them."""
    return _shuffled(domain.examples, random.Random(f"examples {seed}"))  # noqa: S311 - an order, not a secret


def _shuffled(items: Sequence[T], order: random.Random) -> list[T]:
    return order.sample(items, len(items))


#: The runtime reads these itself; a tool has no use for them.
_FOR_THE_RUNTIME = JUDGEMENT - {"unused_words", "lacks"}
_MOST_WORDS = 4  #: of an enumeration that is written out where it is used
_STRETCH = ("start_time", "end_time", "center_time")

_TAKES = {
    "list": "list",
    "lists": "[list, list, ...]",
    "pair": '{"a": list, "b": list}',
    "mix": "anything",
    "slots": "[item?, item?, ...]",
    "nothing": "",
}


def operation_lines(groups: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Each operation's signature, and what it does."""
    for name, operation in operations_for(groups).items():
        types = operation_types(name)
        properties = types.parameters_schema.get("properties", {})
        parameters = ", ".join(
            _parameter(key, type_, properties[key], required=key in types.required)
            for key, type_ in types.parameters.items()
            if key != "video_id"
        )
        given = f"video_id{', ' if parameters else ''}{parameters}"
        mark = " (writes)" if operation.state == "writes" else ""
        yield f"{name}({given}) -> {_result(types.result)}{mark}", operation.description


def record_lines(groups: Collection[str] = ()) -> Iterator[str]:
    """The records that operations return, field by field, and the words of their longer enumerations."""
    used = {name for operation in operations_for(groups) for name in _named(operation_types(operation).result)}
    words: dict[str, tuple[str, ...]] = {}
    for name, type_ in world_types().items():
        if name in used | {"Evidence"} and isinstance(type_, RecordType):
            yield f"{name} {{{_fields(type_)}}}"
            words |= {key: value.values for key, value in type_.fields if isinstance(value, EnumType) and _long(value)}
    for key, values in words.items():
        yield f"{key.capitalize()}: {' | '.join(values)}"


def list_lines(groups: Collection[str] = ()) -> Iterator[str]:
    """What stands for the list of a result, and what a loop makes of results: by the compiler's own rules."""
    results = {name: operation_result(name, {}) for name in operations_for(groups)}
    beside = {
        key
        for result in results.values()
        if isinstance(result, RecordType)
        for key, type_ in result.fields
        if key in BOOKKEEPING - _FOR_THE_RUNTIME and key not in BESIDE and isinstance(type_, ListType)
    }
    yield (
        'Where a list is wanted, a record with one list field means that list: "hits" is hits.candidates. '
        f"{' and '.join(sorted(beside))} do not count."
    )
    lists = {name: one[0] for name, result in results.items() if (one := list_field(result)) is not None}
    whole = [f"{name} (item.{key})" for name, key in lists.items() if joined_field(results[name]) is None]
    yield f"{JOINING} These hold a list and stay records: {', '.join(whole)}."


def step_lines(*, allow_judge: bool = False) -> Iterator[str]:
    """Each step type with its keys, optional ones marked with ``?``, and what it does."""
    for kind, model in STEP_MODELS.items():
        if allow_judge or kind != "judge":
            keys = [key + ("" if needed else "?") for key, needed in step_keys(kind).items()]
            loop = " + loop keys" if kind in LOOPING else ""
            what = " ".join((model.__doc__ or "").split("\n\n")[0].split())
            given = " Gives the items, each with its `answer`." if kind == "judge" else ""
            yield f"{kind}: {', '.join(keys)}{loop}. {what}{given}"


def loop_keys() -> tuple[str, ...]:
    """The keys that a step may have to be done for each item of a list."""
    return LOOP_KEYS


def aggregate_lines() -> Iterator[str]:
    """Each aggregate with its input, its parameters and what it gives."""
    for name, spec in AGGREGATES.items():
        parameters = ", ".join(_aggregate_parameter(key, item) for key, item in spec.params.items())
        yield f"{name}({_inputs(spec, parameters)}) -> {spec.says}"


def _inputs(spec: AggregateSpec, parameters: str) -> str:
    return "; ".join(part for part in (_TAKES[spec.takes], parameters) if part)


def _aggregate_parameter(key: str, item: Parameter) -> str:
    kind = {"value": show(item.type), "condition": "expression on item"}.get(item.role, "field name")
    return f"{key}{'' if item.required else '?'}: {kind}"


def _parameter(key: str, type_: Type, schema: Mapping[str, Any], *, required: bool) -> str:
    most, least = schema.get("maximum"), schema.get("minimum")
    bounds = f" {least}..{most}" if schema.get("type") == "integer" and most is not None and least is not None else ""
    return f"{key}{'' if required else '?'}: {_short(type_ if required else _plain(type_))}{bounds}"


def _plain(type_: Type) -> Type:
    return type_.item if isinstance(type_, OptionalType) else type_


def _short(type_: Type) -> str:
    match type_:
        case OptionalType(item):
            return f"({_short(item)})?" if isinstance(item, EnumType) else f"{_short(item)}?"
        case EnumType(values):
            return "|".join(values)
        case ListType():
            return type_.name or f"list<{_short(type_.item)}>"
        case RecordType() if not type_.name:
            return f"{{{_fields(type_)}}}"
    return show(type_)


def _long(type_: EnumType) -> bool:
    return len(type_.values) > _MOST_WORDS


def _result(type_: Type) -> str:
    if not isinstance(type_, RecordType):
        return _short(type_)
    aside = (key for key, value in type_.fields if key in _FOR_THE_RUNTIME and isinstance(value, ListType))
    return f"{{{_fields(type_, without=(*BESIDE, *aside))}}}"


def _fields(type_: RecordType, *, without: tuple[str, ...] = ("evidence",)) -> str:
    told = [(key, value) for key, value in type_.fields if key not in without]
    stretch = all(key in type_.keys for key in _STRETCH)
    parts = [", ".join(_STRETCH) + ": Time"] if stretch else []
    for key, value in told:
        if not (stretch and key in _STRETCH):
            parts.append(
                f"{key}: {key.capitalize() if isinstance(value, EnumType) and _long(value) else _short(value)}"
            )
    return "; ".join(parts)


def _named(type_: Type) -> set[str]:
    """The names of the records inside a type."""
    match type_:
        case OptionalType() | ListType():
            return _named(type_.item)
        case RecordType():
            inside = {name for _, value in type_.fields for name in _named(value)}
            return inside | ({type_.name} if type_.name else set())
    return set()

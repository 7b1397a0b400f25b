"""The inducer's prompts: the language, the domain, and the faults of the tools that go back to the model.

The texts are in ``prompts/*.jinja``; their tables are generated from those of the compiler and the runtime.
``InducerPrompts.hash`` covers both, so another operation, aggregate, limit or wording changes the hash.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeVar, get_args

from tool_induction import limits
from tool_induction.aggregates.table import AGGREGATES
from tool_induction.checker.environment import JOINING, joined_field, list_field
from tool_induction.checker.steps import operation_result
from tool_induction.documents import step_keys
from tool_induction.domains import Domain, WorkedExample
from tool_induction.language import types
from tool_induction.language.expressions import FILTERS
from tool_induction.language.model import LOOP_KEYS, LOOPING, STEP_MODELS
from world_api.chat.messages import PromptFiles
from world_api.core.canonical import content_hash
from world_api.operations import operations_for
from world_api.operations.registry import BESIDE

#: plain: JSON in the text; structured: the server holds the reply to the language's JSON Schema
Mode = Literal["plain", "structured"]
T = TypeVar("T")
_PACKAGE = "tool_induction.inducer"


@dataclass(frozen=True, kw_only=True)
class FailingTool:
    """A tool that goes back to the model: its name, its document as written, and its faults."""

    name: str
    text: str
    faults: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReviewedRun:
    """A run that the model is shown: tool, world, arguments and result as JSON, and what is true of the world in lines."""

    name: str
    world: str
    arguments: str
    given: str
    truth: tuple[str, ...]


class InducerPrompts:
    """Renders the prompts. ``groups``: optional groups of operations that tools may also call."""

    def __init__(self, *, groups: frozenset[str] = frozenset(), allow_judge: bool = False) -> None:
        self._groups = groups
        self._allow_judge = allow_judge
        self._files = PromptFiles(_PACKAGE)
        self._worked = (files(_PACKAGE) / "prompts" / "worked_tool.json").read_text(encoding="utf-8").strip()

    @property
    def hash(self) -> str:
        """SHA-256 over the prompt files and the tables in them."""
        return content_hash([self._files.hash, *(self.system(mode) for mode in get_args(Mode))])

    def system(self, mode: Mode) -> str:
        """Return the system message, the same in every request; ``mode`` is the form in which the reply is requested."""
        form = self._files.render("reply_form", mode=mode)
        return self._files.render("system", reply_form=form, worked_tool=self._worked, **self._tables())

    def language(self) -> str:
        """Return operations and tool language with an example, for a model that writes a tool for one question."""
        language = self._files.render("language", **self._tables())
        return f"{language}\n\n{self._files.render('worked', worked_tool=self._worked)}"

    def request(self, domain: Domain, *, count: int, seed: int) -> str:
        """Return the request for ``count`` tools: the domain and the kinds of tools, in an order set by ``seed``."""
        kinds = _shuffled(domain.tool_kinds, random.Random(f"kinds {seed}"))  # noqa: S311 - an order, not a secret
        return self._files.render("request", count=count, domain=self.domain(domain, seed=seed), tool_kinds=kinds)

    def domain(self, domain: Domain, *, seed: int) -> str:
        """Return the domain as text: question types with induction templates, and examples, shuffled by ``seed``."""
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
        """Return the request of a repair round: failing tools with faults; ``usable``: signatures of the others."""
        form = self._files.render("reply_form", mode=mode)
        return self._files.render("repair", title=domain.title, tools=tools, usable=usable, reply_form=form)

    def review_runs(self, runs: Sequence[ReviewedRun]) -> str:
        """Return runs and truths as text; the system ``flat+review`` is given the same."""
        return self._files.render("review_runs", tools=runs)

    def review(self, domain: Domain, tools: Sequence[FailingTool], *, runs: str, mode: Mode) -> str:
        """Return the request of the review: ``tools`` as they are (without faults), and the text of their ``runs``."""
        form = self._files.render("reply_form", mode=mode)
        return self._files.render("review", title=domain.title, tools=tools, runs=runs, reply_form=form)

    def _tables(self) -> dict[str, Any]:
        return {
            "operations": list(operation_lines(self._groups)),
            "records": list(record_lines(self._groups)),
            "types": types.known_types(),
            "steps": list(_step_lines(allow_judge=self._allow_judge)),
            "list_rules": list(_list_lines(self._groups)),
            "loop_keys": LOOP_KEYS,
            "limits": limits,
            "filters": sorted(FILTERS),
            "aggregates": list(aggregate_lines()),
        }


def examples_of(domain: Domain, seed: int) -> list[WorkedExample]:
    """Return the worked examples of a domain in an order that ``seed`` determines."""
    return _shuffled(domain.examples, random.Random(f"examples {seed}"))  # noqa: S311 - an order, not a secret


def _shuffled(items: Sequence[T], order: random.Random) -> list[T]:
    return order.sample(items, len(items))


#: Fields that the runtime reads itself; a tool has no use for them.
_FOR_THE_RUNTIME = types.JUDGEMENT - {"unused_words", "lacks"}
_MAX_INLINE_VALUES = 4  #: of an enumeration that is written out in a signature

_TAKES = {
    "list": "list",
    "lists": "[list, list, ...]",
    "pair": '{"a": list, "b": list}',
    "mix": "anything",
    "slots": "[item?, item?, ...]",
    "nothing": "",
}


def operation_lines(groups: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield signature and description of each of the sixteen operations and of those in the optional ``groups``."""
    for name, operation in operations_for(groups).items():
        typed = types.operation_types(name)
        properties = typed.parameters_schema.get("properties", {})
        parameters = ", ".join(
            _parameter(key, type_, properties[key], required=key in typed.required)
            for key, type_ in typed.parameters.items()
            if key != "video_id"
        )
        given = f"video_id{', ' if parameters else ''}{parameters}"
        mark = " (writes)" if operation.state == "writes" else ""
        yield f"{name}({given}) -> {_result(typed.result)}{mark}", operation.description


def record_lines(groups: Collection[str] = ()) -> Iterator[str]:
    """Yield a line for each record type that operations return, with its fields, then one for each long enumeration.

    ``groups`` are optional groups of operations to include beside the sixteen that are always included.

    Raises:
        OperationFault: ``unknown_group``.
    """
    used = {name for operation in operations_for(groups) for name in _named(types.operation_types(operation).result)}
    words: dict[str, tuple[str, ...]] = {}
    for name, type_ in types.world_types().items():
        if name in used | {"Evidence"} and isinstance(type_, types.RecordType):
            yield f"{name} {{{_fields(type_)}}}"
            words |= {
                key: value.values for key, value in type_.fields if isinstance(value, types.EnumType) and _long(value)
            }
    for key, values in words.items():
        yield f"{key.capitalize()}: {' | '.join(values)}"


def _list_lines(groups: Collection[str]) -> Iterator[str]:
    """Yield two texts for the prompt: when a record is read as the list in it, and which results a loop joins."""
    results = {name: operation_result(name, {}) for name in operations_for(groups)}
    beside = {
        key
        for result in results.values()
        if isinstance(result, types.RecordType)
        for key, type_ in result.fields
        if key in types.BOOKKEEPING - _FOR_THE_RUNTIME and key not in BESIDE and isinstance(type_, types.ListType)
    }
    yield (
        'Where a list is wanted, a record with one list field means that list: "hits" is hits.candidates. '
        f"{' and '.join(sorted(beside))} do not count."
    )
    lists = {name: one[0] for name, result in results.items() if (one := list_field(result)) is not None}
    whole = [f"{name} (item.{key})" for name, key in lists.items() if joined_field(results[name]) is None]
    yield f"{JOINING} These hold a list and stay records: {', '.join(whole)}."


def _step_lines(*, allow_judge: bool) -> Iterator[str]:
    """Yield a line of text for each step type: its keys, optional ones marked with ``?``, and its description."""
    for kind, model in STEP_MODELS.items():
        if allow_judge or kind != "judge":
            keys = [key + ("" if needed else "?") for key, needed in step_keys(kind).items()]
            loop = " + loop keys" if kind in LOOPING else ""
            what = " ".join((model.__doc__ or "").split("\n\n")[0].split())
            given = " Gives the items, each with its `answer`." if kind == "judge" else ""
            yield f"{kind}: {', '.join(keys)}{loop}. {what}{given}"


def aggregate_lines() -> Iterator[str]:
    """Yield a line of text for each aggregate: its name, input, parameters and result."""
    for name, spec in AGGREGATES.items():
        parameters = []
        for key, item in spec.params.items():
            kind = {"value": types.show(item.type), "condition": "expression on item"}.get(item.role, "field name")
            parameters.append(f"{key}{'' if item.required else '?'}: {kind}")
        yield f"{name}({'; '.join(part for part in (_TAKES[spec.takes], ', '.join(parameters)) if part)}) -> {spec.says}"


def _parameter(key: str, type_: types.Type, schema: Mapping[str, Any], *, required: bool) -> str:
    most, least = schema.get("maximum"), schema.get("minimum")
    bounds = f" {least}..{most}" if schema.get("type") == "integer" and most is not None and least is not None else ""
    plain = type_.item if isinstance(type_, types.OptionalType) and not required else type_
    return f"{key}{'' if required else '?'}: {_short(plain)}{bounds}"


def _short(type_: types.Type) -> str:
    match type_:
        case types.OptionalType(item):
            return f"({_short(item)})?" if isinstance(item, types.EnumType) else f"{_short(item)}?"
        case types.EnumType(values):
            return "|".join(values)
        case types.ListType():
            return type_.name or f"list<{_short(type_.item)}>"
        case types.RecordType() if not type_.name:
            return f"{{{_fields(type_)}}}"
    return types.show(type_)


def _long(type_: types.Type) -> bool:
    """Whether the type is an enumeration with too many values to be written in a signature."""
    return isinstance(type_, types.EnumType) and len(type_.values) > _MAX_INLINE_VALUES


def _result(type_: types.Type) -> str:
    if not isinstance(type_, types.RecordType):
        return _short(type_)
    aside = (key for key, value in type_.fields if key in _FOR_THE_RUNTIME and isinstance(value, types.ListType))
    return f"{{{_fields(type_, without=(*BESIDE, *aside))}}}"


def _fields(type_: types.RecordType, *, without: tuple[str, ...] = ("evidence",)) -> str:
    """Return the fields of a record with their types; those of one type are listed together."""
    keys: dict[str, list[str]] = {}
    for key, value in type_.fields:
        if key not in without:
            keys.setdefault(key.capitalize() if _long(value) else _short(value), []).append(key)
    return "; ".join(f"{', '.join(own)}: {shown}" for shown, own in keys.items())


def _named(type_: types.Type) -> set[str]:
    """Return the names of the records inside a type."""
    match type_:
        case types.OptionalType() | types.ListType():
            return _named(type_.item)
        case types.RecordType():
            inside = {name for _, value in type_.fields for name in _named(value)}
            return inside | ({type_.name} if type_.name else set())
    return set()

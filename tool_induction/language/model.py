"""The document model: a tool, its declarations and its ten types of steps.

The author of a tool, the compiler, the checker and the runtime share one set of frozen dataclasses. Values are parsed
(``Expr``), and each part has its path in the document. ``Key`` annotations define the JSON form of a part: the JSON
Schema (``documents.py``), the shape check, ``read_tool`` and ``document_of`` are all made from them.

In Python, texts may be given for values: ``Filter(inputs="hits", where="item.score > 0.5", save_as="good")``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args, get_type_hints

from tool_induction import limits
from tool_induction.language import keys, types as ty
from tool_induction.language.diagnostics import Findings, Path
from tool_induction.language.expressions import Const, Expr
from tool_induction.language.keys import Key, Kind

OnError = Literal["fail", "skip", "null"]
StopStatus = Literal["ok", "empty", "ambiguous", "partial", "error"]
Entries: TypeAlias = tuple[tuple[str, Expr], ...]

_NO_VALUE, _NO_TEXT = Const(None), Const("")
_SAVE_AS = Key(keys.NAME, "The name that what this step gives is bound to, once in a tool.")
_INPUTS = Key(keys.SOURCE, "What it works on: a saved name, an expression, a list of names, a record of names.")
_OVER = Key(keys.LOOP_SOURCE, "The list to go through: a saved name, an expression, or a list of values.", "loop_over")
_VARIABLE = Key(keys.LOOP_NAME, "What the present item is called; 'item' where left out.", "as")
_MAX_ITEMS = "The most items that are looked at; needed where nothing else bounds the list."
_UNTIL = "Stops the loop once it holds; looked at after each item, in order. The loop's own name is the list so far."
_ON_ERROR = Key(
    keys.words(get_args(OnError)),
    "What a fault of the call does: fail ends the tool; skip leaves the item out; null puts null there.",
)


@dataclass(frozen=True, kw_only=True)
class DocumentPart:
    """A part of a document. ``path`` is its place in the document."""

    step_type: ClassVar[str] = ""
    says: ClassVar[str] = ""
    path: Path = ()

    def __post_init__(self) -> None:
        """Parse values that are given as in a document; their faults are noted when the tool is compiled."""
        for one in keys_of(type(self)):
            value = getattr(self, one.attribute)
            if value is not one.default and not isinstance(value, tuple) and not keys.is_expression(value):
                object.__setattr__(self, one.attribute, one.kind.read(value, (), Findings()))


@dataclass(frozen=True, kw_only=True)
class Input(DocumentPart):
    """An input with more than a type."""

    name: str = ""
    type_name: Annotated[
        str, Key(keys.TYPE_NAME, "The type: string, number, int, bool, Time, Interval, enum, list<T>, ...", "type")
    ]
    description: Annotated[str, Key(keys.DESCRIPTION, "What to give, with the unit.")] = ""
    #: None: there is no default, and the input is required
    default: Annotated[
        Const | None, Key(keys.CONSTANT, "The value where none is given; without it the input is required.")
    ] = None
    enum: Annotated[tuple[str, ...], Key(keys.ENUM, "The strings that may be given.")] = ()
    type: ty.Type = ty.ANY  #: what the compiler reads the name of the type as

    @property
    def required(self) -> bool:
        """Whether every call must give it a value."""
        return self.default is None


@dataclass(frozen=True, kw_only=True)
class Output(DocumentPart):
    """An output with more than a type."""

    name: str = ""
    type_name: Annotated[str, Key(keys.TYPE_NAME, "The type; with '?' it may be missing.", "type")]
    description: Annotated[str, Key(keys.DESCRIPTION, "What it says, with the unit.")] = ""
    #: None until the compiler binds it
    source: Annotated[
        Expr | None, Key(keys.OUTPUT_VALUE, 'The value, for instance "{{ first_hit.start_time }}".', "from")
    ] = None
    type: ty.Type = ty.ANY  #: what the compiler reads the name of the type as


@dataclass(frozen=True, kw_only=True)
class Loop(DocumentPart):
    """How a call or a block is repeated. Its keys are among those of the step.

    The compiler computes how many iterations there are at most (``bound``), typically (``typical``) and at least
    (``least``), and sets ``max_items`` if nothing else bounds the loop.
    """

    over: Annotated[Expr, _OVER]
    variable: Annotated[str, _VARIABLE] = "item"
    max_items: Annotated[int | None, Key(keys.whole_number(limits.MAX_LOOP_ITEMS), _MAX_ITEMS)] = None
    until: Annotated[Expr | None, Key(keys.CONDITION, _UNTIL)] = None
    bound: int = 0
    typical: int = 0
    least: int = 0


@dataclass(frozen=True, kw_only=True)
class Call(DocumentPart):
    """One atomic operation (``api``) or another tool (``tool``), once or for each item of a list."""

    kind: ClassVar[Literal["api", "tool"]]
    loop: Loop | None = None
    params: Annotated[Entries, Key(keys.VALUES, "", always=True)] = ()
    on_error: Annotated[OnError, _ON_ERROR] = "fail"
    save_as: Annotated[str, _SAVE_AS]
    flattens: str | None = None  #: in a loop, the list field whose items are collected; the compiler decides

    @property
    def target(self) -> str:
        """The name of the operation or the tool."""
        return str(getattr(self, self.kind))


@dataclass(frozen=True, kw_only=True)
class CallWorldApi(Call):
    """One atomic operation on the world, once or for each item of a list."""

    step_type: ClassVar[str] = "call_world_api"
    says: ClassVar[str] = "An operation of the world."
    kind: ClassVar[Literal["api", "tool"]] = "api"
    api: Annotated[str, Key(keys.TEXT, "The operation's name.")]
    params: Annotated[
        Entries, Key(keys.VALUES, "Its parameters: constants, or texts with {{ expressions }}.", always=True)
    ] = ()


@dataclass(frozen=True, kw_only=True)
class CallTool(Call):
    """Another tool of the same library, once or for each item of a list."""

    step_type: ClassVar[str] = "call_tool"
    says: ClassVar[str] = "Another tool of the same file."
    kind: ClassVar[Literal["api", "tool"]] = "tool"
    tool: Annotated[str, Key(keys.TEXT, "The tool's name; tools call each other at most three deep, in no circle.")]
    params: Annotated[
        Entries, Key(keys.VALUES, "Its inputs: constants, or texts with {{ expressions }}.", always=True)
    ] = ()


#: steps; the model of a step is found by its type
BLOCK = Kind(
    schema={"$ref": "#/$defs/block"},
    read=lambda raw, path, findings: _read_steps(raw, path, findings),  # noqa: PLW0108 - defined below
    write=lambda steps: [document_of(step) for step in steps],
)


@dataclass(frozen=True, kw_only=True)
class Block(DocumentPart):
    """A block of steps done for each item of a list; an item's value is that of the block's last binding step."""

    step_type: ClassVar[str] = "loop"
    says: ClassVar[str] = "A block of steps for each item of a list."
    loop: Loop
    body: Annotated[tuple[Step, ...], Key(BLOCK, "The steps for one item.", "do")]
    on_error: Annotated[OnError, _ON_ERROR] = "fail"
    save_as: Annotated[str, _SAVE_AS]
    flattens: str | None = None  #: as in Call; "" where an iteration's value is itself a list


@dataclass(frozen=True, kw_only=True)
class Filter(DocumentPart):
    """Keeps the items for which an expression holds."""

    step_type: ClassVar[str] = "filter"
    says: ClassVar[str] = "Keeps some items of a list."
    inputs: Annotated[Expr, _INPUTS]
    where: Annotated[Expr, Key(keys.CONDITION, "The condition on 'item'.")]
    save_as: Annotated[str, _SAVE_AS]


@dataclass(frozen=True, kw_only=True)
class Project(DocumentPart):
    """Maps items to records; an item's times and evidence stay unless a field overwrites them."""

    step_type: ClassVar[str] = "project"
    says: ClassVar[str] = "Maps items to records."
    inputs: Annotated[Expr, _INPUTS]
    fields: Annotated[Entries, Key(keys.FIELDS, "Field name to value; 'item' is the present item.")]
    save_as: Annotated[str, _SAVE_AS]


@dataclass(frozen=True, kw_only=True)
class Aggregate(DocumentPart):
    """One aggregate of the closed table."""

    step_type: ClassVar[str] = "aggregate"
    says: ClassVar[str] = "A function of lists."
    operation: Annotated[str, Key(keys.TEXT, "The aggregate's name.")]
    inputs: Annotated[
        Expr,
        Key(
            keys.SOURCE, "What it works on: a saved name, a list of names, a record of names ({a, b}) or an expression."
        ),
    ] = _NO_VALUE
    params: Annotated[Entries, Key(keys.CONDITIONED_VALUES, "The aggregate's parameters.")] = ()
    save_as: Annotated[str, _SAVE_AS]


@dataclass(frozen=True, kw_only=True)
class Set(DocumentPart):
    """Binds a value."""

    step_type: ClassVar[str] = "set"
    says: ClassVar[str] = "Binds a value."
    value: Annotated[Expr, Key(keys.VALUE, "A constant, a text with {{ expressions }}, a record or a list of values.")]
    save_as: Annotated[str, _SAVE_AS]


@dataclass(frozen=True, kw_only=True)
class If(DocumentPart):
    """One of two blocks; both bind the same names with the same types."""

    step_type: ClassVar[str] = "if"
    says: ClassVar[str] = "One of two blocks of steps."
    condition: Annotated[Expr, Key(keys.CONDITION, "Chooses the block.")]
    then: Annotated[tuple[Step, ...], Key(BLOCK, "The steps where it holds.")]
    otherwise: Annotated[tuple[Step, ...], Key(BLOCK, "The steps where it does not.", "else")] = ()


@dataclass(frozen=True, kw_only=True)
class JudgeStep(DocumentPart):
    """A closed question about each item, put to a fixed model. Behind a switch.

    The compiler computes how many items there are at most (``bound``), typically and at least.
    """

    step_type: ClassVar[str] = "judge"
    says: ClassVar[str] = "Asks a model; only where judging is switched on."
    inputs: Annotated[Expr, _INPUTS]
    question: Annotated[Expr, Key(keys.TEMPLATE, "What is asked about each item.")]
    answers: Annotated[tuple[str, ...], Key(keys.ANSWERS, "The closed list of answers.")]
    max_items: Annotated[
        int | None, Key(keys.whole_number(limits.MAX_JUDGED_ITEMS), "The most items that are asked about.")
    ] = None
    save_as: Annotated[str, _SAVE_AS]
    bound: int = 0
    typical: int = 0
    least: int = 0


@dataclass(frozen=True, kw_only=True)
class Require(DocumentPart):
    """Ends the tool here, with a status and a reason, unless a condition holds."""

    step_type: ClassVar[str] = "require"
    says: ClassVar[str] = "Ends the tool unless a condition holds."
    condition: Annotated[Expr, Key(keys.CONDITION, "What must hold for the tool to go on.")]
    status: Annotated[
        StopStatus, Key(keys.words(get_args(StopStatus)), "What the tool ends as; 'empty' where left out.", always=True)
    ] = "empty"
    reason: Annotated[Expr, Key(keys.TEMPLATE, "Why, in a sentence for the caller.", always=True)] = _NO_TEXT


Step: TypeAlias = Call | Block | Filter | Project | Aggregate | Set | JudgeStep | If | Require
#: type of a step -> its model
STEP_MODELS: dict[str, type[Step]] = {
    model.step_type: model
    for model in (CallWorldApi, CallTool, Block, Filter, Project, Aggregate, Set, If, JudgeStep, Require)
}
#: steps that may carry loop keys
LOOPING = ("call_world_api", "call_tool", "loop")


def _declarations(model: type[Input] | type[Output], *, least: int, most: int) -> Kind:
    """Return the kind of inputs or outputs: a record of ``least`` to ``most`` names to types or declarations."""
    return Kind(
        schema={
            "maxProperties": most,
            **({"minProperties": least} if least else {}),
            "propertyNames": {key: keys.NAME.schema[key] for key in ("pattern", "not")},
            "type": "object",
            "additionalProperties": {"$ref": f"#/$defs/{model.__name__.lower()}"},
        },
        read=lambda raw, path, findings: tuple(
            _read_declaration(model, name, one, (*path, name), findings) for name, one in raw.items()
        ),
        write=lambda declared: {one.name: document_of(one) for one in declared},
    )


INPUTS = _declarations(Input, least=0, most=limits.MAX_INPUTS)
OUTPUTS = _declarations(Output, least=1, most=limits.MAX_OUTPUTS)


@dataclass(frozen=True, kw_only=True)
class Tool(DocumentPart):
    """A high-level tool: what it takes, what it gives, and the steps in between."""

    name: Annotated[str, Key(keys.TOOL_NAME, "verb_object, lower case, at most 64 characters.", "tool_name")]
    description: Annotated[str, Key(keys.TOOL_DESCRIPTION, "What the tool is for, when to use it and when not.")]
    inputs: Annotated[tuple[Input, ...], Key(INPUTS, "Name to type, or to a declaration.")]
    outputs: Annotated[tuple[Output, ...], Key(OUTPUTS, "Name to type, or to a declaration.")]
    steps: Annotated[tuple[Step, ...], Key(BLOCK, "What is done, in order.")]

    def document(self) -> dict[str, Any]:
        """Return the tool as a JSON document, with everything that the compiler made explicit."""
        made: dict[str, Any] = document_of(self)
        return made


_KEYS: dict[type[DocumentPart], tuple[Key, ...]] = {}


def keys_of(model: type[DocumentPart]) -> tuple[Key, ...]:
    """Return the keys of a part, without those of its loop; its own attributes come before those of its base class."""
    if model not in _KEYS:
        _KEYS[model] = tuple(_keys_of(model))
    return _KEYS[model]


def _keys_of(model: type[DocumentPart]) -> Iterator[Key]:
    hints = get_type_hints(model, include_extras=True)
    defaults = {one.name: one.default for one in fields(model)}
    own = [name for base in model.__mro__ for name in vars(base).get("__annotations__", ())]
    for attribute in dict.fromkeys(own):
        key = next((one for one in getattr(hints[attribute], "__metadata__", ()) if isinstance(one, Key)), None)
        if key is not None:
            default = defaults[attribute]
            name = key.name or attribute
            yield replace(key, attribute=attribute, name=name, needed=default is MISSING, default=default)


LOOP_KEYS = tuple(one.name for one in keys_of(Loop))


def step_type_of(raw: Any) -> str:
    """Return the type of a step of a document; a call with ``do`` is a loop. Empty if it has none."""
    if not isinstance(raw, dict):
        return ""
    said = raw.get("type", "loop" if "do" in raw else "")
    if "do" in raw and said in LOOPING:
        return "loop"
    return said if isinstance(said, str) else ""


def read_tool(raw: Mapping[str, Any], path: Path, findings: Findings) -> Tool:
    """Return the model of a document of the right shape; unreadable parts are noted and are ``Broken`` or ``any``."""
    return Tool(**_values(Tool, raw, path, findings), path=path)


def _read_steps(raw: Sequence[Any], path: Path, findings: Findings) -> tuple[Any, ...]:
    return tuple(
        step if isinstance(step, DocumentPart) else _read_step(step, (*path, place), findings)
        for place, step in enumerate(raw)
    )


def _read_step(raw: Mapping[str, Any], path: Path, findings: Findings) -> DocumentPart:
    model: type[Any] = STEP_MODELS[step_type_of(raw)]
    values = _values(model, raw, path, findings)
    if model.step_type in LOOPING:
        values["loop"] = Loop(**_values(Loop, raw, path, findings), path=path) if "loop_over" in raw else None
    step: DocumentPart = model(**values, path=path)
    return step


def _values(model: type[DocumentPart], raw: Mapping[str, Any], path: Path, findings: Findings) -> dict[str, Any]:
    known = (one for one in keys_of(model) if one.name in raw)
    return {one.attribute: one.kind.read(raw[one.name], (*path, one.name), findings) for one in known}


def _read_declaration(
    model: type[Input] | type[Output], name: str, raw: Any, path: Path, findings: Findings
) -> Input | Output:
    if isinstance(raw, Input | Output):  # written in Python
        return replace(raw, name=name)
    declared: dict[str, Any] = {"type": raw} if isinstance(raw, str) else dict(raw)
    type_path: Path = path if isinstance(raw, str) else (*path, "type")
    words = tuple(declared.get("enum", ()))
    if words and declared["type"] not in ("enum", "string"):
        findings.add("E_TYPE", type_path, "only strings can be an enum")
    type_: ty.Type = ty.EnumType(words)
    if words:
        declared["type"] = "enum"
    else:
        type_, declared["type"] = _read_type(declared["type"], type_path, findings)
    if "default" in declared and not _fits(declared["default"], type_, (*path, "default"), findings):
        del declared["default"]
    return model(**_values(model, declared, path, findings), name=name, type=type_, path=path)


def _read_type(raw: str, path: Path, findings: Findings) -> tuple[ty.Type, str]:
    """Return a declared type and its canonical name; an unknown type is noted and becomes ``any``."""
    try:
        found = ty.parse_type(raw)
    except ty.UnknownType as unknown:
        findings.add("E_TYPE", path, str(unknown), suggestion=unknown.suggestion)
        return ty.ANY, "any"
    if found.aliased:
        findings.add("W_ALIAS", path, f"the type {raw!r} is read as {found.canonical!r}", expected=found.canonical)
    return found.type, found.canonical


def _fits(default: Any, type_: ty.Type, path: Path, findings: Findings) -> bool:
    """Whether a default is no list or record; one of these, or a value that does not fit ``type_``, is noted."""
    if isinstance(default, list | dict):
        findings.add("E_TYPE", path, "a default is a single value, not a list or a record")
        return False
    if ty.fit(ty.constant_type(default), type_).how != "yes":
        findings.add("E_TYPE", path, f"the default is no {ty.show(type_)}")
    elif type_ == ty.TIME and default < 0:
        findings.add("E_TYPE", path, "no time is before the video's start", expected="seconds from 0 on")
    return True


def document_of(part: DocumentPart) -> Any:
    """Return a part as JSON; a declaration that is only a type becomes its name. Keys with defaults are omitted."""
    record = _record(part)
    if isinstance(part, Input | Output):
        return record if len(record) > 1 else part.type_name
    if not part.step_type:
        return record
    loop = part.loop if isinstance(part, Call | Block) else None
    if loop is None:
        return {"type": part.step_type, **record}
    target = {key: record.pop(key) for key in ("api", "tool") if key in record}
    return {"type": part.step_type, **target, **_record(loop), **record}


def _record(part: DocumentPart) -> dict[str, Any]:
    values = ((one, getattr(part, one.attribute)) for one in keys_of(type(part)))
    return {one.name: one.kind.write(value) for one, value in values if one.always or value != one.default}


def blocks(step: Step) -> tuple[tuple[Step, ...], ...]:
    """Return the blocks of steps inside a step."""
    match step:
        case If():
            return (step.then, step.otherwise)
        case Block():
            return (step.body,)
    return ()


def walk_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield all steps, including those inside blocks, in document order."""
    for step in steps:
        yield step
        for block in blocks(step):
            yield from walk_steps(block)


def binds(step: Step) -> tuple[str, ...]:
    """Return the names that a step binds for the steps after it; of an ``if``, those that both branches bind."""
    match step:
        case If():
            then = [name for inner in step.then for name in binds(inner)]
            otherwise = {name for inner in step.otherwise for name in binds(inner)}
            return tuple(name for name in then if name in otherwise)
        case Require():
            return ()
    return (step.save_as,)


def values(step: Step) -> Iterator[tuple[str, Expr]]:
    """Yield the expressions of a step itself, not of its blocks, each with its key (such as ``params.query``)."""
    loop = step.loop if isinstance(step, Call | Block) else None
    for part in (step, loop):
        for key in keys_of(type(part)) if part is not None else ():
            value = getattr(part, key.attribute)
            if keys.is_expression(value):
                yield key.name, value
            elif key.attribute in ("params", "fields"):
                yield from ((f"{key.name}.{name}", inner) for name, inner in value)

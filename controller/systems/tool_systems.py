"""Systems that act with tools: ``flat`` and its controls, ``hints``, ``hier`` and ``pipeline``.

Systems are found by name: those that come with the product, and those that others add by entry point. A third party adds one
in its own package::

    [project.entry-points."video_world_api.systems"]
    mine = "their_package.their_module:build"

``build`` takes a ``SystemContext`` and returns a ``System``. The product's own names cannot be used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from controller.conversation import Preamble
from controller.episode_tools import (
    AtomicTools,
    CombinedTools,
    Exposure,
    Hidden,
    JudgedItems,
    OneVideo,
    OperationsOnDemand,
    Toolset,
    exposure_named,
    nothing_hidden,
    operations_hidden,
)
from controller.options import Budget
from controller.systems.base import LoopSystem, Options, Setup, System, SystemBuilder, SystemContext
from controller.systems.baselines import Blind, Direct, Socratic
from tool_induction.judge.judges import RememberedJudge
from tool_induction.library_tools import LibraryTools, ToolDeclaration
from world_api.core.canonical import closed_object
from world_api.core.faults import EpisodeFault, ToolFault, tool_result_or_error
from world_api.core.identifiers import suggestion
from world_api.installation import added, load_added
from world_api.operations import run

if TYPE_CHECKING:
    from controller.answers import Question
    from tool_induction.compiler.compilation import Compilation, CompiledTool
    from tool_induction.judge.judges import Judge
    from tool_induction.library import ToolLibrary
    from world_api.core.ports import ChatModel, Clock
    from world_api.session.session import Session


def operations_on(session: Session, judge: Judge | None) -> list[Toolset]:
    """Return the operations on a session, and ``judge_items`` if there is a judge."""
    atomic: Toolset = AtomicTools(session)
    return [atomic] if judge is None else [atomic, JudgedItems(judge)]


def remembered(context: SystemContext) -> Judge | None:
    """Return the judge, called only once for the same question about the same text; None if judging is off."""
    return None if context.judge is None else RememberedJudge(context.judge)


def flat_tools(session: Session, context: SystemContext) -> Toolset:
    """Return the operations on the video of a session, and ``judge_items`` if judging is on."""
    return OneVideo(CombinedTools(operations_on(session, remembered(context))), session.video_id)


class Flat(LoopSystem[Options]):
    """The operations only; a library is ignored."""

    name = "flat"
    gives_digest = True

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup with the operations."""
        return Setup(make_tools=lambda: flat_tools(session, self.context))


class DomainOptions(Options):
    """``seed`` determines the order of question types and worked examples."""

    seed: int = Field(default=1, ge=0)


class FlatWithDomain(Flat):
    """``flat`` with the domain's text and worked examples, as an induction gets them."""

    name = "flat+domain"
    options_kind = DomainOptions
    shows_domain = True

    def check(self) -> None:
        """Check that the context has a domain. Raises EpisodeFault: ``no_domain``."""
        super().check()
        if self.context.domain is None:
            raise EpisodeFault("no_domain", "the system 'flat+domain' needs a domain", hint="give --domain DOMAIN")

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup with the operations, and with the domain in the instructions."""
        text = self.material("domain", self._domain_text)
        preamble = Preamble(briefing=self.prompts.render("domain", domain=text))
        return Setup(make_tools=lambda: flat_tools(session, self.context), preamble=preamble)

    def _domain_text(self) -> str:
        from tool_induction.inducer.prompt_builder import InducerPrompts

        options = self.options
        assert self.context.domain is not None and isinstance(options, DomainOptions)  # noqa: S101 - see check
        return InducerPrompts().domain(self.context.domain, seed=options.seed)


class _WithLibrary(LoopSystem[Any]):
    """A system that requires a library."""

    uses_library = True
    gives_digest = True

    def check(self) -> None:
        """Check that the context has a library. Raises EpisodeFault: ``no_library``."""
        super().check()
        if self.context.library is None:
            raise EpisodeFault(
                "no_library",
                f"the system {self.name!r} needs a tool library",
                hint="give --tools LIBRARY, or use --system flat",
            )

    @property
    def library(self) -> ToolLibrary:
        """The library of the context."""
        assert self.context.library is not None  # noqa: S101 - see check
        return self.context.library

    def settings(self) -> dict[str, Any]:
        """Return, under ``arm``, how the library was made and varied (see ``arm_of``)."""
        return {"arm": self.material("arm", lambda: arm_of(self.library))}


class Hints(_WithLibrary):
    """``flat`` with a description of the library's tools in the instructions; none of the tools can be called."""

    name = "hints"

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup with the operations, and with the tools described in the instructions."""
        tools = self.material("hints", lambda: _described(self.library))
        preamble = Preamble(briefing=self.prompts.render("hints", tools=tools))
        return Setup(make_tools=lambda: flat_tools(session, self.context), preamble=preamble)


class FlatWithReview(_WithLibrary):
    """``flat`` with the text that the model of an induction was shown in its review: runs of tools, and the truth."""

    name = "flat+review"

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup with the operations, and with the review's text in the instructions.

        Raises EpisodeFault: ``no_review``.
        """
        preamble = Preamble(briefing=self.prompts.render("review", review=self.material("review", self._text)))
        return Setup(make_tools=lambda: flat_tools(session, self.context), preamble=preamble)

    def _text(self) -> str:
        text = str((self.library.manifest.get("induction") or {}).get("review") or "")
        if not text:
            raise EpisodeFault(
                "no_review", f"the library {self.library.name!r} was not reviewed", hint="induce one with --review"
            )
        return text


#: The prompt of the instructions by exposure; they differ only in what they say about the operations.
_INSTRUCTIONS: dict[Exposure, str] = {
    "all": "system", "tools": "tools_only", "tools-first": "tools_first", "on-demand": "on_demand",
}  # fmt: skip


class HierOptions(Options):
    """``exposure``: which of operations and tools can be called; ``patience``: tool calls until ``tools-first`` adds operations."""

    exposure: Annotated[Exposure, BeforeValidator(exposure_named)] = "all"
    patience: int = Field(default=3, ge=1)


class Hier(_WithLibrary):
    """The operations and a library; ``exposure`` determines which of them can be called."""

    name = "hier"
    options_kind = HierOptions

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup with the instructions and the tools of the exposure."""
        options: HierOptions = self.options
        hidings: dict[Exposure, Hidden] = {
            "tools-first": partial(operations_hidden, after=options.patience),
            "on-demand": operations_hidden,
        }
        hidden = hidings.get(options.exposure, nothing_hidden)
        preamble = Preamble(instructions=_INSTRUCTIONS[options.exposure])
        return Setup(make_tools=lambda: self.tools(session), preamble=preamble, hidden=hidden)

    def tools(self, session: Session) -> Toolset:
        """Return the tools of the exposure, the library's first. With a judge ``judge_items`` is always included."""
        options: HierOptions = self.options
        judge = remembered(self.context)
        library: Toolset = LibraryTools.on_session(self.library, session, traced=True, judge=judge)
        operations = AtomicTools(session)
        offered: list[Toolset] = [library] if options.exposure == "tools" else [library, operations]
        if options.exposure == "on-demand":
            offered.append(OperationsOnDemand(OneVideo(operations, session.video_id)))
        if judge is not None:
            offered.append(JudgedItems(judge))
        return OneVideo(CombinedTools(offered), session.video_id)


def arm_of(library: ToolLibrary) -> dict[str, Any]:
    """Return from a manifest the kind of arm (``arm``), the library it was made of (``of``), origin and domain; None if missing."""
    manifest = library.manifest
    arm = {key: manifest.get(key) for key in ("arm", "origin", "domain", "of")}
    return arm | {"domain": arm["domain"] or None}


def _described(library: ToolLibrary) -> list[dict[str, Any]]:
    """Return the tools as their schemas describe them: names, descriptions, and inputs without ``video_id``."""
    from tool_induction.compiler.declarations import description_of, inputs_schema

    described = []
    for name, item in library.tools.items():
        schema = inputs_schema(item.tool)
        inputs = [
            {"name": key, "description": value.get("description", ""), "required": key in schema["required"]}
            for key, value in schema["properties"].items()
            if key != "video_id"
        ]
        described.append({"name": name, "description": description_of(item), "inputs": inputs})
    return described


def flat(
    *, model: ChatModel, clock: Clock, library: ToolLibrary | None = None, budget: Budget | None = None, judge: Judge | None = None
) -> Flat:  # fmt: skip
    """Return the system ``flat``; a library is ignored."""
    return Flat(SystemContext(model=model, clock=clock, budget=budget or Budget(), library=library, judge=judge))


def hier(
    *, model: ChatModel, clock: Clock, library: ToolLibrary | None = None, budget: Budget | None = None, judge: Judge | None = None
) -> Hier:  # fmt: skip
    """Return the system ``hier`` with exposure ``all``. Raises EpisodeFault: ``no_library``."""
    return Hier(SystemContext(model=model, clock=clock, budget=budget or Budget(), library=library, judge=judge))


COMPOSE = "compose_tool"
MAX_FAULTS = 12  #: listed of one document
#: A pipeline's document may be corrected once.
PIPELINE_DOCUMENTS = 2


@dataclass(kw_only=True)
class ComposedTools:
    """The tool ``compose_tool``: compiles a tool document and runs it with arguments.

    At most ``documents`` are accepted, faulty ones included; with ``once`` none after the first that ran. No tool is
    kept.
    """

    session: Session
    judge: Judge | None
    documents: int  #: that are left
    once: bool = False
    ran: bool = False

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the one declaration; it is marked as writing, because a composed tool may write."""
        properties = {
            "document": {
                "type": "object",
                "description": 'The tool as a JSON document. With several tools, {"tools": [...]}, the last one is run.',
            },
            "arguments": {"type": "object", "description": "Its inputs by name; video_id is filled in."},
        }
        description = (
            "Write a tool for this question alone: it is checked and run at once with the arguments, and forgotten. "
            f"({self.documents} documents at most, faulty ones among them.)"
        )
        return [
            ToolDeclaration(name=COMPOSE, description=description, parameters=closed_object(properties), writes=True)
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of the composed tool, or a fault with the errors of its document."""
        return tool_result_or_error(lambda: self._composed(arguments))

    def _composed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        wrong = sorted(arguments.keys() ^ {"document", "arguments"})
        inputs = arguments.get("arguments")
        if wrong or not isinstance(inputs, dict):
            wrong_fields = ", ".join(wrong)[:200] or "arguments is no object"
            raise ToolFault(
                "bad_arguments", f"{COMPOSE}: {wrong_fields}", hint="send {document, arguments}, both objects"
            )
        if self.once and self.ran:
            raise ToolFault("already_composed", "a tool for this question has run", hint="answer from what it found")
        if self.documents == 0:
            raise ToolFault("documents_spent", "no more documents are taken", hint="go on without one")
        self.documents -= 1
        tools = self._compiled(arguments["document"])
        runner = LibraryTools(tools, call=partial(run, self.session), world=self.session, traced=True, judge=self.judge)
        result = OneVideo(runner, self.session.video_id).call_tool(list(tools)[-1], inputs)
        self.ran = self.ran or "status" in result
        return result

    def _compiled(self, document: Any) -> dict[str, CompiledTool]:
        from tool_induction.compiler.compilation import compile_document

        compilation = compile_document(document, allow_judge=self.judge is not None, groups=self.session.groups)
        if not compilation.ok or not compilation.tools:
            mend = f"mend it and send the whole document again; {self.documents} are left"
            raise ToolFault("bad_tools", _faults(compilation), hint=mend if self.documents else "go on without one")
        return dict(compilation.tools)


def _faults(compilation: Compilation) -> str:
    """Return each error of a document with its path and suggestion, one per line, at most 12."""
    errors = [item for item in compilation.diagnostics if item.severity == "error"]
    lines = [
        f"{item.code} {item.json_path}: {item.message}" + (f" -> {item.suggestion}" if item.suggestion else "")
        for item in errors[:MAX_FAULTS]
    ]
    if len(errors) > MAX_FAULTS:
        lines.append(f"and {len(errors) - MAX_FAULTS} more")
    return "\n".join(lines) or "the document holds no tool"


class ComposeOptions(Options):
    """``documents``: how many tool documents an episode accepts, faulty ones included."""

    documents: int = Field(default=4, ge=1, le=50)


class _Composing(LoopSystem[Any]):
    """A system whose model writes temporary tools."""

    gives_digest = True

    def language(self, session: Session) -> str:
        """Return the description of the tool language, as an induction gets it."""
        from tool_induction.inducer.prompt_builder import InducerPrompts

        return InducerPrompts(groups=session.groups, allow_judge=self.context.judge is not None).language()


class FlatCompose(_Composing):
    """The operations and, in any round, a temporary tool composed of them; no tool library."""

    name = "flat+compose"
    options_kind = ComposeOptions

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup with the operations and ``compose_tool``, and with the tool language in the instructions."""

        def make_tools() -> OneVideo:
            judge = remembered(self.context)
            composed = ComposedTools(session=session, judge=judge, documents=self.options.documents)
            return OneVideo(CombinedTools([composed, *operations_on(session, judge)]), session.video_id)

        briefing = self.prompts.render("compose", tool_language=self.language(session))
        return Setup(make_tools=make_tools, preamble=Preamble(briefing=briefing))


class Pipeline(_Composing):
    """One temporary tool first, corrected at most once; then an answer from its result."""

    name = "pipeline"

    def setup(self, question: Question, session: Session) -> Setup:
        """Return a setup with ``compose_tool`` only, which must run before an answer."""

        def make_tools() -> OneVideo:
            judge = remembered(self.context)
            composed = ComposedTools(session=session, judge=judge, documents=PIPELINE_DOCUMENTS, once=True)
            return OneVideo(composed, session.video_id)

        language = self.language(session)
        preamble = Preamble(instructions="pipeline", briefing=language, answer_after=COMPOSE, tries=PIPELINE_DOCUMENTS)
        return Setup(make_tools=make_tools, preamble=preamble)

    def settings(self) -> dict[str, Any]:
        """Return how many documents are accepted."""
        return {"documents": PIPELINE_DOCUMENTS}


ENTRY_POINT_GROUP = "video_world_api.systems"

_KINDS: tuple[type[LoopSystem[Any]], ...] = (
    Flat, FlatWithDomain, FlatWithReview, Hints, FlatCompose, Hier, Pipeline, Direct, Socratic, Blind,
)  # fmt: skip
_OWN: Mapping[str, SystemBuilder] = {kind.name: kind for kind in _KINDS}


def system_names() -> tuple[str, ...]:
    """Return the names of all systems: the product's own, then those of other packages, sorted."""
    return (*_OWN, *sorted(added(ENTRY_POINT_GROUP, own=_OWN)))


def own_system(name: str) -> type[LoopSystem[Any]] | None:
    """Return the class of one of the product's own systems; None for any other name."""
    return next((kind for kind in _KINDS if kind.name == name), None)


def build_system(name: str, context: SystemContext) -> System:
    """Build a system by name.

    Raises EpisodeFault: ``unknown_system``; ``system_not_loadable``; the faults of the system itself.
    """
    if name in _OWN:
        return _OWN[name](context)
    found = added(ENTRY_POINT_GROUP, own=_OWN).get(name)
    if found is None:
        raise EpisodeFault(
            "unknown_system",
            f"there is no system {name[:64]!r}",
            hint=suggestion(name, system_names()),
        )
    builder: SystemBuilder = load_added(
        found,
        lambda point, why: EpisodeFault(
            "system_not_loadable",
            f"the system {point.name!r} ({point.value}) cannot be loaded: {why[:200]}",
            hint="mend or uninstall the package that adds it",
        ),
    )
    return builder(context)

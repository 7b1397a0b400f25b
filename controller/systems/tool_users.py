"""The systems that act with tools, and what is told beside them: ``flat``, ``flat+domain``, ``hints``, ``hier``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from controller.budgets import Budget
from controller.conversation.opening import Opening
from controller.systems.context import SystemContext
from controller.systems.exposing import Exposure, FallbackTools
from controller.systems.looping import LoopSystem, Setup
from controller.systems.options import Options
from controller.toolsets import AtomicTools, CombinedTools, JudgedItems, OneVideo, Toolset
from tool_induction.judging.remembered import RememberedJudge
from tool_induction.toolset import LibraryTools
from world_api.core.faults import EpisodeFault

if TYPE_CHECKING:
    from controller.questions import Question
    from tool_induction.judging.port import Judge
    from tool_induction.library import ToolLibrary
    from world_api.core.ports import ChatModel, Clock
    from world_api.session.session import Session


def operations_on(session: Session, judge: Judge | None) -> list[Toolset]:
    """The operations; and judging as a function, where it is switched on, so that systems without tools have it too."""
    atomic: Toolset = AtomicTools(session)
    return [atomic] if judge is None else [atomic, JudgedItems(judge)]


def remembered(context: SystemContext) -> Judge | None:
    """The judge, where judging is switched on; within an episode it is asked the same only once."""
    return None if context.judge is None else RememberedJudge(context.judge)


class Flat(LoopSystem[Options]):
    """The sixteen operations only; a library is left aside."""

    name = "flat"
    tells_digest = True

    def setup(self, question: Question, session: Session) -> Setup:
        """The operations."""
        return Setup(make_tools=lambda: self.tools(session))

    def tools(self, session: Session) -> Toolset:
        """The operations."""
        return OneVideo(CombinedTools(operations_on(session, remembered(self.context))), session.video_id)


class DomainOptions(Options):
    """``seed`` decides the order of question types and worked examples."""

    seed: int = Field(default=1, ge=0)


class FlatWithDomain(Flat):
    """``flat`` with what an induction is told of the domain: its text and its worked examples."""

    name = "flat+domain"
    options_kind = DomainOptions
    shows_domain = True

    def check(self) -> None:
        """A domain has to be there.

        Raises:
            EpisodeFault: ``no_domain``.
        """
        super().check()
        if self.context.domain is None:
            raise EpisodeFault("no_domain", "the system 'flat+domain' needs a domain", hint="give --domain DOMAIN")

    def setup(self, question: Question, session: Session) -> Setup:
        """The operations; the domain is told."""
        told = self.material("domain", self._domain_text)
        opening = Opening(briefing=self.prompts.render("domain", domain=told))
        return Setup(make_tools=lambda: self.tools(session), opening=opening)

    def _domain_text(self) -> str:
        from tool_induction.inducing.asking.prompting import InducerPrompts

        options = self.options
        assert self.context.domain is not None and isinstance(options, DomainOptions)  # noqa: S101 - see check
        return InducerPrompts().domain(self.context.domain, seed=options.seed)


class _WithLibrary(LoopSystem[Any]):
    """What a library is needed for."""

    uses_library = True
    tells_digest = True

    def check(self) -> None:
        """A library has to be there.

        Raises:
            EpisodeFault: ``no_library``.
        """
        super().check()
        if self.context.library is None:
            raise EpisodeFault(
                "no_library",
                f"the system {self.name!r} needs a tool library",
                hint="give --tools LIBRARY, or use --system flat",
            )

    @property
    def library(self) -> ToolLibrary:
        """The library."""
        assert self.context.library is not None  # noqa: S101 - see check
        return self.context.library

    def settings(self) -> dict[str, Any]:
        """Which arm of an experiment the library is, and where it came from."""
        return {"arm": self.material("arm", lambda: arm_of(self.library))}


class Hints(_WithLibrary):
    """``flat`` with the library's tools described in words: advice without anything to call."""

    name = "hints"

    def setup(self, question: Question, session: Session) -> Setup:
        """The operations; the tools are told."""
        told = self.material("hints", lambda: _described(self.library))
        opening = Opening(briefing=self.prompts.render("hints", tools=told))
        return Setup(make_tools=lambda: self.tools(session), opening=opening)

    def tools(self, session: Session) -> Toolset:
        """The operations."""
        return OneVideo(CombinedTools(operations_on(session, remembered(self.context))), session.video_id)


#: The instructions by exposure: the same text but for what it says of the operations.
_INSTRUCTIONS: dict[Exposure, str] = {"all": "system", "tools": "tools_only", "tools_first": "tools_first"}


class HierOptions(Options):
    """``exposure``: which of operations and tools can be called; ``patience``: see ``FallbackTools``."""

    exposure: Exposure = "all"
    patience: int = Field(default=3, ge=1)


class Hier(_WithLibrary):
    """The operations and a library, as its exposure says."""

    name = "hier"
    options_kind = HierOptions

    def setup(self, question: Question, session: Session) -> Setup:
        """The library's tools first, since they do more at once; and the operations."""
        opening = Opening(instructions=_INSTRUCTIONS[self.options.exposure])
        return Setup(make_tools=lambda: self.tools(session), opening=opening)

    def tools(self, session: Session) -> Toolset:
        """What the exposure says of the operations. Judging is no operation: where it is on, it is open in each of them."""
        options: HierOptions = self.options
        judge = remembered(self.context)
        library: Toolset = LibraryTools.on_session(self.library, session, traced=True, judge=judge)
        operations = AtomicTools(session)
        offered: list[Toolset] = [library]
        if options.exposure == "all":
            offered = [library, operations]
        elif options.exposure == "tools_first":
            CombinedTools([library, operations])  # refuses tools of one name
            offered = [FallbackTools(library, operations, patience=options.patience)]
        if judge is not None:
            offered.append(JudgedItems(judge))
        return OneVideo(CombinedTools(offered), session.video_id)


def arm_of(library: ToolLibrary) -> dict[str, Any]:
    """Which arm of an experiment a library is, as its manifest says: what was done to it, and where it came from."""
    manifest = library.manifest
    return {
        "arm": manifest.get("arm"),
        "origin": manifest.get("origin"),
        "domain": manifest.get("domain") or None,
        "of": manifest.get("of"),
    }


def _described(library: ToolLibrary) -> list[dict[str, Any]]:
    """The tools as their schemas tell them: names, descriptions, and the inputs with theirs."""
    from tool_induction.compiler.emit import description_of, inputs_schema

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
    *,
    model: ChatModel,
    clock: Clock,
    library: ToolLibrary | None = None,
    budget: Budget | None = None,
    judge: Judge | None = None,
) -> Flat:
    """The system ``flat``; a library is left aside."""
    return Flat(SystemContext(model=model, clock=clock, budget=budget or Budget(), library=library, judge=judge))


def hier(
    *,
    model: ChatModel,
    clock: Clock,
    library: ToolLibrary | None = None,
    budget: Budget | None = None,
    judge: Judge | None = None,
) -> Hier:
    """The system ``hier`` with all tools on offer.

    Raises:
        EpisodeFault: ``no_library``.
    """
    return Hier(SystemContext(model=model, clock=clock, budget=budget or Budget(), library=library, judge=judge))

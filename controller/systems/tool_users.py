"""The systems that act with tools: ``flat`` with the sixteen operations only; ``hier`` with the operations and a library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from controller.budgets import Budget
from controller.conversation.prompting import Prompts
from controller.episode import Episode, Library, Task
from controller.ground import Ground, Live
from controller.loop import run_episode
from controller.questions import Question
from controller.systems.context import SystemContext
from controller.toolsets import AtomicTools, CombinedTools, JudgedItems, OneVideo, Toolset
from tool_induction.judging.port import Judge
from tool_induction.judging.remembered import RememberedJudge
from tool_induction.library import ToolLibrary
from tool_induction.toolset import LibraryTools
from world_api.core.faults import EpisodeFault
from world_api.core.ports import ChatModel, Clock
from world_api.world.sessions.session import Session

SystemName = Literal["flat", "hier"]


@dataclass(frozen=True, kw_only=True)
class ToolUser:
    """A system that runs the loop with a toolset."""

    name: SystemName
    model: ChatModel
    clock: Clock
    library: ToolLibrary | None = None
    budget: Budget = field(default_factory=Budget)
    judge: Judge | None = None  #: where judging is switched on: for the steps of tools, and as an operation for all
    prompts: Prompts = field(default_factory=Prompts)
    ground: Ground = field(default_factory=Live)

    def task(self, question: Question, session: Session) -> Task:
        """What an episode on this session would record of its beginning.

        Raises:
            EpisodeFault: ``as_of_mismatch``.
        """
        library = Library(name=self.library.name, hash=self.library.hash) if self.library is not None else None
        return Task.of(question, session, system=self.name, library=library)

    def tools(self, session: Session) -> Toolset:
        """The tools on offer: induced ones first, since they do more at once."""
        atomic: Toolset = AtomicTools(session)
        judge = None if self.judge is None else RememberedJudge(self.judge)
        toolsets = [atomic] if judge is None else [atomic, JudgedItems(judge)]
        if self.library is not None:
            toolsets.insert(0, LibraryTools.on_session(self.library, session, traced=True, judge=judge))
        return OneVideo(CombinedTools(toolsets), session.video_id)

    def answer(self, question: Question, session: Session) -> Episode:
        """Run one episode.

        Raises:
            EpisodeFault: ``as_of_mismatch``.
            ToolFault: ``duplicate_tool``, ``bad_tool_name``, for a library that cannot be offered.
        """
        return run_episode(
            self.task(question, session),
            model=self.model,
            tools=self.ground.tools(lambda: self.tools(session)),
            budget=self.budget,
            clock=self.clock,
            prompts=self.prompts,
        )


def flat(
    *,
    model: ChatModel,
    clock: Clock,
    library: ToolLibrary | None = None,
    budget: Budget | None = None,
    judge: Judge | None = None,
) -> ToolUser:
    """The sixteen operations only; a library is left aside."""
    return ToolUser(name="flat", model=model, clock=clock, budget=budget or Budget(), judge=judge)


def hier(
    *,
    model: ChatModel,
    clock: Clock,
    library: ToolLibrary | None = None,
    budget: Budget | None = None,
    judge: Judge | None = None,
) -> ToolUser:
    """The operations and a library.

    Raises:
        EpisodeFault: ``no_library``.
    """
    if library is None:
        raise EpisodeFault(
            "no_library", "the system 'hier' needs a tool library", hint="give --tools LIBRARY, or use --system flat"
        )
    return ToolUser(name="hier", model=model, clock=clock, library=library, budget=budget or Budget(), judge=judge)


class ToolUserBuilder(Protocol):
    """Makes a system from what an experiment chooses."""

    def __call__(
        self,
        *,
        model: ChatModel,
        clock: Clock,
        library: ToolLibrary | None = None,
        budget: Budget | None = None,
        judge: Judge | None = None,
    ) -> ToolUser:
        """The system; it may refuse a combination that makes no sense."""
        ...


BUILDERS: Mapping[SystemName, ToolUserBuilder] = {"flat": flat, "hier": hier}


def flat_system(context: SystemContext) -> ToolUser:
    """The sixteen operations only."""
    made = flat(model=context.model, clock=context.clock, budget=context.budget, judge=context.judge)
    return replace(made, ground=context.ground)


def hier_system(context: SystemContext) -> ToolUser:
    """The operations and a library.

    Raises:
        EpisodeFault: ``no_library``.
    """
    made = hier(
        model=context.model, clock=context.clock, library=context.library, budget=context.budget, judge=context.judge
    )
    return replace(made, ground=context.ground)

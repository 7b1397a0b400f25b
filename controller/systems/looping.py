"""Systems that run the loop: each says what it is given, the loop does the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from controller.conversation.digest import digest_of
from controller.conversation.gathering import Pictures, no_pictures
from controller.conversation.opening import NOTHING_MORE, Opening
from controller.conversation.prompting import Prompts
from controller.episode import Episode, Library, Task
from controller.loop import run_episode
from controller.systems.context import SystemContext
from controller.systems.options import Options, read_options, refuse_shown
from controller.toolsets import Toolset
from tool_induction.toolset import ToolDeclaration
from world_api.core.faults import EpisodeFault, OperationFault
from world_api.core.last_resort import observed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controller.questions import Question
    from world_api.session.session import Session

Chosen = TypeVar("Chosen", bound=Options)
Own = Callable[..., dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the loop is given for one question. ``make_tools`` is called where the episode runs, not where it is replayed."""

    make_tools: Callable[[], Toolset]
    opening: Opening = NOTHING_MORE
    pictures: Pictures = no_pictures


@dataclass(frozen=True)
class LoopSystem(ABC, Generic[Chosen]):
    """A system that runs the loop. It keeps nothing between questions, so that threads may share it.

    Raises:
        EpisodeFault: ``bad_option``; what else a system refuses to be built from.
    """

    context: SystemContext

    name: ClassVar[str]
    options_kind: ClassVar[type[Options]] = Options
    uses_library: ClassVar[bool] = False
    shows_domain: ClassVar[bool] = False
    tells_digest: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse what cannot be combined, before anything is built or asked.

        Raises:
            EpisodeFault: ``bad_option``, ``unknown_language``, ``no_domain``.
        """
        assert self.prompts.language  # noqa: S101 - reading them finds out whether they are there
        if self.options.split is not None and self.context.domain is None:
            raise EpisodeFault(
                "no_domain", "a split is one of a domain, and there is none", hint="give --domain DOMAIN, or no split"
            )

    def settings(self) -> dict[str, Any]:
        """What else makes the system what it is, as JSON."""
        return {}

    @abstractmethod
    def setup(self, question: Question, session: Session) -> Setup:
        """What the loop is given. What is taken from the session comes through the tools or ``material``."""

    @cached_property
    def options(self) -> Chosen:
        """The system's own settings."""
        return cast(Chosen, read_options(self.options_kind, self.context.options, system=self.name))

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts in the context's language."""
        return Prompts(language=self.context.language)

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """A JSON value taken from the session, the library or the domain; in a replay the recorded one."""
        return self.context.ground.material(name, make)

    def task(self, question: Question, session: Session) -> Task:
        """What an episode on this session records of its beginning.

        Raises:
            EpisodeFault: ``as_of_mismatch``.
        """
        library = self.context.library if self.uses_library else None
        settings = {**self.options.model_dump(mode="json"), **self.settings()}
        settings |= {"language": self.context.language, "prompt_hash": self.prompts.hash}
        settings |= {"judge": self.context.judge.name if self.context.judge is not None else None}
        if (perception := session.perception) is not None:
            settings["perception"] = perception
        if (stood_in := session.stood_in) is not None:
            settings["stood_in"] = stood_in
        settings |= {"groups": sorted(session.groups)}
        domain = self.context.domain
        if domain is not None and (self.shows_domain or self.options.split is not None):
            settings["domain"] = {"name": domain.name, "hash": domain.hash}
        return Task.of(
            question,
            session,
            system=self.name,
            settings=settings,
            library=Library(name=library.name, hash=library.hash) if library is not None else None,
        )

    def answer(self, question: Question, session: Session) -> Episode:
        """Run one episode.

        Raises:
            EpisodeFault: ``as_of_mismatch``.
            ToolFault: ``duplicate_tool``, ``bad_tool_name``, for a library that cannot be offered; ``split_leak``.
        """
        refuse_shown(question, session, self.context, split=self.options.split)
        task = self.task(question, session)
        setup = self.setup(question, session)
        opening = replace(setup.opening, digest=self._digest(session))
        return run_episode(
            task,
            model=self.context.model,
            tools=self.context.ground.tools(setup.make_tools),
            budget=self.context.budget,
            clock=self.context.clock,
            prompts=self.prompts,
            prices=self.context.prices,
            opening=opening,
            pictures=lambda name: str(self.material(name, lambda: setup.pictures(name))),
        )

    def _digest(self, session: Session) -> dict[str, Any] | None:
        """What is told of the world at the start, by systems that act in it."""
        tokens = self.context.budget.digest_tokens
        if not (self.tells_digest and tokens):
            return None
        digest: dict[str, Any] | None = self.material("digest", lambda: digest_of(session, tokens))
        return digest


class OwnCalls:
    """Calls that a system makes itself; none of them is offered to the model."""

    def __init__(self, calls: Mapping[str, Own]) -> None:
        self._calls = calls

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Nothing."""
        return ()

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Make a call; its faults are observations."""
        return observed(lambda: self._made(name, arguments))

    def _made(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name not in self._calls:
            raise OperationFault("unknown_tool", f"there is no tool {name[:64]!r}", hint="answer with submit_answer")
        return self._calls[name](**arguments)

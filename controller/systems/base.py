"""The system interface, the context a system is built from, and the base class of systems that run the loop.

A system takes its toolset, and every value that its prompts are built from, through ``EpisodeInputs``::

    tools = context.inputs.tools(lambda: CombinedTools([...]))
    digest = context.inputs.material("digest", lambda: digest_of(session, ...))

In a live episode both are created. While recording, materials are stored as well. In a replay neither is created: the
recorded results and materials are returned, and the session is a stub with recorded attributes only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from controller.conversation import EMPTY_PREAMBLE, Pictures, Preamble, Prompts, no_pictures
from controller.digest import digest_of
from controller.episode import Episode, Library, Task
from controller.episode_tools import Hidden, Toolset, nothing_hidden, refused
from controller.loop import run_episode
from controller.options import Budget
from tool_induction.domains.domain import SplitName
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import Prices
from world_api.core.faults import EpisodeFault, ToolFault, tool_result_or_error
from world_api.core.identifiers import suggestion
from world_api.core.ports import ChatModel, Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controller.answers import Question
    from tool_induction.domains import Domain
    from tool_induction.judge.judges import Judge
    from tool_induction.library import ToolLibrary
    from world_api.session.session import Session


class System(Protocol):
    """Answers questions about a session's video."""

    def answer(self, question: Question, session: Session) -> Episode:
        """Return one episode, with an answer or the named reason why there is none."""


class EpisodeInputs:
    """The source of the tools and values that a system uses; in a live episode they are created on request."""

    def start(self, task: Task) -> None:
        """Receive the task of the episode; called once, before the toolset is requested."""

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        """Return the toolset of the episode; called once per episode, before the first tool call."""
        return make()

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the result of ``make``, a JSON value that requests are built from; the episode uses each name once."""
        return make()


@dataclass(frozen=True, kw_only=True)
class SystemContext:
    """The settings of an experiment, and the ports that a system may use.

    A system uses no model but ``model``, no clock but ``clock``, and takes the tools and materials of an episode from
    ``inputs`` only. A recording wraps these three; a replay has only them, and its session, library, domain and judge
    are stand-ins. ``options`` are the system's own settings as JSON, such as an exposure; a system refuses unknown
    ones.
    """

    model: ChatModel
    clock: Clock
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=Prices)
    language: str = "en"  #: of the prompts: en or zh
    library: ToolLibrary | None = None
    judge: Judge | None = None  #: None if judging is off
    domain: Domain | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    takes_images: bool | None = None  #: whether the model accepts images; None if it was not probed
    inputs: EpisodeInputs = field(default_factory=EpisodeInputs)


#: Builds a system; raises an EpisodeFault if the context lacks something or its parts cannot be combined.
SystemBuilder = Callable[[SystemContext], System]


class Options(BaseModel):
    """Settings that every system has.

    ``split``: the split of the context's domain that is measured; a question that the domain, or the induction of the
    library, keeps in another split is refused.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    split: SplitName | None = None


OptionsT = TypeVar("OptionsT", bound=Options)


def read_options(kind: type[OptionsT], given: Mapping[str, Any], *, system: str) -> OptionsT:
    """Return the validated options of a system. Raises EpisodeFault: ``bad_option``, for the first that is wrong."""
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
    if name not in kind.model_fields:
        hint = suggestion(name, kind.model_fields, "it has: ")
        raise EpisodeFault("bad_option", f"the system {system!r} has no option {name[:64]!r}", hint=hint)
    raise EpisodeFault("bad_option", f"the option {name!r} of the system {system!r}: {first['msg']}")


def refuse_shown(question: Question, session: Session, context: SystemContext, *, split: SplitName | None) -> None:
    """Check that the answer to a question was shown neither to the model nor to the induction of the library.

    The check is the same for every system, even if it uses neither domain nor library, so that arms with the same
    context get the same questions. Without a split the worked examples are refused: those of the domain, and those that
    the induction was shown according to the library's manifest. Raises ToolFault: ``split_leak``.
    """
    domain, library = context.domain, context.library
    if domain is None and library is None:
        return
    from tool_induction.domains.domain import PlannedQuestion, Seen, normal, refuse_leaks

    if domain is not None and split is not None:
        item = PlannedQuestion(video_id=session.video_id, question=question.text)
        refuse_leaks(domain, split, [item], library=library.manifest if library is not None else None)
        return
    words, shown_by = normal(question.text), ""
    if domain is not None and words in {normal(example.question) for example in domain.examples}:
        shown_by = f"the domain {domain.name}"
    elif library is not None and words in Seen.by(library.manifest).questions:
        shown_by = f"the induction of the library {library.name}"
    if shown_by:
        raise ToolFault(
            "split_leak",
            f"{question.text[:60]!r} is a worked example of {shown_by}: its answer was shown",
            hint="ask it without that domain and library, or ask something else; what was shown measures nothing",
        )


OwnCall = Callable[..., dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the loop gets for one question. ``make_tools`` is called in a live episode, but not in a replay.

    ``hidden`` returns the names of the tools that the next request does not declare, from the calls so far alone.
    """

    make_tools: Callable[[], Toolset]
    preamble: Preamble = EMPTY_PREAMBLE
    pictures: Pictures = no_pictures
    hidden: Hidden = nothing_hidden


@dataclass(frozen=True)
class LoopSystem(ABC, Generic[OptionsT]):
    """A system that runs the loop. It keeps no state between questions, so that threads may share it.

    Raises EpisodeFault, when it is made: ``bad_option``; the other faults of ``check``.
    """

    context: SystemContext

    name: ClassVar[str]
    options_kind: ClassVar[type[Options]] = Options
    uses_library: ClassVar[bool] = False
    shows_domain: ClassVar[bool] = False
    gives_digest: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Check that the system can be built from its context, before any request is made.

        Raises EpisodeFault: ``bad_option``, ``unknown_language``, ``no_domain``.
        """
        assert self.prompts.language  # noqa: S101 - reading them finds out whether they are there
        if self.options.split is not None and self.context.domain is None:
            raise EpisodeFault(
                "no_domain", "a split is one of a domain, and there is none", hint="give --domain DOMAIN, or no split"
            )

    def settings(self) -> dict[str, Any]:
        """Return further settings that determine the system, as JSON; the task records them."""
        return {}

    @abstractmethod
    def setup(self, question: Question, session: Session) -> Setup:
        """Return what the loop gets. Values from the session are taken only through the tools or ``material``."""

    @cached_property
    def options(self) -> OptionsT:
        """The validated options of the system."""
        return cast(OptionsT, read_options(self.options_kind, self.context.options, system=self.name))

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts in the context's language."""
        return Prompts(language=self.context.language)

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a JSON value taken from the session, the library or the domain; in a replay the recorded one."""
        return self.context.inputs.material(name, make)

    def task(self, question: Question, session: Session) -> Task:
        """Return the task that an episode in this session records. Raises EpisodeFault: ``as_of_mismatch``."""
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
            library=Library.of(self.context.library if self.uses_library else None),
        )

    def answer(self, question: Question, session: Session) -> Episode:
        """Run one episode.

        Raises EpisodeFault: ``as_of_mismatch``; ToolFault: ``duplicate_tool``, ``bad_tool_name``, if the library cannot
        be offered; ``split_leak``.
        """
        refuse_shown(question, session, self.context, split=self.options.split)
        task = self.task(question, session)
        self.context.inputs.start(task)
        setup = self.setup(question, session)
        tokens = self.context.budget.digest_tokens if self.gives_digest else 0
        digest = self.material("digest", lambda: digest_of(session, tokens)) if tokens else None
        return run_episode(
            task,
            model=self.context.model,
            tools=self.context.inputs.tools(setup.make_tools),
            budget=self.context.budget,
            clock=self.context.clock,
            prompts=self.prompts,
            prices=self.context.prices,
            preamble=replace(setup.preamble, digest=digest),
            pictures=lambda name: str(self.material(name, lambda: setup.pictures(name))),
            hidden=setup.hidden,
        )


@dataclass(frozen=True)
class OwnCalls:
    """Calls that a system makes itself; none of them is offered to the model."""

    calls: Mapping[str, OwnCall]

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return no declarations."""
        return ()

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Make a call; its faults are returned as ``{"error": ...}``."""
        if name not in self.calls:
            return refused("unknown_tool", f"there is no tool {name[:64]!r}", "answer with submit_answer")
        return tool_result_or_error(lambda: self.calls[name](**arguments))

"""What every system is: a question and a session in, an episode out; and what it is built from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from controller.budgets import Budget
from controller.ground import Ground, Live
from world_api.backends.chat.prices import Prices
from world_api.core.ports import ChatModel, Clock

if TYPE_CHECKING:
    from controller.episode import Episode
    from controller.questions import Question
    from tool_induction.domains import Domain
    from tool_induction.judging.port import Judge
    from tool_induction.library import ToolLibrary
    from world_api.session.session import Session


class System(Protocol):
    """Whatever answers questions about a session's video."""

    def answer(self, question: Question, session: Session) -> Episode:
        """One episode; it always ends with an answer or a named reason why there is none."""
        ...


@dataclass(frozen=True, kw_only=True)
class SystemContext:
    """What an experiment chooses, and the ports a system may use.

    A system asks ``model``, reads ``clock`` and takes the tools and the material of an episode from ``ground``: no other
    model, no other clock, nothing past the ground. Whoever records an episode wraps these three, and a replay has nothing but
    them; its session, library, domain and judge are stand-ins that know their names. ``options`` are the system's own
    settings as JSON, such as an exposure; a system refuses those it does not know.
    """

    model: ChatModel
    clock: Clock
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=Prices)
    language: str = "en"  #: of the prompts: en or zh
    library: ToolLibrary | None = None
    judge: Judge | None = None  #: where judging is switched on
    domain: Domain | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    takes_images: bool | None = None  #: whether the model does, as a probe found; None where nobody asked
    ground: Ground = field(default_factory=Live)


class SystemBuilder(Protocol):
    """Makes a system from a context; it refuses a combination that makes no sense.

    Raises:
        EpisodeFault: what is missing, or cannot be combined.
    """

    def __call__(self, context: SystemContext, /) -> System:
        """The system."""
        ...

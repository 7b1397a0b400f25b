"""Where one question is asked in one cell: everything that an episode needs, made once and shared."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.accounts import accounts_of, total
from controller.budgets import Budget
from controller.prompts import language_of
from controller.records.journal import Journal
from controller.records.recorder import answer, opened
from controller.systems.base import SystemContext
from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.configuration.reading import Configuration
from eval.runs.lines import Cost, told
from eval.runs.places import RunFolder
from eval.runs.running.seeding import SeededModel
from tool_induction.domains.domain import Domain
from tool_induction.domains.loading import load_domain, packaged_domains
from tool_induction.library import ToolLibrary
from world_api.core.canonical import content_hash
from world_api.core.faults import VideoWorldError
from world_api.core.ports import ChatModel, Clock

if TYPE_CHECKING:
    from tool_induction.judging.port import Judge
    from world_api.backends.chat.prices import Prices
    from world_api.world.sessions.eyes import Eyes
    from world_api.world.sessions.session import Session


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What came of a sample: an episode by name with its answer, or the fault for which there is none.

    ``failed`` is the code of the fault that ended an episode without an answer, ``checksum`` that of the episode's record.
    """

    episode: str | None = None
    fault: Mapping[str, str] | None = None
    failed: str | None = None
    cost: Cost = field(default_factory=Cost)
    value: Any = None
    answer: str | None = None
    checksum: str = ""

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return asdict(self)


class Workshop:
    """Asks samples. Threads may share one; a process has its own.

    Raises:
        BackendFault: the model, the prices or the judge cannot be had.
    """

    def __init__(
        self,
        configuration: Configuration,
        folder: RunFolder,
        *,
        libraries: Mapping[str, ToolLibrary],
        clock: Clock,
        environment: Mapping[str, str],
    ) -> None:
        from world_api.exposure.models import chat_model, takes_images, window_of
        from world_api.exposure.perceiving.consent import prices_in

        document = configuration.document
        self._configuration = configuration
        self._folder = folder
        self._libraries = libraries
        self._clock = clock
        self._environment = environment
        cache = configuration.path(document.cache) if document.cache is not None else None
        self.model: ChatModel = chat_model(
            document.model, clock=clock, environment=environment, wire=document.wire, cache=cache
        )
        self.takes_images = takes_images(document.model, environment=environment)
        self.window = window_of(document.model, environment=environment)
        self.prices: Prices = prices_in(configuration.path(document.prices) if document.prices is not None else None)

    @functools.cached_property
    def judge(self) -> Judge | None:
        """Who answers the judge steps of tools."""
        from tool_induction.judging.options import judge_of

        part = self._configuration.document.tool_judge
        if part is None:
            return None
        record = self._configuration.path(part.record) if part.record is not None else None
        return judge_of(True, part.model, record, clock=self._clock, environment=self._environment)

    @functools.cached_property
    def eyes(self) -> Eyes | None:
        """A model that looks, where the configuration has one."""
        from world_api.exposure.perceiving.options import EyeChoices, eyes_of

        part = self._configuration.document.perception
        if part is None:
            return None
        chosen = EyeChoices(
            profile="endpoint", model=None, vision_model=part.vision_model, embedding_model=part.embedding_model,
            frames=part.frames, side=part.side, looks=part.looks, language=part.language,
        )  # fmt: skip
        return eyes_of(chosen, clock=self._clock, environment=self._environment)

    def budget(self, name: str) -> Budget:
        """A budget of the configuration."""
        given = self._configuration.document.budgets[name].model_dump(exclude_none=True)
        return Budget(**({"window": self.window} | given))

    def context(self, cell: Cell, item: Item) -> SystemContext:
        """What the system of a cell is built from for a question.

        Raises:
            ToolFault: what loading a domain raises.
            BackendFault: the judge cannot be had.
        """
        document, arm = self._configuration.document, cell.arm
        domain = domain_named(item.domain)
        options = dict(arm.settings)
        if domain is not None and item.split is not None:
            options["split"] = item.split
        return SystemContext(
            model=SeededModel(self.model, seed=cell.seed, request=document.request.model_dump(exclude_none=True)),
            clock=self._clock,
            budget=self.budget(cell.budget),
            prices=self.prices,
            language=language_of(item.question.text) if document.language == "auto" else document.language,
            library=self._libraries[arm.library] if arm.library is not None else None,
            judge=self.judge,
            domain=domain,
            options=options,
            takes_images=self.takes_images,
        )

    def ask(self, cell: Cell, item: Item) -> Asked:
        """Ask a question in a cell, in a session of its own that is kept in memory, and record the episode."""
        journal = Journal(self._folder.journal(cell.id))
        try:
            session = self._session(cell, item)
            answered = answer(
                item.question, session, system=cell.arm.system, context=self.context(cell, item), journal=journal
            )
        except VideoWorldError as fault:
            return Asked(fault=told(fault), failed=fault.code)
        episode = answered.episode
        spent = total(accounts_of(episode).physical)
        return Asked(
            episode=answered.name,
            failed=episode.fault.code if episode.fault is not None else None,
            cost=Cost(tokens=spent.tokens, money=spent.money),
            value=episode.value,
            answer=episode.answer,
            checksum=content_hash(episode.record()),
        )

    def _session(self, cell: Cell, item: Item) -> Session:
        from eval.runs.running.worlds import open_for

        store = store_of(self._configuration)
        return opened(
            lambda _: open_for(store, cell.world, item, groups=cell.arm.groups, seeing=self.eyes), item.question
        )


@functools.cache
def domain_named(name: str | None) -> Domain | None:
    """The packaged domain of that name; None where questions are of another one."""
    return load_domain(name) if name is not None and name in packaged_domains() else None


def store_of(configuration: Configuration) -> Path:
    """The folder under which the worlds of a run lie, each way of making them in one of its own."""
    return configuration.path(configuration.document.store)


Ask = Callable[[Cell, Item], Asked]

"""Asking a question about a video, as ``videoworld ask`` and ``World.ask`` do it: from options to a recorded episode."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from controller.answers import Question
from controller.episode import Episode, refuse_unpriced
from controller.options import Budget
from world_api.core.faults import EpisodeFault, StoreFault
from world_api.core.ports import WireChoice
from world_api.options import DEFAULT_VISION, VisionOptions

if TYPE_CHECKING:
    from controller.systems.base import SystemContext
    from world_api.session.session import Session
    from world_api.session.vision import VisionConfig


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """How a question is answered, and where the worlds are.

    Args:
        store: The folder of worlds.
        system: The system that answers; None for ``hier`` with a library, else ``flat``.
        tools: A tool library, by name or folder.
        exposure: How a library is shown, for systems that have one.
        domain: A domain: some systems are given it; its worked examples are never asked.
        settings: Further settings of the system.
        groups: Optional groups of operations to switch on, and categories to leave out (``no-memory``).
        allow_judge: Whether tools may ask a judge.
        judge_model: The model that judges.
        judge_record: A file of recorded judgements.
        model: A model on the endpoint of OPENAI_BASE_URL; None for the rule-based one, which needs none.
        wire: The API that is spoken with the endpoint.
        cache: A folder that keeps replies.
        prices: A file with USD per million tokens, by model.
        budget: The limits; without a ``window`` the known one of the model.
        language: Of the prompts; ``auto`` is that of the question.
        vision: The vision model that operations may use, and the consent to send frames.
        session: The session whose writes are seen and added to; None for a fresh one, of which nothing is kept.
        commit: Whether what the session wrote becomes part of the world.
        record: The folder in which the episode is recorded.
    """

    store: Path
    system: str | None = None
    tools: str | None = None
    exposure: str | None = None
    domain: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    groups: Sequence[str] = ()
    allow_judge: bool = False
    judge_model: str | None = None
    judge_record: Path | None = None
    model: str | None = None
    wire: WireChoice = "auto"
    cache: Path | None = None
    prices: Path | None = None
    budget: Budget = Budget()  # noqa: RUF009 - frozen
    language: Literal["auto", "en", "zh"] = "auto"
    vision: VisionOptions = DEFAULT_VISION
    session: str | None = None
    commit: bool = False
    record: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An episode and its session, its name in the journal if it was recorded, and what was committed to the world, as JSON."""

    episode: Episode
    session: Session
    recorded_as: str | None
    committed: dict[str, Any] | None


class Asking:
    """A question with everything that answers it; what cannot be combined is refused before anything is built or sent.

    Raises VideoWorldError: the faults of the question, the model, the library, the system, the prices.
    """

    def __init__(self, question: Question, options: AskOptions) -> None:
        from dataclasses import replace

        import tool_induction
        from controller.conversation import language_of
        from controller.systems.base import SystemContext
        from controller.systems.tool_systems import build_system
        from tool_induction.domains.domain_file import load_domain
        from tool_induction.judge.judges import judge_from_options
        from world_api.api import vision_config
        from world_api.chat.messages import Prices
        from world_api.chat.models import chat_model, images_and_window
        from world_api.core.execution import SystemClock

        self.question, self.options = question, options
        clock, environment = SystemClock(), os.environ
        language = language_of(question.text) if options.language == "auto" else options.language
        chosen = options.vision.choices(model=options.model, language=language)
        self.config: VisionConfig | None = vision_config(chosen, clock=clock, environment=environment)
        model = chat_model(options.model, clock=clock, environment=environment, wire=options.wire, cache=options.cache)
        takes_images, known_window = images_and_window(options.model, environment=environment)
        library = judge = None
        if options.tools is not None:
            library = tool_induction.load_library(options.tools, allow_judge=options.allow_judge, groups=options.groups)
        if options.judge_model is not None or options.judge_record is not None:
            judge = judge_from_options(
                options.allow_judge, options.judge_model, options.judge_record, clock=clock, environment=environment
            )
        self.context: SystemContext = SystemContext(
            model=model,
            clock=clock,
            budget=replace(options.budget, window=options.budget.window or known_window),
            prices=Prices.read(options.prices),
            language=language,
            library=library,
            judge=judge,
            domain=load_domain(options.domain) if options.domain is not None else None,
            options={**options.settings, **({} if options.exposure is None else {"exposure": options.exposure})},
            takes_images=takes_images,
        )
        self.system = options.system or ("hier" if options.tools is not None else "flat")
        build_system(self.system, self.context)
        refuse_unpriced(self.context.budget, self.context.model.name, self.context.prices)

    def confirm(self, video: str) -> None:
        """Return if no frame may be sent, or the user agrees to it. Raises BackendFault: ``consent_needed``, ``consent_refused``."""
        options = self.options
        options.vision.confirm(
            options.store, video, self.config, prices=self.context.prices, during="for this question"
        )

    def answer(self, video_id: str, *, say: Callable[[str], object]) -> Asked:
        """Answer the question in a session on a world; ``say`` gets a message if the episode is interrupted.

        Raises EpisodeFault: the fault that ended the episode; VideoWorldError: those of opening the world and of recording.
        """
        from controller.records.journal import Journal
        from controller.records.recorder import answer
        from world_api.api import open_session
        from world_api.session.session import forget_reserved, reserve_session

        options = self.options
        # Without a name the session is fresh and lives in memory, unless it has to be stored to be committed.
        fresh = reserve_session(options.store, video_id, "ask") if options.session is None and options.commit else None
        name = options.session if fresh is None else fresh
        try:
            opened = open_session(
                options.store, video_id, as_of=self.question.as_of, name=name, groups=options.groups, seeing=self.config
            )
            opened.view.world.verify()  # to a model a damaged world would look empty
            answered = answer(
                self.question, opened, system=self.system, context=self.context,
                journal=None if options.record is None else Journal(options.record),
                when_broken_off=lambda name: say(f"recorded as {name}"),
            )  # fmt: skip
            if (fault := answered.episode.fault) is not None:
                if answered.name is not None:
                    say(f"recorded as {answered.name}")
                raise EpisodeFault(fault.code, fault.message, hint=fault.hint)
        except BaseException:
            if fresh is not None:
                forget_reserved(options.store, video_id, fresh)
            raise
        committed = _commit(options.store, video_id, name) if options.commit and name is not None else None
        if fresh is not None:
            forget_reserved(options.store, video_id, fresh)
        return Asked(episode=answered.episode, session=opened, recorded_as=answered.name, committed=committed)


def _commit(store: Path, video_id: str, session: str) -> dict[str, Any]:
    """Add the session's writes to the world; return as JSON their numbers by kind (``memories``, ``entities``), maybe 0."""
    from world_api.session.session import commit_session

    try:
        return commit_session(store, video_id, session).record()
    except StoreFault as fault:
        if fault.code != "no_such_session":
            fault.add_note(f"what was written stays: videoworld session commit {video_id} {session}")
            raise
        return {"video_id": video_id, "session": session, "memories": 0, "entities": 0}

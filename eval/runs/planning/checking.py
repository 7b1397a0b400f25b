"""What forbids a run, found before anything is built or asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.records.recorder import refuse_unpriced
from controller.systems.registry import build_system
from eval.runs.cells import Cell
from eval.runs.configuration.reading import Configuration
from eval.runs.planning.questions import Picked
from eval.runs.running.workshop import Workshop, domain_named
from eval.scoring.scorers import check_protocol
from tool_induction.domains.domain import SplitName
from tool_induction.domains.guard import Asked, refuse_leaks, refuse_seen
from tool_induction.library import ToolLibrary
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.faults import EvalFault, ToolFault, VideoWorldError

#: The systems that send pictures in every episode.
_NEED_IMAGES = frozenset({"direct"})


def refuse_impossible(
    configuration: Configuration,
    cells: Sequence[Cell],
    picked: Sequence[Picked],
    libraries: Mapping[str, ToolLibrary],
    workshop: Workshop,
) -> None:
    """Refuse what could not be run, or would measure nothing.

    Raises:
        EvalFault: ``bad_configuration``, at the arm that cannot be built; ``images_needed``.
        EpisodeFault: ``no_price``.
        ToolFault: ``split_leak``, ``no_such_template``.
    """
    arms = [arm.name for arm in configuration.document.arms]
    questions = {one.name: one for one in picked}
    seen: set[tuple[str, str | None, str, str, str | None]] = set()
    for cell in cells:
        if cell.arm.system in _NEED_IMAGES:
            _refuse_blind(cell, workshop)
        for item in questions[cell.dataset].items:
            key = (cell.arm.name, cell.arm.library, cell.dataset, cell.budget, item.domain)
            if key in seen:
                continue
            seen.add(key)
            try:
                context = workshop.context(cell, item)
                refuse_unpriced(context)
                build_system(cell.arm.system, context)
            except VideoWorldError as fault:
                place = ("arms", arms.index(cell.arm.name))
                fault.message = f"{configuration.where(*place)}: the arm {cell.arm.name!r}: {fault.message}"
                raise
    for one in picked:
        check_protocol(one.dataset.protocol)
        refuse_leaked(one, [libraries[name] for name in _used(cells, one.name)])


def refuse_leaked(picked: Picked, libraries: Sequence[ToolLibrary]) -> None:
    """Refuse questions whose video or template belongs to another split than theirs, or was seen by a library's induction.

    The first asks for a split and a domain that is packaged; what an induction saw is looked at for every question, one
    without a split taken for one of ``test``.

    Raises:
        ToolFault: ``split_leak``, ``no_such_template``.
    """
    groups: dict[tuple[str | None, SplitName | None], list[Asked]] = {}
    for item in picked.items:
        asked = Asked(video_id=item.video_id, question=item.question.text, template=item.template or "")
        groups.setdefault((item.domain, item.split), []).append(asked)
    for (name, split), asked_of in groups.items():
        try:
            domain = domain_named(name)
            if domain is not None and split is not None:
                refuse_leaks(domain, split, asked_of)
            for library in libraries:
                manifest = library.manifest
                refuse_seen(asked_of, split=split or "test", library=manifest, domain=name)
                if domain is not None and split is not None:
                    refuse_leaks(domain, split, asked_of, library=manifest)
        except ToolFault as fault:
            fault.message = f"{picked.name}: {fault.message}"
            raise


def _used(cells: Sequence[Cell], dataset: str) -> list[str]:
    """The libraries that a dataset is asked with."""
    used = (cell.arm.library for cell in cells if cell.dataset == dataset)
    return list(dict.fromkeys(name for name in used if name is not None))


def _refuse_blind(cell: Cell, workshop: Workshop) -> None:
    if cell.model == RULE_BASED or workshop.takes_images is False:
        raise EvalFault(
            "images_needed",
            f"the arm {cell.arm.name!r} sends pictures, and {cell.model} takes none",
            hint="leave the arm out, or name a model that takes pictures",
        )

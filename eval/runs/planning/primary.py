"""The contrast that is named before a run: whether it names one, and only one, in the run that is planned."""

from __future__ import annotations

from collections.abc import Sequence

from eval.runs.cells import Cell
from eval.runs.configuration.document import PrimaryPart
from eval.runs.configuration.reading import Configuration
from eval.runs.planning.questions import Picked
from tool_induction.language.diagnostics import closest
from world_api.core.faults import EvalFault


def refuse_unclear(configuration: Configuration, picked: Sequence[Picked], cells: Sequence[Cell]) -> None:
    """Refuse a primary contrast that nothing could come of, or several things: it would be seen when all is paid for.

    Raises:
        EvalFault: ``bad_configuration``, at the key that names nothing of this run, or leaves open which samples are paired.
    """
    primary = configuration.document.primary
    if primary is None:
        return
    document = configuration.document
    arms = [arm.name for arm in document.arms]
    asked = [one for one in picked if primary.dataset in (None, one.name)]
    for key, value, names in (
        ("arm", primary.arm, arms),
        ("against", primary.against, arms),
        ("budget", primary.budget, list(document.budgets)),
        ("world", primary.world, document.worlds),
        ("dataset", primary.dataset, [one.name for one in picked]),
        ("domain", primary.domain, sorted({item.domain for one in asked for item in one.items if item.domain})),
        ("library", primary.library, _libraries(cells, primary.arm)),
    ):
        if value is not None and value not in names:
            raise _no_such(configuration, key, value, names)
    if primary.arm == primary.against:
        raise configuration.bad(
            ("primary", "against"),
            f"{primary.against!r} is compared with itself",
            hint="name another arm; an arm may stand in `arms` twice, under two names",
        )
    _refuse_ambiguous(configuration, primary, cells)


def _refuse_ambiguous(configuration: Configuration, primary: PrimaryPart, cells: Sequence[Cell]) -> None:
    """Each sample of the arm has one partner: that with the same library, or the only one there is."""
    ours, theirs = _libraries(cells, primary.arm), _libraries(cells, primary.against)
    if primary.library is not None:
        ours = [primary.library]
    if len(theirs) > 1 and not set(ours) & set(theirs):
        raise configuration.bad(
            ("primary", "against"),
            f"the arm {primary.against!r} has {len(theirs)} libraries, and which of them {primary.arm!r} is compared "
            "with is not said",
            hint=f"give an arm `libraries: [{theirs[0]}]` and compare with that one",
        )


def _libraries(cells: Sequence[Cell], arm: str) -> list[str]:
    """The libraries that an arm is run with."""
    names = (cell.arm.library for cell in cells if cell.arm.name == arm)
    return list(dict.fromkeys(name for name in names if name is not None))


def _no_such(configuration: Configuration, key: str, value: str, names: Sequence[str]) -> EvalFault:
    near = closest(value, names)
    if key == "library":
        what = f"the arm is run with no library {value!r}"
    elif key == "domain":
        what = f"no question that is asked is of the domain {value!r}"
    else:
        what = f"no {'arm' if key == 'against' else key} is named {value!r}"
    return configuration.bad(
        ("primary", key),
        what,
        hint=f"did you mean {near!r}?" if near else "they are: " + (", ".join(names) or "none"),
    )

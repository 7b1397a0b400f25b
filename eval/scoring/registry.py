"""Scorers by name and version: those of the product, and those that others add by entry point.

A third party adds one in its own package::

    [project.entry-points."video_world_api.scorers"]
    mine = "their_package.their_module:score"

``score`` is called with ``(item, value, answer, context)`` and gives back a ``Score`` (see ``eval.scoring.port``); its
attribute ``version`` (1 where it has none) is part of its name: ``mine/1``. The product's own names cannot be taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata

from eval.scoring.kinds.choices import score_choice
from eval.scoring.kinds.counts import score_count
from eval.scoring.kinds.intervals import score_interval
from eval.scoring.kinds.orders import score_order
from eval.scoring.kinds.texts import score_judged, score_text, score_text_cjk
from eval.scoring.port import Scorer
from eval.scoring.published.locomo import score_locomo
from eval.scoring.published.replies import score_choice_reply
from tool_induction.language.diagnostics import closest
from world_api.core.faults import EvalFault

ENTRY_POINT_GROUP = "video_world_api.scorers"


@dataclass(frozen=True, kw_only=True)
class Named:
    """A scorer under its whole name."""

    name: str
    version: int
    scorer: Scorer

    @property
    def whole_name(self) -> str:
        """With its version: ``interval/1``."""
        return f"{self.name}/{self.version}"


_OWN: Mapping[str, Named] = {
    name: Named(name=name, version=1, scorer=scorer)
    for name, scorer in {
        "choice": score_choice,
        "choice_reply": score_choice_reply,
        "interval": score_interval,
        "count": score_count,
        "order": score_order,
        "text": score_text,
        "text_cjk": score_text_cjk,
        "judge": score_judged,
        "locomo": score_locomo,
    }.items()
}


def scorer_names() -> tuple[str, ...]:
    """The scorers there are, without versions: the product's own, then those of other packages, sorted."""
    return (*_OWN, *sorted(_added()))


def scorer_named(whole_name: str) -> Named:
    """A scorer by name, with or without a version.

    Raises:
        EvalFault: ``unknown_scorer``, ``scorer_version``, ``scorer_not_loadable``.
    """
    name, _, version = whole_name.partition("/")
    found = _OWN.get(name) or _loaded(name)
    if version and version != str(found.version):
        raise EvalFault(
            "scorer_version",
            f"the protocol wants {whole_name[:64]}, this version has {found.whole_name}",
            hint="score with the version of the package that the protocol was written for, or change the protocol",
        )
    return found


def _added() -> dict[str, metadata.EntryPoint]:
    return {item.name: item for item in metadata.entry_points(group=ENTRY_POINT_GROUP) if item.name not in _OWN}


def _loaded(name: str) -> Named:
    point = _added().get(name)
    if point is None:
        near = closest(name, scorer_names())
        raise EvalFault(
            "unknown_scorer",
            f"there is no scorer {name[:64]!r}",
            hint=f"did you mean {near!r}?" if near else "one of: " + ", ".join(scorer_names()),
        )
    try:
        scorer = point.load()
    except Exception as error:  # another package may raise anything when it is imported
        raise _not_loadable(point, f"{type(error).__name__}: {error}") from error
    version = getattr(scorer, "version", 1)
    if not callable(scorer) or not isinstance(version, int):
        raise _not_loadable(point, "it is not callable, or its version is no whole number")
    loaded: Scorer = scorer
    return Named(name=name, version=version, scorer=loaded)


def _not_loadable(found: metadata.EntryPoint, why: str) -> EvalFault:
    return EvalFault(
        "scorer_not_loadable",
        f"the scorer {found.name!r} ({found.value}) cannot be loaded: {why[:200]}",
        hint="mend or uninstall the package that adds it",
    )

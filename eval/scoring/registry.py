"""Scorers by name and version: those of the product, and those that others add by entry point.

A third party adds one in its own package::

    [project.entry-points."video_world_api.scorers"]
    mine = "their_package.their_module:score"

``score`` is called with ``(item, value, answer, context)`` and gives back a ``Score`` (see ``eval.scoring.port``); its
attribute ``version`` (1 where it has none) is part of its name: ``mine/1``; where it has a dataclass as ``settings``, protocols
are checked against it before anything runs. The product's own names cannot be taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from eval.scoring.kinds.choices import NoSettings, score_choice
from eval.scoring.kinds.counts import CountSettings, score_count
from eval.scoring.kinds.intervals import IntervalSettings, score_interval
from eval.scoring.kinds.orders import OrderSettings, score_order
from eval.scoring.kinds.texts import JudgeSettings, TextSettings, score_judged, score_text, score_text_cjk
from eval.scoring.port import Context, Scorer
from eval.scoring.published.locomo import LocomoSettings, score_locomo
from eval.scoring.published.replies import ReplySettings, score_choice_reply
from tool_induction.language.diagnostics import closest
from world_api.core.faults import EvalFault
from world_api.plugins import added, load_added

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ENTRY_POINT_GROUP = "video_world_api.scorers"


@dataclass(frozen=True, kw_only=True)
class Named:
    """A scorer under its whole name. ``settings`` is what it reads of a protocol, where that is known."""

    name: str
    version: int = 1
    scorer: Scorer
    settings: type[DataclassInstance] | None = None

    @property
    def whole_name(self) -> str:
        """With its version: ``interval/1``."""
        return f"{self.name}/{self.version}"

    def check(self, settings: Mapping[str, Any]) -> None:
        """Read settings, as it will when it scores.

        Raises:
            EvalFault: ``bad_protocol``.
        """
        if self.settings is not None:
            Context(scorer=self.whole_name, settings=settings).read(self.settings)


_OWN: Mapping[str, Named] = {
    named.name: named
    for named in (
        Named(name="choice", scorer=score_choice, settings=NoSettings),
        Named(name="choice_reply", scorer=score_choice_reply, settings=ReplySettings),
        Named(name="interval", scorer=score_interval, settings=IntervalSettings),
        Named(name="count", scorer=score_count, settings=CountSettings),
        Named(name="order", scorer=score_order, settings=OrderSettings),
        Named(name="text", scorer=score_text, settings=TextSettings),
        Named(name="text_cjk", scorer=score_text_cjk, settings=TextSettings),
        Named(name="judge", scorer=score_judged, settings=JudgeSettings),
        Named(name="locomo", scorer=score_locomo, settings=LocomoSettings),
    )
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
    return added(ENTRY_POINT_GROUP, own=_OWN)


def _loaded(name: str) -> Named:
    point = _added().get(name)
    if point is None:
        near = closest(name, scorer_names())
        raise EvalFault(
            "unknown_scorer",
            f"there is no scorer {name[:64]!r}",
            hint=f"did you mean {near!r}?" if near else "one of: " + ", ".join(scorer_names()),
        )
    scorer = load_added(point, _not_loadable)
    version = getattr(scorer, "version", 1)
    if not isinstance(version, int):
        raise _not_loadable(point, "its version is no whole number")
    settings = getattr(scorer, "settings", None)
    known = settings if isinstance(settings, type) and is_dataclass(settings) else None
    return Named(name=name, version=version, scorer=scorer, settings=known)


def _not_loadable(found: metadata.EntryPoint, why: str) -> EvalFault:
    return EvalFault(
        "scorer_not_loadable",
        f"the scorer {found.name!r} ({found.value}) cannot be loaded: {why[:200]}",
        hint="mend or uninstall the package that adds it",
    )

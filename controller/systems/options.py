"""A system's own settings, checked; and the guard that keeps what is measured apart from what was shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tool_induction.domains.domain import SplitName
from tool_induction.language.diagnostics import closest
from world_api.core.faults import EpisodeFault

if TYPE_CHECKING:
    from controller.questions import Question
    from controller.systems.context import SystemContext
    from world_api.world.sessions.session import Session


class Options(BaseModel):
    """Settings that every system has.

    ``split``: what is asked is to be measured in this split of the context's domain; a question that the domain, or the
    library's induction, keeps in another split is refused.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    split: SplitName | None = None


Kind = TypeVar("Kind", bound=Options)


def read_options(kind: type[Kind], given: Mapping[str, Any], *, system: str) -> Kind:
    """The settings of a system.

    Raises:
        EpisodeFault: ``bad_option``, naming the first that is wrong.
    """
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
    if name not in kind.model_fields:
        near = closest(name, list(kind.model_fields))
        hint = f"did you mean {near!r}?" if near else "it has: " + ", ".join(kind.model_fields)
        raise EpisodeFault("bad_option", f"the system {system!r} has no option {name[:64]!r}", hint=hint)
    raise EpisodeFault("bad_option", f"the option {name!r} of the system {system!r}: {first['msg']}")


def refuse_shown(question: Question, session: Session, context: SystemContext, *, split: SplitName | None) -> None:
    """Refuse a question whose answer, or whose like, the model or the library's induction was shown.

    Without a split only the worked examples themselves are refused.

    Raises:
        ToolFault: ``split_leak``.
    """
    if context.domain is None:
        return
    from tool_induction.domains.guard import Asked, leaks, refuse_leaks

    asked = Asked(video_id=session.video_id, question=question.text)
    manifest = context.library.manifest if context.library is not None else None
    if split is not None:
        refuse_leaks(context.domain, split, [asked], library=manifest)
    elif any(leak.by == "example" for leak in leaks(context.domain, "test", [asked])):
        refuse_leaks(context.domain, "test", [asked])

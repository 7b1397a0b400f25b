"""A system's own settings, checked; and the guard that keeps what is measured apart from what was shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tool_induction.domains.domain import SplitName
from tool_induction.language.diagnostics import closest
from world_api.core.faults import EpisodeFault, ToolFault

if TYPE_CHECKING:
    from controller.questions import Question
    from controller.systems.context import SystemContext
    from world_api.session.session import Session


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
    """Refuse a question whose answer, or whose like, was shown: to the model, or to the induction of the library.

    The rule is the same for every system, whatever of domain and library it uses, so that arms which are given the same
    context are asked the same questions. Without a split the worked examples are refused: those of the domain, and those that the
    library's manifest says its induction was shown.

    Raises:
        ToolFault: ``split_leak``.
    """
    from tool_induction.domains.guard import Asked, Seen, normal, refuse_leaks

    domain, library = context.domain, context.library
    if domain is not None and split is not None:
        asked = Asked(video_id=session.video_id, question=question.text)
        refuse_leaks(domain, split, [asked], library=library.manifest if library is not None else None)
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

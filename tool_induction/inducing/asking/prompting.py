"""What the model is told: the language, the domain, and what is wrong with the tools it wrote.

The words stand in ``prompts/*.jinja``; the tables in them are made from those the compiler and the runtime use. ``hash`` names both:
with another operation, aggregate, limit or wording it is another prompt.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeVar, get_args

from tool_induction.domains import Domain, WorkedExample
from tool_induction.inducing.asking import card
from tool_induction.language import limits
from tool_induction.language.parsing import FILTERS
from tool_induction.language.types import known_types
from world_api.chat.prompts import PromptFiles
from world_api.core.canonical import content_hash

#: plain: JSON in the text; structured: the server holds the reply to the language's JSON Schema; strict: to the form of it
#: that keeps to the rules of OpenAI's strict mode
Mode = Literal["plain", "structured", "strict"]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class FailingTool:
    """A tool that is handed back: its name, its document as it was written, and what is wrong with it."""

    name: str
    text: str
    faults: tuple[str, ...]


class InducerPrompts:
    """The inducer's prompts, filled in. ``groups``: optional groups of operations that tools may call beside the sixteen."""

    def __init__(
        self, folder: str = "prompts", *, groups: frozenset[str] = frozenset(), allow_judge: bool = False
    ) -> None:
        self._groups = groups
        self._allow_judge = allow_judge
        self._files = PromptFiles("tool_induction.inducing", folder)
        self._worked = (
            (files("tool_induction.inducing") / folder / "worked_tool.json").read_text(encoding="utf-8").strip()
        )

    @property
    def hash(self) -> str:
        """SHA-256 over the prompt files and the tables that are filled into them."""
        return content_hash([self._files.hash, *(self.system(mode) for mode in get_args(Mode))])

    def system(self, mode: Mode) -> str:
        """What stays the same in every request."""
        return self._files.render(
            "system",
            reply_form=self._reply_form(mode),
            worked_tool=self._worked,
            **_language_tables(self._groups, allow_judge=self._allow_judge),
        )

    def language(self) -> str:
        """The operations and the tool language alone, with an example of a tool: for whoever writes one that is not kept."""
        told = self._files.render("language", **_language_tables(self._groups, allow_judge=self._allow_judge))
        return f"{told}\n\n{self._files.render('worked', worked_tool=self._worked)}"

    def request(self, domain: Domain, *, count: int, seed: int) -> str:
        """What is asked of one draw: the domain and the kinds of tools, in an order that the seed decides."""
        kinds = _shuffled(domain.tool_kinds, random.Random(f"kinds {seed}"))  # noqa: S311 - an order, not a secret
        return self._files.render("request", count=count, domain=self.domain(domain, seed=seed), tool_kinds=kinds)

    def domain(self, domain: Domain, *, seed: int) -> str:
        """The domain alone: what is asked in it, with the templates of induction, and the worked examples."""
        order = random.Random(f"types {seed}")  # noqa: S311 - an order, not a secret
        kinds = [kind for kind in domain.question_types if kind.of("induction")]
        return self._files.render(
            "domain",
            title=domain.title,
            description=domain.description,
            question_types=[
                {
                    "about": kind.about,
                    "answer": kind.answer,
                    "templates": [wording for item in kind.of("induction") for wording in item.wordings],
                }
                for kind in _shuffled(kinds, order)
            ],
            examples=examples_of(domain, seed),
        )

    def repair(self, domain: Domain, tools: Sequence[FailingTool], *, usable: Sequence[str], mode: Mode) -> str:
        """What is handed back in a repair round: the failing tools alone."""
        return self._files.render(
            "repair", title=domain.title, tools=tools, usable=usable, reply_form=self._reply_form(mode)
        )

    def _reply_form(self, mode: Mode) -> str:
        return self._files.render("reply_form", mode=mode)


def _language_tables(groups: frozenset[str], *, allow_judge: bool) -> dict[str, Any]:
    return {
        "operations": list(card.operation_lines(groups)),
        "records": list(card.record_lines(groups)),
        "types": known_types(),
        "steps": list(card.step_lines(allow_judge=allow_judge)),
        "list_rules": list(card.list_lines(groups)),
        "loop_keys": card.loop_keys(),
        "limits": limits,
        "filters": sorted(FILTERS),
        "aggregates": list(card.aggregate_lines()),
    }


def examples_of(domain: Domain, seed: int) -> list[WorkedExample]:
    """The worked examples in the order in which a seed puts them."""
    return _shuffled(domain.examples, random.Random(f"examples {seed}"))  # noqa: S311 - an order, not a secret


def _shuffled(items: Sequence[T], order: random.Random) -> list[T]:
    return order.sample(items, len(items))

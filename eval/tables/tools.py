"""Tables of tool libraries: use of every tool, the funnel to right answers, what each tool brings, what induction yields and costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from eval.tables.accuracy import SAMPLES, VIDEOS, library_figure
from eval.tables.cells import correct, count, interval, mean, money, share, tokens, value_cell
from eval.tables.comparisons import P_CLUSTERED, PAIR_VIDEOS, PAIRS, Contrast, pairs_of, tokens_difference
from eval.tables.rows import LibraryFacts, SampleRow, ToolUse
from eval.tables.study import PLACE, Group, Rows, Study, grouped, keys, setting_of, words
from eval.tables.table import Cell, Figures, Table, blank, figure

Uses = list[tuple[SampleRow, ToolUse]]
_NO_TEMPLATES = "the questions name no templates"
_NOT_INDUCED = "the library was not induced"
_UNSAID = "the manifest does not say"


def library_uses(row: SampleRow) -> list[ToolUse]:
    """The uses of tools of the library that the sample was offered."""
    return [use for use in row.tools if use.name in row.offered]


def _ratio(part: float, whole: float, why: str) -> Cell:
    return Cell(value=part / whole) if whole else blank(why)


@dataclass(frozen=True, kw_only=True)
class _Tool(Group):
    """A tool (``name``) of a library that an arm was offered, with its uses; ``rows`` are the samples that used it."""

    uses: Uses
    whole: Group

    def answered(self, *, right: bool) -> list[SampleRow]:
        """The samples that used the tool and were right, or wrong."""
        return [row for row in self.rows if row.correct == right]

    def sum(self, name: str) -> int:
        return sum(getattr(use, name) for _, use in self.uses)

    def hashes(self) -> Cell:
        facts = self.whole.library
        known = {use.hash for _, use in self.uses} or {facts.tools.get(self.name) if facts is not None else None}
        return value_cell("; ".join(sorted(filter(None, known))) or None, "the library is not there any more")

    def templates(self) -> Cell:
        """The question templates of right answers."""
        right = self.answered(right=True)
        if self.rows and all(row.template is None for row in self.rows):
            return blank(_NO_TEMPLATES)
        return count(len({row.template for row in right if row.template is not None}), right)


def _answered(tool: _Tool, *, right: bool) -> Cell:
    rows = tool.answered(right=right)
    return count(len(rows), rows)


_TOOL: Figures[_Tool] = (
    *PLACE,
    figure("library", "text", lambda tool: value_cell(tool.whole.first.library), aside=True),
    figure("tool", "text", lambda tool: Cell(value=tool.name)),
    figure("hash", "text", _Tool.hashes, title="document", about="hash of the tool's document", aside=True),
    figure("calls", "count", lambda tool: count(tool.sum("calls"))),
    figure("share", "share",
           lambda tool: _ratio(tool.sum("calls"), sum(row.calls for row in tool.whole.rows), "no calls"),
           title="of all calls", about="of the model's calls in this arm"),
    figure("used", "count", lambda tool: count(len(tool.rows)), title="episodes", about="episodes that called it"),
    figure("right", "count", partial(_answered, right=True), about="of these, answered right"),
    figure("wrong", "count", partial(_answered, right=False)),
    figure("found", "share", lambda tool: _ratio(tool.sum("found"), tool.sum("calls"), "never called"),
           about="calls that neither failed nor came back empty"),
    figure("failed", "count", lambda tool: count(tool.sum("failed")), aside=True),
    figure("inner", "number", lambda tool: _ratio(tool.sum("inner_calls"), tool.sum("calls"), "never called"),
           title="inside", about="operations inside a call"),
    figure("templates", "count", _Tool.templates, about="question templates of episodes that used it and were right"),
)  # fmt: skip


def tools_table(study: Study) -> Table:
    """Every tool of every library, also those that were never called."""
    groups = _offered(study)
    return study.table(
        "tools",
        "Use of every tool",
        _TOOL,
        [tool for group in groups for tool in _tools(group)],
        of=[row for group in groups for row in group.rows],
        note="True use: calls of the tool by name and by the hash of its document. A tool that is used in right answers need not be "
        "why they are right; leaving it out tells.",
    )


def _offered(study: Study) -> list[Group]:
    """The arms that were offered tools of a library."""
    return [group for group in study.groups() if any(row.offered for row in group.rows)]


def _tools(group: Group) -> Iterator[_Tool]:
    used: dict[str, Uses] = {name: [] for row in group.rows for name in row.offered}
    for row in group.rows:
        for use in library_uses(row):
            used[use.name].append((row, use))
    for name, uses in used.items():
        rows = [row for row, _ in uses]
        yield _Tool(**{**vars(group), "rows": rows, "name": name}, uses=uses, whole=group)


@dataclass(frozen=True, kw_only=True)
class _Library(Group):
    """An arm with a library, and the uses of its tools."""

    @cached_property
    def uses(self) -> Uses:
        return [(row, use) for row in self.rows for use in library_uses(row)]

    @cached_property
    def made(self) -> Counter[str]:
        made = Counter[str]()
        for _, use in self.uses:
            made[use.name] += use.calls
        return made

    @cached_property
    def calls(self) -> int:
        return sum(row.calls for row in self.rows)

    def used(self, row: SampleRow) -> float:
        return float(bool(library_uses(row)))

    def accuracy(self, *, used: bool) -> Cell:
        why = "no episode used a tool" if used else "every episode used a tool"
        return mean([row for row in self.rows if self.used(row) == used], correct, why=why)

    def reused(self) -> Cell:
        """How many tools were used in right answers to several templates."""
        if all(row.template is None for row in self.rows):
            return blank(_NO_TEMPLATES)
        right = {(use.name, row.template) for row, use in self.uses if row.correct and row.template is not None}
        return count(sum(number > 1 for number in Counter(name for name, _ in right).values()))

    def found(self) -> Uses:
        return [(row, use) for row, use in self.uses if use.found]


_USE: Figures[_Library] = (
    *PLACE,
    library_figure(),
    SAMPLES,
    VIDEOS,
    figure("used", "share", lambda own: share(own.rows, seed=own.seed, measure=own.used), title="true use",
           about="episodes that called a tool of the library"),
    figure("accuracy_used", "share", partial(_Library.accuracy, used=True), title="right, used",
           about="accuracy of the episodes that called one"),
    figure("accuracy_unused", "share", partial(_Library.accuracy, used=False), title="right, unused",
           about="accuracy of those that called none"),
    figure("share", "share", lambda own: _ratio(own.made.total(), own.calls, "no calls"), title="of all calls",
           about="calls of tools among the model's calls"),
    figure("compression", "number",
           lambda own: _ratio(sum(row.inner_calls for row in own.rows), own.calls, "no calls"),
           about="operations inside tools for each call of the model"),
    figure("entropy", "number",
           lambda own: Cell(value=entropy(own.made)) if own.made.total() else blank("no tool was called"),
           title="entropy, bits", about="of the calls over the library's tools"),
    figure("called", "count", lambda own: count(sum(number > 0 for number in own.made.values())), title="tools called"),
    figure("reused", "count", _Library.reused, about="tools used in two question templates or more, and right"),
)  # fmt: skip


def tool_use_table(study: Study) -> Table:
    """How each arm that has a library uses it."""
    return study.table(
        "tool_use",
        "Use of libraries",
        _USE,
        map(_library, _offered(study)),
        note="Accuracy of episodes that used a tool is no effect of the tool: a model may turn to tools where questions are hard. "
        "Entropy is 0 where one tool takes all calls and the logarithm of the number of tools where all are called alike.",
    )


def _library(group: Group) -> _Library:
    return _Library(**vars(group))


def entropy(made: Counter[str]) -> float:
    """Shannon's entropy of calls over tools, in bits."""
    total = made.total()
    return sum(-number / total * math.log2(number / total) for number in made.values() if number) + 0.0


_LEFT_OUT: Figures[Contrast] = (
    *words("dataset", "world", "budget"),
    figure("library", "text", lambda item: value_cell(item.pairs.pairs[0][0].library if item.pairs.pairs else None)),
    figure("tool", "text", lambda item: Cell(value=item.name), title="left out"),
    PAIRS,
    PAIR_VIDEOS,
    figure("difference", "points", Contrast.difference, title="whole less without"),
    P_CLUSTERED,
    tokens_difference("whole less without, logical, a sample"),
)


def leave_one_out_table(study: Study) -> Table:
    """What each tool brings: the library less the same library without it, if such arms were run."""
    note = "The library less the same library without the tool, paired; intervals (95 %) over videos. Positive: the tool helps. "
    missing = (
        "No library of this run is another one without one tool; `videoworld tools fork --drop` makes such libraries."
    )
    return study.table(
        "leave_one_out", "Leaving one tool out", _LEFT_OUT, left_out_contrasts(study), note=note, empty=note + missing
    )


def left_out_contrasts(study: Study) -> Iterator[Contrast]:
    """A whole library against the same library without one tool (``name``), alike in all else."""
    for setting, within in grouped((row for row in study.rows if row.library), setting_of).items():
        arms = list(grouped(within, lambda row: row.arm).values())
        for other in arms:
            facts = study.libraries.get(other[0].library or "")
            if facts is None or facts.left_out is None:
                continue
            for one in arms:
                if (one[0].library_hash, one[0].system, one[0].exposure) == (
                    facts.of,
                    other[0].system,
                    other[0].exposure,
                ):
                    yield Contrast(
                        setting=setting,
                        arm=one[0].arm,
                        against=other[0].arm,
                        pairs=pairs_of(one, other),
                        seed=study.seed,
                        name=facts.left_out,
                    )


def _tools_of(step: Callable[[_Library], Uses]) -> Callable[[_Library], Cell]:
    """Make a cell function that counts distinct tools."""

    def cell(own: _Library) -> Cell:
        uses = step(own)
        return count(len({use.name for _, use in uses}), (row for row, _ in uses))

    return cell


def _episodes_of(holds: Callable[[SampleRow], Any]) -> Callable[[_Library], Cell]:
    """The number of samples that offered tools and hold something."""

    def cell(own: _Library) -> Cell:
        rows = [row for row in own.rows if row.offered and holds(row)]
        return count(len(rows), rows)

    return cell


def _found(row: SampleRow) -> bool:
    return any(use.found for use in library_uses(row))


def _written(own: _Library) -> Cell:
    yields = own.library.induction.get("yields") if own.library is not None else None
    written = yields.get("written") if isinstance(yields, dict) else None
    return count(written) if isinstance(written, int) else blank(_NOT_INDUCED)


def _compiled(own: _Library) -> Cell:
    facts = own.library
    gone = facts.why if facts is not None and facts.why else "nothing is known of the library"
    return count(len(facts.tools)) if facts is not None and facts.tools else blank(gone)


_FUNNEL: Figures[_Library] = (
    *PLACE,
    library_figure(),
    figure("written", "count", _written, about="tools in the model's first emission"),
    figure("compiled", "count", _compiled, title="compile",
           about="tools of the library: only such as compile are frozen"),
    figure("exposed", "count", lambda own: count(len({name for row in own.rows for name in row.offered})),
           about="tools that some episode was offered"),
    figure("called", "count", _tools_of(lambda own: own.uses), about="tools that some episode called"),
    figure("found", "count", _tools_of(_Library.found), title="found something",
           about="tools of which a call neither failed nor was empty"),
    figure("right", "count", _tools_of(lambda own: [(row, use) for row, use in own.found() if row.correct]),
           title="and right", about="tools that found something in an episode that was right"),
    figure("episodes", "count", lambda own: count(len(own.rows))),
    figure("episodes_exposed", "count", _episodes_of(lambda _: True), title="offered",
           about="episodes that were offered tools"),
    figure("episodes_called", "count", _episodes_of(library_uses), title="called",
           about="episodes that called a tool"),
    figure("episodes_found", "count", _episodes_of(_found), title="found",
           about="episodes in which a tool found something"),
    figure("episodes_right", "count", _episodes_of(lambda row: _found(row) and row.correct), title="right",
           about="of these, answered right"),
)  # fmt: skip


def funnel_table(study: Study) -> Table:
    """The funnel of every library that was exposed, in tools and in episodes."""
    return study.table(
        "funnel",
        "From a library's tools to right answers",
        _FUNNEL,
        [_library(group) for group in study.groups() if group.first.library and group.first.system == "hier"],
        note="Left: tools. Right: episodes. Each step counts what passed all steps before it. An answer that is right after a tool "
        "found something is not thereby right because of it.",
    )


@dataclass(frozen=True, kw_only=True)
class Induction:
    """What the manifest of a library says of its induction; ``why`` says why it says nothing."""

    facts: LibraryFacts
    rows: Rows = ()

    @property
    def samples(self) -> tuple[str, ...]:
        """The keys of the samples with the library."""
        return keys(self.rows)

    @property
    def is_own(self) -> bool:
        """Whether the library's tools come from an induction: also as a selected part of it, but not as placebo or by chance."""
        return bool(self.facts.induction) and self.facts.arm not in ("placebo", "random")

    @property
    def why(self) -> str:
        """Why a figure is missing."""
        return _UNSAID if self.is_own else _NOT_INDUCED

    def _number(self, part: str, name: str) -> float | None:
        held = self.facts.induction.get(part)
        value = held.get(name) if self.is_own and isinstance(held, Mapping) else None
        known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if known and value is not None else None

    @property
    def tokens(self) -> float | None:
        """Tokens that the induction took."""
        parts = (self._number("cost", "prompt_tokens"), self._number("cost", "completion_tokens"))
        known = [part for part in parts if part is not None]
        return sum(known) if known else None

    @property
    def money(self) -> float | None:
        """USD that the induction took."""
        return self._number("cost", "money")

    def tokens_cell(self) -> Cell:
        """The tokens, marked if a server did not count them."""
        cost = self.facts.induction.get("cost")
        estimated = isinstance(cost, Mapping) and bool(cost.get("tokens_estimated"))
        return Cell(value=self.tokens, mark="estimated" * estimated) if self.tokens is not None else blank(self.why)

    def counted(self, name: str) -> Cell:
        """One of the counts of tools."""
        value = self._number("yields", name)
        return Cell(value=int(value)) if value is not None else blank(self.why)

    def yield_of(self, name: str) -> Cell:
        """The share of the tools written that were admitted."""
        written, passed = self._number("yields", "written"), self._number("yields", name)
        if not written or passed is None:
            return blank("nothing was written" if self.is_own else _NOT_INDUCED)
        return Cell(value=passed / written)


def _counted(name: str, title: str, about: str = "", *, aside: bool = False) -> Any:
    return figure(name, "count", lambda made: made.counted(name), title=title, about=about, aside=aside)


_YIELDS: Figures[Induction] = (
    figure("library", "text", lambda made: Cell(value=made.facts.name)),
    figure("domain", "text", lambda made: value_cell(made.facts.domain, "the library names no domain")),
    figure("kind", "text", lambda made: value_cell(made.facts.arm or "as frozen"), title="kind of library"),
    figure("origin", "text", lambda made: value_cell(made.facts.origin, made.facts.why or "the manifest says nothing")),
    figure("hash", "text", lambda made: value_cell(made.facts.hash, "unknown"), aside=True),
    figure("tools", "count", lambda made: count(len(made.facts.tools)) if made.facts.tools
           else blank(made.facts.why or "no tools")),
    _counted("asked", "asked for"),
    _counted("written", "written", "in the first emission"),
    _counted("compiled_first", "compile at first"),
    _counted("admitted_first", "admitted at first"),
    _counted("compiled", "compile", "after repairs"),
    _counted("admitted", "admitted"),
    _counted("duplicates", "duplicates", aside=True),
    figure("first_pass_yield", "share", lambda made: made.yield_of("admitted_first"), title="first-pass yield",
           about="admitted at first, of those written"),
    figure("admission_yield", "share", lambda made: made.yield_of("admitted"), title="yield",
           about="admitted in the end, of those written"),
    figure("tokens", "tokens", Induction.tokens_cell, about="of the induction"),
    figure("money", "money", lambda made: value_cell(made.money, "no price is known" if made.is_own else _NOT_INDUCED),
           title="USD", about="of the induction"),
)  # fmt: skip


def yields_table(study: Study) -> Table:
    """What every library of the run was made of, and at what yield."""
    return study.table(
        "yields",
        "Libraries, and the yield of their induction",
        _YIELDS,
        [
            Induction(facts=facts, rows=[row for row in study.rows if row.library == name])
            for name, facts in sorted(study.libraries.items())
        ],
        of=[row for row in study.rows if row.library is not None],
        note="From the manifests of the libraries. First pass: without any repair. A yield says how well tools are written, not "
        "whether they help.",
    )


@dataclass(frozen=True, kw_only=True)
class _Earned(Contrast):
    """An arm with a library against the baseline, and the induction of the library."""

    induction: Induction
    questions: int

    @cached_property
    def saved(self) -> Cell:
        return interval(self.pairs.swapped.differences(tokens), seed=self.seed, why="no pair with episodes")

    @cached_property
    def money_saved(self) -> Cell:
        return interval(self.pairs.swapped.differences(money), seed=self.seed, why="no price is known")

    @property
    def unpriced(self) -> str:
        """Why the money of the induction is missing."""
        return self.induction.why if self.induction.tokens is None else "no price is known"


_BREAK_EVEN: Figures[_Earned] = (
    *PLACE,
    *words("against"),
    PAIRS,
    figure("difference", "points", Contrast.difference, title="accuracy", about="paired difference"),
    figure("saved", "change", lambda item: item.saved, title="tokens saved",
           about="a question, logical: the other less the arm"),
    figure("induction", "tokens", lambda item: item.induction.tokens_cell(), title="induction, tokens"),
    figure("amortised", "tokens",
           lambda item: blank(item.induction.why) if item.induction.tokens is None
           else Cell(value=item.induction.tokens / item.questions),
           about="of the induction, for each question of this run"),
    figure("break_even", "count", lambda item: break_even(item.induction.tokens, item.saved, item.induction.why),
           title="even after", about="questions after which the tokens are saved again"),
    figure("money_saved", "change", lambda item: item.money_saved, title="USD saved", about="a question, logical"),
    figure("induction_money", "money", lambda item: value_cell(item.induction.money, item.unpriced),
           title="induction, USD"),
    figure("break_even_money", "count", lambda item: break_even(item.induction.money, item.money_saved, item.unpriced),
           title="even after, USD"),
    figure("building", "tokens", lambda _: blank("a run does not record what its worlds took to build"),
           title="world building, tokens", about="for each video"),
)  # fmt: skip


def break_even_table(study: Study) -> Table:
    """What the making of libraries costs for each question, and when it is earned back."""
    return study.table(
        "break_even",
        "What induction costs, and when it is earned back",
        _BREAK_EVEN,
        [
            _Earned(
                setting=group.setting,
                arm=group.arm,
                against=baseline.arm,
                pairs=pairs_of(group.rows, baseline.rows),
                seed=study.seed,
                induction=Induction(facts=group.library),
                questions=len({row.item for row in group.rows}),
            )
            for group, baseline in study.beside_baseline()
            if group.library is not None and baseline is not None and group.arm != baseline.arm
        ],
        note="Saved: logical tokens of the baseline less those of the arm, paired. Even after: the tokens of the induction over those "
        "saved a question. An arm that costs more a question never breaks even on tokens; it may pay in accuracy. Worlds "
        "are built once for all arms of a run; what that took is not in a run's record.",
    )


def break_even(spent: float | None, saved: Cell, why: str) -> Cell:
    """After how many questions the amount spent is saved again."""
    if spent is None or saved.number is None:
        return blank(why if spent is None else saved.why)
    if saved.number <= 0:
        return blank("never: it saves nothing a question")
    ends = [math.ceil(spent / end) if end > 0 else None for end in (saved.high, saved.low) if end is not None]
    low, high = ends if len(ends) == 2 else (None, None)
    unbounded = saved.low is not None and saved.low <= 0
    return Cell(value=math.ceil(spent / saved.number), low=low, high=high, mark="perhaps never" if unbounded else "")

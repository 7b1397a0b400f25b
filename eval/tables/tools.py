"""Tables of tool libraries: use and effect of every tool, the funnel to right answers, yield and cost of induction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from eval.tables.accuracy import SAMPLES, VIDEOS, library_figure
from eval.tables.cells import correct, count, counted, interval, mean, money, share, tokens, value_cell
from eval.tables.comparisons import P_CLUSTERED, PAIR_VIDEOS, PAIRS, TOKENS_DIFFERENCE, Contrast, contrast_of, pairs_of
from eval.tables.rows import LibraryFacts, SampleRow, ToolUse
from eval.tables.study import PLACE, Group, Line, Rows, Study, words
from eval.tables.table import CellsByKey, Figures, Table, TableCell, blank, figure

Uses = list[tuple[SampleRow, ToolUse]]
_NO_TEMPLATES = "the questions name no templates"
_NOT_INDUCED = "the library was not induced"


def library_uses(row: SampleRow) -> list[ToolUse]:
    """Return a sample's uses of tools of its library, without its uses of operations."""
    return [use for use in row.tools if use.name in row.offered]


def _uses(rows: Rows) -> Uses:
    return [(row, use) for row in rows for use in library_uses(row)]


def _ratio(part: float, whole: float, why: str) -> TableCell:
    return TableCell(value=part / whole) if whole else blank(why)


_TOOL: Figures[Group] = (
    *PLACE,
    figure("library", "text", aside=True),
    figure("tool", "text"),
    figure("hash", "text", title="document", about="hash of the tool's document", aside=True),
    figure("calls", "count"),
    figure("share", "share", title="of all calls", about="of the model's calls in this arm"),
    figure("used", "count", lambda tool: len(tool.rows), title="episodes", about="episodes that called it"),
    figure("right", "count", about="of these, answered right"),
    figure("wrong", "count"),
    figure("found", "share", about="calls that neither failed nor came back empty"),
    figure("failed", "count", aside=True),
    figure("inner", "number", title="inside", about="operations inside a call"),
    figure("templates", "count", about="question templates of episodes that used it and were right"),
)


def tools_table(study: Study) -> Table:
    """Return the table of every tool of every library, including tools that were never called."""
    groups = offered(study)
    return study.table(
        "tools",
        _TOOL,
        [_tool(group, name) for group in groups for name in {name: None for row in group.rows for name in row.offered}],
        of=[row for group in groups for row in group.rows],
    )


def offered(study: Study) -> list[Group]:
    """Return the arms that could call tools of a library."""
    return [group for group in study.groups() if any(row.offered for row in group.rows)]


def _tool(group: Group, name: str) -> Group:
    """Return a tool of an arm's library, with its uses as cells; its rows are the samples that called it."""
    used = [(row, use) for row, use in _uses(group.rows) if use.name == name]
    rows, uses = [row for row, _ in used], [use for _, use in used]
    calls, found, failed, inner = (
        sum(getattr(use, part) for use in uses) for part in ("calls", "found", "failed", "inner_calls")
    )
    known = {use.hash for use in uses} or {group.library.tools.get(name) if group.library is not None else None}
    right = [row for row in rows if row.correct]
    templates = {row.template for row in right if row.template is not None}
    no_templates = bool(rows) and all(row.template is None for row in rows)
    cells: CellsByKey = {
        "library": value_cell(group.first.library),
        "tool": name,
        "hash": value_cell("; ".join(sorted(filter(None, known))) or None, "the library is not there any more"),
        "calls": calls,
        "share": _ratio(calls, sum(row.calls for row in group.rows), "no calls"),
        "right": counted(right),
        "wrong": counted([row for row in rows if not row.correct]),
        "found": _ratio(found, calls, "never called"),
        "failed": failed,
        "inner": _ratio(inner, calls, "never called"),
        "templates": blank(_NO_TEMPLATES) if no_templates else count(len(templates), right),
    }
    return replace(group, rows=rows, cells=cells)


#: How much each arm with a library uses the library.
USE: Figures[Group] = (
    *PLACE,
    library_figure(),
    SAMPLES,
    VIDEOS,
    figure("used", "share", lambda own: share(own.rows, measure=lambda row: bool(library_uses(row))),
           title="true use", about="episodes that called a tool of the library"),
    figure("accuracy_used", "share", title="right, used", about="accuracy of the episodes that called one"),
    figure("accuracy_unused", "share", title="right, unused", about="accuracy of those that called none"),
    figure("share", "share", title="of all calls", about="calls of tools among the model's calls"),
    figure("compression", "number", about="operations inside tools for each call of the model"),
    figure("entropy", "number", title="entropy, bits", about="of the calls over the library's tools"),
    figure("called", "count", title="tools called"),
    figure("reused", "count", about="tools used in two question templates or more, and right"),
)  # fmt: skip


def library_use(group: Group) -> Group:
    """Return an arm with cells on its use of the library."""
    rows, uses = group.rows, _uses(group.rows)
    used, unused = ([row for row in rows if bool(library_uses(row)) is which] for which in (True, False))
    calls, made = sum(row.calls for row in rows), Counter[str]()
    for _, use in uses:
        made[use.name] += use.calls
    right = {(use.name, row.template) for row, use in uses if row.correct and row.template is not None}
    reused = sum(number > 1 for number in Counter(name for name, _ in right).values())
    cells: CellsByKey = {
        "accuracy_used": mean(used, correct) if used else blank("no episode used a tool"),
        "accuracy_unused": mean(unused, correct) if unused else blank("every episode used a tool"),
        "share": _ratio(made.total(), calls, "no calls"),
        "compression": _ratio(sum(row.inner_calls for row in rows), calls, "no calls"),
        "entropy": entropy(made) if made.total() else blank("no tool was called"),
        "called": sum(number > 0 for number in made.values()),
        "reused": blank(_NO_TEMPLATES) if all(row.template is None for row in rows) else reused,
    }
    return replace(group, cells=cells)


def entropy(made: Counter[str]) -> float:
    """Return Shannon's entropy of the calls over tools, in bits."""
    total = made.total()
    return sum(-number / total * math.log2(number / total) for number in made.values() if number) + 0.0


#: The effect of each tool: a library compared with the same library without the tool.
LEFT_OUT: Figures[Contrast] = (
    *words("dataset", "world", "budget"),
    figure("library", "text", lambda item: item.rows[0].library if item.rows else value_cell(None)),
    figure("tool", "text", lambda item: item.name, title="left out"),
    PAIRS,
    PAIR_VIDEOS,
    figure("difference", "points", Contrast.difference, title="whole less without"),
    P_CLUSTERED,
    TOKENS_DIFFERENCE,
)


def left_out_contrasts(study: Study) -> Iterator[Contrast]:
    """Yield contrasts of a library with the same library without one tool (``name``), all else being equal."""
    for arms in study.by_setting():
        for other, one in product(arms.values(), arms.values()):
            facts, whole, less = other.library, one.first, other.first
            if facts is None or facts.left_out is None or whole.library_hash != facts.of:
                continue
            if (whole.system, whole.exposure) == (less.system, less.exposure):
                yield replace(contrast_of(one, other.arm, pairs_of(one.rows, other.rows)), name=facts.left_out)


FUNNEL: Figures[Group] = (
    *PLACE,
    library_figure(),
    figure("written", "count", about="tools in the model's first emission"),
    figure("compiled", "count", title="compile", about="tools of the library: only such as compile are frozen"),
    figure("exposed", "count", about="tools that some episode was offered"),
    figure("called", "count", about="tools that some episode called"),
    figure("found", "count", title="found something", about="tools of which a call neither failed nor was empty"),
    figure("right", "count", title="and right",
           about="tools that found something in an episode that was right"),
    figure("episodes", "count", lambda own: len(own.rows)),
    figure("episodes_exposed", "count", title="offered", about="episodes that were offered tools"),
    figure("episodes_called", "count", title="called", about="episodes that called a tool"),
    figure("episodes_found", "count", title="found", about="episodes in which a tool found something"),
    figure("episodes_right", "count", title="right", about="of these, answered right"),
)  # fmt: skip


def funnels(study: Study) -> Iterator[Group]:
    """Yield each library's arm with the numbers of tools and episodes that pass each step up to a right answer."""
    return (_funnel(group) for group in study.groups() if group.first.library and group.first.system == "hier")


def _funnel(group: Group) -> Group:
    facts = group.library
    written = facts.induction.get("yields") if facts is not None else None
    written = written.get("written") if isinstance(written, dict) else None
    gone = (facts.why if facts is not None else "") or "nothing is known of the library"
    uses = _uses(group.rows)
    found = [(row, use) for row, use in uses if use.found]
    right = [(row, use) for row, use in found if row.correct]
    cells: CellsByKey = {
        "written": written if isinstance(written, int) else blank(_NOT_INDUCED),
        "compiled": len(facts.tools) if facts is not None and facts.tools else blank(gone),
        "exposed": len({name for row in group.rows for name in row.offered}),
        "episodes_exposed": counted([row for row in group.rows if row.offered]),
    }
    for step, passed in (("called", uses), ("found", found), ("right", right)):
        cells[step] = count(len({use.name for _, use in passed}), (row for row, _ in passed))
        cells[f"episodes_{step}"] = counted(list({row.sample: row for row, _ in passed}.values()))
    return replace(group, cells=cells)


def missing_induction(facts: LibraryFacts) -> str:
    """Return the reason why a figure on the induction of a library is missing."""
    return "the manifest does not say" if facts.is_induced else _NOT_INDUCED


def _induction_tokens(facts: LibraryFacts) -> TableCell:
    """Return the tokens of the induction, with the remark ``estimated`` if a server did not count them."""
    if facts.tokens is None:
        return blank(missing_induction(facts))
    cost = facts.induction.get("cost")
    estimated = isinstance(cost, Mapping) and bool(cost.get("tokens_estimated"))
    return TableCell(value=facts.tokens, mark="estimated" * estimated)


#: The counts of tools in the record of an induction.
_COUNTS: Figures[Line] = (
    figure("asked", "count", title="asked for"),
    figure("written", "count", about="in the first emission"),
    figure("compiled_first", "count", title="compile at first"),
    figure("admitted_first", "count", title="admitted at first"),
    figure("compiled", "count", title="compile", about="after repairs"),
    figure("admitted", "count"),
    figure("duplicates", "count", aside=True),
)
_YIELDS: Figures[Line] = (
    *words("library", "domain"),
    figure("kind", "text", title="kind of library"),
    *words("origin"),
    figure("hash", "text", aside=True),
    figure("tools", "count"),
    *_COUNTS,
    figure("first_pass_yield", "share", title="first-pass yield", about="admitted at first, of those written"),
    figure("admission_yield", "share", title="yield", about="admitted in the end, of those written"),
    figure("tokens", "tokens", about="of the induction"),
    figure("money", "money", title="USD", about="of the induction"),
)


def yields_table(study: Study) -> Table:
    """Return the table of every library of the run: its origin, and the yield and cost of its induction."""
    return study.table(
        "yields",
        _YIELDS,
        [
            Line(cells=_library_cells(facts), rows=[row for row in study.rows if row.library == name])
            for name, facts in sorted(study.libraries.items())
        ],
        of=[row for row in study.rows if row.library is not None],
    )


def _library_cells(facts: LibraryFacts) -> CellsByKey:
    counts = {shown.column.key: facts.figure("yields", shown.column.key) for shown in _COUNTS}
    why, written = missing_induction(facts), counts["written"]

    def share_of(name: str) -> TableCell:
        passed = counts[name]
        none = "nothing was written" if facts.is_induced else _NOT_INDUCED
        return TableCell(value=passed / written) if written and passed is not None else blank(none)

    return {
        "library": facts.name,
        "domain": value_cell(facts.domain, "the library names no domain"),
        "kind": facts.arm or "as frozen",
        "origin": value_cell(facts.origin, facts.why or "the manifest says nothing"),
        "hash": value_cell(facts.hash, "unknown"),
        "tools": len(facts.tools) if facts.tools else blank(facts.why or "no tools"),
        **{name: value_cell(int(number) if number is not None else None, why) for name, number in counts.items()},
        "first_pass_yield": share_of("admitted_first"),
        "admission_yield": share_of("admitted"),
        "tokens": _induction_tokens(facts),
        "money": value_cell(facts.figure("cost", "money"), "no price is known" if facts.is_induced else _NOT_INDUCED),
    }


BREAK_EVEN: Figures[Contrast] = (
    *PLACE,
    *words("against"),
    PAIRS,
    figure("difference", "points", Contrast.difference, title="accuracy", about="paired difference"),
    figure("saved", "change", title="tokens saved", about="a question, logical: the other less the arm"),
    figure("induction", "tokens", title="induction, tokens"),
    figure("amortised", "tokens", about="of the induction, for each question of this run"),
    figure("break_even", "count", title="even after", about="questions after which the tokens are saved again"),
    figure("money_saved", "change", title="USD saved", about="a question, logical"),
    figure("induction_money", "money", title="induction, USD"),
    figure("break_even_money", "count", title="even after, USD"),
)  # fmt: skip


def earned(study: Study) -> Iterator[Contrast]:
    """Yield arms with a library against the baseline: what its induction costs per question, and when that is saved again."""
    for group, baseline in study.beside_baseline():
        if group.library is not None and baseline is not None and group.arm != baseline.arm:
            yield _earned(group, baseline, group.library)


def _earned(group: Group, baseline: Group, facts: LibraryFacts) -> Contrast:
    """Return the contrast of an arm with the baseline, with cells on the cost of inducing its library."""
    pairs, spent, why = pairs_of(group.rows, baseline.rows), facts.tokens, missing_induction(facts)
    saved = interval(pairs.swapped.differences(tokens), why="no pair with episodes")
    money_saved = interval(pairs.swapped.differences(money), why="no price is known")
    paid, unpriced = facts.figure("cost", "money"), why if spent is None else "no price is known"
    cells: CellsByKey = {
        "saved": saved,
        "induction": _induction_tokens(facts),
        "amortised": blank(why) if spent is None else spent / len({row.item for row in group.rows}),
        "break_even": break_even(spent, saved, why),
        "money_saved": money_saved,
        "induction_money": value_cell(paid, unpriced),
        "break_even_money": break_even(paid, money_saved, unpriced),
    }
    return replace(contrast_of(group, baseline.arm, pairs), cells=cells)


def break_even(spent: float | None, saved: TableCell, why: str) -> TableCell:
    """Return the number of questions after which ``saved`` (per question) adds up to ``spent``.

    It is blank if nothing is saved; ``why`` is the reason if ``spent`` is None.
    """
    if spent is None or saved.number is None:
        return blank(why if spent is None else saved.why)
    if saved.number <= 0:
        return blank("never: it saves nothing a question")
    ends = [math.ceil(spent / end) if end > 0 else None for end in (saved.high, saved.low) if end is not None]
    low, high = ends if len(ends) == 2 else (None, None)
    unbounded = saved.low is not None and saved.low <= 0
    return TableCell(
        value=math.ceil(spent / saved.number), low=low, high=high, mark="perhaps never" if unbounded else ""
    )

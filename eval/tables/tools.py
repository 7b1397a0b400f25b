"""Tables of tool libraries: use of every tool, the funnel to right answers, what each tool brings, what induction yields and costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.tables.accuracy import PLACE, cells_of, place_cells
from eval.tables.cells import POINTS, correct, count, interval, mean, money, share, tokens, value_cell
from eval.tables.comparisons import baseline_of, clustered_p
from eval.tables.libraries import LibraryFacts
from eval.tables.pairing import Pairs, pairs_of
from eval.tables.rows import SampleRow, ToolUse
from eval.tables.study import Setting, Study, grouped, keys, setting_of, videos
from eval.tables.table import Cell, Column, Row, Table, blank

_TOOL = (
    *PLACE,
    Column(key="library", title="library", aside=True),
    Column(key="tool", title="tool"),
    Column(key="hash", title="document", about="hash of the tool's document", aside=True),
    Column(key="calls", title="calls", kind="count"),
    Column(key="share", title="of all calls", kind="share", about="of the model's calls in this arm"),
    Column(key="used", title="episodes", kind="count", about="episodes that called it"),
    Column(key="right", title="right", kind="count", about="of these, answered right"),
    Column(key="wrong", title="wrong", kind="count"),
    Column(key="found", title="found", kind="share", about="calls that neither failed nor came back empty"),
    Column(key="failed", title="failed", kind="count", aside=True),
    Column(key="inner", title="inside", kind="number", about="operations inside a call"),
    Column(
        key="templates",
        title="templates",
        kind="count",
        about="question templates of episodes that used it and were right",
    ),
)


def tools_table(study: Study) -> Table:
    """Every tool of every library, also those that were never called."""
    rows, about = [], []
    for setting, arm, own in cells_of(study.rows):
        if any(row.offered for row in own):
            rows += list(_tool_rows(study, setting, arm, own))
            about += own
    return study.table(
        "tools",
        "Use of every tool",
        _TOOL,
        rows,
        of=about,
        note="True use: calls of the tool by name and by the hash of its document. A tool that is used in right answers need not be "
        "why they are right; leaving it out tells.",
    )


def library_uses(row: SampleRow) -> list[ToolUse]:
    """The uses of tools of the library that the sample was offered."""
    offered = set(row.offered)
    return [use for use in row.tools if use.name in offered]


def _tool_rows(study: Study, setting: Setting, arm: str, own: Sequence[SampleRow]) -> Iterator[Row]:
    facts = study.libraries.get(own[0].library or "")
    offered = dict.fromkeys(name for row in own for name in row.offered)
    used: dict[str, list[tuple[SampleRow, ToolUse]]] = {name: [] for name in offered}
    for row in own:
        for use in library_uses(row):
            used[use.name].append((row, use))
    calls = sum(row.calls for row in own)
    for name, uses in used.items():
        hashes = {use.hash for _, use in uses} or {facts.tools.get(name) if facts is not None else None}
        yield Row(
            cells=(*place_cells(setting, arm), value_cell(own[0].library), *_use_cells(name, hashes, uses, calls)),
            samples=keys(row for row, _ in uses),
        )


def _use_cells(
    name: str, hashes: set[str | None], uses: Sequence[tuple[SampleRow, ToolUse]], calls: int
) -> Iterator[Cell]:
    made = sum(use.calls for _, use in uses)
    rows = [row for row, _ in uses]
    right = [row for row in rows if row.correct]
    templates = {row.template for row in right if row.template is not None}
    never = "never called"
    yield Cell(value=name)
    yield value_cell(
        "; ".join(sorted(str(item) for item in hashes if item)) or None, "the library is not there any more"
    )
    yield count(made)
    yield Cell(value=made / calls) if calls else blank("no calls")
    yield count(len(rows))
    yield count(len(right), right)
    yield count(len(rows) - len(right), [row for row in rows if not row.correct])
    yield Cell(value=sum(use.found for _, use in uses) / made) if made else blank(never)
    yield count(sum(use.failed for _, use in uses))
    yield Cell(value=sum(use.inner_calls for _, use in uses) / made) if made else blank(never)
    known = any(row.template is not None for row in rows) or not rows
    yield count(len(templates), right) if known else blank("the questions name no templates")


_USE = (
    *PLACE,
    Column(key="library", title="library", aside=True),
    Column(key="n", title="n", kind="count"),
    Column(key="videos", title="videos", kind="count"),
    Column(key="used", title="true use", kind="share", about="episodes that called a tool of the library"),
    Column(key="accuracy_used", title="right, used", kind="share", about="accuracy of the episodes that called one"),
    Column(key="accuracy_unused", title="right, unused", kind="share", about="accuracy of those that called none"),
    Column(key="share", title="of all calls", kind="share", about="calls of tools among the model's calls"),
    Column(
        key="compression",
        title="compression",
        kind="number",
        about="operations inside tools for each call of the model",
    ),
    Column(key="entropy", title="entropy, bits", kind="number", about="of the calls over the library's tools"),
    Column(key="called", title="tools called", kind="count"),
    Column(key="reused", title="reused", kind="count", about="tools used in two question templates or more, and right"),
)


def tool_use_table(study: Study) -> Table:
    """How each arm that has a library uses it."""
    rows, about = [], []
    for setting, arm, own in cells_of(study.rows):
        if any(row.offered for row in own):
            rows.append(Row(cells=(*place_cells(setting, arm), *_arm_cells(own, study.seed)), samples=keys(own)))
            about += own
    return study.table(
        "tool_use",
        "Use of libraries",
        _USE,
        rows,
        of=about,
        note="Accuracy of episodes that used a tool is no effect of the tool: a model may turn to tools where questions are hard. "
        "Entropy is 0 where one tool takes all calls and the logarithm of the number of tools where all are called alike.",
    )


def _arm_cells(own: Sequence[SampleRow], seed: int) -> Iterator[Cell]:
    uses = [(row, use) for row in own for use in library_uses(row)]
    users = {row.sample for row, _ in uses}
    calls, made = sum(row.calls for row in own), Counter[str]()
    reused: dict[str, set[str]] = {}
    for row, use in uses:
        made[use.name] += use.calls
        if row.correct and row.template is not None:
            reused.setdefault(use.name, set()).add(row.template)
    total = sum(made.values())
    yield value_cell(own[0].library)
    yield count(len(own))
    yield count(len(videos(own)))
    yield share(own, seed=seed, measure=lambda row: float(row.sample in users))
    yield mean([row for row in own if row.sample in users], correct, why="no episode used a tool")
    yield mean([row for row in own if row.sample not in users], correct, why="every episode used a tool")
    yield Cell(value=total / calls) if calls else blank("no calls")
    yield Cell(value=sum(row.inner_calls for row in own) / calls) if calls else blank("no calls")
    yield Cell(value=entropy(made)) if total else blank("no tool was called")
    yield count(sum(number > 0 for number in made.values()))
    known = any(row.template is not None for row in own)
    yield count(sum(len(item) > 1 for item in reused.values())) if known else blank("the questions name no templates")


def entropy(made: Counter[str]) -> float:
    """Shannon's entropy of calls over tools, in bits."""
    total = sum(made.values())
    return sum(-number / total * math.log2(number / total) for number in made.values() if number) + 0.0


_LEFT_OUT = (
    *(column for column in PLACE if column.key != "arm"),
    Column(key="library", title="library"),
    Column(key="tool", title="left out"),
    Column(key="pairs", title="pairs", kind="count"),
    Column(key="videos", title="videos", kind="count"),
    Column(key="difference", title="whole less without", kind="points"),
    Column(key="p_clustered", title="p, clustered", kind="p"),
    Column(key="tokens_difference", title="tokens", kind="change", about="whole less without, logical, a sample"),
)


def leave_one_out_table(study: Study) -> Table:
    """What each tool brings: the library less the same library without it, where such arms were run."""
    rows, about = [], []
    for setting, tool, one, other in left_out_pairs(study):
        paired = pairs_of(one, other)
        values = paired.differences(correct)
        p = clustered_p(values, study.seed)
        rows.append(
            Row(
                cells=(
                    *(Cell(value=value) for value in (setting.dataset, setting.world, setting.budget)),
                    value_cell(one[0].library),
                    Cell(value=tool),
                    count(len(paired.pairs)),
                    count(len(set(values.clusters))),
                    interval(values, seed=study.seed, within=POINTS, why="no pairs"),
                    value_cell(p, "fewer than two videos"),
                    interval(paired.differences(tokens), seed=study.seed, why="no pair with episodes"),
                ),
                samples=keys(paired.rows),
            )
        )
        about += paired.rows
    note = "The library less the same library without the tool, paired; intervals (95 %) over videos. Positive: the tool helps. "
    if not rows:
        note += "No library of this run is another one without one tool; `videoworld tools fork --drop` makes such libraries."
    return study.table("leave_one_out", "Leaving one tool out", _LEFT_OUT, rows, of=about, note=note)


def left_out_pairs(study: Study) -> Iterator[tuple[Setting, str, list[SampleRow], list[SampleRow]]]:
    """Samples with a whole library and samples with the same library without one tool, alike in all else."""
    for setting, within in grouped((row for row in study.rows if row.library), setting_of).items():
        arms = list(grouped(within, lambda row: row.arm).values())
        for other in arms:
            facts = study.libraries.get(other[0].library or "")
            if facts is None or facts.left_out is None:
                continue
            for one in arms:
                if (
                    one[0].library_hash == facts.of
                    and one[0].system == other[0].system
                    and one[0].exposure == other[0].exposure
                ):
                    yield setting, facts.left_out, one, other


_FUNNEL = (
    *PLACE,
    Column(key="library", title="library", aside=True),
    Column(key="written", title="written", kind="count", about="tools in the model's first emission"),
    Column(
        key="compiled", title="compile", kind="count", about="tools of the library: only such as compile are frozen"
    ),
    Column(key="exposed", title="exposed", kind="count", about="tools that some episode was offered"),
    Column(key="called", title="called", kind="count", about="tools that some episode called"),
    Column(
        key="found", title="found something", kind="count", about="tools of which a call neither failed nor was empty"
    ),
    Column(
        key="right", title="and right", kind="count", about="tools that found something in an episode that was right"
    ),
    Column(key="episodes", title="episodes", kind="count"),
    Column(key="episodes_exposed", title="offered", kind="count", about="episodes that were offered tools"),
    Column(key="episodes_called", title="called", kind="count", about="episodes that called a tool"),
    Column(key="episodes_found", title="found", kind="count", about="episodes in which a tool found something"),
    Column(key="episodes_right", title="right", kind="count", about="of these, answered right"),
)


def funnel_table(study: Study) -> Table:
    """The funnel of every library that was exposed, in tools and in episodes."""
    rows, about = [], []
    for setting, arm, own in cells_of(study.rows):
        if own[0].library is not None and own[0].system == "hier":
            facts = study.libraries.get(own[0].library)
            cells = (
                *place_cells(setting, arm),
                value_cell(own[0].library),
                *_funnel_of_tools(own, facts),
                *_funnel_of_episodes(own),
            )
            rows.append(Row(cells=cells, samples=keys(own)))
            about += own
    return study.table(
        "funnel",
        "From a library's tools to right answers",
        _FUNNEL,
        rows,
        of=about,
        note="Left: tools. Right: episodes. Each step counts what passed all steps before it. An answer that is right after a tool "
        "found something is not thereby right because of it.",
    )


def _funnel_of_tools(own: Sequence[SampleRow], facts: LibraryFacts | None) -> Iterator[Cell]:
    yields = facts.induction.get("yields") if facts is not None else None
    written = yields.get("written") if isinstance(yields, dict) else None
    exposed = {name for row in own for name in row.offered}
    uses = [(row, use) for row in own for use in library_uses(row)]
    found = [(row, use) for row, use in uses if use.found]
    right = [(row, use) for row, use in found if row.correct]
    yield count(written) if isinstance(written, int) else blank("the library was not induced")
    gone = facts.why if facts is not None and facts.why else "nothing is known of the library"
    yield count(len(facts.tools)) if facts is not None and facts.tools else blank(gone)
    yield count(len(exposed))
    for step in (uses, found, right):
        yield count(len({use.name for _, use in step}), (row for row, _ in step))


def _funnel_of_episodes(own: Sequence[SampleRow]) -> Iterator[Cell]:
    offered = [row for row in own if row.offered]
    called = [row for row in offered if library_uses(row)]
    found = [row for row in called if any(use.found for use in library_uses(row))]
    yield count(len(own))
    for step in (offered, called, found, [row for row in found if row.correct]):
        yield count(len(step), step)


_NOT_INDUCED = "the library was not induced"
_YIELDS = (
    Column(key="library", title="library"),
    Column(key="domain", title="domain"),
    Column(key="kind", title="kind of library"),
    Column(key="origin", title="origin"),
    Column(key="hash", title="hash", aside=True),
    Column(key="tools", title="tools", kind="count"),
    Column(key="asked", title="asked for", kind="count"),
    Column(key="written", title="written", kind="count", about="in the first emission"),
    Column(key="compiled_first", title="compile at first", kind="count"),
    Column(key="admitted_first", title="admitted at first", kind="count"),
    Column(key="compiled", title="compile", kind="count", about="after repairs"),
    Column(key="admitted", title="admitted", kind="count"),
    Column(key="duplicates", title="duplicates", kind="count", aside=True),
    Column(key="first_pass_yield", title="first-pass yield", kind="share", about="admitted at first, of those written"),
    Column(key="admission_yield", title="yield", kind="share", about="admitted in the end, of those written"),
    Column(key="tokens", title="tokens", kind="tokens", about="of the induction"),
    Column(key="money", title="USD", kind="money", about="of the induction"),
)
_COUNTS = ("asked", "written", "compiled_first", "admitted_first", "compiled", "admitted", "duplicates")


def yields_table(study: Study) -> Table:
    """What every library of the run was made of, and at what yield."""
    rows = [
        Row(cells=tuple(_yield_cells(facts)), samples=keys(row for row in study.rows if row.library == name))
        for name, facts in sorted(study.libraries.items())
    ]
    return study.table(
        "yields",
        "Libraries, and the yield of their induction",
        _YIELDS,
        rows,
        of=[row for row in study.rows if row.library is not None],
        note="From the manifests of the libraries. First pass: without any repair. A yield says how well tools are written, not "
        "whether they help.",
    )


def _yield_cells(facts: LibraryFacts) -> Iterator[Cell]:
    found = facts.induction.get("yields")
    counts = found if isinstance(found, Mapping) else {}
    own = was_induced(facts)
    why = "" if own else _NOT_INDUCED
    yield Cell(value=facts.name)
    yield value_cell(facts.domain, "the library names no domain")
    yield value_cell(facts.arm or "as frozen")
    yield value_cell(facts.origin, facts.why or "the manifest says nothing")
    yield value_cell(facts.hash, "unknown")
    yield count(len(facts.tools)) if facts.tools else blank(facts.why or "no tools")
    for name in _COUNTS:
        yield blank(why) if why else _counted(counts, name)
    for name in ("admitted_first", "admitted"):
        written, passed = _number(counts.get("written")), _number(counts.get(name))
        known = not why and written and passed is not None
        yield (
            Cell(value=passed / written)
            if known and written and passed is not None
            else blank(why or "nothing was written")
        )
    spent = induction_tokens(facts)
    yield (
        Cell(value=spent, mark=_estimated(facts))
        if spent is not None and own
        else blank(why or "the manifest does not say")
    )
    paid = induction_money(facts)
    yield Cell(value=paid) if paid is not None and own else blank(why or "no price is known")


def was_induced(facts: LibraryFacts) -> bool:
    """Whether the library's tools come from an induction: also as part of it that was selected, but not as placebo or by chance."""
    return bool(facts.induction) and facts.arm not in ("placebo", "random")


def _counted(counts: Mapping[str, Any], name: str) -> Cell:
    value = _number(counts.get(name))
    return Cell(value=int(value)) if value is not None else blank("the manifest does not say")


def induction_tokens(facts: LibraryFacts) -> float | None:
    """Tokens that the induction took; None where the manifest says nothing of them."""
    cost = facts.induction.get("cost")
    parts = (
        [_number(cost.get(key)) for key in ("prompt_tokens", "completion_tokens")] if isinstance(cost, Mapping) else []
    )
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def induction_money(facts: LibraryFacts) -> float | None:
    """USD that the induction took; None where no price was known."""
    cost = facts.induction.get("cost")
    return _number(cost.get("money")) if isinstance(cost, Mapping) else None


def _estimated(facts: LibraryFacts) -> str:
    cost = facts.induction.get("cost")
    return "estimated" if isinstance(cost, Mapping) and cost.get("tokens_estimated") else ""


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


_BREAK_EVEN = (
    *PLACE,
    Column(key="against", title="against"),
    Column(key="pairs", title="pairs", kind="count"),
    Column(key="difference", title="accuracy", kind="points", about="paired difference"),
    Column(key="saved", title="tokens saved", kind="change", about="a question, logical: the other less the arm"),
    Column(key="induction", title="induction, tokens", kind="tokens"),
    Column(key="amortised", title="amortised", kind="tokens", about="of the induction, for each question of this run"),
    Column(
        key="break_even", title="even after", kind="count", about="questions after which the tokens are saved again"
    ),
    Column(key="money_saved", title="USD saved", kind="change", about="a question, logical"),
    Column(key="induction_money", title="induction, USD", kind="money"),
    Column(key="break_even_money", title="even after, USD", kind="count"),
    Column(key="building", title="world building, tokens", kind="tokens", about="for each video"),
)


def break_even_table(study: Study) -> Table:
    """What the making of libraries costs for each question, and when it is earned back."""
    rows, about = [], []
    for setting, within in grouped(study.rows, setting_of).items():
        arms = grouped(within, lambda row: row.arm)
        baseline = baseline_of(within, study.baseline)
        for arm, own in arms.items():
            facts = study.libraries.get(own[0].library or "")
            if facts is None or baseline is None or arm == baseline:
                continue
            pairs = pairs_of(own, arms[baseline])
            asked = len({row.item for row in own})
            cells = _even(pairs, facts, asked, study.seed)
            rows.append(Row(cells=(*place_cells(setting, arm), Cell(value=baseline), *cells), samples=keys(pairs.rows)))
            about += pairs.rows
    return study.table(
        "break_even",
        "What induction costs, and when it is earned back",
        _BREAK_EVEN,
        rows,
        of=about,
        note="Saved: logical tokens of the baseline less those of the arm, paired. Even after: the tokens of the induction over those "
        "saved a question. An arm that costs more a question never breaks even on tokens; it may pay in accuracy. Worlds "
        "are built once for all arms of a run; what that took is not in a run's record.",
    )


def _even(pairs: Pairs, facts: LibraryFacts, asked: int, seed: int) -> Iterator[Cell]:
    saved = interval(pairs.swapped.differences(tokens), seed=seed, why="no pair with episodes")
    saved_money = interval(pairs.swapped.differences(money), seed=seed, why="no price is known")
    spent, paid = induction_tokens(facts), induction_money(facts)
    own = was_induced(facts)
    why = "the manifest does not say" if own else _NOT_INDUCED
    yield count(len(pairs.pairs))
    yield interval(pairs.differences(correct), seed=seed, within=POINTS, why="no pairs")
    yield saved
    yield Cell(value=spent, mark=_estimated(facts)) if spent is not None and own else blank(why)
    yield Cell(value=spent / asked) if spent is not None and own and asked else blank(why)
    yield break_even(spent if own else None, saved, why)
    yield saved_money
    yield Cell(value=paid) if paid is not None and own else blank(why if spent is None else "no price is known")
    yield break_even(paid if own else None, saved_money, why if spent is None else "no price is known")
    yield blank("a run does not record what its worlds took to build")


def break_even(spent: float | None, saved: Cell, why: str) -> Cell:
    """After how many questions what was spent is saved again."""
    if spent is None:
        return blank(why)
    if not isinstance(saved.value, int | float):
        return blank(saved.why)
    if saved.value <= 0:
        return blank("never: it saves nothing a question")
    ends = [math.ceil(spent / end) if end > 0 else None for end in (saved.high, saved.low) if end is not None]
    low, high = ends if len(ends) == 2 else (None, None)
    unbounded = saved.low is not None and saved.low <= 0
    return Cell(value=math.ceil(spent / saved.value), low=low, high=high, mark="perhaps never" if unbounded else "")

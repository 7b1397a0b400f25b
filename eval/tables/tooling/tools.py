"""Whether tools are really used: how often, where, with what outcome; and what is lost without each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from eval.tables.kinds.comparing import clustered_p
from eval.tables.kinds.main import PLACE, cells_of, place_cells
from eval.tables.measuring import POINTS, correct, count, interval, mean, share, tokens, word
from eval.tables.pairing import pairs_of
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
            cells=(*place_cells(setting, arm), word(own[0].library), *_use_cells(name, hashes, uses, calls)),
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
    yield word("; ".join(sorted(str(item) for item in hashes if item)) or None, "the library is not there any more")
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
    yield word(own[0].library)
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
                    word(one[0].library),
                    Cell(value=tool),
                    count(len(paired.pairs)),
                    count(len(set(values.clusters))),
                    interval(values, seed=study.seed, within=POINTS, why="no pairs"),
                    Cell(value=p) if p is not None else blank("fewer than two videos"),
                    interval(paired.differences(tokens), seed=study.seed, why="no pair with episodes"),
                ),
                samples=keys(paired.rows),
            )
        )
        about += paired.rows
    note = "The library less the same library without the tool, paired; intervals (95 %) over videos. Positive: the tool helps. "
    if not rows:
        note += "No library of this run is another one without one tool; `videoworld tools fork --drop` makes such libraries."
    return study.table("leave_one_out", "Leaving one tool out", _LEFT_OUT, rows, of=_once(about), note=note)


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


def _once(rows: Sequence[SampleRow]) -> list[SampleRow]:
    return list({row.sample: row for row in rows}.values())

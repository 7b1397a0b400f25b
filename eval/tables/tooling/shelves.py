"""What libraries cost to make, what came of their making, and after how many questions they have paid for themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from eval.tables.episodes.libraries import LibraryFacts
from eval.tables.kinds.comparing import baseline_of
from eval.tables.kinds.main import PLACE, place_cells
from eval.tables.measuring import POINTS, correct, count, interval, money, tokens, word
from eval.tables.pairing import Pairs, pairs_of
from eval.tables.study import Study, grouped, keys, setting_of
from eval.tables.table import Cell, Column, Row, Table, blank

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
        Row(cells=tuple(_yields(facts)), samples=keys(row for row in study.rows if row.library == name))
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


def _yields(facts: LibraryFacts) -> Iterator[Cell]:
    found = facts.induction.get("yields")
    counts = found if isinstance(found, Mapping) else {}
    own = was_induced(facts)
    why = "" if own else _NOT_INDUCED
    yield Cell(value=facts.name)
    yield word(facts.domain, "the library names no domain")
    yield word(facts.arm or "as frozen")
    yield word(facts.origin, facts.why or "the manifest says nothing")
    yield word(facts.hash, "unknown")
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
        of=list({row.sample: row for row in about}.values()),
        note="Saved: logical tokens of the baseline less those of the arm, paired. Even after: the tokens of the induction over those "
        "saved a question. An arm that costs more a question never breaks even on tokens; it may pay in accuracy. Worlds "
        "are built once for all arms of a run; what that took is not in a run's record.",
    )


def _even(pairs: Pairs, facts: LibraryFacts, asked: int, seed: int) -> Iterator[Cell]:
    swapped = Pairs(pairs=tuple((other, one) for one, other in pairs.pairs))
    saved = interval(swapped.differences(tokens), seed=seed, why="no pair with episodes")
    saved_money = interval(swapped.differences(money), seed=seed, why="no price is known")
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

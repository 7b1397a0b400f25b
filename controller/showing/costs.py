"""The table of what an episode cost."""

from __future__ import annotations

from collections.abc import Mapping

from controller.accounts import PARTS, Account, Accounts, Part, total
from controller.showing.lines import one_line
from controller.summary import money_text

_Row = tuple[str, str, str, str, str]


def cost_lines(accounts: Accounts) -> list[str]:
    """Tokens and money of controller, perception and judge, logical and physical; a part that asked nothing is left out."""
    rows: list[_Row] = [("", "", "tokens", "requests", "money"), *_rows("logical", accounts.logical)]
    if accounts.physical == accounts.logical:
        rows.append(("physical", "the same", "", "", ""))
    else:
        rows += _rows("physical", accounts.physical)
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    lines = [
        f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}".rstrip()
        for row in rows
    ]
    everything = total(accounts.logical) + total(accounts.physical)
    if everything.estimated:
        lines.append("~ estimated: the server did not count them")
    if everything.unpriced:
        lines.append("no price is known for " + ", ".join(map(one_line, everything.unpriced)))
    return lines


def _rows(way: str, held: Mapping[Part, Account]) -> list[_Row]:
    asked = [(part, held[part]) for part in PARTS if held[part].requests]
    named = [*asked, ("total", total(held))] if len(asked) != 1 else asked
    return [
        (way if number == 0 else "", part, _tokens(account), f"{account.requests:,}", money_text(account))
        for number, (part, account) in enumerate(named)
    ]


def _tokens(account: Account) -> str:
    return ("~" if account.estimated else "") + f"{account.tokens:,}"

"""The records of an induction: a report for readers, a log with a line for each emission, and the cost.

The log holds the emissions unchanged, except that credentials are removed; positions are character offsets in the
text before the removal.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tool_induction.compiler.declarations import signature_card
from tool_induction.compiler.source import without_secrets
from tool_induction.domains import Domain
from tool_induction.inducer.rounds import Ending, Induction, Round, Slot, Version
from world_api.chat.messages import CURRENCY, Price, Prices, Usage, usage_of
from world_api.chat.recording import Exchange
from world_api.core.canonical import map_texts
from world_api.core.faults import BackendFault

LOG_SCHEMA_VERSION = 1
ENDINGS: dict[Ending, str] = {
    "all_usable": "nothing was left to mend",
    "repeats": "a repair round changed nothing",
    "rounds_used": "the repair rounds were used up",
    "no_reply": "a repair round brought no tool",
    "no_model": "no model was named that could mend the rest",
}
_TEMPLATE = "report.md.jinja"
_MAX_TOOL = 20_000  #: characters
_MAX_DIFF = 120  #: lines


@dataclass(frozen=True, kw_only=True)
class InductionCost:
    """The cost of an induction. ``faults``: number of calls without a reply; ``money``: None if no price is known."""

    calls: int = 0
    faults: int = 0
    usage: Usage
    seconds: float = 0.0
    money: float | None = None
    currency: str = ""

    def record(self) -> dict[str, Any]:
        """Return the cost as a JSON record, with tokens for requests and replies."""
        return {
            "calls": self.calls,
            "faults": self.faults,
            "prompt_tokens": self.usage.prompt,
            "completion_tokens": self.usage.completion,
            "tokens_estimated": self.usage.estimated,
            "seconds": round(self.seconds, 3),
            "money": None if self.money is None else round(self.money, 6),
            "currency": self.currency,
        }


def spent(exchanges: Sequence[Exchange], price: Price | None) -> InductionCost:
    """Return the cost of some exchanges; without a price the cost in money is None."""
    replies = [usage_of(item.request, item.reply) for item in exchanges if item.reply is not None]
    usage = sum(replies, start=Usage())
    return InductionCost(
        calls=len(exchanges),
        faults=len(exchanges) - len(replies),
        usage=usage,
        seconds=sum(item.seconds for item in exchanges),
        money=None if price is None else price.money(usage),
        currency="" if price is None else CURRENCY,
    )


def price_of(model: str, file: Path | None) -> Price | None:
    """Return the price of a model in a file of prices (see ``world_api.chat.messages``); None without a file.

    Raises:
        BackendFault: ``bad_prices``, also if the file has no price of the model.
    """
    if file is None:
        return None
    prices = Prices.read(file)
    price = prices.of(model)
    if price is None:
        raise BackendFault(
            "bad_prices",
            f"{file.name} has no price of {model!r}",
            hint="add it, or leave --prices out; it has: " + (", ".join(sorted(prices.models)[:10]) or "none"),
        )
    return price


def log_lines(induction: Induction) -> Iterator[dict[str, Any]]:
    """Yield one record for each round: a reply (or the given document) with all tools read from it; then one more.

    This last one has the ending, numbers of tools, and the final status of each tool. Credentials are redacted.
    """
    for item in induction.rounds:
        yield map_texts({"schema_version": LOG_SCHEMA_VERSION, **_emission(item)}, without_secrets)
    ending = {
        "schema_version": LOG_SCHEMA_VERSION,
        "ending": induction.ending,
        "yields": induction.yields(),
        "tools": [_tool_record(slot) for slot in induction.draft.slots],
        "retired": [_tool_record(slot) for slot in induction.draft.retired],
    }
    yield map_texts(ending, without_secrets)


def _emission(item: Round) -> dict[str, Any]:
    answer = item.answer
    return {
        "round": item.number,
        "kind": item.kind,
        "asked_for": list(item.requested),
        **{key: getattr(answer, key, None) for key in ("request_hash", "mode", "finish_reason")},
        "raw": item.text,
        "parsed": [
            {"tool": tool.name, "slot": slot} | _some(tool, "start", "end", "fault", "cut_off")
            for tool, slot in zip(item.written.tools, item.slots, strict=True)
        ],
        "left_out": [_some(part, "start", "end", "why", "tools", "text") for part in item.written.left_out],
        "notes": [note.record() for note in item.notes],
        "standings": item.counts,
        "usage": None if answer is None else answer.usage.record(),
        "seconds": getattr(answer, "seconds", None),
    }


def _some(item: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def _tool_record(slot: Slot) -> dict[str, Any]:
    current = slot.current
    return {
        "slot": slot.number,
        "tool": slot.name,
        "standing": current.status,
        "reason": current.reason(),
        "faults": [item.line() for item in current.faults()],
        "from_round": current.round,
        "versions": [
            {
                "round": version.round,
                "standing": version.status,
                "reason": version.reason(),
                "diagnostics": [item.record() for item in version.diagnostics],
            }
            for version in slot.versions
        ],
        "verdict": None if current.verdict is None else current.verdict.record(),
    }


def report_page(induction: Induction, request: Mapping[str, Any], cost: InductionCost, domain: Domain) -> str:
    """Return the report as Markdown, with credentials redacted; ``request`` holds the settings of the induction."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    filters = (_asked, _cell, _code, _diff, _fenced, _inline, _noted, _shown_tool)
    environment.filters |= {function.__name__.lstrip("_"): function for function in filters}
    environment.filters["card"] = signature_card
    page = environment.from_string((files(__package__) / _TEMPLATE).read_text(encoding="utf-8")).render(
        domain=domain,
        request=request,
        cost=cost,
        draft=induction.draft,
        rounds=induction.rounds,
        found=induction.yields(),
        ending=ENDINGS[induction.ending],
        admitted=len(induction.draft.admission.admitted),
        unusable=("unreadable", "faulty"),
        notes=[(item, note) for item in induction.rounds for note in item.notes],
        left_out=[(item, part) for item in induction.rounds for part in item.written.left_out if not part.is_wrapping],
    )
    return without_secrets(page)


def _asked(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "left to the server" if value is None else value or "none"


def _noted(version: Version) -> str:
    notes = Counter(item.code for item in version.diagnostics if item.severity != "error")
    return ", ".join(f"{count} {code}" for code, count in notes.items())


def _shown_tool(text: str) -> str:
    more = len(text) - _MAX_TOOL
    return text[:_MAX_TOOL] + (f"\n... {more} characters more; the log has them" if more > 0 else "")


def _diff(before: Version, after: Version) -> str:
    names = (f"round {before.round}", f"round {after.round}")
    lines = list(difflib.unified_diff(_lines(before), _lines(after), *names, lineterm="", n=1))
    more = len(lines) - _MAX_DIFF
    return "\n".join([*lines[:_MAX_DIFF], *([f"... {more} lines more"] if more > 0 else [])]) or "(nothing changed)"


def _lines(version: Version) -> list[str]:
    """Return the tool as written in a version, as lines of indented JSON; text that is not JSON is unchanged."""
    value = version.written.value
    text = version.written.text if value is None else json.dumps(value, indent=1, ensure_ascii=False)
    return text.splitlines()


def _fenced(text: str, kind: str) -> str:
    """Return a Markdown code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _inline(text: str) -> str:
    """Return a model's text on one line, escaped for Markdown and HTML."""
    return re.sub(r"([<>\\*`\[\]])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    flat = " ".join(text.split())
    return f"`` {flat} ``" if "`" in flat else f"`{flat}`"


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")

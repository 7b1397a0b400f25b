"""Rows of samples, made by hand: a study in which it is known what each table must say."""

from __future__ import annotations

from typing import Any

from controller.episode import Account
from eval.tables import SampleRow, Study, Table, ToolUse, tables_of

ORDINARY: dict[str, Any] = {
    "system": "flat",
    "library": None,
    "library_hash": None,
    "library_domain": None,
    "library_arm": None,
    "dataset": "set",
    "world": "oracle",
    "budget": "usual",
    "model": "a-model",
    "kind": "choice",
    "domain": "A_locate_count",
    "content": "office",
    "template": "first/test/0",
    "score": 0.0,
    "outcome": "submitted",
    "reason": None,
    "rounds": 2,
    "calls": 3,
}


def sample_row(arm: str = "flat", item: str = "q1", *, seed: int = 1, correct: bool = False, **given: Any) -> SampleRow:
    """A row; what is not said is ordinary."""
    fields = {**ORDINARY, "video": "v1", "score": float(correct), **given}
    fields.setdefault("spend", spend(tokens=1_000))
    place = (arm, fields["library"] or "", fields["dataset"], fields["world"], fields["budget"], f"s{seed}")
    cell = ".".join(part for part in place if part)
    return SampleRow(
        sample=f"{cell}/{item}",
        cell=cell,
        arm=arm,
        arm_name=arm.partition("@")[0],
        item=item,
        seed=seed,
        correct=correct,
        episode=item,
        **fields,
    )


def hier_row(
    item: str = "q1", *, library: str = "hand_A", domain: str | None = "A_locate_count", **given: Any
) -> SampleRow:
    """A row of ``hier`` with a library."""
    fields: dict[str, Any] = {
        "system": "hier", "library": library, "library_hash": f"hash of {library}", "library_domain": domain, **given,
    }  # fmt: skip
    return sample_row(fields.pop("arm", f"hier@{library}"), item, **fields)


def spend(*, tokens: int = 0, money: float | None = None, physical: int | None = None) -> dict[str, dict[str, Account]]:
    """What an episode cost, all of it by the controller."""

    def way(number: int) -> dict[str, Account]:
        own = Account(prompt=number, money=money)
        return {"controller": own, "perception": Account(), "judge": Account(), "total": own}

    return {"logical": way(tokens), "physical": way(tokens if physical is None else physical)}


def table_of(study: Study, name: str) -> Table:
    """One table by its name."""
    return next(table for table in tables_of(study, [name]) if table.name == name)


def use(name: str, *, calls: int = 1, failed: int = 0, empty: int = 0, inner: int = 4, of: str = "hash") -> ToolUse:
    """A tool of a library that was called."""
    return ToolUse(name=name, hash=f"{of} of {name}", calls=calls, failed=failed, empty=empty, inner_calls=inner)

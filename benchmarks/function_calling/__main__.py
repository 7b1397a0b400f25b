"""``python -m benchmarks.function_calling FOLDER [--page FILE]``: one table; status 1 where anything is not as it should be."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.function_calling.cases import read_cases, read_documents
from benchmarks.function_calling.checking import Emitted, Findings, check_case
from benchmarks.page import replace_section

_MOST_SHOWN = 40


def check_folder(folder: Path) -> Findings:
    """All cases, and the functions of the multi-turn cases that no case calls."""
    findings = Findings()
    for case in read_cases(folder):
        check_case(case, findings)
    for functions in read_documents(folder).values():
        for function in functions:
            findings.counts["functions of documents"] += 1
            Emitted(function)
    return findings


def table(findings: Findings) -> str:
    """The counts as lines of a page."""
    counts = findings.counts
    return "\n".join(
        [
            "| what was sent | without strict mode | with strict mode |",
            "| --- | --- | --- |",
            f"| functions emitted | {counts['functions']:,} | {counts['functions strict']:,} |",
            f"| right calls sent | {counts['answers']:,} | {counts['answers strict']:,} |",
            f"| wrong variants sent | {counts['variants']:,} | {counts['variants strict']:,} |",
            "",
            f"Of {counts['cases']:,} cases ({counts['cases without an answer']} of them with functions that do not fit the "
            f"question), {len(findings.refused)} right calls were refused and {len(findings.taken)} wrong ones taken. Left out are "
            f"{len(findings.contradictions)} reference answers that their own declaration excludes. Strict mode cannot say "
            f"{len(findings.not_strict)} functions (objects with any keys, values of any type); they are offered without it.",
        ]
    )


def main() -> None:
    """Check a folder of the leaderboard's files."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.function_calling", description=__doc__)
    parser.add_argument("folder", type=Path, help="the leaderboard's folder of case files")
    parser.add_argument("--page", type=Path, help="write the counts into their section of this page")
    given = parser.parse_args()
    findings = check_folder(given.folder)
    print(table(findings))
    for title, found in (
        ("functions that strict mode cannot say", sorted(findings.not_strict)),
        ("answers that their own declaration excludes", findings.contradictions),
        ("RIGHT CALLS REFUSED", findings.refused),
        ("WRONG CALLS TAKEN", findings.taken),
    ):
        print(f"\n{len(found)} {title}")
        for line in found[:_MOST_SHOWN]:
            print(f"  {line[:200]}")
    if given.page is not None:
        replace_section(given.page, "python -m benchmarks.function_calling", table(findings))
    sys.exit(0 if findings.ok else 1)


if __name__ == "__main__":
    main()

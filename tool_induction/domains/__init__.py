"""Domains: the kinds of questions that tools are induced for, and the splits that keep questions and videos apart.

``load_domain`` reads a domain by packaged name or from a YAML file; ``leaks`` checks questions against its splits and
against what the induction of a library saw.
"""

from tool_induction.domains.domain import (
    SPLITS,
    AnswerType,
    Domain,
    PlannedQuestion,
    Seen,
    Split,
    SplitName,
    WorkedExample,
    leaks,
    refuse_leaks,
)
from tool_induction.domains.domain_file import load_domain, packaged_domains

__all__ = [
    "SPLITS", "AnswerType", "Domain", "PlannedQuestion", "Seen", "Split", "SplitName", "WorkedExample", "leaks",
    "load_domain", "packaged_domains", "refuse_leaks",
]  # fmt: skip

"""Domains: what kinds of questions tools are induced for, and which questions and videos are kept apart from which.

``load_domain`` reads a domain by packaged name or from a file; ``leaks`` checks a set of questions against its splits.
"""

from tool_induction.domains.domain import (
    SPLITS,
    Domain,
    Entities,
    QuestionType,
    Split,
    SplitName,
    Template,
    ToolKind,
    WorkedExample,
)
from tool_induction.domains.domain_file import load_domain, packaged_domains
from tool_induction.domains.guard import Asked, Leak, leaks, refuse_leaks

__all__ = [
    "SPLITS",
    "Asked",
    "Domain",
    "Entities",
    "Leak",
    "QuestionType",
    "Split",
    "SplitName",
    "Template",
    "ToolKind",
    "WorkedExample",
    "leaks",
    "load_domain",
    "packaged_domains",
    "refuse_leaks",
]

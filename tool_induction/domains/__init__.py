"""Domains: the kinds of questions that tools are induced for, and the splits that keep questions and videos apart.

``load_domain`` reads a domain by packaged name or from a YAML file; ``leaks`` checks questions against its splits and against what
the induction of a library saw.
"""

from tool_induction.domains.domain import (
    SPLITS,
    AnswerType,
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
from tool_induction.domains.guard import (
    PLACEHOLDER,
    Leak,
    PlannedQuestion,
    Seen,
    leaks,
    normal,
    refuse_leaks,
    refuse_seen,
)

__all__ = [
    "PLACEHOLDER",
    "SPLITS",
    "AnswerType",
    "Domain",
    "Entities",
    "Leak",
    "PlannedQuestion",
    "QuestionType",
    "Seen",
    "Split",
    "SplitName",
    "Template",
    "ToolKind",
    "WorkedExample",
    "leaks",
    "load_domain",
    "normal",
    "packaged_domains",
    "refuse_leaks",
    "refuse_seen",
]

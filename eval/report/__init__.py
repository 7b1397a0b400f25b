"""The report of a run: one HTML file with its tables, charts and episodes, and the tables as LaTeX and CSV beside it.

``write_report`` writes it for a run or a bundle. ``compare_own`` asks a user's own questions about the user's own video
and writes the same report. Charts need the extra ``eval``, imported at first use.
"""

from eval.report.own_video import compare_own, own_questions
from eval.report.page import Choices, WrittenReport, write_report

__all__ = ["Choices", "WrittenReport", "compare_own", "own_questions", "write_report"]
